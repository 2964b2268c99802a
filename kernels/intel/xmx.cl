/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * xmx: subgroups multiply by matrix engines (dpas.clh): bf16, f16 or tf32 with f32 sums, or uint8
 * by int8 (quantized.h) with int sums. B_TYPE F32 stands for tf32.
 * S = SUBGROUP_SIZE = columns of a dpas. A subgroup owns TILE_M x PANEL of D, PANEL = TILE_N * S.
 *
 *                    PANEL                          A work-group has GROUP_M such tiles along M
 *                 S    S   ..                       and ACROSS = GROUP_N / S along N. Subgroups
 *               +----+----+----+                    side by side share reads of A through the
 *        DPAS_K |    |    |    |                    cache; those below each other share reads
 *               +----+----+----+                    of B.
 *          STEP |  B, packed   |
 *               +----+----+----+                         +------+------+   sg_id ()
 *   DPAS_K  STEP                                         |   0  |   1  |   with GROUP_M = 3,
 *   +----+----+ +----+----+----+                         +------+------+        ACROSS = 2
 *   |    |    | |    |    |    | 8                       |   2  |   3  |
 *   +----+ A  + +----+ D  +----+        TILE_M           +------+------+
 *   |    |    | |    |    |    | 8                       |   4  |   5  |
 *   +----+----+ +----+----+----+                         +------+------+
 *
 * In registers, D is TILE_M / 8 x TILE_N blocks of 8 x S, of which each lane has a column. A is
 * TILE_M / 8 blocks of 8 x DPAS_K, scaled and rounded after the read. B is TILE_N blocks of
 * DPAS_K x S (BLOCKS_M and OWN_N below, which WIDE changes). Then
 *
 *     for each block c of B          D (m, c) += A (m) * B (c), so that a block of B is held for
 *       for each block m of A        several dpas
 *
 * B is packed in panels of PANEL columns, a panel in slices of DPAS_K rows, a slice in blocks of S
 * columns (pack.cl), with K padded by zeros to whole STEPs. A subgroup reads a panel from its first
 * byte to its last: by 2D block reads of rows of 16 words if A is read in 2D, too; else by block
 * reads of 8 lines.
 *
 * Converting A takes a move for each of its registers, in every subgroup that reads it. Therefore,
 * if tiles are large and several subgroups lie side by side, each owns half the rows of two panels
 * (WIDE = 2). It issues as many dpas and has as many registers of D, with half the moves, but reads
 * B twice as often. The work-group's tile stays the same:
 *
 *     +-------------+
 *     |      0      |  TILE_M / 2       DOWN = 2 GROUP_M, ACROSS half of the above
 *     +-------------+
 *     |      1      |
 *     +-------------+
 *        2 PANEL
 *
 * Part d of lane l is column d * S + l of a dpas, the order in which a block read returns columns;
 * pack.cl stores B's rows in that order.
 *
 * A is read in one of three ways. With SG_2D and A_PITCHED, from the host, 2D block reads fetch
 * OWN_M rows per message, edges included (but see IS_WHOLE). With A_BLOCKS, from the host, each
 * row is read in blocks of STEP columns, and the last columns lane by lane. Otherwise all of A, of
 * any type and strides, is read lane by lane. Rows past M repeat the last row or are zeros;
 * columns past K are zeros, as are B's rows there. Block reads of a row do not suit tf32, whose
 * dpas has two rows per register.
 *
 * The int8 layouts have no edges (quantized.h). A is in the order of k, four elements to a word.
 *
 * TILE_M, TILE_N   rows, 8 to 32 in blocks of 8, and blocks of S columns; larger: fewer reads per
 *                  dpas. D takes TILE_M * TILE_N registers: a tile of 32 x 64 takes half of a
 *                  thread's 256 registers of 64 bytes
 * GROUP_M, GROUP_N larger: more reads hit the core's cache, and the grid is coarser
 * DEPTH            STEP = DEPTH * S, a multiple of DPAS_K, is read before it is multiplied
 * AHEAD            prefetch distance for A and B in steps; 0: no prefetch
 * BARRIER          if defined, subgroups of a work-group stay within a step of each other, so that
 *                  one finds in the cache what another has read. A split barrier
 *                  (cl_intel_split_work_group_barrier) lets those that come early multiply on
 */
