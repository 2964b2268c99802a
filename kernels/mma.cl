/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * mma: warps of 32 work-items multiply by the matrix engines of NVIDIA's GPUs (mma.clh): bf16, fp16
 * or tf32 with f32 sums, or uint8 by int8 (quantized.h) with int sums. A work-group owns a tile of
 * ROWS x PANEL of D and copies A and B to local memory in steps of 16 words of K.
 *
 *                     PANEL                   A warp owns WARP_M x WARP_N of the tile, 8 TILE_M x
 *               +-------+-------+             4 TILE_N. DOWN = GROUP_M / 8 warps lie below each
 *      16 words |       B       |             other, ACROSS = GROUP_N / 4 side by side.
 *               +-------+-------+
 *     16 words                                Lane 4 g + t of a warp owns, of its part of D,
 *      +----+   +-------+-------+               rows 8 r + g,  r < TILE_M
 *      |    |   | warp 0| warp 1|               columns 32 q + 8 t + 0..7,  q < TILE_N / 8
 *      | A  |   +-------+-------+ ROWS
 *      |    |   | warp 2| warp 3|
 *      +----+   +-------+-------+
 *
 * Local memory has STAGES steps: one is multiplied, the others are under way. One barrier a step
 * says that the step has arrived everywhere, and that all warps are done with the step before it,
 * whose place the next copies take.
 *
 *     a_at (row, chunk)    16 bytes of a row of A, chunk < 4: words 4 chunk .. 4 chunk + 3
 *     b_at (word, chunk)   16 bytes of a row of words of B: columns 4 chunk .. 4 chunk + 3. The
 *                          exclusive or spreads the four rows that a quarter of a warp reads at
 *                          once over the banks
 *
 * Each lane reads 16 bytes at once: of A chunk t of its rows, the words of two mma. Mma s, s < 2,
 * takes the words 4 t + 2 s and 4 t + 2 s + 1 of the step, since their order is free. Of B the
 * lane reads these rows in the columns 32 q + 4 g + 0..3. Column g of mma n, n = 4 q + c, is thus
 * column 32 q + 4 g + c of the warp, so that a lane's columns of D follow each other.
 *
 * B is packed in panels of rows of PANEL words (pack_dpas.cl with S = PANEL), K padded by zeros to
 * whole steps; with int8, as quantized.h draws it.
 *
 * A is copied as it is if it is stored in B's type, not scaled, and its rows consist of whole,
 * aligned chunks (A_CHUNKS, from the host; always with int8). Otherwise A of any type and strides
 * is fetched into registers before a step is multiplied, and converted and kept after. Rows past M
 * repeat the last row; columns past K are zeros, as are B's rows there.
 *
 * TILE_M, TILE_N   outputs of a work-item, multiples of 2 and 8; larger: fewer reads of local
 *                  memory for each mma. The sums take TILE_M * TILE_N registers, A and B
 *                  4 * TILE_M + 2 * TILE_N
 * GROUP_M, GROUP_N multiples of 8 and 4; larger: fewer reads of global memory
 * STAGES           3 or more; larger: more steps under way, more local memory:
 *                  64 (ROWS + PANEL) bytes each
 * A_UNIT_COL, A_FLOAT4, D_UNIT_COL, D_FLOAT4   from the host, as for tiled.cl
 */
#include "gemm.clh"
#include "quads.clh"

#define GROUP (GROUP_M * GROUP_N)

#include "mma.clh"
#include "group_tile.clh"

#ifndef MMA_PTX /* fewer stages only save local memory, of which emulation needs more */
  #undef STAGES
  #define STAGES 3
#endif
#define ROWS     (TILE_M * GROUP_M)
#define ACROSS   (GROUP_N / 4)
#define STEP     (MMA_STEP * MMA_PACK)
#define CHUNK    (4 * MMA_PACK)
#define A_CHUNK  (4 * ROWS)
#define B_CHUNK  (MMA_STEP * PANEL / 4)
#define STAGE    (A_CHUNK + B_CHUNK)
#define A_PARTS  ((A_CHUNK + GROUP - 1) / GROUP)
#define B_PARTS  (B_CHUNK / GROUP)
#define BLOCKS_N (TILE_N / 2)

