/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/** A file's descriptor, or -1. g_auto (GemmclFd) closes it, g_steal_fd() keeps it. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/** Reads @n bytes from @offset on. On failure errno has the reason, ENODATA for the file's end. */
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

/** Opens a regular file and does not wait at a pipe. #GEMMCL_ERROR_IO; #GEMMCL_ERROR_FORMAT for an
 * empty file. */
gboolean gemmcl_file_open (GemmclFile *self, const gchar *path, GError **error);

/** Returns: (transfer full): a copy of @n bytes within the file, aligned for any type, or %NULL
 * with #GEMMCL_ERROR_IO or #GEMMCL_ERROR_TOO_LARGE. */
gpointer gemmcl_file_read (const GemmclFile *self, gsize offset, gsize n, GError **error);

/** Replaces the file by @parts (each nullable), all or nothing. #GEMMCL_ERROR_IO. */
gboolean gemmcl_file_save (const gchar *path, GBytes *const *parts, gsize n, GError **error);
