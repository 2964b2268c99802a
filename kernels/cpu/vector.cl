/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vector: for CPUs. A work-group is one work-item, which computes tiles of D one after another. All
 * sums of a tile are in vector registers.
 *
 *              K                  TILE_N                    For each k, one row of B's panel is
 *         +---------+         +-----+-----+                 loaded into TILE_N / WIDTH vectors.
 *  TILE_M | a       |         | b_0 | b_1 |  row k          Each of TILE_M elements of A is
 *         | a   k   |   x   K |     |     |           ->    broadcast and multiplied with them.
 *         | a       |         |     |     |
 *         +---------+         +-----+-----+                 i = tile * TILE_M + m
 *                             panel of packed B             j = panel * TILE_N + v * WIDTH + lane
 *
 * Rows past M repeat the last row and are not stored; columns past N are zeros in B and are not
 * stored. The host launches any grid; a work-group owns an equal part of the tiles:
 *
 *            panel 0   1   2        It takes a stack of tiles, whose rows of A stay in the
 *                +---+---+---+      second-level cache, through all of its panels, then the next
 *  stack 0 tile 0| 0 | 2 | 4 |      stack. The numbers are the order of tiles. So A is read from
 *               1| 1 | 3 | 5 |      memory once per group, and a panel of B once per stack.
 *  stack 1      2| 6 | 8 |10 |
 *               3| 7 | 9 |11 |
 *                +---+---+---+
 *
 * COPIES_A: the rows of a stack are first copied to private memory as float. The host defines it in
 * two cases. If the conversion to float takes many instructions, the copy takes them once, not once
 * per panel. If rows lie a multiple of 4096 bytes apart, the elements of a column share one set of
 * the first-level cache, which often has 8 ways; the copy's rows begin in different sets.
 *
 * Otherwise a tile of the first panel prefetches the rows of the tile below. B is prefetched a
 * fixed distance ahead. Hardware prefetchers follow one long stream, but not TILE_M short ones, and
 * stop at the end of a page. A large D is written with non-temporal stores, which save reading its
 * cache lines first.
 *
 * B in bf16 (B_TYPE) halves the reads of B; it is converted to float in registers. With an int8 B,
 * A is uint8 (quantize.cl): a and b in the drawing are then ints of four elements with neighbouring
 * k, and sums are ints until the end (quantized.h, dot.clh).
 *
 * TILE_M, TILE_N: rows and columns of a tile. TILE_M * TILE_N / WIDTH + TILE_N / WIDTH + 1 should
 *   not exceed the CPU's vector registers (32 with AVX-512 and NEON, else 16). To keep the units
 *   busy there should be as many sums as latency times throughput of a multiply-add (8 to 10). Tall
 *   tiles read B less often, wide tiles A.
 * WIDTH: floats of a vector register, the device's native width.
 *
 * Defined below:
 * ROWS: rows of A in a stack at most.
 * AHEAD: prefetch distance in B, in elements.
 * STREAM: elements of D from which on non-temporal stores are used.
 * NEAR: elements of an A that stays in the second-level cache beside B.
 * LINE: elements of A in a cache line; with int8, a unit of four elements counts as one.
 */
#include "shared/gemm.clh"
#include "shared/row_steps.clh"

#if B_TYPE == I8
  #include "shared/dot.clh"

  #define A_ELEMENT           global const int
  #define B_ELEMENT           int
  #define SUMS                PASTE (int, WIDTH)
  #define STEPS(K)            (((K) + 3) / 4)
  #define B_PANEL(K)          INT8_PANEL (K)
  #define A_STEP              1L
  #define FETCH_A(row, k)     ((SUMS)((row)[k]))
  #define FETCH_B(v, p)       VLOAD (v, p)
  #define MULTIPLY(sum, a, b) DOT (SUMS, sum, a, b)
#else
  /* dot.clh defines these two for int8. */
  #define DOT_TARGET
  #define DOT_CALLER INLINE
  #define B_ELEMENT  B_MEM
  #define SUMS       FLOATS
  #define STEPS(K)   (K)
  #define B_PANEL(K) ((long)TILE_N * (K))
  #ifdef COPIES_A
    #define A_ELEMENT       const float
    #define A_STEP          1L
    #define FETCH_A(row, k) ((FLOATS)((row)[k]))
  #else
    #define A_ELEMENT       global const A_MEM
    #define A_STEP          A_COL
    #define FETCH_A(row, k) ((FLOATS)(SCALE_A (LOAD_A (row, k), p.a_scale, p.a_shift)))
  #endif
  #define MULTIPLY(sum, a, b) MAD (a, b, sum)
  #if B_TYPE == BF16
    #define FETCH_B(v, p) PASTE (as_float, WIDTH) (PASTE (convert_uint, WIDTH) (VLOAD (v, p)) << 16)
  #else
    #define FETCH_B(v, p) VLOAD (v, p)
  #endif
