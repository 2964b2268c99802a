/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"
#include "../support/faults.h"

/* The OpenCL layer of faults.h. cl-faults.def is included for functions, and to install them. */

static gint mode, fatal;
static gboolean stays_dead; /* the last mode but NONE was DEAD; for set() */
static gint calls, strikes; /* the counted calls, and how many of them failed */
static const gchar *failed;
static gint references[FAULTS_KINDS];     /* to objects, that the program holds */
static GMutex lock;                       /* guards the following variables */
static GCond changed;                     /* one of the next two */
static gboolean builds_held, delays_held; /* while TRUE, clBuildProgram() does not return, and
                                           * delays do not end */
static GHashTable *late_events; /* failed ones, referenced so that their addresses are not reused */
static GHashTable *mute_events; /* those of them that nobody can ask; not referenced */
static GHashTable *late_queues; /* with a failed command, if the mode makes later ones fail */
static gint n_held;             /* threads in a held clBuildProgram(); atomic */

/* Commands that OpenCL accepts and that end with an error, as when the device is lost meanwhile.
 * Commands that wait for one of them and, in some modes, all later ones in its queue fail, too;
 * none of these commands runs. The driver is not involved, since PoCL crashes, at least up to
 * version 6: it frees commands that fail because of another one while it still uses them. */

/* Length of a delay. */
#define LATE_US 2000

static GHashTable *
new_events (void)
{
  return g_hash_table_new_full (NULL, NULL, (gpointer)cl_next->clReleaseEvent, NULL);
}

/* Waits until @held is FALSE. */
static void
wait_while (const gboolean *held)
{
  g_mutex_lock (&lock);
  while (*held)
    g_cond_wait (&changed, &lock);
  g_mutex_unlock (&lock);
}

/* Returns: TRUE if a command in @queue that waits for these events will fail. */
static gboolean
late_is_doomed (cl_command_queue queue, cl_uint n_waits, const cl_event *waits)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  gboolean found = g_hash_table_contains (late_queues, queue);

  for (cl_uint i = 0; i < n_waits && !found; i++)
    found = g_hash_table_contains (late_events, waits[i]);
  return found;
}

static gpointer
open_gate (gpointer gate)
{
  g_usleep (LATE_US);
  wait_while (&delays_held);
  cl_next->clSetUserEventStatus (gate, CL_COMPLETE);
  cl_next->clReleaseEvent (gate);
  return NULL;
}

/* Adds an event that is complete after two milliseconds to those that a command waits for. Returns:
 * the new @waits, for late_end_delay() after the command was enqueued. */
static cl_event *
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

static void
late_end_delay (cl_event *events, cl_uint n)
{
  if (events != NULL)
    cl_next->clReleaseEvent (events[n - 1]);
  g_free (events);
}

/* Enqueues a command that fails, with @event (nullable). @is_mute: nobody can ask for it */
static cl_int
late_enqueue (cl_command_queue queue, gboolean is_mute, WAIT_PARAMETERS)
{
  const FaultsMode now = g_atomic_int_get (&mode);
  cl_event *delay = late_delay (queue, &n_waits, &waits);
  cl_event marker = NULL;
  const cl_int status = cl_next->clEnqueueMarkerWithWaitList (queue, n_waits, waits, &marker);

  late_end_delay (delay, n_waits);
  if (status != CL_SUCCESS)
    return status;
  g_mutex_lock (&lock);
  g_hash_table_add (late_events, marker);
  if (is_mute)
    g_hash_table_add (mute_events, marker);
  if (now != FAULTS_LOST && now != FAULTS_MUTE)
    g_hash_table_add (late_queues, queue);
  g_mutex_unlock (&lock);
  if (event != NULL) {
    cl_next->clRetainEvent (marker);
    *event = marker;
  }
  return CL_SUCCESS;
}

/* @status: the execution status of @event. Returns: @status, or an error instead of success. */
static cl_int
late_get_status (cl_event event, cl_int status)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);

  return status == CL_COMPLETE && g_hash_table_contains (late_events, event) ? CL_OUT_OF_RESOURCES
                                                                             : status;
}

static gboolean
is_mute (cl_event event)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);

  return g_hash_table_contains (mute_events, event);
}

/* Called for each new object: a failed queue may have had its address. */
static void
late_forget_queue (gpointer queue)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);

  g_hash_table_remove (late_queues, queue);
}

