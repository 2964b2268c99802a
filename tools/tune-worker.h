/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/**
 * TuneWorker:
 *
 * The process that runs the candidates (see tune-serve.h), as the one that asks sees it. It is
 * started when it is needed, and again after it was lost.
 */
typedef struct _TuneWorker TuneWorker;

/**
 * TuneError:
 * @TUNE_ERROR_REFUSED: the worker could not do what it was asked for, and goes on
 * @TUNE_ERROR_LOST: it ended, or was ended since it did not answer in time, or had OpenCL fail a
 *   run, which may have cost it the device
 * @TUNE_ERROR_GIVEN_UP: it was lost several times in a row, and is not started again
 */
typedef enum {
  TUNE_ERROR_REFUSED,
  TUNE_ERROR_LOST,
  TUNE_ERROR_GIVEN_UP,
} TuneError;

#define TUNE_ERROR (tune_error_quark ())
GQuark tune_error_quark (void);

/**
 * tune_worker_new:
 * @tick: called with each request, and several times a second while an answer is awaited
 * @data: for @tick
 *
 * Returns: (transfer full): a worker for the device that the options name; nothing is started yet.
 */
TuneWorker *tune_worker_new (void (*tick) (gpointer data), gpointer data);

/** tune_worker_free: Ends the process. */
void tune_worker_free (TuneWorker *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TuneWorker, tune_worker_free)

/**
 * tune_worker_set_problem:
 *
 * What the requests that follow are about, for workers still to be started, too.
 *
 * Returns: %FALSE with a #TuneError or %TOOL_ERROR_INTERRUPTED.
 */
gboolean tune_worker_set_problem (TuneWorker *self, const GemmclGemm *gemm, GError **error);

/**
 * tune_worker_get_generation:
 *
 * Returns: a number that is another one after the worker was started again or the problem changed:
 *   what was built before is gone.
 */
guint tune_worker_get_generation (const TuneWorker *self);

/**
 * tune_worker_ask:
 * @seconds: how long the answer may take
 * @format, @...: the request
 *
 * Returns: (transfer full): what follows the "ok" of the answer, or %NULL with a #TuneError or
 *   %TOOL_ERROR_INTERRUPTED, after which there is no worker.
 */
gchar *tune_worker_ask (TuneWorker *self, gdouble seconds, GError **error, const gchar *format, ...)
    G_GNUC_PRINTF (4, 5);
