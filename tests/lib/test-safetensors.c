/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The safetensors reader, file by file as it should and should not be. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files.h"
#include "gemmcl.h"

static const gfloat data[] = {1, 2, 3, 4, 5, 6};

static GemmclMatrix *
load_bytes (gconstpointer bytes, gsize n, const gchar *name, GError **error)
{
  g_auto (Files) files = {0};
  g_autofree gchar *path = NULL;

  files_init (&files);
  path = files_write (&files, "x.safetensors", bytes, n);
  return gemmcl_matrix_load_safetensors (path, name, error);
}

static GemmclMatrix *
load (const gchar *json, const gchar *name, GError **error)
{
  g_autoptr (GString) file = files_safetensors (json, data, sizeof data);

  return load_bytes (file->str, file->len, name, error);
}

/* Headers of every length, so that elements lie at every alignment. */
static void
test_good (void)
{
  static const gchar json[] =
      "{\"__metadata__\": {\"format\": \"pt\"},"
      " \"b\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [16, 24]},"
      " \"a\": {\"data_offsets\": [0, 16], \"shape\": [2, 2], \"dtype\": \"F32\"},"
      " \"s\": {\"dtype\": \"F32\", \"shape\": [0], \"data_offsets\": [24, 24]}}";

  for (guint pad = 0; pad < 8; pad++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *spaces = g_strnfill (pad, ' ');
    g_autofree gchar *padded = g_strconcat (json, spaces, NULL);
    g_autoptr (GemmclMatrix) a = load (padded, "a", &error);
    g_autoptr (GemmclMatrix) b = load (padded, "b", &error);
    g_autoptr (GemmclMatrix) aligned = NULL;

    g_assert_no_error (error);
    g_assert_cmpuint (gemmcl_matrix_get_rows (a), ==, 2);
    g_assert_cmpuint (gemmcl_matrix_get_cols (a), ==, 2);
    g_assert_cmpuint (gemmcl_matrix_get_rows (b), ==, 1);
    g_assert_cmpuint (gemmcl_matrix_get_cols (b), ==, 2);
    g_assert_cmpmem (gemmcl_matrix_get_data (b), 8, data + 4, 8);
    aligned = gemmcl_matrix_to_f32 (a, FALSE, &error);
    g_assert_no_error (error);
    g_assert_cmpuint ((guintptr)gemmcl_matrix_get_data (aligned) % 4, ==, 0);
    g_assert_cmpmem (gemmcl_matrix_get_data (aligned), 16, data, 16);
  }
}

static void
test_types (void)
{
  static const struct {
    const gchar *dtype;
    GemmclType type;
  } cases[] = {
      {"F32", GEMMCL_TYPE_F32},   {"F64", GEMMCL_TYPE_F64}, {"F16", GEMMCL_TYPE_F16},
      {"BF16", GEMMCL_TYPE_BF16}, {"I8", GEMMCL_TYPE_I8},   {"U8", GEMMCL_TYPE_U8},
      {"I16", GEMMCL_TYPE_I16},   {"U16", GEMMCL_TYPE_U16}, {"I32", GEMMCL_TYPE_I32},
      {"U32", GEMMCL_TYPE_U32},   {"I64", GEMMCL_TYPE_I64}, {"U64", GEMMCL_TYPE_U64},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *json = g_strdup_printf (
        "{\"t\": {\"dtype\": \"%s\", \"shape\": [%" G_GSIZE_FORMAT "], \"data_offsets\": [0, 24]}}",
        cases[i].dtype, 24 / gemmcl_type_get_size (cases[i].type));
    g_autoptr (GError) error = NULL;
    g_autoptr (GemmclMatrix) matrix = load (json, "t", &error);

    g_assert_no_error (error);
    g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, cases[i].type);
  }
}

#define TENSOR(name, dtype, shape, offsets)                                                        \
  "\"" name "\": {\"dtype\": " dtype ", \"shape\": " shape ", \"data_offsets\": " offsets "}"
#define ONE(dtype, shape, offsets) "{" TENSOR ("t", dtype, shape, offsets) "}"

