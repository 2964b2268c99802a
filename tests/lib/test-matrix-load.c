/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The ways in which a user names a matrix. */

#include <fcntl.h>
#include <float.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "gemmcl.h"

static const gfloat data[] = {1, 2, 3, 4, 5, 6};

static void
write_npy (const Files *files, const gchar *name, const gchar *descr, gsize cols)
{
  g_autofree gchar *header = g_strdup_printf (
      "{'descr': '%s', 'fortran_order': False, 'shape': (1, %" G_GSIZE_FORMAT "), }", descr, cols);
  g_autoptr (GString) npy = files_npy (1, header, data, sizeof data);

  g_free (files_write (files, name, npy->str, npy->len));
}

static void
write_all (const Files *files)
{
  g_autoptr (GString) tensors = files_safetensors (
      "{\"fc1.weight\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]}}", data,
      sizeof data);
  g_autoptr (GString) odd = files_safetensors (
      "{\"a#b c\": {\"dtype\": \"F32\", \"shape\": [3, 2], \"data_offsets\": [0, 24]}}", data,
      sizeof data);

  write_npy (files, "w.npy", "<f4", 6);
  write_npy (files, "W.NPY", "<f4", 5);
  write_npy (files, "half.npy", "|V2", 12);
  write_npy (files, "with#hash.npy", "<f4", 4);
  write_npy (files, "with#half.npy", "|V2", 11);
  write_npy (files, "x.npy#bf16", "<f4", 2);
  write_npy (files, "sp ace.npy", "<f4", 3);
  g_free (files_write (files, "t.safetensors", tensors->str, tensors->len));
  g_free (files_write (files, "odd.safetensors", odd->str, odd->len));
  g_free (files_write (files, "w.raw", data, sizeof data));
  g_free (files_write (files, "w.bin", data, sizeof data));
  g_free (files_write (files, "empty.npy", "", 0));
}

/* @uri: @name is what follows the directory of a file: URI. */
static GemmclMatrix *
load (const Files *files, const gchar *name, gboolean uri, GError **error)
{
  g_autofree gchar *where = g_strdup_printf ("%s%s/%s", uri ? "file://" : "", files->dir, name);

  return gemmcl_matrix_load (where, error);
}

static void
test_good (void)
{
  static const struct {
    const gchar *name;
    gboolean uri;
    gsize rows, cols;
    GemmclType type;
  } cases[] = {
      {"w.npy", FALSE, 1, 6, GEMMCL_TYPE_F32},
      {"W.NPY", FALSE, 1, 5, GEMMCL_TYPE_F32},
      {"w.npy#bf16", FALSE, 1, 6, GEMMCL_TYPE_F32},
      {"half.npy#bf16", FALSE, 1, 12, GEMMCL_TYPE_BF16},
      {"with#hash.npy", FALSE, 1, 4, GEMMCL_TYPE_F32},
      {"with#half.npy#bf16", FALSE, 1, 11, GEMMCL_TYPE_BF16},
      {"t.safetensors#fc1.weight", FALSE, 2, 3, GEMMCL_TYPE_F32},
      {"odd.safetensors#a#b c", FALSE, 3, 2, GEMMCL_TYPE_F32},
      {"w.raw#f32:2x3", FALSE, 2, 3, GEMMCL_TYPE_F32},
      {"w.raw#u8:24x1", FALSE, 24, 1, GEMMCL_TYPE_U8},
      {"w.npy", TRUE, 1, 6, GEMMCL_TYPE_F32},
      {"half.npy#bf16", TRUE, 1, 12, GEMMCL_TYPE_BF16},
      {"sp%20ace.npy", TRUE, 1, 3, GEMMCL_TYPE_F32},
      {"with%23half.npy#bf16", TRUE, 1, 11, GEMMCL_TYPE_BF16},
      {"odd.safetensors#a%23b%20c", TRUE, 3, 2, GEMMCL_TYPE_F32},
  };
  g_auto (Files) files = {0};

  files_init (&files);
  write_all (&files);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = load (&files, cases[i].name, cases[i].uri, &error);

    g_assert_no_error (error);
    g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, cases[i].rows);
    g_assert_cmpuint (gemmcl_matrix_get_cols (matrix), ==, cases[i].cols);
    g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, cases[i].type);
    g_assert_cmpmem (gemmcl_matrix_get_data (matrix), 4, data, 4);
  }
}

