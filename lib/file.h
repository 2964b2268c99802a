/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/** GemmclFd: a file's descriptor, or -1. g_auto (GemmclFd) closes it, g_steal_fd() keeps it. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/** gemmcl_fd_read: Returns: whether @n bytes from @offset on were read; else errno states the
 * reason, ENODATA for a file that ends before. */
gboolean gemmcl_fd_read (gint fd, gpointer data, gsize n, goffset offset);

/**
 * GemmclFile:
 * @path: as it was opened, for messages; the caller's
 * @size: in bytes, more than 0, as it was when the file was opened
 *
 * An open file. What is read of it is a copy, which no change of the file reaches.
 */
typedef struct {
  const gchar *path;
  GemmclFd fd;
  gsize size;
} GemmclFile;

#define GEMMCL_FILE_INIT                                                                           \
  {                                                                                                \
    .fd = -1                                                                                       \
  }

void gemmcl_file_close (GemmclFile *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFile, gemmcl_file_close)

/**
 * gemmcl_file_open:
 *
 * Returns: whether @path is a regular file that is not empty; else %FALSE with #GEMMCL_ERROR_IO or,
 *   when it is empty, #GEMMCL_ERROR_FORMAT. Does not wait at a pipe.
 */
gboolean gemmcl_file_open (GemmclFile *self, const gchar *path, GError **error);

/**
 * gemmcl_file_read:
 * @offset, @n: bytes of the file, within its @size
 *
 * Returns: (transfer full): a copy of them, aligned for any type, or %NULL with #GEMMCL_ERROR_IO or
 *   #GEMMCL_ERROR_TOO_LARGE.
 */
gpointer gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error);

/** gemmcl_file_save: Writes @parts (each nullable), all or nothing, in place of the file that was
 * there. Returns: %FALSE with #GEMMCL_ERROR_IO. */
gboolean gemmcl_file_save (const gchar *path, GBytes *const *parts, gsize n, GError **error);
