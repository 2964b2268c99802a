/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Matrices in host memory and their files. Any thread.
 */
#pragma once

#include <glib-object.h>

#include "gemmcl-error.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclType:
 *
 * The type of an element, little-endian in memory and in files. %GEMMCL_TYPE_F16 is IEEE binary16,
 * %GEMMCL_TYPE_BF16 the upper half of an f32. Products are computed in f32 at most, so F64 and
 * integers of 32 and 64 bits are rounded to 24 binary digits there.
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

/**
 * GEMMCL_N_TYPES:
 *
 * The number of element types.
 */
#define GEMMCL_N_TYPES (GEMMCL_TYPE_U64 + 1)

/**
 * gemmcl_type_get_size:
 *
 * Returns: bytes per element of @type.
 */
gsize gemmcl_type_get_size (GemmclType type);

/**
 * gemmcl_type_get_name:
 *
 * Returns: "f32", "bf16", "u8" and so on; static.
 */
const gchar *gemmcl_type_get_name (GemmclType type);

/**
 * gemmcl_type_get_caps_name:
 *
 * Returns: (nullable): the name of @type in GStreamer's caps of tensors, "float32" for example;
 *   %NULL for bf16, which they do not have; static.
 */
const gchar *gemmcl_type_get_caps_name (GemmclType type);

/**
 * GemmclMatrix:
 * @type: the type of an element
 * @rows: the number of rows
 * @cols: the number of columns
 * @column_major: %TRUE if the elements of a column are contiguous, %FALSE if those of a row are
 * @data: the elements, or q of a quantized matrix, without gaps, aligned for their type
 * @scales: (nullable): the scales of a quantized matrix as f32; %NULL for any other matrix
 * @zero_points: (nullable): its zero points as f32; %NULL for zeros
 *
 * A typed matrix in host memory: read-only, reference-counted, readable from any thread. A vector
 * of n elements is a 1 x n matrix.
 */
typedef struct _GemmclMatrix GemmclMatrix;

struct _GemmclMatrix {
  GemmclType type;
  gsize rows, cols;
  gboolean column_major;
  gconstpointer data;
  GemmclMatrix *scales, *zero_points;
  /*< private >*/
  GBytes *bytes;
};

#define GEMMCL_TYPE_MATRIX (gemmcl_matrix_get_type ())
GType gemmcl_matrix_get_type (void);

/**
 * gemmcl_matrix_ref:
 *
 * Returns: (transfer full): @self, with one more reference.
 */
GemmclMatrix *gemmcl_matrix_ref (GemmclMatrix *self);

/**
 * gemmcl_matrix_unref:
 *
 * Drops a reference. The last one frees the matrix.
 */
void gemmcl_matrix_unref (GemmclMatrix *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclMatrix, gemmcl_matrix_unref)

/**
 * gemmcl_matrix_load:
 * @where: one of
 *   - `[[1, 2], [3, 4]]` or `[1, 2, 3]`: a literal, row by row. The decimal separator is a point in
 *     every locale. `inf` and `nan` are numbers
 *   - the path or file: URI of a NumPy file, `FILE.npy`, of version 1, 2 or 3: an array in C or
 *     Fortran order of a plain little-endian type, f2 to f8, i1 to i8 or u1 to u8. With `#bf16`
 *     elements of NumPy's type `|V2` (two untyped bytes) are bf16
 *   - `FILE.safetensors#NAME`: a tensor, quantized if it has 8 bits and there is `NAME.scale`, and
 *     optionally `NAME.zero_point`: see gemmcl_matrix_new_quantized(). A vector of scales is per
 *     column if its length is the number of columns, else per row. `#NAME` may be left out for the
 *     only tensor, besides its scales and zero points, and in the next line
 *   - `FILE.onnx#NAME`: an initializer, or the output of a Constant node, of a model of at most 2
 *     GiB, also from another file (external data) below the model's folder. A location with ".." or
 *     an absolute one is refused; symbolic links below the folder are followed
 *   - `FILE.raw#TYPE:ROWSxCOLS`, as in `w.raw#f32:64x10`: a file of row-major elements, no more
 *
 * Loads a matrix that a user names. Files hold 0, 1 or 2 dimensions, and are copied: later changes
 * do not affect the matrix. A pipe, socket or device is refused, not read, and so is a finite f64
 * beyond the range of f32.
 *
 * Returns: (transfer full): the matrix, or %NULL with %GEMMCL_ERROR_IO, %GEMMCL_ERROR_FORMAT, whose
 *   message names the place of the mistake or lists the file's tensors, or %GEMMCL_ERROR_TOO_LARGE
 *   (not enough memory, or more than G_MAXINT32 rows or columns).
 */
GemmclMatrix *gemmcl_matrix_load (const gchar *where, GError **error);

/**
 * gemmcl_matrix_get_grammar:
 *
 * Returns: the forms of names that gemmcl_matrix_load() knows, for messages: "a literal such as
 *   [[1, 2], [3, 4]], FILE.npy, ... or FILE.raw#TYPE:ROWSxCOLS"; static.
 */