static void
test_literal (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_load ("  [[1, 2], [3, 4]]", &error);

  g_assert_no_error (error);
  g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, 2);
  g_assert_null (gemmcl_matrix_load ("[1, 2", &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "at character 6: expected “,” or “]”");
}

static void
test_bad (void)
{
  static const struct {
    const gchar *name;
    gboolean uri;
    GemmclError code;
    const gchar *message;
  } cases[] = {
      {"none.npy", FALSE, GEMMCL_ERROR_IO, "none.npy: Cannot open the file: No such file"},
      {"none.npy#bf16", FALSE, GEMMCL_ERROR_IO, "none.npy: Cannot open the file: No such file"},
      {"none.safetensors#a#b", FALSE, GEMMCL_ERROR_IO, "none.safetensors: Cannot open the file"},
      {"none.raw#f32:2x3", FALSE, GEMMCL_ERROR_IO, "none.raw: Cannot open the file"},
      {"empty.npy", FALSE, GEMMCL_ERROR_FORMAT, "empty.npy: The file is empty"},
      {"half.npy", FALSE, GEMMCL_ERROR_FORMAT, "say so with #bf16"},
      {"w.npy#f16", FALSE, GEMMCL_ERROR_FORMAT, "expected nothing or #bf16, found “#f16”"},
      {"t.safetensors", FALSE, GEMMCL_ERROR_FORMAT, "found “”. The file holds fc1.weight"},
      {"t.safetensors#fc2", FALSE, GEMMCL_ERROR_FORMAT, "found “fc2”. The file holds fc1.weight"},
      {"w.raw", FALSE, GEMMCL_ERROR_FORMAT,
       "expected #TYPE:ROWSxCOLS, as in #f32:64x10, found nothing"},
      {"w.raw#f33:2x3", FALSE, GEMMCL_ERROR_FORMAT, "found #f33:2x3. The types are f32, f64"},
      {"w.raw#f32:2x", FALSE, GEMMCL_ERROR_FORMAT, "found #f32:2x"},
      {"w.raw#f32:2x3x1", FALSE, GEMMCL_ERROR_FORMAT, "found #f32:2x3x1"},
      {"w.raw#f32:-2x3", FALSE, GEMMCL_ERROR_FORMAT, "found #f32:-2x3"},
      {"w.raw#f32:0x3", FALSE, GEMMCL_ERROR_FORMAT, "found #f32:0x3"},
      {"w.raw#", FALSE, GEMMCL_ERROR_FORMAT, "as in #f32:64x10, found #."},
      {"w.raw#f32", FALSE, GEMMCL_ERROR_FORMAT, "found #f32."},
      {"w.raw#f32:2x4", FALSE, GEMMCL_ERROR_FORMAT, "truncated: expected 32 bytes"},
      {"w.raw#f32:2x2", FALSE, GEMMCL_ERROR_FORMAT, "too long: expected 16 bytes"},
      {"w.raw#f32:4294967296x4294967296", FALSE, GEMMCL_ERROR_FORMAT, "more than memory can hold"},
      {"w.bin", FALSE, GEMMCL_ERROR_FORMAT, "w.bin: Expected a literal such as [[1, 2], [3, 4]]"},
      {"m.npz", FALSE, GEMMCL_ERROR_FORMAT,
       "m.npz: Only Python reads .npz. Save it as safetensors: "},
      {"m.PT#fc1", FALSE, GEMMCL_ERROR_FORMAT, "m.PT: Only Python reads .pt. Save it as safet"},
      {"m.pth", FALSE, GEMMCL_ERROR_FORMAT,
       "m.pth: Only Python reads .pth. Save it as safetensors"},
      {"", FALSE, GEMMCL_ERROR_FORMAT, "Expected a literal"},
      {"none.npy", TRUE, GEMMCL_ERROR_IO, "none.npy: Cannot open the file: No such file"},
      {"odd.safetensors#a%zz", TRUE, GEMMCL_ERROR_FORMAT, "two hexadecimal digits"},
      {"sp%2", TRUE, GEMMCL_ERROR_IO, "Cannot read the URI"},
  };
  g_auto (Files) files = {0};
  g_autoptr (GError) error = NULL;

  files_init (&files);
  write_all (&files);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_assert_null (load (&files, cases[i].name, cases[i].uri, &error));
    files_assert_error (error, cases[i].code, cases[i].message);
  }
  g_assert_null (gemmcl_matrix_load ("file://elsewhere/w.npy", &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "found the host “elsewhere”");
  g_assert_null (gemmcl_matrix_load ("", &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "Expected a literal");
}

/* Nothing that is not a file is opened for good, and nobody is waited for. */
static void
test_not_a_file (void)
{
  g_auto (Files) files = {0};
  g_autofree gchar *fifo = NULL;
  g_autoptr (GError) error = NULL;

  files_init (&files);
  fifo = files_path (&files, "fifo.npy");
  if (mkfifo (fifo, 0600) != 0) {
    g_test_skip ("the file system has no pipes");
    return;
  }
  g_assert_null (gemmcl_matrix_load (fifo, &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "found a pipe, socket or device");
  g_assert_null (gemmcl_matrix_load_npy (files.dir, FALSE, &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "found a directory");
  g_assert_null (gemmcl_matrix_load_raw ("/dev/null", GEMMCL_TYPE_U8, 1, 1, &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "found a pipe, socket or device");
}

static GemmclMatrix *
load_doubles (const Files *files, const gdouble *values, guint form, GError **error)
{
  const gsize n = 6 * sizeof *values;
  g_autoptr (GString) npy =
      files_npy (1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", values, n);
  g_autoptr (GString) fortran =
      files_npy (1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", values, n);
  g_autoptr (GString) tensors = files_safetensors (
      "{\"t\": {\"dtype\": \"F64\", \"shape\": [2, 3], \"data_offsets\": [0, 48]}}", values, n);

  g_free (files_write (files, "r.npy", npy->str, npy->len));
  g_free (files_write (files, "f.npy", fortran->str, fortran->len));
  g_free (files_write (files, "r.safetensors", tensors->str, tensors->len));
  g_free (files_write (files, "r.raw", values, n));
  return load (files, (const gchar *[]){"r.npy", "r.safetensors#t", "r.raw#f64:2x3", "f.npy"}[form],
               FALSE, error);
}

/* No finite number becomes infinite; infinity and NaN are what they are. */
static void
test_range (void)
{
  /* Half a step above FLT_MAX rounds away from it, and what is below does not. */
  const gdouble over = 0x1.ffffffp127, below = nextafter (over, 0);
  const gdouble values[][6] = {{0, 0, 0, 0, 0, 1.5e300},
                               {0, 0, 0, 0, 0, -over},
                               {INFINITY, -INFINITY, NAN, below, -below, 1e-300}};
  const gchar *const words[] = {"the largest of an f32, found 1.5e+300.", "found -3.402823"};
  g_auto (Files) files = {0};

  files_init (&files);
  for (guint form = 0; form < 4; form++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = NULL, floats = NULL;
    const gfloat *got;

    for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
      g_assert_null (load_doubles (&files, values[i], form, &error));
      g_assert_nonnull (strstr (error->message, "Row 2, column 3: expected a number of at most"));
      files_assert_error (error, GEMMCL_ERROR_FORMAT, words[i]);
    }
    matrix = load_doubles (&files, values[2], form, &error);
    g_assert_no_error (error);
    floats = gemmcl_matrix_to_f32 (matrix, form == 3, &error);
    got = gemmcl_matrix_get_data (floats);
    for (guint i = 0; i < 6; i++)
      if (i == 2)
        g_assert_true (isnan (got[i]));
      else
        g_assert_cmpfloat (got[i], ==, (gfloat)values[2][i]);
    g_assert_cmpfloat (got[3], ==, FLT_MAX);
  }
}

/* The place is the element's, however the file lies; and the tensor is named. */
static void
test_range_place (void)
{
  gdouble values[6] = {0, 0, 1e39, 0, 0, 0};
  const gchar *const words[] = {
      "Row 1, column 3:", "Tensor “t”: Row 1, column 3:", "Row 1, column 3:", "Row 1, column 2:"};
  g_auto (Files) files = {0};

  files_init (&files);
  for (guint form = 0; form < 4; form++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (load_doubles (&files, values, form, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, words[form]);
  }
}

/* Cuts the file to nothing, and then writes as many other bytes into it. */
static void
overwrite (const gchar *path, GemmclMatrix *matrix, const guint8 *expected, gsize n)
{
  GStatBuf status;
  g_autofree guint8 *other = NULL;
  gint fd = g_open (path, O_WRONLY | O_CLOEXEC, 0);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fstat (fd, &status), ==, 0);
  other = g_malloc (status.st_size);
  memset (other, 0x5a, status.st_size);
  g_assert_cmpint (ftruncate (fd, 0), ==, 0);
  g_assert_cmpmem (gemmcl_matrix_get_data (matrix), n, expected, n);
  g_assert_cmpint (write (fd, other, status.st_size), ==, status.st_size);
  g_assert_cmpmem (gemmcl_matrix_get_data (matrix), n, expected, n);
  g_assert_cmpint (close (fd), ==, 0);
}

/* A file that is changed in place changes no matrix, and stops no program. */
static void
test_overwritten (void)
{
  enum { ROWS = 100, COLS = 200 };
  static gfloat values[ROWS * COLS];
  static const struct {
    const gchar *name, *where;
  } cases[] = {
      {"o.npy", "o.npy"}, {"o.safetensors", "o.safetensors#t"}, {"o.raw", "o.raw#f32:100x200"}};
  g_auto (Files) files = {0};
  g_autoptr (GString) npy = NULL, tensors = NULL;

  for (guint i = 0; i < ROWS * COLS; i++)
    values[i] = i;
  npy = files_npy (1, "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 200), }", values,
                   sizeof values);
  tensors = files_safetensors (
      "{\"t\": {\"dtype\": \"F32\", \"shape\": [100, 200], \"data_offsets\": [0, 80000]}}", values,
      sizeof values);
  files_init (&files);
  g_free (files_write (&files, "o.npy", npy->str, npy->len));
  g_free (files_write (&files, "o.safetensors", tensors->str, tensors->len));
  g_free (files_write (&files, "o.raw", values, sizeof values));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *path = files_path (&files, cases[i].name);
    g_autoptr (GemmclMatrix) matrix = load (&files, cases[i].where, FALSE, &error);
    g_autoptr (GemmclMatrix) transposed = NULL;

    g_assert_no_error (error);
    overwrite (path, matrix, (const guint8 *)values, sizeof values);
    transposed = gemmcl_matrix_to_f32 (matrix, TRUE, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (((const gfloat *)gemmcl_matrix_get_data (transposed))[1], ==, COLS);
  }
}

/* The message is UTF-8 even where the name is not. */
static void
test_odd_name (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gemmcl_matrix_load ("nowhere-\xff.npy", &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "Cannot open the file");
  g_assert_null (gemmcl_matrix_load ("nowhere.raw#\xff", &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "expected #TYPE");
  g_assert_null (gemmcl_matrix_load ("file:///\xff", &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "Expected a literal");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/matrix-load/good", test_good);
  g_test_add_func ("/matrix-load/literal", test_literal);
  g_test_add_func ("/matrix-load/bad", test_bad);
  g_test_add_func ("/matrix-load/not-a-file", test_not_a_file);
  g_test_add_func ("/matrix-load/range", test_range);
  g_test_add_func ("/matrix-load/range-place", test_range_place);
  g_test_add_func ("/matrix-load/overwritten", test_overwritten);
  g_test_add_func ("/matrix-load/odd-name", test_odd_name);
  return g_test_run ();
}
