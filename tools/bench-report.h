/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench-measure.h"
#include "json.h"

/**
 * BenchReport:
 *
 * What bench tells its user, as the results come in: a head, a row for each kernel, and the same
 * in JSON.
 */
typedef struct _BenchReport BenchReport;

/**
 * bench_report_new:
 * @out: where the text goes; borrowed
 * @info: the device; borrowed
 * @gemm: the problem; borrowed
 * @iterations: runs of each kernel
 * @verify: results are checked
 * @peak: 10^9 operations a second; 0: unknown
 * @peak_source: where @peak comes from
 */
BenchReport *bench_report_new (FILE *out, const GemmclDeviceInfo *info, const GemmclGemm *gemm,
                               guint iterations, gboolean verify, gdouble peak,
                               const gchar *peak_source);

void bench_report_free (BenchReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchReport, bench_report_free)

/** bench_report_start: Prints the head; @kernels are those that will follow. */
void bench_report_start (BenchReport *self, const gchar *const *kernels, guint n_kernels);

/** bench_report_add: Prints a row and keeps it for bench_report_get_json(). */
void bench_report_add (BenchReport *self, const BenchResult *result);

/** bench_report_skip: Prints that @kernel was not measured and why. */
void bench_report_skip (BenchReport *self, const gchar *kernel, const gchar *why);

/** bench_report_get_json: Returns: (transfer none): a list with an object per added result. */
const json_t *bench_report_get_json (const BenchReport *self);
