/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "../kernels/problem.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

/* Runs of which A or D, or both, are on the device. */

#define MAX_BATCH 3

static cl_mem
make_buffer (gsize size, gpointer data)
{
  cl_int status;
  cl_mem buffer = clCreateBuffer (gemmcl_context_get_cl_context (test_get_context ()),
                                  CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, data, &status);

  g_assert_cmpint (status, ==, CL_SUCCESS);
  return buffer;
}

static void
read_buffer (cl_mem buffer, gsize size, gpointer data)
{
  g_assert_cmpint (clEnqueueReadBuffer (gemmcl_context_get_cl_queue (test_get_context ()), buffer,
                                        CL_TRUE, 0, size, data, 0, NULL, NULL),
                   ==, CL_SUCCESS);
}

static GemmclPlan *
make_plan (const GemmclGemm *gemm, const gfloat *data)
{
  const gsize rows = gemm->trans_b ? gemm->n : gemm->k, cols = gemm->trans_b ? gemm->k : gemm->n;
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) b = gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, data, &error);
  GemmclPlan *plan = gemmcl_plan_new (test_get_context (), gemm, NULL, &error);

  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_set_b (plan, b, &error));
  return plan;
}

static void
run_and_wait (GemmclPlan *plan, const GemmclMixedRun *run)
{
  g_autoptr (GError) error = NULL;
  cl_event done = NULL;
  GemmclPendingRun *pending = gemmcl_plan_submit_mixed (plan, run, &done, &error);

  g_assert_no_error (error);
  g_assert_nonnull (done);
  g_assert_true (gemmcl_plan_finish (plan, pending, &error));
  g_assert_cmpint (clReleaseEvent (done), ==, CL_SUCCESS);
}

/* @gemm with A and D on the sides that are said. */
static void
check_sides (const GemmclGemm *gemm, gboolean a_on_device, gboolean d_on_device, const gchar *what)
{
  g_auto (Problem) problem = {.gemm = GEMMCL_GEMM_INIT};
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) a = NULL, d = NULL;
  GemmclHostData host_a[MAX_BATCH], host_d[MAX_BATCH];
  GemmclDeviceData device_a[MAX_BATCH], device_d[MAX_BATCH];
  GemmclPlanStats stats;

  problem_init (&problem, gemm, 1);
  plan = make_plan (gemm, problem.b);
  a = make_buffer (problem.n_a * sizeof (gfloat), problem.a);
  d = make_buffer (problem.n_d * sizeof (gfloat), problem.d);
  for (gsize i = 0; i < MAX (gemm->batch, 1); i++) {
    const gsize from = problem_a_index (&problem, i, 0, 0),
                to = problem_d_index (&problem, i, 0, 0);

    host_a[i] = (GemmclHostData){.data = {(gfloat *)problem.a + from}};
    host_d[i] = (GemmclHostData){.data = {(gfloat *)problem.d + to}};
    device_a[i] = (GemmclDeviceData){.buffer = a, .offset = {from * sizeof (gfloat)}};
    device_d[i] = (GemmclDeviceData){.buffer = d, .offset = {to * sizeof (gfloat)}};
  }
  for (guint i = 0; i < 3; i++)
    run_and_wait (plan, &(GemmclMixedRun){
                            .host_a = a_on_device ? NULL : host_a,
                            .device_a = a_on_device ? device_a : NULL,
                            .host_d = d_on_device ? NULL : host_d,
                            .device_d = d_on_device ? device_d : NULL,
                        });
  if (d_on_device)
    read_buffer (d, problem.n_d * sizeof (gfloat), problem.d);
  g_assert_true (problem_check (&problem, what));
  gemmcl_plan_get_stats (plan, &stats);
  g_assert_cmpuint (stats.runs, ==, 3);
  g_assert_cmpint (stats.bytes_in == 0, ==, a_on_device);
  g_assert_cmpint (stats.bytes_out == 0, ==, d_on_device);
}

static void
check_all_sides (const GemmclGemm *gemm, const gchar *what)
{
  for (guint i = 0; i < 4; i++)
    check_sides (gemm, i % 2, i / 2, what);
}

static GemmclGemm
make_gemm (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = 37;
  gemm.n = 21;
  gemm.k = 19;
  return gemm;
}

static void
test_sides (void)
{
  GemmclGemm gemm = make_gemm ();

  if (test_get_context () != NULL)
    check_all_sides (&gemm, "without gaps");
}

/* Which are not touched, and make copies on the device. */
static void
test_gaps (void)
{
  GemmclGemm gemm = make_gemm ();

  if (test_get_context () == NULL)
    return;
  gemm.lda = 23;
  gemm.ldd = 30;
  check_all_sides (&gemm, "rows with gaps");
  gemm.a_offset = 5;
  gemm.d_offset = 7;
  check_all_sides (&gemm, "rows with gaps, behind others");
  gemm.lda = gemm.ldd = 0;
  check_all_sides (&gemm, "behind others");
  gemm = make_gemm ();
  gemm.trans_a = TRUE;
  gemm.lda = 40;
  check_all_sides (&gemm, "columns with gaps");
}

static void
test_batches (void)
{
  GemmclGemm gemm = make_gemm ();

  if (test_get_context () == NULL)
    return;
  gemm.batch = 3;
  gemm.a_stride = 37 * 19 + 3;
  gemm.d_stride = 37 * 21 + 1;
  check_all_sides (&gemm, "batches");
}