static void
test_bad_headers (void)
{
  static const struct {
    const gchar *json;
    const gchar *message;
  } cases[] = {
      {ONE ("\"F32\"", "[5]", "[0, 24]"), "“t” (5 F32) does not fit the 24 bytes"},
      {ONE ("\"F32\"", "[4294967296, 4294967296]", "[0, 24]"), "does not fit the 24 bytes"},
      {ONE ("\"F32\"", "[99999999999999999999]", "[0, 24]"), "header is damaged"},
      {ONE ("\"F32\"", "[-6]", "[0, 24]"), "for “t” expected a dtype, a shape"},
      {ONE ("\"F32\"", "[6.0]", "[0, 24]"), "for “t” expected a dtype, a shape"},
      {ONE ("\"F32\"", "6", "[0, 24]"), "for “t” expected a dtype, a shape"},
      {ONE ("32", "[6]", "[0, 24]"), "for “t” expected a dtype, a shape"},
      {ONE ("\"F32\"", "[6]", "[0, 12, 24]"), "for “t” expected a dtype, a shape"},
      {ONE ("\"F32\"", "[6]", "[24, 0]"), "for “t” expected a dtype, a shape"},
      {ONE ("\"F32\"", "[6]", "[-24, 0]"), "for “t” expected a dtype, a shape"},
      {"{\"t\": 1}", "for “t” expected a dtype, a shape"},
      {ONE ("\"F32\"", "[7]", "[0, 28]"), "truncated: expected 28 bytes of elements, found 24"},
      {ONE ("\"F32\"", "[5]", "[0, 20]"), "too long: expected 20 bytes of elements, found 24"},
      {ONE ("\"F32\"", "[5]", "[4, 24]"), "expected “t” to begin at byte 0 of the elements"},
      {"{" TENSOR ("a", "\"F32\"", "[2]", "[0, 8]") "," TENSOR ("t", "\"F32\"", "[3]",
                                                                "[12, 24]") "}",
       "expected “t” to begin at byte 8 of the elements, found 12"},
      {"{" TENSOR ("a", "\"F32\"", "[4]", "[0, 16]") "," TENSOR ("t", "\"F32\"", "[3]",
                                                                 "[12, 24]") "}",
       "expected “t” to begin at byte 16 of the elements, found 12"},
      {"{" TENSOR ("t", "\"F32\"", "[6]", "[0, 24]") "," TENSOR ("t", "\"F32\"", "[6]",
                                                                 "[0, 24]") "}",
       "duplicate"},
      {"{\"__metadata__\": {\"x\": 1}, " TENSOR ("t", "\"F32\"", "[6]", "[0, 24]") "}",
       "expected strings in __metadata__"},
      {"{\"__metadata__\": [], " TENSOR ("t", "\"F32\"", "[6]", "[0, 24]") "}",
       "expected strings in __metadata__"},
      {"{\"t\": ", "header is damaged: at its byte"},
      {"{} {}", "header is damaged: at its byte"},
      {"[{}]", "does not start with the length"},
      {ONE ("\"F32\"", "[1, 2, 3]", "[0, 24]"), "“t”: Expected a matrix of at most 2 dimensions"},
      {ONE ("\"BOOL\"", "[24]", "[0, 24]"), "“t”: expected elements of F64"},
      {ONE ("\"F4\"", "[48]", "[0, 24]"), "U64, found F4"},
      {"{" TENSOR ("a", "\"F32\"", "[2, 3]", "[0, 24]") "," TENSOR ("t", "\"I8\"", "[0]",
                                                                    "[0, 0]") "}",
       "“t”: Expected at least one element, found a shape of 0"},
      {"{" TENSOR ("one", "\"F32\"", "[3]", "[0, 12]") "," TENSOR ("two", "\"F32\"", "[3]",
                                                                   "[12, 24]") "}",
       "found “t”. The file holds one, two"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (load (cases[i].json, "t", &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

static void
test_many_names (void)
{
  g_autoptr (GString) json = g_string_new ("{");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 24; i++)
    g_string_append_printf (
        json, "%s\"n%u\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [%u, %u]}",
        i == 0 ? "" : ", ", i, i, i + 1);
  g_string_append_c (json, '}');
  g_assert_null (load (json->str, "t", &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "n18, n19 and 4 more.");
}

static glong
get_peak_memory (void)
{
  struct rusage usage;

  g_assert_cmpint (getrusage (RUSAGE_SELF, &usage), ==, 0);
  return usage.ru_maxrss; /* KiB */
}

/* Of a large file that takes no room on the disk, one tensor alone is read. */
static void
test_large_file (void)
{
  static const gchar json[] =
      "{\"large\": {\"dtype\": \"U8\", \"shape\": [3000000000], \"data_offsets\": [0, 3000000000]},"
      " \"t\": {\"dtype\": \"F32\", \"shape\": [6], \"data_offsets\": [3000000000, 3000000024]}}";
  g_autoptr (GString) start = files_safetensors (json, NULL, 0);
  const gsize at = start->len + 3000000000;
  g_auto (Files) files = {0};
  g_autoptr (GemmclMatrix) matrix = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL;
  glong before;
  gint fd;

  files_init (&files);
  path = files_write (&files, "x.safetensors", start->str, start->len);
  fd = g_open (path, O_WRONLY | O_CLOEXEC, 0);
  if (pwrite (fd, data, sizeof data, at) != sizeof data) {
    close (fd);
    g_test_skip ("the file system has no sparse files of 3 GB");
    return;
  }
  close (fd);
  before = get_peak_memory ();
  matrix = gemmcl_matrix_load_safetensors (path, "t", &error);
  g_assert_no_error (error);
  g_assert_cmpmem (gemmcl_matrix_get_data (matrix), sizeof data, data, sizeof data);
  g_assert_cmpint (get_peak_memory () - before, <, 100 * 1024);
}

static void
test_bad_files (void)
{
  static const struct {
    const gchar *bytes;
    gsize n;
    const gchar *message;
  } cases[] = {
      {"", 0, "The file is empty"},
      {"\2\0\0\0", 4, "does not start with the length"},
      {"\0\0\0\0\0\0\0\0{}", 10, "does not start with the length"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "does not start with the length"},
      {"\3\0\0\0\0\0\0\0{}", 10, "truncated: expected a header of 3 bytes, found 2"},
      {"\2\0\0\0\0\0\0\0{}", 10, "found “t”. The file holds no tensors"},
      {"\4\0\0\0\0\0\0\0{\"\xff\"", 12, "header is damaged"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (load_bytes (cases[i].bytes, cases[i].n, "t", &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/safetensors/good", test_good);
  g_test_add_func ("/safetensors/types", test_types);
  g_test_add_func ("/safetensors/bad-headers", test_bad_headers);
  g_test_add_func ("/safetensors/many-names", test_many_names);
  g_test_add_func ("/safetensors/large-file", test_large_file);
  g_test_add_func ("/safetensors/bad-files", test_bad_files);
  return g_test_run ();
}
