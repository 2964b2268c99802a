/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/input.h"

#include <string.h>

#include "element/element.h"
#include "element/meta.h"

static void
forget_tensor (GstGemmcl *self)
{
  self->described.fits_plan = FALSE;
  g_mutex_lock (&self->lock);
  self->described.tensor = (GstGemmclTensor){.rank = 0};
  g_mutex_unlock (&self->lock);
}

void
gst_gemmcl_input_stop (GstGemmcl *self)
{
  g_queue_clear_full (&self->described.waiting, (GDestroyNotify)gst_event_unref);
  forget_tensor (self);
}

/* Caps are the first of the waiting events. */
GstEvent *
gst_gemmcl_input_pop_event (GstGemmclDescribed *self)
{
  GstEvent *first = g_queue_peek_head (&self->waiting);
  const gboolean keeps_caps =
      first && GST_EVENT_TYPE (first) == GST_EVENT_CAPS && self->tensor.rank == 0;

  return g_queue_pop_nth (&self->waiting, keeps_caps ? 1 : 0);
}

static void
set_tensor (GstGemmcl *self, const GstGemmclTensor *tensor)
{
  GstGemmclFormat *input = &self->stream.input;

  g_mutex_lock (&self->lock);
  self->described.tensor = *tensor;
  if (input->is_meta || input->tensors.flexible)
    input->tensors.tensor[input->index] = *tensor;
  g_mutex_unlock (&self->lock);
}

/* Removes the events of @type. */
static void
drop_events (GQueue *waiting, GstEventType type)
{
  for (GList *link = waiting->head, *next; link; link = next) {
    next = link->next;
    if (GST_EVENT_TYPE (link->data) != type)
      continue;
    gst_event_unref (link->data);
    g_queue_delete_link (waiting, link);
  }
}

gboolean
gst_gemmcl_input_take_event (GstGemmcl *self, GstEvent *event)
{
  const gboolean waits = GST_EVENT_IS_SERIALIZED (event) && self->described.waiting.length > 0;
  const GstGemmclSettings *settings = &self->stream.settings;
  const GstGemmclTensor unknown = {.rank = 0};
  GstGemmclFormat format;
  GstCaps *caps;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    drop_events (&self->described.waiting, GST_EVENT_CAPS);
    forget_tensor (self);
    if (!gst_gemmcl_carriers_have (caps, 0, settings) ||
        gst_gemmcl_input_from_caps (&format, caps, settings, &unknown, NULL))
      return FALSE;
    /* The sink pad already has these caps. If the base class later finds the caps of both pads
     * unchanged, it does not call set_caps(), so negotiate() (element.c) does. */
    g_queue_push_head (&self->described.waiting, event);
    g_mutex_lock (&self->lock);
    self->stream.configured = FALSE;
    g_mutex_unlock (&self->lock);
    return TRUE;
  case GST_EVENT_STREAM_START:
  case GST_EVENT_EOS:
    return FALSE;
  case GST_EVENT_FLUSH_STOP:
    drop_events (&self->described.waiting, GST_EVENT_SEGMENT);
    return FALSE;
  case GST_EVENT_GAP:
    if (waits)
      gst_event_unref (event);
    return waits;
  default:
    if (waits)
      g_queue_push_tail (&self->described.waiting, event);
    return waits;
  }
}

/* Adapts the element to @tensor, an A of another type or shape than before. */
static gboolean
adapt (GstGemmcl *self, const GstGemmclTensor *tensor, GError **error)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  const GemmclGemm *gemm = &self->problem.gemm;
  GstGemmclFormat input = self->stream.input;
  GstGemmclTensor *known = &input.tensors.tensor[input.index];
  const guint rank = known->rank;
  GstGemmclShape shape;

  if (!input.varies) {
    g_autofree gchar *found = gst_gemmcl_tensor_print (tensor),
                     *expected = gst_gemmcl_tensor_print (&input.tensors.tensor[0]);

    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The tensor of a buffer is %s; expected %s, as caps announce.", found,
                            expected);
  }
  *known = *tensor;
  if (!gst_gemmcl_shape_of_format (&input, settings, gst_gemmcl_get_terms (self).k, &shape, error))
    return FALSE;
  set_tensor (self, tensor);
  self->described.fits_plan = gst_gemmcl_devices_get_plan (self) &&
                              gst_gemmcl_problem_reads (&self->problem, &input) &&
                              shape.m <= gemm->m && gemm->addend != GEMMCL_ADDEND_MATRIX;
  self->needs_plan |= !self->described.fits_plan;
  /* New caps are needed only if they would differ: caps of flexible tensors state no dimensions,
   * and caps that announce a result state only the number of dimensions. */
  if (gst_gemmcl_output_is_meta (settings) ? tensor->rank != rank : !input.tensors.flexible)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return TRUE;
}

/* TRUE if @tensor, of a buffer, is A of @format. Announcing caps may omit last dimensions of 1. */
static gboolean
is_known (const GstGemmclFormat *format, const GstGemmclTensor *tensor)
{
  const GstGemmclTensor *known = &format->tensors.tensor[format->index];

  return tensor->type == known->type &&
         memcmp (tensor->dims, known->dims, sizeof (known->dims)) == 0 &&
         (tensor->rank == known->rank || !format->varies);
}