/* From now on all commands succeed. */
static void
late_clear (void)
{
  g_autoptr (GHashTable) events = NULL; /* freed without the lock */

  g_mutex_lock (&lock);
  g_hash_table_remove_all (late_queues);
  g_hash_table_remove_all (mute_events);
  events = g_steal_pointer (&late_events);
  late_events = new_events ();
  g_mutex_unlock (&lock);
}

/* The calls that a mode counts. */
typedef enum {
  CALLS = 1,
  LAUNCHES,
  COMMANDS,
  QUESTIONS, /* about the state of an event */
} Counted;

static const Counted counted[] = {
    [FAULTS_ONE] = CALLS,     [FAULTS_REST] = CALLS,    [FAULTS_LATE] = LAUNCHES,
    [FAULTS_LOST] = COMMANDS, [FAULTS_MUTE] = COMMANDS, [FAULTS_ASK] = QUESTIONS,
    [FAULTS_DEAD] = COMMANDS};

/* Counts a call, if the mode counts @what. Returns: TRUE if the call or its command has to fail. */
static gboolean
is_fatal (const gchar *function, Counted what)
{
  const FaultsMode now = g_atomic_int_get (&mode);
  gint call;

  if (counted[now] != what)
    return FALSE;
  call = g_atomic_int_add (&calls, 1) + 1;
  if (!(now == FAULTS_REST ? call >= g_atomic_int_get (&fatal) : call == g_atomic_int_get (&fatal)))
    return FALSE;
  g_atomic_pointer_compare_and_exchange (&failed, NULL, function);
  g_atomic_int_inc (&strikes);
  return TRUE;
}

/* Fails a function that returns an object or a pointer. */
static gpointer
refuse (cl_int *status, cl_int error)
{
  if (status != NULL)
    *status = error;
  return NULL;
}

static gpointer
note_created (gpointer object, FaultsKind kind)
{
  if (object != NULL)
    g_atomic_int_inc (&references[kind]);
  late_forget_queue (object);
  return object;
}

static cl_int
note_enqueued (cl_int result, const cl_event *event)
{
  if (result == CL_SUCCESS && event != NULL)
    g_atomic_int_inc (&references[FAULTS_cl_event]);
  return result;
}

/* TRUE if the command is delayed: a kernel while calls are counted. */
static gboolean
is_slow (const gchar *function)
{
  return g_atomic_int_get (&mode) != FAULTS_NONE &&
         g_str_equal (function, "clEnqueueNDRangeKernel");
}

/* The end of a command. */
typedef enum {
  RUNS,
  DOOMED, /* fails because of an earlier command */
  LOST,   /* is the one that fails; a blocking call succeeds */
} Fate;

static Fate
decide (const gchar *function, cl_command_queue queue, cl_uint n_waits, const cl_event *waits)
{
  const gboolean is_launch = g_str_equal (function, "clEnqueueNDRangeKernel");
  const gboolean starts =
      (is_launch && is_fatal (function, LAUNCHES)) || is_fatal (function, COMMANDS);

  return late_is_doomed (queue, n_waits, waits) ? DOOMED : starts ? LOST : RUNS;
}

/* Does a command that is not to run. @is_blocking: waits as long as it would have run. */
static cl_int
fail_late (Fate fate, gboolean is_blocking, cl_command_queue queue, WAIT_PARAMETERS)
{
  cl_event done = NULL;
  cl_int status;

  if (is_blocking && fate == DOOMED)
    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  status = late_enqueue (queue, fate == LOST && g_atomic_int_get (&mode) == FAULTS_MUTE, n_waits,
                         waits, &done);
  if (status != CL_SUCCESS)
    return status;
  if (is_blocking)
    cl_next->clWaitForEvents (1, &done);
  if (event != NULL)
    *event = done;
  else
    cl_next->clReleaseEvent (done);
  return note_enqueued (CL_SUCCESS, event);
}

