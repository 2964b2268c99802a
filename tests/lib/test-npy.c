/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The .npy reader, file by file as it should and should not be. */

#include "files.h"
#include "gemmcl.h"

static const gfloat data[] = {1, 2, 3, 4, 5, 6};

static GemmclMatrix *
load (guint version, const gchar *header, gsize n_bytes, gboolean v2_is_bf16, GError **error)
{
  g_auto (Files) files = {0};
  g_autoptr (GString) npy = files_npy (version, header, data, n_bytes);
  g_autofree gchar *path = NULL;

  files_init (&files);
  path = files_write (&files, "x.npy", npy->str, npy->len);
  return gemmcl_matrix_load_npy (path, v2_is_bf16, error);
}

static void
test_good (void)
{
  static const struct {
    guint version;
    const gchar *header;
    gsize rows, cols;
    gboolean column_major;
  } cases[] = {
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 2, 3, FALSE},
      {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 2, 3, FALSE},
      {3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 2, 3, FALSE},
      {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 2, 3, TRUE},
      {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 6), }", 1, 6, FALSE},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 1, 6, FALSE},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 1, 1, FALSE},
      {1, "{'shape':(2L,3L,),\"fortran_order\":False,'descr':\"<f4\"}", 2, 3, FALSE},
      {1, " { 'shape' : ( 3 , 2 ) , 'descr' : '<f4' , 'fortran_order' : False } ", 3, 2, FALSE},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 2, 2, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix =
        load (cases[i].version, cases[i].header, sizeof data, FALSE, &error);
    gsize n_bytes = cases[i].rows * cases[i].cols * sizeof *data;

    g_assert_no_error (error);
    g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, cases[i].rows);
    g_assert_cmpuint (gemmcl_matrix_get_cols (matrix), ==, cases[i].cols);
    g_assert_cmpint (gemmcl_matrix_is_column_major (matrix), ==, cases[i].column_major);
    g_assert_cmpmem (gemmcl_matrix_get_data (matrix), n_bytes, data, n_bytes);
  }
}

static void
test_types (void)
{
  static const struct {
    const gchar *descr;
    GemmclType type;
  } cases[] = {
      {"<f4", GEMMCL_TYPE_F32},  {"<f8", GEMMCL_TYPE_F64},  {"<f2", GEMMCL_TYPE_F16},
      {"|V2", GEMMCL_TYPE_BF16}, {"<V2", GEMMCL_TYPE_BF16}, {"|i1", GEMMCL_TYPE_I8},
      {"|u1", GEMMCL_TYPE_U8},   {"<i2", GEMMCL_TYPE_I16},  {"<u2", GEMMCL_TYPE_U16},
      {"<i4", GEMMCL_TYPE_I32},  {"<u4", GEMMCL_TYPE_U32},  {"<i8", GEMMCL_TYPE_I64},
      {"<u8", GEMMCL_TYPE_U64},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *header = g_strdup_printf (
        "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2), }", cases[i].descr);
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = load (1, header, sizeof data, TRUE, &error);

    g_assert_no_error (error);
    g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, cases[i].type);
  }
}

#define WITH_DESCR(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (2, 3), }"
#define WITH_SHAPE(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }"

