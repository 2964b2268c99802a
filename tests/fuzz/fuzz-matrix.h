/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fuzz.h"

#include "gemmcl-matrix.h"

/**
 * fuzz_use_matrix:
 * @matrix: (nullable): what a reader made of a file of @size bytes, or %NULL with
 *   @error
 *
 * Reads all elements, as other parts of the library do.
 */
void fuzz_use_matrix (GemmclMatrix *matrix, GError *error, gsize size);
