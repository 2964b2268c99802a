/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The readers of .npy and of safetensors, file by file as it should and should not be; and of
 * damaged files: whatever is wrong with them, they load within their bounds or say why not. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files.h"
#include "gemmcl.h"

#define ROUNDS 4000 /* damaged files of a kind */

static const gfloat data[] = {1, 2, 3, 4, 5, 6};

typedef GemmclMatrix *(*Load) (const gchar *path, GError **error);

/* An array of '|V2' is one of bf16. */
static GemmclMatrix *
open_npy (const gchar *path, GError **error)
{
  return gemmcl_matrix_load_npy (path, TRUE, error);
}

/* As it is without a word of what '|V2' is. */
static GemmclMatrix *
open_plain_npy (const gchar *path, GError **error)
{
  return gemmcl_matrix_load_npy (path, FALSE, error);
}

static GemmclMatrix *
open_tensor (const gchar *path, GError **error)
{
  return gemmcl_matrix_load_safetensors (path, "t", error);
}

static GemmclMatrix *
load (Load open, gconstpointer bytes, gsize n, GError **error)
{
  g_auto (Files) files = {0};
  g_autofree gchar *path = NULL;

  files_init (&files);
  path = files_write (&files, "x", bytes, n);
  return open (path, error);
}

static GemmclMatrix *
load_npy (Load open, guint version, const gchar *header, gsize n_bytes, GError **error)
{
  g_autoptr (GString) file = files_npy (version, header, data, n_bytes);

  return load (open, file->str, file->len, error);
}

/* The tensor called t. */
static GemmclMatrix *
load_tensor (const gchar *json, GError **error)
{
  g_autoptr (GString) file = files_safetensors (json, data, sizeof data);

  return load (open_tensor, file->str, file->len, error);
}

typedef struct {
  const gchar *bytes;
  gsize n;
  const gchar *message;
} BadFile;

static void
check_bad_files (Load open, const BadFile *cases, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (load (open, cases[i].bytes, cases[i].n, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

static void
test_npy_good (void)
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
        load_npy (open_plain_npy, cases[i].version, cases[i].header, sizeof data, &error);
    gsize n_bytes = cases[i].rows * cases[i].cols * sizeof *data;

    g_assert_no_error (error);
    g_assert_cmpuint (gemmcl_matrix_get_rows (matrix), ==, cases[i].rows);
    g_assert_cmpuint (gemmcl_matrix_get_cols (matrix), ==, cases[i].cols);
    g_assert_cmpint (gemmcl_matrix_is_column_major (matrix), ==, cases[i].column_major);
    g_assert_cmpmem (gemmcl_matrix_get_data (matrix), n_bytes, data, n_bytes);
  }
}

static void
test_npy_types (void)
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
    g_autoptr (GemmclMatrix) matrix = load_npy (open_npy, 1, header, sizeof data, &error);

    g_assert_no_error (error);
    g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, cases[i].type);
  }
}

#define WITH_DESCR(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (2, 3), }"
#define WITH_SHAPE(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }"

#define HEADER "Expected the .npy header of numbers of one plain type"

