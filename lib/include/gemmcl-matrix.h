/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclType:
 *
 * The type of an element, in memory and in files, always little-endian. #GEMMCL_TYPE_F16 is IEEE
 * binary16, #GEMMCL_TYPE_BF16 the upper half of an f32.
 */
typedef enum {
  GEMMCL_TYPE_F32,
  GEMMCL_TYPE_F64,
  GEMMCL_TYPE_F16,
  GEMMCL_TYPE_BF16,
  GEMMCL_TYPE_I8,
  GEMMCL_TYPE_U8,
  GEMMCL_TYPE_I16,
  GEMMCL_TYPE_U16,
  GEMMCL_TYPE_I32,
  GEMMCL_TYPE_U32,
  GEMMCL_TYPE_I64,
  GEMMCL_TYPE_U64,
} GemmclType;

#define GEMMCL_N_TYPES (GEMMCL_TYPE_U64 + 1)

/** gemmcl_type_get_size: Returns: bytes in an element of @type. */
gsize gemmcl_type_get_size (GemmclType type);

/** gemmcl_type_get_name: Returns: "f32", "bf16", "u8" and so on; static. */
const gchar *gemmcl_type_get_name (GemmclType type);

/**
 * GemmclMatrix:
 *
 * A typed matrix in host memory, immutable and counted by reference; any thread may read it. Its
 * elements lie row by row, or column by column (see gemmcl_matrix_is_column_major()), with nothing
 * between them. A vector of n elements is a matrix of one row, a scalar one of 1 x 1.
 */
typedef struct _GemmclMatrix GemmclMatrix;

#define GEMMCL_TYPE_MATRIX (gemmcl_matrix_get_type ())
GType gemmcl_matrix_get_type (void);

GemmclMatrix *gemmcl_matrix_ref (GemmclMatrix *self);
void gemmcl_matrix_unref (GemmclMatrix *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclMatrix, gemmcl_matrix_unref)

/**
 * gemmcl_matrix_load:
 * @where: what a user types: one of
 *   - `[[1, 2], [3, 4]]` or `[1, 2, 3]`, a literal as gemmcl_matrix_parse() reads it
 *   - the path or file: URI of a .npy file, optionally with `#bf16`: see gemmcl_matrix_load_npy()
 *   - `FILE.safetensors#NAME`: see gemmcl_matrix_load_safetensors()
 *   - `FILE.raw#TYPE:ROWSxCOLS`, as in `w.raw#f32:64x10`: see gemmcl_matrix_load_raw()
 *
 * Returns: (transfer full): the matrix, or %NULL with @error set.
 */
GemmclMatrix *gemmcl_matrix_load (const gchar *where, GError **error);

/**
 * gemmcl_matrix_parse:
 * @literal: numbers in brackets, row by row: `[[1, 2], [3, 4]]`; one pair of brackets is one row.
 *   The decimal point is a point in every locale; `inf` and `nan` are numbers.
 *
 * Returns: (transfer full): a row-major f32 matrix, or %NULL with #GEMMCL_ERROR_FORMAT that names
 *   the place.
 */
GemmclMatrix *gemmcl_matrix_parse (const gchar *literal, GError **error);

/**
 * gemmcl_matrix_load_npy:
 * @path: a NumPy file of version 1, 2 or 3 with plain little-endian f2, f4, f8, i1 to i8 or u1 to
 *   u8, in C or Fortran order, of 0, 1 or 2 dimensions
 * @v2_is_bf16: read elements that NumPy calls `|V2` (two bytes of anything) as bf16; with %FALSE
 *   such a file is refused, and the message says how to state it
 *
 * The matrix has a copy of the elements: what happens to the file afterwards does not change it. A
 * finite f64 that is beyond the range of f32 is refused; infinities and NaN are elements.
 *
 * Returns: (transfer full): the matrix, or %NULL with #GEMMCL_ERROR_IO, #GEMMCL_ERROR_FORMAT or
 *   #GEMMCL_ERROR_TOO_LARGE (there is not enough memory).
 */
GemmclMatrix *gemmcl_matrix_load_npy (const gchar *path, gboolean v2_is_bf16, GError **error);

/**
 * gemmcl_matrix_load_safetensors:
 * @path: a safetensors file
 * @name: the tensor's name in it; the message of a wrong one lists those there are
 *
 * Bytes beside which there is a tensor `NAME.scale`, and maybe `NAME.zero_point`, are quantised:
 * see gemmcl_matrix_new_quantized(); a vector of these is for the columns, if it is as long as they
 * are many, else for the rows.
 *
 * F64, F32, F16, BF16, I8 to I64 and U8 to U64, of 0, 1 or 2 dimensions. Of the file only the
 * header and these tensors are read, and copied as by gemmcl_matrix_load_npy().
 *
 * Returns: (transfer full): the matrix, or %NULL with an error as gemmcl_matrix_load_npy().
 */
GemmclMatrix *gemmcl_matrix_load_safetensors (const gchar *path, const gchar *name, GError **error);

/**
 * gemmcl_matrix_load_raw:
 * @path: a file that holds exactly @rows x @cols row-major elements of @type
 *
 * Returns: (transfer full): the matrix, a copy as by gemmcl_matrix_load_npy(), or %NULL with an
 *   error as there.
 */
GemmclMatrix *gemmcl_matrix_load_raw (const gchar *path, GemmclType type, gsize rows, gsize cols,
                                      GError **error);

