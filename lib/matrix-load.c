/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a user types to name a matrix, and which reader it means. */

#include <string.h>

#include "matrix-private.h"

#define FORMS                                                                                      \
  "a literal such as [[1, 2], [3, 4]], FILE.npy, FILE.npy#bf16, FILE.safetensors#NAME or "         \
  "FILE.raw#TYPE:ROWSxCOLS"

/* Cuts "file#part" in two, *part NULL where there is none. Both may hold a '#' themselves: the
 * longest file that exists is meant, and if there is none the first '#' counts. */
static gchar *
split_path (const gchar *where, gchar **part)
{
  const gchar *first = strchr (where, '#');

  *part = NULL;
  if (first == NULL || g_file_test (where, G_FILE_TEST_EXISTS))
    return g_strdup (where);
  for (const gchar *hash = strrchr (where, '#'); hash != NULL;
       hash = g_strrstr_len (where, hash - where, "#")) {
    g_autofree gchar *path = g_strndup (where, hash - where);

    if (hash == first || g_file_test (path, G_FILE_TEST_EXISTS)) {
      *part = g_strdup (hash + 1);
      return g_steal_pointer (&path);
    }
  }
  return g_strdup (where);
}

/* As split_path() for a URI, where a '#' that is not the separator is written %23. */
static gchar *
split_uri (const gchar *uri, gchar **part, GError **error)
{
  const gchar *hash = strchr (uri, '#');
  g_autofree gchar *file = hash != NULL ? g_strndup (uri, hash - uri) : g_strdup (uri);
  g_autofree gchar *path = NULL;
  g_autofree gchar *host = NULL;
  g_autoptr (GError) why = NULL;

  *part = hash != NULL ? g_uri_unescape_string (hash + 1, NULL) : NULL;
  if (hash != NULL && *part == NULL) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, uri,
                           "What follows the “#” of a URI must have each %% followed by two "
                           "hexadecimal digits.");
    return NULL;
  }
  path = g_filename_from_uri (file, &host, &why);
  if (path != NULL && (host == NULL || g_ascii_strcasecmp (host, "localhost") == 0))
    return g_steal_pointer (&path);
  if (path != NULL)
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, uri,
                           "Expected a file of this machine (file:///...), found the host “%s”.",
                           host);
  else
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, uri, "Cannot read the URI: %s.", why->message);
  g_clear_pointer (part, g_free);
  return NULL;
}

static gboolean
has_suffix (const gchar *path, const gchar *suffix)
{
  gsize length = strlen (path);
  gsize n = strlen (suffix);

  return length >= n && g_ascii_strcasecmp (path + length - n, suffix) == 0;
}

static GemmclMatrix *
load_npy (const gchar *path, const gchar *part, GError **error)
{
  if (part == NULL || g_str_equal (part, "bf16"))
    return gemmcl_matrix_load_npy (path, part != NULL, error);
  gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, path,
                         "After a .npy file expected nothing or #bf16, found “#%s”.", part);
  return NULL;
}

/* @part: TYPE:ROWSxCOLS */
static gboolean
parse_raw_part (const gchar *part, GemmclType *type, gsize *rows, gsize *cols)
{
  g_auto (GStrv) words = g_strsplit (part, ":", 2);
  g_auto (GStrv) sizes = g_strsplit (words[0] != NULL && words[1] != NULL ? words[1] : "", "x", 2);
  guint64 size[2];

  if (g_strv_length (sizes) != 2 || !gemmcl_type_from_name (words[0], type) ||
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
  g_autoptr (GString) names = NULL;
  GemmclType type;
  gsize rows, cols;

  if (part != NULL && parse_raw_part (part, &type, &rows, &cols))
    return gemmcl_matrix_load_raw (path, type, rows, cols, error);

  names = g_string_new (NULL);
  for (guint i = 0; i < GEMMCL_N_TYPES; i++)
    g_string_append_printf (names, "%s%s", i == 0 ? "" : ", ",
                            gemmcl_type_get_name ((GemmclType)i));
  gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, path,
                         "After a .raw file expected #TYPE:ROWSxCOLS, as in #f32:64x10, found "
                         "%s%s. The types are %s.",
                         part != NULL ? "#" : "nothing", part != NULL ? part : "", names->str);
  return NULL;
}

GemmclMatrix *
gemmcl_matrix_load (const gchar *where, GError **error)
{
  const gchar *start = where;
  g_autofree gchar *path = NULL;
  g_autofree gchar *part = NULL;

  g_return_val_if_fail (where != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  while (g_ascii_isspace (*start))
    start++;
  if (*start == '[')
    return gemmcl_matrix_parse (where, error);

  if (g_ascii_strncasecmp (where, "file:", strlen ("file:")) == 0)
    path = split_uri (where, &part, error);
  else
    path = split_path (where, &part);
  if (path == NULL)
    return NULL;

  if (has_suffix (path, ".npy"))
    return load_npy (path, part, error);
  if (has_suffix (path, ".safetensors"))
    return gemmcl_matrix_load_safetensors (path, part != NULL ? part : "", error);
  if (has_suffix (path, ".raw"))
    return load_raw (path, part, error);
  gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, where, "Expected " FORMS ".");
  return NULL;
}
