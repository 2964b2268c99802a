/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child.h"
#include "gemmcl-tuning.h"
#include "progress.h"

#define TUNE_N_COLUMNS 6

/**
 * gemmcl tune:
 *
 *   tune.c          the subcommand
 *   tune-search.c   a problem: makes a child search, again without a kernel that ended the child
 *   tune-report.c   the table
 *
 * An entry is the object of `gemmcl tune --json` for a problem: "device", "driver", "precision",
 * "layout", "m", "n", "k", "seconds", "gain", "stored",
 *
 *   "rules": the rules' choice, or else the first candidate that works
 *   "tuned": the fastest, which is "rules" unless another is faster by more than the noise; null
 *            without time to compare
 *   "candidates": in the order of the rules; "why" is the reason why one left, null if it was timed
 *            to the end, and "faulty" if that was a fault, not because it was slow
 *
 * each with its "kernel" and "gflops".
 */

/**
 * tune_search:
 * @entry: with "m", "n", "k" and the "kernel" of each candidate; the others are set
 * @child: whose request is that of tune_serve()
 * @seconds: the approximate time limit
 * @banned: (inout): rows of the table that ended a child when they were tried, with the reasons.
 *   They are left out; new ones are added
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED (the problem cannot be searched, others can),
 *   %TOOL_CHILD_ERROR_GIVEN_UP, a #GSpawnError or %TOOL_ERROR_INTERRUPTED.
 */
gboolean tune_search (json_t *entry, ToolChild *child, gdouble seconds, json_t *banned,
                      ToolProgress *progress, GError **error);

/**
 * tune_serve:
 *
 * The child's side. The request is a problem:
 *
 *   {"m": M, "n": N, "k": K, "seconds": S, "kernels": [NAME ...]}
 *
 * Without "kernels" the candidates are the rules' choice and the next one. Each candidate is
 * announced before it is tried and before each of its turns. The last answer has the members of an
 * entry that the search finds:
 *
 *   {"step": "try" | "turn", "kernel": NAME, "gflops": SPEED, "ms": TIME}
 *   {"step": "tried", ..., "result": "ok"}
 *   {"rules": CHOICE, "tuned": CHOICE, "gain": FACTOR, "candidates": [CANDIDATE ...]}
 */
gboolean tune_serve (GError **error);

/** tune_report_start: Sets the columns and prints the head. @problems: (element-type GemmclGemm):
 * all problems. */
void tune_report_start (FILE *out, ToolColumn columns[TUNE_N_COLUMNS], const GemmclDeviceInfo *info,
                        const GArray *problems);

/** tune_report_add: Prints the row of @entry. */
void tune_report_add (FILE *out, const ToolColumn columns[TUNE_N_COLUMNS], const json_t *entry);

/** tune_report_list: Prints the result of gemmcl_tuning_list(). Returns: (transfer full): the same
 * as a list in JSON. */
json_t *tune_report_list (FILE *out, const GPtrArray *entries);
