/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions of Intel's GPUs in OpenCL C, for a device that has Intel's subgroups but neither matrix
 * engines nor 2D block reads. Each implements the text of its extension:
 *
 *   cl_intel_subgroup_matrix_multiply_accumulate        S = 8 and 16
 *   cl_intel_subgroup_matrix_multiply_accumulate_tf32   S = 16
 *   cl_intel_subgroup_2d_block_io, cl_intel_2d_block_io's layout of SPIR-V      S = 16
 *   cl_intel_split_work_group_barrier, as a barrier that waits twice
 *
 * S = NATIVE_SUBGROUP, which native.py defines. A call whose behaviour the extension does not
 * define prints a line that begins with BREACH.
 */
/* Keeps subgroup.clh from unrolling loops, since these functions are long. */
#define POCL_DEVICE_ADDRESS_BITS 64

#define NATIVE  static __attribute__ ((overloadable, noinline))
#define IN_TURN __attribute__ ((opencl_unroll_hint (1)))

static void
breach (bool undefined, constant char *what)
{
  if (undefined && get_sub_group_local_id () == 0)
    printf ("BREACH: %s\n", what);
}

#define cl_intel_subgroup_matrix_multiply_accumulate 1

/* Kernels take this extension for the sign of a compiler that inlines split barriers. */
#ifndef cl_khr_integer_dot_product
  #define cl_khr_integer_dot_product 1
#endif
/* Macros, since the compiler takes barriers in the kernel function only. */
#define cl_intel_split_work_group_barrier      1
#define intel_work_group_barrier_arrive(flags) barrier (flags)
#define intel_work_group_barrier_wait(flags)   barrier (flags)

/*
 * Eight rows of A by K rows of B, added to eight of acc, S columns each. An element has BITS bits.
 * Lane l has K / S elements of each row of A, from l * K / S on, and the columns l of B, acc and
 * the result. The lowest bits are the first element.
 */
