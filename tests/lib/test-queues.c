/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs on device buffers, strided: queues in order and out of order, events, operands of a run's
 * own. */

/* clCreateCommandQueue: its successor does not exist on OpenCL 1.2 devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <string.h>

#include "../kernels/problem.h"
#include "files.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_command_queue, clReleaseCommandQueue, NULL)

#define SIZE 20

static cl_mem
make_buffer (gfloat value)
{
  g_autoptr (GemmclMatrix) filled = test_make_filled (SIZE, SIZE, value);

  return test_create_buffer (SIZE * SIZE * sizeof (gfloat), gemmcl_matrix_get_data (filled));
}

static void
assert_holds (cl_mem buffer, gfloat value)
{
  gfloat data[SIZE * SIZE];

  test_read_buffer (buffer, sizeof data, data);
  for (guint i = 0; i < SIZE * SIZE; i++)
    g_assert_cmpfloat_with_epsilon (data[i], value, 1e-6 * value);
}

static cl_command_queue
make_queue (cl_command_queue_properties properties)
{
  GemmclContext *context = test_get_context ();

  return clCreateCommandQueue (gemmcl_context_get_cl_context (context),
                               gemmcl_context_get_cl_device (context), properties, NULL);
}

static cl_event
make_gate (void)
{
  cl_event gate = clCreateUserEvent (gemmcl_context_get_cl_context (test_get_context ()), NULL);

  g_assert_nonnull (gate);
  return gate;
}

static void
open_gate (cl_event gate, cl_event done)
{
  g_assert_cmpint (clSetUserEventStatus (gate, CL_COMPLETE), ==, CL_SUCCESS);
  g_assert_cmpint (clWaitForEvents (1, &done), ==, CL_SUCCESS);
}

static GemmclGemm
make_gemm (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = gemm.n = gemm.k = SIZE;
  return gemm;
}

static GemmclPlan *
make_plan (const GemmclGemm *gemm, gfloat b)
{
  g_autoptr (GemmclMatrix) filled = test_make_filled (SIZE, SIZE, b);

  return test_make_plan (gemm, NULL, gemmcl_matrix_get_data (filled));
}

/* The buffers of a run; b and c may be NULL. */
typedef struct {
  cl_mem a, b, c, d;
} Buffers;

static gboolean
submit (GemmclPlan *plan, const Buffers *buffers, gdouble beta, cl_command_queue queue,
        cl_event wait, cl_event *first, cl_event *done, GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_BUFFER, .objects = {buffers->a}};
  const GemmclData d = {.kind = GEMMCL_DATA_BUFFER, .objects = {buffers->d}};
  GemmclRun run = GEMMCL_RUN_INIT;

  run.beta = beta;
  run.a = &a;
  run.b = buffers->b;
  run.c = buffers->c;
  run.d = &d;
  run.strided = TRUE;
  run.queue = queue;
  run.n_wait = wait ? 1 : 0;
  run.wait = &wait;
  return gemmcl_plan_submit (plan, &run, first, done, error);
}

static void
enqueue (GemmclPlan *plan, const Buffers *buffers, gdouble beta, cl_command_queue queue,
         cl_event wait, cl_event *done)
{
  g_autoptr (GError) error = NULL;

  submit (plan, buffers, beta, queue, wait, NULL, done, &error);
  g_assert_no_error (error);
}

/* D of a run is A of the next; buffers may be released as soon as all is enqueued. */
static void
test_in_order (void)
{
  const GemmclGemm gemm = make_gemm ();
  GemmclContext *context = test_get_context ();
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) last = NULL;

  plan = make_plan (&gemm, 0.1f);
  last = make_buffer (1);
  {
    g_auto (cl_mem) a = make_buffer (5);
    g_auto (cl_mem) d = make_buffer (0);
    const cl_command_queue queue = gemmcl_context_get_cl_queue (context);

    enqueue (plan, &(Buffers){.a = a, .d = d}, 0, queue, NULL, NULL);
    enqueue (plan, &(Buffers){.a = d, .d = a}, 0, queue, NULL, NULL);
    enqueue (plan, &(Buffers){.a = a, .d = last}, 0, queue, NULL, NULL);
  }
  assert_holds (last, 40);
}

