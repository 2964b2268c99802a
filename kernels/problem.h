/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every gemm kernel is told at run time, by value, as its last argument. This file is read by
 * the host's compiler and, as the first part of every program, by OpenCL's: fixed-width members,
 * the widest first, so that both lay it out alike with no gaps.
 *
 *     A(i, k) = A[a.offset + batch * a.batch + i * a.row + k * a.col]       i < M, k < K
 *
 * and so on for B(k, j), C(i, j), D(i, j): all layouts, transposes and leading dimensions are
 * strides; C of one row for all has row = 0. Strides and offsets count elements. A panel-packed B
 * (see pack.cl) uses b.offset and b.batch alone. Of A and B in images (see pack_image.cl) the four
 * are others: the K of a block, blocks of a batch, blocks of a panel, and blocks side by side.
 */
#ifndef GEMMCL_PROBLEM_H
#define GEMMCL_PROBLEM_H

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
  gemmcl_i32 M, N, K; /* K = 0 when alpha == 0: then A and B are not read */
  float alpha, beta;  /* C is read only when beta != 0 */
  float a_scale, a_shift;
  gemmcl_i32 zero; /* fills the last eight bytes */
} GemmclProblem;

#endif
