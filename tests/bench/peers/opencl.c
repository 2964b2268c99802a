/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemmcl, and CLBlast on the same device. The variants:
 *
 *   device    A and D are in device buffers; a run is timed from its enqueueing until it is done
 *   clock     the same, timed by the device's clock, from the kernel's start to its end
 *   stream    two runs are in flight, as in the element: a run is enqueued, with another D, and
 *             then the one before is waited for
 *   host      the call on host memory, with copies
 *   clblast   CLBlast; for M = 1 its GEMV, which its GEMM does not use by itself
 *   launch    a kernel without effect, with M work-groups of one work-item
 */
#include "process.h"

#include <dlfcn.h>

#include "gemmcl-opencl.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_program, clReleaseProgram, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)

/* Constants of clblast_c.h. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef struct {
  int (*sgemm) (int, int, int, gsize, gsize, gsize, float, cl_mem, gsize, gsize, cl_mem, gsize,
                gsize, float, cl_mem, gsize, gsize, cl_command_queue *, cl_event *);
  int (*sgemv) (int, int, gsize, gsize, float, cl_mem, gsize, gsize, cl_mem, gsize, gsize, float,
                cl_mem, gsize, gsize, cl_command_queue *, cl_event *);
} ClBlast;

typedef struct {
  const PeersProblem *problem;
  GemmclContext *context;
  cl_command_queue queue;
  cl_mem a, b, d[2];
  gsize d_bytes;

  GemmclPlan *plan;
  guint runs;
  gdouble seconds; /* "clock": the device's time of the last run */
  cl_event last;   /* "stream": the end of the in-flight run; NULL without one */

  ClBlast clblast;
  cl_kernel nothing; /* "launch": the kernel */
} Self;

static void
self_free (gpointer data)
{
  Self *self = data;

  g_clear_pointer (&self->last, clReleaseEvent);
  g_clear_pointer (&self->nothing, clReleaseKernel);
  g_clear_pointer (&self->a, clReleaseMemObject);
  g_clear_pointer (&self->b, clReleaseMemObject);
  g_clear_pointer (&self->d[0], clReleaseMemObject);
  g_clear_pointer (&self->d[1], clReleaseMemObject);
  g_clear_object (&self->plan);
  g_clear_object (&self->context);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Self, self_free)

static gboolean
check (cl_int status, const gchar *what, GError **error)
{
  return status == CL_SUCCESS ||
         peers_fail (error, PEERS_ERROR_FAILED, "%s failed: %d.", what, status);
}

static gboolean
make_plan (Self *self, GError **error)
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
find_clblast (ClBlast *self, GError **error)
{
  gpointer library = dlopen ("libclblast.so.1", RTLD_NOW);

  if (library) {
    *(gpointer *)&self->sgemm = dlsym (library, "CLBlastSgemm");
    *(gpointer *)&self->sgemv = dlsym (library, "CLBlastSgemv");
  }
  return (self->sgemm && self->sgemv) || peers_fail (error, PEERS_ERROR_MISSING, "%s", dlerror ());
}

/* Builds a kernel whose condition is never true, which the compiler does not know. */
static gboolean
make_launch (Self *self, GError **error)
{
  static const char *text = "kernel void nothing (global int *x)\n"
                            "{\n"
                            "  if (get_global_id (0) == 0x7fffffff)\n"
                            "    x[0] = 1;\n"
                            "}\n";
  g_auto (cl_program) program = clCreateProgramWithSource (
      gemmcl_context_get_cl_context (self->context), 1, &text, NULL, NULL);

  if (program && clBuildProgram (program, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS)
    self->nothing = clCreateKernel (program, "nothing", NULL);
  return (self->nothing &&
          clSetKernelArg (self->nothing, 0, sizeof self->a, &self->a) == CL_SUCCESS) ||
         peers_fail (error, PEERS_ERROR_FAILED, "A kernel that does nothing cannot be made.");
}

static cl_mem
make_buffer (Self *self, gsize bytes, gpointer data)
{
  return clCreateBuffer (gemmcl_context_get_cl_context (self->context),
                         CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, NULL);
}

/* Fills D with zeros, since CLBlast's GEMV reads it even if beta is 0. */
static gboolean
make_buffers (Self *self, GError **error)
{
  const PeersProblem *problem = self->problem;
  const gsize item = problem->bytes ? sizeof (guint8) : sizeof (gfloat);

  self->d_bytes = problem->m * problem->n * item;
  self->a = make_buffer (self, problem->m * problem->k * item, problem->a);
  self->b = make_buffer (self, problem->k * problem->n * sizeof (gfloat), problem->b);
  self->d[0] = make_buffer (self, self->d_bytes, problem->d);
  self->d[1] = make_buffer (self, self->d_bytes, problem->d);
  return (self->a && self->b && self->d[0] && self->d[1]) ||
         peers_fail (error, PEERS_ERROR_FAILED, "There is no device memory.");
}

static gpointer
self_open (const PeersProblem *problem, GString *about, GError **error)
{
  const GemmclDeviceQuery query = {.platform = problem->platform,
                                   .type = problem->platform ? GEMMCL_DEVICE_TYPE_AUTO
                                                             : GEMMCL_DEVICE_TYPE_CPU};
  const gboolean clblast = peers_is (problem, "clblast"), launch = peers_is (problem, "launch");
  g_autoptr (Self) self = g_new0 (Self, 1);
  g_autoptr (GError) reason = NULL;
  const GemmclDeviceInfo *info = NULL;

  self->problem = problem;
  self->context = gemmcl_context_new (&query, &reason);
  if (!self->context) {
    peers_fail (error, PEERS_ERROR_MISSING, "%s", reason->message);
    return NULL;
  }
  if (!make_buffers (self, error) || (clblast  ? !find_clblast (&self->clblast, error)
                                      : launch ? !make_launch (self, error)
                                               : !make_plan (self, error)))
    return NULL;
  self->queue = gemmcl_context_get_cl_queue (self->context);
  info = gemmcl_context_get_device_info (self->context);
  if (clblast)
    g_string_append_printf (about, "CLBlast on %s, %s", info->name, info->platform);
  else if (launch)
    g_string_append_printf (about, "%s, %s", info->name, info->driver);
  else
    g_string_append_printf (about, "%s on %s, %s (%s), vectors of %u floats",
                            gemmcl_plan_get_kernel (self->plan), info->name, info->platform,
                            info->driver, info->float_width);
  return g_steal_pointer (&self);
}

static gboolean
submit (Self *self, cl_mem to, cl_event *first, cl_event *done, GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->a}};
  const GemmclData d = {.kind = GEMMCL_DATA_BUFFER, .objects = {to}};
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &a, .d = &d};

  return gemmcl_plan_submit (self->plan, &run, first, done, error);
}

