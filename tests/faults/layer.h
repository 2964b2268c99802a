/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../doubles/cl-layer-entry.h"
#include "faults.h"

typedef enum {
  FAULTS_CONTEXT,
  FAULTS_QUEUE,
  FAULTS_MEMORY,
  FAULTS_PROGRAM,
  FAULTS_KERNEL,
  FAULTS_EVENT,
  FAULTS_N_KINDS,
} FaultsKind;

/** The answers to faults_get_...(). */
typedef struct {
  gboolean is_loaded;
  guint calls, strikes, held;
  const gchar *failed;
  gint objects[FAULTS_N_KINDS]; /* references that the program holds */
} FaultsState;

/** The interface that the layer exports, as gemmcl_faults; faults.h says what each function does.
 * @get_state may be called by a signal handler. */
typedef struct {
  void (*get_state) (FaultsState *state);
  void (*set) (FaultsMode mode, guint n);
  void (*hold_builds) (gboolean hold);
  void (*hold_kernels) (gboolean hold);
} FaultsLayer;

/*
 * late.c: commands that OpenCL accepts and that end with an error, as when the device is lost
 * meanwhile. With one of them fail all that wait for it and all that follow in its queue; no
 * command of these is run. Drivers are not asked to do that themselves, since PoCL crashes, up to 6
 * at least: it frees commands that fail because of another one while it still uses them.
 */

/** late_init: To be called first. */
void late_init (void);

/** late_is_doomed: Returns: whether a command for @queue that waits for these events will fail. */
gboolean late_is_doomed (cl_command_queue queue, cl_uint n_waits, const cl_event *waits);

/** late_enqueue: Enqueues such a command, from which on the queue is doomed; @event, if not NULL,
 * ends with an error. */
cl_int late_enqueue (cl_command_queue queue, WAIT_PARAMETERS);

/**
 * late_delay:
 * @n_waits, @waits: (inout): the events that a command is to wait for; one more is added, which is
 * complete after two milliseconds
 *
 * Returns: the new @waits; for late_end_delay (), with the new @n_waits, after the command is
 *   enqueued.
 */
cl_event *late_delay (cl_command_queue queue, cl_uint *n_waits, const cl_event **waits);
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
