/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/*
 * Memory on both pads. Upstream is offered memory that the device reads with the fewest copies:
 * OpenCL memory where caps say so; for the system's memory pages, which a device that shares the
 * host's memory reads in place, or else OpenCL memory with a pinned side, which the device fetches
 * while it computes. Outputs lie in OpenCL memory, also where caps say the system's: a map waits
 * for the device. Only frames that downstream alone can make are taken from its pool, if the device
 * shares the host's memory and so can write them.
 */

/** gst_gemmcl_allocation_install: Gives @klass its functions for allocation. */
void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);

/**
 * gst_gemmcl_take_memory:
 * @memory: (transfer full): a tensor that passes through, in any memory
 *
 * Returns: (transfer full): @memory if it is OpenCL memory, otherwise a copy of it that is; %NULL
 *   if there is no room for that, or @memory cannot be read.
 */
GstMemory *gst_gemmcl_take_memory (GstGemmcl *self, GstMemory *memory);
