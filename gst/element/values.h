/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* Matrices as values of properties: an array of rows, each an array of doubles, or for a vector an
 * array of doubles. Pure functions. */

/**
 * gst_gemmcl_matrix_from_array:
 * @array: a GstValueArray of doubles, or of GstValueArrays of doubles
 *
 * Returns: (transfer full) (nullable): a matrix of f64; %NULL without @error for an empty array,
 *   with #GEMMCL_ERROR_SHAPE if rows differ in length or are empty
 */
GemmclMatrix *gst_gemmcl_matrix_from_array (const GValue *array, GError **error);

/**
 * gst_gemmcl_matrix_to_array:
 * @matrix: (nullable): a matrix of any type
 * @is_vector: whether @array is one of doubles, all elements of @matrix row by row
 * @array: (inout): an empty GstValueArray
 *
 * Appends @matrix, which is rounded to f32 unless it is row-major f64.
 */
void gst_gemmcl_matrix_to_array (GemmclMatrix *matrix, gboolean is_vector, GValue *array);
