/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* The way of a buffer: it is collected with others of its batch, the run of the batch is submitted,
 * and the outputs are pushed (turns.c).
 *
 * A batch also has the serialised events between its buffers. It ends when it is full, at its
 * timeout, or before a buffer or event that cannot be part of it.
 *
 * Each device has at most queue-depth runs in flight. One device does them in their order, so
 * outputs are pushed at once. With several devices, runs go to them by turns, and the element holds
 * outputs back until their runs are complete and all outputs before them are pushed. A run that
 * fails is done again by another device, so the inputs are kept, too. Whoever submits a run pushes
 * what is complete by then; a thread of GStreamer's pool pushes the rest.
 *
 * The caller of each function is the streaming thread, or holds the stream lock of the sink pad,
 * unless the function says otherwise. */

/** gst_gemmcl_turns_start: Allocates queue-depth turns of batch-size buffers for each device. */
void gst_gemmcl_turns_start (GstGemmcl *self);

/** gst_gemmcl_turns_stop: As gst_gemmcl_turns_flush(), and frees the turns. */
void gst_gemmcl_turns_stop (GstGemmcl *self);

/** gst_gemmcl_turns_finish: Waits for all runs and pushes the outputs that are held. Posts an error
 * and returns GST_FLOW_ERROR if one failed on the last device. */
GstFlowReturn gst_gemmcl_turns_finish (GstGemmcl *self);

/** gst_gemmcl_turns_push_held: As gst_gemmcl_turns_finish() with several devices. With one device
 * no outputs are held, and it does nothing. */
GstFlowReturn gst_gemmcl_turns_push_held (GstGemmcl *self);

/** gst_gemmcl_turns_flush: Waits for all runs and drops the batch, and the outputs that are held.
 * Posts an error if a run of the only device failed. */
void gst_gemmcl_turns_flush (GstGemmcl *self);

/** gst_gemmcl_batch_add: Takes @buffer, which the element's input describes. Returns: the result of
 * gst_gemmcl_batch_end() if @buffer ended or filled a batch, otherwise GST_FLOW_OK. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *buffer);

/** gst_gemmcl_batch_hold: Returns: %TRUE if @event was taken, to be pushed after the collected
 * buffers; %FALSE if there are none, or if it ends the batch. */
gboolean gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_batch_end: Submits the run of the batch, unless that is empty, to the device with the
 * fewest runs in flight, and pushes the outputs that are complete. Waits while there is no turn.
 * Posts an error if it fails, or an earlier run, on the last device. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);

/** gst_gemmcl_turns_get_latency: Returns: the latency of a batch and its run, in ns. Any thread. */
GstClockTime gst_gemmcl_turns_get_latency (GstGemmcl *self);

/* A, where only buffers describe it (learn.c). */

/** gst_gemmcl_learn_hold: Takes @event if it is caps that do not tell the shape of A, or comes
 * behind such caps before their first buffer. The field waiting keeps it. Returns: %TRUE if it was
 * taken. */
gboolean gst_gemmcl_learn_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_learn: Describes @buffer in the field input. Ends the batch if A is another tensor
 * than in the buffer before, and makes negotiation and a new plan due as far as they are needed.
 * @m: (out): M, if inputs differ in it; else 0. Returns: the result of gst_gemmcl_batch_end();
 * GST_FLOW_ERROR after an error was posted; GST_BASE_TRANSFORM_FLOW_DROPPED if @buffer is empty and
 * events wait. */
GstFlowReturn gst_gemmcl_learn (GstGemmcl *self, GstBuffer *buffer, gsize *m);
