/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-batch.h"

#include "gemmcl-run.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

void
gst_gemmcl_batch_init (GstGemmcl *self)
{
  self->pending = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
  g_queue_init (&self->ready);
}

void
gst_gemmcl_batch_clear (GstGemmcl *self)
{
  g_ptr_array_set_size (self->pending, 0);
  g_queue_clear_full (&self->ready, (GDestroyNotify)gst_buffer_unref);
}

void
gst_gemmcl_batch_finalize (GstGemmcl *self)
{
  gst_gemmcl_batch_clear (self);
  g_clear_pointer (&self->pending, g_ptr_array_unref);
}

static GstFlowReturn
run_pending (GstGemmcl *self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  g_autoptr (GPtrArray) outputs = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint i = 0; flow == GST_FLOW_OK && i < self->pending->len; i++) {
    GstBuffer *output = NULL;

    flow = GST_BASE_TRANSFORM_GET_CLASS (trans)->prepare_output_buffer (
        trans, g_ptr_array_index (self->pending, i), &output);
    if (output)
      g_ptr_array_add (outputs, output);
  }
  if (flow == GST_FLOW_OK && outputs->len > 0)
    flow = gst_gemmcl_run (self, outputs->len, (GstBuffer **)self->pending->pdata,
                           (GstBuffer **)outputs->pdata);
  g_ptr_array_set_size (self->pending, 0);
  for (guint i = 0; flow == GST_FLOW_OK && i < outputs->len; i++)
    g_queue_push_tail (&self->ready, gst_buffer_ref (g_ptr_array_index (outputs, i)));
  return flow;
}

/* Caps of audio do not say how long a buffer is: the first ones do. */
static void
learn_duration (GstGemmcl *self, GstBuffer *input)
{
  GstClockTime duration = GST_BUFFER_DURATION (input);
  gboolean longer;

  if (!GST_CLOCK_TIME_IS_VALID (duration))
    return;
  g_mutex_lock (&self->lock);
  longer = !GST_CLOCK_TIME_IS_VALID (self->frame_duration) || duration > self->frame_duration;
  if (longer)
    self->frame_duration = duration;
  g_mutex_unlock (&self->lock);
  if (longer)
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
}

GstFlowReturn
gst_gemmcl_batch_generate (GstGemmcl *self, GstBuffer *input, GstBuffer **output)
{
  GPtrArray *pending = self->pending;
  GstFlowReturn flow = GST_FLOW_OK;

  if (input) {
    learn_duration (self, input);
    /* All problems of a run have the same M, and a gap without data has none. */
    if (pending->len > 0 &&
        gst_buffer_get_size (g_ptr_array_index (pending, 0)) != gst_buffer_get_size (input))
      flow = run_pending (self);
    g_ptr_array_add (pending, input);
    if (flow == GST_FLOW_OK && pending->len >= self->settings.batch_size)
      flow = run_pending (self);
  }
  *output = flow == GST_FLOW_OK ? g_queue_pop_head (&self->ready) : NULL;
  return flow;
}

GstFlowReturn
gst_gemmcl_batch_drain (GstGemmcl *self)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (self->pending->len > 0) {
    GST_DEBUG_OBJECT (self, "running %u of a batch of %u", self->pending->len,
                      self->settings.batch_size);
    flow = run_pending (self);
  }
  while (flow == GST_FLOW_OK && !g_queue_is_empty (&self->ready))
    flow = gst_pad_push (GST_BASE_TRANSFORM (self)->srcpad, g_queue_pop_head (&self->ready));
  return flow;
}

void
gst_gemmcl_batch_query_latency (GstGemmcl *self, GstQuery *query)
{
  GstClockTime min, max, wait = 0;
  gboolean live;

  gst_query_parse_latency (query, &live, &min, &max);
  g_mutex_lock (&self->lock);
  if (self->started && GST_CLOCK_TIME_IS_VALID (self->frame_duration))
    wait = (self->settings.batch_size - 1) * self->frame_duration;
  g_mutex_unlock (&self->lock);
  GST_DEBUG_OBJECT (self, "adding %" GST_TIME_FORMAT, GST_TIME_ARGS (wait));
  gst_query_set_latency (query, live, min + wait, GST_CLOCK_TIME_IS_VALID (max) ? max + wait : max);
}
