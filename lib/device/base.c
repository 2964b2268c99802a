/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors, and files: opening, reading and replacing them.
 */
#include "device/base.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
G_DEFINE_QUARK (gemmcl-error-quark, gemmcl_error)
/* clang-format on */

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
  text = g_utf8_make_valid (message, -1);
  g_set_error_literal (error, GEMMCL_ERROR, code, text);
  return FALSE;
}

gboolean
gemmcl_fail_file (GError **error, GemmclError code, const gchar *path, const gchar *format, ...)
{
  g_autofree gchar *name = g_filename_display_name (path);
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
