/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/search-data.h"

#include <math.h>
#include <string.h>

#include "device/commands.h"
#include "device/context.h"
#include "matrix/matrix.h"
#include "problem/frame.h"
#include "problem/gemm.h"
#include "problem/verify.h"

/* The largest number of rows for gemmcl_gemm_verify(), and of products in them. */
#define MOST_ROWS     4
#define MOST_ROW_WORK 5e7

/* The approximate largest argument of an activation. */
#define ACTIVE_RANGE 4.0

/* The approximate largest element of an f16 D: far from its largest number, which one kernel may
 * reach and another exceed. */
#define HALF_RANGE 4096.0

struct _GemmclSearchData {
  GemmclContext *context;
  GemmclGemm gemm;
  cl_command_queue queue;
  cl_mem a, d, row_outputs;
  gsize a_size, d_size, row_outputs_size; /* in bytes */
  guchar *host_a;
  guchar *host_d;
  guchar *expected; /* the reference D; NULL before the first check */
  GemmclMatrix *b;
  GemmclType d_type;      /* for a frame, its samples' type */
  gdouble a_most, b_most; /* the largest |A| and |B| */
  gdouble off;            /* the allowed difference of two results before the activation */
  gdouble slope, error;   /* the activation's, see gemmcl_activation_get_error() */
};

static gboolean
is_integer (GemmclType type)
{
  return gemmcl_type_get_fraction (type) == 0;
}

/* The largest absolute value of an element that fill() makes. */
static gdouble
get_most (GemmclType type)
{
  const gint bits = 8 * (gint)gemmcl_type_get_size (type);

  return is_integer (type) ? ldexp (1, bits - (gemmcl_type_get_name (type)[0] == 'i')) : 1;
}

/* Fills @data with little-endian elements: any integers, or floats between 0.5 and 1 in absolute
 * value, whose sign and fraction are random. */
static void
fill (guchar *data, gsize size, GemmclType type)
{
  const gsize element = gemmcl_type_get_size (type);
  const guint fraction = gemmcl_type_get_fraction (type);
  const guint64 sign = G_GUINT64_CONSTANT (1) << (8 * element - 1);
  const guint64 random_bits = is_integer (type) ? G_MAXUINT64 : sign | ((1ull << fraction) - 1);
  /* The exponent of 0.5 is one less than its bias, which is all ones but the first. */
  const guint64 fixed_bits = is_integer (type) ? 0 : (sign >> 1) - (2ull << fraction);
  g_autoptr (GRand) random = g_rand_new_with_seed (0);

  for (gsize at = 0; at + element <= size; at += element) {
    /* Both halves of a long element are the same. */
    const guint64 drawn = g_rand_int (random) * G_GUINT64_CONSTANT (0x100000001);
    const guint64 bits = GUINT64_TO_LE ((drawn & random_bits) | fixed_bits);

    memcpy (data + at, &bits, element);
  }
}

static gboolean
fail_memory (GError **error)
{
  return gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                      "A search for the fastest kernel would need more memory than it may take.");
}

/* Fills A, and sets the largest |A| and the type of D. */
static void
fill_a (GemmclSearchData *self)
{
  const GemmclGemm *gemm = &self->gemm;
  const GemmclType a_type =
      gemm->a_frame ? gemmcl_frame_get_sample_type (gemm->a_frame) : gemm->a_type;
  const gboolean is_8_bit = gemm->a_frame && gemm->a_frame->channels == 0 &&
                            gemm->a_frame->format != GEMMCL_PIXEL_GRAY16_LE;
  const gdouble most = is_8_bit ? 0x1p8 : get_most (a_type);

  fill (self->host_a, self->a_size, a_type);
  self->a_most = fabs (gemm->a_scale) * most + fabs (gemm->a_shift);
  self->d_type = gemm->d_frame ? gemmcl_frame_get_sample_type (gemm->d_frame) : gemm->d_type;
}

/* The intended absolute value of D before the activation: integers neither 0 nor saturated, f16
 * not infinite, activations in their curved range. */
