/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sizes, strides and scalars that every gemm kernel gets by value as its last argument. The
 * host's compiler includes this file; OpenCL's reads it as the first part of every program. All
 * members have a fixed width, the widest first, so that both lay the struct out alike with no gaps.
 *
 *     A(i, k) = A[a.offset + batch * a.batch + i * a.row + k * a.col]       i < M, k < K
 *
 * B(k, j), C(i, j) and D(i, j) follow the same formula. Strides express every layout, transpose and
 * leading dimension; a C of one row for all rows of D has row = 0. Strides and offsets count
 * elements. A panel-packed B (pack.cl) uses only b.offset and b.batch. For A and B in images
 * (pack_image.cl) the four members mean: offset, K of a block; batch, blocks per batch entry; row,
 * blocks per panel; col, blocks side by side.
 */
#pragma once

#ifdef __OPENCL_C_VERSION__
typedef long gemmcl_i64;
typedef int gemmcl_i32;
#else
  #include <stdint.h>
typedef int64_t gemmcl_i64;
typedef int32_t gemmcl_i32;
#endif

typedef struct {
  gemmcl_i64 offset, batch, row, col;
} GemmclStrides;

typedef struct {
  GemmclStrides a, b, c, d;
  gemmcl_i32 M, N, K; /* K is 0 if alpha == 0; A and B are then not read */
  float alpha, beta;  /* C is read only if beta != 0 */
  float a_scale, a_shift;
  gemmcl_i32 zero; /* padding to a multiple of eight bytes */
} GemmclProblem;
