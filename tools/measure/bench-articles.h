/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Columns of `gemmcl bench` that published tables have besides the speed (docs/articles.md). Rows
 * are results of bench.
 */
#pragma once

#include "results.h"

/** bench_add_launch: Adds to @row how @plan launches its kernel: its level, work-items, subgroups
 * and memory, null where the driver does not tell. */
void bench_add_launch (json_t *row, GemmclPlan *plan);

/** bench_print_launches: Prints a table of what bench_add_launch() added to @rows.
 * @one_size: all are of one problem */
void bench_print_launches (FILE *out, const json_t *rows, gboolean one_size);

/** BenchLadder: The median times, in milliseconds, of the first and the latest step of a ladder.
 * Starts as zeros. */
typedef struct {
  gdouble first, last;
} BenchLadder;

/** bench_add_step: Adds the speedups of @row to it: "step_speedup", over the latest row with a
 * time, and "cumulative_speedup", over the first. */
void bench_add_step (BenchLadder *self, json_t *row);

/** bench_print_peak: Prints the time of the latest of @rows at its peak, if that is known. */
void bench_print_peak (FILE *out, const ToolColumn *columns, const json_t *rows);
