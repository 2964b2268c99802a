/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Matrices written in place. */

#include <locale.h>
#include <math.h>

#include "files.h"
#include "gemmcl.h"

static void
test_good (void)
{
  static const struct {
    const gchar *text;
    gsize rows, cols;
    gfloat values[6];
  } cases[] = {
      {"[[1, 2], [3, 4]]", 2, 2, {1, 2, 3, 4}},
      {"[[1,2],[3,4],[5,6]]", 3, 2, {1, 2, 3, 4, 5, 6}},
      {"[1, 2, 3]", 1, 3, {1, 2, 3}},
      {"[[7]]", 1, 1, {7}},
      {" \n[ [ -1.5e-3 ,\t+2. ] , [ .25 , 1E2 ] ] ", 2, 2, {-1.5e-3f, 2, 0.25f, 100}},
      {"[3.4028235e38, 1e-46, 0.1]", 1, 3, {3.4028235e38f, 0, 0.1f}},
      {"[inf, -INF, Infinity]", 1, 3, {INFINITY, -INFINITY, INFINITY}},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_parse (cases[i].text, &error);
    const gfloat *values;

    g_assert_no_error (error);
    g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, cases[i].rows);
    g_assert_cmpuint (gemmcl_matrix_get_cols (matrix), ==, cases[i].cols);
    g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, GEMMCL_TYPE_F32);
    g_assert_false (gemmcl_matrix_is_column_major (matrix));
    values = gemmcl_matrix_get_data (matrix);
    for (gsize j = 0; j < cases[i].rows * cases[i].cols; j++)
      g_assert_true (values[j] == cases[i].values[j]);
  }
}

static void
test_nan (void)
{
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_parse ("[nan, -NaN]", NULL);
  const gfloat *values = gemmcl_matrix_get_data (matrix);

  g_assert_true (isnan (values[0]) && isnan (values[1]));
}

static void
test_bad (void)
{
  static const struct {
    const gchar *text;
    const gchar *message;
  } cases[] = {
      {"", "at character 1: expected “[”, found the end"},
      {"1, 2", "at character 1: expected “[”, found “1”"},
      {"[", "at character 2: expected a number, found the end"},
      {"[]", "at character 2: expected a number, found “]”"},
      {"[[]]", "at character 3: expected a number, found “]”"},
      {"[1,]", "at character 4: expected a number, found “]”"},
      {"[1 2]", "at character 4: expected “,” or “]” after a number, found “2”"},
      {"[1, é]", "at character 5: expected a number, found “é”"},
      {"[1, \xff]", "at character 5: expected a number, found the byte 0xff"},
      {"[1; 2]", "at character 3: expected “,” or “]” after a number, found “;”"},
      {"[[1, 2], [3]]", "row 2: expected 2 numbers as in row 1, found 1"},
      {"[[1], [2], [3, 4]]", "row 3: expected 1 numbers as in row 1, found 2"},
      {"[[1], 2]", "at character 7: expected the “[” of a row, found “2”"},
      {"[[1],]", "at character 6: expected the “[” of a row, found “]”"},
      {"[[1] [2]]", "at character 6: expected “,” or “]” after a row, found “[”"},
      {"[[1]", "at character 5: expected “,” or “]” after a row, found the end"},
      {"[[[1]]]", "at character 3: expected a number, found “[”"},
      {"[1] x", "at character 5: expected nothing after the last “]”, found “x”"},
      {"[[1]]]", "at character 6: expected nothing after the last “]”, found “]”"},
      {"[0x10]", "at character 3: expected “,” or “]” after a number, found “x”"},
      {"[1e]", "at character 2: expected a number, found “1”"},
      {"[-]", "at character 2: expected a number, found “-”"},
      {"[.]", "at character 2: expected a number, found “.”"},
      {"[1, 1e39]", "at character 5: expected a number of at most 3.4e38, the largest of an f32, "
                    "found 1e39."},
      {"[-1e999]", "the largest of an f32, found -1e999."},
      {"[nano]", "at character 5: expected “,” or “]” after a number, found “o”"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (gemmcl_matrix_parse (cases[i].text, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

static void
test_large (void)
{
  const gsize rows = 500, cols = 401;
  g_autoptr (GString) text = g_string_new ("[");
  g_autoptr (GemmclMatrix) matrix = NULL;
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < rows * cols; i++)
    g_string_append_printf (text, "%s%" G_GSIZE_FORMAT "%s",
                            i % cols != 0 ? ", "
                            : i > 0       ? ", ["
                                          : "[",
                            i, i % cols == cols - 1 ? "]" : "");
  g_string_append_c (text, ']');
  matrix = gemmcl_matrix_parse (text->str, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, rows);
  g_assert_cmpuint (gemmcl_matrix_get_cols (matrix), ==, cols);
  for (gsize i = 0; i < rows * cols; i++)
    g_assert_cmpfloat (((const gfloat *)gemmcl_matrix_get_data (matrix))[i], ==, (gfloat)i);
}

/* A locale whose decimal point is a comma, if the machine has one. */
static void
test_locale (void)
{
  static const gchar *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "nl_NL.UTF-8"};
  g_autoptr (GemmclMatrix) matrix = NULL;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (locales) && setlocale (LC_NUMERIC, locales[i]) == NULL; i++)
    ;
  if (i == G_N_ELEMENTS (locales)) {
    g_test_skip ("no locale with a decimal comma is installed");
    return;
  }
  matrix = gemmcl_matrix_parse ("[1.5, 2.5]", NULL);
  setlocale (LC_NUMERIC, "C");
  g_assert_nonnull (matrix);
  g_assert_cmpfloat (((const gfloat *)gemmcl_matrix_get_data (matrix))[1], ==, 2.5f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/literal/good", test_good);
  g_test_add_func ("/literal/nan", test_nan);
  g_test_add_func ("/literal/bad", test_bad);
  g_test_add_func ("/literal/large", test_large);
  g_test_add_func ("/literal/locale", test_locale);
  return g_test_run ();
}
