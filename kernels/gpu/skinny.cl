/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * skinny: few columns in A and B, such as the channels of pixels or of audio. Memory limits its
 * speed, not arithmetic.
 *
 *             K              N                 A work-item owns TILE_M entire rows of D and
 *           +---+          +----+              computes them in strips of HEIGHT rows. A column of
 *    HEIGHT | a |     x  K | b  |   ->         a strip of A is one vector, as is a column of D:
 *           | a |          +----+
 *    HEIGHT | a |                              d[j] = a[0] * B(0, j) + .. + a[K-1] * B(K-1, j)
 *           +---+
 *
 * alpha is multiplied into B first, as in the reference BLAS, since many rows share that product.
 *
 *    i = (group 0 * GROUP_M + item) * TILE_M, and the rows that follow
 *
 * A and D are matrices, or frames whose pixels are the rows (A_FRAME, D_FRAME: see pixels.clh).
 * K and N are compile-time constants. Up to 16 columns are computed at a time.
 *
 * HEIGHT: 16, the floats of the widest vector register, for CPUs; 1 for GPUs, where neighbouring
 *   work-items take neighbouring rows. 1 also with compilers that are not known to take bytes.clh:
 *   OpenCL C has no vectors of more than 16 elements. Mesa's Rusticl ends the process at them, and
 *   takes minutes to compile 16 rows, element by element.
 * TILE_M: rows per work-item, over which the fixed cost of a work-group is spread.
 */
enum {
  COLUMNS = N,
  DEPTH = K,
  AT_ONCE = N < 16 ? N : 16, /* columns computed at a time */
  MAX_COLUMNS = 16
};
/* arguments.h has members with these names. */
#undef N
#undef K
#if !defined(POCL_DEVICE_ADDRESS_BITS) && !defined(INTEL_CPU)
  #undef HEIGHT
  #define HEIGHT 1
#endif
#include "shared/gemm.clh"
#include "gpu/rows.clh"
#define PIXELS rows
#include "shared/pixels.clh"

#ifdef D_FRAME
  #define D_COLUMNS D_SAMPLES
#else
  #define D_COLUMNS COLUMNS
#endif

#define T rows
#include "shared/activate.clh"

/* Whole rows: each vector of a strip holds one column of HEIGHT rows. */
#define ROW_PART          rows
#define ROW_RESULT        rows
#define ROW_WIDTH         1
#define ROW_PARTS         COLUMNS
#define ROW_HELD          1
#define ROW_N             COLUMNS
#define ROW_I(r)          i
#define ROW_COLUMNS(part) ((rows)((float)(part)))
#define ROW_OUTPUTS       of.row_outputs
#define ROW_SHARE(step, x)
#define ROW_STORES true
#include "shared/whole_rows.clh"

#define ROWS_OF A
#include "gpu/rows_of.clh"
#define ROWS_OF C
#include "gpu/rows_of.clh"
#define ROWS_OF D
#include "gpu/rows_of.clh"

#if defined(A_CHROMA) && HEIGHT == 16 && A_SAMPLE_BYTES == 1
  #define CHROMA_ROWS

/* Loads pixels x to x + 15 of row y, x + A_LEFT even: eight chroma samples, each for two pixels. */
INLINE void
load_chroma (global const uchar *frame, const int x, const int y, const bool interlaced,
             rows *channel)
{
  const long chroma = find_chroma (x, y, interlaced);
  global const uchar *cb = frame + A_CB_OFFSET + chroma;
  global const uchar *cr = frame + A_CR_OFFSET + chroma;
  #if A_CHROMA_STEP == 2
  const uchar8 b = vload16 (0, cb).even;
  const uchar8 r = vload16 (0, cb).odd;
  #else
  const uchar8 b = vload8 (0, cb);
  const uchar8 r = vload8 (0, cr);
  #endif
  channels_from_luma (READ (U8, frame + (long)y * A_WIDTH + x),
                      convert_float16 ((uchar16)(b.s00112233, b.s44556677)),
                      convert_float16 ((uchar16)(r.s00112233, r.s44556677)), channel);
}
#endif

/* Loads rows i to i + HEIGHT - 1 of A. */
INLINE void
load_a_rows (global const A_MEM *A, const GemmclStrides s, const int M, const int i,
             const bool interlaced, rows *a)
{
#ifdef A_CHROMA
  #ifdef CHROMA_ROWS
  if ((i % A_WIDTH + A_LEFT) % 2 == 0 && i % A_WIDTH + HEIGHT <= A_WIDTH) {
    load_chroma (A, i % A_WIDTH, i / A_WIDTH, interlaced, a);
    return;
  }
  #endif
  RowsOrFloats e[3];
  for (int r = 0; r < HEIGHT; r++) {
    const int m = min (i + r, M - 1);
    float sample[3];
    load_a_pixel ((global const uchar *)A, m % A_WIDTH, m / A_WIDTH, interlaced, sample);
    for (int c = 0; c < 3; c++)
      e[c].each[r] = sample[c];
  }
  channels_from_luma (e[0].whole, e[1].whole, e[2].whole, a);
#elif defined(A_FRAME)
  const GemmclStrides pixels = {0, 0, A_SAMPLES, 1};
  rows sample[4];
  load_rows_A (A, pixels, M, A_SAMPLES, i, 0, A_SAMPLES, sample);
  channels_from_samples (A_ORDER, A_CHANNELS, sample, a);
#else
  load_rows_A (A, s, M, DEPTH, i, 0, DEPTH, a);
#endif
}

