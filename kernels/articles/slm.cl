/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * slm: a work-group copies tiles of A and B to local memory, step by step, and its work-items
 * multiply from there. Options avoid bank conflicts (PAD), read float4s (WIDTH), and fill a second
 * pair of tiles while the first is used (SIDES); without them it is the textbook method. L3_SLM
 * (B_DIRECT) copies A alone, since every work-item needs all of its columns, and reads B directly,
 * one row at a time, through the cache.
 *
 *                             COLUMNS
 *                       +----+----+----+----+         ROWS    = TILE_M * GROUP_M
 *                TILE_K |    |    | B  |    |         COLUMNS = TILE_N * GROUP_N
 *                       +----+----+----+----+
 *       TILE_K            n=0  n=1  n=2  n=3
 *      +------+         +----+----+----+----+         work-item (m, n) = (item / GROUP_N,
 *      |      |         |    |    |    |    | m=0                         item % GROUP_N)
 *      |  A   | ROWS    +----+----+----+----+         owns the block at
 *      |      |         |    |    |xxxx|    | m=1       i = top  + m * TILE_M + r
 *      +------+         +----+----+----+----+           j = left + n * TILE_N + c
 *
 * With B_DIRECT its columns are float4s that are 4 * GROUP_N apart, so that neighbours read
 * neighbours: j = left + 4 * (c * GROUP_N + n) + 0..3.
 *
 *     tile_a[side][row * A_PITCH + k]               A_PITCH = TILE_K + PAD
 *     tile_b[side][k * B_PITCH + PADDED (column)]   PADDED (j) = j + j / BANKS * PAD
 *
 * Work-items (m, 0), (m, 1) ... read elements of B's tile that are TILE_N apart at the same time;
 * (0, n), (1, n) ... elements of A's tile that are TILE_M * A_PITCH apart. Without PAD these are
 * multiples of a power of two, and map to few of the BANKS that local memory serves in parallel.
 * PAD moves the elements of the same bank to different banks.
 *
 *     SIDES = 1   fill | barrier | multiply | barrier | fill ...
 *     SIDES = 2   fill 0 | barrier | fill 1, multiply 0 | barrier | fill 0, multiply 1 ...
 *
 * Rows past M and columns past N repeat the last one; elements with k past K are zeros, or are not
 * multiplied (B_DIRECT).
 *
 * TILE_M, TILE_N     outputs of a work-item, in TILE_M * TILE_N registers; larger: fewer reads of
 *                    local memory per multiplication
 * GROUP_M, GROUP_N   work-items of a work-group; larger: fewer reads of global memory, or more of
 *                    them that hit the cache (B_DIRECT)
 * TILE_K             depth of a step; larger: fewer barriers and more local memory,
 *                    SIDES * (ROWS * A_PITCH + TILE_K * B_PITCH) floats. TILE_M * TILE_K must be a
 *                    multiple of WIDTH * GROUP_N, TILE_N * TILE_K one of WIDTH * GROUP_M
 * WIDTH              1 or 4 (B_DIRECT: 4): floats per read of local memory, and of A and B where
 *                    their layout allows; TILE_N, TILE_K and PAD are multiples of it
 * PAD                padding in floats, 0 or WIDTH
 * UNROLL             unroll factor of the loop over a step, in steps of WIDTH
 * SIDES              pairs of tiles: 1, or 2 for double buffering
 */
#include "shared/gemm.clh"

#define COLUMNS   (TILE_N * GROUP_N)
#define A_PITCH   (TILE_K + PAD)
#define BANKS     32
#define PADDED(j) ((j) + (j) / BANKS * PAD)
#define B_PITCH   PADDED (COLUMNS)

/* A strip is WIDTH neighbouring columns of a row of B, C or D. */
#define STRIPS (TILE_N / WIDTH) /* of a work-item */
#if WIDTH == 4
typedef float4 strip;
  #define ELEMENT(x, e) ((e) == 0 ? (x).s0 : (e) == 1 ? (x).s1 : (e) == 2 ? (x).s2 : (x).s3)
#else
typedef float strip;
  #define ELEMENT(x, e) (x)
#endif
#include "shared/quads.clh"

/* Columns from a work-item's first strip to the next, and from a work-item to the next. */
#ifdef B_DIRECT
  #define STRIP_STEP (WIDTH * GROUP_N)
  #define ITEM_STEP  WIDTH
#else
  #define STRIP_STEP WIDTH
  #define ITEM_STEP  TILE_N
#endif

/* Copies rows top to top + ROWS - 1; rows past M repeat the last row. rest: number of k left; the
 * elements past it are zeros. */
