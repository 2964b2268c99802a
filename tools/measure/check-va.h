/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "results.h"

/** check_va: In a worker: runs VA surfaces through the element if there are a VA display and
 * GStreamer, and sets the result of @va. */
void check_va (GemmclContext *context, json_t *va);
