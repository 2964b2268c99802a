/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gemmcl.h>
#include <string.h>

#include "../lib/clock.h"
#include "../lib/files.h"
#include "../next.h"
#include "stream.h"

/* auto-tune: a faster kernel is found while buffers flow, and takes over between two of them. How,
 * and that it is right, tests/lib/test-auto-tune.c tests; here each buffer must come out of its own
 * weight, once, in order. The device's clock is the test's (clock.h), which decides what is faster;
 * all else is as it is. */

#define K 128
#define N 64
#define M 96

#define CAPS TENSOR ("128:96")
#define LONG TENSOR ("128:192")

#define MORE   40  /* buffers behind a swap */
#define PERIOD 30  /* buffers of a weight */
#define FAST   100 /* microseconds; kernels that were not set take 200 */

static gboolean is_gpu; /* devices say that they are one, of a maker who is not known */

/* Stands before OpenCL's. */
cl_int CL_API_CALL
clGetDeviceInfo (cl_device_id id, cl_device_info name, size_t size, void *value, size_t *size_ret)
{
  const cl_int status = NEXT (clGetDeviceInfo) (id, name, size, value, size_ret);

  if (!is_gpu || status != CL_SUCCESS || value == NULL)
    return status;
  if (name == CL_DEVICE_TYPE)
    *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
  else if (name == CL_DEVICE_VENDOR_ID)
    *(cl_uint *)value = 0;
  else if (name == CL_DEVICE_VENDOR)
    memset (value, '-', size - 1);
  return status;
}

/**
 * Flow: buffers of equal numbers, which a weight multiplies
 * @n: how many buffers were pushed
 * @period: buffers after which another weight is set; 0: never
 * @adds: whether beta is 1
 * @sum: the previous output
 */
typedef struct {
  Stream *stream;
  guint n, period;
  gboolean adds;
  gdouble sum;
} Flow;

static gchar *
make_weight (guint factor)
{
  g_autofree gdouble *values = g_new0 (gdouble, K * N);

  for (gsize j = 0; j < N; j++)
    values[2 * j * N + j] = factor;
  return literal (values, K, N);
}

/* @settings: of the element */
static void
flow_init (Flow *self, const gchar *settings)
{
  g_autofree gchar *weight = make_weight (2);

  *self =
      (Flow){.stream = stream_start (CAPS, "gemmcl queue-depth=3 weight=%s %s", weight, settings),
             .adds = strstr (settings, "beta=1") != NULL};
}

static void
flow_clear (Flow *self)
{
  stream_end (self->stream);
  stream_free (self->stream);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Flow, flow_clear)

/* Pushes a buffer of @m rows; what comes out must be of its own weight. */
static void
push_rows (Flow *self, gsize m)
{
  const guint factor = 2 + (self->period > 0 ? self->n / self->period % 5 : 0);
  const gfloat number = 1 + self->n % 8;
  gfloat *values = g_new (gfloat, m * K);
  g_autoptr (GstBuffer) output = NULL;
  GstMapInfo map;

  if (self->period > 0 && self->n % self->period == 0) {
    g_autofree gchar *weight = make_weight (factor);

    g_object_set (self->stream->element, "weight", weight, NULL);
  }
  for (gsize i = 0; i < m * K; i++)
    values[i] = number;
  output = stream_run (self->stream, gst_buffer_new_wrapped (values, m * K * sizeof *values));
  self->sum = factor * number + (self->adds ? self->sum : 0);
  self->n++;
  g_assert_true (gst_buffer_map (output, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, m * N * sizeof (gfloat));
  for (gsize i = 0; i < m * N; i++)
    g_assert_cmpfloat (((gfloat *)map.data)[i], ==, self->sum);
  gst_buffer_unmap (output, &map);
}

static void
push (Flow *self)
{
  push_rows (self, M);
}

static gboolean
has (Flow *self, const gchar *name, const gchar *value)
{
  g_autoptr (GstStructure) stats = stream_get_stats (self->stream, NULL);

  return g_strcmp0 (gst_structure_get_string (stats, name), value) == 0;
}

static void
assert_field (Flow *self, const gchar *name, const gchar *value)
{
  g_autoptr (GstStructure) stats = stream_get_stats (self->stream, NULL);

  g_assert_cmpstr (gst_structure_get_string (stats, name), ==, value);
}

/* Pushes until auto-tune says @state, and then some more. */
static void
push_until (Flow *self, const gchar *state)
{
  const gint64 end = g_get_monotonic_time () + FOREVER;

  while (!has (self, "auto-tune", state)) {
    if (g_get_monotonic_time () > end)
      assert_field (self, "auto-tune", state);
    push (self);
  }
  for (guint i = 0; i < MORE; i++)
    push (self);
  g_test_message ("%u buffers", self->n);
}

/* Forgets what was found, and makes a kernel that the rules do not choose the fastest; its name. */
static gchar *
begin (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, &error);
  g_auto (GStrv) names = NULL;

  g_assert_no_error (error);
  g_assert_true (gemmcl_tuning_forget (context, NULL));
  gemm.m = M;
  gemm.n = N;
  gemm.k = K;
  names = gemmcl_tuning_list_candidates (context, &gemm);
  g_assert_cmpuint (g_strv_length (names), >, 2);
  clock_reset ();
  clock_set (names[2], FAST);
  return g_strdup (names[2]);
}

