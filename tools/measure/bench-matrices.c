/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/bench-matrices.h"

#include <math.h>
#include <string.h>

#include "measure/worker.h"
#include "shared-options.h"

/* The seed of the inputs, arbitrary but constant. */
#define SEED 20150807

#define LEAST_COPIES 5
/* A shorter time is wrong: Rusticl of Mesa 22.3 reports 1 ns for each command. */
#define LEAST_NS 100
/* Size of a buffer for copies, larger than any cache, and the least number of such buffers that the
 * device's memory must hold. */
#define BYTES        ((guint64)1 << 30)
#define MEMORY_SHARE 8

gboolean
bench_matrices_check (GemmclContext *context, const GemmclGemm *gemm, GError **error)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const gdouble rows = (gdouble)gemm->m * MAX (gemm->batch, 1);
  const gdouble a = gemmcl_type_get_size (gemm->a_type) * rows * gemm->k;
  const gdouble b = 4.0 * gemm->k * gemm->n, d = 4.0 * rows * gemm->n;
  const gdouble all = a + b + d * (gemm->addend == GEMMCL_ADDEND_MATRIX ? 2 : 1);
  /* The host keeps a copy of each, and B in two orders. */
  const gdouble total = info->host_unified ? 2 * all + b : all;
  g_autofree gchar *alloc = NULL, *global = NULL;

  if (MAX (MAX (a, b), d) <= info->max_alloc_bytes && total <= info->global_bytes)
    return TRUE;
  alloc = g_format_size_full (info->max_alloc_bytes, G_FORMAT_SIZE_IEC_UNITS);
  global = g_format_size_full (info->global_bytes, G_FORMAT_SIZE_IEC_UNITS);
  return tool_fail (error,
                    "The matrices are too large for %s, which has %s, %s of it in one buffer. "
                    "Choose smaller sizes.",
                    info->name, global, alloc);
}

gboolean
bench_add_problems (GArray *problems, const GemmclGemm *gemm, const gchar *part)
{
  g_auto (GStrv) words = g_strsplit (part, ":", -1);
  const guint n = g_strv_length (words);
  gsize numbers[3] = {0};

  if (n == 0 || n > G_N_ELEMENTS (numbers))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!tool_parse_size (words[i], &numbers[i]))
      return FALSE;
  for (gsize size = numbers[0]; size <= numbers[n > 1] && problems->len <= BENCH_MOST_SIZES;
       size += n == 3 ? numbers[2] : size) {
    GemmclGemm problem = *gemm;

    problem.m = gemm->m > 0 ? gemm->m : size;
    problem.n = gemm->n > 0 ? gemm->n : size;
    problem.k = gemm->k > 0 ? gemm->k : size;
    g_array_append_val (problems, problem);
  }
  return numbers[0] <= numbers[n > 1];
}

gboolean
bench_can_store (GemmclType type)
{
  return type == GEMMCL_TYPE_F32 || type == GEMMCL_TYPE_F16 || type == GEMMCL_TYPE_BF16 ||
         type == GEMMCL_TYPE_U8;
}

/* A normal f16 has the bits of its f32, with another exponent bias and a shorter fraction. */
void
bench_store (gpointer stored, GemmclType type, gsize index, gfloat value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  if (type == GEMMCL_TYPE_U8)
    ((guint8 *)stored)[index] = (guint8)value;
  else if (type == GEMMCL_TYPE_BF16)
    ((guint16 *)stored)[index] = bits >> 16;
  else if (type == GEMMCL_TYPE_F16)
    ((guint16 *)stored)[index] =
        fabsf (value) < 0x1p-14f ? 0
                                 : (bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - 0x38000000) >> 13;
  else
    ((gfloat *)stored)[index] = value;
}

/* Returns: random elements of @type, of u8 from 0 to 255. */
static gpointer
make_stored (GRand *random, GemmclType type, gsize count)
{
  gpointer data = g_try_malloc_n (count, gemmcl_type_get_size (type));

  for (gsize i = 0; data != NULL && i < count; i++)
    bench_store (data, type, i,
                 type == GEMMCL_TYPE_U8 ? (gfloat)g_rand_int_range (random, 0, 256)
                                        : (gfloat)g_rand_double_range (random, -1.0, 1.0));
  return data;
}

