/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search for devices.
 */
#pragma once

#include "device/opencl.h"

/** Held while OpenCL lists platforms and devices or makes a context: drivers set themselves up at
 * the first such call, and PoCL finds no device, or crashes, if two threads make it at once. */
extern GMutex gemmcl_driver_lock;

/** TRUE if @query has a device's name or number. @query: (nullable) */
gboolean gemmcl_device_query_is_named (const GemmclDeviceQuery *query);
