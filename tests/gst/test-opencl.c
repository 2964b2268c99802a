/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Elements that hand on OpenCL memory: the same results as through the system's, and no copies. */

#include "line.h"

static void
test_chain (void)
{
  for (guint depth = 1; depth <= 4; depth *= 2) {
    g_autofree gchar *element = g_strdup_printf (WEIGHT "queue-depth=%u", depth);
    g_autofree gchar *chain =
        g_strdup_printf ("%s name=a ! %s name=b ! %s name=c", element, element, element);
    g_autofree gchar *system = g_strdup_printf (
        "%s name=a ! video/x-raw ! %s name=b ! video/x-raw ! %s name=c", element, element, element);
    g_auto (Line) device = {NULL}, host = {NULL};

    line_run_pictures (&device, chain, 20);
    line_run_pictures (&host, system, 20);
    line_assert_same (&device, &host);
    line_assert_memory (&device, "a", "system to OpenCL", 20 * PIXELS * 3);
    line_assert_memory (&device, "b", "OpenCL", 0);
    line_assert_memory (&device, "c", "OpenCL to system", 20 * PIXELS * 3);
    line_assert_memory (&host, "b", "OpenCL to system", 20 * PIXELS * 3);
  }
}

/* Downstream says what it wants; one that takes all gets what others can read, too. */
static void
test_negotiation (void)
{
  g_auto (Line) open = {NULL}, forced = {NULL}, system = {NULL}, any = {NULL};

  line_run_pictures (&open, WEIGHT "name=a", 1);
  line_assert_feature (&open, "a", "src", FALSE);
  line_run_pictures (&forced, WEIGHT "name=a " FORCE ("video/x-raw" OPENCL), 1);
  line_assert_feature (&forced, "a", "src", TRUE);
  line_run_pictures (&system, WEIGHT "name=a ! video/x-raw ! " WEIGHT "name=b", 1);
  line_assert_feature (&system, "a", "src", FALSE);
  line_run_pictures (&any, WEIGHT "name=a ! identity ! queue ! " WEIGHT "name=b ! identity", 1);
  line_assert_feature (&any, "a", "src", TRUE);
  line_assert_feature (&any, "b", "sink", TRUE);
  line_assert_feature (&any, "b", "src", FALSE);
  line_assert_same (&open, &forced);
  line_assert_same (&system, &any);
}

/* An element that knows nothing of OpenCL. */
static GstPadProbeReturn
invert (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  guint *n = data;
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = ~map.data[i];
  gst_buffer_unmap (buffer, &map);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  (*n)++;
  return GST_PAD_PROBE_OK;
}

static void
run_inverted (Line *self, const gchar *text)
{
  g_autoptr (GstElement) identity = NULL;
  g_autoptr (GstPad) pad = NULL;
  guint n = 0;

  line_init (self, text, RGB);
  identity = gst_bin_get_by_name (GST_BIN (self->harness->element), "cpu");
  pad = gst_element_get_static_pad (identity, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, invert, &n, NULL);
  for (guint i = 0; i < 10; i++)
    line_push (self, noise_bytes (9 * 160, i));
  line_end (self);
  g_assert_cmpuint (n, ==, 10);
}

static void
test_cpu_between (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_inverted (&device, WEIGHT "name=a ! identity name=cpu ! " WEIGHT "name=b");
  run_inverted (&host, WEIGHT "name=a ! video/x-raw ! identity name=cpu ! " WEIGHT "name=b");
  line_assert_feature (&device, "a", "src", TRUE);
  line_assert_memory (&device, "b", "OpenCL to system", 10 * PIXELS * 3);
  line_assert_same (&device, &host);
}

/* One buffer on two ways: what one of them does the other does not see. */
static void
test_tee (void)
{
  static const gchar text[] =
      WEIGHT "name=a ! tee name=t ! identity name=cpu ! fakesink async=false sync=false "
             "t. ! queue ! " WEIGHT "name=b";
  g_auto (Line) device = {NULL}, host = {NULL};

  run_inverted (&device, text);
  line_run_pictures (&host, WEIGHT "! video/x-raw ! " WEIGHT, 10);
  line_assert_memory (&device, "b", "OpenCL to system", 10 * PIXELS * 3);
  line_assert_same (&device, &host);
}

/* The previous output is where the next run needs it, whoever has it meanwhile. */
static void
test_previous_output (void)
{
  static const gchar *const settings[] = {"queue-depth=1", "queue-depth=2", "queue-depth=4"};

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    g_autofree gchar *device_text =
        g_strdup_printf (WEIGHT "alpha=0.25 beta=0.75 %s ! " WEIGHT "alpha=0.5 beta=0.5 %s name=b",
                         settings[i], settings[i]);
    g_autofree gchar *host_text = g_strdup_printf (
        WEIGHT "alpha=0.25 beta=0.75 %s ! video/x-raw ! " WEIGHT "alpha=0.5 beta=0.5 %s name=b",
        settings[i], settings[i]);
    g_auto (Line) device = {NULL}, host = {NULL};

    line_run_pictures (&device, device_text, 20);
    line_run_pictures (&host, host_text, 20);
    line_assert_same (&device, &host);
    line_assert_memory (&device, "b", "OpenCL to system", 20 * PIXELS * 3);
  }
}

