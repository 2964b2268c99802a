/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The matrix object, its conversion to f32 and its way to a .npy file and back. */

#include <glib/gstdio.h>
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files.h"
#include "gemmcl.h"

static void
test_types (void)
{
  g_assert_cmpuint (gemmcl_type_get_size (GEMMCL_TYPE_BF16), ==, 2);
  g_assert_cmpuint (gemmcl_type_get_size (GEMMCL_TYPE_U64), ==, 8);
  g_assert_cmpstr (gemmcl_type_get_name (GEMMCL_TYPE_F32), ==, "f32");
  g_assert_cmpstr (gemmcl_type_get_name (GEMMCL_TYPE_U8), ==, "u8");
  for (guint i = 0; i < GEMMCL_N_TYPES; i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpstr (gemmcl_type_get_name ((GemmclType)i), !=,
                       gemmcl_type_get_name ((GemmclType)j));
}

static void
test_new (void)
{
  gint16 data[] = {1, 2, 3, 4, 5, 6};
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_new (GEMMCL_TYPE_I16, 2, 3, data, &error);
  g_auto (GValue) value = G_VALUE_INIT;

  g_assert_no_error (error);
  data[0] = 9;
  g_assert_cmpint (*(const gint16 *)gemmcl_matrix_get_data (matrix), ==, 1);
  g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, 2);
  g_assert_cmpuint (gemmcl_matrix_get_cols (matrix), ==, 3);
  g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, GEMMCL_TYPE_I16);

  g_value_init (&value, GEMMCL_TYPE_MATRIX);
  g_value_set_boxed (&value, matrix);
  g_assert_true (g_value_get_boxed (&value) == matrix);
}

static void
test_new_bad (void)
{
  gfloat one = 1;
  g_autoptr (GError) error = NULL;

  g_assert_null (gemmcl_matrix_new (GEMMCL_TYPE_F32, 0, 3, &one, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "found 0 x 3");
  g_assert_null (gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, 1, NULL, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "no data");
  g_assert_null (gemmcl_matrix_new ((GemmclType)99, 1, 1, &one, &error));
  files_assert_error (error, GEMMCL_ERROR_INVALID, "found 99");
  g_assert_null (gemmcl_matrix_new (GEMMCL_TYPE_F32, G_MAXSIZE, 2, &one, &error));
  files_assert_error (error, GEMMCL_ERROR_TOO_LARGE, "memory");
  g_assert_null (gemmcl_matrix_new (GEMMCL_TYPE_F32, G_MAXSIZE / 4, 1, &one, &error));
  files_assert_error (error, GEMMCL_ERROR_TOO_LARGE, "memory");
}

/* Each type's image of known values. */
static void
test_values (void)
{
  static const guint16 f16[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff, 0x0400,
                                0x8000, 0x7c00, 0xfc00, 0x3555, 0x7e01};
  static const gfloat of_f16[] = {1,        -2,    65504,    0x1p-24f,  -0x1.ff8p-15f,
                                  0x1p-14f, -0.0f, INFINITY, -INFINITY, 0x1.554p-2f,
                                  NAN};
  static const guint16 bf16[] = {0x3f80, 0xc000, 0x7f80, 0x0001, 0x8000, 0x7fc0};
  static const gfloat of_bf16[] = {1, -2, INFINITY, 0x1p-133f, -0.0f, NAN};
  /* Halfway cases go to even; more than f32 holds goes to infinity. */
  static const gdouble f64[] = {0.1, 1 + 0x1p-24, 1 + 0x3p-24, 1e300, -1e-300};
  static const gfloat of_f64[] = {0.1f, 1, 1 + 0x1p-22f, INFINITY, -0.0f};
  static const gint8 i8[] = {-128, 127, -1};
  static const guint8 u8[] = {0, 255};
  static const gint16 i16[] = {-32768, 32767};
  static const guint16 u16[] = {65535, 1};
  static const gint32 i32[] = {G_MININT32, 16777217, 16777219};
  static const guint32 u32[] = {G_MAXUINT32, 3};
  static const gint64 i64[] = {G_MININT64, (1LL << 53) + 1, -7};
  static const guint64 u64[] = {G_MAXUINT64, 0x8000008000000001};
  static const gfloat of_i8[] = {-128, 127, -1}, of_u8[] = {0, 255}, of_i16[] = {-32768, 32767},
                      of_u16[] = {65535, 1}, of_i32[] = {-0x1p31f, 16777216, 16777220},
                      of_u32[] = {0x1p32f, 3}, of_i64[] = {-0x1p63f, 0x1p53f, -7},
                      of_u64[] = {0x1p64f, 0x1.000002p63f};
#define CASE(TYPE, name)                                                                           \
  {                                                                                                \
    GEMMCL_TYPE_##TYPE, G_N_ELEMENTS (name), name, of_##name                                       \
  }
  static const struct {
    GemmclType type;
    gsize n;
    gconstpointer data;
    const gfloat *expected;
  } cases[] = {CASE (F16, f16), CASE (BF16, bf16), CASE (F64, f64), CASE (I8, i8),
               CASE (U8, u8),   CASE (I16, i16),   CASE (U16, u16), CASE (I32, i32),
               CASE (U32, u32), CASE (I64, i64),   CASE (U64, u64)};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GemmclMatrix) matrix =
        gemmcl_matrix_new (cases[i].type, 1, cases[i].n, cases[i].data, NULL);
    g_autoptr (GemmclMatrix) f32 = gemmcl_matrix_to_f32 (matrix, FALSE, NULL);
    const gfloat *values = gemmcl_matrix_get_data (f32);

    for (gsize j = 0; j < cases[i].n; j++) {
      gfloat expected = cases[i].expected[j];
      gboolean same = isnan (expected)
                          ? isnan (values[j])
                          : values[j] == expected && signbit (values[j]) == signbit (expected);

      if (!same) {
        g_test_message ("%s %" G_GSIZE_FORMAT ": expected %a, found %a",
                        gemmcl_type_get_name (cases[i].type), j, expected, values[j]);
        g_test_fail ();
      }
    }
  }
}

