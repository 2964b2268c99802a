/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device/base.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
G_DEFINE_QUARK (gemmcl-error-quark, gemmcl_error)
/* clang-format on */

/* The bytes of a long text that gemmcl_quote() keeps on each side of CUT */
#define CUT       "…"
#define KEPT_TAIL 80
#define KEPT_HEAD (GEMMCL_QUOTE_SIZE - KEPT_TAIL - strlen (CUT))

/* @kept: the invisible characters, of ASCII, that are not escaped */
static GString *
escape (const gchar *text, const gchar *kept)
{
  GString *escaped = g_string_new (NULL);
  const gchar *next;

  for (const gchar *p = text; *p != '\0'; p = next) {
    const gunichar character = g_utf8_get_char_validated (p, -1);
    const gboolean is_valid = character < (gunichar)-2;

    next = is_valid ? g_utf8_next_char (p) : p + 1;
    if (is_valid && (g_unichar_isprint (character) || strchr (kept, *p) != NULL))
      g_string_append_len (escaped, p, next - p);
    else if (is_valid && *p == '\n')
      g_string_append (escaped, "\\n");
    else if (is_valid && character > 0x7f)
      g_string_append_printf (escaped, "\\u%04x", character);
    else
      g_string_append_printf (escaped, "\\x%02x", (guchar)*p);
  }
  return escaped;
}

gchar *
gemmcl_make_printable (const gchar *text)
{
  g_return_val_if_fail (text != NULL, NULL);

  return g_string_free (escape (text, "\n\t"), FALSE);
}

gchar *
gemmcl_quote (const gchar *text)
{
  GString *quoted;
  const gchar *head, *tail;

  g_return_val_if_fail (text != NULL, NULL);

  quoted = escape (text, "");
  if (quoted->len > GEMMCL_QUOTE_SIZE) {
    head = g_utf8_find_prev_char (quoted->str, quoted->str + KEPT_HEAD + 1);
    tail = g_utf8_find_next_char (quoted->str + quoted->len - KEPT_TAIL - 1, NULL);
    g_string_erase (quoted, head - quoted->str, tail - head);
    g_string_insert (quoted, head - quoted->str, CUT);
  }
  return g_string_free (quoted, FALSE);
}

gboolean
gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
{
  g_autofree gchar *message = NULL, *text = NULL;
  va_list args;

  if (error == NULL)
    return FALSE;
  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  text = gemmcl_make_printable (message);
  g_set_error_literal (error, GEMMCL_ERROR, code, text);
  return FALSE;
}

gboolean
gemmcl_fail_file (GError **error, GemmclError code, const gchar *path, const gchar *format, ...)
{
  g_autofree gchar *name = gemmcl_quote (path);
  g_autofree gchar *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  return gemmcl_fail (error, code, "%s: %s", name, message);
}

void
gemmcl_fd_close (GemmclFd *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

void
gemmcl_file_close (GemmclFile *self)
{
  gemmcl_fd_close (&self->fd);
}

gboolean
gemmcl_file_open (GemmclFile *self, const gchar *path, GError **error)
{
  struct stat info = {0};

  self->path = path;
  /* Without O_NONBLOCK, opening a named pipe would wait for a writer. */
  self->fd = g_open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
  if (self->fd < 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Cannot open the file: %s.",
                             g_strerror (errno));
  if (fstat (self->fd, &info) != 0 || !S_ISREG (info.st_mode))
    return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Expected a file, found %s.",
                             S_ISDIR (info.st_mode) ? "a directory" : "a pipe, socket or device");
  if (info.st_size == 0)
    return gemmcl_fail_file (error, GEMMCL_ERROR_FORMAT, path, "The file is empty.");
  self->size = info.st_size;
  return TRUE;
}

gpointer
gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error)
{
  g_autofree gchar *data = g_try_malloc (n);

  if (data == NULL && n > 0)
    return FAIL_FILE_NULL (error, GEMMCL_ERROR_TOO_LARGE, self->path,
                           "There is not enough memory for %zu bytes of the file.", n);
  for (gsize at = 0; at < n;) {
    const gssize got = pread (self->fd, data + at, n - at, offset + at);

    if (got == 0 || (got < 0 && errno != EINTR))
      return FAIL_FILE_NULL (error, GEMMCL_ERROR_IO, self->path, "Cannot read the file: %s.",
                             got == 0 ? "it became shorter while it was read" : g_strerror (errno));
    at += MAX (got, 0);
  }
  return g_steal_pointer (&data);
}

static gboolean
write_parts (gint fd, GBytes *const *parts, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    gsize size = 0;
    const gchar *data = parts[i] != NULL ? g_bytes_get_data (parts[i], &size) : NULL;

    for (gsize at = 0; at < size;) {
      const gssize written = write (fd, data + at, size - at);

      if (written < 0 && errno != EINTR)
        return FALSE;
      at += MAX (written, 0);
    }
  }
  return TRUE;
}

gboolean
gemmcl_file_save (const gchar *path, gint mode, GBytes *const *parts, gsize n, GError **error)
{
  /* The temporary file is in the same directory, so that renaming is atomic. */
  g_autofree gchar *directory = g_path_get_dirname (path);
  g_autofree gchar *temporary = g_build_filename (directory, ".gemmcl-XXXXXX", NULL);
  g_auto (GemmclFd) fd = -1;
  gboolean made;
  gint why;

  /* Renaming would replace a device such as /dev/null by a file. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path,
                             "Cannot write there: expected a file or nothing, found a directory, "
                             "pipe, socket or device.");
  fd = g_mkstemp_full (temporary, O_WRONLY | O_CLOEXEC, mode);
  made = fd >= 0;
  if (made && write_parts (fd, parts, n) && g_fsync (fd) == 0 && close (g_steal_fd (&fd)) == 0 &&
      g_rename (temporary, path) == 0)
    return TRUE;
  why = errno;
  if (made)
    g_unlink (temporary);
  return gemmcl_fail_file (error, GEMMCL_ERROR_IO, path, "Cannot write the file: %s.",
                           g_strerror (why));
}
