/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-plan.h"

GEMMCL_BEGIN_DECLS

/**
 * Which kernel is fastest depends on the device, and who wants to know times them. What was found
 * is remembered in a file, $XDG_CACHE_HOME/gemmcl/tuning.json, an entry for each device, driver,
 * precision, layout and shape; gemmcl_plan_new() looks there before it asks its rules. An entry
 * also speaks for shapes near its own: none of M, N, K further than a factor of sqrt (2) from it,
 * and no more of the kernel's tiles padding.
 *
 * Nothing in the file is trusted: an entry of another device or driver, for a kernel that is not
 * there or cannot do the problem, counts for nothing; so does a file that is damaged, or of a
 * version that this library does not know.
 *
 * The library brings entries of its own for devices that its makers measured; those of the file
 * come first.
 *
 * All functions may be called from any thread, and processes may share the file.
 */

/**
 * GemmclChoiceSource:
 * @GEMMCL_CHOICE_NAMED: the caller named the kernel
 * @GEMMCL_CHOICE_TUNED: an entry of the file: measured on this machine
 * @GEMMCL_CHOICE_SHIPPED: an entry of the library's own: measured on such a device
 * @GEMMCL_CHOICE_RULES: the rules over the table of kernels
 *
 * Where the choice of a kernel comes from.
 */
typedef enum {
  GEMMCL_CHOICE_NAMED,
  GEMMCL_CHOICE_TUNED,
  GEMMCL_CHOICE_SHIPPED,
  GEMMCL_CHOICE_RULES,
} GemmclChoiceSource;

/** gemmcl_choice_source_get_name: Returns: "named", "tuned", "shipped" or "rules"; static. */
const gchar *gemmcl_choice_source_get_name (GemmclChoiceSource source);

/** gemmcl_plan_get_choice_source: Returns: where the choice of the plan's kernel comes from. */
GemmclChoiceSource gemmcl_plan_get_choice_source (GemmclPlan *self);

/**
 * gemmcl_tuning_list_candidates:
 * @gemm: a valid problem
 *
 * What is worth timing: each kernel that can do @gemm on the device natively, whole and with K cut
 * into parts where few tiles leave units without work. The one that the rules choose is the first,
 * the others follow in the order in which the rules hold them for fast.
 *
 * Returns: (transfer full): names for gemmcl_plan_new(), at least one.
 */
gchar **gemmcl_tuning_list_candidates (GemmclContext *context, const GemmclGemm *gemm);

/**
 * gemmcl_tuning_store:
 * @gemm: a valid problem of matrices, not pictures
 * @kernel: the fastest, as gemmcl_plan_get_kernel() names it
 * @gflops: how fast it was, by the device's clock
 *
 * Remembers that, in place of what the file says of the same device, driver and problem. What it
 * says of others stays; what is damaged goes.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL for a kernel that cannot do @gemm there, or
 *   #GEMMCL_ERROR_IO where the file cannot be written, comes from a newer library, or is not used
 *   because it is a symbolic link, belongs to another user or can be written to by others.
 */
gboolean gemmcl_tuning_store (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                              gdouble gflops, GError **error);

/**
 * gemmcl_tuning_forget:
 *
 * Drops what the file says of the device, of any driver.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_IO.
 */
gboolean gemmcl_tuning_forget (GemmclContext *context, GError **error);

/**
 * GemmclTuningEntry:
 * @source: tuned or shipped
 * @precision, @layout, @m, @n, @k: the problem
 * @kernel: as gemmcl_plan_new() takes it; owned
 * @gflops: how fast it was there
 */
typedef struct {
  GemmclChoiceSource source;
  GemmclPrecision precision;
  GemmclLayout layout;
  gsize m, n, k;
  gchar *kernel;
  gdouble gflops;
} GemmclTuningEntry;

/** gemmcl_tuning_list: Returns: (transfer full) (element-type GemmclTuningEntry): what is known of
 * the device of @context, those of the file first; may be empty. */
GPtrArray *gemmcl_tuning_list (GemmclContext *context);

/** gemmcl_tuning_get_path: Returns: (transfer full): where the file is, or would be. */
gchar *gemmcl_tuning_get_path (void);

GEMMCL_END_DECLS
