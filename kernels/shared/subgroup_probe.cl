/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * subgroup_probe: a small kernel with the operations of subgroup.clh. A device supports a level if
 * this kernel builds and has subgroups of the right size.
 */
#define GROUP (GROUP_M * GROUP_N)
#include "shared/subgroup.clh"

#ifdef IMAGES
  #define FROM IMAGE_IN
#else
  #define FROM global const float *
#endif

kernel SG_KERNEL void
probe (FROM in, global float *out)
{
  SG_SHARED (shared, 4);
  float x[4];
#ifdef IMAGES
  sg_read_image (x, 1, IMAGE (in, SUBGROUP_SIZE), (int2)(0), 4);
#else
  sg_read (x, in, 4);
#endif
  SG_SHARE (shared, x, 4);
  out[get_global_id (0)] = SG_FROM (shared, x, sg_id () % 4, 3);
}
