/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "output.h"

/**
 * CheckWorker:
 *
 * The process that uses OpenCL on behalf of `gemmcl check` (see check-serve.h), as the process that
 * asks sees it. It is started by the first request, and again by the next request after a loss.
 */
typedef struct _CheckWorker CheckWorker;

/**
 * CheckError:
 * @CHECK_ERROR_LOST: the process ended, or lost its device in a run
 * @CHECK_ERROR_LATE: there was no answer in time; the process was ended
 * @CHECK_ERROR_GIVEN_UP: it was lost several times in a row, and is not started again
 */
typedef enum {
  CHECK_ERROR_LOST,
  CHECK_ERROR_LATE,
  CHECK_ERROR_GIVEN_UP,
} CheckError;

#define CHECK_ERROR (check_error_quark ())
GQuark check_error_quark (void);

/**
 * check_worker_new:
 * @tick: called several times a second while an answer is awaited
 * @data: for @tick
 *
 * Returns: (transfer full): a worker for the device that the options name; nothing is started yet.
 */
CheckWorker *check_worker_new (void (*tick) (gpointer data), gpointer data);

/** check_worker_free: Ends the process. */
void check_worker_free (CheckWorker *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckWorker, check_worker_free)

/** check_worker_send: Sends @request (transfer full), whose answer is never read. Returns: %FALSE
 * as check_worker_ask(). */
gboolean check_worker_send (CheckWorker *self, json_t *request, GError **error);

/** check_worker_get_generation: Returns: a number, not 0, that is another one after a loss: what
 * earlier requests left in the process is gone. */
guint check_worker_get_generation (const CheckWorker *self);

/**
 * check_worker_ask:
 * @request: (transfer full): an object as check-serve.h describes it
 * @seconds: how long the answer may take
 *
 * Returns: (transfer full): the answer, an object; %NULL with a #CheckError, a #GSpawnError or
 *   %TOOL_ERROR_INTERRUPTED.
 */
json_t *check_worker_ask (CheckWorker *self, json_t *request, gdouble seconds, GError **error);
