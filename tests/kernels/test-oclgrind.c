/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Tests the kernels on Oclgrind, an OpenCL device that checks each access: nothing is read or
 * written outside of a buffer or an array, and no two work-items race for an element.
 *
 *     oclgrind --data-races --local-mem-size 131072 --log LOG test-oclgrind LOG
 *
 * Oclgrind has no subgroups, so they are emulated. Tested are the first row of each method, which
 * covers the method's source, and the first row with several subgroups per row of D; with
 * GEMMCL_TEST_ROWS=all in the environment every row.
 */
#include <string.h>

#include "kernels/table.h"
#include "problem.h"

static const GemmclKernel rows[] = {
#define GEMMCL_KERNEL(name_, source_, ...) {.name = name_, .source = source_, __VA_ARGS__},
#define GEMMCL_HELPER(name, source)
#include "kernels.def"
};

static const gchar *log_path;
static GemmclContext *context; /* on Oclgrind; NULL without it */

static void
test_nothing (void)
{
  g_test_skip ("this does not run on Oclgrind: install it (tools/setup.sh test) and set up anew");
}

/* Returns: (transfer full) (nullable): Oclgrind's log since the last call. */
static gchar *
get_complaint (void)
{
  static gsize seen;
  g_autofree gchar *log = NULL;
  g_autoptr (GError) error = NULL;
  gsize start = seen, length;

  g_file_get_contents (log_path, &log, &length, &error);
  g_assert_no_error (error);
  seen = length;
  return length > start ? g_strdup (log + start) : NULL;
}

/* Fails the test with the first complaint, if there is one. */
static void
assert_no_complaint (const gchar *what)
{
  g_autofree gchar *complaint = get_complaint ();
  g_auto (GStrv) paragraphs = NULL;

  if (complaint == NULL)
    return;
  paragraphs = g_strsplit (g_strstrip (complaint), "\n\t\n", 2);
  g_test_message ("%s: %s", what, paragraphs[0]);
  g_test_fail ();
}

/* TRUE if several subgroups of a group share rows of D. */
static gboolean
is_across (const GemmclKernel *row)
{
  return row->subgroup > 0 && row->group_n > row->subgroup;
}

/* Runs the problem and checks the result and Oclgrind's log. */
static void
check_run (const gchar *kernel, const GemmclGemm *gemm)
{
  g_autofree gchar *what = problem_describe (gemm);
  g_autoptr (GError) error = NULL;
  g_auto (Problem) problem = {0};

  problem_init (&problem, gemm, 1);
  problem_run_device (&problem, context, kernel, &error);
  g_assert_no_error (error);
  if (problem_check (&problem, kernel) && gemm->row_outputs)
    problem_check_rows (&problem, kernel);
  assert_no_complaint (what);
}

/* Checks @gemm, reduced to the row's limits. */
static void
check_problem (const GemmclKernel *row, GemmclGemm *gemm)
{
  gemm->precision = row->precision;
  gemm->m = row->max_m ? MIN (gemm->m, row->max_m) : gemm->m;
  gemm->n = row->max_n ? MIN (gemm->n, row->max_n) : gemm->n;
  gemm->k = row->max_k ? MIN (gemm->k, row->max_k) : gemm->k;
  check_run (row->name, gemm);
}

/* Softmax and row outputs in the kernel. N is larger than the columns of a subgroup if several
 * share a row. */
static void
check_whole_rows (const GemmclKernel *row)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = 19;
  gemm.n = is_across (row) ? row->tile_n * row->subgroup + 7 : 7;
  gemm.k = 3;
  gemm.batch = 2;
  gemm.b_stride = gemm.n * gemm.k;
  gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
  gemm.row_outputs = GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX;
  check_problem (row, &gemm);
}

static void
test_row (gconstpointer data)
{
  const GemmclKernel *row = data;
  GemmclGemm plain = GEMMCL_GEMM_INIT, columns = GEMMCL_GEMM_INIT, batches = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;

  if (!gemmcl_kernel_fits (context, row->name, NULL, &error)) {
    g_test_skip (error->message);
    return;
  }
  plain.m = 7;
  plain.n = 13;
  plain.k = 5;
  check_problem (row, &plain);

  columns.m = 9;
  columns.n = 11;
  columns.k = 17;
  columns.layout = GEMMCL_LAYOUT_COLUMN_MAJOR;
  columns.addend = GEMMCL_ADDEND_OUTPUT;
  columns.beta = 0.5;
  check_problem (row, &columns);

  batches.m = 5;
  batches.n = 9;
  batches.k = 19;
  batches.trans_a = batches.trans_b = TRUE;
  batches.lda = 7;
  batches.ldb = 21;
  batches.ldd = 10;
  batches.batch = 2;
  batches.a_stride = 7 * 19;
  batches.b_stride = 21 * 9;
  batches.addend = GEMMCL_ADDEND_MATRIX;
  batches.beta = -1;
  batches.bias = TRUE;
  check_problem (row, &batches);
  if (row->whole_rows)
    check_whole_rows (row);
}

