/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/** DoublesCounts: What the doubles (run.sh) count in a process, atomically: what lives now, and
 * what was done. */
typedef struct {
  gint live_surfaces, live_contexts, live_objects;
  gint surface_readbacks, surface_exports, va_objects, dmabuf_objects, acquires;
} DoublesCounts;

/** Returns: the counts; NULL if the program does not run under the doubles. */
const DoublesCounts *doubles_get_counts (void);

#define doubles_count(name) g_atomic_int_get (&doubles_get_counts ()->name)

/** Returns: (nullable): the reason why the program does not run under the doubles, or why they
 * cannot run on this device; NULL if it runs. */
const gchar *doubles_missing (void);

/** Asserts that no object and no context is left. Waits for at most 5 s: OpenCL's threads may hold
 * objects for a moment after the last command. */
void doubles_assert_clean (void);
