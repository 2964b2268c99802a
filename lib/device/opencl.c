/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/opencl.h"

#include <stdlib.h>
#include <unistd.h>

/* How long exit() waits for work, in us. */
#define EXIT_GRACE (5 * G_TIME_SPAN_SECOND)

/* The most registrations of the handler, each of which takes some memory. */
#define MOST_HANDLERS 1000

typedef struct {
  cl_int status;
  const gchar *name;
  const gchar *hint;
} Status;

/* clang-format off */
static const Status statuses[] = {
#define STATUS(x, hint) {x, #x, hint}
#define PLAIN(x)        {x, #x, ""}
    STATUS (CL_DEVICE_NOT_AVAILABLE, ": the device is in use or gone"),
    STATUS (CL_COMPILER_NOT_AVAILABLE, ": this driver cannot build kernels"),
    STATUS (CL_MEM_OBJECT_ALLOCATION_FAILURE,
            ": the device has not enough memory for this problem"),
    STATUS (CL_OUT_OF_RESOURCES, ": the device ran out of memory or was lost"),
    STATUS (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ": something it waited for failed"),
    STATUS (CL_INVALID_BUFFER_SIZE, ": more than the device allows in one buffer"),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ": no OpenCL driver is installed"},
    PLAIN (CL_SUCCESS), PLAIN (CL_DEVICE_NOT_FOUND), PLAIN (CL_OUT_OF_HOST_MEMORY),
    PLAIN (CL_PROFILING_INFO_NOT_AVAILABLE), PLAIN (CL_BUILD_PROGRAM_FAILURE),
    PLAIN (CL_MISALIGNED_SUB_BUFFER_OFFSET), PLAIN (CL_LINKER_NOT_AVAILABLE),
    PLAIN (CL_INVALID_VALUE), PLAIN (CL_INVALID_DEVICE_TYPE), PLAIN (CL_INVALID_PLATFORM),
    PLAIN (CL_INVALID_DEVICE), PLAIN (CL_INVALID_CONTEXT), PLAIN (CL_INVALID_QUEUE_PROPERTIES),
    PLAIN (CL_INVALID_COMMAND_QUEUE), PLAIN (CL_INVALID_HOST_PTR), PLAIN (CL_INVALID_MEM_OBJECT),
    PLAIN (CL_INVALID_BINARY), PLAIN (CL_INVALID_BUILD_OPTIONS), PLAIN (CL_INVALID_PROGRAM),
    PLAIN (CL_INVALID_PROGRAM_EXECUTABLE), PLAIN (CL_INVALID_KERNEL_NAME),
    PLAIN (CL_INVALID_KERNEL), PLAIN (CL_INVALID_ARG_INDEX), PLAIN (CL_INVALID_ARG_VALUE),
    PLAIN (CL_INVALID_ARG_SIZE), PLAIN (CL_INVALID_KERNEL_ARGS), PLAIN (CL_INVALID_WORK_DIMENSION),
    PLAIN (CL_INVALID_WORK_GROUP_SIZE), PLAIN (CL_INVALID_WORK_ITEM_SIZE),
    PLAIN (CL_INVALID_GLOBAL_OFFSET), PLAIN (CL_INVALID_EVENT_WAIT_LIST), PLAIN (CL_INVALID_EVENT),
    PLAIN (CL_INVALID_OPERATION), PLAIN (CL_INVALID_GLOBAL_WORK_SIZE), PLAIN (CL_INVALID_PROPERTY)
#undef PLAIN
#undef STATUS
};
/* clang-format on */

static const Status *
find_status (cl_int status)
{
  static const Status unknown = {0, "an unknown error", ""};

  for (gsize i = 0; i < G_N_ELEMENTS (statuses); i++)
    if (statuses[i].status == status)
      return &statuses[i];
  return &unknown;
}

const gchar *
gemmcl_cl_error_name (cl_int status)
{
  return find_status (status)->name;
}

gboolean
gemmcl_cl_check (cl_int status, GError **error, const gchar *call, ...)
{
  g_autofree gchar *what = NULL;
  va_list args;

  if (status == CL_SUCCESS)
    return TRUE;

  va_start (args, call);
  what = g_strdup_vprintf (call, args);
  va_end (args);
  return gemmcl_fail (error, GEMMCL_ERROR_OPENCL, "%s failed with %s (%d)%s.", what,
                      find_status (status)->name, status, find_status (status)->hint);
}

typedef struct {
  GThread *thread;
  GCancellable *cancellable; /* (nullable) */
} Work;

/* All work that goes on. */
static GMutex works_lock;
static GCond works_changed;
static GArray *works;
static guint n_handlers;    /* calls of atexit() for wait_at_exit() */
static gboolean is_exiting; /* a handler waits, or has waited */
static pid_t process; /* a fork has none of the threads, and perhaps a lock that stays locked */

/* TRUE if other threads than this one, in which a driver may call exit(), are at work. */
static gboolean
others_work (void)
{
  for (guint i = 0; i < works->len; i++)
    if (g_array_index (works, Work, i).thread != g_thread_self ())
      return TRUE;
  return FALSE;
}

static void
wait_at_exit (void)
{
  const gint64 until = g_get_monotonic_time () + EXIT_GRACE;
  g_autoptr (GPtrArray) cancellables = NULL;

  if (getpid () != process || is_exiting)
    return;
  cancellables = g_ptr_array_new_with_free_func (g_object_unref);
  g_mutex_lock (&works_lock);
  is_exiting = TRUE;
  for (guint i = 0; i < works->len; i++)
    if (g_array_index (works, Work, i).cancellable != NULL)
      g_ptr_array_add (cancellables, g_object_ref (g_array_index (works, Work, i).cancellable));
  g_mutex_unlock (&works_lock);
  for (guint i = 0; i < cancellables->len; i++)
    g_cancellable_cancel (cancellables->pdata[i]);
  g_mutex_lock (&works_lock);
  while (others_work () && g_cond_wait_until (&works_changed, &works_lock, until))
    ;
  g_mutex_unlock (&works_lock);
}

/* Handlers run in the reverse order of their registration. A compiler makes static objects while it
 * works, and exit() must not destroy them before the compiler returns: the handler is registered
 * again after each of the first works. Needs the lock. */
static void
register_handler (void)
{
  if (n_handlers++ < MOST_HANDLERS)
    atexit (wait_at_exit);
}

gboolean
gemmcl_cl_begin_work (GCancellable *cancellable, GError **error)
{
  const Work work = {g_thread_self (), cancellable};
  gboolean begun;

  g_mutex_lock (&works_lock);
  begun = !is_exiting;
  if (works == NULL) {
    works = g_array_new (FALSE, FALSE, sizeof (Work));
    process = getpid ();
    register_handler ();
  }
  if (begun)
    g_array_append_val (works, work);
  g_mutex_unlock (&works_lock);
  return begun || gemmcl_fail (error, GEMMCL_ERROR_OPENCL,
                               "The process exits, so OpenCL is not used any more.");
}

void
gemmcl_cl_end_work (void)
{
  guint i;

  g_mutex_lock (&works_lock);
  for (i = works->len - 1; g_array_index (works, Work, i).thread != g_thread_self ();)
    i--;
  g_array_remove_index (works, i);
  register_handler ();
  g_cond_broadcast (&works_changed);
  g_mutex_unlock (&works_lock);
}
