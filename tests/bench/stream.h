/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

#include "turns.h"

/**
 * contestant_new_pipeline:
 * @line: elements between a source and a sink, in the syntax of gst-launch-1.0
 * @caps: the caps of the source's buffers
 * @data: (array length=size): the memory of all buffers of the source; not copied
 *
 * Makes `appsrc ! @caps ! @line ! queue ! fakesink sync=false` and sets it to PLAYING. The source
 * makes buffers in its own streaming thread on demand, so that there is no queue between it and
 * @line. The queue has two buffers. After it each buffer is mapped: the element does not wait for
 * results, so without maps runs that are still in flight would count.
 *
 * Returns: (transfer full): %NULL with the error of the parser or of the pipeline.
 */
Contestant *contestant_new_pipeline (const gchar *line, const gchar *caps, gpointer data,
                                     gsize size, GError **error);

/**
 * first_buffer_run:
 * @properties: properties of the element, in the syntax of gst-launch-1.0
 *
 * Runs a pipeline for one buffer in this process. Prints the seconds from the state NULL until the
 * device is open, and until the buffer is complete. Returns: the exit status.
 */
gint first_buffer_run (const gchar *properties);

/**
 * first_buffer_report:
 *
 * Starts this program with --first-buffer, first with empty caches and then with those of the first
 * run; prints the times and appends them to @list.
 */
gboolean first_buffer_report (const gchar *properties, json_t *list);