#define DEFINE_MAD(name, Vector, Word, Number, K, BITS, A_NUMBER, B_NUMBER)                        \
  NATIVE Number##8 intel_sub_group_##name (Vector##8 a, int8 b, Number##8 acc)                     \
  {                                                                                                \
    Word rows[8];                                                                                  \
    uint column[8];                                                                                \
    Number sums[8];                                                                                \
                                                                                                   \
    breach (get_max_sub_group_size () != NATIVE_SUBGROUP, #name ": the subgroup's size");          \
    vstore8 (as_##Word##8(a), 0, rows);                                                            \
    vstore8 (as_uint8 (b), 0, column);                                                             \
    vstore8 (acc, 0, sums);                                                                        \
    IN_TURN for (int k = 0; k < K; k++)                                                            \
    {                                                                                              \
      const int per_lane = K / NATIVE_SUBGROUP, per_word = 32 / BITS;                              \
      const Number y = B_NUMBER (column[k / per_word] >> k % per_word * BITS);                     \
      IN_TURN for (int i = 0; i < 8; i++)                                                          \
      {                                                                                            \
        const uint word = intel_sub_group_shuffle ((uint)rows[i], k / per_lane);                   \
        sums[i] += A_NUMBER (word >> k % per_lane * BITS) * y;                                     \
      }                                                                                            \
    }                                                                                              \
    return vload8 (0, sums);                                                                       \
  }

static float
half_number (uint bits)
{
  const ushort x = (ushort)bits;
  return vload_half (0, (const half *)&x);
}
#define BF16_NUMBER(bits) as_float ((bits) << 16)
#define U8_NUMBER(bits)   ((int)((bits)&0xffu))
#define I8_NUMBER(bits)   ((int)as_char ((uchar)(bits)))

/* clang-format off */
#if NATIVE_SUBGROUP == 8
DEFINE_MAD (bf16_bf16_matrix_mad_k16, int, uint, float, 16, 16, BF16_NUMBER, BF16_NUMBER)
DEFINE_MAD (f16_f16_matrix_mad_k16, int, uint, float, 16, 16, half_number, half_number)
DEFINE_MAD (u8_i8_matrix_mad_k32, uint, uint, int, 32, 8, U8_NUMBER, I8_NUMBER)
#else
DEFINE_MAD (bf16_bf16_matrix_mad_k16, short, ushort, float, 16, 16, BF16_NUMBER, BF16_NUMBER)
DEFINE_MAD (f16_f16_matrix_mad_k16, short, ushort, float, 16, 16, half_number, half_number)
DEFINE_MAD (u8_i8_matrix_mad_k32, ushort, ushort, int, 32, 8, U8_NUMBER, I8_NUMBER)
#endif
/* clang-format on */

#if NATIVE_SUBGROUP == 16
  #define cl_intel_subgroup_matrix_multiply_accumulate_tf32 1
  #define cl_intel_subgroup_2d_block_io                     1

/* tf32 has the upper 10 bits of a float's mantissa. */
  #define TF32_NUMBER(x) as_float (as_uint (x) & 0xffffe000u)

NATIVE float
intel_convert_tfloat32_as_float (float x)
{
  const uint bits = as_uint (x), even = bits >> 13 & 1;
  return isnan (x) || isinf (x) ? x : as_float ((bits + 0xfffu + even) & 0xffffe000u);
}

/* Lanes 0 to 7 have the even rows of A, lanes 8 to 15 the odd rows: a column each. */
NATIVE float8
intel_sub_group_tf32_tf32_matrix_mad_k8 (float4 a, float8 b, float8 acc)
{
  float rows[4], column[8], sums[8];

  breach (get_max_sub_group_size () != 16, "tf32: the subgroup's size");
  vstore4 (a, 0, rows);
  vstore8 (b, 0, column);
  vstore8 (acc, 0, sums);
  IN_TURN for (int k = 0; k < 8; k++)
  {
    IN_TURN for (int i = 0; i < 8; i++)
    {
      const float x = intel_sub_group_shuffle (rows[i / 2], i % 2 * 8 + k);
      sums[i] += TF32_NUMBER (x) * TF32_NUMBER (column[k]);
    }
  }
  return vload8 (0, sums);
}

static void
check_2d (global void *from, int width, int height, int pitch, int2 at, int bytes)
{
  breach (get_max_sub_group_size () != 16, "2D block: the subgroup's size is not 16");
  breach ((ulong)from % 64 != 0, "2D block: the address is no multiple of 64");
  breach (width < 64 || width > 1 << 24, "2D block: the width is not 64 to 2^24");
  breach (width % 4 != 0, "2D block: the width is no multiple of 4");
  breach (height < 1 || height > 1 << 24, "2D block: the height is not 1 to 2^24");
  breach (pitch < width || pitch % 16 != 0, "2D block: the pitch is no multiple of 16, or less");
  breach (at.x * bytes % 4 != 0, "2D block: the column's address is no multiple of 4");
}

/* Elements outside of the matrix are 0. */
  #define AT_2D(T, x, y)                                                                           \
    ((y) >= 0 && (y) < height && (x) >= 0 && ((x) + 1) * (int)sizeof (T) <= width                  \
         ? ((global T *)((global uchar *)from + (long)(y)*pitch))[x]                               \
         : (T)0)

/* A block as wide as the subgroup: a lane has a column. */
  #define DEFINE_READ(bits, T, rows)                                                               \
    NATIVE void intel_sub_group_2d_block_read_##bits##b_##rows##r16x1c (                           \
        global void *from, int width, int height, int pitch, int2 at, private T *to)               \
    {                                                                                              \
      const int x = at.x + (int)get_sub_group_local_id ();                                         \
                                                                                                   \
      check_2d (from, width, height, pitch, at, sizeof (T));                                       \
      IN_TURN for (int i = 0; i < rows; i++) to[i] = AT_2D (T, x, at.y + i);                       \
    }

/* Two blocks side by side of half that width: a lane has of each a column of every other row. */
  #define DEFINE_READ_HALVES(rows)                                                                 \
    NATIVE void intel_sub_group_2d_block_read_32b_##rows##r8x2c (                                  \
        global void *from, int width, int height, int pitch, int2 at, private uint *to)            \
    {                                                                                              \
      const int lane = (int)get_sub_group_local_id ();                                             \
                                                                                                   \
      check_2d (from, width, height, pitch, at, 4);                                                \
      IN_TURN for (int i = 0; i < rows; i++)                                                       \
      {                                                                                            \
        const int block = i / (rows / 2), row = i % (rows / 2) * 2 + lane / 8;                     \
        to[i] = AT_2D (uint, at.x + 8 * block + lane % 8, at.y + row);                             \
      }                                                                                            \
    }

  #define DEFINE_PREFETCH(rows)                                                                    \
    NATIVE void intel_sub_group_2d_block_prefetch_32b_##rows##r16x1c (                             \
        global void *from, int width, int height, int pitch, int2 at)                              \
    {                                                                                              \
      check_2d (from, width, height, pitch, at, 4);                                                \
    }

  #define DEFINE_ROWS(rows)                                                                        \
    DEFINE_READ (32, uint, rows)                                                                   \
    DEFINE_READ (16, ushort, rows)                                                                 \
    DEFINE_READ_HALVES (rows)                                                                      \
    DEFINE_PREFETCH (rows)

/* clang-format off */
DEFINE_ROWS (8)
DEFINE_ROWS (16)
DEFINE_ROWS (32)
/* clang-format on */
#endif
