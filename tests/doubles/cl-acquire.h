/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-objects.h"

/*
 * Acquire and release, as commands of the program's queue that a thread of the layer does when
 * their turn has come: GEMMCL_DOUBLES_LATENCY_MS later (2 if unset), so that what a program does
 * too early, it does too early every time.
 *
 * A surface is in use from the call that acquires it until the command that releases it is done.
 */

typedef struct {
  const gchar *function;
  gboolean planes;  /* of VA, or dma-bufs */
  gboolean acquire; /* or release */
} Transition;

/** As clEnqueueAcquire...() and clEnqueueRelease...(): nothing changes if it fails. */
cl_int cl_enqueue_transition (const Transition *transition, cl_command_queue queue, cl_uint n,
                              const cl_mem *mems, cl_uint n_waits, const cl_event *waits,
                              cl_event *event);
