/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * reduce: the sum of the split-K workspace, an M x N of f32 for each of SPLIT parts of K, and the
 * epilogue: D = act (alpha sum + beta C + bias).
 *
 *     workspace[(part * M + i) * N + j]    a work-item owns D (i, j .. j + 3);
 *                                          grid: (N / 4 in whole groups, M)
 */
#include "shared/gemm.clh"
#include "shared/quads.clh"

/* The sum of the parts of an element, or of four neighbours; size: elements of a part. */
#define DEFINE_ADD_PARTS(T)                                                                        \
  static inline T add_parts_##T (global const float *restrict workspace, const long size)          \
  {                                                                                                \
    T sum = 0.0f;                                                                                  \
    _Pragma ("unroll 16") for (long part = 0; part < SPLIT; part++) sum +=                         \
        *(global const T *)(workspace + part * size);                                              \
    return sum;                                                                                    \
  }
DEFINE_ADD_PARTS (float)
DEFINE_ADD_PARTS (float4)

kernel void
reduce (global const float *restrict workspace, global const C_MEM *C,
        global const float *restrict bias, global D_MEM *D, const GemmclArguments p)
{
  const long batch = 0, i = get_global_id (1), j = 4 * get_global_id (0), size = (long)p.M * p.N;
  if (j >= p.N)
    return;

  workspace += i * p.N + j;
  if (p.N % 4 == 0) {
    FINISH_PART (, add_parts_float4 (workspace, size));
    return;
  }
  for (int e = 0; e < 4 && j + e < p.N; e++)
    finish_one (C, bias, D, p, batch, i, j + e, add_parts_float (workspace + e, size));
}
