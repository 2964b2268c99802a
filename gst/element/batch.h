/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/run.h"

/* Collects buffers into batches, submits each batch as one run, and pushes the outputs in order.
 *
 * A batch also contains the serialized events between its buffers. It ends when it is full, at its
 * timeout, or before a buffer or event that cannot be part of it.
 *
 * Each device has at most queue-depth runs in flight. A single device does its runs in order, so
 * outputs are pushed at once. Runs are spread over several devices, and the element holds an output
 * back until its run is complete and all outputs before it are pushed. Inputs are kept until then,
 * too: another device does a failed run again. The thread that submits a run pushes the outputs
 * that are complete by then; a thread of GStreamer's pool pushes the rest.
 *
 * The caller of each function is the streaming thread, or holds the stream lock of the sink pad,
 * unless the function says otherwise. */

/** GstGemmclRuns: The ring of runs. Written by batch.c, unless a field says otherwise. */
typedef struct {
  GstGemmclRun *ring;
  guint size;     /* one run for each in flight, and one for the batch that is being collected */
  guint first, n; /* the runs in flight: index of the oldest, and their number */
  guint next;     /* index of the device after that of the last run */
  GstGemmclLastRun last; /* run.c */

  gboolean is_late;   /* push_late() is running */
  GstFlowReturn flow; /* the last failure of a push by other threads; returned for the next buffer,
                       * which resets it (element.c) */
  gboolean unlinked;  /* flow is NOT_LINKED because the source pad had no peer; it does not count
                       * once the pad has one */
  gboolean discont;   /* QoS dropped the buffer before the next one (element.c) */
  GstClockID timer;   /* (nullable): of the timeout of the batch */
} GstGemmclRuns;

/** gst_gemmcl_runs_start: Allocates queue-depth runs of batch-size buffers for each device. */
void gst_gemmcl_runs_start (GstGemmcl *self);

/** gst_gemmcl_runs_stop: Does what gst_gemmcl_runs_flush() does, and frees the runs. */
void gst_gemmcl_runs_stop (GstGemmcl *self);

/** gst_gemmcl_runs_finish: Waits for all runs and pushes the outputs that are held back. Posts an
 * error and returns GST_FLOW_ERROR if a run failed and no other device is left. */
GstFlowReturn gst_gemmcl_runs_finish (GstGemmcl *self);

/** gst_gemmcl_runs_push_held: With several devices, does what gst_gemmcl_runs_finish() does. With
 * one device, does nothing: its outputs are not held back. */
GstFlowReturn gst_gemmcl_runs_push_held (GstGemmcl *self);

/** gst_gemmcl_runs_flush: Waits for all runs; drops the batch and the outputs that are held back.
 * Posts an error if a run of the only device failed. */
void gst_gemmcl_runs_flush (GstGemmcl *self);

/** gst_gemmcl_batch_accepts: Returns: %TRUE if @input, of @buffer, may be in the batch. */
gboolean gst_gemmcl_batch_accepts (GstGemmclRuns *self, GstBuffer *buffer,
                                   const GstGemmclInput *input, const GstGemmclFactors *factors);

/** gst_gemmcl_batch_add: Adds @buffer, which it takes, to the batch. @input describes @buffer and
 * is taken, too. Returns: that of gst_gemmcl_batch_end() if a batch ended, else GST_FLOW_OK. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input,
                                    const GstGemmclFactors *factors);

/** gst_gemmcl_batch_take_event: Takes @event if it belongs in the batch, which pushes it after the
 * collected buffers. Returns: %FALSE if no buffers are collected or @event ends the batch. */
gboolean gst_gemmcl_batch_take_event (GstGemmclRuns *self, GstEvent *event);

/** gst_gemmcl_batch_end: Submits the run of the batch, unless the batch is empty, to the device
 * with the fewest runs in flight, and pushes the outputs that are complete. Waits until a run of
 * the ring is free. Posts an error if a run fails and no other device is left. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);
