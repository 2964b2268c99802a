/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

#include "turns.h"

/**
 * contestant_new_pipeline:
 * @line: what gst-launch-1.0 takes, between a source and a sink
 * @caps: the caps of the source's buffers
 * @data: (array length=size): the source's buffers, all the same; used as they are
 *
 * `appsrc ! @caps ! @line ! queue ! fakesink sync=false`, PLAYING. The source makes buffers in its
 * own streaming thread as they are wanted, so that there is no queue between it and @line. Behind
 * the queue, which has two buffers, each buffer is mapped: the element waits for no result, so that
 * a sink that maps none would count runs that are still under way.
 *
 * Returns: (transfer full): %NULL with the error of the parser or of the pipeline.
 */
Contestant *contestant_new_pipeline (const gchar *line, const gchar *caps, gpointer data,
                                     gsize size, GError **error);

/**
 * first_buffer_run:
 * @properties: of the element, as gst-launch-1.0 takes them
 *
 * Runs a pipeline for one buffer in this process and prints, in seconds, when the device was open
 * and when the buffer was there, both since the pipeline was in NULL. Returns: the exit status.
 */
gint first_buffer_run (const gchar *properties);

/**
 * first_buffer_report:
 *
 * Starts this program with --first-buffer, its caches in a directory that is empty at first; prints
 * the times and appends them to @list.
 */
gboolean first_buffer_report (const gchar *properties, json_t *list);
