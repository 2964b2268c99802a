/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory layout of A and B for the int8 kernels; the host's compiler includes this file, too. A is
 * uint8, B int8. Four elements with neighbouring k form an int, the first in its lowest byte. K is
 * padded to K' = INT8_K (K): B with zeros, A with any values. The scale, the zero point and the sum
 * of a row or column follow its elements.
 *
 *     a row of A, from quantize.cl              a panel of B, from pack.cl
 *
 *      K' bytes, unsigned       64 bytes          PANEL columns, signed
 *     +----+----+--   --+----+--------------+    +-------------+
 *     |a0-3|a4-7|  ...  |    |scale zero sum|    | b0-3 ...    |  K' / 4 rows of ints
 *     +----+----+--   --+----+--------------+    | b4-7 ...    |
 *                                                |  ...        |
 *     rows are aligned to 64 bytes; the          +-------------+
 *     problems lie M * INT8_ROW (K) bytes apart  | scale ...   |  three more rows: float, int, int
 *                                                | zero  ...   |
 *                                                | sum   ...   |  panels lie
 *                                                +-------------+  INT8_PANEL (K) ints apart
 *
 *     A(i, k) = scale_i (a - zero_i)            sum_i = sum of a - zero_i over k
 *     B(k, j) = scale_j (b - zero_j)            sum_j = sum of b over k
 *     sum A(i, k) B(k, j) = scale_i scale_j (sum a b - zero_i sum_j - zero_j sum_i)
 *
 * NVIDIA's kernels may read an A of uint8 or int8 where the caller has it, with A_CHUNKS
 * (mma_tile.clh): then scale_i and zero_i are those of all rows, and nothing follows a row.
 *
 * For xmx.cl and wgmma.cl the ints of B lie in other orders (pack.cl). B of wgmma.cl (COLUMN_MAJOR)
 * is padded with zeros to whole steps: INT8_B_K (K).
 *
 * For K up to 65536, the max_k of these kernels, sum a b - zero_i sum_j fits 32 bits. Intermediate
 * sums may wrap around without harm.
 */
#pragma once

#define INT8_K(K) (((K) + 63) / 64 * 64)
#ifdef COLUMN_MAJOR
  #define INT8_B_K(K) (((K) + 4 * WGMMA_STEP - 1) / (4 * WGMMA_STEP) * (4 * WGMMA_STEP))
#else
  #define INT8_B_K(K) INT8_K (K)
#endif
#define INT8_ROW(K)    (INT8_K (K) + 64)
#define INT8_COLUMN(K) (INT8_B_K (K) / 4 + 3)
#define INT8_PANEL(K)  ((long)INT8_COLUMN (K) * PANEL)

#define INT8_SCALE 0
#define INT8_ZERO  1
#define INT8_SUM   2

/* The last formula above in f32, for one row and a vector of n columns; one column if n is empty.
 * scale_i and scale_j are floats in the bits of ints. */
#define INT8_PRODUCT(n, sum, scale_i, zero_i, sum_i, scale_j, zero_j, sum_j)                       \
  ((PASTE (convert_float, n) ((sum) - (zero_i) * (sum_j)) -                                        \
    PASTE (convert_float, n) (zero_j) * (float)(sum_i)) *                                          \
   PASTE (as_float, n) (scale_j) * as_float (scale_i))

/* The smallest normal f32: a device may flush a smaller scale to 0. */
#define INT8_LEAST 0x1p-126f
