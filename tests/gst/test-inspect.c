/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "plugins.h"
#include "stream.h"

/* What the plugin says of itself, and whole pipelines of programs that users run. */

/* A new element has what its properties say is their default. */
static void
test_defaults (void)
{
  g_autoptr (Stream) stream = stream_new (NULL, NULL);
  guint n_checked = 0, n;
  g_autofree GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (stream->element), &n);

  for (guint i = 0; i < n; i++) {
    g_auto (GValue) value = G_VALUE_INIT;

    if (specs[i]->owner_type != G_OBJECT_TYPE (stream->element) ||
        !(specs[i]->flags & G_PARAM_WRITABLE))
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (stream->element), specs[i]->name, &value);
    if (!g_param_value_defaults (specs[i], &value))
      g_error ("%s is not its default", specs[i]->name);
    n_checked++;
  }
  g_assert_cmpuint (n_checked, ==, 23);
}

/* Each property, set to something else, reads back as that. */
static void
test_properties (void)
{
  static const gchar *const values[][2] = {
      {"weight", "a.npy"},
      {"transpose-weight", "true"},
      {"bias", "b.npy"},
      {"addend", "c.npy"},
      {"alpha", "2"},
      {"beta", "3"},
      {"activation", "gelu-tanh"},
      {"feature-mode", "patch"},
      {"patch-width", "4"},
      {"patch-height", "5"},
      {"tensor-index", "1"},
      {"row-outputs", "sum+arg-max"},
      {"input-scale", "0.5"},
      {"input-offset", "-1"},
      {"kernel", "gemm_naive"},
      {"auto-tune", "off"},
      {"platform", "0"},
      {"device-type", "cpu"},
      {"device", "1"},
      {"batch-size", "8"},
      {"queue-depth", "5"},
  };
  g_autoptr (Stream) stream = stream_new (NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    GParamSpec *spec =
        g_object_class_find_property (G_OBJECT_GET_CLASS (stream->element), values[i][0]);
    g_auto (GValue) expected = G_VALUE_INIT, found = G_VALUE_INIT;

    g_assert_nonnull (spec);
    g_test_message ("%s", values[i][0]);
    g_value_init (&expected, spec->value_type);
    g_value_init (&found, spec->value_type);
    g_assert_true (gst_value_deserialize (&expected, values[i][1]));
    gst_util_set_object_arg (G_OBJECT (stream->element), values[i][0], values[i][1]);
    g_object_get_property (G_OBJECT (stream->element), values[i][0], &found);
    g_assert_cmpint (g_param_values_cmp (spec, &expected, &found), ==, 0);
    g_assert_false (g_param_value_defaults (spec, &found));
  }
}

static void
test_flags (void)
{
  static const gchar *const playing[] = {"weight", "bias", "addend", "alpha", "beta"};
  static const gchar *const ready[] = {"platform", "kernel", "batch-size", "queue-depth",
                                       "transpose-weight"};
  g_autoptr (Stream) stream = stream_new (NULL, NULL);
  GObjectClass *klass = G_OBJECT_GET_CLASS (stream->element);

  for (guint i = 0; i < G_N_ELEMENTS (playing); i++)
    g_assert_true (g_object_class_find_property (klass, playing[i])->flags &
                   GST_PARAM_MUTABLE_PLAYING);
  for (guint i = 0; i < G_N_ELEMENTS (ready); i++)
    g_assert_true (g_object_class_find_property (klass, ready[i])->flags & GST_PARAM_MUTABLE_READY);
  g_assert_true (g_object_class_find_property (klass, "alpha")->flags & GST_PARAM_CONTROLLABLE);
  g_assert_true (g_object_class_find_property (klass, "beta")->flags & GST_PARAM_CONTROLLABLE);
}

/* Runs @line with GStreamer's own plugins at hand; skips the test where there is no such program.
 */
