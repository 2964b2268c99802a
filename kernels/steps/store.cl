/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * store, load: conversion between the f32 result that a plan keeps (the state) and D, which has any
 * type and layout or is a frame.
 *
 *     state   a line of a problem begins at  s.offset + batch * s.batch + line * s.row
 *     D       likewise with d; the elements of a line are contiguous in both
 *
 * A line is a row of D, a column if D is column-major, or all of them if there are no gaps in
 * between. A frame is one line; its elements are pixels, with contiguous channels in the state.
 * A work-item converts one element; grid: (length in whole work-groups, lines, batch).
 *
 * D_TYPE: type of D, or of a frame's samples; STORE_D defines the rounding.
 * D_FRAME and other D_ options: the frame's format; see pixels.clh.
 */
#include "shared/types.clh"
#include "shared/pixels.clh"

#ifdef D_FRAME
static inline void
store_one (global const float *state, global D_MEM *D)
{
  float channel[4], sample[4];

  for (int c = 0; c < D_CHANNELS; c++)
    channel[c] = state[c];
  samples_from_channels (D_ORDER, D_CHANNELS, D_X, channel, sample);
  for (int s = 0; s < D_SAMPLES; s++)
    STORE_D (D, s, sample[s]);
}

static inline void
load_one (global float *state, global const D_MEM *D)
{
  float channel[4], sample[4];

  for (int s = 0; s < D_SAMPLES; s++)
    sample[s] = LOAD_D (D, s);
  channels_from_samples (D_ORDER, D_CHANNELS, sample, channel);
  for (int c = 0; c < D_CHANNELS; c++)
    state[c] = channel[c];
}
#else
  #define store_one(state, D) STORE_D (D, 0, (state)[0])
  #define load_one(state, D)  ((state)[0] = LOAD_D (D, 0))
#endif

/* The offset of the work-item's element. */
static inline long
find (const GemmclStrides s)
{
  return s.offset + get_global_id (2) * s.batch + get_global_id (1) * s.row +
         get_global_id (0) * s.col;
}

kernel void
store (global const float *restrict state, const GemmclStrides s, global D_MEM *restrict D,
       const GemmclStrides d, const long length)
{
  if ((long)get_global_id (0) < length)
    store_one (state + find (s), D + find (d));
}

kernel void
load (global float *restrict state, const GemmclStrides s, global const D_MEM *restrict D,
      const GemmclStrides d, const long length)
{
  if ((long)get_global_id (0) < length)
    load_one (state + find (s), D + find (d));
}
