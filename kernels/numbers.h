/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers in the compiler's options. They equal the enumerations in the library's headers, which
 * lib/kernels/options.c asserts.
 */
#pragma once

/* GemmclType: A_TYPE, B_TYPE, C_TYPE, D_TYPE */
#define F32  0
#define F64  1
#define F16  2
#define BF16 3
#define I8   4
#define U8   5
#define I16  6
#define U16  7
#define I32  8
#define U32  9
#define I64  10
#define U64  11

/* GemmclKernelLevel: SUBGROUP_LEVEL */
#define SG_NATIVE   0
#define SG_KHR      1
#define SG_EMULATED 2

/* Words of 32 bits of a row of A in a step of mma.cl and wgmma.cl; packed B has whole steps. */
#define MMA_STEP   16
#define WGMMA_STEP 32

/* A copy of rows of A by vector.cl: its floats, in the second-level cache of a small CPU, and those
 * from a row to the next, a cache line more than a row has. */
#define VECTOR_COPY        (36 * 1024)
#define VECTOR_COPY_ROW(K) (((K) + 15) / 16 * 16 + 16)
