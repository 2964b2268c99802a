/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/formats.h"

static void
test_parse (void)
{
  g_autoptr (GError) error = NULL;
  GstGemmclTensors tensors;
  gsize m, k;

  g_assert_true (gst_gemmcl_tensors_parse (&tensors, "3:224:2.10, 4:1:1:1",
                                           "uint8,float32 . float16", 3, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (tensors.n, ==, 3);
  g_assert_cmpint (tensors.tensor[0].type, ==, GEMMCL_TYPE_U8);
  g_assert_cmpuint (tensors.tensor[0].rank, ==, 3);
  g_assert_cmpuint (tensors.tensor[0].dims[1], ==, 224);
  g_assert_cmpuint (gst_gemmcl_tensor_get_size (&tensors.tensor[0]), ==, 3 * 224 * 2);
  g_assert_cmpint (tensors.tensor[1].type, ==, GEMMCL_TYPE_F32);
  g_assert_cmpuint (gst_gemmcl_tensor_get_size (&tensors.tensor[1]), ==, 40);
  g_assert_cmpint (tensors.tensor[2].type, ==, GEMMCL_TYPE_F16);
  g_assert_cmpuint (tensors.tensor[2].rank, ==, 4);
  gst_gemmcl_tensor_get_shape (&tensors.tensor[0], &m, &k);
  g_assert_cmpuint (m, ==, 448);
  g_assert_cmpuint (k, ==, 3);
}

/* Zeros behind the dimensions are none. */
static void
test_zeros (void)
{
  static const gchar *const same[] = {"5:2", "5:2:0", "5:2:0:0",
                                      "5:2:0:0:0:0:0:0:0:0:0:0:0:0:0: 0"};

  for (guint i = 0; i < G_N_ELEMENTS (same); i++) {
    GstGemmclTensors tensors;

    g_assert_true (gst_gemmcl_tensors_parse (&tensors, same[i], "int8", 1, NULL));
    g_assert_cmpuint (tensors.tensor[0].rank, ==, 2);
    g_assert_cmpuint (gst_gemmcl_tensor_get_size (&tensors.tensor[0]), ==, 10);
  }
}

static void
test_types (void)
{
  static const struct {
    const gchar *name;
    GemmclType type;
  } types[] = {
      {"float32", GEMMCL_TYPE_F32}, {"float64", GEMMCL_TYPE_F64}, {"float16", GEMMCL_TYPE_F16},
      {"int8", GEMMCL_TYPE_I8},     {"uint8", GEMMCL_TYPE_U8},    {"int16", GEMMCL_TYPE_I16},
      {"uint16", GEMMCL_TYPE_U16},  {"int32", GEMMCL_TYPE_I32},   {"uint32", GEMMCL_TYPE_U32},
      {"int64", GEMMCL_TYPE_I64},   {"uint64", GEMMCL_TYPE_U64},
  };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autofree gchar *printed = NULL;
    GstGemmclTensors tensors;

    g_assert_true (gst_gemmcl_tensors_parse (&tensors, "2", types[i].name, 0, NULL));
    g_assert_cmpint (tensors.tensor[0].type, ==, types[i].type);
    printed = gst_gemmcl_tensors_print_types (&tensors, ',');
    g_assert_cmpstr (printed, ==, types[i].name);
  }
}

static void
test_refused (void)
{
  static const struct {
    const gchar *dimensions;
    const gchar *types;
    guint num_tensors;
    GemmclError code;
  } refused[] = {
      {"", "float32", 1, GEMMCL_ERROR_FORMAT},
      {"0", "float32", 1, GEMMCL_ERROR_FORMAT},
      {"3:0:2", "float32", 1, GEMMCL_ERROR_FORMAT},
      {"3:-1", "float32", 1, GEMMCL_ERROR_FORMAT},
      {"3:x", "float32", 1, GEMMCL_ERROR_FORMAT},
      {"3::2", "float32", 1, GEMMCL_ERROR_FORMAT},
      {"3", "bfloat16", 1, GEMMCL_ERROR_FORMAT},
      {"3", "", 1, GEMMCL_ERROR_FORMAT},
      {"3", "float32", 2, GEMMCL_ERROR_FORMAT},
      {"3,4", "float32", 2, GEMMCL_ERROR_FORMAT},
      {"1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1", "int8", 1, GEMMCL_ERROR_FORMAT},
      {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "int8", 17, GEMMCL_ERROR_FORMAT},
      {"2147483648", "int8", 1, GEMMCL_ERROR_FORMAT},
      {"2147483647:2147483647:2147483647", "int8", 1, GEMMCL_ERROR_TOO_LARGE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autoptr (GError) error = NULL;
    GstGemmclTensors tensors;

    g_test_message ("%s / %s", refused[i].dimensions, refused[i].types);
    g_assert_false (gst_gemmcl_tensors_parse (&tensors, refused[i].dimensions, refused[i].types,
                                              refused[i].num_tensors, &error));
    g_assert_error (error, GEMMCL_ERROR, (gint)refused[i].code);
  }
}

static void
test_print (void)
{
  static const gchar *const expected[GST_GEMMCL_N_SPELLINGS] = {
      "10:1,3:4:1:1:1", "10,3:4", "10:1:1:1,3:4:1:1", "10:1:0:0,3:4:1:1:1"};
  GstGemmclTensors tensors;
  g_autofree gchar *types = NULL;

  g_assert_true (gst_gemmcl_tensors_parse (&tensors, "10:1,3:4:1:1:1", "float32,uint8", 2, NULL));
  for (guint i = 0; i < GST_GEMMCL_N_SPELLINGS; i++) {
    g_autofree gchar *text = gst_gemmcl_tensors_print_dimensions (&tensors, i, ',');

    g_assert_cmpstr (text, ==, expected[i]);
  }
  types = gst_gemmcl_tensors_print_types (&tensors, '.');
  g_assert_cmpstr (types, ==, "float32.uint8");
}

/* Whoever asks for a spelling of the same thing gets it, and the plain one is first. */
static void
test_structure (void)
{
  static const gchar *const same[] = {"10:1,3:4", "10,3:4", "10:1:1:1,3:4:1:1", "10.3:4",
                                      "10:1:0:0,3:4:0:0"};
  static const GemmclType types[] = {GEMMCL_TYPE_U8, GEMMCL_TYPE_F16};
  GstGemmclTensors tensors, again;
  g_autoptr (GstCaps) caps = NULL;
  g_autoptr (GstStructure) fixed = NULL;

  g_assert_true (gst_gemmcl_tensors_parse (&tensors, "10:1,3:4", "float32,uint8", 2, NULL));
  caps = gst_caps_new_full (gst_gemmcl_tensors_to_structure (&tensors, 1, types, 2), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (same); i++) {
    g_autoptr (GstCaps) wanted =
        gst_caps_new_simple ("other/tensors", "format", G_TYPE_STRING, "static", "dimensions",
                             G_TYPE_STRING, same[i], NULL);

    g_assert_true (gst_caps_can_intersect (caps, wanted));
  }
  fixed = gst_structure_copy (gst_caps_get_structure (caps, 0));
  gst_structure_fixate (fixed);
  g_assert_cmpstr (gst_structure_get_string (fixed, "dimensions"), ==, "10:1,3:4");
  g_assert_true (gst_gemmcl_tensors_from_structure (&again, fixed, NULL));
  g_assert_cmpuint (again.n, ==, 2);
  g_assert_cmpint (again.tensor[0].type, ==, GEMMCL_TYPE_F32);
  g_assert_cmpint (again.tensor[1].type, ==, GEMMCL_TYPE_U8);
}

static void
test_structure_refused (void)
{
  static const gchar *const refused[] = {
      "other/tensors",
      "other/tensors,format=sparse",
      "other/tensors,format=flexible,num_tensors=17",
      "other/tensors,format=static,num_tensors=1,types=float32",
      "other/tensors,format=static,num_tensors=1,dimensions=(string)3",
  };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autoptr (GstStructure) structure = gst_structure_from_string (refused[i], NULL);
    g_autoptr (GError) error = NULL;
    GstGemmclTensors tensors;

    g_assert_false (gst_gemmcl_tensors_from_structure (&tensors, structure, &error));
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_func ("/tensors/parse", test_parse);
  g_test_add_func ("/tensors/zeros", test_zeros);
  g_test_add_func ("/tensors/types", test_types);
  g_test_add_func ("/tensors/refused", test_refused);
  g_test_add_func ("/tensors/print", test_print);
  g_test_add_func ("/tensors/structure", test_structure);
  g_test_add_func ("/tensors/structure-refused", test_structure_refused);
  return g_test_run ();
}
