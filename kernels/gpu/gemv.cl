/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemv: up to TILE_M rows of A times a B that is read once, which limits the speed. A work-group
 * owns a panel of B. Its work-items split K between them and add up their sums at the end.
 *
 *          PANEL = TILE_N * GROUP_N
 *            +---+---+---+---+                work-item (slice, n) = (item / GROUP_N,
 *            | 0 | 0 | 0 | 0 |  k = 0                                 item % GROUP_N)
 *            | 1 | 1 | 1 | 1 |      1         reads the n-th 16 bytes of the panel's rows
 *          K | 2 | 2 | 2 | 2 |      2           k = slice, slice + GROUP_M, slice + 2 GROUP_M ...
 *            | 0 | 0 | 0 | 0 |      3         so that the work-group reads GROUP_M contiguous rows
 *            | 1 | 1 | 1 | 1 |      4         at once (drawn: GROUP_M = 3)
 *            +---+---+---+---+
 *
 * If a row of the panel has 128 bytes or more, memory is read as fast in another order: a work-item
 * reads AHEAD rows that follow each other, a multiple of TILE_N, so that it can load their elements
 * of A at once.
 *
 *     sums[i][slice][column]    a slice's sum of D (i, column) / alpha in local memory
 *
 * The slices' sums are added in two steps: MEET work-items for each of the TILE_M x PANEL outputs
 * add GROUP_M / MEET slices each, then one work-item adds those and stores the output.
 *
 * With B in int8 (quantized.h) a row of the panel is a row of words of WORD = 4 elements of K. A is
 * not quantized: the elements of B less their zero point are floats, and the scale of a column is
 * multiplied into its sum. As with other int8 kernels, a row of A with an infinity becomes NaN.
 *
 * TILE_M     the most rows: max_m in kernels.def allows one tile along M. Each row takes TILE_N
 *            registers of a work-item
 * TILE_N     the columns of B in 16 bytes: 4 of f32 and i8, 8 of f16 and bf16
 * GROUP_N    work-items along N; smaller: more work-groups, which keep more of B under way; larger:
 *            more work-items that share elements of A
 * GROUP_M    slices of K, a multiple of MEET; larger: more loads in flight, if K is long enough
 * AHEAD      rows of B that a work-item loads before it uses the first; larger: more loads in
 *            flight
 */
#include "shared/gemm.clh"
#include "shared/quantized.h"

#define MEET (GROUP_M > 16 ? 16 : 1)

typedef PASTE (float, TILE_N) Columns;

/* The elements of B in 16 bytes. COLUMNS (x, e, zero): element e of their words, as floats. */
#if B_TYPE == F32
  #define WORD 1
typedef float4 Stored;
  #define COLUMNS(x, e, zero) (x)
#elif B_TYPE == I8
  #define WORD 4
typedef int4 Stored;
  #ifdef __NV_CL_C_VERSION
    #define COLUMNS(x, e, zero) columns_of (as_uint4 (x) ^ 0x80808080u, e, zero)

/* prmt, an instruction of PTX, puts a byte under the exponent of a float. With the byte plus 128
 * that makes 2^23 + 128 + byte, exactly, where NVIDIA's compiler shifts twice and converts. */
static inline float
float_of_byte (const uint word, const int e)
{
  uint bits;

  __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(bits) : "r"(word), "r"(0x4b000000), "r"(0x7650 + e));
  return as_float (bits);
}

static inline float4
columns_of (const uint4 x, const int e, const float4 zero)
{
  return (float4)(float_of_byte (x.s0, e), float_of_byte (x.s1, e), float_of_byte (x.s2, e),
                  float_of_byte (x.s3, e)) -
         (0x1p23f + 128.0f + zero);
}
  #else
    #define COLUMNS(x, e, zero) (convert_float4 ((x) << (24 - 8 * (e)) >> 24) - (zero))
  #endif
#else
  #define WORD                1
typedef uint4 Stored;
  #define COLUMNS(x, e, zero) columns_of (x)

static inline Columns
columns_of (const Stored x)
{
  return (Columns)(LOW (x.s0), HIGH (x.s0), LOW (x.s1), HIGH (x.s1), LOW (x.s2), HIGH (x.s2),
                   LOW (x.s3), HIGH (x.s3));
}
#endif

/* Rows of the panel from one that a work-item reads to the next, and those from the first that one
 * slice reads to the first of the next. */
#define APART (GROUP_N < 8 ? GROUP_M : 1)
#define SLICE (APART > 1 ? 1 : AHEAD)

/* A_COLUMNS (p): the TILE_N elements of A at p, in one load, where they are aligned and follow each
 * other in memory as in use. */
#if WORD == 4 && defined(A_FLOAT4)
  #define A_COLUMNS(p) (*(global const Columns *)(p))
