/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-matrix.h"

/** A file's descriptor, or -1. g_auto (GemmclFd) closes it, g_steal_fd() keeps it. */
typedef gint GemmclFd;

void gemmcl_fd_close (GemmclFd *fd);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclFd, gemmcl_fd_close)

/** Reads @n bytes from @offset on. On failure errno has the reason, ENODATA for the file's end. */
gboolean gemmcl_fd_read (gint fd, gpointer data, gsize n, goffset offset);

/** An open file. What is read of it is a copy, which no change of the file reaches. */
typedef struct {
  const gchar *path; /* as it was opened, for messages; the caller's */
  GemmclFd fd;
  gsize size; /* in bytes, more than 0, as it was when the file was opened */
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

/** A matrix that a file claims to hold. */
typedef struct {
  const GemmclFile *file;
  const gchar *tensor; /* (nullable): the name of a part of the file, for messages */
  gsize offset;        /* where in the file the elements are */
  gsize length;        /* of what is there, in bytes, within the file */
  gboolean exact;      /* the elements are all of @length, nothing follows them */
  GemmclType type;
  gboolean column_major;
  const gsize *dims; /* the shape as the file states it, nothing checked */
  gsize n_dims;
} GemmclMatrixSource;

/** Returns: (transfer full): a matrix with a copy of the elements; %NULL with #GEMMCL_ERROR_FORMAT
 * when the shape is not that of a matrix or does not fit the file, or as gemmcl_file_read(). */
GemmclMatrix *gemmcl_matrix_new_from_source (const GemmclMatrixSource *source, GError **error);

/** Returns: (transfer full): what stands at @p, for "expected ..., found ...". */
gchar *gemmcl_describe_char (const gchar *p, const gchar *end);

/** Why a finite number is refused that as an f32 would be infinite. */
#define GEMMCL_EXPECTED_F32 "expected a number of at most 3.4e38, the largest of an f32"

/** Returns: (transfer full): "64 x 3 x 7"; "no dimensions" for none. */
gchar *gemmcl_describe_dims (const gsize *dims, gsize n_dims);
