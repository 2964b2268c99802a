/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <pthread.h>

/* An OpenCL layer for tests that need two devices: in place of a platform's devices stand two parts
 * of its first one, of one compute unit each. If that cannot be split, as with PoCL 7, all devices
 * stay. */

#define N_PARTS     2
#define N_PLATFORMS 8

typedef struct {
  cl_device_id whole;
  cl_device_id parts[N_PARTS];
} Split;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Split splits[N_PLATFORMS];

/* Returns: the parts of @device, always the same; NULL if it cannot be split. */
static const Split *
split (cl_device_id device)
{
  static const cl_device_partition_property one_each[] = {
      CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  Split *at = splits, *found = NULL;

  pthread_mutex_lock (&lock);
  while (at < splits + N_PLATFORMS && at->whole && at->whole != device)
    at++;
  if (at < splits + N_PLATFORMS &&
      (at->whole ||
       cl_next->clCreateSubDevices (device, one_each, N_PARTS, at->parts, NULL) == CL_SUCCESS)) {
    at->whole = device;
    found = at;
  }
  pthread_mutex_unlock (&lock);
  return found;
}

static cl_int CL_API_CALL
get_device_ids (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *ids,
                cl_uint *n)
{
  cl_device_id first;
  const Split *found = NULL;

  if (cl_next->clGetDeviceIDs (platform, type, 1, &first, NULL) == CL_SUCCESS)
    found = split (first);
  if (!found)
    return cl_next->clGetDeviceIDs (platform, type, room, ids, n);
  for (cl_uint i = 0; ids && i < room && i < N_PARTS; i++)
    ids[i] = found->parts[i];
  if (n)
    *n = N_PARTS;
  return CL_SUCCESS;
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceIDs = get_device_ids;
}
