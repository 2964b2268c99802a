/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "output.h"
#include "tune-search.h"

/**
 * TuneReport:
 *
 * What tune found, as a table whose rows are printed as they become known, and in JSON.
 */
typedef struct _TuneReport TuneReport;

/**
 * tune_report_new:
 * @out: where the table goes; borrowed
 * @info: the device; borrowed
 */
TuneReport *tune_report_new (FILE *out, const GemmclDeviceInfo *info);

void tune_report_free (TuneReport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneReport, tune_report_free)

/** tune_report_start: Prints the head; @problems: (element-type GemmclGemm): those to come. */
void tune_report_start (TuneReport *self, const GArray *problems);

/**
 * tune_report_add:
 * @stored: the best was remembered
 */
void tune_report_add (TuneReport *self, const TuneSearch *search, gboolean stored);

/** tune_report_get_json: Returns: (transfer none): a list with an object per problem. */
const json_t *tune_report_get_json (const TuneReport *self);

/**
 * tune_report_list:
 * @out: where the table goes
 * @entries: (element-type GemmclTuningEntry): what gemmcl_tuning_list() knows
 *
 * Prints it.
 *
 * Returns: (transfer full): the same as a list in JSON.
 */
json_t *tune_report_list (FILE *out, const GPtrArray *entries);