/* Steps of a run (pack, multiply, softmax) wait for each other, and a run for what it is told. */
static void
test_out_of_order (void)
{
  GemmclGemm gemm = make_gemm ();
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_command_queue) queue = NULL;
  g_auto (cl_event) start = NULL;
  g_auto (cl_event) done = NULL;
  g_auto (cl_mem) a = NULL;
  g_auto (cl_mem) b = NULL;
  g_auto (cl_mem) d = NULL;

  queue = make_queue (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  if (queue == NULL) {
    g_test_skip ("the device has no queues that run out of order");
    return;
  }
  gemm.activation = GEMMCL_ACTIVATION_SOFTMAX;
  plan = make_plan (&gemm, 9);
  a = make_buffer (1);
  b = make_buffer (3);
  d = make_buffer (7);
  start = make_gate ();
  enqueue (plan, &(Buffers){.a = a, .b = b, .d = d}, 0, queue, start, &done);
  g_assert_cmpint (clFlush (queue), ==, CL_SUCCESS);
  assert_holds (d, 7);
  open_gate (start, done);
  assert_holds (d, 1.0f / SIZE);
}

/* B and C of a run's own go before the plan's, for that run only. */
static void
test_own_operands (void)
{
  GemmclGemm gemm = make_gemm ();
  GemmclContext *context = test_get_context ();
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) a = NULL;
  g_auto (cl_mem) b = NULL;
  g_auto (cl_mem) c = NULL;
  g_auto (cl_mem) d = NULL;
  cl_command_queue queue;

  gemm.addend = GEMMCL_ADDEND_MATRIX;
  queue = gemmcl_context_get_cl_queue (context);
  plan = make_plan (&gemm, 1);
  a = make_buffer (1);
  b = make_buffer (2);
  c = make_buffer (5);
  d = make_buffer (0);
  enqueue (plan, &(Buffers){.a = a, .d = d}, 1, queue, NULL, NULL);
  assert_holds (d, SIZE);
  enqueue (plan, &(Buffers){.a = a, .b = b, .c = c, .d = d}, 1, queue, NULL, NULL);
  assert_holds (d, 2 * SIZE + 5);
  enqueue (plan, &(Buffers){.a = a, .d = d}, 1, queue, NULL, NULL);
  assert_holds (d, SIZE);
}

/* C <- A B + C, in place. */
static void
test_accumulate (void)
{
  GemmclGemm gemm = make_gemm ();
  GemmclContext *context = test_get_context ();
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) a = NULL;
  g_auto (cl_mem) d = NULL;

  gemm.addend = GEMMCL_ADDEND_OUTPUT;
  plan = make_plan (&gemm, 1);
  a = make_buffer (1);
  d = make_buffer (100);
  for (guint i = 0; i < 3; i++)
    enqueue (plan, &(Buffers){.a = a, .d = d}, 1, gemmcl_context_get_cl_queue (context), NULL,
             NULL);
  assert_holds (d, 100 + 3 * SIZE);
}

/* The last run that has a time stands for runs in a queue without profiling. */
static void
test_without_profiling (void)
{
  const GemmclGemm gemm = make_gemm ();
  g_autoptr (GemmclPlan) plan = make_plan (&gemm, 1);
  g_auto (cl_command_queue) queue = make_queue (0);
  g_auto (cl_mem) a = make_buffer (1);
  g_auto (cl_mem) d = make_buffer (0);
  GemmclPlanStats first, stats;

  for (guint i = 0; i < 4; i++) {
    g_auto (cl_event) done = NULL;

    enqueue (plan, &(Buffers){.a = a, .d = d}, 0, i == 0 ? NULL : queue, NULL, &done);
    g_assert_cmpint (clWaitForEvents (1, &done), ==, CL_SUCCESS);
    gemmcl_plan_get_stats (plan, i == 0 ? &first : &stats);
  }
  g_assert_cmpuint (first.kernel_ns, >, 0);
  g_assert_cmpuint (stats.runs, ==, 4);
  g_assert_cmpfloat_with_epsilon (stats.kernel_ns, 4.0 * first.kernel_ns, 4);
}

