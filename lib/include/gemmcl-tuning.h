/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "gemmcl-kernels.h"

GEMMCL_BEGIN_DECLS

/*
 * Tuning finds the fastest kernel by measuring. $XDG_CACHE_HOME/gemmcl/tuning.json (by default, or
 * if that variable is not an absolute path, ~/.cache/gemmcl/tuning.json), which processes may
 * share, has an entry for each device, driver, precision, layout, transposition and shape.
 * gemmcl_plan_new() looks there, then at the entries that the library ships, then follows the
 * rules. An entry also applies to similar shapes: M, N and K are within a factor of sqrt (2), and D
 * fills at least 0.9 times the share of the kernel's tiles that the entry's D fills. A file that is
 * damaged or of an unknown version is ignored, and so are entries whose kernel cannot do the
 * problem natively. Any thread may call these functions. Changes of the file are made under a lock,
 * tuning.lock beside it, for which a caller waits 5 seconds at most.
 */

/**
 * gemmcl_tuning_list_candidates:
 * @gemm: a valid problem
 *
 * Returns: (transfer full): the kernels worth measuring, at least one: all that can do @gemm
 *   natively; if D has few tiles, also with splits of K. The rules' choice is first, and the others
 *   follow in the rules' order.
 */
gchar **gemmcl_tuning_list_candidates (GemmclContext *context, const GemmclGemm *gemm);

/**
 * gemmcl_tuning_store:
 * @gemm: a valid problem of matrices, not frames, without a batch
 * @kernel: the fastest kernel, as gemmcl_plan_get_kernel() returns it
 * @gflops: its speed in 10^9 operations per second, by the device's clock
 * @cancellable: (nullable): ends the wait for another process
 *
 * Writes an entry to the file, in place of one for the same device, driver and problem. Removes
 * entries that are not JSON objects.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_KERNEL if the kernel cannot do @gemm on the device,
 *   %GEMMCL_ERROR_INVALID if @gflops is infinite, or %GEMMCL_ERROR_IO if the file cannot be
 *   written, is newer, a symbolic link, another user's or writable by others, or if another process
 *   holds the lock.
 */
gboolean gemmcl_tuning_store (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                              gdouble gflops, GCancellable *cancellable, GError **error);

/**
 * gemmcl_tuning_forget:
 *
 * Removes the device's entries, of every driver, from the file.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_IO, as gemmcl_tuning_store().
 */
gboolean gemmcl_tuning_forget (GemmclContext *context, GError **error);

/**
 * GemmclTuningEntry:
 * @source: GEMMCL_CHOICE_TUNED or GEMMCL_CHOICE_SHIPPED
 * @precision: the problem's precision
 * @layout: its layout
 * @m: its M
 * @n: its N
 * @k: its K
 * @kernel: the kernel, as gemmcl_plan_new() takes it; static
 * @gflops: the measured speed in 10^9 operations per second
 *
 * An entry of the file or of the library. A copy as a boxed type is a reference.
 */
typedef struct {
  GemmclChoiceSource source;
  GemmclPrecision precision;
  GemmclLayout layout;
  gsize m, n, k;
  const gchar *kernel;
  gdouble gflops;
} GemmclTuningEntry;

#define GEMMCL_TYPE_TUNING_ENTRY (gemmcl_tuning_entry_get_type ())
GType gemmcl_tuning_entry_get_type (void);

/**
 * gemmcl_tuning_list:
 *
 * Returns: (transfer container) (element-type GemmclTuningEntry): the entries for the device of
 *   @context, the file's entries first; may be empty.
 */
GPtrArray *gemmcl_tuning_list (GemmclContext *context);

/**
 * gemmcl_tuning_get_path:
 *
 * Returns: (transfer full): the path of the file, which need not exist.
 */
gchar *gemmcl_tuning_get_path (void);

GEMMCL_END_DECLS
