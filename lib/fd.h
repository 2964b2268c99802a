/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/** GemmclFd: a file's descriptor, or -1. g_auto (GemmclFd) closes it, g_steal_fd() keeps it. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/**
 * gemmcl_fd_read: reads @n bytes that start at @offset of the file.
 *
 * Returns: whether all of them were read; else errno states the reason, ENODATA for a file that
 *   ends before.
 */
gboolean gemmcl_fd_read (gint fd, gpointer data, gsize n, goffset offset);

/** gemmcl_fd_write: Returns: whether all @n bytes were written; else errno states the reason. */
gboolean gemmcl_fd_write (gint fd, gconstpointer data, gsize n);