static void
test_bad_headers (void)
{
  static const struct {
    const gchar *header;
    const gchar *message;
  } cases[] = {
      {WITH_DESCR ("'>f4'"), "of type '>f4'. Expected little-endian"},
      {WITH_DESCR ("'|O'"), "not pickled Python objects"},
      {WITH_DESCR ("'|b1'"), "not booleans"},
      {WITH_DESCR ("'|V2'"), "say so with #bf16"},
      {WITH_DESCR ("'|V4'"), "of type '|V4'. Expected little-endian f2"},
      {WITH_DESCR ("'<c8'"), "of type '<c8'"},
      {WITH_DESCR ("'<U3'"), "of type '<U3'"},
      {WITH_DESCR ("''"), "of type ''"},
      {WITH_DESCR ("[('a', '<f4'), ('b', '<f4')]"), "found a structured type"},
      {WITH_DESCR ("('<f4', (2,))"), "found a structured type"},
      {"{'descr': '<f4", "expected a quotation mark, found the byte 0x0a"},
      {WITH_DESCR ("'<f\\x34'"), "expected a quotation mark, found “\\”"},
      {WITH_DESCR ("4"), "at its character 11 expected a type in quotation marks, found “4”"},
      {WITH_SHAPE ("(2, 3, 4)"), "at most 2 dimensions, found 3 (2 x 3 x 4)"},
      {WITH_SHAPE ("(0,)"), "at least one element, found a shape of 0"},
      {WITH_SHAPE ("(3, 0)"), "at least one element, found a shape of 3 x 0"},
      {WITH_SHAPE ("(2, 4)"), "truncated: expected 32 bytes of elements (2 x 4 f32), found 24"},
      {WITH_SHAPE ("(4294967296, 4294967296)"), "4294967296 f32 is more than memory can hold"},
      {WITH_SHAPE ("(2305843009213693952, 2)"), "more than memory can hold"},
      {WITH_SHAPE ("(99999999999999999999999, 2)"), "more than memory can hold"},
      {WITH_SHAPE ("(1000000, 1000000)"), "truncated: expected 4000000000000 bytes"},
      {WITH_SHAPE ("(-1, 3)"), "expected a number of elements, found “-”"},
      {WITH_SHAPE ("(6)"), "expected “,”, found “)”"},
      {WITH_SHAPE ("(2 3)"), "expected “,”, found “3”"},
      {WITH_SHAPE ("(,)"), "expected a number of elements, found “,”"},
      {WITH_SHAPE ("[2, 3]"), "expected a shape in parentheses, found “[”"},
      {WITH_SHAPE ("(2, 3"), "found"},
      {"", "expected “{”, found the end"},
      {"{}", "expected the keys descr, fortran_order and shape"},
      {"{'descr': '<f4', 'shape': (2, 3)}", "expected the keys descr, fortran_order and shape"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
       "at its character 18 expected each of the keys"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}",
       "expected each of the keys descr, fortran_order and shape once"},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3)}",
       "expected True or False, found “1”"},
      {"{'descr' '<f4'}", "expected “:”"},
      {"{'descr': '<f4' 'shape': (2, 3)}", "expected “,” or “}”"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} + {}", "expected nothing after"},
      {"{'descr': __import__('os'), 'fortran_order': False, 'shape': (2, 3)}", "found “_”"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (load (1, cases[i].header, sizeof data, FALSE, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

static void
test_bad_files (void)
{
  g_autofree gchar *spaces = g_strnfill (10001, ' ');
  static const struct {
    const gchar *bytes;
    gsize n;
    const gchar *message;
  } cases[] = {
      {"", 0, "The file is empty"},
      {"\x93NUMPY", 6, "does not start with"},
      {"PK\3\4 an archive", 16, "does not start with"},
      {"\x93NUMPY\4\0\1\0{", 11, "found 4.0"},
      {"\x93NUMPY\1\1\1\0{", 11, "found 1.1"},
      {"\x93NUMPY\1\0\x80\0{", 11, "ends inside of the .npy header"},
      {"\x93NUMPY\2\0\1\0", 10, "ends inside of the .npy header"},
      {"\x93NUMPY\2\0\xff\xff\xff\xff{", 13, "ends inside of the .npy header"},
  };
  g_auto (Files) files = {0};
  g_autoptr (GError) error = NULL;

  files_init (&files);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *path = files_write (&files, "bad.npy", cases[i].bytes, cases[i].n);

    g_assert_null (gemmcl_matrix_load_npy (path, FALSE, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
  g_assert_null (load (1, spaces, 0, FALSE, &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "at most 10000 bytes, found 10038");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/npy/good", test_good);
  g_test_add_func ("/npy/types", test_types);
  g_test_add_func ("/npy/bad-headers", test_bad_headers);
  g_test_add_func ("/npy/bad-files", test_bad_files);
  return g_test_run ();
}
