/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all matrices of files share: reading, checking what a file claims against its size, and
 * writing one. */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix-private.h"

void
gemmcl_set_file_error (GError **error, GemmclError code, const gchar *path, const gchar *format,
                       ...)
{
  g_autofree gchar *name = g_filename_display_name (path);
  g_autofree gchar *message = NULL;
  g_autofree gchar *text = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  /* What it quotes of the user's words need not be UTF-8. */
  text = g_utf8_make_valid (message, -1);
  g_set_error (error, GEMMCL_ERROR, code, "%s: %s", name, text);
}

gchar *
gemmcl_describe_char (const gchar *p, const gchar *end)
{
  gunichar c;

  if (p == end)
    return g_strdup ("the end");
  c = g_utf8_get_char_validated (p, end - p);
  if (c == (gunichar)-1 || c == (gunichar)-2 || !g_unichar_isprint (c))
    return g_strdup_printf ("the byte 0x%02x", (guchar)*p);
  return g_strdup_printf ("“%.*s”", g_unichar_to_utf8 (c, NULL), p);
}

gchar *
gemmcl_describe_dims (const gsize *dims, gsize n_dims)
{
  GString *text = g_string_new (n_dims == 0 ? "no dimensions" : NULL);

  for (gsize i = 0; i < n_dims; i++)
    g_string_append_printf (text, "%s%" G_GSIZE_FORMAT, i == 0 ? "" : " x ", dims[i]);
  return g_string_free (text, FALSE);
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
  if (self->fd < 0) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path, "Cannot open the file: %s.",
                           g_strerror (errno));
    return FALSE;
  }
  if (fstat (self->fd, &info) != 0 || !S_ISREG (info.st_mode)) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path, "Expected a file, found %s.",
                           S_ISDIR (info.st_mode) ? "a directory" : "a pipe, socket or device");
    return FALSE;
  }
  if (info.st_size == 0) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, path, "The file is empty.");
    return FALSE;
  }
  self->size = info.st_size;
  return TRUE;
}

gpointer
gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error)
{
  g_autofree gpointer data = g_try_malloc (n);

  if (data == NULL && n > 0) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_TOO_LARGE, self->path,
                           "There is not enough memory for %" G_GSIZE_FORMAT " bytes of the file.",
                           n);
    return NULL;
  }
  if (gemmcl_fd_read (self->fd, data, n, offset))
    return g_steal_pointer (&data);
  gemmcl_set_file_error (error, GEMMCL_ERROR_IO, self->path, "Cannot read the file: %s.",
                         errno == ENODATA ? "it became shorter meanwhile" : g_strerror (errno));
  return NULL;
}

gboolean
gemmcl_replace_file (const gchar *path, GemmclFileWriter writer, gconstpointer data, GError **error)
{
  g_autofree gchar *directory = NULL;
  g_autofree gchar *temporary = NULL;
  gboolean ok;
  gint why;
  gint fd;

  /* Renaming would replace a device, /dev/null say, by a file. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path,
                           "Cannot write there: expected a file or nothing, found a directory, "
                           "pipe, socket or device.");
    return FALSE;
  }

  /* In the same directory, so that renaming neither copies nor fails half-way. */
  directory = g_path_get_dirname (path);
  temporary = g_build_filename (directory, ".gemmcl-XXXXXX", NULL);
  fd = g_mkstemp_full (temporary, O_WRONLY | O_CLOEXEC, 0666);
  ok = fd >= 0;
  if (ok) {
    ok = writer (fd, data) && g_fsync (fd) == 0;
    why = errno;
    if (close (fd) != 0 && ok) {
      ok = FALSE;
      why = errno;
    }
    if (ok && g_rename (temporary, path) != 0) {
      ok = FALSE;
      why = errno;
    }
    if (!ok)
      g_unlink (temporary);
  } else {
    why = errno;
  }
  if (!ok)
    gemmcl_set_file_error (error, GEMMCL_ERROR_IO, path, "Cannot write the file: %s.",
                           g_strerror (why));
  return ok;
}

