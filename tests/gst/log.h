/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* Lines of GStreamer's log, of elements in the test's own process. */

/** Collects the lines of @category from now on, down to @level. */
void log_begin (const gchar *category, GstDebugLevel level);

/** Ends it. Returns: (transfer full): the lines since log_begin(). */
GStrv log_end (void);

/** Returns: how many of @lines have @word. */
guint log_count (const GStrv lines, const gchar *word);

/** Ends it. Asserts that @n lines have each of @words, with a '|' between them, and that no other
 * lines have @marker. */
void log_assert (const gchar *marker, const gchar *words, guint n);
