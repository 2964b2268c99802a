/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chains of commands.
 */
#pragma once

#include "device/device.h"

/** Commands in one or more queues, each waiting for the one before. If one fails, all later ones
 * fail; when the last one is done, all are. Do not move a chain: @wait may point into it. */
typedef struct {
  cl_command_queue queue; /* of the next command */
  /* One for each command. Keep them until the last one is done: when an event fails, PoCL 3 also
   * fails the commands that wait for it, and accesses that event once more. */
  GPtrArray *events;
  guint n_wait; /* events that the next command waits for */
  const cl_event *wait;
  cl_event first, kernel, last; /* the first and the last kernel, the last command */
  /* Work-items that are launched at once, along a kernel's first dimension. The queue is finished
   * between slices, so that other queues get their turn. 0: all at once. */
  gsize slice;
  gboolean warm_up; /* launch only as much of each kernel as makes PoCL compile it */
} GemmclChain;

/** An array that releases its events when they are removed. */
GPtrArray *gemmcl_events_new (void);

/** Returns: an OpenCL status. @ns: (out): nanoseconds from the start of @first to the end of @last
 * by the device's clock; 0 if the queue does not report them */
cl_int gemmcl_events_get_duration (cl_event first, cl_event last, guint64 *ns);

/** The wait-list arguments of clEnqueue functions, which require NULL for an empty list. */
#define CHAIN_WAIT(chain) (chain)->n_wait, (chain)->n_wait > 0 ? (chain)->wait : NULL

/** Adds a command to the chain, unless it failed: @status is the result of a clEnqueue function
 * that was called with CHAIN_WAIT() and @done (transfer full). @what: the command, in a message */
gboolean gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                           GError **error);

/** Work-items of a group, side by side in a row, if they share nothing. */
#define GROUP 64

#define ROUND_UP(n, group) (((n) + (group)-1) / (group) * (group))

/** Sets the arguments of @kernel, each as ARGUMENT(), then a size of 0, and adds a launch to the
 * chain. @name: for the message; @global: a multiple of @local, the work-group, which is never left
 * to the driver: PoCL would compile again for each */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name,
                              const gsize global[3], const gsize local[3], GError **error, ...);

/** A work-group of @n work-items along the first dimension. */
#define IN_A_ROW(n) ((const gsize[3]){n, 1, 1})

#define ARGUMENT(value) sizeof (value), &(value)

/** gemmcl_chain_launch() with the final size of 0. */
#define LAUNCH(...) gemmcl_chain_launch (__VA_ARGS__, (gsize)0)
