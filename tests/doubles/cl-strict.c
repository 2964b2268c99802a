/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <string.h>

/* Refuses calls that other drivers refuse and PoCL accepts:
 *
 *   - A rectangle of a buffer must end inside the buffer with the gap after its last row, as on
 *     NVIDIA. By the specification only its last byte must be inside.
 *   - An argument that is an image must not be NULL, as the specification says; a buffer may be.
 *   - A command that waits for a command of another queue must come after that queue was flushed.
 *     The specification lets the flush come later; without a flush the command may never start. */

/* The events of commands, referenced, each with its queue, until the queue is flushed. */
static GHashTable *unflushed;
G_LOCK_DEFINE_STATIC (unflushed);

static void
add_command (cl_command_queue queue, const cl_event *event)
{
  if (!event)
    return;
  cl_next->clRetainEvent (*event);
  G_LOCK (unflushed);
  g_hash_table_insert (unflushed, *event, queue);
  G_UNLOCK (unflushed);
}

static cl_command_queue
find_unflushed (cl_event event)
{
  cl_command_queue queue;

  G_LOCK (unflushed);
  queue = g_hash_table_lookup (unflushed, event);
  G_UNLOCK (unflushed);
  return queue;
}

static gboolean
is_in_queue (gpointer event G_GNUC_UNUSED, gpointer queue, gpointer flushed)
{
  return queue == flushed;
}

static void
note_flush (cl_command_queue queue)
{
  G_LOCK (unflushed);
  g_hash_table_foreach_remove (unflushed, is_in_queue, queue);
  G_UNLOCK (unflushed);
}

/* Returns: TRUE if each of @waits in another queue than @queue was flushed. */
static gboolean
are_flushed (cl_command_queue queue, cl_uint n_waits, const cl_event *waits)
{
  for (cl_uint i = 0; i < n_waits; i++) {
    const cl_command_queue other = find_unflushed (waits[i]);

    if (other && other != queue)
      return FALSE;
  }
  return TRUE;
}

static cl_int CL_API_CALL
flush (cl_command_queue queue)
{
  note_flush (queue);
  return cl_next->clFlush (queue);
}

static cl_int CL_API_CALL
finish (cl_command_queue queue)
{
  note_flush (queue);
  return cl_next->clFinish (queue);
}

static cl_int CL_API_CALL
wait_for_events (cl_uint n, const cl_event *events)
{
  for (cl_uint i = 0; i < n; i++)
    note_flush (find_unflushed (events[i]));
  return cl_next->clWaitForEvents (n, events);
}

/* Returns: TRUE if the rectangle of @region at @origin ends inside @mem. */
static gboolean
fits (cl_mem mem, const size_t *origin, const size_t *region, size_t row, size_t slice)
{
  size_t size = 0;

  if (!origin || !region ||
      cl_next->clGetMemObjectInfo (mem, CL_MEM_SIZE, sizeof size, &size, NULL) != CL_SUCCESS)
    return TRUE; /* the driver refuses it */
  row = row ? row : region[0];
  slice = slice ? slice : region[1] * row;
  return origin[0] + (origin[1] + region[1]) * row + (origin[2] + region[2] - 1) * slice <= size;
}

#define COMMAND(function, parameters, arguments, is_blocking, kind, is_valid)                      \
  static cl_int CL_API_CALL layer_##function parameters                                            \
  {                                                                                                \
    cl_int status = layer_fault (#function);                                                       \
                                                                                                   \
    if (status != CL_SUCCESS)                                                                      \
      return status;                                                                               \
    if (!(is_valid))                                                                               \
      return CL_INVALID_VALUE;                                                                     \
    if (!are_flushed (queue, n_waits, waits))                                                      \
      return CL_INVALID_EVENT_WAIT_LIST;                                                           \
    status = cl_next->function arguments;                                                          \
    if (status == CL_SUCCESS)                                                                      \
      add_command (queue, event);                                                                  \
    if (is_blocking)                                                                               \
      note_flush (queue);                                                                          \
    return status;                                                                                 \
  }
#include "../support/cl-commands.def"
#undef COMMAND

static cl_int CL_API_CALL
set_kernel_arg (cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
  char type[32] = "";

  if (size == sizeof (cl_mem) && value && *(const cl_mem *)value == NULL &&
      cl_next->clGetKernelArgInfo (kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type,
                                   NULL) == CL_SUCCESS &&
      strncmp (type, "image", strlen ("image")) == 0)
    return CL_INVALID_ARG_VALUE;
  return cl_next->clSetKernelArg (kernel, index, size, value);
}

static void
release_event (gpointer event)
{
  cl_next->clReleaseEvent (event);
}

void
strict_install (cl_icd_dispatch *table)
{
  unflushed = g_hash_table_new_full (NULL, NULL, release_event, NULL);
  table->clSetKernelArg = set_kernel_arg;
  table->clFlush = flush;
  table->clFinish = finish;
  table->clWaitForEvents = wait_for_events;
#define COMMAND(function, ...) table->function = layer_##function;
#include "../support/cl-commands.def"
}
