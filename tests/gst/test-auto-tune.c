/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gemmcl.h>
#include <string.h>

#include "../lib/clock.h"
#include "../lib/files.h"
#include "../next.h"
#include "stream.h"

/* auto-tune: a faster kernel is found while buffers flow, and takes over between two of them; how,
 * tests/lib/test-auto-tune.c tests. The device's clock is the test's (clock.h), which decides what
 * is faster; all else is as it is. The numbers are integers so small that f32 is exact, and each
 * output is compared with a reference. */

#define K 128
#define N 64
#define M 96

#define CAPS       TENSOR ("128:96")
#define OTHER_CAPS TENSOR ("128:40")

#define DEPTH 3   /* outputs that are not looked at yet */
#define MORE  40  /* buffers behind a swap */
#define FAST  100 /* microseconds; kernels that were not set take 200 */

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
 * Flow: numbered buffers through an element
 * @m: rows of each
 * @weight: the seed of the weight that is set
 * @weights: (element-type guint): of each buffer that was pushed
 * @pulled: buffers that came out
 * @sums: (nullable): M x N, the previous output; %NULL: beta is 0
 */
typedef struct {
  Stream *stream;
  gsize m;
  guint weight;
  GArray *weights;
  guint pulled;
  gint *sums;
} Flow;

static gint
get_a (guint index, gsize i, gsize k)
{
  return (gint)((index * 7 + i * 3 + k * 5 + i * k % 11) % 9) - 4;
}

static gint
get_b (guint seed, gsize k, gsize j)
{
  return (gint)((k * 5 + j * 3 + seed * 2 + k * j % 13) % 7) - 3;
}

static void
set_weight (Flow *self, guint seed)
{
  g_autofree gdouble *values = g_new (gdouble, K * N);
  g_autofree gchar *text = NULL;

  for (gsize k = 0; k < K; k++)
    for (gsize j = 0; j < N; j++)
      values[k * N + j] = get_b (seed, k, j);
  text = literal (values, K, N);
  g_object_set (self->stream->element, "weight", text, NULL);
  self->weight = seed;
}

/* @settings: of the element */
static void
flow_init (Flow *self, const gchar *settings)
{
  *self = (Flow){.m = M, .weights = g_array_new (FALSE, FALSE, sizeof (guint))};
  self->stream = stream_new ("gemmcl queue-depth=%d %s", DEPTH, settings);
  if (strstr (settings, "beta"))
    self->sums = g_new0 (gint, M * N);
  set_weight (self, 0);
  g_assert_true (stream_play (self->stream, CAPS, NULL));
}

static void
flow_clear (Flow *self)
{
  g_clear_pointer (&self->stream, stream_free);
  g_clear_pointer (&self->weights, g_array_unref);
  g_free (self->sums);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Flow, flow_clear)

/* The next output must be that of the next input. */
static void
pull (Flow *self)
{
  const guint index = self->pulled++;
  const guint seed = g_array_index (self->weights, guint, index);
  g_autoptr (GstBuffer) buffer = gst_harness_pull (self->stream->harness);
  GstMapInfo map;

  g_assert_nonnull (buffer);
  g_assert_cmpuint (GST_BUFFER_PTS (buffer), ==, index * GST_MSECOND);
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, self->m * N * sizeof (gfloat));
  for (gsize i = 0; i < self->m; i++)
    for (gsize j = 0; j < N; j++) {
      const gfloat found = ((const gfloat *)map.data)[i * N + j];
      gint sum = self->sums ? self->sums[i * N + j] : 0;

      for (gsize k = 0; k < K; k++)
        sum += get_a (index, i, k) * get_b (seed, k, j);
      if (found != sum)
        g_error ("buffer %u, element %zu, %zu: %g; expected %d", index, i, j, found, sum);
      if (self->sums)
        self->sums[i * N + j] = sum;
    }
  gst_buffer_unmap (buffer, &map);
}

static void
pull_all (Flow *self)
{
  while (self->pulled < self->weights->len)
    pull (self);
  g_assert_null (gst_harness_try_pull (self->stream->harness));
}

