/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer-entry.h"

#include <glib.h>

/* An OpenCL layer for tests that need two devices: in place of a platform's devices stand two parts
 * of its first one, of one compute unit each. If that cannot be split, as with PoCL 7, all devices
 * stay. */

#define N_PARTS 2

/* Returns: (nullable): the parts of @device, always the same; NULL if it cannot be split. */
static const cl_device_id *
split (cl_device_id device)
{
  static const cl_device_partition_property one_each[] = {
      CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  static GMutex lock;
  static GHashTable *splits; /* by device */
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  cl_device_id *parts;

  if (!splits)
    splits = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  parts = g_hash_table_lookup (splits, device);
  if (parts)
    return parts;
  parts = g_new0 (cl_device_id, N_PARTS);
  if (cl_next->clCreateSubDevices (device, one_each, N_PARTS, parts, NULL) == CL_SUCCESS)
    g_hash_table_insert (splits, device, parts);
  else
    g_clear_pointer (&parts, g_free);
  return parts;
}

static cl_int CL_API_CALL
get_device_ids (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *ids,
                cl_uint *n)
{
  cl_device_id first;
  const cl_device_id *parts = NULL;

  if (cl_next->clGetDeviceIDs (platform, type, 1, &first, NULL) == CL_SUCCESS)
    parts = split (first);
  if (!parts)
    return cl_next->clGetDeviceIDs (platform, type, room, ids, n);
  for (cl_uint i = 0; ids && i < room && i < N_PARTS; i++)
    ids[i] = parts[i];
  if (n)
    *n = N_PARTS;
  return CL_SUCCESS;
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceIDs = get_device_ids;
}