#endif

#define ROWS    72
#define AHEAD   (4 * 1024 / (int)sizeof (B_ELEMENT))
#define STREAM  (4 << 20)
#define NEAR    (512 * 1024 / (int)sizeof (A_ELEMENT))
#define LINE    (64 / (int)sizeof (A_ELEMENT))
#define VECTORS (TILE_N / WIDTH)
#define VLOAD   PASTE (vload, WIDTH)
#define VSTORE  PASTE (vstore, WIDTH)

/* A is prefetched to the second-level cache, since each panel reads it again; B to the first.
 * OpenCL's prefetch () is empty in PoCL; in Intel's runtime for CPUs it is a call, across which no
 * sum stays in a register. OpenCL C has no non-temporal stores. */
#if defined(POCL_DEVICE_ADDRESS_BITS) || defined(INTEL_CPU)
  #define PREFETCH_A(p)           __builtin_prefetch ((const void *)(ulong)(p), 0, 2)
  #define PREFETCH_B(p)           __builtin_prefetch ((const void *)(ulong)(p), 0, 3)
  #define STORE_PAST_CACHES(x, p) __builtin_nontemporal_store (x, p)
#else
  #define PREFETCH_A(p)
  #define PREFETCH_B(p)
  #define STORE_PAST_CACHES(x, p) (*(p) = (x))
#endif

#define T FLOATS
#include "shared/activate.clh"

/* Whole rows: one row of D at a time, all of it held by this work-item. */
#define NUMBERS_4         0, 1, 2, 3
#define NUMBERS_8         NUMBERS_4, 4, 5, 6, 7
#define NUMBERS_16        NUMBERS_8, 8, 9, 10, 11, 12, 13, 14, 15
#define ROW_PART          FLOATS
#define ROW_WIDTH         WIDTH
#define ROW_PARTS         VECTORS
#define ROW_HELD          1
#define ROW_RESULT        float
#define ROW_N             p.N
#define ROW_OUTPUTS       row_outputs
#define ROW_I(r)          (i + m)
#define ROW_COLUMNS(part) ((float)((part)*WIDTH) + (FLOATS)(PASTE (NUMBERS_, WIDTH)))
#define ROW_SHARE(step, x)
#define ROW_STORES true
#include "shared/whole_rows.clh"

/* Loads WIDTH elements of C that are col apart; elements from `columns` on are 0. */
static inline FLOATS
load_c (global const C_MEM *C, long col, int columns)
{
#if C_TYPE == F32
  if (col == 1 && columns >= WIDTH)
    return VLOAD (0, C);
#endif
  float c[WIDTH];
  for (int lane = 0; lane < WIDTH; lane++)
    c[lane] = lane < columns ? LOAD_C (C, lane * col) : 0.0f;
  return VLOAD (0, c);
}

/* Stores the first `columns` elements of x, at most WIDTH, col apart. */
static inline void
store_d (global D_MEM *D, long col, int columns, bool stream, FLOATS x)
{
#if D_TYPE == F32
  if (col == 1 && columns >= WIDTH) {
    if (stream && (ulong)D % sizeof (FLOATS) == 0)
      STORE_PAST_CACHES (x, (global FLOATS *)D);
    else
      VSTORE (x, 0, D);
    return;
  }
#endif
  float d[WIDTH];
  VSTORE (x, 0, d);
  for (int lane = 0; lane < min (columns, WIDTH); lane++)
    STORE_D (D, lane * col, d[lane]);
}

#if B_TYPE == I8
/* The dequantized sum, from the values that follow the row of A and the panel of B. */
static inline FLOATS
scale_int8s (SUMS sum, global const int *row, global const int *panel, int v)
{
  return INT8_PRODUCT (WIDTH, sum, row[INT8_SCALE], row[INT8_ZERO], row[INT8_SUM],
                       VLOAD (v, panel + INT8_SCALE * TILE_N),
                       VLOAD (v, panel + INT8_ZERO * TILE_N),
                       VLOAD (v, panel + INT8_SUM * TILE_N));
}
#endif

/* Stores a whole tile without C, for activations of few instructions: unrolled, with no checks per
 * vector. This pays where K is small. */
#if B_TYPE != I8 && D_TYPE == F32 && defined(D_UNIT_COL) && !defined(D_OMITTED) &&                 \
    !defined(WHOLE_ROWS) && ACTIVATION_KIND == ACTIVATION_SHORT
  #define STORES_WHOLE_TILES