#if B_TYPE == I8 || (defined(A_CHUNKS) && !defined(A_SCALED))
  #define A_COPIED
#endif
#if B_TYPE == I8
  #define PADDED_K(K)    BYTES_K (K)
  #define PANEL_WORDS(K) BYTES_PANEL (K)
#else
  #define PADDED_K(K)    (K)
  #define PANEL_WORDS(K) (((K) + STEP - 1) / STEP * MMA_STEP * (long)PANEL)
#endif

/* Row and chunk of part i of A; i = lane + GROUP * 0, 1 ... Neighbours read neighbouring elements.
 */
#if defined(A_UNIT_COL) || B_TYPE == I8
  #define PART_ROW(i)   ((i) / 4)
  #define PART_CHUNK(i) ((i) % 4)
#else
  #define PART_ROW(i)   ((i) % ROWS)
  #define PART_CHUNK(i) ((i) / ROWS)
#endif
/* Work-items without a part repeat the last one. */
#define PART(i) min (i, A_CHUNK - 1)

static inline int
a_at (int row, int chunk)
{
  return 4 * row + chunk;
}

static inline int
b_at (int word, int chunk)
{
  return A_CHUNK + word * (PANEL / 4) + (chunk ^ (word / 4 * 2));
}

#ifdef A_COPIED
LOCAL_INLINE void
copy_a (local uint4 *stage, global const A_MEM *A, const long index[A_PARTS], int lane, int rest)
{
  #pragma unroll
  for (int r = 0; r < A_PARTS; r++) {
    const int i = PART (lane + r * GROUP);
    const bool inside = PART_CHUNK (i) * CHUNK < rest;
    if (lane + r * GROUP < A_CHUNK)
      mma_copy (stage + a_at (PART_ROW (i), PART_CHUNK (i)), A + index[r], inside);
  }
}
#else
/* Elements past K are zeros. They are scaled later, when the load has completed; a_shift then makes
 * them nonzero, which is harmless since they meet zeros of B. */
static inline void
fetch_a (float x[A_PARTS][CHUNK], global const A_MEM *A, const GemmclProblem p,
         const long index[A_PARTS], int lane, int rest)
{
  #pragma unroll
  for (int r = 0; r < A_PARTS; r++) {
    const int k = PART_CHUNK (PART (lane + r * GROUP)) * CHUNK;
  #ifdef A_FLOAT4
    #pragma unroll
    for (int e = 0; e < CHUNK; e += 4) {
      const float4 four =
          k + e < rest ? *(global const float4 *)(A + index[r] + e) : (float4)(0.0f);
      x[r][e] = four.s0;
      x[r][e + 1] = four.s1;
      x[r][e + 2] = four.s2;
      x[r][e + 3] = four.s3;
    }
  #else
    #pragma unroll
    for (int e = 0; e < CHUNK; e++)
      x[r][e] = k + e < rest ? LOAD_A (A, index[r] + e * A_COL) : 0.0f;
  #endif
  }
}

LOCAL_INLINE void
keep_a (local uint4 *stage, const float x[A_PARTS][CHUNK], const GemmclProblem p, int lane)
{
  #pragma unroll
  for (int r = 0; r < A_PARTS; r++) {
    const int i = PART (lane + r * GROUP);
    uint words[4];
  #pragma unroll
    for (int w = 0; w < 4; w++) {
      float part[MMA_PACK];
  #pragma unroll
      for (int e = 0; e < MMA_PACK; e++)
        part[e] = SCALE_A (x[r][w * MMA_PACK + e], p.a_scale, p.a_shift);
      words[w] = mma_pack (part);
    }
    if (lane + r * GROUP < A_CHUNK)
      stage[a_at (PART_ROW (i), PART_CHUNK (i))] = (uint4)(words[0], words[1], words[2], words[3]);
  }
}
#endif