/* Loads columns from j on of rows from i on of C. If D is a frame and C is not f32, C is D. */
INLINE void
load_c_rows (global const C_MEM *C, const GemmclStrides s, const int M, const int i, const int j,
             rows *c)
{
#if defined(D_FRAME) && C_TYPE != F32
  const GemmclStrides pixels = {0, 0, D_SAMPLES, 1};
  rows sample[4];
  load_rows_C (C, pixels, M, D_SAMPLES, i, 0, D_SAMPLES, sample);
  channels_from_samples (D_ORDER, D_CHANNELS, sample, c);
#else
  load_rows_C (C, s, M, COLUMNS, i, j, AT_ONCE, c);
#endif
}

INLINE void
store_d_rows (global D_MEM *D, const GemmclStrides s, const int M, const int i, const int j,
              const rows *d)
{
#ifdef D_FRAME
  const GemmclStrides pixels = {0, 0, D_SAMPLES, 1};
  rows sample[4];
  samples_from_channels (D_ORDER, D_CHANNELS, D_X, d, sample);
  store_rows_D (D, pixels, M, D_SAMPLES, i, 0, D_SAMPLES, sample);
#else
  store_rows_D (D, s, M, COLUMNS, i, j, AT_ONCE, d);
#endif
}

/* Pointers that all strips share, at their problem of the batch. */
typedef struct {
  global const A_MEM *A;
  global const float *B;
  global const C_MEM *C;
  global const float *bias;
  global D_MEM *D;
  global float *row_outputs;
} Operands;

#define D_IS_BYTES IS_PIXELS (D_TYPE, D_COLUMNS)
#define MOST       32000.0f /* within the +-2^15 of rows_to_bytes () */

/* TRUE if A is uint8 and no result exceeds MOST. |act (x)| is at most the larger of |x| and 1. */
static inline bool
has_small_results (const Operands of, const GemmclArguments p)
{
  const float largest = 255.0f * fabs (p.a_scale) + fabs (p.a_shift);
  bool small = A_TYPE == U8;

  for (int j = 0; j < COLUMNS; j++) {
    float sum = fabs (of.bias[j]);
    for (int k = 0; k < DEPTH; k++)
      sum += largest * fabs (p.alpha * of.B[k * p.b.row + j * p.b.col]);
    small &= sum < MOST; /* not if it is NaN */
  }
  return small;
}

/* Computes rows i to i + HEIGHT - 1 of D, those below M. small: has_small_results (). product and
 * addend are constants in the common case, and so is i + HEIGHT <= M. */
INLINE void
make_strip (const Operands of, const GemmclArguments p, const int i, const int M,
            const bool product, const bool addend, const bool small)
{
  rows a[MAX_COLUMNS];
  if (product)
    load_a_rows (of.A, p.a, M, i, !p.progressive, a);

  for (int j = 0; j < COLUMNS; j += AT_ONCE) {
    rows c[MAX_COLUMNS];
    rows d[MAX_COLUMNS];

    if (addend)
      load_c_rows (of.C, p.c, M, i, j, c);
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      const int column = min (j + n, COLUMNS - 1);
      d[n] = of.bias[column];
      if (addend)
        d[n] = MAD (c[n], (rows)(p.beta), d[n]);
      if (product)
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
          d[n] = MAD (SCALE_A (a[k], (rows)(p.a_scale), (rows)(p.a_shift)),
                      (rows)(p.alpha * of.B[k * p.b.row + column * p.b.col]), d[n]);
      d[n] = activate_rows (d[n]);
    }
#ifdef WHOLE_ROWS
    FINISH_ROWS (d)
#endif
    if (D_IS_BYTES && !small)
#pragma unroll
      for (int n = 0; n < AT_ONCE; n++)
        d[n] = clamp_to_bytes (d[n]);
    if (STORES_D)
      store_d_rows (of.D, p.d, M, i, j, d);
  }
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
gemm (GEMM_PARAMETERS)
{
  const int first = (get_group_id (0) * GROUP_M + get_local_id (0)) * TILE_M;
  const int last = min (first + TILE_M, p.M);
  const long batch = get_group_id (2);
  const Operands of = {
      A + p.a.offset + batch * p.a.batch, B + p.b.offset + batch * p.b.batch,
      C + p.c.offset + batch * p.c.batch, bias,
      D + p.d.offset + batch * p.d.batch, OUTPUTS_OF (batch),
  };

  /* Tested in each strip, not here: PoCL 7 runs a loop twice if its condition depends on memory. */
  const bool small = D_IS_BYTES && has_small_results (of, p);
  int i = first;
  if (p.K > 0 && p.beta == 0.0f)
    for (; i + HEIGHT <= last; i += HEIGHT)
      make_strip (of, p, i, i + HEIGHT, true, false, small);
  for (; i < last; i += HEIGHT)
    make_strip (of, p, i, p.M, p.K > 0, p.beta != 0.0f, false);
}
