/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "output.h"

/**
 * A worker is another process of the tool, `gemmcl COMMAND --worker ...`, which uses the device. It
 * may crash or hang. It has its own process group, which is ended as a whole and which Ctrl-C does
 * not reach, and ends with the tool at the latest.
 *
 * Both processes have a state, a JSON object. The worker reads it when it starts, does what it
 * lacks, and reports each change. Before it does something that may end it, it names the object of
 * the state that gets the blame. After a loss the next worker goes on from the state.
 */

/** ToolWorkerNotify: @change was merged into @object of the state. Returns: %FALSE with an error
 * that ends the work. */
typedef gboolean (*ToolWorkerNotify) (gpointer data, json_t *object, const json_t *change,
                                      GError **error);

/**
 * tool_worker_run:
 * @state: the state; its list "lost" gets each object that was under way when a worker was lost
 * @deadline: the monotonic time at which the work ends, done or not, if the device was opened
 * @notify: (nullable): called after each change
 *
 * Starts workers until one has done the work, and shows the progress on the standard error.
 *
 * Returns: %FALSE with a #GSpawnError, %TOOL_ERROR_INTERRUPTED, an error of @notify, or
 *   %TOOL_ERROR_FAILED: the device cannot be opened, or four workers in a row were lost without a
 *   kernel that ran in between.
 */
gboolean tool_worker_run (json_t *state, gint64 deadline, ToolWorkerNotify notify, gpointer data,
                          GError **error);

/** tool_worker_clear_progress: Removes the progress from the terminal, so that a line can be
 * printed. */
void tool_worker_clear_progress (void);

/** tool_worker_start_helper: Starts this program with the same arguments and @option. It has no
 * input and no output, and ends with this process. Returns: its id; 0 if it cannot start. */
GPid tool_worker_start_helper (const gchar *option);

/** tool_worker_describe_end: Returns: (transfer full): a sentence on the end of a process with that
 * wait status. */
gchar *tool_worker_describe_end (gint status);

/** tool_worker_set_up: A #GSpawnChildSetupFunc for a program that ends with this process, and whose
 * standard error goes to its standard output. */
void tool_worker_set_up (gpointer unused);

/** The side of the worker. An @object is the state or in it. */

/** ToolWork: Does what @state lacks. */
typedef void (*ToolWork) (GemmclContext *context, json_t *state, gpointer data);

/** tool_worker_serve: Opens the device that the options name, reads the state, and works. Returns:
 * %FALSE with an error if the device cannot be opened. */
gboolean tool_worker_serve (ToolWork work, gpointer data, GError **error);

/** tool_worker_step: Shows @step as the progress. */
void tool_worker_step (const gchar *step);

/** tool_worker_begin: Announces something that takes @seconds at most. If the worker is lost before
 * the next report, the object gets the members of @if_lost (transfer full) and the reason as
 * "why". */
void tool_worker_begin (const json_t *object, gdouble seconds, json_t *if_lost);

/** tool_worker_set: Merges @change (transfer full) into an object. Without a text as "why" a kernel
 * ran. */
void tool_worker_set (json_t *object, json_t *change);

/** tool_worker_lose: Ends this process, whose device may be lost. */
void tool_worker_lose (const gchar *why) G_GNUC_NORETURN;
