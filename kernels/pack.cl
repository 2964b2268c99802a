/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pack: B in panels of PANEL columns. A tile of D reads a panel from its first byte to its last.
 *
 *          PANEL             With DPAS_PACK = 1 and S = SUBGROUP_SIZE = PANEL a panel consists of
 *       +----+----+--+       rows of PANEL words, for mma.cl and staged.cl of 32 bits, DPAS_PACK
 *     K |    |    |  |       rows of B in each, else of an element.
 *       +----+----+--+
 *             N              Columns from N to the next multiple of PANEL are zeros, and so are
 *                            rows from K to the lines of the grid: N has no edges.
 *
 * Matrix engines of subgroups of S work-items (dpas.clh) read it in another order:
 *
 *         S   S   S
 *       +---+---+---+        A panel consists of steps of ROWS = 8 * DPAS_PACK rows, a step of
 *       | 0 | 1 | 2 | step   blocks of S columns, in the order drawn. A block is 8 lines of S
 *       +---+---+---+        32-bit words; word w of a line packs elements DPAS_PACK * line,
 *       | 3 | 4 | 5 |        DPAS_PACK * line + 1 .. of column w of the block.
 *       +---+---+---+
 *           PANEL            Element n is row n / P + S * (n % P) of the step, P = ROWS / S. This
 *                            matches A: a dpas multiplies part d of lane l, which is column
 *                            l + S * d of A's step, by element l * P + d. With tf32 (B_TYPE F32)
 *                            ROWS is less than S, and element n is row n.
 *
 * For wgmma.cl (COLUMN_MAJOR) column_major.clh has the order.
 *
 * A work-item writes a word: (columns with padding, K with padding / DPAS_PACK, batches).
 */
#include "problem.h"
#include "types.clh"

#define ROWS  (8 * DPAS_PACK)
#define PARTS (DPAS_PACK == 1 ? 1 : (ROWS + SUBGROUP_SIZE - 1) / SUBGROUP_SIZE)

#if DPAS_PACK == 1 && B_TYPE != F32
typedef ushort Word;
#else
typedef uint Word;
#endif

#ifdef COLUMN_MAJOR
  #include "column_major.clh"
#elif SUBGROUP_SIZE == PANEL
  #define word_at(line, column) ((line)*PANEL + (column))
#else
static inline long
word_at (long line, int column)
{
  return (line / 8 * PANEL + column / SUBGROUP_SIZE * SUBGROUP_SIZE) * 8 +
         line % 8 * SUBGROUP_SIZE + column % SUBGROUP_SIZE;
}
#endif

#ifdef UNROUNDED
  #define BITS as_uint
#elif B_TYPE == BF16
  #define BITS bf16_from_float
#elif B_TYPE == F32
  #define BITS tf32_from_float
#else
  #define BITS half_from_float
#endif

kernel void
pack (global const float *restrict B, global Word *restrict packed, const GemmclStrides b,
      const int N, const int K)
{
  const long j = get_global_id (0);
  const long lines = get_global_size (1), line = get_global_id (1);
  const long batch = get_global_id (2);
  Word word = 0;

  for (int v = 0; v < DPAS_PACK; v++) {
    const int number = line % 8 * DPAS_PACK + v;
    const long k = line / 8 * ROWS + number / PARTS + SUBGROUP_SIZE * (number % PARTS);
    const float x = j < N && k < K ? B[b.offset + batch * b.batch + k * b.row + j * b.col] : 0.0f;
    word |= (Word)BITS (x) << 32 / DPAS_PACK * v;
  }
  packed[(batch * (get_global_size (0) / PANEL) + j / PANEL) * lines * PANEL +
         word_at (line, j % PANEL)] = word;
}