/* Submits a run, and waits for the one before. */
static gboolean
run_on (Self *self, GError **error)
{
  g_auto (cl_event) before = g_steal_pointer (&self->last);

  return submit (self, self->d[self->runs++ % 2], NULL, &self->last, error) &&
         (!before || check (clWaitForEvents (1, &before), "clWaitForEvents", error));
}

static gboolean
run_by_clock (Self *self, GError **error)
{
  g_auto (cl_event) first = NULL, last = NULL;
  cl_ulong start = 0, end = 0;

  if (!submit (self, self->d[0], &first, &last, error) ||
      !check (clFinish (self->queue), "clFinish", error) ||
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
run_clblast (Self *self, GError **error)
{
  const gsize m = self->problem->m, n = self->problem->n, k = self->problem->k;
  const int status =
      m == 1 ? self->clblast.sgemv (ROW_MAJOR, TRANS, k, n, 1.0f, self->b, 0, n, self->a, 0, 1,
                                    0.0f, self->d[0], 0, 1, &self->queue, NULL)
             : self->clblast.sgemm (ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1.0f, self->a, 0, k,
                                    self->b, 0, n, 0.0f, self->d[0], 0, n, &self->queue, NULL);

  return check (status, "CLBlast", error);
}

static gboolean
run_launch (Self *self, GError **error)
{
  const gsize groups = self->problem->m, local = 1;

  return check (
      clEnqueueNDRangeKernel (self->queue, self->nothing, 1, NULL, &groups, &local, 0, NULL, NULL),
      "clEnqueueNDRangeKernel", error);
}

static gboolean
self_run (gpointer data, GError **error)
{
  Self *self = data;
  const GemmclData a = {.host = {self->problem->a}}, d = {.host = {self->problem->d}};
  const GemmclRun host = {.size = sizeof host, .alpha = 1, .a = &a, .d = &d};

  if (peers_is (self->problem, "host"))
    return gemmcl_plan_run (self->plan, &host, error);
  if (peers_is (self->problem, "stream"))
    return run_on (self, error);
  if (peers_is (self->problem, "clock"))
    return run_by_clock (self, error);
  return (self->clblast.sgemm ? run_clblast (self, error)
          : self->nothing     ? run_launch (self, error)
                              : submit (self, self->d[0], NULL, NULL, error)) &&
         check (clFinish (self->queue), "clFinish", error);
}

static gdouble
self_clock (gpointer data)
{
  return ((const Self *)data)->seconds;
}

static gboolean
self_drain (gpointer data, GError **error)
{
  Self *self = data;
  g_auto (cl_event) last = g_steal_pointer (&self->last);

  return !last || check (clWaitForEvents (1, &last), "clWaitForEvents", error);
}

static gboolean
self_read (gpointer data, GError **error)
{
  Self *self = data;

  if (!self_drain (self, error))
    return FALSE;
  return peers_is (self->problem, "host") ||
         check (clEnqueueReadBuffer (self->queue, self->d[0], CL_TRUE, 0, self->d_bytes,
                                     self->problem->d, 0, NULL, NULL),
                "Reading D", error);
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender self = {self_open, self_run, self_read, self_free, self_drain, self_clock};

  return peers_process_main (&self, argc, argv);
}
