/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * ToolProgress:
 *
 * Shows the current problem and the remaining time as a bar on the last line of the terminal. If
 * the standard error is not a terminal, it prints a line for each problem.
 */
typedef struct _ToolProgress ToolProgress;

/** tool_progress_new: @seconds: the time limit for all problems. */
ToolProgress *tool_progress_new (gdouble seconds);

/** tool_progress_free: Removes the bar and frees @self. */
void tool_progress_free (ToolProgress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ToolProgress, tool_progress_free)

/**
 * tool_progress_begin:
 * @n_problems: the number of all calls
 * @problem: a description of the next problem
 * @seconds: its time limit
 */
void tool_progress_begin (ToolProgress *self, guint n_problems, const gchar *problem,
                          gdouble seconds);

/** tool_progress_set_best: Shows @kernel as the fastest so far. */
void tool_progress_set_best (ToolProgress *self, const gchar *kernel, gdouble gflops);

/** tool_progress_tick: Draws the bar, at most ten times a second. */
void tool_progress_tick (ToolProgress *self);

/** tool_progress_clear: Removes the bar until the next tick, so that a line can be printed. */
void tool_progress_clear (ToolProgress *self);