/* K in two parts, and the sum of the parts. */
static void
test_split (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = 7;
  gemm.n = 13;
  gemm.k = 32;
  gemm.addend = GEMMCL_ADDEND_MATRIX;
  gemm.beta = 2;
  gemm.bias = TRUE;
  check_run ("gemm_naive/2", &gemm);
}

/* Runs @source on two floats. Returns: (transfer full) (nullable): the complaint. */
static gchar *
provoke (const gchar *source)
{
  const cl_context cl = gemmcl_context_get_cl_context (context);
  const cl_command_queue queue = gemmcl_context_get_cl_queue (context);
  const cl_device_id device = gemmcl_context_get_cl_device (context);
  const gsize items = 2;
  const gfloat data[2] = {0};
  cl_program program;
  cl_kernel kernel;
  cl_mem buffer;
  cl_int status;

  program = clCreateProgramWithSource (cl, 1, &source, NULL, &status);
  g_assert_cmpint (clBuildProgram (program, 1, &device, "", NULL, NULL), ==, CL_SUCCESS);
  kernel = clCreateKernel (program, "f", &status);
  buffer = clCreateBuffer (cl, CL_MEM_COPY_HOST_PTR, sizeof (data), (gpointer)data, &status);
  g_assert_cmpint (clSetKernelArg (kernel, 0, sizeof (buffer), &buffer), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueNDRangeKernel (queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL),
                   ==, CL_SUCCESS);
  g_assert_cmpint (clFinish (queue), ==, CL_SUCCESS);
  clReleaseMemObject (buffer);
  clReleaseKernel (kernel);
  clReleaseProgram (program);
  return get_complaint ();
}

/* Oclgrind reports wrong accesses, and nothing else. */
static void
test_complaints (void)
{
  static const gchar *const wrong[] = {
      "kernel void f (global float *x) { x[get_global_id (0) + 1] = 1; }",
      "kernel void f (global float *x) { x[0] = x[get_global_id (0) + 1]; }",
      "kernel void f (global float *x) { x[0] = get_global_id (0); }",
      "kernel void f (global float *x)\n"
      "{\n"
      "  local float y[2];\n"
      "  y[get_local_id (0)] = x[get_local_id (0)];\n"
      "  x[get_local_id (0)] = y[1 - get_local_id (0)];\n"
      "}\n",
  };
  g_autofree gchar *silence = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autofree gchar *complaint = provoke (wrong[i]);
    g_assert_nonnull (complaint);
  }
  silence = provoke ("kernel void f (global float *x) { x[get_global_id (0)] = 1; }");
  g_assert_null (silence);
}

/* TRUE if the row is the first of its method, or the first one with is_across(). */
static gboolean
is_first (guint i)
{
  gboolean across = is_across (&rows[i]);

  for (guint before = 0; before < i; before++)
    across = across && !is_across (&rows[before]);
  return across || i == 0 ||
         strcmp (gemmcl_get_kernel (i)->method, gemmcl_get_kernel (i - 1)->method) != 0;
}

static void
add_rows (void)
{
  const gboolean all = g_strcmp0 (g_getenv ("GEMMCL_TEST_ROWS"), "all") == 0;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree gchar *path = g_strdup_printf ("/oclgrind/%s", rows[i].name);

    if (all || is_first (i))
      g_test_add_data_func (path, &rows[i], test_row);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  log_path = argc > 1 ? argv[1] : NULL;
  context = log_path != NULL ? gemmcl_context_new (NULL, NULL) : NULL;
  if (context != NULL &&
      strcmp (gemmcl_context_get_device_info (context)->platform, "Oclgrind") == 0) {
    g_test_add_func ("/oclgrind/complaints", test_complaints);
    g_test_add_func ("/oclgrind/split", test_split);
    add_rows ();
  } else {
    g_test_add_func ("/oclgrind/nothing", test_nothing);
  }
  return g_test_run ();
}