#include "shared/gemm.clh"
#include "intel/dpas.clh"

#if B_TYPE == I8
  #include "shared/dot.clh"
#endif

#define STEP   (DEPTH * SUBGROUP_SIZE)
#define SLICES (STEP / DPAS_K)
/* A needs no conversion. */
#if B_TYPE == I8 || (A_TYPE == B_TYPE && A_TYPE != F32 && !defined(A_SCALED))
  #define A_AS_STORED
#endif
/* Panels of B that a subgroup owns side by side; only one with whole rows. */
#if TILE_M == 32 && SUBGROUP_SIZE == 16 && GROUP_N > SUBGROUP_SIZE && !defined(A_AS_STORED) &&     \
    !defined(WHOLE_ROWS)
  #define WIDE 2
#else
  #define WIDE 1
#endif
/* Rows and blocks of columns of D per subgroup; subgroups of a work-group along M and N. */
#define OWN_M    (TILE_M / WIDE)
#define OWN_N    (TILE_N * WIDE)
#define BLOCKS_M (OWN_M / 8)
#define DOWN     (GROUP_M * WIDE)
#define ACROSS   (GROUP_N / SUBGROUP_SIZE / WIDE)
/* Number of rows of A whose parts a lane holds */
#define HELD_M (BLOCKS_M * DPAS_HELD)
/* Words of a slice of a panel of B, which has DPAS_K / DPAS_PACK = 8 rows of words; and its lines
 * of S words. */
#define B_WORDS (8 * PANEL)
#define B_LINES (8 * TILE_N)

#if defined(SG_2D) && (defined(A_PITCHED) || B_TYPE == I8)
  #define A_IN_2D
#elif (defined(A_BLOCKS) && DPAS_LANES == SUBGROUP_SIZE) || B_TYPE == I8
  #define A_IN_BLOCKS
#endif

/* True if read_a () reads the step at k < K; load_a () reads the others. 2D reads return zeros past
 * K, which become a_shift when they are scaled. If that is infinite in f16, its product with B's
 * zeros is NaN. */
#if B_TYPE == I8 || (defined(A_IN_2D) && !(B_TYPE == F16 && defined(A_SCALED)))
  #define IS_WHOLE(k, K) ((k) < (K))
#else
  #define IS_WHOLE(k, K) ((k) + STEP <= (K))
#endif

/* A is read in words: elements, or the bytes that a lane holds of a row. ROW_WORDS: a lane's words
 * of a row of a step; PER_WORD: elements in a word. */
#if B_TYPE == I8
  #define ROW_WORDS SLICES
#else
  #define ROW_WORDS DEPTH
#endif
#define PER_WORD (DEPTH / ROW_WORDS)
#if B_TYPE == F32
  #define A_WORD  uint
  #define READ_2D dpas_read_2d
#elif A_TYPE == F32 || (B_TYPE == I8 && SUBGROUP_SIZE == 8)
  #define A_WORD  uint
  #define READ_2D sg_read_2d_32
  #define READ_A  sg_read_words
#else
  #define A_WORD  ushort
  #define READ_2D sg_read_2d_16
  #define READ_A  sg_read_shorts
#endif

/* The position of a subgroup's tile, and its operands. */
typedef struct {
  long top, left;
  long row[HELD_M];      /* offset of each of the lane's rows of A */
  global const uchar *a; /* for 2D reads: A aligned down to 64 bytes; a_skip: words skipped */
  int a_skip, a_top, a_width, a_height, a_pitch;
  global const uint *b[WIDE]; /* panels; past the last panel, the last one */
  int b_lines;
} Place;

