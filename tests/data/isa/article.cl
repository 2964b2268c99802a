/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loops of "SGEMM for Intel Processor Graphics" as its text describes them, for whole tiles
 * alone: what docs/model.md holds against the article's measurements, whatever becomes of our own
 * kernels. Nothing runs this; it is compiled for its figures.
 *
 *   NAIVE    an output per work-item
 *   L3_SIMD  a lane holds two neighbours of each row of A, and reads TILE_N of each row of B
 *   BLOCK    block reads of images, 8 rows each, of A and of B
 *   SLM      A through local memory, B directly. The fill is in the loop over K, which lets Intel's
 *            compiler of today do without spills, as that of the article's time did
 *
 * TILE_M, TILE_N, GROUP_M, GROUP_N as in kernels/; NAME: of the kernel
 */
#define UNROLL _Pragma ("unroll")

#ifdef NAIVE
__attribute__ ((intel_reqd_sub_group_size (16))) kernel void
NAME (global const float *restrict A, global const float *restrict B, global float *restrict C,
      int K, int N)
{
  const int row = get_global_id (1);
  const int column = get_global_id (0);
  float sum = 0.0f;

  for (int k = 0; k < K; k++)
    sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
#endif

#ifdef L3_SIMD
  #if TILE_N == 4
typedef float4 strip;
  #else
typedef float2 strip;
  #endif

__attribute__ ((intel_reqd_sub_group_size (8)))
__attribute__ ((reqd_work_group_size (8, GROUP_M, 1))) kernel void
NAME (global const float *restrict A, global const float *restrict B, global float *restrict C,
      int K, int N)
{
  const int row = (get_group_id (1) * GROUP_M + get_local_id (1)) * TILE_M;
  const int column = get_group_id (0) * 8 + get_local_id (0);
  const int pairs = K / 2, strips = N / TILE_N;
  global const float2 *a_rows = (global const float2 *)(A + row * K) + get_local_id (0);
  global const strip *b_rows = (global const strip *)B + column;
  int a_at = 0, b_at = 0;
  strip sum[TILE_M];

  UNROLL for (int r = 0; r < TILE_M; r++) sum[r] = 0.0f;
  for (int k = 0; k < K; k += 16) {
    float2 a[TILE_M];
    UNROLL for (int r = 0; r < TILE_M; r++) a[r] = a_rows[r * pairs + a_at];
  #ifdef BARRIER
    barrier (CLK_LOCAL_MEM_FENCE);
  #endif
    UNROLL for (int lane = 0; lane < 8; lane++)
    {
      strip b = b_rows[b_at];
      b_at += strips;
      UNROLL for (int r = 0; r < TILE_M; r++) sum[r] =
          mad ((strip)intel_sub_group_shuffle (a[r].x, lane), b, sum[r]);
      b = b_rows[b_at];
      b_at += strips;
      UNROLL for (int r = 0; r < TILE_M; r++) sum[r] =
          mad ((strip)intel_sub_group_shuffle (a[r].y, lane), b, sum[r]);
    }
    a_at += 8;
  }
  UNROLL for (int r = 0; r < TILE_M; r++) ((global strip *)C)[(row + r) * strips + column] = sum[r];
}
#endif

#ifdef BLOCK
  #define COLUMN(part)                                                                             \
    {                                                                                              \
      const float8 a_k = intel_sub_group_shuffle (a, part);                                        \
      UNROLL for (int c = 0; c < TILE_N; c++) sum[m * TILE_N + c] =                                \
          mad (a_k, (float8)b[c].s##part, sum[m * TILE_N + c]);                                    \
    }
  #define ROW(part)                                                                                \
    C[(row + m * 8 + part) * N + column + c * 8 + lane] = sum[m * TILE_N + c].s##part;

__attribute__ ((intel_reqd_sub_group_size (8)))
__attribute__ ((reqd_work_group_size (8, GROUP_M, 1))) kernel void
NAME (read_only image2d_t A, read_only image2d_t B, global float *restrict C, int K, int N)
{
  const int row = (get_group_id (1) * GROUP_M + get_local_id (1)) * TILE_M;
  const int column = get_group_id (0) * 8 * TILE_N;
  const int lane = get_local_id (0);
  float8 sum[TILE_M / 8 * TILE_N];

  UNROLL for (int i = 0; i < TILE_M / 8 * TILE_N; i++) sum[i] = 0.0f;
  for (int k = 0; k < K; k += 8) {
    float8 b[TILE_N];
    UNROLL for (int c = 0; c < TILE_N; c++) b[c] =
        as_float8 (intel_sub_group_block_read8 (B, (int2)((column + 8 * c) * 4, k)));
    UNROLL for (int m = 0; m < TILE_M / 8; m++)
    {
      const float8 a = as_float8 (intel_sub_group_block_read8 (A, (int2)(k * 4, row + 8 * m)));
      COLUMN (0) COLUMN (1) COLUMN (2) COLUMN (3) COLUMN (4) COLUMN (5) COLUMN (6) COLUMN (7)
    }
  }
  UNROLL for (int m = 0; m < TILE_M / 8; m++) UNROLL for (int c = 0; c < TILE_N; c++)
  {
    ROW (0) ROW (1) ROW (2) ROW (3) ROW (4) ROW (5) ROW (6) ROW (7)
  }
}
#endif

#ifdef SLM
  #define STRIPS 16 /* float4s of a row in local memory: 64 steps of K */
  #define STEP(part)                                                                               \
    {                                                                                              \
      const float4 near = B[b_at], far = B[b_at + 16];                                             \
      b_at += strips;                                                                              \
      UNROLL for (int r = 0; r < 8; r++)                                                           \
      {                                                                                            \
        sum[r] = mad ((float4)a[r].part, near, sum[r]);                                            \
        more[r] = mad ((float4)a[r].part, far, more[r]);                                           \
      }                                                                                            \
    }

__attribute__ ((reqd_work_group_size (16, GROUP_M, 1))) kernel void
NAME (global const float4 *restrict A, global const float4 *restrict B, global float4 *restrict C,
      int K, int N)
{
  local float4 tile[GROUP_M * 8 * STRIPS];
  const int left = get_local_id (0), down = get_local_id (1);
  const int row = (get_group_id (1) * GROUP_M + down) * 8;
  const int column = get_group_id (0) * 32 + left;
  const int a_strips = K / 4, strips = N / 4;
  int a_at = row * a_strips + left, b_at = column;
  float4 sum[8], more[8];

  UNROLL for (int r = 0; r < 8; r++) sum[r] = more[r] = 0.0f;
  for (int k = 0; k < a_strips; k++) {
    float4 a[8];
    if (k % STRIPS == 0) {
      barrier (CLK_LOCAL_MEM_FENCE);
  #pragma unroll 1
      for (int r = 0; r < 8; r++)
        tile[(down * 8 + r) * STRIPS + left] = A[a_at + r * a_strips];
      a_at += STRIPS;
      barrier (CLK_LOCAL_MEM_FENCE);
    }
    UNROLL for (int r = 0; r < 8; r++) a[r] = tile[(down * 8 + r) * STRIPS + k % STRIPS];
    STEP (x) STEP (y) STEP (z) STEP (w)
  }
  UNROLL for (int r = 0; r < 8; r++)
  {
    C[(row + r) * strips + column] = sum[r];
    C[(row + r) * strips + column + 16] = more[r];
  }
}
#endif