LOCAL_INLINE void
copy_b (local uint4 *stage, global const uint4 *panel, int lane, bool inside)
{
#pragma unroll
  for (int r = 0; r < B_PARTS; r++) {
    const int i = lane + r * GROUP;
    mma_copy (stage + b_at (i / (PANEL / 4), i % (PANEL / 4)), panel + i, inside);
  }
}

/* Reads the lane's words of a step. row: its first row; chunk: its first chunk of B. */
LOCAL_INLINE void
read_words (uint a[TILE_M][4], uint b[2][2][BLOCKS_N], local const uint4 *stage, int row, int chunk,
            int t)
{
#pragma unroll
  for (int r = 0; r < TILE_M; r++) {
    const uint4 four = stage[a_at (row + 8 * r, t)];
    a[r][0] = mma_round (four.s0);
    a[r][1] = mma_round (four.s1);
    a[r][2] = mma_round (four.s2);
    a[r][3] = mma_round (four.s3);
  }
#pragma unroll
  for (int w = 0; w < 4; w++)
#pragma unroll
    for (int q = 0; q < TILE_N / 8; q++) {
      const uint4 four = stage[b_at (4 * t + w, chunk + 8 * q)];
      b[w / 2][w % 2][4 * q] = four.s0;
      b[w / 2][w % 2][4 * q + 1] = four.s1;
      b[w / 2][w % 2][4 * q + 2] = four.s2;
      b[w / 2][w % 2][4 * q + 3] = four.s3;
    }
}

/* Four sums as floats, with int8 dequantized by the values that follow the row of A and the columns
 * of B. */
static inline float4
get_sums (const MmaNumber sum[4], global const A_MEM *row, global const uint *column,
          const GemmclProblem p)
{
#if B_TYPE == I8
  float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (p.K > 0)
  #pragma unroll
    for (int e = 0; e < 4; e++)
      x[e] = scale_byte (sum[e], (global const int *)(row + BYTES_K (p.K)),
                         (global const int *)column + BYTES_K (p.K) / 4 * PANEL + e, PANEL);
  return (float4)(x[0], x[1], x[2], x[3]);
#else
  return (float4)(sum[0], sum[1], sum[2], sum[3]);
#endif
}

/* Whole rows: the four lanes of a warp with the same g share rows, and warps side by side. They
 * exchange their values where the stages were. */
#define ROW_PART          float4
#define ROW_OWN           float
#define ROW_WIDTH         4
#define ROW_PARTS         (TILE_N / 4)
#define ROW_HELD          TILE_M
#define ROW_N             p.N
#define ROW_X(r)          x[r]
#define ROW_I(r)          (top + 8 * (r) + g)
#define ROW_J(part)       (left + (part) / 2 * 32 + 8 * t + (part) % 2 * 4)
#define ROW_COLUMNS(part) ((float)ROW_J (part) + (float4)(0, 1, 2, 3))
#define ROW_OUTPUTS       (R + batch * r_batch)
#define ROW_SHARE(OP, own)                                                                         \
  SHARE_FOUND (OP, own, TILE_M, (local float *)stages, GROUP, lane, t, 4, 1)                       \
  SHARE_FOUND (OP, own, TILE_M, (local float *)stages, GROUP, lane, across, ACROSS, 32)
#define ROW_STORES (t == 0 && across == 0)
#include "whole_rows.clh"

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_ARGUMENTS)
{
  local uint4 stages[STAGES * STAGE];
  MMA_SHARED (shared);

  const int lane = get_local_id (0), g = lane % 32 / 4, t = lane % 4;
  const int down = lane / 32 / ACROSS, across = lane / 32 % ACROSS;
  const int2 tile = group_tile ();
  const long batch = get_group_id (2);
  const long top = (long)tile.x * ROWS + down * 8 * TILE_M;
  const long left = (long)tile.y * PANEL + across * 4 * TILE_N;
  const int steps = (PADDED_K (p.K) + STEP - 1) / STEP;

  A += p.a.offset + batch * p.a.batch;
  B += p.b.offset + batch * p.b.batch;
  global const A_MEM *from = A;
  global const uint *words = (global const uint *)B + tile.y * PANEL_WORDS (p.K);
  global const uint4 *panel = (global const uint4 *)words;

  long index[A_PARTS];
#pragma unroll
  for (int r = 0; r < A_PARTS; r++) {
    const int i = PART (lane + r * GROUP);
    index[r] = min ((long)tile.x * ROWS + PART_ROW (i), (long)p.M - 1) * p.a.row +
               PART_CHUNK (i) * CHUNK * A_COL;
  }

  MmaNumber sum[TILE_M][TILE_N];
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int c = 0; c < TILE_N; c++)
      sum[r][c] = 0;

