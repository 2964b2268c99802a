/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <string.h>

#include "stream.h"

/* The element's properties. */

typedef void (*Check) (GObject *element, GParamSpec *spec);

/* TRUE for two properties of one matrix, as an array and boxed, and for beta, whose default depends
 * on the addend. */
static gboolean
changes_with (const GParamSpec *a, const GParamSpec *b)
{
  const gsize length = strcspn (a->name, "-");

  if (g_str_equal (a->name, "beta") && g_str_equal (b->name, "addend"))
    return TRUE;
  return a->name[length] && strncmp (a->name, b->name, length + 1) == 0 &&
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_data_func ("/inspect/defaults", check_default, test_each);
  g_test_add_data_func ("/inspect/properties", check_set, test_each);
  g_test_add_data_func ("/inspect/flags", check_flags, test_each);
  g_test_add_func ("/inspect/empty", test_empty);
  return g_test_run ();
}