INLINE void
copy_a (local float *tile, global const A_MEM *A, const GemmclArguments p, long top, int item,
        int rest)
{
#pragma unroll
  for (int r = 0; r < ROWS * TILE_K / A_WIDTH / GROUP; r++) {
    const int t = item + r * GROUP;
    const long row = min (top + PART_ROW (t), (long)p.M - 1);
    a_part x = 0.0f;
    if (PART_K (t) < rest)
      x = SCALE_A (LOAD_PART (A, row * p.a.row + PART_K (t) * A_COL), (a_part)(p.a_scale),
                   (a_part)(p.a_shift));
    *(local a_part *)(tile + PART_ROW (t) * A_PITCH + PART_K (t)) = x;
  }
}

/* Columns j to j + WIDTH - 1 of the row of B that begins at row; columns past N repeat the last. */
static inline strip
load_strip (global const float *row, const GemmclArguments p, long j)
{
#if WIDTH == 4
  if (p.b.col == 1 && j + 4 <= p.N)
    return vload4 (0, row + j);
  const long last = p.N - 1;
  return (float4)(row[min (j, last) * p.b.col], row[min (j + 1, last) * p.b.col],
                  row[min (j + 2, last) * p.b.col], row[min (j + 3, last) * p.b.col]);
#else
  return row[min (j, (long)p.N - 1) * p.b.col];
#endif
}

#ifdef B_DIRECT
/* Loads the work-item's columns of the row at B. whole: they are contiguous and within N. */
static inline void
load_row (strip b[STRIPS], global const float *B, const GemmclArguments p, long j, bool whole)
{
  #pragma unroll
  for (int c = 0; c < STRIPS; c++)
    b[c] = whole ? vload4 (0, B + j + c * STRIP_STEP) : load_strip (B, p, j + c * STRIP_STEP);
}

static inline void
add (strip sum[TILE_M][STRIPS], int r, float a, const strip b[STRIPS])
{
  #pragma unroll
  for (int c = 0; c < STRIPS; c++)
    sum[r][c] = MAD ((strip)(a), b[c], sum[r][c]);
}

static inline void
add_four (strip sum[TILE_M][STRIPS], int r, const strip a, const strip b[4][STRIPS])
{
  add (sum, r, a.s0, b[0]);
  add (sum, r, a.s1, b[1]);
  add (sum, r, a.s2, b[2]);
  add (sum, r, a.s3, b[3]);
}

  #define LOAD_ROW(e)     load_row (b[e], B + (k + (e)) * p.b.row, p, j, whole);
  #define MULTIPLY_ROW(r) add_four (sum, r, *(local const strip *)(a + (r)*A_PITCH + k), b);

/* Adds up to TILE_K products to each sum. a: the work-item's first row of the tile; j: its column;
 * whole: rows of B are contiguous, and all columns lie within N. */
INLINE void
multiply (strip sum[TILE_M][STRIPS], local const float *a, global const float *B,
          const GemmclArguments p, long j, int steps, bool whole)
{
  strip b[4][STRIPS];
  int k = 0;

  #pragma unroll 1
  for (; k + 4 <= steps; k += 4) {
    REPEAT (4, LOAD_ROW)
    REPEAT (TILE_M, MULTIPLY_ROW)
  }
  #pragma unroll 1
  for (; k < steps; k++) {
    LOAD_ROW (0)
  #pragma unroll
    for (int r = 0; r < TILE_M; r++)
      add (sum, r, a[r * A_PITCH + k], b[0]);
  }
}

/* multiply with `whole` as a constant */
INLINE void
multiply_by (strip sum[TILE_M][STRIPS], local const float *a, global const float *B,
             const GemmclArguments p, long j, int steps, bool whole)
{
  if (whole)
    multiply (sum, a, B, p, j, steps, true);
  else
    multiply (sum, a, B, p, j, steps, false);
}

  #define COPY_B(side, B, rest)
  #define MULTIPLY(side)                                                                           \
    multiply_by (sum, tile_a[side] + m * A_PITCH, B + b_at, p, left + n, min (rest, TILE_K), whole);
#else
/* Copies columns left to left + COLUMNS - 1 of B. Neighbouring work-items read neighbouring memory,
 * in either layout of B. */
INLINE void
copy_b (local float *tile, global const float *B, const GemmclArguments p, long left, int item,
        int rest)
{
  const int across = COLUMNS / WIDTH;
  const bool by_row = p.b.col == 1;
  #pragma unroll
  for (int r = 0; r < TILE_K * across / GROUP; r++) {
    const int t = item + r * GROUP;
    const int k = by_row ? t / across : t % TILE_K;
    const int j = (by_row ? t % across : t / TILE_K) * WIDTH;
    strip x = 0.0f;
    if (k < rest)
      x = load_strip (B + k * p.b.row, p, left + j);
    *(local strip *)(tile + k * B_PITCH + PADDED (j)) = x;
  }
}

