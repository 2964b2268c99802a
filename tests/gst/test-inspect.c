/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <string.h>

#include "stream.h"

/* The element as gst-inspect-1.0 shows it, and whole pipelines of programs that users run. */

typedef void (*Check) (GObject *element, GParamSpec *spec);

/* TRUE for two properties of one matrix, as an array and boxed, and for beta, whose default depends
 * on the addend. */
static gboolean
changes_with (const GParamSpec *a, const GParamSpec *b)
{
  const gsize length = strcspn (a->name, "-");

  if (g_str_equal (a->name, "beta") && g_str_equal (b->name, "addend"))
    return TRUE;
  return a->name[length] && b->name[length] && strncmp (a->name, b->name, length + 1) == 0 &&
         (a->value_type == GEMMCL_TYPE_MATRIX || b->value_type == GEMMCL_TYPE_MATRIX);
}

/* Calls @check for each of @element's own properties but @except. */
static void
check_all (GObject *element, Check check, const GParamSpec *except)
{
  guint n, n_own = 0;
  g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    if (specs[i]->owner_type != G_OBJECT_TYPE (element) || specs[i] == except ||
        (except && changes_with (specs[i], except)))
      continue;
    check (element, specs[i]);
    n_own++;
  }
  g_assert_cmpuint (n_own, >, 0);
}

static void
test_each (gconstpointer check)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl");

  check_all (G_OBJECT (stream->element), (Check)check, NULL);
}

/* A new element has the default that its property states. */
static void
check_default (GObject *element, GParamSpec *spec)
{
  g_auto (GValue) value = G_VALUE_INIT;

  if (!(spec->flags & G_PARAM_WRITABLE))
    return;
  g_value_init (&value, spec->value_type);
  g_object_get_property (element, spec->name, &value);
  if (!g_param_value_defaults (spec, &value))
    g_error ("a new element does not have the default of %s", spec->name);
}

/* Sets @value, of the default, to another one of @spec's range. */
static void
choose_other (GParamSpec *spec, GValue *value)
{
  const gdouble default_number = G_VALUE_HOLDS_DOUBLE (value) ? g_value_get_double (value) : 0;

  switch (G_TYPE_FUNDAMENTAL (spec->value_type)) {
  case G_TYPE_BOOLEAN:
    g_value_set_boolean (value, !g_value_get_boolean (value));
    break;
  case G_TYPE_UINT:
    g_value_set_uint (value, G_PARAM_SPEC_UINT (spec)->maximum);
    break;
  case G_TYPE_INT64:
    g_value_set_int64 (value, G_PARAM_SPEC_INT64 (spec)->maximum);
    break;
  case G_TYPE_DOUBLE:
    g_value_set_double (value, default_number + 0.5);
    break;
  case G_TYPE_ENUM:
    g_value_set_enum (value, G_PARAM_SPEC_ENUM (spec)->enum_class->maximum);
    break;
  case G_TYPE_FLAGS:
    g_value_set_flags (value, G_PARAM_SPEC_FLAGS (spec)->flags_class->mask);
    break;
  case G_TYPE_BOXED:
    g_value_take_boxed (value, gemmcl_matrix_parse ("[[1,2],[3,4]]", NULL));
    break;
  default:
    if (GST_VALUE_HOLDS_ARRAY (value))
      g_assert_true (gst_value_deserialize_with_pspec (
          value, g_str_has_suffix (spec->name, "matrix") ? "<<1,2>,<3,4>>" : "<1,2>", spec));
    else
      g_value_set_string (value, "something else");
  }
}

/* Any other value reads back as it was set, and changes no other property. */
static void
check_set (GObject *element, GParamSpec *spec)
{
  g_auto (GValue) value = G_VALUE_INIT, found = G_VALUE_INIT;

  if (!(spec->flags & G_PARAM_WRITABLE))
    return;
  g_value_init (&value, spec->value_type);
  g_value_init (&found, spec->value_type);
  g_param_value_set_default (spec, &value);
  choose_other (spec, &value);
  g_assert_false (g_param_value_validate (spec, &value));
  g_assert_false (g_param_value_defaults (spec, &value));
  g_test_message ("%s", spec->name);
  g_object_set_property (element, spec->name, &value);
  g_object_get_property (element, spec->name, &found);
  g_assert_cmpint (g_param_values_cmp (spec, &value, &found), ==, 0);
  check_all (element, check_default, spec);
  g_object_set_property (element, spec->name, g_param_spec_get_default_value (spec));
}

