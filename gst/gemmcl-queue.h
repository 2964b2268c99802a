/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/*
 * Buffers that the element holds: those of a batch that is not full, and flights, runs under way on
 * the device. Unless a function says otherwise it is for the streaming thread, that is for whoever
 * holds the sink pad's stream lock.
 *
 * With queue-depth above 1 a thread of the element's own waits for flights to land, takes the
 * stream lock and sends them, so that no result waits for the next buffer; where the streaming
 * thread is quicker, it does that itself. With queue-depth 1 each flight lands before its buffer
 * was taken.
 *
 * Outputs in OpenCL memory are sent as soon as the flight is launched: who wants to see them waits
 * for the event that they have. If both inputs and outputs are in such memory, a flight with
 * queue-depth 1 lands before the next is launched.
 */

G_BEGIN_DECLS

void gst_gemmcl_queue_init (GstGemmcl *self);
void gst_gemmcl_queue_finalize (GstGemmcl *self);

/** gst_gemmcl_queue_start: Makes room for what the settings say. Without the stream lock. */
void gst_gemmcl_queue_start (GstGemmcl *self);

/** gst_gemmcl_queue_stop: Drops what is held. Without the stream lock. */
void gst_gemmcl_queue_stop (GstGemmcl *self);

/**
 * gst_gemmcl_queue_generate:
 * @input: (transfer full) (nullable): what came in; %NULL when called again for more output
 * @output: (out) (transfer full): the next output in order; %NULL when none is there yet
 *
 * Collects buffers, and launches them when they are as many as batch-size says; waits while
 * queue-depth flights are under way.
 */
GstFlowReturn gst_gemmcl_queue_generate (GstGemmcl *self, GstBuffer *input, GstBuffer **output);

/** gst_gemmcl_queue_launch: Launches what was collected, though it is less than a batch. */
GstFlowReturn gst_gemmcl_queue_launch (GstGemmcl *self);

/** gst_gemmcl_queue_land: Waits for all flights; sends none. */
void gst_gemmcl_queue_land (GstGemmcl *self);

/** gst_gemmcl_queue_drain: Launches what was collected, waits for all flights and sends them. */
GstFlowReturn gst_gemmcl_queue_drain (GstGemmcl *self);

/** gst_gemmcl_queue_clear: Drops what was collected and all flights. */
void gst_gemmcl_queue_clear (GstGemmcl *self);

/** gst_gemmcl_queue_get_flow: Returns: what downstream said of flights that the thread sent. */
GstFlowReturn gst_gemmcl_queue_get_flow (GstGemmcl *self);

/**
 * gst_gemmcl_queue_query_latency:
 * @query: a latency query that upstream has answered
 *
 * Adds how long a buffer may be held, if buffers come no faster than the device can take them. From
 * any thread.
 */
void gst_gemmcl_queue_query_latency (GstGemmcl *self, GstQuery *query);

G_END_DECLS
