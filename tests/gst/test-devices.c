/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

#include "faults.h"
#include "load.h"

/* Several devices in one element under load, and devices that fail, of which test-faults.c has
 * more. flow.py has their streams; shares.py has the lists that select them, and their shares. PoCL
 * shows two devices, by POCL_DEVICES. */

#define ONE    TENSOR ("1:1")
#define GEMMCL "gemmcl auto-tune=off devices=all "

static guint
count_devices (void)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, NULL);

  return devices ? devices->len : 0;
}

/* Returns: (transfer none): the stats of device @index. */
static const GstStructure *
get_device (const GstStructure *stats, guint index)
{
  const GValue *devices = gst_structure_get_value (stats, "devices");

  g_assert_nonnull (devices);
  g_assert_cmpuint (gst_value_array_get_size (devices), ==, 2);
  return gst_value_get_structure (gst_value_array_get_value (devices, index));
}

static guint64
get_count (const GstStructure *stats, const gchar *field)
{
  guint64 count = 0;

  g_assert_true (gst_structure_get_uint64 (stats, field, &count));
  return count;
}

/* Pushes @n buffers of 1, each with another alpha, and asserts that they come out in order. */
static void
run_alphas (Stream *stream, guint n, gdouble weight)
{
  const gfloat number = 1;

  for (guint i = 0; i < n; i++) {
    g_object_set (stream_get (stream, "a"), "alpha", 1.0 + i, NULL);
    stream_push (stream, gst_buffer_new_memdup (&number, sizeof number));
  }
  for (guint i = 0; i < n; i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);
    gfloat found;

    g_assert_cmpuint (gst_buffer_extract (output, 0, &found, sizeof found), ==, sizeof found);
    g_assert_cmpfloat (found, ==, (1.0 + i) * weight);
  }
}

/* The frames of a device whose command fails are done by the other one, as they were. If that fails
 * as well, it is an error; a restart uses both again. */
static void
test_failure (void)
{
  const gfloat number = 1;
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstStructure) stats = NULL;
  gboolean failed[2];
  GstFlowReturn flow = GST_FLOW_OK;

  if (!faults_init ())
    return;
  stream = stream_start (ONE, GEMMCL "weight=[2] name=a queue-depth=3");
  run_alphas (stream, 4, 2);
  faults_set (FAULTS_LATE, 1);
  run_alphas (stream, 8, 2);
  stream_assert_message (stream, GST_MESSAGE_WARNING, "is not used any more|OpenCL error");
  g_object_set (stream_get (stream, "a"), "weight", "[5]", NULL);
  run_alphas (stream, 6, 5);
  stream_assert_quiet (stream);
  stats = stream_get_stats (stream, "a");
  for (guint i = 0; i < 2; i++)
    g_assert_true (gst_structure_get_boolean (get_device (stats, i), "failed", &failed[i]));
  g_assert_true (failed[0] != failed[1]);
  g_assert_cmpuint (get_count (stats, "buffers"), ==, 18);
  g_assert_cmpuint (get_count (get_device (stats, 0), "buffers") +
                        get_count (get_device (stats, 1), "buffers"),
                    ==, 18);
  faults_set (FAULTS_LATE, 1);
  for (guint i = 0; i < 20 && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (stream->harness, gst_buffer_new_memdup (&number, sizeof number));
  g_assert_cmpstr (gst_flow_get_name (flow), ==, "error");
  stream_assert_message (stream, GST_MESSAGE_ERROR, "failed with OpenCL error");
  faults_set (FAULTS_NONE, 0);
  stream_set_state (stream, GST_STATE_READY);
  stream_set_state (stream, GST_STATE_PLAYING);
  stream_begin (stream, ONE);
  run_alphas (stream, 4, 5);
  g_clear_pointer (&stats, gst_structure_free);
  stats = stream_get_stats (stream, "a");
  for (guint i = 0; i < 2; i++)
    g_assert_cmpuint (get_count (get_device (stats, i), "buffers"), >, 0);
}

/* Buffers, and what happens to elements meanwhile. */
static void
test_load (gconstpointer flow)
{
  static const LoadLine lines[] = {
      {"one", GEMMCL "queue-depth=3 name=a weight=" LOAD_WEIGHT, 2},
      {"two",
       GEMMCL "weight=" LOAD_WEIGHT " ! " GEMMCL "queue-depth=3 batch-size=2 weight=" LOAD_WEIGHT,
       4},
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    load_run (flow, &lines[i], NULL, g_getenv ("GEMMCL_TEST_BRIEF") ? 300 : 10000);
}

static void
test_control (void)
{
  load_run_controlled (GEMMCL "batch-size=3 batch-timeout=1000000 queue-depth=3 qos=true",
                       g_getenv ("GEMMCL_TEST_BRIEF") ? 300 : 10000);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  if (count_devices () != 2) {
    g_print ("1..0 # SKIP there are %u OpenCL devices, not 2\n", count_devices ());
    return 0;
  }
  stream_add_test ("/devices/failure", test_failure);
  for (guint i = 0; i < LOAD_N_FLOWS; i++) {
    g_autofree gchar *path = g_strconcat ("/devices/load/", load_flows[i].name, NULL);

    stream_add_data_test (path, &load_flows[i], test_load);
  }
  stream_add_test ("/devices/control", test_control);
  return g_test_run ();
}
