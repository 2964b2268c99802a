/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <math.h>

#include "tool.h"

void
bench_result_free (BenchResult *self)
{
  g_array_unref (self->times);
  g_free (self);
}

gdouble
bench_gflops (const GemmclGemm *gemm, gdouble ms)
{
  return 2.0 * gemm->m * gemm->n * gemm->k / (ms * 1e6);
}

/* Runs the plan once. Fails after a Ctrl-C. */
static gboolean
run_once (const BenchProblem *problem, GemmclPlan *plan, gdouble *ms, GError **error)
{
  return tool_check_interrupt (error) && bench_run_once (problem, plan, ms, error);
}

static gboolean
verify_output (BenchProblem *problem, BenchResult *result, GError **error)
{
  if (!bench_read_output (problem, error))
    return FALSE;
  result->verified = TRUE;
  result->right = gemmcl_gemm_verify (&problem->gemm, problem->a, problem->b, problem->c, NULL,
                                      problem->d, &result->max_error, &result->error_bound);
  return TRUE;
}

/* Summarises the runs, if all of them have a time. */
static void
summarise (BenchResult *result, const GemmclGemm *gemm)
{
  for (guint i = 0; i < result->times->len; i++)
    if (isnan (g_array_index (result->times, gdouble, i)))
      return;
  result->min = tool_quantile (result->times, 0.0);
  result->median = tool_quantile (result->times, 0.5);
  result->max = tool_quantile (result->times, 1.0);
  result->gflops = bench_gflops (gemm, result->median);
}

BenchResult *
bench_measure (BenchProblem *problem, const gchar *kernel, guint iterations, gboolean verify,
               GError **error)
{
  g_autoptr (BenchResult) result = g_new0 (BenchResult, 1);
  g_autoptr (GemmclPlan) plan = NULL;
  gdouble ms = 0.0;

  *result = (BenchResult){
      .min = NAN, .median = NAN, .max = NAN, .gflops = NAN, .max_error = NAN, .error_bound = NAN};
  result->times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  if (!tool_check_interrupt (error))
    return NULL;
  plan = gemmcl_plan_new (problem->context, &problem->gemm, kernel, error);
  if (plan == NULL || !gemmcl_plan_set_b (plan, problem->weights, error))
    return NULL;
  result->kernel = gemmcl_plan_get_kernel (plan);
  result->choice = gemmcl_plan_get_choice_source (plan);
  if (iterations == 0)
    return g_steal_pointer (&result);

  if (verify && !bench_spoil_output (problem, error))
    return NULL;
  if (!run_once (problem, plan, &ms, error) || (verify && !verify_output (problem, result, error)))
    return NULL;
  for (guint i = 0; i < iterations; i++) {
    if (!run_once (problem, plan, &ms, error))
      return NULL;
    g_array_append_val (result->times, ms);
  }
  summarise (result, &problem->gemm);
  return g_steal_pointer (&result);
}

#define COPIES 5
/* A nanosecond: the time of a copy that the clock cannot resolve. */
#define LEAST_MS 1e-6
/* Size of a buffer: a multiple of the cache, a minimum, and a share of the device's memory. */
#define TIMES_CACHE  4
#define LEAST_BYTES  ((guint64)256 << 20)
#define MEMORY_SHARE 8

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

static gsize
choose_bytes (GemmclContext *context)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  cl_ulong cache = 0;
  guint64 bytes;

  /* If this fails, cache stays 0, and the minimum applies. */
  clGetDeviceInfo (gemmcl_context_get_cl_device (context), CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                   sizeof cache, &cache, NULL);
  bytes = MAX (LEAST_BYTES, TIMES_CACHE * (guint64)cache);
  bytes = MIN (bytes, MIN (info->max_alloc_bytes, info->global_bytes / MEMORY_SHARE));
  return MAX (bytes / sizeof (cl_uint), 1) * sizeof (cl_uint);
}

/* Fills @buffer, since memory may be allocated only when it is first written. */
static gboolean
fill (GemmclContext *context, cl_mem buffer, gsize bytes, GError **error)
{
  const cl_uint pattern = 0x3f800000;
  cl_command_queue queue = gemmcl_context_get_cl_queue (context);

  return bench_check_cl (
             clEnqueueFillBuffer (queue, buffer, &pattern, sizeof pattern, 0, bytes, 0, NULL, NULL),
             "clEnqueueFillBuffer", error) &&
         bench_check_cl (clFinish (queue), "clFinish", error);
}

static gboolean
time_copy (GemmclContext *context, cl_mem from, cl_mem to, gsize bytes, gdouble *ms, GError **error)
{
  cl_event event = NULL;
  gboolean ok;

  if (!bench_check_cl (clEnqueueCopyBuffer (gemmcl_context_get_cl_queue (context), from, to, 0, 0,
                                            bytes, 0, NULL, &event),
                       "clEnqueueCopyBuffer", error))
    return FALSE;
  ok = bench_get_duration (event, event, ms, error);
  clReleaseEvent (event);
  return ok;
}

/* @least: (out): the time of the fastest copy, in ms; LEAST_MS if the clock is too coarse. */
static gboolean
time_copies (GemmclContext *context, gsize bytes, gdouble *least, GError **error)
{
  cl_context cl = gemmcl_context_get_cl_context (context);
  cl_int status = CL_SUCCESS;
  g_auto (cl_mem) from = clCreateBuffer (cl, CL_MEM_READ_WRITE, bytes, NULL, &status);
  g_auto (cl_mem) to =
      from != NULL ? clCreateBuffer (cl, CL_MEM_READ_WRITE, bytes, NULL, &status) : NULL;

  if (!bench_check_cl (status, "clCreateBuffer", error) || !fill (context, from, bytes, error) ||
      !fill (context, to, bytes, error))
    return FALSE;
  *least = G_MAXDOUBLE;
  for (guint i = 0; i < COPIES; i++) {
    gdouble ms;
    if (!time_copy (context, from, to, bytes, &ms, error))
      return FALSE;
    *least = MIN (*least, isnan (ms) ? LEAST_MS : ms);
  }
  return TRUE;
}

gboolean
bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source, GError **error)
{
  const gsize bytes = choose_bytes (context);
  g_autofree gchar *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  gdouble least;

  if (!time_copies (context, bytes, &least, error)) {
    g_prefix_error (error, "The memory bandwidth could not be measured; --bandwidth sets it. ");
    return FALSE;
  }
  *gbs = 2.0 * bytes / (least * 1e6);
  *source = g_strdup_printf ("bytes read and written by clEnqueueCopyBuffer of %s, the fastest of "
                             "%d copies",
                             size, COPIES);
  return TRUE;
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

gdouble
tool_quantile (const GArray *numbers, gdouble share)
{
  g_autoptr (GArray) sorted = g_array_copy ((GArray *)numbers);
  const gdouble *at = (const gdouble *)sorted->data;
  gdouble place;
  guint below;

  if (sorted->len == 0)
    return NAN;
  g_array_sort (sorted, compare);
  place = share * (sorted->len - 1);
  below = (guint)place;
  return below + 1 < sorted->len ? at[below] + (place - below) * (at[below + 1] - at[below])
                                 : at[below];
}
