/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * wgmma: the matrix engines of NVIDIA's GPUs of compute capability 9.0 at their full rate: bf16,
 * f16 or tf32 with f32 sums, or uint8 by int8 (quantized.h) with int sums. A wgmma multiplies 64
 * rows of A by PANEL columns of B for a warp group of four warps, from local memory, and adds the
 * product to D while the warps go on. mma_tile.clh has the kernel function.
 *
 *                      PANEL                 A warp group owns 64 rows of the work-group's tile;
 *                +---------------+           lane 4 g + t of its warp w owns the rows 16 w + 8 r +
 *       32 words |       B       |           g, r < 2, and the columns 16 q + 4 t + 0..3.
 *                +---------------+
 *      32 words                              Both operands lie in local memory as wgmma takes them,
 *       +----+   +---------------+           rows of 128 bytes. Column n of wgmma, n = 16 q + 8 j +
 *       | A  |   | warp group 0  | 64        2 t + e, is column 16 q + 4 t + 2 j + e of the tile,
 *       |    |   +---------------+           so that four columns of a lane, and of the lanes t,
 *       |    |   | warp group 1  | 64        follow each other; B is packed in this order
 *       +----+   +---------------+           (pack.cl).
 *
 * At the barrier of a step the engines multiply the step before it and have finished the step
 * before that, whose place the next copies fill.
 *
 * An operand has 128 bytes for each row of A or column of B, one after the other, from a multiple
 * of 1024 bytes on. Chunk c of 16 bytes of row r of A is at c ^ SWAP_OF (r), of B at c ^ r % 8.
 * Number 4 j + 2 r + e of a lane's sums is row r, column 8 j + 2 t + e of wgmma.
 *
 * wgmma truncates tf32, so such an A passes through registers, where it is rounded. Lane 4 g + t
 * reads its chunks 4 h + t, h < 2: word w of all lanes is multiplied by chunk 4 h + w of B.
 *
 * NVIDIA's OpenCL compiles for sm_90, and wgmma exists on sm_90a alone. Therefore each wgmma is a
 * comment that begins with //@; lib/device/program.c uncovers them in the PTX, for sm_90a. Each
 * asm has all sums as operands, so that the compiler leaves them in their registers meanwhile.
 *
 * TILE_M, GROUP_N  2, 4
 * TILE_N           64 or 32, a quarter of PANEL; larger: fewer reads of local memory
 * GROUP_M          32 for each warp group; larger: fewer reads of global memory
 * STAGES           4 or more; larger: more steps under way, more local memory:
 *                  128 (ROWS + PANEL) bytes each
 */
#include "shared/gemm.clh"
#include "shared/quads.clh"
#define COLUMN_MAJOR /* for quantized.h */
#include "nvidia/mma.clh"

#ifdef MMA_PTX
  #define ASYNCHRONOUS
  #define AFTER ((STAGES + 1) / 2) /* arrived () */
#else
  #undef STAGES
  #define STAGES 4
#endif
#define STEP_WORDS WGMMA_STEP
#define LEAD       (STAGES - 2)
#define ACROSS     1
#define SHARERS    4
#define APART      1
#define SUMS       (TILE_M * TILE_N)
typedef MmaNumber Sum;

#include "nvidia/mma_tile.clh"

static inline long
row_at (int lane, int r)
{
  return 8L * r + lane / 32 * 16 + lane % 32 / 4;
}

static inline long
column_at (int lane, int part)
{
  return 16L * part + lane % 4 * 4;
}

INLINE MmaFour
get_four (const MmaNumber sum[SUMS], int r, int part)
{
  const MmaNumber *four = sum + 8 * part + 2 * r;

  return (MmaFour)(four[0], four[1], four[4], four[5]);
}

#if B_TYPE == F32
  #define SWAP_OF(row) ((row) % 2 * 4)
#else
  #define SWAP_OF(row) ((row) % 8)
#endif

static inline int
a_at (int row, int chunk)
{
  return 8 * row + (chunk ^ SWAP_OF (row));
}

