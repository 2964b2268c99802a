/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/** BENCH_SIZE_UNSTATED: what -M, -N or -K is where the user did not give it. */
#define BENCH_SIZE_UNSTATED G_MININT

#define BENCH_SIZE_DEFAULT 1024

/**
 * BenchSizes:
 * @m, @n, @k: what was stated, or %BENCH_SIZE_UNSTATED: that is a size of the sweep
 * @sweep: (nullable): the sizes as the user wrote them; borrowed
 * @sizes: (element-type guint): the same, ascending; without a sweep the default alone
 *
 * The shapes of the problems that are measured one after the other.
 */
typedef struct {
  gint m, n, k;
  const gchar *sweep;
  GArray *sizes;
} BenchSizes;

/**
 * bench_sizes_new:
 * @sweep: (nullable): numbers and ranges with commas between, "64,256:4096,5000:6000:250"
 *
 * Returns: (transfer full): the shapes, or %NULL with %TOOL_ERROR_USAGE.
 */
BenchSizes *bench_sizes_new (gint m, gint n, gint k, const gchar *sweep, GError **error);

void bench_sizes_free (BenchSizes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchSizes, bench_sizes_free)

/** bench_sizes_apply: Gives @gemm the shape of the sweep's size number @index. */
void bench_sizes_apply (const BenchSizes *self, guint index, GemmclGemm *gemm);

/** bench_sizes_describe: Returns: (transfer full): "64 x s x s" with " x " for @times; a
 * single size by its number. */
gchar *bench_sizes_describe (const BenchSizes *self, const gchar *times);
