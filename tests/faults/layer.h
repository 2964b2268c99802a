/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../doubles/cl-layer-entry.h"
#include "faults.h"

/*
 * late.c: commands that OpenCL accepts and that end with an error, as when the device is lost
 * meanwhile. Commands that wait for one of them, and all later ones in its queue, fail, too; none
 * of these commands runs. The driver is not involved, since PoCL crashes, at least up to version 6:
 * it frees commands that fail because of another one while it still uses them.
 */

/** late_init: Call it first. */
void late_init (void);

/** late_is_doomed: Returns: TRUE if a command in @queue that waits for these events will fail. */
gboolean late_is_doomed (cl_command_queue queue, cl_uint n_waits, const cl_event *waits);

/** late_enqueue: Enqueues a command that fails; all later ones in the queue fail, too. @event
 * (nullable) ends with an error. */
cl_int late_enqueue (cl_command_queue queue, WAIT_PARAMETERS);

/**
 * late_delay:
 * @n_waits, @waits: (inout): the events that a command waits for; one is added, which is complete
 *   after two milliseconds
 *
 * Returns: the new @waits. After enqueueing the command pass them to late_end_delay (), with the
 *   new @n_waits.
 */
cl_event *late_delay (cl_command_queue queue, cl_uint *n_waits, const cl_event **waits);
void late_end_delay (cl_event *events, cl_uint n);

/** late_hold: While @hold, no delay ends. */
void late_hold (gboolean hold);

/** late_get_status: @status: the execution status of @event. Returns: @status, or an error instead
 * of success. */
cl_int late_get_status (cl_event event, cl_int status);

/** late_forget_queue: Called for each new queue, whose address another one may have had. */
void late_forget_queue (cl_command_queue queue);

/** late_clear: From now on all commands succeed. */
void late_clear (void);