static gdouble
get_target (const GemmclSearchData *self)
{
  if (is_integer (self->d_type))
    return get_most (self->d_type) / 2;
  if (self->gemm.activation != GEMMCL_ACTIVATION_NONE)
    return MIN (self->a_most, ACTIVE_RANGE);
  return self->d_type == GEMMCL_TYPE_F16 ? MIN (self->a_most, HALF_RANGE) : self->a_most;
}

static gboolean
make_b (GemmclSearchData *self, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize rows = gemm->trans_b ? gemm->n : gemm->k, cols = gemm->trans_b ? gemm->k : gemm->n;
  const gsize size = rows * cols * sizeof (gfloat);
  gfloat *b = g_try_malloc (size);

  if (b == NULL)
    return fail_memory (error);
  self->b_most = self->a_most > 0 ? get_target (self) / (self->a_most * sqrt (gemm->k)) : 1;
  fill ((guchar *)b, size, GEMMCL_TYPE_F32);
  for (gsize at = 0; at < rows * cols; at++)
    b[at] *= (gfloat)self->b_most;
  self->b = gemmcl_matrix_new_take (GEMMCL_TYPE_F32, rows, cols, FALSE, g_bytes_new_take (b, size));
  return TRUE;
}

/* Finds the sizes of the matrices, in bytes. Fails if there is not enough memory for them. */
static gboolean
find_sizes (GemmclSearchData *self, guint n_plans, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (self->context);
  const gdouble b = (gdouble)gemm->k * gemm->n * sizeof (gfloat) * n_plans;

  if (gemmcl_gemm_get_extent (gemm, GEMMCL_OPERAND_A, &self->a_size) &&
      gemmcl_gemm_get_extent (gemm, GEMMCL_OPERAND_D, &self->d_size) &&
      (gemm->row_outputs == 0 ||
       gemmcl_gemm_get_extent (gemm, GEMMCL_OPERAND_ROW_OUTPUTS, &self->row_outputs_size)) &&
      b + self->a_size + self->d_size + self->row_outputs_size <= info->global_bytes / 2.0)
    return TRUE;
  return fail_memory (error);
}

static gboolean
make_memory (GemmclSearchData *self, GError **error)
{
  GemmclContext *context = self->context;
  cl_event done = NULL;
  cl_int status;

  self->host_a = g_try_malloc (self->a_size);
  self->host_d = g_try_malloc (self->d_size);
  if (self->host_a == NULL || self->host_d == NULL)
    return fail_memory (error);
  fill_a (self);
  if (!(self->queue = gemmcl_context_create_queue (context, CL_QUEUE_PROFILING_ENABLE, error)) ||
      !(self->a = gemmcl_context_create_buffer (context, self->a_size, "A of a search", error)) ||
      !(self->d = gemmcl_context_create_buffer (context, self->d_size, "D of a search", error)) ||
      (self->row_outputs_size > 0 &&
       !(self->row_outputs = gemmcl_context_create_buffer (context, self->row_outputs_size,
                                                           "row outputs of a search", error))))
    return FALSE;
  status = clEnqueueWriteBuffer (self->queue, self->a, CL_FALSE, 0, self->a_size, self->host_a, 0,
                                 NULL, &done);
  return gemmcl_context_finish (context, status, done, "Writing A of a search", error);
}

GemmclSearchData *
gemmcl_search_data_new (GemmclContext *context, const GemmclGemm *gemm, guint n_plans,
                        GError **error)
{
  g_autoptr (GemmclSearchData) self = g_new0 (GemmclSearchData, 1);
  const GemmclMatrixLayout a = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_A, FALSE);

  self->context = g_object_ref (context);
  self->gemm = *gemm;
  self->gemm.omit_d = FALSE; /* D is compared */
  /* Runs of a plan have an A for each problem even if a_stride is 0. */
  if (gemm->a_frame == NULL && gemm->a_stride == 0 && gemmcl_gemm_get_batch (gemm) > 1)
    self->gemm.a_stride = a.lines * a.ld;
  if (!find_sizes (self, n_plans, error) || !make_memory (self, error) || !make_b (self, error))
    return NULL;
  self->error = gemmcl_activation_get_error (gemm->activation, -ACTIVE_RANGE, &self->slope);
  self->off = 2 * gemmcl_gemm_get_sum_error (gemm, self->a_most, self->b_most);
  return g_steal_pointer (&self);
}

