/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * ToolProgress:
 *
 * What is under way and how long it will take, as a bar on the last line of the terminal that the
 * standard error is; where it is none, a line for each problem.
 */
typedef struct _ToolProgress ToolProgress;

/**
 * tool_progress_new:
 * @n_problems: how often tool_progress_begin() will be called
 * @seconds: how long all of them may take
 */
ToolProgress *tool_progress_new (guint n_problems, gdouble seconds);

/** tool_progress_free: Takes the bar away. */
void tool_progress_free (ToolProgress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ToolProgress, tool_progress_free)

/**
 * tool_progress_begin:
 * @problem: the next one, in words
 * @seconds: how long it may take
 */
void tool_progress_begin (ToolProgress *self, const gchar *problem, gdouble seconds);

/** tool_progress_set_best: @kernel is the fastest so far. */
void tool_progress_set_best (ToolProgress *self, const gchar *kernel, gdouble gflops);

/** tool_progress_tick: Draws the bar, if it was not just drawn; @self is a #ToolProgress. */
void tool_progress_tick (gpointer self);

/** tool_progress_clear: Takes the bar away until it is drawn again, so that a line can be printed.
 */
void tool_progress_clear (ToolProgress *self);