/**
 * gemmcl_matrix_new:
 * @type: the type of an element
 * @rows, @cols: the shape, each at least 1
 * @data: (transfer none): @rows x @cols row-major elements; copied
 *
 * Returns: (transfer full): the matrix, or %NULL with #GEMMCL_ERROR_INVALID (an empty shape) or
 *   #GEMMCL_ERROR_TOO_LARGE (the size in bytes overflows).
 */
GemmclMatrix *gemmcl_matrix_new (GemmclType type, gsize rows, gsize cols, gconstpointer data,
                                 GError **error);

/**
 * gemmcl_matrix_new_quantized:
 * @bytes: the elements q, i8 or u8; shared, not copied
 * @scales: of any type: one for all (1 x 1), one for each column (1 x cols), or one for each row
 *   (rows x 1); finite, none below 0
 * @zero_points: (nullable): of the same shape, integers of @bytes' range; %NULL: zeros
 *
 * A matrix whose elements are scale * (q - zero point). gemmcl_matrix_to_f32() computes them, so
 * that it can be used wherever another one can; a kernel that multiplies bytes takes them as they
 * are.
 *
 * Returns: (transfer full): the matrix, or %NULL with #GEMMCL_ERROR_INVALID, #GEMMCL_ERROR_SHAPE or
 *   #GEMMCL_ERROR_TOO_LARGE.
 */
GemmclMatrix *gemmcl_matrix_new_quantized (GemmclMatrix *bytes, GemmclMatrix *scales,
                                           GemmclMatrix *zero_points, GError **error);

/**
 * GemmclQuantization:
 * @largest: the largest |element|, before
 * @max_error: the largest difference that was made, @rms_error: the root of the mean of its square
 *
 * What gemmcl_matrix_quantize() did.
 */
typedef struct {
  gdouble largest;
  gdouble max_error;
  gdouble rms_error;
} GemmclQuantization;

/**
 * gemmcl_matrix_quantize:
 * @by_row: a scale for each row; else one for each column. What is multiplied by the matrix wants
 *   them by what remains: columns, or rows of a matrix that is used transposed
 * @done: (out) (optional): what it did
 *
 * Makes bytes: scale = max |element| / 127, q = element / scale to the nearest.
 *
 * Returns: (transfer full): the matrix, or %NULL with #GEMMCL_ERROR_INVALID where an element is NaN
 *   or infinite, or #GEMMCL_ERROR_TOO_LARGE.
 */
GemmclMatrix *gemmcl_matrix_quantize (GemmclMatrix *self, gboolean by_row, GemmclQuantization *done,
                                      GError **error);

/** gemmcl_matrix_get_scales: Returns: (transfer none) (nullable): the scales of a quantised matrix,
 * f32, in the shape that gemmcl_matrix_new_quantized() got; %NULL for any other. */
GemmclMatrix *gemmcl_matrix_get_scales (const GemmclMatrix *self);

/** gemmcl_matrix_get_zero_points: Returns: (transfer none) (nullable): f32, the same of these. */
GemmclMatrix *gemmcl_matrix_get_zero_points (const GemmclMatrix *self);

gsize gemmcl_matrix_get_rows (const GemmclMatrix *self);
gsize gemmcl_matrix_get_cols (const GemmclMatrix *self);
GemmclType gemmcl_matrix_get_element_type (const GemmclMatrix *self);

/** gemmcl_matrix_is_column_major: Returns: whether columns, not rows, lie together in memory. */
gboolean gemmcl_matrix_is_column_major (const GemmclMatrix *self);

/** gemmcl_matrix_get_data: Returns: (transfer none): the elements, aligned for their type; of a
 * quantised matrix the bytes. */
gconstpointer gemmcl_matrix_get_data (const GemmclMatrix *self);

/**
 * gemmcl_matrix_to_f32:
 * @transpose: swap rows and columns
 *
 * Returns: (transfer full): the same values as row-major f32, aligned to 4 bytes; @self itself with
 *   one more reference where that is what it already is. f64 and integers round to nearest, an f64
 *   beyond the range of f32 (which only gemmcl_matrix_new() takes) to infinity. %NULL with
 *   #GEMMCL_ERROR_TOO_LARGE when there is not enough memory.
 */
GemmclMatrix *gemmcl_matrix_to_f32 (GemmclMatrix *self, gboolean transpose, GError **error);

/**
 * gemmcl_matrix_save_npy:
 * @path: written whole or not at all; a file that is there is replaced
 *
 * Writes a version 1 .npy file with the matrix's own type and order (bf16 as `|V2`).
 *
 * Returns: %FALSE with #GEMMCL_ERROR_IO.
 */
gboolean gemmcl_matrix_save_npy (const GemmclMatrix *self, const gchar *path, GError **error);

/**
 * gemmcl_matrix_save_safetensors:
 * @path: written whole or not at all; a file that is there is replaced
 * @name: of the tensor
 *
 * Writes a safetensors file with the matrix as its one tensor, of the matrix's own type; of a
 * quantised one with the tensors that gemmcl_matrix_load_safetensors() looks for, too.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_IO, or #GEMMCL_ERROR_INVALID for a matrix that lies column by
 *   column, which the format has not.
 */
gboolean gemmcl_matrix_save_safetensors (const GemmclMatrix *self, const gchar *path,
                                         const gchar *name, GError **error);

GEMMCL_END_DECLS