static gboolean
make_host_data (BenchMatrices *self, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  gboolean has_c = gemm->addend == GEMMCL_ADDEND_MATRIX;

  self->size_d = gemm->m * gemm->n * MAX (gemm->batch, 1);
  self->a = make_stored (random, gemm->a_type, gemm->m * gemm->k * MAX (gemm->batch, 1));
  self->b = make_stored (random, GEMMCL_TYPE_F32, gemm->k * gemm->n);
  self->c = has_c ? make_stored (random, GEMMCL_TYPE_F32, self->size_d) : NULL;
  self->d = g_try_new (gfloat, self->size_d);
  return (self->a != NULL && self->b != NULL && self->d != NULL && (!has_c || self->c != NULL)) ||
         tool_fail (error, "There is not enough memory for matrices of this size. Choose smaller "
                           "sizes.");
}

/* Returns: B as a row-major matrix in the shape of the plan's B. */
static GemmclMatrix *
make_weights (const BenchMatrices *self, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  gsize rows = gemm->trans_b ? gemm->n : gemm->k;
  gsize cols = gemm->trans_b ? gemm->k : gemm->n;
  gboolean by_columns = gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR;
  g_autoptr (GemmclMatrix) stored = gemmcl_matrix_new (GEMMCL_TYPE_F32, by_columns ? cols : rows,
                                                       by_columns ? rows : cols, self->b, error);

  return stored != NULL ? gemmcl_matrix_to_f32 (stored, by_columns, error) : NULL;
}

static gboolean
check_cl (cl_int status, const gchar *call, GError **error)
{
  return status == CL_SUCCESS || tool_fail (error, "%s failed with status %d.", call, status);
}

/* Waits for a command: @status is the result of @call with the event @done, which it takes. */
static gboolean
finish (GemmclContext *context, cl_int status, cl_event done, const gchar *call, GError **error)
{
  if (!check_cl (status, call, error))
    return FALSE;
  status = gemmcl_context_wait (context, done);
  clReleaseEvent (done);
  return check_cl (status, call, error);
}

/* @data: (nullable): the content of @buffer */
static gboolean
make_buffer (GemmclContext *context, gconstpointer data, gsize bytes, cl_mem *buffer,
             GError **error)
{
  const cl_mem_flags flags =
      data != NULL ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE;
  cl_int status = CL_SUCCESS;

  *buffer = clCreateBuffer (gemmcl_context_get_cl_context (context), flags, bytes, (gpointer)data,
                            &status);
  return check_cl (status, "clCreateBuffer", error);
}

static gboolean
fill_buffer (GemmclContext *context, cl_mem buffer, gfloat value, gsize bytes, GError **error)
{
  cl_event done = NULL;
  const cl_int status = clEnqueueFillBuffer (gemmcl_context_get_cl_queue (context), buffer, &value,
                                             sizeof value, 0, bytes, 0, NULL, &done);

  return finish (context, status, done, "clEnqueueFillBuffer", error);
}

BenchMatrices *
bench_matrices_new (GemmclContext *context, const GemmclGemm *gemm, GError **error)
{
  g_autoptr (BenchMatrices) self = g_new0 (BenchMatrices, 1);
  const gsize rows = gemm->m * MAX (gemm->batch, 1);
  const gsize bytes_a = rows * gemm->k * gemmcl_type_get_size (gemm->a_type);
  const gsize bytes_d = rows * gemm->n * sizeof (gfloat);

  self->context = g_object_ref (context);
  self->gemm = *gemm;
  if (!make_host_data (self, error) || (self->weights = make_weights (self, error)) == NULL ||
      !make_buffer (context, self->a, bytes_a, &self->device_a, error) ||
      !make_buffer (context, NULL, bytes_d, &self->device_d, error) ||
      (self->c != NULL && !make_buffer (context, self->c, bytes_d, &self->device_c, error)))
    return NULL;
  return g_steal_pointer (&self);
}

void
bench_matrices_free (BenchMatrices *self)
{
  g_clear_pointer (&self->device_a, clReleaseMemObject);
  g_clear_pointer (&self->device_c, clReleaseMemObject);
  g_clear_pointer (&self->device_d, clReleaseMemObject);
  g_clear_pointer (&self->weights, gemmcl_matrix_unref);
  g_clear_object (&self->context);
  g_free (self->a);
  g_free (self->b);
  g_free (self->c);
  g_free (self->d);
  g_free (self);
}

/* Waits for @last. Takes both events. @ms: (out): milliseconds by the device's clock from the start
 * of @first to the end of @last; NaN if the device measured no time. */
