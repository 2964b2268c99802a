/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files of bare numbers, whose type and shape the user states.
 */
#include "matrix/matrix.h"

/* @part: TYPE:ROWSxCOLS */
static gboolean
parse_part (const gchar *part, GemmclType *type, gsize dims[2])
{
  g_auto (GStrv) words = g_strsplit (part, ":", 2);
  g_auto (GStrv) sizes = g_strsplit (words[0] != NULL && words[1] != NULL ? words[1] : "", "x", 2);
  guint64 rows, cols;

  if (g_strv_length (sizes) != 2 || !gemmcl_type_from_name (words[0], gemmcl_type_get_name, type) ||
      !g_ascii_string_to_unsigned (sizes[0], 10, 1, G_MAXSIZE, &rows, NULL) ||
      !g_ascii_string_to_unsigned (sizes[1], 10, 1, G_MAXSIZE, &cols, NULL))
    return FALSE;
  dims[0] = rows;
  dims[1] = cols;
  return TRUE;
}

static GemmclMatrix *
load_raw (const gchar *path, const gchar *part, GError **error)
{
  g_autofree gchar *found = gemmcl_quote (part != NULL ? part : "nothing");
  g_autofree gchar *names = NULL;
  g_auto (GemmclFile) file = {.fd = -1};
  gsize dims[2];
  GemmclMatrixSource source = {
      .file = &file, .prefix = "", .exact = TRUE, .dims = dims, .n_dims = G_N_ELEMENTS (dims)};

  if (part != NULL && parse_part (part, &source.type, dims)) {
    if (!gemmcl_file_open (&file, path, error))
      return NULL;
    source.length = file.size;
    return gemmcl_matrix_new_from_source (&source, error);
  }
  names = gemmcl_type_list (gemmcl_type_get_name);
  return FAIL_FILE_NULL (
      error, GEMMCL_ERROR_FORMAT, path,
      "After a .raw file expected #TYPE:ROWSxCOLS, as in #f32:64x10, found %s%s. "
      "The types are %s.",
      part != NULL ? "#" : "", found, names);
}

const GemmclReader gemmcl_reader_raw = {".raw", "FILE.raw#TYPE:ROWSxCOLS", load_raw};