/* Rows of pictures with gaps between, and one plane far from another. */
static void
test_pictures (void)
{
  const GemmclImage image = {
      .format = GEMMCL_PIXEL_NV12, .width = 6, .height = 4, .kr = 0.299, .kb = 0.114};
  const GemmclImage grey = {.format = GEMMCL_PIXEL_GRAY8, .width = 6, .height = 4};
  const gfloat luma[] = {0.299f, 0.587f, 0.114f};
  g_auto (cl_mem) a = NULL, d = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclDeviceData from = {.offset = {3, 60}, .stride = {10, 8}},
                   to = {.offset = {1}, .stride = {7}};
  guint8 bytes[100], found[40], before[40];

  if (test_get_context () == NULL)
    return;
  gemm.m = 24;
  gemm.n = 1;
  gemm.k = 3;
  gemm.a_image = &image;
  gemm.d_image = &grey;
  plan = make_plan (&gemm, luma);
  memset (bytes, 128, sizeof bytes);
  memset (before, 7, sizeof before);
  for (guint y = 0; y < 4; y++)
    for (guint x = 0; x < 6; x++)
      bytes[3 + 10 * y + x] = 16 + 9 * (6 * y + x);
  from.buffer = a = make_buffer (sizeof bytes, bytes);
  to.buffer = d = make_buffer (sizeof before, before);
  run_and_wait (plan, &(GemmclMixedRun){.device_a = &from, .device_d = &to});
  read_buffer (d, sizeof found, found);
  for (guint y = 0; y < 4; y++)
    for (guint x = 0; x < 6; x++) {
      const guint expected = MIN (255, 9 * (6 * y + x) * 255.0 / 219.0 + 0.5);

      g_assert_cmpint (ABS ((gint)found[1 + 7 * y + x] - (gint)expected), <=, 1);
      before[1 + 7 * y + x] = found[1 + 7 * y + x];
    }
  g_assert_cmpmem (found, sizeof found, before, sizeof before);
}

/* D = A B + D of the run before, which lies where the caller says. */
static void
test_previous_output (void)
{
  gfloat ones[4] = {1, 1, 1, 1}, results[4];
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) a = NULL, first = NULL, second = NULL;
  GemmclDeviceData from = {NULL}, to = {NULL};

  if (test_get_context () == NULL)
    return;
  gemm.m = gemm.n = gemm.k = 2;
  gemm.addend = GEMMCL_ADDEND_OUTPUT;
  gemm.beta = 1;
  plan = make_plan (&gemm, ones);
  from.buffer = a = make_buffer (sizeof ones, ones);
  first = make_buffer (sizeof ones, ones);
  second = make_buffer (sizeof ones, ones);
  to.buffer = first;
  run_and_wait (plan, &(GemmclMixedRun){.device_a = &from, .device_d = &to});
  to.buffer = second;
  run_and_wait (plan, &(GemmclMixedRun){.device_a = &from, .device_d = &to, .previous = first});
  run_and_wait (plan, &(GemmclMixedRun){.device_a = &from, .device_d = &to, .previous = second});
  read_buffer (second, sizeof results, results);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (results[i], ==, 2 + 2 + 2);
  read_buffer (first, sizeof results, results);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (results[i], ==, 2);
}

/* A run waits for what it is told, and fails with it, whatever stands before its kernels. */
static void
test_wait (void)
{
  gfloat ones[4] = {1, 1, 1, 1};
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) a = NULL, d = NULL;

  if (test_get_context () == NULL)
    return;
  gemm.m = 1;
  gemm.n = gemm.k = 2;
  plan = make_plan (&gemm, ones);
  a = make_buffer (sizeof ones, ones);
  d = make_buffer (sizeof ones, ones);
  for (guint i = 0; i < 4; i++) {
    const cl_context context = gemmcl_context_get_cl_context (test_get_context ());
    const cl_event gate = clCreateUserEvent (context, NULL);
    const GemmclDeviceData from = {.buffer = a, .offset = {i % 2 * 4}}, to = {.buffer = d};
    const GemmclMixedRun run = {.device_a = &from, .device_d = &to, .wait = &gate, .n_wait = 1};
    GemmclPendingRun *pending;
    cl_event done;
    cl_int status;

    pending = gemmcl_plan_submit_mixed (plan, &run, &done, NULL);
    g_assert_nonnull (pending);
    clGetEventInfo (done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    g_assert_cmpint (status, >, CL_COMPLETE);
    clSetUserEventStatus (gate, i < 2 ? CL_COMPLETE : -1);
    g_assert_cmpint (gemmcl_plan_finish (plan, pending, NULL), ==, i < 2);
    pending = gemmcl_plan_submit_mixed (plan, &run, NULL, NULL);
    g_assert_cmpint (pending != NULL, ==, i < 2);
    if (pending != NULL)
      g_assert_true (gemmcl_plan_finish (plan, pending, NULL));
    clReleaseEvent (done);
    clReleaseEvent (gate);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mixed/sides", test_sides);
  g_test_add_func ("/mixed/gaps", test_gaps);
  g_test_add_func ("/mixed/batches", test_batches);
  g_test_add_func ("/mixed/pictures", test_pictures);
  g_test_add_func ("/mixed/previous-output", test_previous_output);
  g_test_add_func ("/mixed/wait", test_wait);
  return g_test_run ();
}