/* Weights that are set while a run that uses the old ones has not started yet. */
static void
test_set_while_waiting (void)
{
  const GemmclGemm gemm = make_gemm ();
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GemmclMatrix) matrix = NULL;
  g_auto (cl_command_queue) queue = NULL;
  g_auto (cl_event) start = NULL;
  g_auto (cl_event) done = NULL;
  g_auto (cl_mem) a = NULL;
  g_auto (cl_mem) d = NULL;

  plan = make_plan (&gemm, 1);
  a = make_buffer (1);
  d = make_buffer (0);
  matrix = test_make_filled (SIZE, SIZE, 2);
  queue = make_queue (0);
  g_assert_nonnull (queue);
  start = make_gate ();
  enqueue (plan, &(Buffers){.a = a, .d = d}, 0, queue, start, &done);
  g_assert_true (gemmcl_plan_set_b (plan, matrix, NULL));
  open_gate (start, done);
  assert_holds (d, SIZE);
  enqueue (plan, &(Buffers){.a = a, .d = d}, 0, queue, NULL, NULL);
  g_assert_cmpint (clFinish (queue), ==, CL_SUCCESS);
  assert_holds (d, 2 * SIZE);
}

/* An OpenCL error is reported by its name; drivers differ in which one it is here. */
static void
test_wrong_queue (void)
{
  const GemmclGemm gemm = make_gemm ();
  g_autoptr (GemmclContext) other = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (cl_mem) a = NULL;
  g_auto (cl_mem) d = NULL;
  Buffers run = {NULL};

  other = gemmcl_context_new (NULL, &error);
  g_assert_no_error (error);
  plan = make_plan (&gemm, 1);
  run.a = a = make_buffer (1);
  run.d = d = make_buffer (1);
  if (submit (plan, &run, 0, gemmcl_context_get_cl_queue (other), NULL, NULL, NULL, &error)) {
    g_assert_cmpint (clFinish (gemmcl_context_get_cl_queue (other)), ==, CL_SUCCESS);
    g_test_skip ("the driver takes a queue of another context");
    return;
  }
  files_assert_error (error, GEMMCL_ERROR_OPENCL, "CL_INVALID_");
}

/* A run in two steps has two events, which tell its start and its end. */
static void
test_first_and_last (void)
{
  GemmclGemm gemm = make_gemm ();
  GemmclContext *context = test_get_context ();
  const gchar *kernels[] = {"gemm_naive", "gemm_naive/2"};

  gemm.k = 32;
  gemm.lda = 32;
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, &gemm, kernels[i], &error);
    g_auto (cl_mem) a = clCreateBuffer (gemmcl_context_get_cl_context (context), CL_MEM_READ_WRITE,
                                        SIZE * 32 * sizeof (gfloat), NULL, NULL);
    g_auto (cl_mem) d = make_buffer (0);
    const Buffers run = {.a = a, .b = a, .d = d};
    cl_event first = NULL, last = NULL;

    g_assert_no_error (error);
    submit (plan, &run, 0, NULL, NULL, &first, &last, &error);
    g_assert_no_error (error);
    g_assert_cmpint (clWaitForEvents (1, &last), ==, CL_SUCCESS);
    g_assert_cmpint (first == last, ==, i == 0);
    clReleaseEvent (first);
    clReleaseEvent (last);
  }
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/queues/first-and-last", test_first_and_last);
  g_test_add_func ("/queues/in-order", test_in_order);
  g_test_add_func ("/queues/out-of-order", test_out_of_order);
  g_test_add_func ("/queues/own-operands", test_own_operands);
  g_test_add_func ("/queues/accumulate", test_accumulate);
  g_test_add_func ("/queues/without-profiling", test_without_profiling);
  g_test_add_func ("/queues/set-while-waiting", test_set_while_waiting);
  g_test_add_func ("/queues/wrong-queue", test_wrong_queue);
  return g_test_run ();
}
