/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes NumPy's .npy files, version 1. */

#include "fd.h"
#include "matrix-private.h"
#include "npy-private.h"

/* NumPy aligns the elements to this. */
#define ALIGNMENT 64

static const gchar *const descrs[GEMMCL_N_TYPES] = {
    [GEMMCL_TYPE_F32] = "<f4",  [GEMMCL_TYPE_F64] = "<f8", [GEMMCL_TYPE_F16] = "<f2",
    [GEMMCL_TYPE_BF16] = "|V2", [GEMMCL_TYPE_I8] = "|i1",  [GEMMCL_TYPE_U8] = "|u1",
    [GEMMCL_TYPE_I16] = "<i2",  [GEMMCL_TYPE_U16] = "<u2", [GEMMCL_TYPE_I32] = "<i4",
    [GEMMCL_TYPE_U32] = "<u4",  [GEMMCL_TYPE_I64] = "<i8", [GEMMCL_TYPE_U64] = "<u8",
};

gboolean
gemmcl_npy_find_type (const gchar *descr, GemmclType *type)
{
  for (guint i = 0; i < GEMMCL_N_TYPES; i++) {
    if (i != GEMMCL_TYPE_BF16 && g_str_equal (descr, descrs[i])) {
      *type = (GemmclType)i;
      return TRUE;
    }
  }
  return FALSE;
}

static GString *
make_header (const GemmclMatrix *matrix)
{
  GString *header = g_string_new_len (GEMMCL_NPY_MAGIC "\1\0\0\0", GEMMCL_NPY_PREFIX_V1);
  gsize length;

  g_string_append_printf (header,
                          "{'descr': '%s', 'fortran_order': %s, 'shape': (%" G_GSIZE_FORMAT
                          ", %" G_GSIZE_FORMAT "), }",
                          descrs[gemmcl_matrix_get_element_type (matrix)],
                          gemmcl_matrix_is_column_major (matrix) ? "True" : "False",
                          gemmcl_matrix_get_rows (matrix), gemmcl_matrix_get_cols (matrix));
  while ((header->len + 1) % ALIGNMENT != 0)
    g_string_append_c (header, ' ');
  g_string_append_c (header, '\n');

  length = header->len - GEMMCL_NPY_PREFIX_V1;
  header->str[8] = (gchar)(length & 0xff);
  header->str[9] = (gchar)(length >> 8);
  return header;
}

static gboolean
write_matrix (gint fd, gconstpointer data)
{
  const GemmclMatrix *matrix = data;
  gsize n_bytes = 0;
  g_autoptr (GString) header = make_header (matrix);

  return gemmcl_matrix_get_n_bytes (gemmcl_matrix_get_element_type (matrix),
                                    gemmcl_matrix_get_rows (matrix),
                                    gemmcl_matrix_get_cols (matrix), &n_bytes) &&
         gemmcl_fd_write (fd, header->str, header->len) &&
         gemmcl_fd_write (fd, gemmcl_matrix_get_data (matrix), n_bytes);
}

gboolean
gemmcl_matrix_save_npy (const GemmclMatrix *self, const gchar *path, GError **error)
{
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return gemmcl_replace_file (path, write_matrix, self, error);
}
