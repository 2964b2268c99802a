/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Learns from buffers what A is: M of audio; the tensor in metadata or behind a header. Caps that
 * do not announce the tensor in metadata wait for the first buffer, with the events behind them:
 * the caps of the output need its shape.
 */
#include "element/gstgemmcl.h"

#include <string.h>

#include "element/carriers.h"
#include "element/flexible.h"

/* Returns: the tensor that is A. */
static GstGemmclTensor *
get_known (GstGemmcl *self)
{
  return &self->stream.input.tensors.tensor[self->stream.input.index];
}

static void
set_learned (GstGemmcl *self, const GstGemmclTensor *tensor)
{
  g_mutex_lock (&self->lock);
  self->stream.learned = *tensor;
  if (self->stream.input.is_meta || self->stream.input.tensors.flexible)
    *get_known (self) = *tensor;
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
  const GstGemmclTensor unknown = {.rank = 0};
  GstGemmclFormat format;

  drop_waiting (self, GST_EVENT_CAPS);
  self->stream.has_room = FALSE;
  g_mutex_lock (&self->lock);
  self->stream.learned = unknown;
  g_mutex_unlock (&self->lock);
  return gst_gemmcl_carriers_have (caps, 0, settings) &&
         !gst_gemmcl_input_from_caps (&format, caps, settings, &unknown, NULL);
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

/* Adapts the element to an input whose A is another @tensor than before. */
static gboolean
adapt (GstGemmcl *self, const GstGemmclTensor *tensor, GError **error)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  const GemmclGemm *gemm = &self->slot.problem.gemm;
  GstGemmclFormat input = self->stream.input;
  GstGemmclShape shape;

  if (!input.varies) {
    g_autofree gchar *found = gst_gemmcl_tensor_print (tensor),
                     *expected = gst_gemmcl_tensor_print (&input.tensors.tensor[0]);

    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The tensor of a buffer is %s; expected %s, as caps announce.", found,
                            expected);
  }
  input.tensors.tensor[input.index] = *tensor;
  if (!gst_gemmcl_shape_of_format (&input, settings, gst_gemmcl_get_terms (self).k, &shape, error))
    return FALSE;
  set_learned (self, tensor);
  self->stream.has_room = self->lane->plan && !gemm->a_image && tensor->type == gemm->a_type &&
                          shape.m <= gemm->m && gemm->addend != GEMMCL_ADDEND_MATRIX;
  self->slot.is_due |= !self->stream.has_room;
  /* Caps of flexible tensors do not have M. */
  if (settings->output != GST_GEMMCL_OUTPUT_META && !input.tensors.flexible)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return TRUE;
}

static gboolean
is_same (const GstGemmclTensor *a, const GstGemmclTensor *b)
{
  return a->type == b->type && memcmp (a->dims, b->dims, sizeof (a->dims)) == 0;
}

/* Finds the tensor that is A in @input, which describes it. */
static gboolean
find (GstGemmcl *self, GstBuffer *input, GstGemmclTensor *tensor, GError **error)
{
  GstGemmclPlace place;

  if (self->waiting.length > 0 || self->stream.input.is_meta)
    return gst_gemmcl_meta_find (&self->stream.settings, input, tensor, NULL, error);
  if (gst_gemmcl_tensors_locate (&self->stream.input.tensors, self->stream.settings.tensor_index,
                                 input, &place, error) == 0)
    return FALSE;
  *tensor = place.tensor;
  return TRUE;
}

/* Takes the tensor that is A in @input, and gets its M. */
static GstFlowReturn
learn_tensor (GstGemmcl *self, GstBuffer *input, gsize *m, GError **error)
{
  GstFlowReturn flow = GST_FLOW_OK;
  GstGemmclTensor tensor;
  gsize k;

  if (find (self, input, &tensor, error)) {
    /* Other modes have the M of the plan's image. */
    if (self->stream.settings.feature_mode <= GST_GEMMCL_FEATURE_MODE_PIXEL)
      gst_gemmcl_tensor_get_shape (&tensor, m, &k);
    if (self->waiting.length > 0)
      set_learned (self, &tensor);
    if (self->waiting.length > 0 || is_same (&tensor, get_known (self)))
      return GST_FLOW_OK;
  }
  flow = gst_gemmcl_batch_end (self);
  if (!*error && flow == GST_FLOW_OK)
    adapt (self, &tensor, error);
  return flow;
}

GstFlowReturn
gst_gemmcl_learn (GstGemmcl *self, GstBuffer *input, gsize *m)
{
  const GstGemmclFormat *format = &self->stream.input;
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;
  gsize offset;

  *m = 0;
  self->stream.has_room = FALSE;
  if (gst_gemmcl_is_empty (self, input))
    return self->waiting.length > 0 ? GST_BASE_TRANSFORM_FLOW_DROPPED : GST_FLOW_OK;
  if (self->waiting.length > 0 ||
      (self->stream.configured && (format->is_meta || format->tensors.flexible)))
    flow = learn_tensor (self, input, m, &error);
  else if (self->stream.configured && format->medium == GST_GEMMCL_MEDIUM_AUDIO)
    gst_gemmcl_get_samples (&format->audio, input, &offset, m, &error);
  if (!error)
    return flow;
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return GST_FLOW_ERROR;
}

gboolean
gst_gemmcl_fit_plan (GstGemmcl *self, GError **error)
{
  const gboolean flexible = self->stream.input.tensors.flexible;
  const GemmclGemm *gemm = &self->slot.problem.gemm;
  const gsize m = self->scalars.m;
  gsize room = self->lane->plan ? gemm->m : 0;

  if (flexible && m == 0)
    return TRUE;
  /* A weight may change K together with the input. */
  if (flexible && !gst_gemmcl_tensor_check_k ("The tensor of a buffer", get_known (self),
                                              gst_gemmcl_get_terms (self).k, error))
    return FALSE;
  if (m > G_MAXINT32)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                            "A buffer has M = %zu; expected at most %d.", m, G_MAXINT32);
  if (m <= room && !self->slot.is_due)
    return TRUE;
  while (room > 0 && room < m)
    room = MIN (2 * room, (gsize)G_MAXINT32);
  if (!gst_gemmcl_make_plan (self, MAX (m, room), error))
    return FALSE;
  /* The next buffer makes a pool of larger results, or of results of another N. */
  if (gst_gemmcl_get_output_size (self, gemm->m) > self->stream.pool_size)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return TRUE;
}