/* Plays until the kernel is swapped, while weights change. */
static void
run_swap (const gchar *settings, const gchar *kernel)
{
  g_auto (Flow) flow = {.period = 0};

  flow_init (&flow, settings);
  flow.period = PERIOD;
  assert_field (&flow, "kernel-source", "rules");
  push_until (&flow, "swapped");
  assert_field (&flow, "kernel", kernel);
  assert_field (&flow, "kernel-source", "tuned");
}

/* The swap, over which the previous output goes; and the next start, which takes the kernel from
 * the file. */
static void
test_swap (void)
{
  static const gchar settings[] = "auto-tune=on beta=1";
  g_autofree gchar *kernel = begin ();
  g_auto (Flow) flow = {.period = 0};

  run_swap (settings, kernel);
  flow_init (&flow, settings);
  for (guint i = 0; i < MORE; i++)
    push (&flow);
  assert_field (&flow, "auto-tune", "known");
  assert_field (&flow, "kernel", kernel);
  assert_field (&flow, "kernel-source", "tuned");
}

/* Other caps end the search, and begin another. */
static void
test_caps (void)
{
  g_autofree gchar *kernel = begin ();
  g_auto (Flow) flow = {.period = 0};

  flow_init (&flow, "auto-tune=on");
  for (guint i = 0; i < 7; i++) {
    g_assert_true (stream_push_caps (flow.stream, i % 2 ? LONG : CAPS));
    push_rows (&flow, i % 2 ? 2 * M : M);
    if (i == 3)
      g_usleep (G_USEC_PER_SEC / 2);
  }
  push_until (&flow, "swapped");
  assert_field (&flow, "kernel", kernel);
}

/* The element stops at any moment of a search. */
static void
test_stop (void)
{
  for (guint i = 0; i < 6; i++) {
    g_auto (Flow) flow = {.period = 0};

    g_free (begin ());
    flow_init (&flow, "auto-tune=on");
    push (&flow);
    g_usleep (i * i * 30000);
  }
}

/* By default CPUs are not tuned, and a kernel that was named is never left. */
static void
test_off (void)
{
  static const gchar *const cases[][2] = {
      {"auto-tune=off", "rules"}, {"auto-tune=on kernel=gemm_naive", "named"}, {"", "rules"}};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  const gboolean cpu = gemmcl_context_get_device_info (context)->type == GEMMCL_DEVICE_TYPE_CPU;

  for (guint i = 0; i < (cpu ? 3 : 2); i++) {
    g_autofree gchar *kernel = begin ();
    g_auto (Flow) flow = {.period = 0};

    flow_init (&flow, cases[i][0]);
    push (&flow);
    assert_field (&flow, "auto-tune", "off");
    assert_field (&flow, "kernel-source", cases[i][1]);
    g_assert_cmpuint (clock_count (kernel), ==, 0);
  }
}

/* By default GPUs are. */
static void
test_gpu (void)
{
  g_autofree gchar *kernel = NULL;

  is_gpu = TRUE;
  kernel = begin ();
  run_swap ("", kernel);
  is_gpu = FALSE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *home = NULL;
  gint status;

  /* The driver's cache of kernels stays where it was. */
  if (g_getenv ("POCL_CACHE_DIR") == NULL) {
    g_autofree gchar *pocl = g_build_filename (g_get_user_cache_dir (), "pocl", NULL);
    g_setenv ("POCL_CACHE_DIR", pocl, TRUE);
  }
  home = g_dir_make_tmp ("gemmcl-auto-tune-XXXXXX", &error);
  g_assert_no_error (error);
  g_setenv ("XDG_CACHE_HOME", home, TRUE);
  stream_test_init (&argc, &argv);
  stream_add_test ("/auto-tune/swap", test_swap);
  stream_add_test ("/auto-tune/caps", test_caps);
  stream_add_test ("/auto-tune/stop", test_stop);
  stream_add_test ("/auto-tune/off", test_off);
  stream_add_test ("/auto-tune/gpu", test_gpu);
  status = g_test_run ();
  files_remove_all (home);
  return status;
}
