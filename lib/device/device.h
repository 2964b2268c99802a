/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/cl.h"

/** An OpenCL device that was found. */
typedef struct {
  GemmclDeviceInfo info; /* first, so that a GemmclDeviceInfo of a list is the whole device */
  cl_platform_id platform;
  cl_device_id id;
  guint platform_index;
  gboolean is_default;
} GemmclDevice;

/** Returns: (transfer full): what @id is; %NULL with #GEMMCL_ERROR_OPENCL. */
GemmclDevice *gemmcl_device_new (cl_device_id id, GError **error);
void gemmcl_device_free (GemmclDevice *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclDevice, gemmcl_device_free)

/** Returns: 30 for "OpenCL 3.0 ..." and so on; 0 for what is no version. */
guint gemmcl_cl_get_version (const gchar *version);