static void
test_npy_bad_headers (void)
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
      {WITH_DESCR ("[('a', '<f4'), ('b', '<f4')]"), HEADER},
      {WITH_DESCR ("('<f4', (2,))"), HEADER},
      {"{'descr': '<f4", HEADER},
      {WITH_DESCR ("'<f\\x34'"), HEADER},
      {WITH_DESCR ("4"), HEADER},
      {WITH_SHAPE ("(2, 3, 4)"), "at most 2 dimensions, found 3 (2 x 3 x 4)"},
      {WITH_SHAPE ("(0,)"), "at least one element, found a shape of 0"},
      {WITH_SHAPE ("(3, 0)"), "at least one element, found a shape of 3 x 0"},
      {WITH_SHAPE ("(2, 4)"), "truncated: expected 32 bytes of elements (2 x 4 f32), found 24"},
      {WITH_SHAPE ("(4294967296, 4294967296)"), "4294967296 f32 is more than memory can hold"},
      {WITH_SHAPE ("(2305843009213693952, 2)"), "more than memory can hold"},
      {WITH_SHAPE ("(99999999999999999999999, 2)"), "more than memory can hold"},
      {WITH_SHAPE ("(1000000, 1000000)"), "truncated: expected 4000000000000 bytes"},
      {WITH_SHAPE ("(-1, 3)"), HEADER},
      {WITH_SHAPE ("(6)"), HEADER},
      {WITH_SHAPE ("(2 3)"), HEADER},
      {WITH_SHAPE ("(,)"), HEADER},
      {WITH_SHAPE ("[2, 3]"), HEADER},
      {WITH_SHAPE ("(2, 3"), HEADER},
      {"", HEADER ", such as"},
      {"{}", HEADER},
      {"{'descr': '<f4', 'shape': (2, 3)}", HEADER},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", HEADER},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", HEADER},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3)}", HEADER},
      {"{'descr' '<f4'}", HEADER},
      {"{'descr': '<f4' 'shape': (2, 3)}", HEADER},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} + {}", HEADER},
      {"{'descr': __import__('os'), 'fortran_order': False, 'shape': (2, 3)}", HEADER},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (load_npy (open_plain_npy, 1, cases[i].header, sizeof data, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

static void
test_npy_bad_files (void)
{
  g_autofree gchar *spaces = g_strnfill (10001, ' ');
  static const BadFile cases[] = {
      {"", 0, "The file is empty"},
      {"\x93NUMPY", 6, "does not start with"},
      {"PK\3\4 an archive", 16, "does not start with"},
      {"\x93NUMPY\4\0\1\0{", 11, "found 4.0"},
      {"\x93NUMPY\1\1\1\0{", 11, "found 1.1"},
      {"\x93NUMPY\1\0\x80\0{", 11, "ends inside of the .npy header"},
      {"\x93NUMPY\2\0\1\0", 10, "ends inside of the .npy header"},
      {"\x93NUMPY\2\0\xff\xff\xff\xff{", 13, "ends inside of the .npy header"},
  };
  g_autoptr (GError) error = NULL;

  check_bad_files (open_plain_npy, cases, G_N_ELEMENTS (cases));
  g_assert_null (load_npy (open_plain_npy, 1, spaces, 0, &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "at most 10000 bytes, found 10038");
}

static GemmclMatrix *
open_second (const gchar *path, GError **error)
{
  return gemmcl_matrix_load_safetensors (path, "b", error);
}

/* Headers of every length, so that elements lie at every alignment. */
static void
test_tensors_good (void)
{
  static const gchar json[] =
      "{\"__metadata__\": {\"format\": \"pt\"},"
      " \"b\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [16, 24]},"
      " \"t\": {\"data_offsets\": [0, 16], \"shape\": [2, 2], \"dtype\": \"F32\"},"
      " \"s\": {\"dtype\": \"F32\", \"shape\": [0], \"data_offsets\": [24, 24]}}";

  for (guint pad = 0; pad < 8; pad++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *spaces = g_strnfill (pad, ' ');
    g_autofree gchar *padded = g_strconcat (json, spaces, NULL);
    g_autoptr (GString) file = files_safetensors (padded, data, sizeof data);
    g_autoptr (GemmclMatrix) a = load_tensor (padded, &error);
    g_autoptr (GemmclMatrix) b = load (open_second, file->str, file->len, &error);
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
test_tensors_types (void)
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
    g_autoptr (GemmclMatrix) matrix = load_tensor (json, &error);

    g_assert_no_error (error);
    g_assert_cmpint (gemmcl_matrix_get_element_type (matrix), ==, cases[i].type);
  }
}

#define TENSOR(name, dtype, shape, offsets)                                                        \
  "\"" name "\": {\"dtype\": " dtype ", \"shape\": " shape ", \"data_offsets\": " offsets "}"
#define ONE(dtype, shape, offsets) "{" TENSOR ("t", dtype, shape, offsets) "}"

static void
test_tensors_bad_headers (void)
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

    g_assert_null (load_tensor (cases[i].json, &error));
    files_assert_error (error, GEMMCL_ERROR_FORMAT, cases[i].message);
  }
}

static void
test_tensors_many_names (void)
{
  g_autoptr (GString) json = g_string_new ("{");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 24; i++)
    g_string_append_printf (
        json, "%s\"n%u\": {\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [%u, %u]}",
        i == 0 ? "" : ", ", i, i, i + 1);
  g_string_append_c (json, '}');
  g_assert_null (load_tensor (json->str, &error));
  files_assert_error (error, GEMMCL_ERROR_FORMAT, "n18, n19 and 4 more.");
}

static glong
get_peak_memory (void)
{
  struct rusage usage;

  g_assert_cmpint (getrusage (RUSAGE_SELF, &usage), ==, 0);
  return usage.ru_maxrss; /* KiB */
}

/* Only the named tensor of a large sparse file is read. */
static void
test_tensors_large_file (void)
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
test_tensors_bad_files (void)
{
  static const BadFile cases[] = {
      {"", 0, "The file is empty"},
      {"\2\0\0\0", 4, "does not start with the length"},
      {"\0\0\0\0\0\0\0\0{}", 10, "does not start with the length"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "does not start with the length"},
      {"\3\0\0\0\0\0\0\0{}", 10, "truncated: expected a header of 3 bytes, found 2"},
      {"\2\0\0\0\0\0\0\0{}", 10, "found “t”. The file holds no tensors"},
      {"\4\0\0\0\0\0\0\0{\"\xff\"", 12, "header is damaged"},
  };

  check_bad_files (open_tensor, cases, G_N_ELEMENTS (cases));
}

