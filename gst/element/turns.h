/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* The way of a buffer: it is collected in a batch, the run of the batch is submitted, and the
 * outputs are pushed (turns.c).
 *
 * A batch also contains the serialized events between its buffers. It ends when it is full, at its
 * timeout, or before a buffer or event that cannot be part of it.
 *
 * Each device has at most queue-depth runs in flight. A single device does its runs in order, so
 * outputs are pushed at once. Several devices take runs in turn, and the element holds an output
 * back until its run is complete and all outputs before it are pushed. Inputs are kept until then,
 * too: another device does a failed run again. The thread that submits a run pushes the outputs
 * that are complete by then; a thread of GStreamer's pool pushes the rest.
 *
 * The caller of each function is the streaming thread, or holds the stream lock of the sink pad,
 * unless the function says otherwise. */

/** gst_gemmcl_turns_start: Allocates queue-depth turns of batch-size buffers for each device. */
void gst_gemmcl_turns_start (GstGemmcl *self);

/** gst_gemmcl_turns_stop: Does what gst_gemmcl_turns_flush() does, and frees the turns. */
void gst_gemmcl_turns_stop (GstGemmcl *self);

/** gst_gemmcl_turns_finish: Waits for all runs and pushes the outputs that are held back. Posts an
 * error and returns GST_FLOW_ERROR if a run failed and no other device is left. */
GstFlowReturn gst_gemmcl_turns_finish (GstGemmcl *self);

/** gst_gemmcl_turns_push_held: Does what gst_gemmcl_turns_finish() does if there are several
 * devices. One device holds no outputs back, so nothing is done. */
GstFlowReturn gst_gemmcl_turns_push_held (GstGemmcl *self);

/** gst_gemmcl_turns_flush: Waits for all runs; drops the batch and the outputs that are held back.
 * Posts an error if a run of the only device failed. */
void gst_gemmcl_turns_flush (GstGemmcl *self);

/** gst_gemmcl_turns_take_flow: Returns: the flow of outputs that other threads pushed since the
 * last call. */
GstFlowReturn gst_gemmcl_turns_take_flow (GstGemmcl *self);

/** gst_gemmcl_turns_note_drop: Marks the next buffer as discontinuous, since QoS dropped one. */
void gst_gemmcl_turns_note_drop (GstGemmcl *self);

/** gst_gemmcl_batch_add: Adds @buffer, which it takes, to the batch. learned.input describes
 * @buffer. Returns: the result of gst_gemmcl_batch_end() if @buffer ended or filled a batch,
 * otherwise GST_FLOW_OK. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *buffer);

/** gst_gemmcl_batch_hold: Takes @event if it belongs in the batch, which pushes it after the
 * collected buffers. Returns: %FALSE if no buffers are collected or @event ends the batch. */
gboolean gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_batch_end: Submits the run of the batch, unless the batch is empty, to the device
 * with the fewest runs in flight, and pushes the outputs that are complete. Waits until a turn is
 * free. Posts an error if this run or an earlier one fails and no other device is left. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);

/* Learns A from buffers, if caps do not describe it (learn.c). */

/** gst_gemmcl_learn_hold: Takes @event if it is caps that do not state the shape of A, or if such
 * caps wait for their first buffer. Returns: %TRUE if @event was taken, to wait. */
gboolean gst_gemmcl_learn_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_learn_pop: Returns: (transfer full) (nullable): the next waiting event that can pass:
 * caps still wait if no buffer has described A. */
GstEvent *gst_gemmcl_learn_pop (GstGemmcl *self);

/** gst_gemmcl_learn: Describes @buffer in learned.input. If the type or shape of A differs from
 * the buffer before, ends the batch and makes a negotiation and a new plan due, as needed. @m:
 * (out): M, if it differs between inputs; otherwise 0. Returns: the result of
 * gst_gemmcl_batch_end(); GST_FLOW_ERROR after an error was posted; GST_BASE_TRANSFORM_FLOW_DROPPED
 * if @buffer is empty and events wait. */
GstFlowReturn gst_gemmcl_learn (GstGemmcl *self, GstBuffer *buffer, gsize *m);

/** gst_gemmcl_learn_forget: Drops the description of a buffer that no batch takes. */
void gst_gemmcl_learn_forget (GstGemmcl *self);

/** gst_gemmcl_learn_stop: Drops all that was learned, and the waiting events. */
void gst_gemmcl_learn_stop (GstGemmcl *self);