/* Checks element (i, j) of to_f32()'s result in both orders, transposed and not, for shapes that
 * are and are not multiples of a tile. */
static void
test_orders (void)
{
  static const gsize shapes[][2] = {{1, 1},   {1, 7},   {7, 1},   {2, 3},  {32, 32},
                                    {33, 31}, {100, 5}, {5, 100}, {64, 97}};
  g_auto (Files) files = {0};

  files_init (&files);
  for (guint i = 0; i < G_N_ELEMENTS (shapes) * 4; i++) {
    gsize rows = shapes[i / 4][0], cols = shapes[i / 4][1];
    gboolean column_major = i % 2, transpose = i / 2 % 2;
    g_autofree gint32 *data = g_new (gint32, rows * cols);
    g_autofree gchar *header =
        g_strdup_printf ("{'descr': '<i4', 'fortran_order': %s, 'shape': (%" G_GSIZE_FORMAT
                         ", %" G_GSIZE_FORMAT "), }",
                         column_major ? "True" : "False", rows, cols);
    g_autoptr (GString) npy = NULL;
    g_autofree gchar *path = NULL;
    g_autoptr (GemmclMatrix) matrix = NULL;
    g_autoptr (GemmclMatrix) f32 = NULL;
    const gfloat *values;

    for (gsize r = 0; r < rows; r++)
      for (gsize c = 0; c < cols; c++)
        data[column_major ? c * rows + r : r * cols + c] = (gint32)(r * 1000 + c);
    npy = files_npy (1, header, data, rows * cols * sizeof *data);
    path = files_write (&files, "m.npy", npy->str, npy->len);
    matrix = gemmcl_matrix_load_npy (path, FALSE, NULL);
    g_assert_cmpint (gemmcl_matrix_is_column_major (matrix), ==,
                     column_major && rows > 1 && cols > 1);
    f32 = gemmcl_matrix_to_f32 (matrix, transpose, NULL);
    g_assert_false (gemmcl_matrix_is_column_major (f32));
    g_assert_cmpuint (gemmcl_matrix_get_rows (f32), ==, transpose ? cols : rows);
    g_assert_cmpuint (gemmcl_matrix_get_cols (f32), ==, transpose ? rows : cols);
    values = gemmcl_matrix_get_data (f32);
    for (gsize r = 0; r < rows; r++)
      for (gsize c = 0; c < cols; c++)
        g_assert_cmpfloat (values[transpose ? c * rows + r : r * cols + c], ==,
                           (gfloat)(r * 1000 + c));
  }
}

static void
test_same (void)
{
  const gfloat data[] = {1, 2, 3, 4};
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, 2, 2, data, NULL);
  g_autoptr (GemmclMatrix) same = gemmcl_matrix_to_f32 (matrix, FALSE, NULL);
  g_autoptr (GemmclMatrix) other = gemmcl_matrix_to_f32 (matrix, TRUE, NULL);

  g_assert_true (same == matrix);
  g_assert_true (other != matrix);
}

/* Lets the process have @more bytes of memory than it has now; FALSE where that cannot be told. */
static gboolean
limit_memory (rlim_t more, struct rlimit *before)
{
  g_autofree gchar *statm = NULL;
  struct rlimit limit;

  if (!g_file_get_contents ("/proc/self/statm", &statm, NULL, NULL) ||
      getrlimit (RLIMIT_AS, before) != 0)
    return FALSE;
  limit = *before;
  limit.rlim_cur = g_ascii_strtoull (statm, NULL, 10) * (rlim_t)sysconf (_SC_PAGESIZE) + more;
  return setrlimit (RLIMIT_AS, &limit) == 0;
}

