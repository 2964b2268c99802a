/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/*
 * A batch collects buffers, and the serialised events between them, until it is full, its timeout
 * is over, or something comes that must not be in one run with them. Whatever ends it, the same
 * function submits one run for all of its buffers and pushes outputs and events in their order.
 * With batch-size 1 there is never anything in it.
 *
 * Unless a function says otherwise it is for the streaming thread, that is for whoever holds the
 * sink pad's stream lock.
 */

/** gst_gemmcl_batch_start: Makes room for batch-size buffers. */
void gst_gemmcl_batch_start (GstGemmcl *self);

/** gst_gemmcl_batch_stop: Drops the batch and frees the room. */
void gst_gemmcl_batch_stop (GstGemmcl *self);

/** gst_gemmcl_batch_add: Takes @input. Returns: the flow of what was pushed, if it was the last. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *input);

/** gst_gemmcl_batch_mark_discont: The next buffer follows one that was dropped. */
void gst_gemmcl_batch_mark_discont (GstGemmcl *self);

/** gst_gemmcl_batch_hold: Returns: whether @event, which is taken then, waits behind the collected
 * buffers; not if there are none, or if it is one that ends the batch. */
gboolean gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_batch_end: Returns: the flow of what was pushed; that of an earlier end by the
 * timeout, if it failed. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);

/** gst_gemmcl_batch_clear: Drops what was collected. */
void gst_gemmcl_batch_clear (GstGemmcl *self);

/** gst_gemmcl_batch_get_latency: Returns: ns that collecting may add. Any thread. */
GstClockTime gst_gemmcl_batch_get_latency (GstGemmcl *self);