static gboolean
run_program (const gchar *line, const gchar *variable, const gchar *value, gchar **output,
             gchar **messages)
{
  g_auto (GStrv) environment =
      g_environ_setenv (g_get_environ (), "GST_PLUGIN_SYSTEM_PATH", plugins_get_folder (), TRUE);
  g_autofree gchar *program = NULL, *registry = NULL;
  g_auto (GStrv) command = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  g_assert_true (g_shell_parse_argv (line, NULL, &command, &error));
  program = g_find_program_in_path (command[0]);
  if (!program) {
    g_autofree gchar *reason = g_strdup_printf ("%s is not installed", command[0]);

    g_test_skip (reason);
    return FALSE;
  }
  /* The registry that knows the system's plugins is another one. */
  registry = g_strconcat (g_environ_getenv (environment, "GST_REGISTRY"), ".system", NULL);
  environment = g_environ_setenv (environment, "GST_REGISTRY", registry, TRUE);
  if (variable)
    environment = g_environ_setenv (environment, variable, value, TRUE);
  g_assert_true (g_spawn_sync (NULL, command, environment, G_SPAWN_SEARCH_PATH, NULL, NULL, output,
                               messages, &status, &error));
  if (!g_spawn_check_wait_status (status, &error))
    g_error ("%s: %s: %s", line, error->message, *messages);
  return TRUE;
}

static void
test_inspect (void)
{
  static const gchar *const words[] = {
      "D = act (alpha * A * B + beta * C + bias)",
      "gst-launch-1.0",
      "GRAY16_LE",
      "NV12",
      "F64LE",
      "other/tensors",
      "controllable",
      "changeable only in NULL or READY state",
      "changeable in NULL, READY, PAUSED or PLAYING state",
      "(4): gelu-tanh",
      "x.safetensors#name",
      "kernel-time",
  };
  g_autofree gchar *output = NULL, *messages = NULL;

  if (!run_program ("gst-inspect-1.0 gemmcl", NULL, NULL, &output, &messages))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    if (!strstr (output, words[i]))
      g_error ("\"%s\" is not in %s", words[i], output);
  }
}

/* The scanner makes every element's class: that must work where OpenCL does not. */
static void
test_inspect_without_opencl (void)
{
  g_autofree gchar *output = NULL, *messages = NULL;

  if (run_program ("gst-inspect-1.0 gemmcl", "OCL_ICD_VENDORS", "/nonexistent", &output, &messages))
    g_assert_nonnull (strstr (output, "gemmcl"));
}

/* Each object that is left has a line of its own; one line says what such lines look like. */
static void
assert_no_leak (const gchar *messages)
{
  static const gchar prefix[] = "object-alive, type-name=(string)";
  guint n_formats = 0;

  for (const gchar *next = messages; (next = strstr (next, prefix)); next += strlen (prefix)) {
    if (next[strlen (prefix)] != '%')
      g_error ("leaked: %.200s", next);
    n_formats++;
  }
  g_assert_cmpuint (n_formats, ==, 1);
}

static void
test_leaks (void)
{
  static const gchar *const lines[] = {
      "gst-launch-1.0 -q videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=16,height=8 ! "
      "gemmcl weight=[[1,0,0],[0,1,0],[0,0,1]] bias=[1,2,3] ! fakesink",
      "gst-launch-1.0 -q audiotestsrc num-buffers=5 ! audio/x-raw,channels=2 ! gemmcl "
      "weight=[[0.5],[0.5]] batch-size=2 ! fakesink",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_autofree gchar *output = NULL, *messages = NULL;
    g_autofree gchar *line = g_strdup_printf ("env GST_DEBUG=GST_TRACER:7 %s", lines[i]);

    if (!run_program (line, "GST_TRACERS", "leaks", &output, &messages))
      return;
    assert_no_leak (messages);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_func ("/inspect/defaults", test_defaults);
  g_test_add_func ("/inspect/properties", test_properties);
  g_test_add_func ("/inspect/flags", test_flags);
  g_test_add_func ("/inspect/inspect", test_inspect);
  g_test_add_func ("/inspect/inspect-without-opencl", test_inspect_without_opencl);
  stream_add_test ("/inspect/leaks", test_leaks);
  return g_test_run ();
}