/* A file that takes no room on the disk, and four times its size as f32. */
static void
test_too_large (void)
{
  g_auto (Files) files = {0};
  g_autoptr (GemmclMatrix) matrix = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL;
  const gsize n = 100000000;
  struct rlimit before;

  files_init (&files);
  path = files_write (&files, "sparse.raw", "", 0);
  if (truncate (path, n) != 0) {
    g_test_skip ("the file system has no sparse files");
    return;
  }
  matrix = gemmcl_matrix_load_raw (path, GEMMCL_TYPE_U8, 1, n, &error);
  g_assert_no_error (error);
  if (!limit_memory (n * 2, &before)) {
    g_test_skip ("the memory of this process cannot be limited");
    return;
  }
  g_assert_null (gemmcl_matrix_to_f32 (matrix, FALSE, &error));
  setrlimit (RLIMIT_AS, &before);
  files_assert_error (error, GEMMCL_ERROR_TOO_LARGE, "1 x 100000000 f32");
}

/* Every type survives saving and loading, bytes and all. */
static void
test_save (void)
{
  g_auto (Files) files = {0};
  guint8 data[6 * 8];

  files_init (&files);
  for (guint i = 0; i < sizeof data; i++)
    data[i] = (guint8)(i * 37 % 64); /* of an f64, a number that an f32 can be */
  for (guint t = 0; t < GEMMCL_N_TYPES; t++) {
    GemmclType type = (GemmclType)t;
    g_autoptr (GError) error = NULL;
    g_autofree gchar *path = files_path (&files, "s.npy");
    g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_new (type, 2, 3, data, NULL);
    g_autoptr (GemmclMatrix) loaded = NULL;
    g_autofree gchar *content = NULL;
    gsize length;

    g_assert_true (gemmcl_matrix_save_npy (matrix, path, &error));
    g_assert_no_error (error);
    g_file_get_contents (path, &content, &length, NULL);
    g_assert_cmpuint (length % 64, ==, 6 * gemmcl_type_get_size (type));
    loaded = gemmcl_matrix_load_npy (path, TRUE, &error);
    g_assert_no_error (error);
    g_assert_cmpint (gemmcl_matrix_get_element_type (loaded), ==, type);
    g_assert_cmpuint (gemmcl_matrix_get_rows (loaded), ==, 2);
    g_assert_cmpmem (gemmcl_matrix_get_data (loaded), 6 * gemmcl_type_get_size (type), data,
                     6 * gemmcl_type_get_size (type));
  }
}

/* Saving over the file that the matrix was loaded from; an order that survives. */
static void
test_save_over (void)
{
  g_auto (Files) files = {0};
  const gfloat data[] = {1, 2, 3, 4, 5, 6};
  g_autoptr (GString) npy = files_npy (
      1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data);
  g_autoptr (GemmclMatrix) matrix = NULL;
  g_autoptr (GemmclMatrix) again = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL;

  files_init (&files);
  path = files_write (&files, "over.npy", npy->str, npy->len);
  matrix = gemmcl_matrix_load_npy (path, FALSE, &error);
  g_assert_true (gemmcl_matrix_save_npy (matrix, path, &error));
  g_assert_no_error (error);
  again = gemmcl_matrix_load_npy (path, FALSE, &error);
  g_assert_true (gemmcl_matrix_is_column_major (again));
  g_assert_cmpmem (gemmcl_matrix_get_data (again), sizeof data, data, sizeof data);
  g_assert_cmpmem (gemmcl_matrix_get_data (matrix), sizeof data, data, sizeof data);
}

static void
test_save_bad (void)
{
  g_auto (Files) files = {0};
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_parse ("[1]", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL;

  files_init (&files);
  path = files_path (&files, "missing/x.npy");
  g_assert_false (gemmcl_matrix_save_npy (matrix, path, &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "missing/x.npy: Cannot write the file");
  g_assert_false (gemmcl_matrix_save_npy (matrix, files.dir, &error));
  files_assert_error (error, GEMMCL_ERROR_IO, "expected a file or nothing");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/matrix/types", test_types);
  g_test_add_func ("/matrix/new", test_new);
  g_test_add_func ("/matrix/new-bad", test_new_bad);
  g_test_add_func ("/matrix/values", test_values);
  g_test_add_func ("/matrix/orders", test_orders);
  g_test_add_func ("/matrix/same", test_same);
  g_test_add_func ("/matrix/too-large", test_too_large);
  g_test_add_func ("/matrix/save", test_save);
  g_test_add_func ("/matrix/save-over", test_save_over);
  g_test_add_func ("/matrix/save-bad", test_save_bad);
  return g_test_run ();
}