/* Forms the blocks of a step from rows[slice * HELD_M + r]. */
static inline void
gather_rows (DpasRows a[SLICES * BLOCKS_M], const DpasRow rows[SLICES * HELD_M])
{
  SG_UNROLL
  for (int i = 0; i < SLICES * BLOCKS_M; i++)
    a[i] = PASTE (vload, DPAS_HELD) (i, rows);
}

#ifdef A_AS_STORED
  #if B_TYPE == I8
    #define pack_row(x, p) (DpasRow) (x)[0]
  #else
    #define pack_row(x, p) DPAS_ROW (x)
  #endif
#elif defined(A_IN_2D) || defined(A_IN_BLOCKS)
  /* An element of A as float, from its bits. */
  #if A_TYPE == BF16
    #define A_FLOAT(x) as_float ((uint)(x) << 16)
  #elif A_TYPE == F16
    #define A_FLOAT(x) float_of_half (x)
  #else
    #define A_FLOAT(x) as_float (x)
  #endif

/* A DpasRow of the lane's stored elements of a row. */
static inline DpasRow
pack_row (const A_WORD x[DPAS_PARTS], const GemmclArguments p)
{
  float values[DPAS_PARTS];
  SG_UNROLL
  for (int d = 0; d < DPAS_PARTS; d++)
    values[d] = SCALE_A (A_FLOAT (x[d]), p.a_scale, p.a_shift);
  return dpas_pack (values);
}
#endif

#ifdef A_IN_2D
static inline void
read_a (DpasRows a[SLICES * BLOCKS_M], global const A_MEM *A, const GemmclArguments p,
        const Place *at, int k)
{
  A_WORD x[ROW_WORDS * OWN_M];
  DpasRow rows[ROW_WORDS * OWN_M];
  SG_UNROLL
  for (int d = 0; d < ROW_WORDS; d++)
    READ_2D (x + d * OWN_M, at->a, at->a_width, at->a_height, at->a_pitch,
             (int2)(at->a_skip + k / PER_WORD + d * SUBGROUP_SIZE, at->a_top), OWN_M);
  SG_UNROLL
  for (int i = 0; i < ROW_WORDS * OWN_M; i++)
    rows[i] = pack_row (x + i, p);
  gather_rows (a, rows);
}
#elif defined(A_IN_BLOCKS)
static inline void
read_a (DpasRows a[SLICES * BLOCKS_M], global const A_MEM *A, const GemmclArguments p,
        const Place *at, int k)
{
  DpasRow rows[SLICES * OWN_M];
  SG_UNROLL
  for (int r = 0; r < OWN_M; r++) {
    A_WORD x[ROW_WORDS];
    READ_A (x, (global const A_WORD *)(A + at->row[r] + k), ROW_WORDS);
    SG_UNROLL
    for (int slice = 0; slice < SLICES; slice++)
      rows[slice * OWN_M + r] = pack_row (x + slice * (ROW_WORDS / SLICES), p);
  }
  gather_rows (a, rows);
}
#endif

#if B_TYPE == I8
/* The dequantized sum, from the values that follow the row of A and the column of B. */
static inline float
get_value (int sum, global const A_MEM *A, const GemmclArguments p, const Place *at, int r,
           int column)
{
  const int k = INT8_K (p.K);

  return p.K ? scale_int8 (sum, (global const int *)(A + (at->top + r) * p.a.row + k),
                           (global const int *)at->b[0] + k / 4 * PANEL + column, PANEL)
             : 0.0f;
}

