/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * subgroup_probe: a little of everything in subgroup.clh. Whether it builds, and how large its
 * subgroups are then, says whether a device has a level.
 */
#include "subgroup.clh"

kernel SG_KERNEL void
probe (global const float *in, global float *out)
{
  SG_SHARED (shared, 4);
  float x[4];
  sg_read (x, in, 4);
  SG_SHARE (shared, x, 4);
  out[get_global_id (0)] = SG_FROM (shared, x, sg_id () % 4, 3);
}
