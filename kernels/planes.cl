/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gather: copies a plane of a frame from an OpenCL image into the buffer that pixels.clh reads.
 *
 *     image   texel (x, y) of width x HEIGHT, its samples 0 to 1
 *                |
 *     buffer  its sample s is element  first + (y * width + x) * samples + s,  0 to MAX_SAMPLE
 *
 * The image returns a stored integer divided by MAX_SAMPLE. Multiplying and rounding restores that
 * integer, so that results equal those of a frame in system memory.
 *
 * A work-item copies a texel: (width in whole work-groups, HEIGHT).
 *
 * SAMPLE_BYTES: size of a stored sample, 1 or 2
 */
#if SAMPLE_BYTES == 2
typedef ushort Sample;
  #define MAX_SAMPLE 65535.0f
#else
typedef uchar Sample;
  #define MAX_SAMPLE 255.0f
#endif

constant sampler_t exact_texel =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void
gather (read_only image2d_t plane, global Sample *restrict frames, const ulong first,
        const uint width, const uint samples)
{
  const int x = get_global_id (0);
  const int y = get_global_id (1);
  if (x >= width)
    return;

  const float4 texel = rint (read_imagef (plane, exact_texel, (int2)(x, y)) * MAX_SAMPLE);
  const ulong at = first + ((ulong)y * width + x) * samples;

  frames[at] = (Sample)texel.x;
  if (samples == 2)
    frames[at + 1] = (Sample)texel.y;
}
