/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/labels.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "memory/error.h"

#define MAX_SIZE        (64 << 20) /* bytes of a file */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define BLANKS          " \t\r\n"

/* Appends the label [@start, @end), without blanks around it, to @labels. FALSE if none is left. */
static gboolean
append (GPtrArray *labels, const gchar *start, const gchar *end)
{
  g_autofree gchar *label = g_strstrip (g_strndup (start, end - start));

  if (!*label)
    return FALSE;
  g_ptr_array_add (labels, g_steal_pointer (&label));
  return TRUE;
}

/* Appends the lines of @text, of @size bytes, to @labels. */
static gboolean
append_lines (GPtrArray *labels, const gchar *text, gsize size, GError **error)
{
  const gchar *line = text, *const end = text + size;

  if (size >= strlen (BYTE_ORDER_MARK) && memcmp (text, BYTE_ORDER_MARK, 3) == 0)
    line += strlen (BYTE_ORDER_MARK);
  while (line < end) {
    const gchar *next = memchr (line, '\n', end - line);
    const gchar *stop = next ? next : end;

    if (!g_utf8_validate (line, stop - line, NULL))
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "Line %u is not UTF-8, or has a zero byte. Expected a label in each "
                              "line, in UTF-8.",
                              labels->len + 1);
    if (!append (labels, line, stop))
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "Line %u is empty. Expected a label in each line.", labels->len + 1);
    line = stop + 1;
  }
  return labels->len > 0 || gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                                             "The file is empty. Expected a label in each line.");
}

static gboolean
append_file (GPtrArray *labels, const gchar *path, GError **error)
{
  g_autofree gchar *text = NULL;
  g_autoptr (GError) why = NULL;
  GStatBuf info = {0};
  gsize size;

  if (g_stat (path, &info) != 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_IO, "Cannot open the file: %s.",
                            g_strerror (errno));
  /* Opening a named pipe would wait for a writer. */
  if (!S_ISREG (info.st_mode))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_IO, "Expected a file, found %s.",
                            S_ISDIR (info.st_mode) ? "a directory" : "a pipe, socket or device");
  if (info.st_size > MAX_SIZE)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                            "The file has %" G_GINT64_FORMAT " bytes; expected at most %d.",
                            (gint64)info.st_size, MAX_SIZE);
  return g_file_get_contents (path, &text, &size, &why)
             ? append_lines (labels, text, size, error)
             : gst_gemmcl_fail (error, GEMMCL_ERROR_IO, "%s.", why->message);
}

/* Returns: (transfer full) (nullable): the path that a file: URI or @text itself names. */
static gchar *
get_path (const gchar *text, GError **error)
{
  g_autoptr (GError) why = NULL;
  g_autofree gchar *path = NULL;

  if (g_ascii_strncasecmp (text, "file:", strlen ("file:")) != 0)
    return g_strdup (text);
  path = g_filename_from_uri (text, NULL, &why);
  if (!path)
    gst_gemmcl_fail (error, GEMMCL_ERROR_IO, "Cannot read the URI: %s.", why->message);
  return g_steal_pointer (&path);
}

/* Appends the label at @text, in quotation marks, to @labels. A backslash is before such a mark and
 * before a backslash. Returns: (nullable): the first character behind it; NULL if there is none. */
static const gchar *
append_quoted (GPtrArray *labels, const gchar *text)
{
  const gchar mark = *text++;
  g_autoptr (GString) label = g_string_new (NULL);

  for (; *text != mark; text++) {
    if (*text == '\\')
      text++;
    if (!*text)
      return NULL;
    g_string_append_c (label, *text);
  }
  return append (labels, label->str, label->str + label->len) ? text + 1 : NULL;
}

/* Appends the items of @text, such as [cat, "hot dog"], to @labels. */
static gboolean
append_list (GPtrArray *labels, const gchar *text, GError **error)
{
  const gchar *at = text;

  if (!g_utf8_validate (text, -1, NULL))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT, "The list is not UTF-8.");
  do {
    at += 1 + strspn (at + 1, BLANKS);
    if (*at == '"' || *at == '\'') {
      at = append_quoted (labels, at);
    } else {
      const gsize length = strcspn (at, ",[]\"");

      at = append (labels, at, at + length) ? at + length : NULL;
    }
    if (at)
      at += strspn (at, BLANKS);
  } while (at && *at == ',');
  return (at && *at == ']' && at[1 + strspn (at + 1, BLANKS)] == '\0') ||
         gst_gemmcl_fail (
             error, GEMMCL_ERROR_FORMAT,
             "Cannot read the list at label %u. Expected labels that are not empty, as "
             "in [cat,dog] or [\"cat\",\"hot dog\"].",
             labels->len);
}

GPtrArray *
gst_gemmcl_labels_load (const gchar *text, GError **error)
{
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);
  const gchar *start = text + strspn (text, BLANKS);
  g_autofree gchar *path = NULL, *quoted = NULL;
  gboolean ok;

  if (*start == '[')
    ok = append_list (labels, start, error);
  else
    ok = (path = get_path (text, error)) && append_file (labels, path, error);
  if (ok)
    return g_steal_pointer (&labels);
  quoted = gemmcl_quote (text);
  g_prefix_error (error, "Cannot load labels=%s: ", quoted);
  return NULL;
}