/* beta is set when the output that it scales was made already. */
static void
run_with_beta (Line *self, const gchar *text)
{
  g_autoptr (GstElement) element = NULL;

  line_init (self, text, RGB);
  element = gst_bin_get_by_name (GST_BIN (self->harness->element), "a");
  for (guint i = 0; i < 12; i++) {
    if (i % 4 == 3)
      g_object_set (element, "beta", i % 8 == 3 ? 0.5 : 0.0, NULL);
    line_push (self, noise_bytes (9 * 160, i));
    line_collect (self);
  }
  line_end (self);
}

static void
test_beta_while_playing (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_with_beta (&device, WEIGHT "name=a " FORCE ("video/x-raw" OPENCL));
  run_with_beta (&host, WEIGHT "name=a " FORCE ("video/x-raw"));
  line_assert_same (&device, &host);
}

/* Several buffers at once are gathered and scattered on the device. */
static void
test_batches (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  line_run_pictures (
      &device, WEIGHT "batch-size=3 ! " WEIGHT "batch-size=4 name=b ! " WEIGHT "batch-size=2", 20);
  line_run_pictures (&host, WEIGHT "! video/x-raw ! " WEIGHT "! video/x-raw ! " WEIGHT, 20);
  line_assert_same (&device, &host);
  line_assert_memory (&device, "b", "OpenCL", 0);
}

static void
run_audio (Line *self, const gchar *text)
{
  line_init (self, text, STEREO);
  for (guint i = 0; i < 30; i++)
    line_push (self, noise_bytes (4 * (1 + 331 * (i % 7)), i));
  line_end (self);
}

/* Buffers of all lengths, of which some are longer than those that a pool has. */
static void
test_audio (void)
{
  g_auto (Line) device = {NULL}, host = {NULL};

  run_audio (&device, "gemmcl weight=[[.5,.25],[.25,.5]] ! gemmcl weight=[[.5,1],[1,.5]] name=b");
  run_audio (&host, "gemmcl weight=[[.5,.25],[.25,.5]] ! audio/x-raw ! "
                    "gemmcl weight=[[.5,1],[1,.5]]");
  line_assert_same (&device, &host);
  line_assert_feature (&device, "b", "sink", TRUE);
}

/* Pictures become tensors, and tensors others, on the device. */
static void
test_tensors (void)
{
  static const gchar format[] = "gemmcl weight=%s name=a feature-mode=row ! %s"
                                "gemmcl weight=[[1],[-1]] name=b activation=relu";
  g_autoptr (GString) weight = g_string_new ("[");
  g_autofree gchar *device_text = NULL, *host_text = NULL;
  g_auto (Line) device = {NULL}, host = {NULL};

  for (guint i = 0; i < 53 * 3; i++)
    g_string_append_printf (weight, "%s[%u,%u]", i ? "," : "", i % 3, i % 4);
  g_string_append (weight, "]");
  device_text = g_strdup_printf (format, weight->str, "");
  host_text = g_strdup_printf (format, weight->str, "other/tensors ! ");
  line_run_pictures (&device, device_text, 5);
  line_run_pictures (&host, host_text, 5);
  line_assert_same (&device, &host);
  line_assert_memory (&device, "b", "OpenCL to system", 5 * 9 * sizeof (gfloat));
}

/* Caps, flushes and states change while buffers are on the device. */
static void
test_changes (void)
{
  g_auto (Line) self = {NULL};

  line_init (&self, WEIGHT "queue-depth=4 ! " WEIGHT "queue-depth=3 batch-size=2 ! " WEIGHT, RGB);
  for (guint i = 0; i < 100; i++) {
    if (i % 10 == 5)
      gst_harness_set_src_caps_str (self.harness, i % 20 == 5
                                                      ? "video/x-raw,format=RGB,width=20,height=30,"
                                                        "framerate=10/1"
                                                      : RGB);
    if (i % 14 == 9) {
      gst_harness_push_event (self.harness, gst_event_new_flush_start ());
      gst_harness_push_event (self.harness, gst_event_new_flush_stop (TRUE));
      gst_harness_set_src_caps_str (self.harness, RGB);
    }
    line_push (&self, noise_bytes (1800, i)); /* enough for either */
  }
  line_end (&self);
  g_assert_cmpuint (self.n, >, 50);
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/opencl/chain", test_chain);
  stream_add_test ("/opencl/negotiation", test_negotiation);
  stream_add_test ("/opencl/cpu-between", test_cpu_between);
  stream_add_test ("/opencl/tee", test_tee);
  stream_add_test ("/opencl/previous-output", test_previous_output);
  stream_add_test ("/opencl/beta-while-playing", test_beta_while_playing);
  stream_add_test ("/opencl/batches", test_batches);
  stream_add_test ("/opencl/audio", test_audio);
  stream_add_test ("/opencl/tensors", test_tensors);
  stream_add_test ("/opencl/changes", test_changes);
  return g_test_run ();
}
