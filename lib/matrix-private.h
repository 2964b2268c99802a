/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fd.h"
#include "gemmcl-matrix.h"

/** gemmcl_type_from_name: Returns: whether @name is what gemmcl_type_get_name() gives a type. */
gboolean gemmcl_type_from_name (const gchar *name, GemmclType *type);

/** gemmcl_type_load_f32: Returns: element @index behind @data, at any alignment. */
gfloat gemmcl_type_load_f32 (GemmclType type, gconstpointer data, gsize index);

/**
 * gemmcl_matrix_get_n_bytes:
 * @n_bytes: (out): bytes in a matrix of this type and shape
 *
 * Returns: %FALSE when the number overflows.
 */
gboolean gemmcl_matrix_get_n_bytes (GemmclType type, gsize rows, gsize cols, gsize *n_bytes);

/**
 * gemmcl_matrix_new_take:
 * @bytes: (transfer full): the elements, all of them, aligned for their type
 *
 * Every matrix is made here. The shape and the size of @bytes have been checked by the caller.
 */
GemmclMatrix *gemmcl_matrix_new_take (GemmclType type, gsize rows, gsize cols,
                                      gboolean column_major, GBytes *bytes);

/** gemmcl_matrix_new_scaled: gemmcl_matrix_new_quantized() of scales and zero points that have been
 * checked, both f32. */
GemmclMatrix *gemmcl_matrix_new_scaled (GemmclMatrix *bytes, GemmclMatrix *scales,
                                        GemmclMatrix *zero_points);

/**
 * gemmcl_matrix_dequantize:
 * @values: (inout): the bytes of @self, as floats, row by row
 * @transposed: as rows and columns of @self are swapped
 *
 * Makes them what @self says they stand for.
 */
void gemmcl_matrix_dequantize (const GemmclMatrix *self, gfloat *values, gboolean transposed);

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

/**
 * GemmclMatrixSource:
 * @file: where the matrix is
 * @tensor: (nullable): the name of a part of the file, for messages
 * @offset, @length: where in @file the elements are; both inside of it
 * @exact: the elements are all of @length, nothing follows them
 * @type, @column_major: what the elements are
 * @dims, @n_dims: the shape as the file states it, nothing checked
 *
 * A matrix that a file claims to hold.
 */
typedef struct {
  const GemmclFile *file;
  const gchar *tensor;
  gsize offset;
  gsize length;
  gboolean exact;
  GemmclType type;
  gboolean column_major;
  const gsize *dims;
  gsize n_dims;
} GemmclMatrixSource;

/**
 * gemmcl_matrix_new_from_source:
 *
 * Returns: (transfer full): a matrix with a copy of the elements, or %NULL with
 *   #GEMMCL_ERROR_FORMAT when the shape is not that of a matrix or does not fit the file, or as
 *   gemmcl_file_read().
 */
GemmclMatrix *gemmcl_matrix_new_from_source (const GemmclMatrixSource *source, GError **error);

/** GemmclFileWriter: Returns: whether all of @data was written to @fd; else errno says why not. */
typedef gboolean (*GemmclFileWriter) (gint fd, gconstpointer data);

/** gemmcl_replace_file: what @writer writes, whole or not at all, in place of what was there. */
gboolean gemmcl_replace_file (const gchar *path, GemmclFileWriter writer, gconstpointer data,
                              GError **error);

/** gemmcl_set_file_error: sets @error to a message that starts with the name of the file. */
void gemmcl_set_file_error (GError **error, GemmclError code, const gchar *path,
                            const gchar *format, ...) G_GNUC_PRINTF (4, 5);

/**
 * gemmcl_describe_char:
 *
 * Returns: (transfer full): what stands at @p, for "expected ..., found ...".
 */
gchar *gemmcl_describe_char (const gchar *p, const gchar *end);

/** GEMMCL_EXPECTED_F32: why a finite number is refused that as an f32 would be infinite. */
#define GEMMCL_EXPECTED_F32 "expected a number of at most 3.4e38, the largest of an f32"

/** gemmcl_describe_dims: Returns: (transfer full): "64 x 3 x 7"; "no dimensions" for none. */
gchar *gemmcl_describe_dims (const gsize *dims, gsize n_dims);

/* Behind a tensor's name in a safetensors file. */
#define GEMMCL_SCALE_SUFFIX      ".scale"
#define GEMMCL_ZERO_POINT_SUFFIX ".zero_point"
