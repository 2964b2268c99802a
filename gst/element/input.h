/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/run.h"

/* Describes buffers: the type, shape and place of A in them. Caps that do not announce the tensor
 * in metadata wait for the first buffer, and the events after them wait, too: the caps of the
 * output depend on the shape of that tensor. For the streaming thread. */

/** GstGemmclDescribed: A as buffers describe it. For the streaming thread; @tensor has the lock. */
typedef struct {
  GstGemmclTensor tensor; /* A, as a buffer described it; rank 0: none did */
  gboolean fits_plan;     /* only M changed, and the plan has enough rows */
  GQueue waiting;         /* events that wait for the first buffer */
} GstGemmclDescribed;

/** gst_gemmcl_input_take_event: Takes @event if it is caps that do not state the shape of A, or if
 * such caps wait for their first buffer. Returns: %TRUE if @event was taken, to wait. */
gboolean gst_gemmcl_input_take_event (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_input_pop_event: Returns: (transfer full) (nullable): the next waiting event that can
 * pass: caps still wait if no buffer has described A. */
GstEvent *gst_gemmcl_input_pop_event (GstGemmclDescribed *self);

/** gst_gemmcl_input_describe: @input: all zero; gets the description of @buffer. Ends the batch,
 * and requests renegotiation and a new plan, if the type or shape of A changed. Returns: the result
 * of gst_gemmcl_batch_end(); GST_FLOW_ERROR after an error was posted;
 * GST_BASE_TRANSFORM_FLOW_DROPPED if @buffer is empty and events wait. */
GstFlowReturn gst_gemmcl_input_describe (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input);

/** gst_gemmcl_input_stop: Forgets the description of A, and drops the waiting events. */
void gst_gemmcl_input_stop (GstGemmcl *self);