/* Sets the error of a source: the file, the tensor if it is one of several, what is wrong. */
static void set_source_error (GError **error, const GemmclMatrixSource *source, const gchar *format,
                              ...) G_GNUC_PRINTF (3, 4);

static void
set_source_error (GError **error, const GemmclMatrixSource *source, const gchar *format, ...)
{
  g_autofree gchar *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  if (source->tensor != NULL)
    gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, source->file->path, "Tensor “%s”: %s",
                           source->tensor, message);
  else
    gemmcl_set_file_error (error, GEMMCL_ERROR_FORMAT, source->file->path, "%s", message);
}

/* Whether no finite element would be infinite as an f32, which of all types only f64 can be. */
static gboolean
check_range (const GemmclMatrixSource *source, const gdouble *elements, gsize rows, gsize cols,
             GError **error)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];
  gsize i = 0;

  while (i < rows * cols && (!isfinite (elements[i]) || isfinite ((gfloat)elements[i])))
    i++;
  if (i == rows * cols)
    return TRUE;
  set_source_error (error, source,
                    "Row %" G_GSIZE_FORMAT ", column %" G_GSIZE_FORMAT ": " GEMMCL_EXPECTED_F32
                    ", found %s.",
                    (source->column_major ? i % rows : i / cols) + 1,
                    (source->column_major ? i / rows : i % cols) + 1,
                    g_ascii_formatd (number, sizeof number, "%.9g", elements[i]));
  return FALSE;
}

GemmclMatrix *
gemmcl_matrix_new_from_source (const GemmclMatrixSource *source, GError **error)
{
  gsize n_dims = source->n_dims;
  gsize cols = n_dims >= 1 ? source->dims[n_dims - 1] : 1;
  gsize rows = n_dims >= 2 ? source->dims[n_dims - 2] : 1;
  const gchar *type = gemmcl_type_get_name (source->type);
  g_autofree gchar *shape = gemmcl_describe_dims (source->dims, n_dims);
  g_autofree gpointer elements = NULL;
  gsize n_bytes;

  if (n_dims > 2) {
    set_source_error (error, source,
                      "Expected a matrix of at most 2 dimensions, found %" G_GSIZE_FORMAT
                      " (%s). Reshape it before saving.",
                      n_dims, shape);
    return NULL;
  }
  if (rows == 0 || cols == 0) {
    set_source_error (error, source, "Expected at least one element, found a shape of %s.", shape);
    return NULL;
  }
  if (!gemmcl_matrix_get_n_bytes (source->type, rows, cols, &n_bytes)) {
    set_source_error (error, source, "A shape of %s %s is more than memory can hold.", shape, type);
    return NULL;
  }
  if (n_bytes > source->length || (source->exact && n_bytes != source->length)) {
    set_source_error (error, source,
                      "The file is %s: expected %" G_GSIZE_FORMAT
                      " bytes of elements (%s %s), found %" G_GSIZE_FORMAT ".",
                      n_bytes > source->length ? "truncated" : "too long", n_bytes, shape, type,
                      source->length);
    return NULL;
  }
  elements = gemmcl_file_read (source->file, source->offset, n_bytes, error);
  if (elements == NULL ||
      (source->type == GEMMCL_TYPE_F64 && !check_range (source, elements, rows, cols, error)))
    return NULL;
  return gemmcl_matrix_new_take (source->type, rows, cols, source->column_major,
                                 g_bytes_new_take (g_steal_pointer (&elements), n_bytes));
}

GemmclMatrix *
gemmcl_matrix_load_raw (const gchar *path, GemmclType type, gsize rows, gsize cols, GError **error)
{
  const gsize dims[] = {rows, cols};
  g_auto (GemmclFile) file = GEMMCL_FILE_INIT;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail ((guint)type < GEMMCL_N_TYPES, NULL);

  if (!gemmcl_file_open (&file, path, error))
    return NULL;
  return gemmcl_matrix_new_from_source (&(GemmclMatrixSource){.file = &file,
                                                              .length = file.size,
                                                              .exact = TRUE,
                                                              .type = type,
                                                              .dims = dims,
                                                              .n_dims = G_N_ELEMENTS (dims)},
                                        error);
}
