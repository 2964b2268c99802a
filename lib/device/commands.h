/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands: their events, chains of them, and waits.
 */
#pragma once

#include "device/opencl.h"

/** A chain of commands in one or more queues. Each command waits for the one before, so that a
 * failure reaches all later commands, and all are done when the last one is. Do not move a chain:
 * @wait may point into it. */
typedef struct {
  cl_command_queue queue; /* of the next command */
  /* An event for each command. Keep them until the last command is done: when an event fails, PoCL
   * 3 also fails the commands that wait for it, and accesses the failed event once more. */
  GPtrArray *events;
  guint n_wait; /* events that the next command waits for */
  const cl_event *wait;
  cl_event first, kernel, last; /* the first and the last kernel, the last command */
  /* The largest number of work-items of a launch. A larger kernel is launched in slices along its
   * first dimension, and the queue is finished between them, so that commands of other queues
   * run in between. 0: no limit. */
  gsize slice;
  gboolean warm_up; /* launch only as much of each kernel as makes PoCL compile it */
} GemmclChain;

/** An array that releases its events when they are removed. */
GPtrArray *gemmcl_events_new (void);

/** The execution status of @event: CL_COMPLETE, positive before that, negative if the command
 * failed or if its status cannot be known. */
cl_int gemmcl_event_get_status (cl_event event);

/** Returns: an OpenCL status. @ns: (out): nanoseconds from the start of @first to the end of @last
 * by the device's clock; 0 if the queue does not report them, or reports too few to be true */
cl_int gemmcl_events_get_duration (cl_event first, cl_event last, guint64 *ns);

/** The wait-list arguments of a clEnqueue function, which requires NULL for an empty list. */
#define CHAIN_WAIT(chain) (chain)->n_wait, (chain)->n_wait > 0 ? (chain)->wait : NULL

/** Adds a command to the chain, unless it failed: @status is the result of a clEnqueue function
 * that was called with CHAIN_WAIT() and @done (transfer full). @what: the command, in a message */
gboolean gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                           GError **error);

/** The size of a one-dimensional work-group whose work-items share nothing. */
#define GROUP 64

#define ROUND_UP(n, group) (((n) + (group)-1) / (group) * (group))

/** An argument of a kernel: the size of a value, and its address. A size of 0 ends a list. */
typedef struct {
  gsize size;
  gconstpointer value;
} GemmclArgument;

#define ARGUMENT(value_)                                                                           \
  {                                                                                                \
    sizeof (value_), &(value_)                                                                     \
  }

/** Sets @arguments of @kernel and adds its launch to the chain. @name: the kernel's name in
 * messages; @global: a multiple of @local; @local: the size of a work-group, which is never left to
 * the driver, since PoCL would compile the kernel again for each size */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name,
                              const gsize global[3], const gsize local[3],
                              const GemmclArgument *arguments, GError **error);

/** A work-group of @n work-items along the first dimension. */
#define IN_A_ROW(n) ((const gsize[3]){n, 1, 1})

/** gemmcl_chain_launch() with a list of ARGUMENT()s. */
#define LAUNCH(chain, kernel, name, global, local, error, ...)                                     \
  gemmcl_chain_launch (chain, kernel, name, global, local,                                         \
                       ((const GemmclArgument[]){__VA_ARGS__, {0}}), error)

/** Adds a command that fills the first @n floats of @memory with zeros. @what: the command, in a
 * message */
gboolean gemmcl_chain_fill (GemmclChain *chain, cl_mem memory, gsize n, const gchar *what,
                            GError **error);

/** Waits for a command: @status is the result of a clEnqueue function with @done (transfer full),
 * and @what the command, in a message. FALSE with #GEMMCL_ERROR_OPENCL if it failed. For commands
 * that do not block: a failure after a command was accepted shows only in its event. */
gboolean gemmcl_context_finish (GemmclContext *self, cl_int status, cl_event done,
                                const gchar *what, GError **error);
