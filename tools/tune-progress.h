/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * TuneProgress:
 *
 * What is under way and how long it will take, as a bar on the last line of the terminal that the
 * standard error is; where it is none, a line for each problem.
 */
typedef struct _TuneProgress TuneProgress;

/**
 * tune_progress_new:
 * @n_problems: how often tune_progress_begin() will be called
 * @seconds: how long all of them may take
 */
TuneProgress *tune_progress_new (guint n_problems, gdouble seconds);

/** tune_progress_free: Takes the bar away. */
void tune_progress_free (TuneProgress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneProgress, tune_progress_free)

/**
 * tune_progress_begin:
 * @problem: the next one, in words
 * @seconds: how long it may take
 */
void tune_progress_begin (TuneProgress *self, const gchar *problem, gdouble seconds);

/** tune_progress_set_best: @kernel is the fastest so far. */
void tune_progress_set_best (TuneProgress *self, const gchar *kernel, gdouble gflops);

/** tune_progress_tick: Draws the bar, if it was not just drawn; @self is a #TuneProgress. */
void tune_progress_tick (gpointer self);

/** tune_progress_clear: Takes the bar away until it is drawn again, so that a line can be printed.
 */
void tune_progress_clear (TuneProgress *self);
