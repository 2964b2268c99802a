/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/properties.h"

/* The queue of runs that are in flight, queue-depth of each device. One device does them in their
 * order, so outputs are pushed at once. With several devices, runs go to them by turns, and the
 * element holds outputs back until their runs are complete and all outputs before them are pushed.
 * A run that fails is done again by another device, so the inputs are kept, too. Whoever submits a
 * run pushes what is complete by then; a thread of GStreamer's pool pushes the rest.
 *
 * The caller of each function is the streaming thread, or holds the stream lock of the sink pad. */

/** GstGemmclParcel: The buffers of a run, with the events between them. */
typedef struct {
  GPtrArray *items; /* inputs and events, in their order */
  guint n;          /* number of inputs */
  GstBuffer **inputs;
  GstBuffer **outputs; /* NULL before they are prepared */
} GstGemmclParcel;

typedef struct _GstGemmclTurns GstGemmclTurns;

/** gst_gemmcl_turns_start: Allocates queue-depth turns for each device. */
void gst_gemmcl_turns_start (GstGemmcl *self);

/** gst_gemmcl_turns_stop: As gst_gemmcl_turns_flush(), and frees the turns. */
void gst_gemmcl_turns_stop (GstGemmcl *self);

/** gst_gemmcl_turns_get_parcel: Returns: (transfer none): the parcel of the next run, to be filled.
 */
GstGemmclParcel *gst_gemmcl_turns_get_parcel (GstGemmcl *self);

/** gst_gemmcl_turns_take: Submits the run of the next parcel, which is not empty, to the device
 * with the fewest runs in flight, and pushes the outputs that are complete. Waits while there is no
 * turn. Posts an error if it fails, or an earlier run, on the last device. */
GstFlowReturn gst_gemmcl_turns_take (GstGemmcl *self);

/** gst_gemmcl_turns_submit: The same for one input and its output, which the caller pushes, with
 * one device. */
GstFlowReturn gst_gemmcl_turns_submit (GstGemmcl *self, GstBuffer *input, GstBuffer *output);

/** gst_gemmcl_turns_finish: Waits for all runs and pushes the outputs that are held. Posts an error
 * and returns GST_FLOW_ERROR if one failed on the last device. */
GstFlowReturn gst_gemmcl_turns_finish (GstGemmcl *self);

/** gst_gemmcl_turns_push_held: As gst_gemmcl_turns_finish() with several devices. With one device
 * no outputs are held, and it does nothing. */
GstFlowReturn gst_gemmcl_turns_push_held (GstGemmcl *self);

/** gst_gemmcl_turns_flush: Waits for all runs and drops the outputs that are held, and the next
 * parcel. Posts an error if a run of the only device failed. */
void gst_gemmcl_turns_flush (GstGemmcl *self);
