/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "measure/worker.h"

/**
 * The search for the fastest kernel, which `gemmcl tune` and `gemmcl check` do in a worker. Each
 * problem is an item of the worker, an entry:
 *
 *   "precision", "layout", "m", "n", "k"
 *   "candidates": in the order of the rules; each has its "kernel" and "gflops". "why" is the
 *            reason why the search left it out, null if it was timed to the end. "faulty" is true
 *            if the reason is a fault, false if it is the speed
 *   "rules": the rules' choice, or else the first candidate that works
 *   "tuned": the fastest, which is "rules" unless another is faster by more than the noise; null
 *            without time to compare
 *   "gain":  how many times as fast as "rules" it is
 *   "seconds": the time that the search took; null until its end
 *   "error": why a problem could not be searched
 *   "stored": set to true if the library remembers "tuned"; "why_not_stored" is a failure of that
 */

/** tool_search_new_entry: Returns: (transfer full): an entry for @gemm with the first @most
 * candidates, and without a result. */
json_t *tool_search_new_entry (GemmclContext *context, const GemmclGemm *gemm, guint most);

/** tool_search_exclude: Keeps later searches of @entries from trying a kernel of the same row as
 * @kernel. @why: the reason */
void tool_search_exclude (json_t *entries, const gchar *kernel, const gchar *why);

/**
 * ToolSearch:
 * @entries: those without "seconds" are searched
 * @end: the time of tool_get_seconds() at which the search should end
 * @patience: seconds for building a kernel and its first run, and for its turn
 * @store: the library remembers the results
 * @done: (nullable): as in #ToolWork
 */
typedef struct {
  json_t *entries;
  gdouble end;
  gdouble patience;
  gboolean store;
  gboolean (*done) (json_t *entry, gpointer data, GError **error);
} ToolSearch;

/** tool_search_run: Searches in workers, which end at @deadline. Returns: as tool_worker_run(). */
gboolean tool_search_run (const ToolSearch *self, gdouble deadline, GError **error);