static inline void
store_tile (global float *d, const long row, global const float *bias, const float alpha,
            const bool stream, SUMS sum[TILE_M][VECTORS])
{
  #pragma unroll
  for (int m = 0; m < TILE_M; m++) {
  #pragma unroll
    for (int v = 0; v < VECTORS; v++) {
      const FLOATS x =
          PASTE (activate_, FLOATS) (MAD (sum[m][v], (FLOATS)(alpha), VLOAD (v, bias)));
      if (stream)
        STORE_PAST_CACHES (x, (global FLOATS *)(d + m * row) + v);
      else
        VSTORE (x, v, d + m * row);
    }
  }
}
#endif

/* The first item of part `index`, of `parts` equal parts of `total` items: the end of the part
 * before it. */
static inline int
get_start (int total, long index, long parts)
{
  return total * index / parts;
}

/* Sets rows[0 .. count - 1] to rows of A from the first on; rows past M repeat the last one. With
 * COPIES_A it copies them, one after the other, to `copy`. */
INLINE void
find_rows (A_ELEMENT **rows, float *copy, global const A_MEM *A, const GemmclArguments p,
           const long first, const int count)
{
  for (int r = 0; r < count; r++) {
    global const A_MEM *from = A + min (first + r, p.M - 1L) * p.a.row;
#ifdef COPIES_A
    rows[r] = copy;
    for (int k = 0; k < p.K; k += WIDTH)
      VSTORE (load_row (from, A_COL, k, p.K, p.a_scale, p.a_shift), 0, copy + k);
    copy += VECTOR_COPY_ROW (p.K);
#else
    rows[r] = (A_ELEMENT *)from;
#endif
  }
}

/* Adds the products of step k. */
INLINE DOT_TARGET void
add_step (SUMS sum[TILE_M][VECTORS], A_ELEMENT **row, global const B_ELEMENT *panel, const long k,
          const GemmclArguments p)
{
  SUMS b[VECTORS];

#pragma unroll
  for (int c = 0; c < TILE_N; c += 64 / (int)sizeof (B_ELEMENT))
    PREFETCH_B (panel + k * TILE_N + c + AHEAD);
#pragma unroll
  for (int v = 0; v < VECTORS; v++)
    b[v] = FETCH_B (v, panel + k * TILE_N);
#pragma unroll
  for (int m = 0; m < TILE_M; m++) {
    const SUMS a = FETCH_A (row[m], k * A_STEP);
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
      sum[m][v] = MULTIPLY (sum[m][v], a, b[v]);
  }
}

/* Multiplies TILE_M rows of A by a panel of B. prefetches: also prefetches the next TILE_M rows. */
DOT_CALLER void
multiply_tile (SUMS result[TILE_M][VECTORS], A_ELEMENT **rows, global const B_ELEMENT *panel,
               const int steps, const bool prefetches, const GemmclArguments p)
{
  /* Copies of the row pointers. From offsets, compilers build one vector and extract a lane per
   * load, and recompute each address in every step. */
  A_ELEMENT *row[TILE_M];
  SUMS sum[TILE_M][VECTORS];

#pragma unroll
  for (int m = 0; m < TILE_M; m++) {
    row[m] = rows[m];
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
      sum[m][v] = 0;
  }

  /* A prefetch of A serves the LINE steps of a cache line, an even number; without prefetches one
   * stretch has all steps. Two steps in one iteration share the instructions that count. They are
   * two calls, since PoCL's compiler warns of an unroll pragma. */
  const long length = prefetches ? LINE : steps;
  for (long start = 0; start < steps; start += length) {
    const long end = min (start + length, (long)steps);

    if (prefetches)
#pragma unroll
      for (int m = 0; m < TILE_M; m++)
        PREFETCH_A (rows[TILE_M + m] + start);
    for (long k = start; k + 1 < end; k += 2) {
      add_step (sum, row, panel, k, p);
      add_step (sum, row, panel, k + 1, p);
    }
  }
  if (steps % 2 != 0)
    add_step (sum, row, panel, steps - 1, p);
#pragma unroll
  for (int m = 0; m < TILE_M; m++)
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
      result[m][v] = sum[m][v];
}

/* Copies the sums, times alpha, for the rolled epilogue loop: an array that is indexed at run time
 * cannot be in registers, and an unrolled epilogue would be TILE_M * VECTORS times as large. */
