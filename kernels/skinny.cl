/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * skinny: few columns in A and in B: the channels of pixels or of audio. A matter of memory, not of
 * arithmetic.
 *
 *             K              N                 a work-item owns TILE_M rows of D whole, and goes
 *           +---+          +----+              through them in strips. A column of A, HEIGHT rows
 *    HEIGHT | a |     x  K | b  |   ->         high, is one vector; so is a column of D:
 *           | a |          +----+
 *    HEIGHT | a |                              d[j] = a[0] * B(0, j) + .. + a[K-1] * B(K-1, j)
 *           +---+
 *
 * with alpha multiplied into B before, as BLAS's reference does, since many rows share the product.
 *
 *    i = (group 0 * GROUP_M + lane) * TILE_M, and its following rows
 *
 * A and D are matrices, or pictures whose rows are pixels (A_IMAGE, D_IMAGE: see pixels.clh).
 * K and N are compiled in. All N columns are made at a time, or 16 where there are more.
 *
 * HEIGHT: 16, the floats of the widest vector: for CPUs. 1 for GPUs, whose neighbouring work-items
 *   then take neighbouring rows.
 * TILE_M: what a group and its first strip cost is paid once for so many rows.
 */
enum {
  COLUMNS = N,
  DEPTH = K,
  CHUNK = N < 16 ? N : 16, /* columns made at a time */
  MOST_COLUMNS = 16
};
/* problem.h has members of these names. */
#undef N
#undef K
#include "gemm.clh"
#include "pixels.clh"
#include "rows.clh"

/* What is stored in A, C and D, as numbers of types.clh; where that is a picture, its samples.
 * Offsets and batches of pictures count bytes. */
#define SAMPLE_1 U8
#define SAMPLE_2 U16
#ifdef A_IMAGE
  #define A_STORED PASTE (SAMPLE_, A_SAMPLE_BYTES)
  #define A_COUNTS uchar
#else
  #define A_STORED A_TYPE
  #define A_COUNTS A_MEM
#endif
#ifdef D_IMAGE
  #define D_STORED PASTE (SAMPLE_, D_SAMPLE_BYTES)
  #define D_COUNTS uchar
#else
  #define D_STORED D_TYPE
  #define D_COUNTS D_MEM
#endif
#if defined(D_IMAGE) && defined(C_IS_D)
  #define C_STORED D_STORED
  #define C_COUNTS uchar
#else
  #define C_STORED C_TYPE
  #define C_COUNTS C_MEM
#endif
typedef PASTE (MEM_, A_STORED) a_element;
typedef PASTE (MEM_, C_STORED) c_element;
typedef PASTE (MEM_, D_STORED) d_element;

DEFINE_ACTIVATE (rows)

/* Of a strip, whose vectors have a row's element each. */
#define ROW_PART          rows
#define ROW_OWN           rows
#define ROW_WIDTH         1
#define ROW_PARTS         COLUMNS
#define ROW_HELD          1
#define ROW_N             COLUMNS
#define ROW_X(r)          d
#define ROW_I(r)          i
#define ROW_COLUMNS(part) ((rows)((float)(part)))
#define ROW_OUTPUTS       of.found
#define ROW_SHARE(OP, own)
#define ROW_TELLS true
#include "whole_rows.clh"

DEFINE_ROWS (a, A_STORED)
DEFINE_ROWS (c, C_STORED)
DEFINE_ROWS (d, D_STORED)
#if defined(A_IMAGE) || defined(D_IMAGE)
DEFINE_PIXELS (rows)
#endif

#if defined(A_CHROMA) && HEIGHT == 16 && A_SAMPLE_BYTES == 1
  #define CHROMA_ROWS
DEFINE_COLOURS (rows)

/* Pixels x to x + 15 of row y, x even: eight of chroma, each twice. */
static inline void
load_chroma (global const uchar *picture, const int x, const int y, rows *channel)
{
  const long chroma = (long)(y / 2) * A_CHROMA_ROW + x / 2 * A_CHROMA_STEP;
  global const uchar *cb = picture + A_CB_OFFSET + chroma;
  global const uchar *cr = picture + A_CR_OFFSET + chroma;
  #if A_CHROMA_STEP == 2
  const uchar8 b = vload16 (0, cb).even;
  const uchar8 r = vload16 (0, cb).odd;
  #else
  const uchar8 b = vload8 (0, cb);
  const uchar8 r = vload8 (0, cr);
  #endif
  channels_from_luma_rows (READ (U8, picture + (long)y * A_WIDTH + x),
                           convert_float16 ((uchar16)(b.s00112233, b.s44556677)),
                           convert_float16 ((uchar16)(r.s00112233, r.s44556677)), channel);
}
#endif

