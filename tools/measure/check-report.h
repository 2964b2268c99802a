/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "results.h"

/** The report of gemmcl check, whose keys are in docs/tuning.md. */

/** check_is_row: TRUE for a row, FALSE for "va". */
gboolean check_is_row (const json_t *object);

/** check_is_open: TRUE if "va" or a native row has no result yet. */
gboolean check_is_open (const json_t *object);

/** check_is_faulty: TRUE if its result is a fault. */
gboolean check_is_faulty (const json_t *object);

/** check_set_result: Sets "result" and "why" (nullable) of a row or "va". */
void check_set_result (json_t *object, const gchar *result, const gchar *why);

/** check_count_faults: Returns: the number of rows, candidates and steps that are wrong, failed or
 * lost. */
guint check_count_faults (const json_t *report);

/** check_print_summary: Prints the summary of @report. */
void check_print_summary (FILE *out, const json_t *report);
