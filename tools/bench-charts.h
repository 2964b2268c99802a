/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "bench-measure.h"
#include "bench-setup.h"

/** BenchCharts: what bench measured, for pictures of it. */
typedef struct _BenchCharts BenchCharts;

/** bench_charts_new: @setup: borrowed. */
BenchCharts *bench_charts_new (const BenchSetup *setup);

void bench_charts_free (BenchCharts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchCharts, bench_charts_free)

/**
 * bench_charts_add:
 * @name: which of the setup's names it was measured for
 * @size: which of its sizes
 * @gemm: the problem
 */
void bench_charts_add (BenchCharts *self, guint name, guint size, const GemmclGemm *gemm,
                       const BenchResult *result);

/** bench_charts_are_empty: Returns: whether there is nothing to draw. */
gboolean bench_charts_are_empty (const BenchCharts *self);

/** bench_charts_draw: Returns: (transfer full): lines over the sizes, or bars of a single one. */
gchar *bench_charts_draw (BenchCharts *self);

/** bench_charts_draw_roofline: Returns: (transfer full): needs the bandwidth. */
gchar *bench_charts_draw_roofline (BenchCharts *self);