/* An empty name of a kernel or device is no name. */
static void
test_empty (void)
{
  static const gchar *const names[] = {"kernel", "platform", "device"};
  g_autoptr (Stream) stream = stream_new ("gemmcl");

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *found = NULL;

    g_object_set (stream->element, names[i], "", NULL);
    g_object_get (stream->element, names[i], &found, NULL);
    g_assert_cmpstr (found, ==, "auto");
  }
}

/* The flags say what the text does: some may be set while playing, as may what is controlled. */
static void
check_flags (GObject *element G_GNUC_UNUSED, GParamSpec *spec)
{
  const GParamFlags when = spec->flags & (GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED |
                                          GST_PARAM_MUTABLE_PLAYING);

  g_assert_true (spec->flags & G_PARAM_READABLE);
  if (!(spec->flags & G_PARAM_WRITABLE))
    g_assert_cmpint (when, ==, 0);
  else if (spec->flags & GST_PARAM_CONTROLLABLE ||
           strstr (g_param_spec_get_blurb (spec), "set while playing"))
    g_assert_cmpint (when, ==, GST_PARAM_MUTABLE_PLAYING);
  else
    g_assert_cmpint (when, ==, GST_PARAM_MUTABLE_READY);
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

/* Returns: the lines of @messages that have all @words, with a '|' between them. */
static guint
count_lines (const gchar *messages, const gchar *words)
{
  g_auto (GStrv) lines = g_strsplit (messages, "\n", -1), expected = g_strsplit (words, "|", -1);
  guint n = 0;

  for (guint i = 0; lines[i]; i++) {
    gboolean has_all = TRUE;

    for (guint j = 0; expected[j]; j++)
      has_all = has_all && strstr (lines[i], expected[j]);
    n += has_all;
  }
  return n;
}

/* The number that the tracer stats gives the element, which it uses in its other lines. */
static guint
find_number (const gchar *messages)
{
  g_autoptr (GRegex) regex =
      g_regex_new ("new-element,.* ix=\\(uint\\)(\\d+),.*type=\\(string\\)GstGemmcl,", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  g_autofree gchar *number = NULL;

  if (!g_regex_match (regex, messages, 0, &match))
    g_error ("the tracer stats does not know the element: %s", messages);
  number = g_match_info_fetch (match, 1);
  return (guint)g_ascii_strtoull (number, NULL, 10);
}

/* Each of the N_TRACED buffers has a latency in the element and goes from it to the sink, and no
 * object is left at the end. */
#define N_TRACED 5

static void
test_tracers (void)
{
  static const gchar *const lines[] = {
      "videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=16,height=8 ! "
      "gemmcl name=a weight=[[1,0,0],[0,1,0],[0,0,1]] bias=[1,2,3] ! fakesink",
      "audiotestsrc num-buffers=5 ! audio/x-raw,channels=2 ! gemmcl name=a "
      "weight=[[0.5],[0.5]] batch-size=2 ! fakesink",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_autofree gchar *output = NULL, *messages = NULL, *passed = NULL;
    g_autofree gchar *line = g_strdup_printf (
        "env GST_DEBUG=GST_TRACER:7 GST_DEBUG_NO_COLOR=1 gst-launch-1.0 -q %s", lines[i]);

    if (!run_program (line, "GST_TRACERS", "latency(flags=element);leaks;stats", &output,
                      &messages))
      return;
    assert_no_leak (messages);
    g_assert_cmpuint (count_lines (messages, "element-latency, |element=(string)a, "), ==,
                      N_TRACED);
    passed = g_strdup_printf (":: buffer, |, element-ix=(uint)%u,", find_number (messages));
    g_assert_cmpuint (count_lines (messages, passed), ==, N_TRACED);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_data_func ("/inspect/defaults", check_default, test_each);
  g_test_add_data_func ("/inspect/properties", check_set, test_each);
  g_test_add_data_func ("/inspect/flags", check_flags, test_each);
  g_test_add_func ("/inspect/empty", test_empty);
  g_test_add_func ("/inspect/inspect", test_inspect);
  g_test_add_func ("/inspect/inspect-without-opencl", test_inspect_without_opencl);
  stream_add_test ("/inspect/tracers", test_tracers);
  return g_test_run ();
}
