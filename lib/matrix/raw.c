/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files of bare numbers, whose type and shape the user states.
 */
#include "matrix/matrix.h"

GemmclMatrix *
gemmcl_matrix_load_raw (const gchar *path, GemmclType type, gsize rows, gsize cols, GError **error)
{
  const gsize dims[] = {rows, cols};
  g_auto (GemmclFile) file = {.fd = -1};

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail ((guint)type < GEMMCL_N_TYPES, NULL);

  if (!gemmcl_file_open (&file, path, error))
    return NULL;
  return gemmcl_matrix_new_from_source (&(GemmclMatrixSource){.file = &file,
                                                              .prefix = "",
                                                              .length = file.size,
                                                              .exact = TRUE,
                                                              .type = type,
                                                              .dims = dims,
                                                              .n_dims = G_N_ELEMENTS (dims)},
                                        error);
}

/* @part: TYPE:ROWSxCOLS */
static gboolean
parse_raw_part (const gchar *part, GemmclType *type, gsize *rows, gsize *cols)
{
  g_auto (GStrv) words = g_strsplit (part, ":", 2);
  g_auto (GStrv) sizes = g_strsplit (words[0] != NULL && words[1] != NULL ? words[1] : "", "x", 2);
  guint64 size[2];

  if (g_strv_length (sizes) != 2 || !gemmcl_type_from_name (words[0], gemmcl_type_get_name, type) ||
      !g_ascii_string_to_unsigned (sizes[0], 10, 1, G_MAXSIZE, &size[0], NULL) ||
      !g_ascii_string_to_unsigned (sizes[1], 10, 1, G_MAXSIZE, &size[1], NULL))
    return FALSE;
  *rows = size[0];
  *cols = size[1];
  return TRUE;
}

static GemmclMatrix *
load_raw (const gchar *path, const gchar *part, GError **error)
{
  g_autofree gchar *found = gemmcl_quote (part != NULL ? part : "nothing");
  g_autofree gchar *names = NULL;
  GemmclType type;
  gsize rows, cols;

  if (part != NULL && parse_raw_part (part, &type, &rows, &cols))
    return gemmcl_matrix_load_raw (path, type, rows, cols, error);
  names = gemmcl_type_list (gemmcl_type_get_name);
  return FAIL_FILE_NULL (
      error, GEMMCL_ERROR_FORMAT, path,
      "After a .raw file expected #TYPE:ROWSxCOLS, as in #f32:64x10, found %s%s. "
      "The types are %s.",
      part != NULL ? "#" : "", found, names);
}

const GemmclReader gemmcl_reader_raw = {".raw", "FILE.raw#TYPE:ROWSxCOLS", load_raw};
