/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The parts of a matrix that the library's files share. Any thread.
 */
#pragma once

#include "device/base.h"
#include "gemmcl-matrix.h"

/** Returns: NumPy's name of @type; "|V2" for bf16. */
const gchar *gemmcl_type_get_descr (GemmclType type);

/** Returns: whether @name is what @get_name gives a type. */
gboolean gemmcl_type_from_name (const gchar *name, const gchar *(*get_name) (GemmclType),
                                GemmclType *type);

/** Returns: element @index behind @data, at any alignment. */
gfloat gemmcl_type_load_f32 (GemmclType type, gconstpointer data, gsize index);

/** Returns: %FALSE when the bytes of a matrix of this type and shape are too many to count. */
gboolean gemmcl_matrix_get_n_bytes (GemmclType type, gsize rows, gsize cols, gsize *n_bytes);

/** Returns: (transfer none): the elements. */
GBytes *gemmcl_matrix_get_bytes (const GemmclMatrix *self);

/** Makes every matrix. The caller has checked the shape, and the size and alignment of @bytes
 * (transfer full). */
GemmclMatrix *gemmcl_matrix_new_take (GemmclType type, gsize rows, gsize cols,
                                      gboolean column_major, GBytes *bytes);

/** Makes a quantised matrix. The caller has checked the scales and zero points, both f32. */
GemmclMatrix *gemmcl_matrix_new_scaled (GemmclMatrix *bytes, GemmclMatrix *scales,
                                        GemmclMatrix *zero_points);

/* source.c: a file's claim, checked against its size */

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