static inline void
find_operands (Place *at, global const A_MEM *A, global const B_MEM *B, const GemmclArguments p,
               long last)
{
  at->a = (global const uchar *)A + min (at->top, (long)p.M - 1) * p.a.row;
  at->a_skip = at->a_top = 0;
  at->a_width = INT8_K (p.K);
  at->a_height = clamp (p.M - at->top, 1L, (long)TILE_M);
  at->a_pitch = p.a.row;
  at->b[0] = (global const uint *)B + min (at->left / PANEL, last) * INT8_PANEL (p.K);
  at->b_lines = INT8_K (p.K) / DPAS_K * B_LINES;
}
#else
/* Reads A lane by lane; zeros past K. */
static inline void
load_a (DpasRows a[SLICES * BLOCKS_M], global const A_MEM *A, const GemmclArguments p,
        const Place *at, int k)
{
  DpasRow rows[SLICES * HELD_M];
  SG_UNROLL
  for (int r = 0; r < HELD_M; r++) {
    float x[SLICES * DPAS_PARTS];
    SG_UNROLL
    for (int d = 0; d < SLICES * DPAS_PARTS; d++) {
      const int column = k + d * DPAS_LANES + dpas_lane ();
      const float stored = LOAD_A (A, at->row[r] + min (column, p.K - 1) * A_COL);
      x[d] = column < p.K ? SCALE_A (stored, p.a_scale, p.a_shift) : 0.0f;
    }
    SG_UNROLL
    for (int slice = 0; slice < SLICES; slice++)
      rows[slice * HELD_M + r] = dpas_pack (x + slice * DPAS_PARTS);
  }
  gather_rows (a, rows);
}

  #define get_value(sum, A, p, at, r, column) (sum)

static inline void
find_operands (Place *at, global const A_MEM *A, global const B_MEM *B, const GemmclArguments p,
               long last)
{
  const int slices = (p.K + STEP - 1) / STEP * SLICES;
  #ifdef A_IN_2D
  const uint before = (uint)(ulong)A & 63;
  at->a = (global const uchar *)A - before;
  at->a_skip = before / sizeof (A_WORD);
  at->a_top = at->top;
  at->a_width = p.K * (int)sizeof (A_WORD) + before;
  at->a_height = p.M;
  at->a_pitch = p.a.row * (int)sizeof (A_WORD);
  #endif
  SG_UNROLL
  for (int i = 0; i < WIDE; i++)
    at->b[i] = (global const uint *)B + min (at->left / PANEL + i, last) * slices * B_WORDS;
  at->b_lines = slices * B_LINES;
}
#endif

/* Reads a slice of B. */
static inline void
read_b (int8 b[OWN_N], const Place *at, int slice)
{
  uint x[WIDE * B_LINES];
  SG_UNROLL
  for (int panel = 0; panel < WIDE; panel++) {
#if defined(SG_2D) && defined(A_IN_2D)
    sg_read_2d_32 (x + panel * B_LINES, at->b[panel], 64, at->b_lines, 64,
                   (int2)(0, slice * B_LINES), B_LINES);
#else
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++)
      sg_read_words (x + panel * B_LINES + 8 * c,
                     at->b[panel] + (long)slice * B_WORDS + c * 8 * SUBGROUP_SIZE, 8);
#endif
  }
  SG_UNROLL
  for (int c = 0; c < OWN_N; c++)
    b[c] = as_int8 (vload8 (c, x));
}

INLINE void
multiply (DpasSum sum[BLOCKS_M * OWN_N], local const DpasRows *shared, const DpasRows a[BLOCKS_M],
          const int8 b[OWN_N])
{
  SG_UNROLL
  for (int c = 0; c < OWN_N; c++) {
    SG_UNROLL
    for (int m = 0; m < BLOCKS_M; m++)
      sum[m * OWN_N + c] = DPAS (sum[m * OWN_N + c], shared, a, m, b[c]);
  }
}

/* Stores a block of D, in which each lane has a column. The indices of blocks and rows must be
 * constants; see REPEAT. */
static inline void
store_block (global const A_MEM *A, global const C_MEM *C, global const float *bias,
             global D_MEM *D, const GemmclArguments p, const Place *at, int m, int c, DpasSum sum)
{
  const int column = c * SUBGROUP_SIZE + sg_lane ();
  const long j = at->left + column;
  DpasNumber rows[8];

  vstore8 (sum, 0, rows);
#define STORE_ROW(r)                                                                               \
  const long i = at->top + 8 * m + (r);                                                            \
  if (i < p.M && j < p.N)                                                                          \
    finish_one (C, bias, D, p, get_group_id (2), i, j,                                             \
                get_value (rows[r], A, p, at, 8 * m + (r), column));
  REPEAT (8, STORE_ROW)
}

