/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/*
 * A device's clock that says what a test wants: gemmcl_plan_submit() and clGetEventProfilingInfo(),
 * linked into a program, stand before the library's and OpenCL's. Any thread.
 */

/** clock_set: From now on the runs of @kernel take so long by the device's clock; with %NULL those
 * of all kernels that were not set, which take 200 microseconds otherwise. */
void clock_set (const gchar *kernel, guint microseconds);

/** clock_count: Returns: how many runs @kernel had since clock_reset(). */
guint clock_count (const gchar *kernel);

/** clock_reset: Forgets what was set, and counts from 0. */
void clock_reset (void);