#ifdef A_COPIED
  #define FETCH_A(next) copy_a (stages + (next)*STAGE, from, index, lane, rest)
  #define KEEP_A(next)
#else
  #define FETCH_A(next) fetch_a (fetched, from, p, index, lane, rest)
  #define KEEP_A(next)  keep_a (stages + (next)*STAGE, fetched, p, lane)
  float fetched[A_PARTS][CHUNK];
#endif
/* Asks for the next step, into place `next`. */
#define ASK(next)                                                                                  \
  copy_b (stages + (next)*STAGE, panel, lane, rest > 0);                                           \
  FETCH_A (next);                                                                                  \
  MMA_COPIES_END ();                                                                               \
  rest -= STEP;                                                                                    \
  from += STEP * A_COL;                                                                            \
  panel += B_CHUNK;

  int rest = PADDED_K (p.K);
  for (int next = 0; next < STAGES - 1; next++) {
    ASK (next)
    KEEP_A (next);
  }
  for (int step = 0, place = 0; step < steps; step++) {
    const int next = place == 0 ? STAGES - 1 : place - 1;
    uint a[TILE_M][4], b[2][2][BLOCKS_N];

    MMA_COPIES_WAIT (STAGES - 2);
    barrier (CLK_LOCAL_MEM_FENCE);
    ASK (next)
    read_words (a, b, stages + place * STAGE, down * 8 * TILE_M + g, across * TILE_N + g, t);
    MMA_SHARE (shared, a, b);
    MMA_UNROLL
    for (int s = 0; s < 2; s++)
      MMA_UNROLL
    for (int m = 0; m < TILE_M / 2; m++)
      MMA_UNROLL
    for (int n = 0; n < BLOCKS_N; n++)
      MMA (sum, shared, a, b, m, n, s);
    KEEP_A (next);
    place = place + 1 == STAGES ? 0 : place + 1;
  }
  MMA_COPIES_WAIT (0);

#ifdef WHOLE_ROWS
  float4 x[TILE_M][TILE_N / 4];
#endif
#pragma unroll
  for (int r = 0; r < TILE_M; r++)
#pragma unroll
    for (int part = 0; part < TILE_N / 4; part++) {
      const long i = ROW_I (r), j = ROW_J (part);
#ifdef WHOLE_ROWS
      x[r][part] = 0.0f;
#endif
      if (i < p.M && j < p.N) {
        const float4 sums =
            get_sums (sum[r] + 4 * part, A + i * p.a.row, words + j - (long)tile.y * PANEL, p);
#ifdef WHOLE_ROWS
        x[r][part] = get_result (C, p, C_INDEX (batch, i, j), p.N - j, sums, vload4 (j / 4, bias));
#else
        finish (C, D, p, C_INDEX (batch, i, j), D_INDEX (batch, i, j), p.N - j, sums,
                vload4 (j / 4, bias));
#endif
      }
    }
#ifdef WHOLE_ROWS
  float own[ROW_HELD];
  FINISH_ROWS (own)
  #pragma unroll
  for (int r = 0; r < TILE_M; r++)
  #pragma unroll
    for (int part = 0; part < TILE_N / 4; part++) {
      const long i = ROW_I (r), j = ROW_J (part);
      if (i < p.M && j < p.N)
        store_result (D, p, D_INDEX (batch, i, j), p.N - j, x[r][part]);
    }
#endif
}