void
gemmcl_search_data_free (GemmclSearchData *self)
{
  g_clear_pointer (&self->a, clReleaseMemObject);
  g_clear_pointer (&self->d, clReleaseMemObject);
  g_clear_pointer (&self->row_outputs, clReleaseMemObject);
  g_clear_pointer (&self->queue, clReleaseCommandQueue);
  g_clear_pointer (&self->b, gemmcl_matrix_unref);
  g_free (self->host_a);
  g_free (self->host_d);
  g_free (self->expected);
  g_object_unref (self->context);
  g_free (self);
}

GemmclPlan *
gemmcl_search_data_make_plan (GemmclSearchData *self, const gchar *kernel, GError **error)
{
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (self->context, &self->gemm, kernel, error);

  if (plan == NULL || !gemmcl_plan_set (plan, GEMMCL_PLAN_B, self->b, error))
    return NULL;
  return g_steal_pointer (&plan);
}

/* After a failure: some drivers fail all later commands of the queue, but the next kernel may be
 * right. */
static gboolean
leave_queue (GemmclSearchData *self)
{
  cl_command_queue fresh =
      gemmcl_context_create_queue (self->context, CL_QUEUE_PROFILING_ENABLE, NULL);

  if (fresh == NULL)
    return FALSE;
  clReleaseCommandQueue (self->queue);
  self->queue = fresh;
  return FALSE;
}

gboolean
gemmcl_search_data_run (GemmclSearchData *self, GemmclPlan *plan, gsize rows, gdouble *seconds,
                        GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->a}};
  const GemmclData d = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->d}};
  const GemmclData outputs = {.kind = GEMMCL_DATA_BUFFER, .objects = {self->row_outputs}};
  GemmclRun run = GEMMCL_RUN_INIT;
  g_auto (cl_event) first = NULL;
  g_auto (cl_event) done = NULL;
  guint64 ns;

  /* beta 1 makes the kernel read a C that is D or the previous result. */
  run.beta = self->gemm.addend == GEMMCL_ADDEND_NONE ? 0.0 : 1.0;
  run.a = &a;
  run.d = &d;
  run.m = rows;
  run.row_outputs = self->row_outputs ? &outputs : NULL;
  run.strided = TRUE;
  run.queue = self->queue;
  if (!gemmcl_plan_submit (plan, &run, &first, &done, error) ||
      !gemmcl_cl_check (gemmcl_context_wait (self->context, done), error, "clWaitForEvents") ||
      !gemmcl_cl_check (gemmcl_events_get_duration (first, done, &ns), error,
                        "clGetEventProfilingInfo"))
    return leave_queue (self);
  *seconds = ns / 1e9;
  return ns > 0 ||
         gemmcl_fail (error, GEMMCL_ERROR_OPENCL,
                      "The device measures no time of a run, so kernels cannot be compared.");
}

/* The allowed difference of two results, one of which is @y. */
static gdouble
get_tolerance (const GemmclSearchData *self, gdouble y)
{
  const gdouble size = fabs (y);
  gdouble tolerance = self->off;

  if (gemmcl_activation_is_of_rows (self->gemm.activation))
    tolerance = size * (expm1 (2 * self->off) + self->gemm.n * 2 * UNIT_ROUNDOFF);
  if (self->gemm.activation != GEMMCL_ACTIVATION_NONE)
    tolerance = self->slope * tolerance + 2 * self->error * MAX (size, 1);
  /* The rounding of both results to D's type. */
  if (is_integer (self->d_type))
    return tolerance + 1;
  return tolerance + size * ldexp (1, -(gint)MIN (gemmcl_type_get_fraction (self->d_type), 23));
}

