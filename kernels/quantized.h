/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How A and B lie in memory for kernels that multiply bytes; like problem.h, this file is read by
 * the host's compiler, too. Four elements with neighbouring k are an int, the first in its lowest
 * byte. K is padded to K' = BYTES_K (K), for A with anything, for B with zeros. What belongs to a
 * whole row or column follows its elements.
 *
 *     a row of A, from quantize.cl              a panel of B, from pack_bytes.cl
 *
 *      K' bytes, no sign        64 bytes          PANEL columns, with sign
 *     +----+----+--   --+----+--------------+    +-------------+
 *     |a0-3|a4-7|  ...  |    |scale zero sum|    | b0-3 ...    |  K' / 4 rows of ints
 *     +----+----+--   --+----+--------------+    | b4-7 ...    |
 *                                                |  ...        |
 *     rows lie M * BYTES_ROW (K) from batch to   +-------------+
 *     batch, and each begins at 64 bytes         | scale ...   |  three rows more: float, int, int
 *                                                | zero  ...   |
 *                                                | sum   ...   |  panels lie
 *                                                +-------------+  BYTES_PANEL (K) ints apart
 *
 *     A(i, k) = scale_i (a - zero_i)            sum_i: of a - zero_i over k
 *     B(k, j) = scale_j (b - zero_j)            sum_j: of b over k
 *     sum A(i, k) B(k, j) = scale_i scale_j (sum a b - zero_i sum_j - zero_j sum_i)
 *
 * With K up to 65536, the rows' max_k, the first difference is exact in 32 bits, wherever it passed
 * through.
 */
#ifndef GEMMCL_QUANTIZED_H
#define GEMMCL_QUANTIZED_H

#define BYTES_K(K)      (((K) + 63) / 64 * 64)
#define BYTES_ROW(K)    (BYTES_K (K) + 64)
#define BYTES_COLUMN(K) (BYTES_K (K) / 4 + 3)
#define BYTES_PANEL(K)  ((long)BYTES_COLUMN (K) * PANEL)

#define BYTES_SCALE 0
#define BYTES_ZERO  1
#define BYTES_SUM   2

/* The smallest normal number: a smaller step may be flushed to 0. */
#define BYTES_LEAST 0x1p-126f

#endif
