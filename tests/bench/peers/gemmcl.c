/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ours. A and D lie in device buffers and a run is timed from its enqueueing until it is done; of
 * the variant "clock" by the device's clock, from the kernel's start to its end. Of
 * the variant "stream" two are under way, as in the element: a run is enqueued, into another D, and
 * then it is the one before that is waited for. Of "host" it is the call on the host's memory,
 * copies included.
 */
#include "process.h"

#include "gemmcl-opencl.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)

typedef struct {
  const PeersProblem *problem;
  GemmclContext *context;
  GemmclPlan *plan;
  cl_mem a, d[2];
  gsize d_bytes;
  gboolean host, stream, clock;
  guint runs;
  gdouble seconds; /* of "clock": what the last run took by the device's */
  cl_event last;   /* of "stream": the end of the run that is still under way; NULL: none */
} Ours;

static void
ours_free (gpointer data)
{
  Ours *self = data;

  g_clear_pointer (&self->last, clReleaseEvent);
  g_clear_pointer (&self->a, clReleaseMemObject);
  for (guint i = 0; i < G_N_ELEMENTS (self->d); i++)
    g_clear_pointer (&self->d[i], clReleaseMemObject);
  g_clear_object (&self->plan);
  g_clear_object (&self->context);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Ours, ours_free)

static gboolean
make_plan (Ours *self, GError **error)
{
  const PeersProblem *problem = self->problem;
  const GemmclType type = problem->bytes ? GEMMCL_TYPE_U8 : GEMMCL_TYPE_F32;
  const GemmclGemm gemm = {
      .m = problem->m,
      .n = problem->n,
      .k = problem->k,
      .a_type = type,
      .d_type = type,
      .a_scale = 1.0,
      .alpha = 1.0,
      .bias = problem->layer,
      .activation = problem->layer ? GEMMCL_ACTIVATION_RELU : GEMMCL_ACTIVATION_NONE,
  };
  g_autoptr (GemmclMatrix) b =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, gemm.k, gemm.n, problem->b, error);
  g_autoptr (GemmclMatrix) bias = NULL;

  self->plan = b ? gemmcl_plan_new (self->context, &gemm, problem->kernel, error) : NULL;
  if (!self->plan || !gemmcl_plan_set_b (self->plan, b, error))
    return FALSE;
  if (!problem->layer)
    return TRUE;
  bias = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, gemm.n, problem->bias, error);
  return bias && gemmcl_plan_set_bias (self->plan, bias, error);
}

static gboolean
make_buffers (Ours *self, GError **error)
{
  const PeersProblem *problem = self->problem;
  const gsize item = problem->bytes ? sizeof (guint8) : sizeof (gfloat);
  cl_context context = gemmcl_context_get_cl_context (self->context);

  self->d_bytes = problem->m * problem->n * item;
  self->a = clCreateBuffer (context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                            problem->m * problem->k * item, problem->a, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (self->d); i++)
    self->d[i] = clCreateBuffer (context, CL_MEM_READ_WRITE, self->d_bytes, NULL, NULL);
  if (self->a && self->d[0] && self->d[1])
    return TRUE;
  g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "There is no device memory for A and D.");
  return FALSE;
}

static gpointer
ours_open (const PeersProblem *problem, GString *about, GError **error)
{
  const GemmclDeviceQuery query = {.platform = problem->platform,
                                   .type = problem->platform ? GEMMCL_DEVICE_TYPE_AUTO
                                                             : GEMMCL_DEVICE_TYPE_CPU};
  g_autoptr (Ours) self = g_new0 (Ours, 1);
  const GemmclDeviceInfo *info = NULL;

  self->problem = problem;
  self->host = g_str_equal (problem->variant, "host");
  self->stream = g_str_equal (problem->variant, "stream");
  self->clock = g_str_equal (problem->variant, "clock");
  self->context = gemmcl_context_new (&query, error);
  if (!self->context || !make_plan (self, error) || !make_buffers (self, error))
    return NULL;
  info = gemmcl_context_get_device_info (self->context);
  g_string_append_printf (about, "%s on %s, %s (%s), vectors of %u floats",
                          gemmcl_plan_get_kernel (self->plan), info->name, info->platform,
                          info->driver, info->float_width);
  return g_steal_pointer (&self);
}

static gboolean
check (cl_int status, const gchar *what, GError **error)
{
  if (status == CL_SUCCESS)
    return TRUE;
  g_set_error (error, PEERS_ERROR, PEERS_ERROR_FAILED, "%s failed: %d.", what, status);
  return FALSE;
}

static gboolean
submit (Ours *self, cl_mem to, cl_event *first, cl_event *done, GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->a}};
  const GemmclData d = {.kind = GEMMCL_DATA_BUFFER, .objects = {to}};
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &a, .d = &d};

  return gemmcl_plan_submit (self->plan, &run, first, done, error);
}

/* Submits a run, and waits for the one before. */
static gboolean
run_on (Ours *self, GError **error)
{
  g_auto (cl_event) before = g_steal_pointer (&self->last);

  return submit (self, self->d[self->runs++ % 2], NULL, &self->last, error) &&
         (!before || check (clWaitForEvents (1, &before), "clWaitForEvents", error));
}

/* A run on device buffers; its events, where somebody wants to know of the device's clock. */
static gboolean
run_and_wait (Ours *self, cl_event *first, cl_event *last, GError **error)
{
  return submit (self, self->d[0], first, last, error) &&
         check (clFinish (gemmcl_context_get_cl_queue (self->context)), "clFinish", error);
}

static gboolean
run_by_clock (Ours *self, GError **error)
{
  g_auto (cl_event) first = NULL, last = NULL;
  cl_ulong start = 0, end = 0;

  if (!run_and_wait (self, &first, &last, error) ||
      !check (
          clGetEventProfilingInfo (first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
          "The profile of the start", error) ||
      !check (clGetEventProfilingInfo (last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
              "The profile of the end", error))
    return FALSE;
  self->seconds = (gdouble)(end - start) * 1e-9;
  return TRUE;
}

static gboolean
ours_run (gpointer data, GError **error)
{
  Ours *self = data;
  const GemmclData a = {.host = {self->problem->a}}, d = {.host = {self->problem->d}};
  const GemmclRun host = {.size = sizeof host, .alpha = 1, .a = &a, .d = &d};

  if (self->host)
    return gemmcl_plan_run (self->plan, &host, error);
  if (self->stream)
    return run_on (self, error);
  return self->clock ? run_by_clock (self, error) : run_and_wait (self, NULL, NULL, error);
}

static gdouble
ours_clock (gpointer data)
{
  const Ours *self = data;

  return self->seconds;
}

static gboolean
ours_drain (gpointer data, GError **error)
{
  Ours *self = data;
  g_auto (cl_event) last = g_steal_pointer (&self->last);

  return !last || check (clWaitForEvents (1, &last), "clWaitForEvents", error);
}

static gboolean
ours_read (gpointer data, GError **error)
{
  Ours *self = data;
  cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);

  if (!ours_drain (self, error))
    return FALSE;
  return self->host || check (clEnqueueReadBuffer (queue, self->d[0], CL_TRUE, 0, self->d_bytes,
                                                   self->problem->d, 0, NULL, NULL),
                              "Reading D", error);
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender ours = {ours_open, ours_run, ours_read, ours_free, ours_drain, ours_clock};

  return peers_process_main (&ours, argc, argv);
}
