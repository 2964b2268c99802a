/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/device.h"

/**
 * GemmclChain:
 * @events: (element-type cl_event): the events of all commands, to be kept until the last one is
 *   done: PoCL 3 fails what waits for an event that failed, and touches that once more
 * @n_wait, @wait: what the next command waits for
 * @first, @kernel: the first and the last kernel
 * @last: the last command of all
 * @slice: work-items of a kernel that are launched at once, along its first dimension and with the
 *   queue finished in between, so that other queues have their turn; 0: all
 * @warm_up: of each kernel no more is launched than what makes PoCL compile it
 *
 * Commands that follow one another in queues of any kind, each waiting for the one before: if one
 * fails, so do all behind it, and when the last one is done all are. Do not move it: @wait may
 * point into it.
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

/** gemmcl_events_new: Returns: (transfer full): an array that releases what is taken out of it. */
GPtrArray *gemmcl_events_new (void);

/** CHAIN_WAIT: the arguments of OpenCL's clEnqueue functions that say what to wait for; it allows
 * no list without events. */
#define CHAIN_WAIT(chain) (chain)->n_wait, (chain)->n_wait > 0 ? (chain)->wait : NULL

/**
 * gemmcl_chain_add:
 * @status: of the clEnqueue function that was called with CHAIN_WAIT() and @done
 * @done: (transfer full): its event
 * @what: for the message
 */
gboolean gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                           GError **error);

/** GROUP: work-items of a group where they are neighbours in a row and have nothing in common. */
#define GROUP 64

/** ROUND_UP: @n work-items in whole groups. */
#define ROUND_UP(n, group) (((n) + (group)-1) / (group) * (group))

/**
 * gemmcl_chain_launch:
 * @name: for the message
 * @global: a multiple of @local. That is never the driver's choice, which may be another for each
 *   @global: PoCL compiles for each
 * @...: the kernel's arguments, each as ARGUMENT(), and a size of 0 behind the last
 */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name,
                              const gsize global[3], const gsize local[3], GError **error, ...);

/** IN_A_ROW: the size of a work-group of @n side by side. */
#define IN_A_ROW(n) ((const gsize[3]){n, 1, 1})

#define ARGUMENT(value) sizeof (value), &(value)

/** LAUNCH: gemmcl_chain_launch() with the size of 0. */
#define LAUNCH(...) gemmcl_chain_launch (__VA_ARGS__, (gsize)0)