const gchar *gemmcl_matrix_get_grammar (void);

/**
 * gemmcl_matrix_new:
 * @type: the type of an element
 * @rows: the number of rows, at least 1
 * @cols: the number of columns, at least 1
 * @data: (transfer none): @rows x @cols row-major elements; copied
 *
 * Returns: (transfer full): the matrix, or %NULL with %GEMMCL_ERROR_INVALID (an unknown type, an
 *   empty shape or no data) or %GEMMCL_ERROR_TOO_LARGE (not enough memory).
 */
GemmclMatrix *gemmcl_matrix_new (GemmclType type, gsize rows, gsize cols, gconstpointer data,
                                 GError **error);

/**
 * gemmcl_matrix_new_quantized:
 * @elements: q, i8 or u8; shared, not copied
 * @scales: of any type, finite and not negative: 1 x 1, 1 x cols with one per column, or rows x 1
 *   with one per row
 * @zero_points: (nullable): in the shape of @scales, integers in the range of the type of
 *   @elements; %NULL for zeros
 *
 * Makes a matrix whose elements are scale * (q - zero point). gemmcl_matrix_to_f32() computes them,
 * and an int8 kernel multiplies q itself.
 *
 * Returns: (transfer full): the matrix, or %NULL with %GEMMCL_ERROR_INVALID, %GEMMCL_ERROR_SHAPE or
 *   %GEMMCL_ERROR_TOO_LARGE.
 */
GemmclMatrix *gemmcl_matrix_new_quantized (GemmclMatrix *elements, GemmclMatrix *scales,
                                           GemmclMatrix *zero_points, GError **error);

/**
 * GemmclQuantization:
 * @largest: the largest absolute value of the original matrix
 * @max_error: the largest absolute difference between an original and a quantized element
 * @rms_error: the root mean square of the differences
 *
 * The effect of gemmcl_matrix_quantize().
 */
typedef struct {
  gdouble largest;
  gdouble max_error;
  gdouble rms_error;
  /*< private >*/
  gpointer _reserved[4];
} GemmclQuantization;

/**
 * gemmcl_matrix_quantize:
 * @by_row: %TRUE for a scale per row, %FALSE for one per column. A weight needs a scale per column
 *   of op(B): per column of B, or per row with trans_b
 * @done: (out) (optional): the quantization error
 *
 * Quantizes to int8: scale = max |element| / 127, q = element / scale rounded to nearest.
 *
 * Returns: (transfer full): the matrix, or %NULL with %GEMMCL_ERROR_INVALID if an element is NaN or
 *   infinite, or with %GEMMCL_ERROR_TOO_LARGE.
 */
GemmclMatrix *gemmcl_matrix_quantize (GemmclMatrix *self, gboolean by_row, GemmclQuantization *done,
                                      GError **error);

/**
 * gemmcl_matrix_to_f32:
 * @transpose: swap rows and columns
 *
 * Returns: (transfer full): the same values as row-major f32, rounded to nearest; a new reference
 *   of @self if it has that form. An f64 beyond the range of f32, which only gemmcl_matrix_new()
 *   accepts, becomes infinite. %NULL with %GEMMCL_ERROR_TOO_LARGE if there is not enough memory.
 */
GemmclMatrix *gemmcl_matrix_to_f32 (GemmclMatrix *self, gboolean transpose, GError **error);

/**
 * gemmcl_matrix_save_npy:
 * @path: the file to write; replaced atomically if it exists
 *
 * Writes a version 1 .npy file in the matrix's own type and order, bf16 as `|V2`.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_IO, or with %GEMMCL_ERROR_INVALID if the matrix is quantized:
 *   the format cannot store scales.
 */
gboolean gemmcl_matrix_save_npy (const GemmclMatrix *self, const gchar *path, GError **error);

/**
 * gemmcl_matrix_save_safetensors:
 * @path: the file to write; replaced atomically if it exists
 * @name: the name of the tensor
 *
 * Writes a tensor in the matrix's own type, with its scales and zero points if it is quantized.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_IO, or with %GEMMCL_ERROR_INVALID if @name is not UTF-8 or is
 *   `__metadata__`, which the format reserves, or if the matrix is column-major, which it cannot
 *   store.
 */
gboolean gemmcl_matrix_save_safetensors (const GemmclMatrix *self, const gchar *path,
                                         const gchar *name, GError **error);

/**
 * gemmcl_matrix_save_tensors:
 * @matrices: (array length=n): the tensors
 * @names: (array length=n): their names
 * @path: the file to write; replaced atomically if it exists
 *
 * Writes several tensors to one safetensors file, each as gemmcl_matrix_save_safetensors() does.
 *
 * Returns: %FALSE with an error of gemmcl_matrix_save_safetensors(), or with %GEMMCL_ERROR_INVALID
 *   if two tensors have the same name.
 */
gboolean gemmcl_matrix_save_tensors (const GemmclMatrix *const *matrices, const gchar *const *names,
                                     gsize n, const gchar *path, GError **error);

GEMMCL_END_DECLS
