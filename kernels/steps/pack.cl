/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pack: stores B in panels of PANEL columns. A tile of D reads a panel from its first byte to its
 * last.
 * pack_image, with IMAGES: stores A or B as an image.
 *
 *          PANEL             A panel consists of rows of PANEL words. A word has 32 bits, with
 *       +----+----+--+       elements of WORD_ELEMENTS neighbouring rows of B; or it is one element
 *     K |    |    |  |       of 16 bits, if WORD_ELEMENTS is 1 and B_TYPE is not F32. Columns from
 *       +----+----+--+       N to the next multiple of PANEL are zeros, so kernels check no bounds
 *             N              along N; so are rows from K to the last line of the grid. For this
 *                            order the host sets SUBGROUP_SIZE to PANEL.
 *
 * Matrix engines of subgroups of S = SUBGROUP_SIZE work-items (dpas.clh) read it in another order:
 *
 *         S   S   S
 *       +---+---+---+        A panel consists of slices of ROWS = 8 * WORD_ELEMENTS rows, a slice
 *       | 0 | 1 | 2 | slice  of blocks of S columns, in the order drawn. A block is 8 lines of S
 *       +---+---+---+        32-bit words; word w of a line packs elements WORD_ELEMENTS * line,
 *       | 3 | 4 | 5 |        WORD_ELEMENTS * line + 1 .. of column w of the block.
 *       +---+---+---+
 *           PANEL            Element n is row n / P + S * (n % P) of the slice, P = ROWS / S. This
 *                            matches A: a dpas multiplies part d of lane l, which is column
 *                            l + S * d of its columns of A, by element l * P + d. With tf32
 *                            (B_TYPE F32) ROWS is less than S, and element n is row n.
 *
 * For wgmma.cl (COLUMN_MAJOR) a panel consists of steps of WGMMA_STEP rows of words, each column by
 * column in the order of wgmma.cl. The four words of chunk c of the n-th stored column are at place
 * c ^ n % 8. Tf32 has the rows 16 i + c, + 4, + 8 and + 12 in chunk 4 i + c, c < 4, since a
 * work-item reads four neighbours of A at once (wgmma.clh).
 *
 * A work-item writes a word; grid: (columns with padding, K with padding / WORD_ELEMENTS, batch).
 *
 * quantized.h has the layout of an int8 B (B_TYPE I8), whose words lie in one of these orders. For
 * each column
 *
 *     scale = max |b| / 127,  zero = 0,  int8 = b / scale + zero, rounded to nearest
 *
 * If scales is not NULL, it holds N scales followed by N zero points. B is then an int8 matrix that
 * was dequantized with them, and packing restores its elements. A NaN or an infinity makes the
 * column's scale NaN. A work-item owns a column; grid: (columns with padding, 1, batch). A batch of
 * SPLIT parts of K has the scales of the whole K.
 *
 * In an image a panel is the part that one tile of D needs: TILE_M rows of A, or COLUMNS columns of
 * B, with all of K. The size of images is limited, so a panel is cut into blocks of up to BLOCK_K
 * of K, and blocks lie in rows of p.a.col or p.b.col blocks side by side:
 *
 *      K of A, BLOCK_K to a block        block t = (batch * panels + panel) * blocks of a panel
 *     +-------+-------+---+                        + k / BLOCK_K
 *     | t = 0 | t = 1 | 2 | TILE_M       lies at x = t % side * the width of a block
 *     +-------+-------+---+                      y = t / side * the height of a block
 *     | t = 3 | ..        | TILE_M
 *                                        side: number of blocks side by side. A block of A is
 *                                        BLOCK_K x TILE_M, one of B COLUMNS x BLOCK_K.
 *
 * Elements past M, N or K are zeros, so kernels check no bounds. A texel is a float. X is A, of
 * A_TYPE, with OF_A, and K runs along x; else it is B, and K runs along y. A work-item writes one
 * texel; grid: (a block's width * blocks, a block's height).
 */
#include "shared/types.clh"
#include "shared/quantized.h"

#ifdef COLUMN_MAJOR
/* The place of a word of a panel. */
static inline long
word_at (long line, int column)
{
  const int n = column / 16 * 16 + column % 4 / 2 * 8 + column % 16 / 4 * 2 + column % 2;
  #if B_TYPE == F32
  const int chunk = line % WGMMA_STEP / 16 * 4 + line % 4, word = line % 16 / 4;
  #else
  const int chunk = line % WGMMA_STEP / 4, word = line % 4;
  #endif

  return (line / WGMMA_STEP * PANEL + n) * WGMMA_STEP + (chunk ^ (n % 8)) * 4 + word;
}
#elif SUBGROUP_SIZE == PANEL
  #define word_at(line, column) ((long)(line)*PANEL + (column))
