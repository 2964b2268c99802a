/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pack: B in panels of PANEL columns. A tile of D reads a panel from its first byte to its last.
 *
 *          PANEL                     panel j / PANEL   row k   column j % PANEL
 *       +----+----+--+   packed[    (j / PANEL) * K * PANEL  +  k * PANEL  +  j % PANEL  ]
 *     K |    |    |  |
 *       +----+----+--+   Columns from N to the next multiple of PANEL are zeros, so that N has no
 *             N          edges.
 *
 * Stored as B_TYPE, f32 or rounded to fp16 or bf16. A work-item writes one element: (columns with
 * padding, K, batches).
 */
#include "problem.h"
#include "types.clh"

#define STORE_B(p, i, x) PASTE (STORE_, B_TYPE) (p, i, x)

kernel void
pack (global const float *restrict B, global B_MEM *restrict packed, const GemmclStrides b,
      const int N)
{
  const long j = get_global_id (0);
  const long k = get_global_id (1);
  const long batch = get_global_id (2);
  const long K = get_global_size (1);

  STORE_B (packed, batch * get_global_size (0) * K + (j / PANEL * K + k) * PANEL + j % PANEL,
           j < N ? B[b.offset + batch * b.batch + k * b.row + j * b.col] : 0.0f);
}