#define CREATE(Type, function, parameters, arguments)                                              \
  static Type CL_API_CALL layer_##function parameters                                              \
  {                                                                                                \
    if (is_fatal (#function, CALLS))                                                               \
      return refuse (status, CL_OUT_OF_RESOURCES);                                                 \
    return note_created (cl_next->function arguments, FAULTS_##Type);                              \
  }
#define COMMAND(function, parameters, arguments, is_blocking, kind, is_valid)                      \
  static cl_int CL_API_CALL layer_##function parameters                                            \
  {                                                                                                \
    cl_event *delay = NULL;                                                                        \
    cl_int status;                                                                                 \
    Fate fate;                                                                                     \
                                                                                                   \
    if (is_fatal (#function, CALLS))                                                               \
      return CL_OUT_OF_RESOURCES;                                                                  \
    if ((fate = decide (#function, queue, n_waits, waits)) != RUNS)                                \
      return fail_late (fate, is_blocking, queue, WAIT_ARGUMENTS);                                 \
    if (is_slow (#function))                                                                       \
      delay = late_delay (queue, &n_waits, &waits);                                                \
    status = note_enqueued (cl_next->function arguments, event);                                   \
    late_end_delay (delay, n_waits);                                                               \
    return status;                                                                                 \
  }
#define CALL(function, parameters, arguments)                                                      \
  static cl_int CL_API_CALL layer_##function parameters                                            \
  {                                                                                                \
    return is_fatal (#function, CALLS) ? CL_OUT_OF_RESOURCES : cl_next->function arguments;        \
  }
#define RETAIN(Type, function)                                                                     \
  static cl_int CL_API_CALL layer_##function (Type object)                                         \
  {                                                                                                \
    g_atomic_int_inc (&references[FAULTS_##Type]);                                                 \
    return cl_next->function (object);                                                             \
  }
#define RELEASE(Type, function)                                                                    \
  static cl_int CL_API_CALL layer_##function (Type object)                                         \
  {                                                                                                \
    g_atomic_int_add (&references[FAULTS_##Type], -1);                                             \
    return cl_next->function (object);                                                             \
  }
#define CUSTOM(function)
#include "cl-faults.def"

static cl_int CL_API_CALL
layer_clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices,
                      const char *options, void (CL_CALLBACK *notify) (cl_program, void *),
                      void *data)
{
  g_atomic_int_inc (&n_held);
  wait_while (&builds_held);
  g_atomic_int_add (&n_held, -1);
  if (is_fatal ("clBuildProgram", CALLS))
    return CL_OUT_OF_HOST_MEMORY;
  return cl_next->clBuildProgram (program, n, devices, options, notify, data);
}

/* Mappings are not counted as objects, since they belong to the host. */
static void *CL_API_CALL
layer_clEnqueueMapBuffer (MAP_PARAMETERS)
{
  static const gchar function[] = "clEnqueueMapBuffer";
  const Fate fate = decide (function, queue, n_waits, waits);
  void *data;

  if (is_fatal (function, CALLS) || (fate == DOOMED && blocking))
    return refuse (status, CL_MAP_FAILURE);
  data = cl_next->clEnqueueMapBuffer (queue, buffer, blocking, flags, offset, size, n_waits, waits,
                                      fate == RUNS ? event : NULL, status);
  if (data != NULL && fate == RUNS)
    note_enqueued (CL_SUCCESS, event);
  else if (data != NULL)
    fail_late (fate, blocking, queue, WAIT_ARGUMENTS);
  return data;
}

static cl_int CL_API_CALL
layer_clEnqueueUnmapMemObject (cl_command_queue queue, cl_mem memory, void *data, WAIT_PARAMETERS)
{
  static const gchar function[] = "clEnqueueUnmapMemObject";
  const Fate fate = decide (function, queue, n_waits, waits);
  cl_int status;

  if (is_fatal (function, CALLS))
    return CL_OUT_OF_RESOURCES;
  status = cl_next->clEnqueueUnmapMemObject (queue, memory, data, n_waits, waits,
                                             fate == RUNS ? event : NULL);
  if (fate == RUNS || status != CL_SUCCESS)
    return note_enqueued (status, event);
  return fail_late (fate, FALSE, queue, WAIT_ARGUMENTS);
}

/* Waits before it fails, since a lost device no longer uses memory. */
static cl_int CL_API_CALL
layer_clFinish (cl_command_queue queue)
{
  const gboolean fails = is_fatal ("clFinish", CALLS);
  const cl_int status = cl_next->clFinish (queue);

  return fails ? CL_OUT_OF_RESOURCES : status;
}

static cl_int CL_API_CALL
layer_clWaitForEvents (cl_uint n, const cl_event *events)
{
  gboolean fails = is_fatal ("clWaitForEvents", CALLS);
  cl_int status;

  if (is_fatal ("clWaitForEvents", QUESTIONS))
    return CL_OUT_OF_RESOURCES;
  status = cl_next->clWaitForEvents (n, events);
  for (cl_uint i = 0; i < n; i++)
    fails |= is_mute (events[i]);
  for (cl_uint i = 0; i < n && !fails; i++)
    if (late_get_status (events[i], CL_COMPLETE) != CL_COMPLETE)
      return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return fails ? CL_OUT_OF_RESOURCES : status;
}

static cl_int CL_API_CALL
layer_clGetEventInfo (cl_event event, cl_event_info name, size_t size, void *value, size_t *n)
{
  cl_int status;

  if (is_fatal ("clGetEventInfo", CALLS) || is_fatal ("clGetEventInfo", QUESTIONS) ||
      is_mute (event))
    return CL_OUT_OF_RESOURCES;
  status = cl_next->clGetEventInfo (event, name, size, value, n);
  if (status == CL_SUCCESS && name == CL_EVENT_COMMAND_EXECUTION_STATUS && value != NULL)
    *(cl_int *)value = late_get_status (event, *(cl_int *)value);
  return status;
}

static cl_int CL_API_CALL
layer_clGetEventProfilingInfo (cl_event event, cl_profiling_info name, size_t size, void *value,
                               size_t *n)
{
  if (is_fatal ("clGetEventProfilingInfo", CALLS) ||
      late_get_status (event, CL_COMPLETE) != CL_COMPLETE)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  return cl_next->clGetEventProfilingInfo (event, name, size, value, n);
}

static void *CL_API_CALL
layer_clGetExtensionFunctionAddressForPlatform (cl_platform_id platform, const char *name)
{
  return is_fatal ("clGetExtensionFunctionAddressForPlatform", CALLS)
             ? NULL
             : cl_next->clGetExtensionFunctionAddressForPlatform (platform, name);
}

#undef CREATE
#undef COMMAND
#undef CALL
#undef RETAIN
#undef RELEASE
#undef CUSTOM
#define INSTALL(function) table->function = layer_##function;

#define CREATE(Type, function, ...) INSTALL (function)
#define COMMAND(function, ...)      INSTALL (function)
#define CALL(function, ...)         INSTALL (function)
#define RETAIN(Type, function)      INSTALL (function)
#define RELEASE(Type, function)     INSTALL (function)
#define CUSTOM(function)            INSTALL (function)

static void
set (FaultsMode new_mode, guint n)
{
  const FaultsMode old = g_atomic_int_get (&mode);

  g_atomic_int_set (&mode, FAULTS_NONE);
  stays_dead = new_mode == FAULTS_NONE && (stays_dead || old == FAULTS_DEAD);
  if (!stays_dead)
    late_clear ();
  if (new_mode == FAULTS_NONE)
    return;
  g_atomic_int_set (&fatal, n);
  g_atomic_int_set (&calls, 0);
  g_atomic_int_set (&strikes, 0);
  g_atomic_pointer_set (&failed, NULL);
  g_atomic_int_set (&mode, new_mode);
}

/* Does what GEMMCL_LAYER_FAULT says. */
static void
set_by_environment (void)
{
  static const gchar *const names[] = {"none", "one",  "rest", "late",
                                       "lost", "mute", "ask",  "dead"};
  const gchar *text = g_getenv ("GEMMCL_LAYER_FAULT");
  g_auto (GStrv) words = g_strsplit (text ? text : "none 0", " ", 3);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (words[0], names[i]))
      set (i, g_ascii_strtoull (words[1], NULL, 10));
}

static void __attribute__ ((destructor)) write_calls (void)
{
  const gchar *text = g_getenv ("GEMMCL_LAYER_FAULT");
  g_auto (GStrv) words = g_strsplit (text ? text : "", " ", 3);
  g_autofree gchar *count = g_strdup_printf ("%d", g_atomic_int_get (&calls));

  if (g_strv_length (words) == 3)
    g_file_set_contents (words[2], count, -1, NULL);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
#include "cl-faults.def"
  late_events = new_events ();
  mute_events = g_hash_table_new (NULL, NULL);
  late_queues = g_hash_table_new (NULL, NULL);
  set_by_environment ();
}

static FaultsState
get_state (void)
{
  FaultsState state = {.is_loaded = cl_next != NULL,
                       .calls = g_atomic_int_get (&calls),
                       .strikes = g_atomic_int_get (&strikes),
                       .held = g_atomic_int_get (&n_held),
                       .failed = g_atomic_pointer_get (&failed)};

  for (guint i = 0; i < FAULTS_KINDS; i++)
    state.objects[i] = g_atomic_int_get (&references[i]);
  return state;
}

static void
hold (gboolean builds, gboolean hold)
{
  g_mutex_lock (&lock);
  *(builds ? &builds_held : &delays_held) = hold;
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
}

extern const FaultsLayer gemmcl_faults __attribute__ ((visibility ("default")));
const FaultsLayer gemmcl_faults = {get_state, set, hold};
