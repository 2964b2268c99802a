/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The structure and the constants that the host and the kernels share. Every gemm kernel gets a
 * GemmclArguments by value: the sizes, strides and scalars. Its members have fixed widths, the
 * widest first, so that both compilers lay it out without gaps between members.
 *
 *     A(i, k) = A[a.offset + batch * a.batch + i * a.row + k * a.col]       i < M, k < K
 *
 * B(k, j), C(i, j) and D(i, j) follow the same formula. Strides express every layout, transpose and
 * leading dimension; a C that has one row for all rows of D has row = 0. Strides and offsets
 * count elements. A panel-packed B (pack.cl) uses only b.offset and b.batch. For A and B in images
 * (pack.cl) strides count blocks: batch, those of a problem; row, of a panel; col, those side by
 * side.
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
  gemmcl_i32 progressive; /* A_INTERLACED frames of this run are not interlaced */
  gemmcl_i32 block_k;     /* of images: columns of A and rows of B in a block */
} GemmclArguments;

/* Values of SUBGROUP_LEVEL, in the order of GemmclKernelLevel */
#define SG_NATIVE   0
#define SG_KHR      1
#define SG_EMULATED 2

/* Depth of a step in 32-bit words: of mma.cl and staged.cl, and of wgmma.cl. Packed B consists of
 * whole steps. */
#define MMA_STEP   16
#define WGMMA_STEP 32

/* vector.cl's copy of rows of A, in floats. VECTOR_COPY: its size, which fits the second-level
 * cache of a small CPU. VECTOR_COPY_ROW: pitch, whole cache lines and one more. */
#define VECTOR_COPY        (36 * 1024)
#define VECTOR_COPY_ROW(K) (((K) + 15) / 16 * 16 + 16)
