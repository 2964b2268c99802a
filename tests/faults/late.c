/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer.h"

/* Length of a delay. */
#define LATE_US 2000

static GMutex lock;        /* guards the following variables */
static GHashTable *failed; /* failed events, referenced so that their addresses are not reused */
static GHashTable *doomed; /* queues with a failed command */
static gboolean held;      /* delays do not end */
static GCond released;

void
late_init (void)
{
  failed = g_hash_table_new (NULL, NULL);
  doomed = g_hash_table_new (NULL, NULL);
}

gboolean
late_is_doomed (cl_command_queue queue, cl_uint n_waits, const cl_event *waits)
{
  gboolean found;

  g_mutex_lock (&lock);
  found = g_hash_table_contains (doomed, queue);
  for (cl_uint i = 0; i < n_waits && !found; i++)
    found = g_hash_table_contains (failed, waits[i]);
  g_mutex_unlock (&lock);
  return found;
}

static gpointer
open_gate (gpointer gate)
{
  g_usleep (LATE_US);
  g_mutex_lock (&lock);
  while (held)
    g_cond_wait (&released, &lock);
  g_mutex_unlock (&lock);
  cl_next->clSetUserEventStatus (gate, CL_COMPLETE);
  cl_next->clReleaseEvent (gate);
  return NULL;
}

cl_event *
late_delay (cl_command_queue queue, cl_uint *n_waits, const cl_event **waits)
{
  const cl_uint n = *n_waits;
  cl_event *all = g_new (cl_event, n + 1);
  cl_context context = NULL;
  cl_int status;

  cl_next->clGetCommandQueueInfo (queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  for (cl_uint i = 0; i < n; i++)
    all[i] = (*waits)[i];
  all[n] = cl_next->clCreateUserEvent (context, &status);
  g_assert (all[n] != NULL);
  cl_next->clRetainEvent (all[n]);
  g_thread_unref (g_thread_new ("gate", open_gate, all[n]));
  *n_waits = n + 1;
  *waits = all;
  return all;
}

void
late_end_delay (cl_event *events, cl_uint n)
{
  if (events != NULL)
    cl_next->clReleaseEvent (events[n - 1]);
  g_free (events);
}

void
late_hold (gboolean hold)
{
  g_mutex_lock (&lock);
  held = hold;
  g_cond_broadcast (&released);
  g_mutex_unlock (&lock);
}

cl_int
late_enqueue (cl_command_queue queue, WAIT_PARAMETERS)
{
  cl_event *delay = late_delay (queue, &n_waits, &waits);
  cl_event marker = NULL;
  const cl_int status = cl_next->clEnqueueMarkerWithWaitList (queue, n_waits, waits, &marker);

  late_end_delay (delay, n_waits);
  if (status != CL_SUCCESS)
    return status;
  g_mutex_lock (&lock);
  g_hash_table_add (failed, marker);
  g_hash_table_add (doomed, queue);
  g_mutex_unlock (&lock);
  if (event != NULL) {
    cl_next->clRetainEvent (marker);
    *event = marker;
  }
  return CL_SUCCESS;
}

cl_int
late_get_status (cl_event event, cl_int status)
{
  gboolean fails;

  g_mutex_lock (&lock);
  fails = g_hash_table_contains (failed, event);
  g_mutex_unlock (&lock);
  return fails && status == CL_COMPLETE ? CL_OUT_OF_RESOURCES : status;
}

void
late_forget_queue (cl_command_queue queue)
{
  g_mutex_lock (&lock);
  g_hash_table_remove (doomed, queue);
  g_mutex_unlock (&lock);
}

void
late_clear (void)
{
  g_autoptr (GHashTable) events = NULL;
  GHashTableIter iter;
  gpointer event;

  g_mutex_lock (&lock);
  g_hash_table_remove_all (doomed);
  events = failed;
  failed = g_hash_table_new (NULL, NULL);
  g_mutex_unlock (&lock);
  g_hash_table_iter_init (&iter, events);
  while (g_hash_table_iter_next (&iter, &event, NULL))
    cl_next->clReleaseEvent (event);
}
