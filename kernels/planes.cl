/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gather: a plane of a picture that lies in an image, as the bytes that pixels.clh reads.
 *
 *     image   texel (x, y) of width x HEIGHT, its samples 0 to 1
 *                |
 *     bytes   sample s of it is element  first + (y * width + x) * samples + s,  0 to MOST
 *
 * A texel is a stored number divided by MOST: multiplied again and rounded it is that number, so
 * that whatever follows makes of it what it makes of bytes of the host.
 *
 * A work-item moves a texel: (width in whole groups, HEIGHT).
 *
 * SAMPLE_BYTES: of a stored sample, 1 or 2
 */
#if SAMPLE_BYTES == 2
typedef ushort Sample;
  #define MOST 65535.0f
#else
typedef uchar Sample;
  #define MOST 255.0f
#endif

constant sampler_t texel_itself =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void
gather (read_only image2d_t plane, global Sample *restrict pictures, const ulong first,
        const uint width, const uint samples)
{
  const int x = get_global_id (0);
  const int y = get_global_id (1);
  if (x >= width)
    return;

  const float4 texel = rint (read_imagef (plane, texel_itself, (int2)(x, y)) * MOST);
  const ulong at = first + ((ulong)y * width + x) * samples;

  pictures[at] = (Sample)texel.x;
  if (samples == 2)
    pictures[at + 1] = (Sample)texel.y;
}