static inline void
store (global const A_MEM *A, global const C_MEM *C, global const float *bias, global D_MEM *D,
       const GemmclArguments p, const Place *at, const DpasSum sum[BLOCKS_M * OWN_N])
{
#define STORE_BLOCK(i) store_block (A, C, bias, D, p, at, (i) / OWN_N, (i) % OWN_N, sum[i]);
  REPEAT (BLOCKS_M * OWN_N, STORE_BLOCK)
}

/* Whole rows, shared by the lanes of a subgroup and by subgroups side by side. */
#define ROW_I(r)          (at.top + (r))
#define ROW_COLUMNS(part) ((float)(at.left + (part)*SUBGROUP_SIZE + sg_lane ()))
#define ROW_STORES        (at.left == 0)
#define ROW_ACROSS        ACROSS
#include "shared/subgroup_rows.clh"

#ifdef WHOLE_ROWS
static inline void
get_rows (float x[TILE_M * TILE_N], global const A_MEM *A, global const C_MEM *C,
          global const float *bias, const GemmclArguments p, const Place *at,
          const DpasSum sum[BLOCKS_M * TILE_N])
{
  SG_UNROLL
  for (int m = 0; m < BLOCKS_M; m++) {
    DpasNumber block[8 * TILE_N];
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++)
      vstore8 (sum[m * TILE_N + c], c, block);
    SG_UNROLL
    for (int r = 8 * m; r < 8 * m + 8; r++) {
      const long i = at->top + r;
      SG_UNROLL
      for (int c = 0; c < TILE_N; c++) {
        const int column = c * SUBGROUP_SIZE + sg_lane ();
        x[r * TILE_N + c] = i < p.M && at->left + column < p.N
                                ? get_one (C, bias, p, get_group_id (2), i, at->left + column,
                                           get_value (block[8 * c + r % 8], A, p, at, r, column))
                                : 0.0f;
      }
    }
  }
}

static inline void
store_rows (global D_MEM *D, const GemmclArguments p, const Place *at,
            const float x[TILE_M * TILE_N])
{
  SG_UNROLL
  for (int r = 0; r < TILE_M; r++) {
    const long i = at->top + r;
    global D_MEM *row = D + i * p.d.row;
    SG_UNROLL
    for (int c = 0; c < TILE_N; c++) {
      const long j = at->left + c * SUBGROUP_SIZE + sg_lane ();
      if (i < p.M && j < p.N)
        store_one (row, p, get_group_id (2), 0, j, x[r * TILE_N + c]);
    }
  }
}
#endif

static inline void
find_place (Place *at, global const A_MEM *A, global const B_MEM *B, const GemmclArguments p)
{
  const int2 tile = group_tile ();

  at->top = ((long)tile.x * DOWN + sg_id () / ACROSS) * OWN_M;
  at->left = ((long)tile.y * ACROSS + sg_id () % ACROSS) * WIDE * PANEL;
  SG_UNROLL
  for (int r = 0; r < HELD_M; r++)
    at->row[r] = min (at->top + dpas_row (r), (long)p.M - 1) * p.a.row;
  find_operands (at, A, B, p, (p.N - 1) / PANEL);
}

/* Prefetches two steps from k on into the core's cache. Subgroups that read the same data divide
 * the work: those with even numbers prefetch the first step, the others the second. A subgroup that
 * shares its rows of A with no other prefetches both steps. */
#if defined(SG_ROWS) && defined(A_IN_2D) && AHEAD > 0
  #define OWN_STEPS (ACROSS > 1 ? 1 : 2)