#else
static inline long
word_at (long line, int column)
{
  return (line / 8 * PANEL + column / SUBGROUP_SIZE * SUBGROUP_SIZE) * 8 +
         line % 8 * SUBGROUP_SIZE + column % SUBGROUP_SIZE;
}
#endif

#ifdef IMAGES
kernel void
pack_image (global const A_MEM *restrict X, IMAGE_OUT image, const GemmclStrides x, const int rows,
            const int cols, const int width, const int panels, const int per_panel, const int side)
{
  const int t = get_global_id (0) / width;
  const int panel = t / per_panel % panels, part = t % per_panel;
  const long u = get_global_id (0) % width;
  const long v = get_global_id (1), height = get_global_size (1);
  const long batch = t / per_panel / panels;
  #ifdef OF_A
  const long i = panel * height + v, j = (long)part * width + u;
  #else
  const long i = part * height + v, j = (long)panel * width + u;
  #endif
  const bool inside = i < rows && j < cols;
  const float texel =
      inside ? LOAD_A (X, x.offset + batch * x.batch + i * x.row + j * x.col) : 0.0f;

  write_texel (image, side * width, (int2)(t % side * width + u, t / side * height + v),
               as_uint (texel));
}
#elif B_TYPE == I8
kernel void
pack (global const float *restrict B, global int *restrict packed, const GemmclStrides b,
      const int N, const int K, global const float *restrict scales)
{
  const long j = get_global_id (0);
  const long batch = get_global_id (2);
  const int rows = INT8_B_K (K) / 4, column = j % PANEL, part = batch % SPLIT;
  const int real = j < N ? K : 0;
  B += b.offset + (batch - part) * b.batch + j * b.col;
  packed += (batch * get_global_size (0) + j) / PANEL * INT8_PANEL (K);

  float highest = 0.0f, invalid = 0.0f;
  for (int k = 0; k < real * SPLIT; k++) {
    const float x = B[k * b.row];
    highest = fabs (x) > highest ? fabs (x) : highest;
    invalid += x - x;
  }
  const float scale = scales && real ? scales[j] : highest / 127.0f;
  const bool tiny = !(scale >= INT8_LEAST);
  const int zero = scales && real ? (int)scales[N + j] : 0;

  int sum = 0;
  B += part * b.batch;
  for (int row = 0; row < rows; row++) {
    uint four = 0;
    for (int e = 0; e < 4; e++) {
      const int k = row * 4 + e;
      const float x = k < real && !tiny ? rint (B[k * b.row] / scale) : 0.0f;
      const int element = clamp ((int)x + (k < real ? zero : 0), -128, 127);
      sum += element;
      four |= (uint)(element & 0xff) << 8 * e;
    }
    packed[word_at (row, column)] = four;
  }
  packed += (long)rows * PANEL + column;
  packed[INT8_SCALE * PANEL] = as_int (invalid == 0.0f ? tiny ? 0.0f : scale : NAN);
  packed[INT8_ZERO * PANEL] = zero;
  packed[INT8_SUM * PANEL] = sum;
}
#else
  #define ROWS  (8 * WORD_ELEMENTS)
  #define PARTS (WORD_ELEMENTS == 1 ? 1 : (ROWS + SUBGROUP_SIZE - 1) / SUBGROUP_SIZE)

  #if WORD_ELEMENTS == 1 && B_TYPE != F32
typedef ushort Word;
  #else
typedef uint Word;
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

  for (int v = 0; v < WORD_ELEMENTS; v++) {
    const int number = line % 8 * WORD_ELEMENTS + v;
    const long k = line / 8 * ROWS + number / PARTS + SUBGROUP_SIZE * (number % PARTS);
    const float x = j < N && k < K ? B[b.offset + batch * b.batch + k * b.row + j * b.col] : 0.0f;
    word |= (Word)BITS (x) << 32 / WORD_ELEMENTS * v;
  }
  packed[(batch * (get_global_size (0) / PANEL) + j / PANEL) * lines * PANEL +
         word_at (line, j % PANEL)] = word;
}
#endif
