/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "output.h"

/**
 * check_exact_row:
 * @info: a row of the table
 *
 * Runs the row on problems of small integers, of which every product and sum is exact in every
 * precision: any difference is an error. Each has a whole work-group and parts of one.
 *
 * Returns: (transfer full): an object with "result": "ok", "wrong", "failed" or "unfit" (the row
 *   takes none of the problems), "why", what the driver made of it, and "lost" if OpenCL failed
 *   it, so that the device may be lost.
 */
json_t *check_exact_row (GemmclContext *context, const GemmclKernelInfo *info);

/** check_exact_build: Compiles what check_exact_row() will want of the caches on the disk. */
void check_exact_build (GemmclContext *context, const GemmclKernelInfo *info);

/**
 * check_exact_add_build:
 *
 * Adds to @object what the driver made of the plan's kernel: "subgroup_size", and "private_bytes"
 * and "spill_bytes" unless there are larger ones.
 *
 * Returns: whether the kernel was built natively.
 */
gboolean check_exact_add_build (GemmclPlan *plan, json_t *object);
