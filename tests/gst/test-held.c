/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gst/check/gstharness.h>

#include "faults.h"

/* The layer of faults.h holds kernels or compilers back: what returns meanwhile did not wait for
 * one. */

#define WEIGHT(factor) "[[" factor ",0],[0," factor "]]"
#define CAPS                                                                                       \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)2:3,types=(string)float32,"        \
  "framerate=0/1"
#define SIZE  6 /* elements of a buffer */
#define DEPTH 3

/* How long a push may take that waits for nothing, and how long one is watched that waits. */
#define LIMIT_US (120 * G_USEC_PER_SEC)
#define WATCH_US (G_USEC_PER_SEC / 5)

/**
 * Held:
 * @n: buffers to push; all elements of one are its number, from 1
 * @pushed: buffers whose push has returned
 */
typedef struct {
  GstHarness *harness;
  guint n;
  gint pushed;
} Held;

static void
push (GstHarness *harness, gfloat value)
{
  gfloat *values = g_new (gfloat, SIZE);

  for (guint i = 0; i < SIZE; i++)
    values[i] = value;
  g_assert_cmpint (
      gst_harness_push (harness, gst_buffer_new_wrapped (values, SIZE * sizeof (gfloat))), ==,
      GST_FLOW_OK);
}

static gpointer
push_all (gpointer data)
{
  Held *self = data;

  for (guint i = 0; i < self->n; i++) {
    push (self->harness, i + 1);
    g_atomic_int_inc (&self->pushed);
  }
  return NULL;
}

static void
wait_pushed (Held *self, gint n)
{
  const gint64 end = g_get_monotonic_time () + LIMIT_US;

  while (g_atomic_int_get (&self->pushed) < n && g_get_monotonic_time () < end)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (&self->pushed), ==, n);
}

static void
check_outputs (Held *self, gfloat factor)
{
  for (guint i = 0; i < self->n; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (self->harness);
    GstMapInfo map;

    g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
    g_assert_cmpuint (map.size, ==, SIZE * sizeof (gfloat));
    for (guint j = 0; j < SIZE; j++)
      g_assert_cmpfloat (((const gfloat *)map.data)[j], ==, factor * (i + 1));
    gst_buffer_unmap (buffer, &map);
  }
}

/* Pushes @n buffers into @elements while kernels are held, of which @free do not wait for one. */
static void
run (const gchar *elements, guint n, guint free, gfloat factor)
{
  g_autoptr (GThread) pusher = NULL;
  Held self = {.n = n};

  if (!faults_init ())
    return;
  self.harness = gst_harness_new_parse (elements);
  gst_harness_set_src_caps_str (self.harness, CAPS);
  faults_start_case (elements, FAULTS_ONE, 0);
  faults_hold_kernels (TRUE);
  pusher = g_thread_new ("pusher", push_all, &self);
  wait_pushed (&self, free);
  g_usleep (WATCH_US);
  g_assert_cmpint (g_atomic_int_get (&self.pushed), ==, free);
  faults_hold_kernels (FALSE);
  g_thread_join (g_steal_pointer (&pusher));
  check_outputs (&self, factor);
  gst_harness_teardown (self.harness);
  faults_assert_no_objects ();
  faults_end_case ();
}

/* As many runs are in flight as queue-depth says; the next one waits for the first. */
static void
test_depth (void)
{
  run ("gemmcl queue-depth=3 weight=" WEIGHT ("2"), DEPTH + 2, DEPTH, 2);
}

/* No element of a row waits for the one before it. */
static void
test_row (void)
{
  run ("gemmcl queue-depth=3 weight=" WEIGHT ("2") " ! gemmcl queue-depth=3 weight=" WEIGHT (
           "3") " ! gemmcl queue-depth=3 weight=" WEIGHT ("5"),
       DEPTH, DEPTH, 30);
}

static gpointer
push_caps (gpointer harness)
{
  gst_harness_set_src_caps_str (harness, CAPS);
  return NULL;
}

static void
wait_compiling (void)
{
  const gint64 end = g_get_monotonic_time () + LIMIT_US;

  while (faults_count_held () == 0 && g_get_monotonic_time () < end)
    g_usleep (1000);
  g_assert_cmpuint (faults_count_held (), >, 0);
}

static void
ask_for_stats (GstElement *element)
{
  g_autoptr (GstStructure) stats = NULL;

  g_object_get (element, "stats", &stats, NULL);
  g_assert_nonnull (stats);
}

static void
ask_for_caps (GstElement *element, const gchar *name)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, name);
  g_autoptr (GstCaps) caps = gst_pad_query_caps (pad, NULL);

  g_assert_false (gst_caps_is_empty (caps));
}

/* While a plan is compiled, statistics and caps can be read, and properties set. */
static void
test_compiler (void)
{
  g_autoptr (GThread) pusher = NULL;
  g_autoptr (GstElement) element = NULL;
  Held self = {.n = 1};

  if (!faults_init ())
    return;
  faults_start_case ("compiler", FAULTS_NONE, 0);
  self.harness = gst_harness_new_parse ("gemmcl weight=" WEIGHT ("2"));
  element = gst_harness_find_element (self.harness, "gemmcl");
  faults_hold_builds (TRUE);
  pusher = g_thread_new ("caps", push_caps, self.harness);
  wait_compiling ();
  /* For longer than the element waits before it says that it compiles. */
  for (guint i = 0; i < WATCH_US / 1000; i++) {
    ask_for_stats (element);
    ask_for_caps (element, "sink");
    ask_for_caps (element, "src");
    g_usleep (1000);
  }
  g_object_set (element, "alpha", 3.0, NULL);
  g_assert_cmpuint (faults_count_held (), >, 0);
  faults_hold_builds (FALSE);
  g_thread_join (g_steal_pointer (&pusher));
  push (self.harness, 1);
  check_outputs (&self, 6);
  gst_clear_object (&element);
  gst_harness_teardown (self.harness);
  faults_assert_no_objects ();
  faults_end_case ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_func ("/held/depth", test_depth);
  g_test_add_func ("/held/row", test_row);
  g_test_add_func ("/held/compiler", test_compiler);
  return g_test_run ();
}
