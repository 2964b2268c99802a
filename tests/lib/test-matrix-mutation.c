/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Damaged files: whatever is wrong with them, they load within their bounds or say why not. */

#include "files.h"
#include "gemmcl.h"

#define ROUNDS 4000

typedef GemmclMatrix *(*Load) (const gchar *path, GError **error);

static GemmclMatrix *
load_npy (const gchar *path, GError **error)
{
  return gemmcl_matrix_load_npy (path, TRUE, error);
}

static GemmclMatrix *
load_safetensors (const gchar *path, GError **error)
{
  return gemmcl_matrix_load_safetensors (path, "fc1.weight", error);
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
mutate (const GString *original, gsize header, const gchar *name, Load load)
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
    matrix = load (path, &error);
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
test_npy (void)
{
  gfloat data[77] = {0};

  for (guint version = 1; version <= 3; version++) {
    g_autoptr (GString) file = files_npy (
        version, "{'descr': '<f4', 'fortran_order': True, 'shape': (7, 11), }", data, sizeof data);

    mutate (file, 75, "m.npy", load_npy);
  }
}

static void
test_safetensors (void)
{
  gfloat data[77] = {0};
  static const gchar json[] =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"fc1.weight\":{\"dtype\":\"F32\",\"shape\":[7,10],\"data_offsets\":[28,308]},"
      "\"fc1.bias\":{\"dtype\":\"F32\",\"shape\":[7],\"data_offsets\":[0,28]}}    ";
  g_autoptr (GString) file = files_safetensors (json, data, sizeof data);

  mutate (file, sizeof json + 8, "m.safetensors", load_safetensors);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/matrix-mutation/npy", test_npy);
  g_test_add_func ("/matrix-mutation/safetensors", test_safetensors);
  return g_test_run ();
}
