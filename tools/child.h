/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "output.h"

/**
 * ToolProcess:
 *
 * A program that may crash or hang, in a process group of its own: it is ended with all that it
 * started, and Ctrl-C does not reach it. It ends with the tool at the latest.
 */
typedef struct _ToolProcess ToolProcess;

/**
 * tool_process_new:
 * @arguments: the program, looked for in PATH, and its arguments
 * @tick: called several times a second while the process is read
 * @data: for @tick
 *
 * Returns: (transfer full): the process, or %NULL with a #GSpawnError.
 */
ToolProcess *tool_process_new (const gchar *const *arguments, void (*tick) (gpointer data),
                               gpointer data, GError **error);

/** tool_process_free: Ends the program with SIGKILL, unless it has ended. */
void tool_process_free (ToolProcess *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ToolProcess, tool_process_free)

/** tool_process_write: Writes @line and a line feed to the standard input. A failure shows in
 * tool_process_read(). */
void tool_process_write (ToolProcess *self, const gchar *line);

/** ToolRead: what tool_process_read() found: a line, the end of the output, no line in time, or a
 * Ctrl-C. */
typedef enum {
  TOOL_READ_LINE,
  TOOL_READ_END,
  TOOL_READ_LATE,
  TOOL_READ_INTERRUPTED,
} ToolRead;

/**
 * tool_process_read:
 * @deadline: of the monotonic clock, in microseconds
 * @line: (out) (transfer full): the next line of the standard output or the standard error, without
 *   its line feed; %NULL unless %TOOL_READ_LINE
 */
ToolRead tool_process_read (ToolProcess *self, gint64 deadline, gchar **line);

/**
 * tool_process_finish:
 * @why: (out) (transfer full): how it ended, as a sentence
 *
 * Waits a moment for the program to end, after %TOOL_READ_END.
 *
 * Returns: TRUE if its exit status was 0.
 */
gboolean tool_process_finish (ToolProcess *self, gchar **why);

/**
 * ToolChild:
 *
 * Another process of the tool, which uses the device: `gemmcl COMMAND --worker`. The first request
 * starts it, and so does the first one after a loss. A request and an answer are an object of JSON
 * each; a request may have several answers. These members of an answer mean the same in all:
 *
 *   "result": "ok"   a kernel ran
 *   "lost": true     the device may be lost for the process, which is ended; "why" is the reason
 *   "error": true    nothing of the request could be done; "why" is the reason
 *
 * A process that announces each piece of work by an answer before it begins can be ended in the
 * middle of it: the parent knows which piece it was, and asks the next process for the others.
 */
typedef struct _ToolChild ToolChild;

/**
 * ToolChildError:
 * @TOOL_CHILD_ERROR_LOST: the process ended, or lost its device in a run
 * @TOOL_CHILD_ERROR_LATE: there was no answer in time; the process was ended
 * @TOOL_CHILD_ERROR_GIVEN_UP: it was lost four times in a row with no kernel that ran between, and
 *   is not started again
 */
typedef enum {
  TOOL_CHILD_ERROR_LOST,
  TOOL_CHILD_ERROR_LATE,
  TOOL_CHILD_ERROR_GIVEN_UP,
} ToolChildError;

#define TOOL_CHILD_ERROR (tool_child_error_quark ())
GQuark tool_child_error_quark (void);

/**
 * tool_child_new:
 * @command: a subcommand of the tool that calls tool_child_serve() for its option --worker
 * @tick: called several times a second while an answer is awaited
 * @data: for @tick
 *
 * Returns: (transfer full): a child for the device that the options name; nothing is started yet.
 */
ToolChild *tool_child_new (const gchar *command, void (*tick) (gpointer data), gpointer data);

/** tool_child_free: Ends the process. */
void tool_child_free (ToolChild *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ToolChild, tool_child_free)

/** tool_child_get_generation: Returns: a number, not 0, that changes with each loss: what earlier
 * requests left in the process is gone. */
guint tool_child_get_generation (const ToolChild *self);

/**
 * tool_child_send:
 * @request: (transfer full): an object
 *
 * Returns: %FALSE with a #GSpawnError or %TOOL_CHILD_ERROR_GIVEN_UP.
 */
gboolean tool_child_send (ToolChild *self, json_t *request, GError **error);

/**
 * tool_child_read:
 * @seconds: how long the answer may take
 *
 * Returns: (transfer full): the next answer to the last request; %NULL with a #ToolChildError or
 *   %TOOL_ERROR_INTERRUPTED.
 */
json_t *tool_child_read (ToolChild *self, gdouble seconds, GError **error);

/** tool_child_ask: tool_child_send(), and tool_child_read() once. */
json_t *tool_child_ask (ToolChild *self, json_t *request, gdouble seconds, GError **error);

/** ToolServe: Returns: (transfer full) (nullable): the last answer to @request; %NULL if the
 * request is none that it knows. */
typedef json_t *(*ToolServe) (gpointer data, GemmclContext *context, const json_t *request);

/**
 * tool_child_serve:
 *
 * The other side: opens the device that the options name, and answers requests until there are no
 * more.
 *
 * Returns: %FALSE with an error if the device cannot be opened.
 */
gboolean tool_child_serve (ToolServe serve, gpointer data, GError **error);

/** tool_child_answer: Writes an answer to the request under way (transfer full). */
void tool_child_answer (json_t *answer);

/** tool_child_make_error: Returns: (transfer full): an answer with "error", "why" and "lost", the
 * latter if OpenCL failed. */
json_t *tool_child_make_error (const GError *why);