/* Damages the file's first bytes, where the header is, or its length. */
static void
damage (GString *file, gsize header, GRand *random)
{
  static const gchar bytes[] = "\0\xff{}[]()'\",:0123456789-L<>|#fiuVO\\ \n";
  gint n = g_rand_int_range (random, 1, 3);

  for (gint i = 0; i < n && file->len > 0; i++) {
    gsize at = g_rand_int_range (random, 0, MIN (header, file->len));

    switch (g_rand_int_range (random, 0, 12)) {
    case 0:
      file->str[at] ^= 1 << g_rand_int_range (random, 0, 8);
      break;
    case 1:
      file->str[at] = bytes[g_rand_int_range (random, 0, sizeof bytes - 1)];
      break;
    case 2:
      g_string_erase (file, at, 1);
      break;
    case 3:
      g_string_insert_c (file, at, bytes[g_rand_int_range (random, 0, sizeof bytes - 1)]);
      break;
    case 4:
      g_string_truncate (file, g_rand_int_range (random, 0, file->len));
      break;
    default: /* most of all another number, which alone can make a header that is believed */
      while (at < file->len && !g_ascii_isdigit (file->str[at]))
        at++;
      if (at < file->len)
        file->str[at] = '0' + g_rand_int_range (random, 0, 10);
    }
  }
}

static void
mutate (const GString *original, gsize header, const gchar *name, Load open)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (20240229);
  g_auto (Files) files = {0};
  guint loaded = 0, refused = 0;

  files_init (&files);
  for (guint round = 0; round < ROUNDS; round++) {
    g_autoptr (GString) file = g_string_new_len (original->str, original->len);
    g_autofree gchar *path = NULL;
    g_autoptr (GemmclMatrix) matrix = NULL;
    g_autoptr (GemmclMatrix) f32 = NULL;
    g_autoptr (GError) error = NULL;

    damage (file, header, random);
    path = files_write (&files, name, file->str, file->len);
    matrix = open (path, &error);
    if (matrix == NULL) {
      g_assert_nonnull (error);
      g_assert_true (error->domain == GEMMCL_ERROR);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      refused++;
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpuint (gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix) *
                          gemmcl_type_get_size (gemmcl_matrix_get_element_type (matrix)),
                      <=, file->len);
    /* Reads every element, transposing so that the result is a new matrix. */
    f32 = gemmcl_matrix_to_f32 (matrix, TRUE, &error);
    g_assert_no_error (error);
    loaded++;
  }
  g_test_message ("%u loaded, %u refused", loaded, refused);
  g_assert_cmpuint (loaded, >, ROUNDS / 50);
  g_assert_cmpuint (refused, >, ROUNDS / 2);
}

static void
test_npy_damaged (void)
{
  gfloat zeros[77] = {0};

  for (guint version = 1; version <= 3; version++) {
    g_autoptr (GString) file =
        files_npy (version, "{'descr': '<f4', 'fortran_order': True, 'shape': (7, 11), }", zeros,
                   sizeof zeros);

    mutate (file, 75, "m.npy", open_npy);
  }
}

static void
test_tensors_damaged (void)
{
  gfloat zeros[77] = {0};
  static const gchar json[] =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"t\":{\"dtype\":\"F32\",\"shape\":[7,10],\"data_offsets\":[28,308]},"
      "\"fc1.bias\":{\"dtype\":\"F32\",\"shape\":[7],\"data_offsets\":[0,28]}}    ";
  g_autoptr (GString) file = files_safetensors (json, zeros, sizeof zeros);

  mutate (file, sizeof json + 8, "m.safetensors", open_tensor);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/npy/good", test_npy_good);
  g_test_add_func ("/formats/npy/types", test_npy_types);
  g_test_add_func ("/formats/npy/bad-headers", test_npy_bad_headers);
  g_test_add_func ("/formats/npy/bad-files", test_npy_bad_files);
  g_test_add_func ("/formats/npy/damaged", test_npy_damaged);
  g_test_add_func ("/formats/safetensors/good", test_tensors_good);
  g_test_add_func ("/formats/safetensors/types", test_tensors_types);
  g_test_add_func ("/formats/safetensors/bad-headers", test_tensors_bad_headers);
  g_test_add_func ("/formats/safetensors/many-names", test_tensors_many_names);
  g_test_add_func ("/formats/safetensors/large-file", test_tensors_large_file);
  g_test_add_func ("/formats/safetensors/bad-files", test_tensors_bad_files);
  g_test_add_func ("/formats/safetensors/damaged", test_tensors_damaged);
  return g_test_run ();
}
