/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "output.h"
#include "progress.h"

/**
 * ToolChild:
 *
 * Another process of the tool, which uses the device: `gemmcl COMMAND --worker ...`. It may crash
 * or hang. It has its own process group, which is ended as a whole and which Ctrl-C does not reach,
 * and ends with the tool at the latest.
 *
 * The first request starts it, and so does the first one after a loss. Each request and each answer
 * is a JSON object; a request may have several answers. These members of an answer have a fixed
 * meaning:
 *
 *   "result": "ok"   a kernel ran
 *   "lost": true     the process may have lost the device and is ended; "why" is the reason
 *   "error": true    the request failed as a whole; "why" is the reason
 *
 * A process should announce each piece of work by an answer before it begins. If the process is
 * lost, the parent then knows which piece failed, and asks the next process for the others.
 */
typedef struct _ToolChild ToolChild;

/**
 * ToolChildError:
 * @TOOL_CHILD_ERROR_LOST: the process ended, or lost its device in a run
 * @TOOL_CHILD_ERROR_LATE: there was no answer in time; the process was ended
 * @TOOL_CHILD_ERROR_GIVEN_UP: the process was lost four times without a kernel that ran in between,
 *   and is not started again
 */
typedef enum {
  TOOL_CHILD_ERROR_LOST,
  TOOL_CHILD_ERROR_LATE,
  TOOL_CHILD_ERROR_GIVEN_UP,
} ToolChildError;

#define TOOL_CHILD_ERROR (tool_child_error_quark ())
GQuark tool_child_error_quark (void);

/** tool_child_new: @progress: drawn while an answer is awaited. Returns: (transfer full): a child
 * with this process's arguments and --worker, not started yet. */
ToolChild *tool_child_new (ToolProgress *progress);

/** tool_child_free: Ends the process. */
void tool_child_free (ToolChild *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ToolChild, tool_child_free)

/**
 * tool_child_send:
 * @request: (transfer full): an object
 *
 * Returns: %FALSE with a #GSpawnError or %TOOL_CHILD_ERROR_GIVEN_UP.
 */
gboolean tool_child_send (ToolChild *self, json_t *request, GError **error);

/**
 * tool_child_read:
 * @seconds: the time limit for the answer
 *
 * Returns: (transfer full): the next answer to the last request; %NULL with a #ToolChildError or
 *   %TOOL_ERROR_INTERRUPTED.
 */
json_t *tool_child_read (ToolChild *self, gdouble seconds, GError **error);

/** tool_child_ask: tool_child_send(), and tool_child_read() once. */
json_t *tool_child_ask (ToolChild *self, json_t *request, gdouble seconds, GError **error);

/** tool_child_set_up: A #GSpawnChildSetupFunc for a program that ends with this process and has one
 * output. @leads: not %NULL: it leads a process group. */
void tool_child_set_up (gpointer leads);

/** tool_child_describe_end: Returns: (transfer full): a sentence on the end of a process with that
 * wait status. */
gchar *tool_child_describe_end (gint status);

/** ToolServe: Returns: (transfer full) (nullable): the last answer to @request; %NULL if the
 * request is unknown or invalid. */
typedef json_t *(*ToolServe) (gpointer data, GemmclContext *context, const json_t *request);

/**
 * tool_child_serve:
 *
 * The side of the child: opens the device that the options name, and answers requests until the end
 * of the standard input.
 *
 * Returns: %FALSE with an error if the device cannot be opened.
 */
gboolean tool_child_serve (ToolServe serve, gpointer data, GError **error);

/** tool_child_read_problem: Returns: #tool_gemm with "m", "n" and "k" of @request. */
GemmclGemm tool_child_read_problem (const json_t *request);

/** tool_child_answer: Writes @answer, (transfer full), to the current request. */
void tool_child_answer (json_t *answer);

/** tool_child_make_error: Returns: (transfer full): an answer with "error", "why" and "lost", which
 * is true if OpenCL failed. */
json_t *tool_child_make_error (const GError *why);