static inline void
prefetch_steps (const GemmclArguments p, const Place *at, int k)
{
  const int across = sg_id () % ACROSS, down = sg_id () / ACROSS;
  const int rows = 2 / OWN_STEPS * OWN_M / ACROSS;
  const int a_step = k + across % 2 * STEP, b_step = k + down % 2 * STEP;
  const int words = 4 / (int)sizeof (A_WORD), elements = words * PER_WORD;
  SG_UNROLL
  for (int column = 0; column < OWN_STEPS * STEP; column += 16 * elements)
    sg_prefetch_2d (
        at->a, at->a_width, at->a_height, at->a_pitch,
        (int2)((at->a_skip + (a_step + column) / PER_WORD) / words, at->a_top + across / 2 * rows),
        rows);
  const int lines = 2 * SLICES * B_LINES / GROUP_M;
  sg_prefetch_2d (at->b[0] + (down / 2 % WIDE ? at->b[WIDE - 1] - at->b[0] : 0), 64, at->b_lines,
                  64, (int2)(0, b_step / DPAS_K * B_LINES + down / 2 / WIDE * lines), lines);
}
#else
  #define prefetch_steps(p, at, k)
#endif

/* With BARRIER no subgroup of a work-group ends a step before all have begun it. No data passes
 * between them, so the barrier needs no fence. IGC of 2022, which lacks integer dot products, calls
 * these functions, and spills registers for it. */
#if defined(BARRIER) && SUBGROUP_LEVEL == SG_NATIVE &&                                             \
    defined(cl_intel_split_work_group_barrier) && defined(cl_khr_integer_dot_product)
  #define BEGIN_STEP() intel_work_group_barrier_arrive (0)
  #define END_STEP()   intel_work_group_barrier_wait (0)
#else
  #define BEGIN_STEP()
  #define END_STEP()
#endif

/* whole: IS_WHOLE (k, p.K). */
INLINE void
step (DpasSum sum[BLOCKS_M * OWN_N], local DpasRows *shared, global const A_MEM *A,
      const GemmclArguments p, const Place *at, int k, const bool whole)
{
  DpasRows a[SLICES * BLOCKS_M];
  int8 b[OWN_N];
  BEGIN_STEP ();
#if defined(A_IN_2D) || defined(A_IN_BLOCKS)
  if (whole)
    read_a (a, A, p, at, k);
#endif
#if B_TYPE != I8
  if (!whole)
    load_a (a, A, p, at, k);
#endif
  SG_UNROLL
  for (int slice = 0; slice < SLICES; slice++) {
    SG_SHARE (shared, a + slice * BLOCKS_M, BLOCKS_M);
    read_b (b, at, k / DPAS_K + slice);
    multiply (sum, shared, a + slice * BLOCKS_M, b);
  }
  END_STEP ();
}

kernel SG_KERNEL void
gemm (GEMM_PARAMETERS)
{
  SG_SHARED_OF (DpasRows, shared, BLOCKS_M);

  A += p.a.offset + (long)get_group_id (2) * p.a.batch;
  B += p.b.offset + (long)get_group_id (2) * p.b.batch;

  Place at;
  find_place (&at, A, B, p);

  DpasSum sum[BLOCKS_M * OWN_N];
  SG_UNROLL
  for (int i = 0; i < BLOCKS_M * OWN_N; i++)
    sum[i] = 0;

  int k = 0;
#if defined(A_IN_2D) || defined(A_IN_BLOCKS)
  for (; IS_WHOLE (k, p.K); k += STEP) {
    if (AHEAD > 0 && k / STEP % 2 == 0)
      prefetch_steps (p, &at, k + AHEAD * STEP);
    step (sum, shared, A, p, &at, k, true);
  }
  if (k < p.K)
    step (sum, shared, A, p, &at, k, false);
#else
  for (; k < p.K; k += STEP)
    step (sum, shared, A, p, &at, k, false);
#endif

#ifdef WHOLE_ROWS
  float x[TILE_M * TILE_N];
  get_rows (x, A, C, bias, p, &at, sum);
  FINISH_ROWS (x)
  store_rows (D, p, &at, x);
#else
  store (A, C, bias, D, p, &at, sum);
#endif
}
