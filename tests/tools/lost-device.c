/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many waits end well, which is enough for some kernels to be timed. */
#define GOOD_WAITS 30

static atomic_int waits;
static atomic_bool lost;

/* A process whose turn it is takes the file away, so that it is the only one; where no file is
 * named, it is every process' turn at once. */
static bool
is_lost (void)
{
  const char *file = getenv ("GEMMCL_LOST_ONCE");

  if (file == NULL || (atomic_fetch_add (&waits, 1) == GOOD_WAITS && unlink (file) == 0))
    atomic_store (&lost, true);
  return atomic_load (&lost);
}

/*
 * Loaded before the OpenCL loader, this stands for drivers that lose the device for a process: from
 * some run on, each one that it waits for has failed.
 */
cl_int
clWaitForEvents (cl_uint count, const cl_event *events)
{
  cl_int (*next) (cl_uint, const cl_event *) = NULL;
  void *symbol = dlsym (RTLD_NEXT, "clWaitForEvents");
  cl_int status;

  memcpy (&next, &symbol, sizeof next);
  status = next (count, events);
  return is_lost () ? CL_OUT_OF_RESOURCES : status;
}