/* Finds A in @buffer. @is_meta: in its metadata. */
static gboolean
find (const GstGemmclStream *stream, gboolean is_meta, GstBuffer *buffer, GstGemmclInput *input,
      GError **error)
{
  const GstGemmclSettings *settings = &stream->settings;
  const GstGemmclTensors *tensors = &stream->input.tensors;
  const guint index = settings->tensor_index;

  if (is_meta) {
    if (!gst_gemmcl_meta_find (settings, buffer, &input->a, &input->data, error))
      return FALSE;
  } else if (gst_gemmcl_tensors_locate (tensors, index, buffer, &input->places, &input->a, error) &&
             gst_gemmcl_rows_fit (settings, input->places.n, error)) {
    input->offset = input->places.at[index] + (tensors->flexible ? GST_GEMMCL_HEADER_SIZE : 0);
  } else {
    return FALSE;
  }
  input->size = gst_gemmcl_tensor_get_size (&input->a);
  return TRUE;
}

/* Describes A, a tensor. Its M is read in feature mode pixel; otherwise it is that of the frame. */
static GstFlowReturn
describe_tensor (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input, GError **error)
{
  const GstGemmclFormat *format = &self->stream.input;
  const gboolean is_first = self->described.waiting.length > 0;
  GstFlowReturn flow;
  gsize k;

  if (find (&self->stream, is_first || format->is_meta, buffer, input, error)) {
    if (self->stream.settings.feature_mode <= GST_GEMMCL_FEATURE_MODE_PIXEL)
      gst_gemmcl_tensor_get_shape (&input->a, &input->m, &k);
    if (is_first) {
      set_tensor (self, &input->a);
      return GST_FLOW_OK;
    }
    if (is_known (format, &input->a)) {
      input->a = format->tensors.tensor[format->index];
      return GST_FLOW_OK;
    }
  }
  flow = gst_gemmcl_batch_end (self);
  if (!*error && flow == GST_FLOW_OK)
    adapt (self, &input->a, error);
  return flow;
}

/* Describes the place of the frame in @buffer. A frame that begins elsewhere within a sample of
 * chroma needs another plan. */
static GstFlowReturn
describe_frame (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input, GError **error)
{
  const GstGemmclFormat *format = &self->stream.input;
  GemmclFrame frame = format->frame;
  GstFlowReturn flow;

  input->progressive =
      GST_VIDEO_INFO_INTERLACE_MODE (&format->video) == GST_VIDEO_INTERLACE_MODE_MIXED &&
      !GST_BUFFER_FLAG_IS_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  if (gst_gemmcl_frame_cut (&frame, buffer, error) && frame.left == format->frame.left &&
      frame.top == format->frame.top)
    return GST_FLOW_OK;
  flow = gst_gemmcl_batch_end (self);
  if (*error || flow != GST_FLOW_OK)
    return flow;
  g_mutex_lock (&self->lock);
  self->stream.input.frame = frame;
  g_mutex_unlock (&self->lock);
  return GST_FLOW_OK;
}

/* Describes the place of the samples in @buffer. */
static gboolean
describe_samples (const GstAudioInfo *info, GstBuffer *buffer, GstGemmclInput *input,
                  GError **error)
{
  const GstAudioMeta *meta = gst_buffer_get_audio_meta (buffer);
  const gsize size = gst_buffer_get_size (buffer), frame = GST_AUDIO_INFO_BPF (info);

  input->offset = meta && meta->offsets ? meta->offsets[0] : 0;
  input->m = meta ? meta->samples : size / frame;
  input->size = input->m * frame;
  if (meta && (GST_AUDIO_INFO_LAYOUT (&meta->info) != GST_AUDIO_LAYOUT_INTERLEAVED ||
               GST_AUDIO_INFO_BPF (&meta->info) != (gint)frame))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The audio meta of a buffer does not fit the caps; expected "
                            "interleaved audio of the same format and channels.");
  if (input->offset > size || input->m > (size - input->offset) / frame)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "An audio buffer has %zu bytes; expected %zu samples of %zu bytes from "
                            "byte %zu on, as its audio meta states.",
                            size, input->m, frame, input->offset);
  return meta || size % frame == 0 ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "An audio buffer has %zu bytes; expected a multiple of %zu bytes, the "
                          "size of a sample of all channels.",
                          size, frame);
}

GstFlowReturn
gst_gemmcl_input_describe (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input)
{
  const GstGemmclFormat *format = &self->stream.input;
  const gboolean is_first = self->described.waiting.length > 0;
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;

  self->described.fits_plan = FALSE;
  if (gst_gemmcl_format_is_empty (format, buffer))
    return is_first ? GST_BASE_TRANSFORM_FLOW_DROPPED : GST_FLOW_OK;
  if (!gst_gemmcl_meta_check_ids (&self->stream.settings, buffer, &error))
    flow = GST_FLOW_ERROR;
  else if (is_first || (self->stream.configured && format->medium == GST_GEMMCL_MEDIUM_TENSORS))
    flow = describe_tensor (self, buffer, input, &error);
  else if (self->stream.configured && format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    flow = describe_frame (self, buffer, input, &error);
  else if (self->stream.configured)
    describe_samples (&format->audio, buffer, input, &error);
  if (!error)
    return flow;
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return GST_FLOW_ERROR;
}