static gboolean
compare (const GemmclSearchData *self, GError **error)
{
  const gsize n = self->d_size / gemmcl_type_get_size (self->d_type);

  for (gsize at = 0; at < n; at++) {
    const gdouble y = gemmcl_type_load_f32 (self->d_type, self->expected, at);
    const gdouble found = gemmcl_type_load_f32 (self->d_type, self->host_d, at);

    if (found == y || (isnan (found) && isnan (y)) || fabs (found - y) <= get_tolerance (self, y))
      continue;
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "The result is wrong: element %zu is %g, where the first kernel has %g.",
                        at, found, y);
  }
  return TRUE;
}

/* Checks evenly spaced rows of the first problem, the first and last among them. C and bias are
 * zeros. */
static gboolean
verify_rows (const GemmclSearchData *self, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const GemmclStrides a = gemmcl_gemm_get_strides (gemm, GEMMCL_OPERAND_A, FALSE);
  const GemmclStrides d = gemmcl_gemm_get_strides (gemm, GEMMCL_OPERAND_D, FALSE);
  const gsize most = MAX (MOST_ROW_WORK / ((gdouble)gemm->n * gemm->k), 1);
  const gsize n_rows = MIN (MIN (gemm->m, MOST_ROWS), most);
  GemmclGemm row = *gemm;
  gdouble max_error, bound;

  if (gemm->a_frame || gemm->d_frame || gemm->d_type != GEMMCL_TYPE_F32)
    return TRUE;
  row.m = row.batch = 1;
  row.alpha = 1;
  row.addend = GEMMCL_ADDEND_NONE;
  row.bias = FALSE;
  row.lda = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_A, FALSE).ld;
  row.ldd = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, FALSE).ld;
  row.ldb = row.b_start = row.b_stride = 0;
  /* B is row-major in any problem. */
  row.trans_b = (gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR) != !!gemm->trans_b;
  for (gsize r = 0; r < n_rows; r++) {
    const gsize i = r * (gemm->m - 1) / MAX (n_rows - 1, 1);

    row.a_start = a.offset + i * a.row;
    row.d_start = d.offset + i * d.row;
    if (!gemmcl_gemm_verify (&row, self->host_a, self->b->data, NULL, NULL,
                             (const gfloat *)(gconstpointer)self->host_d, &max_error, &bound))
      return gemmcl_fail (
          error, GEMMCL_ERROR_KERNEL,
          "The result is wrong: an element is off by %.3g, where %.3g is the bound.", max_error,
          bound);
  }
  return TRUE;
}

/* Like gemmcl_context_finish(), for a command that accesses D. */
static gboolean
finish (GemmclSearchData *self, cl_int status, cl_event done, const gchar *what, GError **error)
{
  return gemmcl_context_finish (self->context, status, done, what, error) || leave_queue (self);
}

gboolean
gemmcl_search_data_check (GemmclSearchData *self, GemmclPlan *plan, gdouble *seconds,
                          GError **error)
{
  /* NaN, or zeros if D is also C */
  const guchar byte = self->gemm.addend == GEMMCL_ADDEND_OUTPUT ? 0x00 : 0xff;
  cl_event done = NULL;
  cl_int status;

  gemmcl_plan_reset_previous (plan);
  status = clEnqueueFillBuffer (self->queue, self->d, &byte, 1, 0, self->d_size, 0, NULL, &done);
  if (!finish (self, status, done, "Filling D of a search", error) ||
      !gemmcl_search_data_run (self, plan, 0, seconds, error))
    return FALSE;
  status = clEnqueueReadBuffer (self->queue, self->d, CL_FALSE, 0, self->d_size, self->host_d, 0,
                                NULL, &done);
  if (!finish (self, status, done, "Reading D of a search", error) || !verify_rows (self, error))
    return FALSE;
  if (self->expected != NULL)
    return compare (self, error);
  self->expected = g_steal_pointer (&self->host_d);
  self->host_d = g_try_malloc (self->d_size);
  return self->host_d != NULL || fail_memory (error);
}