/* The last few outputs are still in flight. */
static void
push (Flow *self)
{
  const guint index = self->weights->len;
  gfloat *values = g_new (gfloat, self->m * K);
  GstBuffer *buffer;

  for (gsize i = 0; i < self->m; i++)
    for (gsize k = 0; k < K; k++)
      values[i * K + k] = get_a (index, i, k);
  buffer = gst_buffer_new_wrapped (values, self->m * K * sizeof (gfloat));
  GST_BUFFER_PTS (buffer) = index * GST_MSECOND;
  g_array_append_val (self->weights, self->weight);
  stream_push (self->stream, buffer);
  if (self->weights->len - self->pulled > DEPTH)
    pull (self);
}

static gboolean
has (Flow *self, const gchar *name, const gchar *value)
{
  g_autoptr (GstStructure) stats = stream_get_stats (self->stream, "a");

  return g_strcmp0 (gst_structure_get_string (stats, name), value) == 0;
}

static void
assert_field (Flow *self, const gchar *name, const gchar *value)
{
  g_autoptr (GstStructure) stats = stream_get_stats (self->stream, "a");

  g_assert_cmpstr (gst_structure_get_string (stats, name), ==, value);
}

/* Pushes, with another weight every @period buffers if that is not 0, until auto-tune says @state,
 * and then some more. */
static void
push_until (Flow *self, const gchar *state, guint period)
{
  const gint64 end = g_get_monotonic_time () + FOREVER;

  while (!has (self, "auto-tune", state)) {
    if (g_get_monotonic_time () > end)
      assert_field (self, "auto-tune", state);
    if (period > 0 && self->weights->len % period == 0)
      set_weight (self, self->weight + 1);
    push (self);
  }
  for (guint i = 0; i < MORE; i++)
    push (self);
  g_test_message ("%u buffers", self->weights->len);
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

/* Plays until the kernel is swapped, with another weight every @period buffers. */
static void
run_swap (const gchar *settings, guint period, const gchar *kernel)
{
  g_auto (Flow) flow = {NULL};

  flow_init (&flow, settings);
  assert_field (&flow, "kernel-source", "rules");
  push_until (&flow, "swapped", period);
  set_weight (&flow, 1000);
  push (&flow);
  assert_field (&flow, "kernel", kernel);
  assert_field (&flow, "kernel-source", "tuned");
  pull_all (&flow);
  stream_assert_quiet (flow.stream);
}

/* The swap, over which the previous output goes and weights that change meanwhile; and the next
 * start, which takes the kernel from the file. */
static void
test_swap (void)
{
  static const gchar settings[] = "auto-tune=on beta=1";
  g_autofree gchar *kernel = begin ();
  g_auto (Flow) flow = {NULL};

  run_swap (settings, 30, kernel);
  flow_init (&flow, settings);
  for (guint i = 0; i < MORE; i++)
    push (&flow);
  assert_field (&flow, "auto-tune", "known");
  assert_field (&flow, "kernel", kernel);
  assert_field (&flow, "kernel-source", "tuned");
  pull_all (&flow);
}

/* Other caps end the search, and begin another. */
static void
test_caps (void)
{
  g_autofree gchar *kernel = begin ();
  g_auto (Flow) flow = {NULL};

  flow_init (&flow, "auto-tune=on");
  for (guint i = 0; i < 6; i++) {
    push (&flow);
    pull_all (&flow);
    flow.m = i % 2 == 0 ? 40 : M;
    g_assert_true (stream_push_caps (flow.stream, i % 2 == 0 ? OTHER_CAPS : CAPS));
    if (i == 3)
      g_usleep (G_USEC_PER_SEC / 2);
  }
  push_until (&flow, "swapped", 0);
  assert_field (&flow, "kernel", kernel);
  pull_all (&flow);
  stream_assert_quiet (flow.stream);
}

/* The element stops at any moment of a search. */
static void
test_stop (void)
{
  for (guint i = 0; i < 6; i++) {
    g_auto (Flow) flow = {NULL};
    gint64 begun;

    g_free (begin ());
    flow_init (&flow, "auto-tune=on");
    push (&flow);
    g_usleep (i * i * 30000);
    pull_all (&flow);
    begun = g_get_monotonic_time ();
    g_clear_pointer (&flow.stream, stream_free);
    g_assert_cmpint (g_get_monotonic_time () - begun, <, FOREVER);
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
    g_auto (Flow) flow = {NULL};

    flow_init (&flow, cases[i][0]);
    push (&flow);
    pull_all (&flow);
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
  run_swap ("", 0, kernel);
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
