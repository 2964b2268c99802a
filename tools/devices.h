/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "gemmcl.h"

/** tool_json_device: Returns: (transfer full): the object of `gemmcl devices --json` for @info,
 * device number @index. */
json_t *tool_json_device (guint index, const GemmclDeviceInfo *info);

/** tool_get_peak: Returns: the highest speed of the device in @precision, in 10^9 operations a
 * second; NaN: unknown. @source: (out) (transfer full): its calculation, or why it is unknown */
gdouble tool_get_peak (const GemmclDeviceInfo *info, GemmclPrecision precision, gchar **source);