static inline int
b_at (int i)
{
  return 8 * ROWS + i;
}

#ifdef MMA_PTX
  #define SUMS_4(i)                                                                                \
    MMA_SUM (sum[i]), MMA_SUM (sum[i + 1]), MMA_SUM (sum[i + 2]), MMA_SUM (sum[i + 3])
  #define SUMS_16(i) SUMS_4 (i), SUMS_4 (i + 4), SUMS_4 (i + 8), SUMS_4 (i + 12)
  #define SUMS_64(i) SUMS_16 (i), SUMS_16 (i + 16), SUMS_16 (i + 32), SUMS_16 (i + 48)

  /* The names of the sums. */
  #define TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
  #define SIXTY  TEN ("") TEN ("1") TEN ("2") TEN ("3") TEN ("4") TEN ("5")
  #if PANEL == 128
    #define ALL_SUMS SUMS_64 (0)
    #define NAMES    SIXTY "%60,%61,%62,%63"
    #define WGMMA_N  "n128"
  #elif PANEL == 256
    #define ALL_SUMS SUMS_64 (0), SUMS_64 (64)
    #define SIXTY_ON TEN ("6") TEN ("7") TEN ("8") TEN ("9") TEN ("10") TEN ("11")
    #define NAMES    SIXTY SIXTY_ON "%120,%121,%122,%123,%124,%125,%126,%127"
    #define WGMMA_N  "n256"
  #endif
  #define WGMMA "wgmma.mma_async.sync.aligned.m64" WGMMA_N WGMMA_TYPES "{" NAMES "}, "
  #if B_TYPE == F32
    #define WGMMA_TYPES "k8.f32.tf32.tf32 "
  #elif B_TYPE == I8
    #define WGMMA_TYPES "k32.s32.u8.s8 "
    #define WGMMA_SIGNS ", 1; "
  #elif B_TYPE == BF16
    #define WGMMA_TYPES "k16.f32.bf16.bf16 "
    #define WGMMA_SIGNS ", 1, 1, 1, 0, 0; "
  #else
    #define WGMMA_TYPES "k16.f32.f16.f16 "
    #define WGMMA_SIGNS ", 1, 1, 1, 0, 0; "
  #endif

/* Waits for all wgmma, or all but the last group. */
INLINE void
finish (MmaNumber sum[SUMS])
{
  PTX ("//@wgmma.wait_group.sync.aligned 0;" : ALL_SUMS::"memory");
}

INLINE void
wait_but_one (MmaNumber sum[SUMS])
{
  PTX ("//@wgmma.wait_group.sync.aligned 1;" : ALL_SUMS::"memory");
}

/* A descriptor: swizzled in rows of 128 bytes, 1024 bytes from eight rows to the next. */
LOCAL_INLINE ulong
describe (local const uint4 *at)
{
  return 1UL << 62 | 64UL << 32 | 1UL << 16 | ((uint)(size_t)at & 0x3ffff) >> 4;
}

  #if B_TYPE == F32
LOCAL_INLINE void
start (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
}

/* Multiplies half h of the words. Their registers are in use until the second wait_but_one () from
 * here. */
LOCAL_INLINE void
multiply_half (MmaNumber sum[SUMS], local const uint4 *stage, int lane, int h)
{
  uint x[8];

  wait_but_one (sum);
  MMA_UNROLL
  for (int r = 0; r < 2; r++) {
    const uint4 four = stage[a_at (row_at (lane, r), 4 * h + lane % 4)];
    x[r] = mma_round (four.s0);
    x[2 + r] = mma_round (four.s1);
    x[4 + r] = mma_round (four.s2);
    x[6 + r] = mma_round (four.s3);
  }
  PTX (
      "//@{ .reg .b64 b; wgmma.fence.sync.aligned; " WGMMA
      "{%[x0],%[x1],%[x2],%[x3]}, %[b], 1, 1, 1; add.s64 b, %[b], 2; " WGMMA
      "{%[x4],%[x5],%[x6],%[x7]}, b, 1, 1, 1; wgmma.commit_group.sync.aligned; }"
      : ALL_SUMS
      : [x0] "r"(x[0]), [x1] "r"(x[1]), [x2] "r"(x[2]), [x3] "r"(x[3]), [x4] "r"(x[4]),
        [x5] "r"(x[5]), [x6] "r"(x[6]), [x7] "r"(x[7]), [b] "l"(describe (stage + b_at (0)) + 4 * h)
      : "memory");
}

