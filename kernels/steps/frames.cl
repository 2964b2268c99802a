/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * im2col: frames and tensors as matrices of f32, for kernels that do not read frames themselves.
 *
 *     A(m, k) = A[(frame * M + m) * K + k]          M = ACROSS * DOWN,  K = q * p * C
 *
 *     |<- p, pixels DILATION apart ->|           m = row * ACROSS + column of the patch
 *     |<-- STRIDE_X -->|<- next patch ...        k = (j * p + i) * C + channel of its pixel (i, j)
 *
 *     pixel of the frame:   x = column * STRIDE_X + i * DILATION - PADDING
 *                           y = row    * STRIDE_Y + j * DILATION - PADDING
 *
 * A patch of p x q pixels is a pixel, a row of the frame, the frame, or any size, as in a
 * convolution. Pixels outside of the frame have the value `outside`.
 *
 * A work-item converts a pixel of a patch; grid: (ACROSS * p in whole work-groups, DOWN * q,
 * frames). With A_TENSOR, for tensors of A_TYPE, it converts one element, so that neighbours read
 * and write neighbours; grid: (ACROSS * p * C, DOWN * q, tensors). p, q, C and capitalised words
 * are compiler options: A_PATCH_WIDTH, A_PATCH_HEIGHT, A_CHANNELS, A_STRIDE_X ...
 *
 * gather, if neither A_FRAME nor A_TENSOR is defined: copies a plane of a frame from an OpenCL
 * image into the buffer that im2col and skinny.cl read, whose samples are of A_TYPE, U8 or U16.
 *
 *     image   texel (left + x, top + y), its samples 0 to 1;  0 <= x < width, 0 <= y < HEIGHT
 *                |
 *     buffer  its sample s is element  first + (y * width + x) * samples + s,  0 to MAX_SAMPLE
 *
 * The image returns a stored integer divided by MAX_SAMPLE. Multiplying and rounding restores that
 * integer, so that results equal those of a frame in system memory.
 *
 * A work-item copies a texel; grid: (width in whole work-groups, HEIGHT).
 */
#include "shared/pixels.clh"
#include "shared/types.clh"

#if !defined(A_FRAME) && !defined(A_TENSOR)
  #define MAX_SAMPLE (A_TYPE == U16 ? 65535.0f : 255.0f)

constant sampler_t exact_texel =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void
gather (read_only image2d_t plane, global A_MEM *restrict frames, const ulong first,
        const uint width, const uint samples, const int left, const int top)
{
  const int x = get_global_id (0);
  const int y = get_global_id (1);
  if (x >= width)
    return;

  const int2 from = (int2)(left + x, top + y);
  const float4 texel = rint (read_imagef (plane, exact_texel, from) * MAX_SAMPLE);
  const ulong at = first + ((ulong)y * width + x) * samples;

  frames[at] = (A_MEM)texel.x;
  if (samples == 2)
    frames[at + 1] = (A_MEM)texel.y;
}
#else
  #ifdef A_TENSOR
    #define ITEMS A_CHANNELS /* work-items for each pixel */
  #else
    #define ITEMS 1
  #endif

kernel void
im2col (global const uchar *restrict frames, global float *restrict A, const ulong frame_bytes,
        const float outside, const int progressive)
{
  const int item = get_global_id (0), at_y = get_global_id (1);
  const int at_x = item / ITEMS;
  const int column = at_x / A_PATCH_WIDTH, i = at_x % A_PATCH_WIDTH;
  const int row = at_y / A_PATCH_HEIGHT, j = at_y % A_PATCH_HEIGHT;
  const int x = column * A_STRIDE_X + i * A_DILATION - A_PADDING;
  const int y = row * A_STRIDE_Y + j * A_DILATION - A_PADDING;
  const long patch = (get_global_id (2) * A_DOWN + row) * A_ACROSS + column;
  const long pixel = (patch * A_PATCH_HEIGHT + j) * A_PATCH_WIDTH + i;
  const bool inside = x >= 0 && x < A_WIDTH && y >= 0 && y < A_HEIGHT;
  global const uchar *frame = frames + get_global_id (2) * frame_bytes;

  if (column >= A_ACROSS)
    return;
  #ifdef A_TENSOR
  const long from = ((long)y * A_WIDTH + x) * A_CHANNELS + item % ITEMS;
  A[pixel * A_CHANNELS + item % ITEMS] =
      inside ? LOAD_A ((global const A_MEM *)frame, from) : outside;
  #else
  float channel[4] = {outside, outside, outside, outside};

  if (inside) {
    load_a_pixel (frame, x, y, !progressive, channel);
    #ifdef A_CHROMA
    channels_from_luma (channel[0], channel[1], channel[2], channel);
    #endif
  }
  for (int c = 0; c < A_CHANNELS; c++)
    A[pixel * A_CHANNELS + c] = channel[c];
  #endif
}
#endif
