/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * With input=meta, learns from buffers what A is. Caps that do not announce the tensor wait for the
 * first buffer, with the events behind them: the caps of the output need its shape.
 */
#include "element/gstgemmcl.h"

#include "element/carriers.h"

static void
set_learned (GstGemmcl *self, const GstGemmclTensor *tensor)
{
  g_mutex_lock (&self->lock);
  self->stream.learned = *tensor;
  if (self->stream.input.is_meta)
    self->stream.input.tensors.tensor[0] = *tensor;
  g_mutex_unlock (&self->lock);
}

/* Removes the waiting events of @type. */
static void
drop_waiting (GstGemmcl *self, GstEventType type)
{
  for (GList *link = self->waiting.head, *next; link; link = next) {
    next = link->next;
    if (GST_EVENT_TYPE (link->data) != type)
      continue;
    gst_event_unref (link->data);
    g_queue_delete_link (&self->waiting, link);
  }
}

/* TRUE if @caps, new ones of the sink pad, have to wait. */
static gboolean
must_wait (GstGemmcl *self, const GstCaps *caps)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  GstGemmclFormat format;

  drop_waiting (self, GST_EVENT_CAPS);
  self->stream.has_room = FALSE;
  self->stream.carries = gst_gemmcl_carriers_have (caps, 0, settings);
  g_mutex_lock (&self->lock);
  self->stream.learned.rank = 0;
  g_mutex_unlock (&self->lock);
  return self->stream.carries && !gst_gemmcl_input_from_caps (&format, caps, settings, NULL, NULL);
}

gboolean
gst_gemmcl_learn_hold (GstGemmcl *self, GstEvent *event)
{
  const gboolean waits = GST_EVENT_IS_SERIALIZED (event) && self->waiting.length > 0;
  GstCaps *caps;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    if (!must_wait (self, caps))
      return FALSE;
    g_queue_push_head (&self->waiting, event);
    return TRUE;
  case GST_EVENT_STREAM_START:
    return FALSE;
  case GST_EVENT_FLUSH_STOP:
    drop_waiting (self, GST_EVENT_SEGMENT);
    return FALSE;
  case GST_EVENT_EOS:
    drop_waiting (self, GST_EVENT_CAPS);
    return FALSE;
  case GST_EVENT_GAP:
    if (waits)
      gst_event_unref (event);
    return waits;
  default:
    if (waits)
      g_queue_push_tail (&self->waiting, event);
    return waits;
  }
}

/* TRUE if the plan can multiply A after a change of M to @m. */
static gboolean
has_room (GstGemmcl *self, const GstGemmclTensor *tensor, gsize m)
{
  const GemmclGemm *gemm = &self->slot.problem.gemm;

  return self->lane->plan && !gemm->a_image && tensor->type == gemm->a_type && m <= gemm->m &&
         gemm->addend != GEMMCL_ADDEND_MATRIX;
}

/* Adapts the element to an input whose A is another @tensor than before. */
static gboolean
adapt (GstGemmcl *self, const GstGemmclTensor *tensor, GError **error)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  GstGemmclFormat input = self->stream.input;
  GstGemmclShape shape;
  gsize k, n;

  if (!input.varies) {
    g_autofree gchar *found = gst_gemmcl_tensor_print (tensor),
                     *expected = gst_gemmcl_tensor_print (&input.tensors.tensor[0]);

    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The tensor of a buffer is %s; expected %s, as caps announce.", found,
                            expected);
  }
  input.tensors.tensor[0] = *tensor;
  g_mutex_lock (&self->lock);
  gst_gemmcl_weight_get_shape (settings, self->operands.current.weight, &k, &n);
  g_mutex_unlock (&self->lock);
  if (!gst_gemmcl_shape_of_format (&input, settings, k, &shape, error))
    return FALSE;
  set_learned (self, tensor);
  self->stream.has_room = has_room (self, tensor, shape.m);
  self->slot.is_due |= !self->stream.has_room;
  if (settings->output != GST_GEMMCL_OUTPUT_META)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return TRUE;
}

static guint32
get_width (const GstGemmclTensor *tensor)
{
  return tensor->rank > 1 ? tensor->dims[1] : 1;
}

/* TRUE if both make the same A, in each feature mode. */
static gboolean
is_same (const GstGemmclTensor *a, const GstGemmclTensor *b)
{
  gsize m[2], k[2];

  gst_gemmcl_tensor_get_shape (a, &m[0], &k[0]);
  gst_gemmcl_tensor_get_shape (b, &m[1], &k[1]);
  return a->type == b->type && m[0] == m[1] && k[0] == k[1] && get_width (a) == get_width (b);
}

GstFlowReturn
gst_gemmcl_learn (GstGemmcl *self, GstBuffer *input)
{
  g_autoptr (GError) error = NULL;
  GstGemmclTensor tensor;
  GstFlowReturn flow;

  self->stream.has_room = FALSE;
  if (!self->stream.carries)
    return GST_FLOW_OK;
  if (gst_gemmcl_is_empty (self, input))
    return self->waiting.length > 0 ? GST_BASE_TRANSFORM_FLOW_DROPPED : GST_FLOW_OK;
  if (gst_gemmcl_meta_find (&self->stream.settings, input, &tensor, NULL, &error)) {
    if (self->waiting.length > 0) {
      set_learned (self, &tensor);
      return GST_FLOW_OK;
    }
    if (!self->stream.configured || is_same (&tensor, &self->stream.input.tensors.tensor[0]))
      return GST_FLOW_OK;
  }
  flow = gst_gemmcl_batch_end (self);
  if (!error && flow == GST_FLOW_OK)
    adapt (self, &tensor, &error);
  if (!error)
    return flow;
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return GST_FLOW_ERROR;
}
