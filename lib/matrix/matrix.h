/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

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