static gboolean
take_duration (GemmclContext *context, cl_event first, cl_event last, gdouble *ms, GError **error)
{
  cl_ulong start = 0, end = 0;
  const gboolean ok =
      check_cl (gemmcl_context_wait (context, last), "clWaitForEvents", error) &&
      check_cl (
          clGetEventProfilingInfo (first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
          "clGetEventProfilingInfo", error) &&
      check_cl (clGetEventProfilingInfo (last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
                "clGetEventProfilingInfo", error);

  clReleaseEvent (first);
  if (last != first)
    clReleaseEvent (last);
  *ms = end > start + LEAST_NS ? (end - start) / 1e6 : NAN;
  return ok;
}

gboolean
bench_run_once (const BenchMatrices *self, GemmclPlan *plan, gdouble *ms, GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->device_a}};
  const GemmclData d = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->device_d}};
  GemmclRun run = GEMMCL_RUN_INIT;
  cl_event first = NULL, last = NULL;

  run.alpha = self->gemm.alpha;
  run.beta = self->gemm.beta;
  run.a = &a;
  run.c = self->device_c;
  run.d = &d;
  run.strided = TRUE;
  return gemmcl_plan_submit (plan, &run, &first, &last, error) &&
         take_duration (self->context, first, last, ms, error);
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

json_t *
bench_make_times (GArray *times)
{
  const gdouble *sorted = (const gdouble *)times->data;
  const guint n = times->len, quarter = n > 0 ? (n - 1) / 4 : 0;
  gdouble median;

  if (n == 0)
    return json_pack ("{s:n, s:n, s:n, s:n}", "min", "median", "max", "spread");
  g_array_sort (times, compare);
  median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  return json_pack ("{s:f, s:f, s:f, s:f}", "min", sorted[0], "median", median, "max",
                    sorted[n - 1], "spread", (sorted[n - 1 - quarter] - sorted[quarter]) / median);
}

gboolean
bench_warm_up (const BenchMatrices *self, GemmclPlan *plan, GError **error)
{
  const gdouble end = tool_get_seconds () + BENCH_WARM_UP_MS / 1e3;
  gdouble ms;

  if (gemmcl_context_get_device_info (self->context)->type != GEMMCL_DEVICE_TYPE_GPU)
    return TRUE;
  do
    if (!tool_check_interrupt (error) || !bench_run_once (self, plan, &ms, error))
      return FALSE;
  while (tool_get_seconds () < end);
  return TRUE;
}

gboolean
bench_spoil_output (const BenchMatrices *self, GError **error)
{
  return fill_buffer (self->context, self->device_d, NAN, self->size_d * sizeof (gfloat), error);
}

gboolean
bench_read_output (BenchMatrices *self, GError **error)
{
  cl_event done = NULL;
  const cl_int status =
      clEnqueueReadBuffer (gemmcl_context_get_cl_queue (self->context), self->device_d, CL_FALSE, 0,
                           self->size_d * sizeof (gfloat), self->d, 0, NULL, &done);

  return finish (self->context, status, done, "clEnqueueReadBuffer", error);
}

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

gboolean
bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source, GError **error)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const guint64 most = MIN (info->max_alloc_bytes, info->global_bytes / MEMORY_SHARE);
  const gsize bytes = MIN (BYTES, most) / sizeof (gfloat) * sizeof (gfloat);
  g_autofree gchar *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_auto (cl_mem) from = NULL, to = NULL;
  /* Filled, since memory may be allocated only when it is first written. */
  gboolean ok = make_buffer (context, NULL, bytes, &from, error) &&
                make_buffer (context, NULL, bytes, &to, error) &&
                fill_buffer (context, from, 1, bytes, error) &&
                fill_buffer (context, to, 1, bytes, error);
  const gdouble end = tool_get_seconds () + BENCH_WARM_UP_MS / 1e3;
  gdouble least = G_MAXDOUBLE;
  guint n = 0;

  for (; ok && (n < LEAST_COPIES || tool_get_seconds () < end); n++) {
    cl_event copy = NULL;
    gdouble ms = NAN;

    ok = check_cl (clEnqueueCopyBuffer (gemmcl_context_get_cl_queue (context), from, to, 0, 0,
                                        bytes, 0, NULL, &copy),
                   "clEnqueueCopyBuffer", error) &&
         take_duration (context, copy, copy, &ms, error);
    least = fmin (least, ms);
  }
  if (ok && least == G_MAXDOUBLE)
    ok = tool_fail (error, "The device measured no time.");
  if (!ok)
    g_prefix_error (error, "The memory bandwidth could not be measured; --bandwidth sets it. ");
  *gbs = 2.0 * bytes / (least * 1e6);
  *source = g_strdup_printf ("bytes read and written by clEnqueueCopyBuffer of %s, the fastest of "
                             "%u copies",
                             size, n);
  return ok;
}