/* Rows i to i + HEIGHT - 1 of A. */
static inline void
load_a_rows (global const a_element *A, const GemmclStrides s, const int M, const int i, rows *a)
{
#ifdef A_CHROMA
  #ifdef CHROMA_ROWS
  if (i % A_WIDTH % 2 == 0 && i % A_WIDTH + HEIGHT <= A_WIDTH) {
    load_chroma (A, i % A_WIDTH, i / A_WIDTH, a);
    return;
  }
  #endif
  RowsOrFloats e[3];
  for (int r = 0; r < HEIGHT; r++) {
    const int m = min (i + r, M - 1);
    float channel[3];
    load_a_pixel ((global const uchar *)A, m % A_WIDTH, m / A_WIDTH, channel);
    for (int c = 0; c < 3; c++)
      e[c].each[r] = channel[c];
  }
  #pragma unroll
  for (int c = 0; c < 3; c++)
    a[c] = e[c].whole;
#elif defined(A_IMAGE)
  const GemmclStrides pixels = {0, 0, A_SAMPLES, 1};
  rows sample[4];
  load_a (A, pixels, M, A_SAMPLES, i, 0, A_SAMPLES, sample);
  channels_from_samples_rows (A_ORDER, A_CHANNELS, sample, a);
#else
  load_a (A, s, M, DEPTH, i, 0, DEPTH, a);
#endif
}

/* Columns from j on of these rows of C: of C itself, or of the pixels that are in D. */
static inline void
load_c_rows (global const c_element *C, const GemmclStrides s, const int M, const int i,
             const int j, rows *c)
{
#if defined(D_IMAGE) && defined(C_IS_D)
  const GemmclStrides pixels = {0, 0, D_SAMPLES, 1};
  rows sample[4];
  load_c (C, pixels, M, D_SAMPLES, i, 0, D_SAMPLES, sample);
  channels_from_samples_rows (D_ORDER, D_CHANNELS, sample, c);
#else
  load_c (C, s, M, COLUMNS, i, j, CHUNK, c);
#endif
}

static inline void
store_d_rows (global d_element *D, const GemmclStrides s, const int M, const int i, const int j,
              const rows *d)
{
#ifdef D_IMAGE
  const GemmclStrides pixels = {0, 0, D_SAMPLES, 1};
  rows sample[4];
  samples_from_channels_rows (D_ORDER, D_CHANNELS, D_X, d, sample);
  store_d (D, pixels, M, D_SAMPLES, i, 0, D_SAMPLES, sample);
#else
  store_d (D, s, M, COLUMNS, i, j, CHUNK, d);
#endif
}

/* What strips have in common: where A, C, D and the row outputs of the batch begin. */
typedef struct {
  global const a_element *A;
  global const float *B;
  global const c_element *C;
  global const float *bias;
  global d_element *D;
  global float *found;
} Operands;

/* Rows i to i + HEIGHT - 1 of D. Whether there is a product at all, and an addend, is known where
 * this is called. */
static inline __attribute__ ((always_inline)) void
make_strip (const Operands of, const GemmclProblem p, const int i, const bool product,
            const bool addend)
{
  rows a[MOST_COLUMNS];
  if (product)
    load_a_rows (of.A, p.a, p.M, i, a);

  for (int j = 0; j < COLUMNS; j += CHUNK) {
    rows c[MOST_COLUMNS];
    rows d[MOST_COLUMNS];

    if (addend)
      load_c_rows (of.C, p.c, p.M, i, j, c);
#pragma unroll
    for (int n = 0; n < CHUNK; n++) {
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
    rows own[ROW_HELD];
    FINISH_ROWS (own)
#endif
    store_d_rows (of.D, p.d, p.M, i, j, d);
  }
}

kernel void
gemm (GEMM_ARGUMENTS)
{
  const int first = (get_group_id (0) * GROUP_M + get_local_id (0)) * TILE_M;
  const int last = min (first + TILE_M, p.M);
  const long batch = get_group_id (2);
  const Operands of = {
      (global const a_element *)((global const A_COUNTS *)A + p.a.offset + batch * p.a.batch),
      B + p.b.offset + batch * p.b.batch,
      (global const c_element *)((global const C_COUNTS *)C + p.c.offset + batch * p.c.batch),
      bias,
      (global d_element *)((global D_COUNTS *)D + p.d.offset + batch * p.d.batch),
#ifdef ROW_COUNT
      R + batch * r_batch,
#else
      0,
#endif
  };

  if (p.K > 0 && p.beta == 0.0f) {
    for (int i = first; i < last; i += HEIGHT)
      make_strip (of, p, i, true, false);
  } else {
    for (int i = first; i < last; i += HEIGHT)
      make_strip (of, p, i, p.K > 0, p.beta != 0.0f);
  }
}
