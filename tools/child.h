/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "output.h"

/**
 * ToolProcess:
 *
 * A program that may crash or hang, in its own process group. The group is ended as a whole, and
 * Ctrl-C does not reach it. The program ends with the tool at the latest.
 */
typedef struct _ToolProcess ToolProcess;

/**
 * tool_process_new:
 * @arguments: the program, found in PATH, and its arguments
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

/** tool_process_write: Writes @line and a line feed to the standard input. If that fails,
 * tool_process_read() finds the end of the output. */
void tool_process_write (ToolProcess *self, const gchar *line);

/** ToolRead: the result of tool_process_read(): a line, the end of the output, no line in time, or
 * Ctrl-C. */
typedef enum {
  TOOL_READ_LINE,
  TOOL_READ_END,
  TOOL_READ_LATE,
  TOOL_READ_INTERRUPTED,
} ToolRead;

/**
 * tool_process_read:
 * @deadline: in microseconds of the monotonic clock
 * @line: (out) (transfer full): the next line of the standard output or the standard error, without
 *   its line feed; %NULL unless %TOOL_READ_LINE
 */
ToolRead tool_process_read (ToolProcess *self, gint64 deadline, gchar **line);

/** tool_keep_line: Appends @line to @said, the last lines of a program, as UTF-8; the first ones
 * are cut off after 2000 characters. */
void tool_keep_line (GString *said, const gchar *line);

/**
 * tool_process_finish:
 * @why: (out) (transfer full): a sentence about its end
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
 * starts it, and so does the first one after a loss. Each request and each answer is a JSON object;
 * a request may have several answers. These members of an answer have a fixed meaning:
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

/**
 * tool_child_new:
 * @tick: called several times a second while an answer is awaited
 * @data: for @tick
 *
 * Returns: (transfer full): a child with this process's arguments and --worker, not started yet.
 */
ToolChild *tool_child_new (void (*tick) (gpointer data), gpointer data);

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
