/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "bench-measure.h"
#include "bench-setup.h"
#include "json.h"

/**
 * BenchReport:
 *
 * What bench tells its user, as the results come in: a head, a row for each kernel and size, and
 * the same in JSON.
 */
typedef struct _BenchReport BenchReport;

/**
 * bench_report_new:
 * @out: where the text goes; borrowed
 * @setup: what follows; borrowed
 *
 * Prints the head.
 */
BenchReport *bench_report_new (FILE *out, const BenchSetup *setup);

void bench_report_free (BenchReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BenchReport, bench_report_free)

/**
 * bench_report_add:
 * @gemm: the problem, with its sizes
 *
 * Prints a row and keeps it for bench_report_get_json().
 */
void bench_report_add (BenchReport *self, const GemmclGemm *gemm, const BenchResult *result);

/** bench_report_skip: Prints that @kernel was not measured and why. */
void bench_report_skip (BenchReport *self, const GemmclGemm *gemm, const gchar *kernel,
                        const gchar *why);

/** bench_report_get_json: Returns: (transfer none): a list with an object per added result. */
const json_t *bench_report_get_json (const BenchReport *self);