/* Adds the products of a step. a, b: the work-item's first row and column in the tiles. */
INLINE void
multiply (strip sum[TILE_M][STRIPS], local const float *a, local const float *b)
{
  #pragma unroll UNROLL
  for (int k = 0; k < TILE_K; k += WIDTH) {
    strip a_k[TILE_M];
  #pragma unroll
    for (int r = 0; r < TILE_M; r++)
      a_k[r] = *(local const strip *)(a + r * A_PITCH + k);
  #pragma unroll
    for (int e = 0; e < WIDTH; e++)
  #pragma unroll
      for (int c = 0; c < STRIPS; c++) {
        const strip b_k = *(local const strip *)(b + (k + e) * B_PITCH + c * WIDTH);
  #pragma unroll
        for (int r = 0; r < TILE_M; r++)
          sum[r][c] = MAD ((strip)(ELEMENT (a_k[r], e)), b_k, sum[r][c]);
      }
  }
}

  #define COPY_B(side, B, rest) copy_b (tile_b[side], B, p, left, item, rest)

  #define MULTIPLY(side) multiply (sum, tile_a[side] + m * A_PITCH, tile_b[side] + PADDED (n));
#endif

/* Computes and stores D (i, j) and the following columns of the strip, those within M and N. */
static inline void
finish_strip (global const C_MEM *C, global const float *bias, global D_MEM *D,
              const GemmclArguments p, long batch, long i, long j, strip sum)
{
  if (i >= p.M || j >= p.N)
    return;
#if WIDTH == 4
  float b[4];
  #pragma unroll
  for (int e = 0; e < 4; e++)
    b[e] = j + e < p.N ? bias[j + e] : 0.0f;
  store_result (D, p, D_INDEX (batch, i, j), p.N - j,
                get_result (C, p, C_INDEX (batch, i, j), p.N - j, sum, vload4 (0, b)));
#else
  finish_one (C, bias, D, p, batch, i, j, sum);
#endif
}

/* Written out for each row: NVIDIA's compiler keeps sums in memory where a loop indexes them. */
#define FINISH_ROW(r)                                                                              \
  _Pragma ("unroll") for (int c = 0; c < STRIPS; c++)                                              \
      finish_strip (C, bias, D, p, batch, top + m + (r), left + n + c * STRIP_STEP, sum[r][c]);

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  local float tile_a[SIDES][ROWS * A_PITCH] __attribute__ ((aligned (16)));

  const int item = get_local_id (0);
  const int m = item / GROUP_N * TILE_M;
  const int n = item % GROUP_N * ITEM_STEP;
  const long batch = get_group_id (2);
  const long top = (long)get_group_id (0) * ROWS;
  const long left = (long)get_group_id (1) * COLUMNS;

#ifdef B_DIRECT
  const bool whole = p.b.col == 1 && left + COLUMNS <= p.N;
#else
  local float tile_b[SIDES][TILE_K * B_PITCH] __attribute__ ((aligned (16)));
#endif

  A += p.a.offset + batch * p.a.batch;
  B += p.b.offset + batch * p.b.batch;

  strip sum[TILE_M][STRIPS];
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < STRIPS; c++)
      sum[r][c] = 0.0f;

  if (SIDES == 2) {
    copy_a (tile_a[0], A, p, top, item, p.K);
    COPY_B (0, B, p.K);
  }
  long a_at = 0, b_at = 0; /* they advance only with B_DIRECT */
  for (int rest = p.K, side = 0; rest > 0; rest -= TILE_K, side = (side + 1) % SIDES) {
    const int ahead = (SIDES - 1) * TILE_K;
    const int filled = (side + SIDES - 1) % SIDES;

    if (SIDES == 2)
      barrier (CLK_LOCAL_MEM_FENCE);
    copy_a (tile_a[filled], A + a_at + ahead * A_COL, p, top, item, rest - ahead);
    COPY_B (filled, B + b_at + ahead * p.b.row, rest - ahead);
    if (SIDES == 1)
      barrier (CLK_LOCAL_MEM_FENCE);
    MULTIPLY (side)
    if (SIDES == 1)
      barrier (CLK_LOCAL_MEM_FENCE);
#ifdef B_DIRECT /* Intel's compiler for Xe-HPG makes a longer loop around pointers that advance. */
    a_at += TILE_K * A_COL;
    b_at += TILE_K * p.b.row;
#else
    A += TILE_K * A_COL;
    B += TILE_K * p.b.row;
#endif
  }

  REPEAT (TILE_M, FINISH_ROW)
}