INLINE void
scale_tile (FLOATS scaled[TILE_M][VECTORS], SUMS sum[TILE_M][VECTORS], A_ELEMENT **rows,
            global const B_ELEMENT *panel, const GemmclArguments p)
{
#pragma unroll
  for (int m = 0; m < TILE_M; m++)
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
#if B_TYPE == I8
      scaled[m][v] = p.K == 0 ? 0.0f
                              : p.alpha * scale_int8s (sum[m][v], rows[m] + INT8_K (p.K) / 4,
                                                       panel + INT8_K (p.K) / 4 * TILE_N, v);
#else
      scaled[m][v] = p.alpha * sum[m][v];
#endif
}

/* Computes the tile of D at (i, j) from the scaled sums, and stores it. row_outputs: those of the
 * problem. */
INLINE void
finish_tile (FLOATS scaled[TILE_M][VECTORS], global const C_MEM *C, global const float *bias,
             global D_MEM *D, global float *row_outputs, const GemmclArguments p, const long batch,
             const int i, const int j, const bool stream)
{
#pragma unroll 1
  for (int m = 0; m < min (TILE_M, p.M - i); m++) {
    FLOATS x[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
      const int column = j + v * WIDTH;
      FLOATS c = 0.0f;
      if (p.beta != 0.0f)
        c = p.beta * load_c (C + C_INDEX (batch, i + m, column), p.c.col, p.N - column);
      x[v] = EPILOGUE (FLOATS, scaled[m][v], VLOAD (0, bias + column), c);
    }
#ifdef WHOLE_ROWS
    FINISH_ROWS (x)
#endif
#pragma unroll
    for (int v = 0; STORES_D && v < VECTORS; v++) {
      const int column = j + v * WIDTH;
      store_d (D + D_INDEX (batch, i + m, column), D_COL, p.N - column, stream, x[v]);
    }
  }
}

kernel void
gemm (GEMM_PARAMETERS)
{
  const int tiles = (p.M - 1) / TILE_M + 1, panels = (p.N - 1) / TILE_N + 1;
  const int first_panel = get_start (panels, get_group_id (1), get_num_groups (1));
  const int end_panel = get_start (panels, get_group_id (1) + 1, get_num_groups (1));
  const int end_tile = get_start (tiles, get_group_id (0) + 1, get_num_groups (0));
  const int steps = STEPS (p.K);
  const long batch = get_group_id (2);
  const bool stream = (long)p.M * p.N >= STREAM;

  A += p.a.offset + batch * p.a.batch;
  B += p.b.offset + batch * p.b.batch;

  global float *row_outputs = OUTPUTS_OF (batch);
#ifdef COPIES_A
  const int most_tiles = min (ROWS / TILE_M, VECTOR_COPY / TILE_M / VECTOR_COPY_ROW (p.K));
  const bool prefetches = false;
  float copy[VECTOR_COPY];
  enum { NEXT_TILES = 0 };
#else
  const int most_tiles = ROWS / TILE_M;
  /* No prefetch for a small A, which is cached anyway. */
  const bool prefetches = A_STEP == 1 && (long)p.M * steps > NEAR;
  float *copy = 0;
  enum { NEXT_TILES = 1 }; /* row pointers of one more tile, for its prefetch */
#endif

  int stack = 0;
  for (int first = get_start (tiles, get_group_id (0), get_num_groups (0)); first < end_tile;
       first += stack) {
    stack = min (most_tiles, end_tile - first);

    A_ELEMENT *rows[ROWS + TILE_M];
    find_rows (rows, copy, A, p, (long)first * TILE_M, (stack + NEXT_TILES) * TILE_M);

    for (int panel = first_panel; panel < end_panel; panel++)
      for (int tile = 0; tile < stack; tile++) {
        const int i = (first + tile) * TILE_M;
        const int j = panel * TILE_N;
        global const B_ELEMENT *b_panel = (global const B_ELEMENT *)B + panel * B_PANEL (p.K);
        SUMS sum[TILE_M][VECTORS];

        multiply_tile (sum, rows + tile * TILE_M, b_panel, steps,
                       prefetches && panel == first_panel, p);
#ifdef STORES_WHOLE_TILES
        if (i + TILE_M <= p.M && j + TILE_N <= p.N && p.beta == 0.0f) {
          global float *d = D + D_INDEX (batch, i, (long)j);
          if (stream && ((ulong)d | (ulong)p.d.row * sizeof (float)) % sizeof (FLOATS) == 0)
            store_tile (d, p.d.row, bias + j, p.alpha, true, sum);
          else
            store_tile (d, p.d.row, bias + j, p.alpha, false, sum);
          continue;
        }
#endif

        FLOATS scaled[TILE_M][VECTORS];
        scale_tile (scaled, sum, rows + tile * TILE_M, b_panel, p);
        finish_tile (scaled, C, bias, D, row_outputs, p, batch, i, j, stream);
      }
  }
}
