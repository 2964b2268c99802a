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

/** clock_break: From now on @kernel (nullable) computes twice what it should. */
void clock_break (const gchar *kernel);

/** clock_spoil: From now on element @at of the f32 D of @kernel is a hundredth too large. */
void clock_spoil (const gchar *kernel, gsize at);

/** clock_count: Returns: how many runs @kernel had since clock_reset(). */
guint clock_count (const gchar *kernel);

/** clock_get_rows: Returns: the rows of the last run of @kernel; 0: all. */
gsize clock_get_rows (const gchar *kernel);

/** clock_reset: Forgets what was set, and counts from 0. */
void clock_reset (void);
