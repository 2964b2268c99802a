/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes safetensors files; safetensors.c says what they are. */

#include <stdlib.h>

#include <jansson.h>

#include "fd.h"
#include "matrix-private.h"

/* Elements begin at a multiple of this. */
#define ALIGNMENT 8

#define MAX_TENSORS 3

static const gchar *const dtypes[GEMMCL_N_TYPES] = {
    [GEMMCL_TYPE_F32] = "F32",   [GEMMCL_TYPE_F64] = "F64", [GEMMCL_TYPE_F16] = "F16",
    [GEMMCL_TYPE_BF16] = "BF16", [GEMMCL_TYPE_I8] = "I8",   [GEMMCL_TYPE_U8] = "U8",
    [GEMMCL_TYPE_I16] = "I16",   [GEMMCL_TYPE_U16] = "U16", [GEMMCL_TYPE_I32] = "I32",
    [GEMMCL_TYPE_U32] = "U32",   [GEMMCL_TYPE_I64] = "I64", [GEMMCL_TYPE_U64] = "U64",
};

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/* What is to be written, floats first, so that all are aligned. */
typedef struct {
  const GemmclMatrix *matrix[MAX_TENSORS];
  gchar *name[MAX_TENSORS];
  guint n;
} Tensors;

static void
tensors_clear (Tensors *self)
{
  for (guint i = 0; i < self->n; i++)
    g_free (self->name[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Tensors, tensors_clear)

static void
add (Tensors *self, const GemmclMatrix *matrix, const gchar *name, const gchar *suffix)
{
  if (matrix == NULL)
    return;
  self->matrix[self->n] = matrix;
  self->name[self->n++] = g_strconcat (name, suffix, NULL);
}

static gsize
get_n_bytes (const GemmclMatrix *matrix)
{
  return gemmcl_matrix_get_rows (matrix) * gemmcl_matrix_get_cols (matrix) *
         gemmcl_type_get_size (gemmcl_matrix_get_element_type (matrix));
}

static GString *
make_header (const Tensors *tensors)
{
  g_autoptr (json_t) header = json_object ();
  GString *text = g_string_new (NULL);
  gchar *json;
  gsize end = 0;

  for (guint i = 0; i < tensors->n; i++) {
    const GemmclMatrix *matrix = tensors->matrix[i];
    const gsize begin = end;

    end += get_n_bytes (matrix);
    json_object_set_new (header, tensors->name[i],
                         json_pack ("{s:s, s:[II], s:[II]}", "dtype",
                                    dtypes[gemmcl_matrix_get_element_type (matrix)], "shape",
                                    (json_int_t)gemmcl_matrix_get_rows (matrix),
                                    (json_int_t)gemmcl_matrix_get_cols (matrix), "data_offsets",
                                    (json_int_t)begin, (json_int_t)end));
  }
  json = json_dumps (header, JSON_COMPACT);
  g_string_append (text, json);
  free (json);
  while (text->len % ALIGNMENT != 0)
    g_string_append_c (text, ' ');
  return text;
}

static gboolean
write_tensors (gint fd, gconstpointer data)
{
  const Tensors *tensors = data;
  g_autoptr (GString) header = make_header (tensors);
  const guint64 length = header->len;
  gboolean ok = gemmcl_fd_write (fd, &length, sizeof length) &&
                gemmcl_fd_write (fd, header->str, header->len);

  for (guint i = 0; ok && i < tensors->n; i++)
    ok = gemmcl_fd_write (fd, gemmcl_matrix_get_data (tensors->matrix[i]),
                          get_n_bytes (tensors->matrix[i]));
  return ok;
}

gboolean
gemmcl_matrix_save_safetensors (const GemmclMatrix *self, const gchar *path, const gchar *name,
                                GError **error)
{
  g_auto (Tensors) tensors = {0};

  g_return_val_if_fail (path != NULL && name != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (gemmcl_matrix_is_column_major (self)) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_INVALID, path,
                           "Expected a matrix whose rows lie together, which is all that a "
                           "safetensors file can hold, found one whose columns do.");
    return FALSE;
  }
  if (!g_utf8_validate (name, -1, NULL)) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_INVALID, path,
                           "Expected a tensor's name in UTF-8, found “%s”.", name);
    return FALSE;
  }
  add (&tensors, gemmcl_matrix_get_scales (self), name, GEMMCL_SCALE_SUFFIX);
  add (&tensors, gemmcl_matrix_get_zero_points (self), name, GEMMCL_ZERO_POINT_SUFFIX);
  add (&tensors, self, name, "");
  return gemmcl_replace_file (path, write_tensors, &tensors, error);
}
