/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-context.h"
#include "json.h"

/** tool_devices_make_json: Returns: (transfer full): what `gemmcl devices --json` says of @info,
 * the device number @index. */
json_t *tool_devices_make_json (guint index, const GemmclDeviceInfo *info);
