/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A device and its facts.
 */
#pragma once

#include "device/opencl.h"

typedef struct {
  GemmclDeviceInfo info; /* first: a list of GemmclDeviceInfo holds GemmclDevices */
  cl_platform_id platform;
  cl_device_id id;
  cl_device_id inline_id; /* PoCL's inline device beside this one, or NULL */
  guint platform_index;
  gboolean is_default;
} GemmclDevice;

/** TRUE if the driver is Mesa's Rusticl. */
static inline gboolean
gemmcl_device_is_rusticl (const GemmclDeviceInfo *info)
{
  return g_str_equal (info->platform, "rusticl");
}

/** (transfer full): the description of @id; %NULL with #GEMMCL_ERROR_OPENCL. */
GemmclDevice *gemmcl_device_new (cl_device_id id, GError **error);
void gemmcl_device_free (GemmclDevice *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclDevice, gemmcl_device_free)

/** Sets the problem that later descriptions of this device have. @problem: (nullable): none */
void gemmcl_device_set_problem (const GemmclDevice *self, const gchar *problem);

/** TRUE if the device is PoCL's, of a version whose inline device works. */
gboolean gemmcl_device_may_use_inline (const GemmclDeviceInfo *info);

/** Returns: PoCL's inline device among @ids, if there is another CPU device. NULL: none. The inline
 * device, "basic" until PoCL 3 and then "cpu-minimal", runs commands in the thread that flushes its
 * queue. PoCL lists it if POCL_DEVICES is "pthread basic". */
cl_device_id gemmcl_device_find_inline (const cl_device_id *ids, guint n);

/** The largest number of platforms, of devices of a platform, and of devices of a context. */
#define GEMMCL_MAX_DEVICES 256

/** (transfer full): valid UTF-8 without leading and trailing spaces; "" after a failure. */
gchar *gemmcl_platform_get_string (cl_platform_id platform, cl_platform_info what);

/** 30 for "OpenCL 3.0 ..." and so on; 0 if @version is malformed. */
guint gemmcl_cl_get_version (const gchar *version);
