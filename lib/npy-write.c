/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes NumPy's .npy files, version 1. */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

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
write_all (gint fd, const gchar *data, gsize n)
{
  while (n > 0) {
    gssize written = write (fd, data, n);

    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return FALSE;
    data += written;
    n -= written;
  }
  return TRUE;
}

static gboolean
write_matrix (gint fd, const GemmclMatrix *matrix)
{
  gsize n_bytes = 0;
  g_autoptr (GString) header = make_header (matrix);

  return gemmcl_matrix_get_n_bytes (gemmcl_matrix_get_element_type (matrix),
                                    gemmcl_matrix_get_rows (matrix),
                                    gemmcl_matrix_get_cols (matrix), &n_bytes) &&
         write_all (fd, header->str, header->len) &&
         write_all (fd, gemmcl_matrix_get_data (matrix), n_bytes) && g_fsync (fd) == 0;
}

gboolean
gemmcl_matrix_save_npy (const GemmclMatrix *self, const gchar *path, GError **error)
{
  g_autofree gchar *directory = NULL;
  g_autofree gchar *temporary = NULL;
  gboolean ok;
  gint why;
  gint fd;

  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

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
    ok = write_matrix (fd, self);
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