#elif WORD == 1 && defined(A_CHUNKS) && APART == 1
  #define A_COLUMNS(p) COLUMNS (*(global const Stored *)(p), 0, 0)
#endif

/* Adds the products of AHEAD rows of the panel, or of one, which may be the end of K. A, panel: the
 * work-item's elements of the first; left: the elements of K from there on. */
INLINE void
add_rows (Columns sum[TILE_M], global const A_MEM *A, const long row[TILE_M],
          global const Stored *panel, const GemmclArguments p, const Columns zero, const bool ahead,
          const int left)
{
  const int rows = ahead ? AHEAD : 1;
  Stored b[AHEAD];
  Columns column[AHEAD * WORD];
#pragma unroll
  for (int s = 0; s < rows; s++)
    b[s] = panel[s * APART * GROUP_N];
#pragma unroll
  for (int s = 0; s < rows * WORD; s++)
    column[s] = COLUMNS (b[s / WORD], s % WORD, zero);
#pragma unroll
  for (int i = 0; i < TILE_M; i++) {
    float a[AHEAD * WORD];
#ifdef A_COLUMNS
    if (ahead)
  #pragma unroll
      for (int s = 0; s < AHEAD * WORD; s += TILE_N)
        PASTE (vstore, TILE_N)
    (SCALE_A (A_COLUMNS (A + row[i] + s * APART), (Columns)p.a_scale, (Columns)p.a_shift), 0,
     a + s);
    else
#endif
#pragma unroll
        for (int s = 0; s < rows * WORD; s++) a[s] =
            ahead || s < left
                ? SCALE_A (LOAD_A (A, row[i] + (s / WORD * WORD * APART + s % WORD) * A_COL),
                           p.a_scale, p.a_shift)
                : 0.0f;
#pragma unroll
    for (int s = 0; s < rows * WORD; s++)
      sum[i] = MAD ((Columns)(a[s]), column[s], sum[i]);
  }
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  local Columns sums[TILE_M][GROUP];

  const int item = get_local_id (0);
  const int slice = item / GROUP_N;
  const long batch = get_group_id (2);
  const long left = (long)get_group_id (1) * PANEL;

  A += p.a.offset + batch * p.a.batch + slice * SLICE * WORD * A_COL;
  B += p.b.offset + batch * p.b.batch;
#if B_TYPE == I8
  global const int *words = (global const int *)B + get_group_id (1) * INT8_PANEL (p.K);
  global const int *scales = words + (long)INT8_K (p.K) / 4 * PANEL;
  global const int4 *zeros = (global const int4 *)(scales + INT8_ZERO * PANEL);
  const Columns zero = p.K > 0 ? convert_float4 (zeros[item % GROUP_N]) : 0.0f;
#else
  global const B_MEM *words = B + left * p.K;
  const Columns zero = 0.0f;
#endif
  global const Stored *panel =
      (global const Stored *)words + slice * SLICE * GROUP_N + item % GROUP_N;

  Columns sum[TILE_M];
  long row[TILE_M];
#pragma unroll
  for (int i = 0; i < TILE_M; i++) {
    sum[i] = 0.0f;
    row[i] = min (i, p.M - 1) * p.a.row;
  }

  int rest = p.K - slice * SLICE * WORD;
  for (; rest >= ((AHEAD - 1) * APART + 1) * WORD; rest -= AHEAD * GROUP_M * WORD) {
    add_rows (sum, A, row, panel, p, zero, true, rest);
    A += AHEAD * GROUP_M * WORD * A_COL;
    panel += AHEAD * GROUP;
  }
  for (; rest > 0; rest -= APART * WORD) {
    add_rows (sum, A, row, panel, p, zero, false, rest);
    A += APART * WORD * A_COL;
    panel += APART * GROUP_N;
  }

#pragma unroll
  for (int i = 0; i < TILE_M; i++)
    sums[i][item] = sum[i];
  barrier (CLK_LOCAL_MEM_FENCE);

  /* In place: only this work-item reads the value that it overwrites. */
  for (int t = item; t < TILE_M * MEET * PANEL; t += GROUP) {
    local float *column = (local float *)sums[t / (MEET * PANEL)] + t % (MEET * PANEL);
    float total = 0.0f;
    for (int s = 0; s < GROUP_M; s += MEET)
      total += column[s * PANEL];
    *column = total;
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  for (int t = item; t < TILE_M * PANEL; t += GROUP) {
    const int i = t / PANEL;
    const long j = left + t % PANEL;
    if (i >= p.M || j >= p.N)
      continue;

    local const float *column = (local const float *)sums[i] + t % PANEL;
    float total = 0.0f;
    for (int s = 0; s < MEET; s++)
      total += column[s * PANEL];
#if B_TYPE == I8
    if (p.K > 0)
      total = isfinite (total) ? total * as_float (scales[t % PANEL]) : NAN;
#endif
    finish_one (C, bias, D, p, batch, i, j, total);
  }
}
