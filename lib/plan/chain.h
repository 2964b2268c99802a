/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/device.h"

/**
 * GemmclChain:
 * @queue: the queue of the next command
 * @events: (element-type cl_event): the events of all commands. Keep them until the last command is
 *   done: when an event fails, PoCL 3 also fails the commands that wait for it, and accesses that
 *   event once more
 * @n_wait, @wait: the events that the next command waits for
 * @first, @kernel: the first and the last kernel
 * @last: the last command
 * @slice: work-items that are launched at once, along a kernel's first dimension. The queue is
 *   finished between slices, so that other queues get their turn. 0: all at once
 * @warm_up: launch only as much of each kernel as makes PoCL compile it
 *
 * Commands in one or more queues, each waiting for the one before. If one fails, all later ones
 * fail; when the last one is done, all are. Do not move a chain: @wait may point into it.
 */
typedef struct {
  cl_command_queue queue;
  GPtrArray *events;
  guint n_wait;
  const cl_event *wait;
  cl_event first, kernel, last;
  gsize slice;
  gboolean warm_up;
} GemmclChain;

/** gemmcl_events_new: Returns: (transfer full): an array that releases its events when they are
 * removed. */
GPtrArray *gemmcl_events_new (void);

/** CHAIN_WAIT: the wait-list arguments of OpenCL's clEnqueue functions, which require NULL for an
 * empty list. */
#define CHAIN_WAIT(chain) (chain)->n_wait, (chain)->n_wait > 0 ? (chain)->wait : NULL

/**
 * gemmcl_chain_add:
 * @status: the result of a clEnqueue function that was called with CHAIN_WAIT() and @done
 * @done: (transfer full): its event
 * @what: the command, for the message
 *
 * Adds a command to the chain, unless it failed.
 */
gboolean gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                           GError **error);

/** GROUP: work-items of a group, side by side in a row, if they share nothing. */
#define GROUP 64

/** ROUND_UP: @n rounded up to a multiple of @group. */
#define ROUND_UP(n, group) (((n) + (group)-1) / (group) * (group))

/**
 * gemmcl_chain_launch:
 * @name: the kernel, for the message
 * @global: a multiple of @local
 * @local: the work-group. Never left to the driver, whose choice depends on @global: PoCL would
 *   compile again for each
 * @...: the kernel's arguments, each as ARGUMENT(), then a size of 0
 *
 * Sets the arguments and adds a launch of @kernel to the chain.
 */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name,
                              const gsize global[3], const gsize local[3], GError **error, ...);

/** IN_A_ROW: a work-group of @n work-items along the first dimension. */
#define IN_A_ROW(n) ((const gsize[3]){n, 1, 1})

#define ARGUMENT(value) sizeof (value), &(value)

/** LAUNCH: gemmcl_chain_launch() with the final size of 0. */
#define LAUNCH(...) gemmcl_chain_launch (__VA_ARGS__, (gsize)0)
