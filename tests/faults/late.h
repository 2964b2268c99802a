/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../doubles/cl-layer-entry.h"

#include <glib.h>

/*
 * Commands that OpenCL accepts and that end with an error, as when the device is lost meanwhile.
 * With one of them fail all that wait for it and all that follow in its queue; no command of these
 * is run. Drivers are not asked to do that themselves, since PoCL crashes, up to 6 at least: it
 * frees commands that fail because of another one while it still uses them.
 */

/** late_init: To be called first. */
void late_init (void);

/** late_is_doomed: Returns: whether a command for @queue that waits for these events will fail. */
gboolean late_is_doomed (cl_command_queue queue, cl_uint n, const cl_event *wait);

/**
 * late_enqueue:
 * @event: (out) (optional): what ends with an error
 *
 * Enqueues such a command, from which on the queue is doomed.
 */
cl_int late_enqueue (cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event);

/**
 * late_delay:
 * @n, @wait: (inout): the events that a command is to wait for; one more is added, which is
 * complete after two milliseconds
 *
 * Returns: what @wait is then; for late_end_delay (), with the new @n, after the command is
 *   enqueued.
 */
cl_event *late_delay (cl_command_queue queue, cl_uint *n, const cl_event **wait);
void late_end_delay (cl_event *events, cl_uint n);

/** late_hold: While @hold, no delay ends. */
void late_hold (gboolean hold);

/** late_get_status: Returns: @status, of the event's execution, or the error in place of success.
 */
cl_int late_get_status (cl_event event, cl_int status);

/** late_forget_queue: @queue is a new one, at the address of another maybe. */
void late_forget_queue (cl_command_queue queue);

/** late_clear: From now on all commands succeed. */
void late_clear (void);
