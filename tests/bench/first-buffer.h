/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* How long a new process waits for the element's first buffer, with caches empty and filled. */

/**
 * first_buffer_run:
 * @properties: of the element, as gst-launch-1.0 takes them
 *
 * Runs a pipeline for one buffer in this process and prints, in seconds, when the
 * device was open and when the buffer was there, both since the pipeline was in NULL.
 */
gboolean first_buffer_run (const gchar *properties);

/**
 * first_buffer_report:
 *
 * Starts this program with --first-buffer, its caches in a directory that is
 * empty at first; prints the times and appends them to @list.
 */
gboolean first_buffer_report (const gchar *properties, json_t *list);
