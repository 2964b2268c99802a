/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "results.h"

/**
 * A worker is a fork of the tool that uses the device. A crash or a hang of the driver ends only
 * the worker. It has a process group of its own: Ctrl-C does not reach it, and the tool kills the
 * whole group. A worker does not outlive the tool. The tool itself must not use OpenCL before it
 * forks.
 *
 * The work is a list of items, which are JSON objects. A worker completes one after the other and
 * reports each. It announces a step that may end it. If it is lost, the next worker starts with the
 * items as they are then.
 */

/**
 * ToolWork:
 * @work: in the worker: completes @item. Returns: %FALSE if nothing was left to do
 * @lose: in the tool: the worker was lost after it announced @what (nullable) for @item
 * @done: (nullable): in the tool: @work ended. Returns: %FALSE with an error that ends all work
 */
typedef struct {
  gboolean (*work) (GemmclContext *context, json_t *item, gpointer data);
  void (*lose) (json_t *item, const gchar *what, const gchar *why, gpointer data);
  gboolean (*done) (json_t *item, gpointer data, GError **error);
} ToolWork;

/**
 * tool_worker_run:
 * @items: (element-type json_t): the items, each of which gets the members that the worker sets
 * @data: for the functions of @work; what a worker writes there is lost
 * @deadline: the time of tool_get_seconds() at which the work ends, done or not, if the device was
 *   opened; %INFINITY for none
 *
 * Forks workers until one has done the work on the device that the options name, and shows the
 * progress on the standard error.
 *
 * Returns: %FALSE with %TOOL_ERROR_INTERRUPTED, an error of @done, or %TOOL_ERROR_FAILED: no
 *   process can be started, the device cannot be opened, or four workers in a row were lost in the
 *   first step that they announced.
 */
gboolean tool_worker_run (json_t *items, const ToolWork *work, gpointer data, gdouble deadline,
                          GError **error);

/** tool_worker_ask: Has a worker set members of @object with @fill, as ToolWork.work does. Returns:
 * as tool_worker_run(). */
gboolean tool_worker_ask (json_t *object,
                          gboolean (*fill) (GemmclContext *context, json_t *object, gpointer data),
                          gpointer data, GError **error);

/** tool_get_seconds: Returns: the time of the monotonic clock. */
gdouble tool_get_seconds (void);

/** tool_worker_fork: fork() for a process that ends with the caller, and whose output and errors go
 * to the file @output. */
GPid tool_worker_fork (gint output);

/** tool_progress_show: Shows "@i of @n: @what" and the seconds that are @left, unless they are 0 or
 * NaN, on the standard error: a line, which the next one replaces on a terminal with escapes. */
void tool_progress_show (gsize i, gsize n, const gchar *what, gdouble left);

/** tool_progress_clear: Erases the progress on a terminal, so that another line can be printed. */
void tool_progress_clear (void);

/** Functions for the worker's process. */

/** tool_worker_step: Shows @what and the seconds that are @left as the progress of the item. */
void tool_worker_step (const gchar *what, gdouble left);

/** tool_worker_begin: Announces a step that takes @seconds at most. If the worker is lost before
 * the next report, the item and @what (nullable) get the blame. */
void tool_worker_begin (const gchar *what, gdouble seconds);

/** tool_worker_lose: Ends this process, whose device may be lost. */
void tool_worker_lose (const gchar *why) G_GNUC_NORETURN;
