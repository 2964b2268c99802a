/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * store, load: between the result that a plan keeps in f32 and D, which may be of any type and
 * layout or a frame.
 *
 *     state   run r of batch group 2 begins at  s.offset + batch * s.batch + r * s.row, tight
 *     D       likewise with d; elements of a run lie together in both
 *
 * A run is a row of D, a column if D is column-major, or more of them where nothing lies between.
 * A work-item converts an element: (length in whole groups, runs, batches). Of a frame it converts
 * a pixel, whose channels follow one another in the state; then there is one run of pixels.
 *
 * D_TYPE: of D, or of a frame's samples. STORE_D says how results are rounded.
 * D_IMAGE and its like: of a frame; see pixels.clh.
 */
#include "problem.h"
#include "types.clh"
#include "pixels.clh"

#ifdef D_IMAGE
DEFINE_PIXELS (float)

static inline void
store_one (global const float *state, global D_MEM *D)
{
  float channel[4], sample[4];

  for (int c = 0; c < D_CHANNELS; c++)
    channel[c] = state[c];
  samples_from_channels_float (D_ORDER, D_CHANNELS, D_X, channel, sample);
  for (int s = 0; s < D_SAMPLES; s++)
    STORE_D (D, s, sample[s]);
}

static inline void
load_one (global float *state, global const D_MEM *D)
{
  float channel[4], sample[4];

  for (int s = 0; s < D_SAMPLES; s++)
    sample[s] = LOAD_D (D, s);
  channels_from_samples_float (D_ORDER, D_CHANNELS, sample, channel);
  for (int c = 0; c < D_CHANNELS; c++)
    state[c] = channel[c];
}
#else
  #define store_one(state, D) STORE_D (D, 0, (state)[0])
  #define load_one(state, D)  ((state)[0] = LOAD_D (D, 0))
#endif

kernel void
store (global const float *restrict state, const GemmclStrides s, global D_MEM *restrict D,
       const GemmclStrides d, const long length)
{
  const long at = get_global_id (0);
  const long run = get_global_id (1);
  const long batch = get_global_id (2);

  if (at < length)
    store_one (state + s.offset + batch * s.batch + run * s.row + at * s.col,
               D + d.offset + batch * d.batch + run * d.row + at * d.col);
}

kernel void
load (global float *restrict state, const GemmclStrides s, global const D_MEM *restrict D,
      const GemmclStrides d, const long length)
{
  const long at = get_global_id (0);
  const long run = get_global_id (1);
  const long batch = get_global_id (2);

  if (at < length)
    load_one (state + s.offset + batch * s.batch + run * s.row + at * s.col,
              D + d.offset + batch * d.batch + run * d.row + at * d.col);
}