/* No branches in between: ptxas would wait for each wgmma. */
LOCAL_INLINE void
multiply (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
  multiply_half (sum, stages + place * STAGE, lane, 0);
  multiply_half (sum, stages + place * STAGE, lane, 1);
}
  #else
    /* Multiplies a quarter of the words, and advances the descriptors a and b by n * 16 bytes. */
    #define QUARTER(n) WGMMA "a, b" WGMMA_SIGNS "add.s64 a, %[a], " n "; add.s64 b, %[b], " n "; "

LOCAL_INLINE void
start (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
  local const uint4 *stage = stages + place * STAGE;

  PTX ("//@{ .reg .b64 a, b; wgmma.fence.sync.aligned; mov.b64 a, %[a]; mov.b64 b, %[b]; " QUARTER (
           "2") QUARTER ("4") QUARTER ("6") QUARTER ("8") "wgmma.commit_group.sync.aligned; }"
       : ALL_SUMS
       : [a] "l"(describe (stage + 8 * 64 * (lane / 128))), [b] "l"(describe (stage + b_at (0)))
       : "memory");
}

LOCAL_INLINE void
multiply (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
  wait_but_one (sum);
}
  #endif

/* The address of a barrier in local memory for the copies to a place, one after the other. */
LOCAL_INLINE uint
arrived (local uint4 *stages, int place)
{
  return (uint)(size_t)((local ulong *)(stages + STAGES * STAGE) + place);
}

LOCAL_INLINE void
prepare (local uint4 *stages, int lane)
{
  if (lane < STAGES)
    PTX ("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async.shared::cta;" ::"r"(
             arrived (stages, lane))
         : "memory");
  barrier (CLK_LOCAL_MEM_FENCE);
}

/* A step of B is contiguous and copied as a whole. */
LOCAL_INLINE void
copy_b (local uint4 *stages, int place, global const uint4 *panel, int lane, bool inside)
{
  if (lane == 0 && inside)
    PTX ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2; "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
         "[%0], [%1], %2, [%3];" ::"r"((uint)(size_t)(stages + place * STAGE + b_at (0))),
         "l"(panel), "r"(16 * B_CHUNK), "r"(arrived (stages, place))
         : "memory");
}

/* Makes what the work-item wrote to local memory visible to wgmma after the next barrier, and waits
 * for the copy of B. */
LOCAL_INLINE void
arrive (local uint4 *stages, int place, uint round)
{
  #if B_TYPE != F32
  PTX ("fence.proxy.async.shared::cta;" ::: "memory");
  #endif
  PTX ("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra E; bra W; "
       "E: }" ::"r"(arrived (stages, place)),
       "r"(round)
       : "memory");
}
#else
LOCAL_INLINE void
multiply (MmaNumber sum[SUMS], local const uint4 *stages, int place, int lane)
{
  local const uint *words = (local const uint *)(stages + place * STAGE);

  for (int n = 0; n < SUMS; n++) {
    const int row = row_at (lane, n / 2 % 2), column = n / 4 * 8 + lane % 4 * 2 + n % 2;
    for (int w = 0; w < 32; w++) {
      const int at = 4 * b_at (8 * column + (w / 4 ^ column % 8)) + w % 4;
  #if B_TYPE == F32
      const int chunk = w / 16 * 4 + w % 4, word = w / 4 % 4;
  #else
      const int chunk = w / 4, word = w % 4;
  #endif
      sum[n] = mma_dot (sum[n], mma_round (words[4 * a_at (row, chunk) + word]), words[at]);
    }
  }
}
#endif
