/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../next.h"

/* Number of waits that succeed, enough to time some kernels. */
#define GOOD_WAITS 30

static atomic_int waits;
static atomic_bool lost;

/* Returns: true if this process loses its device: it is the first one to remove the file, or no
 * file is named. */
static bool
is_lost (void)
{
  const char *file = getenv ("GEMMCL_LOST_ONCE");

  if (file == NULL || (atomic_fetch_add (&waits, 1) == GOOD_WAITS && unlink (file) == 0))
    atomic_store (&lost, true);
  return atomic_load (&lost);
}

/*
 * A preloaded library that acts like a driver that loses the device for a process: from some run
 * on, every wait fails.
 */
cl_int
clWaitForEvents (cl_uint count, const cl_event *events)
{
  const cl_int status = NEXT (clWaitForEvents) (count, events);

  return is_lost () ? CL_OUT_OF_RESOURCES : status;
}
