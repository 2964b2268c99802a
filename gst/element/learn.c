/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Learns the type, shape and place of A from buffers. Caps that do not announce the tensor in
 * metadata wait for the first buffer, and the events after them wait, too: the caps of the output
 * depend on the shape of that tensor. */
#include "element/lanes.h"
#include "element/run.h"
#include "element/turns.h"

#include <string.h>

/* Returns: the tensor that is A. */
static GstGemmclTensor *
get_known (GstGemmcl *self)
{
  return &self->stream.input.tensors.tensor[self->stream.input.index];
}

void
gst_gemmcl_learn_forget (GstGemmcl *self)
{
  gst_clear_buffer (&self->learned.input.data);
  self->learned.input = (GstGemmclInput){NULL};
}

static void
forget_tensor (GstGemmcl *self)
{
  self->learned.has_room = FALSE;
  g_mutex_lock (&self->lock);
  self->learned.tensor = (GstGemmclTensor){.rank = 0};
  g_mutex_unlock (&self->lock);
}

void
gst_gemmcl_learn_stop (GstGemmcl *self)
{
  g_queue_clear_full (&self->learned.waiting, (GDestroyNotify)gst_event_unref);
  forget_tensor (self);
}

/* Caps are the first of the waiting events. */
GstEvent *
gst_gemmcl_learn_pop (GstGemmcl *self)
{
  GstEvent *first = g_queue_peek_head (&self->learned.waiting);
  const gboolean keeps_caps =
      first && GST_EVENT_TYPE (first) == GST_EVENT_CAPS && self->learned.tensor.rank == 0;

  return g_queue_pop_nth (&self->learned.waiting, keeps_caps ? 1 : 0);
}

static void
set_learned (GstGemmcl *self, const GstGemmclTensor *tensor)
{
  g_mutex_lock (&self->lock);
  self->learned.tensor = *tensor;
  if (self->stream.input.is_meta || self->stream.input.tensors.flexible)
    *get_known (self) = *tensor;
  g_mutex_unlock (&self->lock);
}

/* Removes the waiting events of @type. */
static void
drop_waiting (GstGemmcl *self, GstEventType type)
{
  for (GList *link = self->learned.waiting.head, *next; link; link = next) {
    next = link->next;
    if (GST_EVENT_TYPE (link->data) != type)
      continue;
    gst_event_unref (link->data);
    g_queue_delete_link (&self->learned.waiting, link);
  }
}

/* The sink pad has the caps that wait, but neither the formats nor the plan fit them. If the base
 * class finds both pads' caps unchanged later, it calls no set_caps(); negotiate() (element.c) then
 * does. */
static void
hold_caps (GstGemmcl *self, GstEvent *event)
{
  g_queue_push_head (&self->learned.waiting, event);
  g_mutex_lock (&self->lock);
  self->stream.configured = FALSE;
  g_mutex_unlock (&self->lock);
}

/* TRUE if @caps, new caps of the sink pad, have to wait for a buffer. */
static gboolean
must_wait (GstGemmcl *self, const GstCaps *caps)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  const GstGemmclTensor unknown = {.rank = 0};
  GstGemmclFormat format;

  drop_waiting (self, GST_EVENT_CAPS);
  forget_tensor (self);
  return gst_gemmcl_carriers_have (caps, 0, settings) &&
         !gst_gemmcl_input_from_caps (&format, caps, settings, &unknown, NULL);
}

gboolean
gst_gemmcl_learn_hold (GstGemmcl *self, GstEvent *event)
{
  const gboolean waits = GST_EVENT_IS_SERIALIZED (event) && self->learned.waiting.length > 0;
  GstCaps *caps;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    if (!must_wait (self, caps))
      return FALSE;
    hold_caps (self, event);
    return TRUE;
  case GST_EVENT_STREAM_START:
  case GST_EVENT_EOS:
    return FALSE;
  case GST_EVENT_FLUSH_STOP:
    drop_waiting (self, GST_EVENT_SEGMENT);
    return FALSE;
  case GST_EVENT_GAP:
    if (waits)
      gst_event_unref (event);
    return waits;
  default:
    if (waits)
      g_queue_push_tail (&self->learned.waiting, event);
    return waits;
  }
}

/* Adapts the element to an input whose A, @tensor, differs from the A before. */
static gboolean
adapt (GstGemmcl *self, const GstGemmclTensor *tensor, GError **error)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  const GemmclGemm *gemm = &self->problem.gemm;
  GstGemmclFormat input = self->stream.input;
  const guint rank = get_known (self)->rank;
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
  self->learned.has_room = self->lane->plan && gst_gemmcl_problem_reads (&self->problem, &input) &&
                           shape.m <= gemm->m && gemm->addend != GEMMCL_ADDEND_MATRIX;
  self->needs_plan |= !self->learned.has_room;
  /* Caps of flexible tensors do not have the dimensions, and caps that announce a result only have
   * their number. */
  if (settings->output == GST_GEMMCL_OUTPUT_META ? tensor->rank != rank : !input.tensors.flexible)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return TRUE;
}

/* TRUE if @tensor, of a buffer, is the known one. In caps that announce it, dimensions of 1 behind
 * the last may be left out. */
static gboolean
is_known (GstGemmcl *self, const GstGemmclTensor *tensor)
{
  const GstGemmclTensor *known = get_known (self);

  return tensor->type == known->type &&
         memcmp (tensor->dims, known->dims, sizeof (known->dims)) == 0 &&
         (tensor->rank == known->rank || !self->stream.input.varies);
}

/* Finds @tensor, A in @buffer, and describes the input. */
static gboolean
find (GstGemmcl *self, GstBuffer *buffer, GstGemmclTensor *tensor, GError **error)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  const GstGemmclTensors *tensors = &self->stream.input.tensors;
  const guint index = settings->tensor_index;
  GstGemmclInput *input = &self->learned.input;

  if (self->learned.waiting.length > 0 || self->stream.input.is_meta) {
    if (!gst_gemmcl_meta_find (settings, buffer, tensor, &input->data, error))
      return FALSE;
  } else if (gst_gemmcl_tensors_locate (tensors, index, buffer, &input->places, tensor, error) &&
             gst_gemmcl_rows_fit (settings, input->places.n, error)) {
    input->offset = input->places.at[index] + (tensors->flexible ? GST_GEMMCL_HEADER_SIZE : 0);
  } else {
    return FALSE;
  }
  input->size = gst_gemmcl_tensor_get_size (tensor);
  input->a = *tensor;
  return TRUE;
}

/* Learns A, a tensor, from @buffer. @m: (out): its M, unless the plan's frame has it. */
static GstFlowReturn
learn_tensor (GstGemmcl *self, GstBuffer *buffer, gsize *m, GError **error)
{
  GstFlowReturn flow = GST_FLOW_OK;
  GstGemmclTensor tensor;
  gsize k;

  if (find (self, buffer, &tensor, error)) {
    /* In other modes M is that of the plan's frame. */
    if (self->stream.settings.feature_mode <= GST_GEMMCL_FEATURE_MODE_PIXEL)
      gst_gemmcl_tensor_get_shape (&tensor, m, &k);
    if (self->learned.waiting.length > 0) {
      set_learned (self, &tensor);
      return GST_FLOW_OK;
    }
    if (is_known (self, &tensor)) {
      self->learned.input.a = *get_known (self);
      return GST_FLOW_OK;
    }
  }
  flow = gst_gemmcl_batch_end (self);
  if (!*error && flow == GST_FLOW_OK)
    adapt (self, &tensor, error);
  return flow;
}

/* Learns the place of the frame in @buffer. A frame that begins elsewhere within a sample of chroma
 * needs another plan. */
static GstFlowReturn
learn_crop (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  GemmclFrame frame = self->stream.input.frame;
  GstFlowReturn flow;

  if (gst_gemmcl_frame_cut (&frame, buffer, error) && frame.left == self->stream.input.frame.left &&
      frame.top == self->stream.input.frame.top)
    return GST_FLOW_OK;
  flow = gst_gemmcl_batch_end (self);
  if (*error || flow != GST_FLOW_OK)
    return flow;
  g_mutex_lock (&self->lock);
  self->stream.input.frame = frame;
  g_mutex_unlock (&self->lock);
  return GST_FLOW_OK;
}

/* @offset: (out): the first byte of the samples. @samples: (out): their number. */
static gboolean
get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset, gsize *samples,
             GError **error)
{
  const GstAudioMeta *meta = gst_buffer_get_audio_meta (buffer);
  gsize size = gst_buffer_get_size (buffer), frame = GST_AUDIO_INFO_BPF (info);

  *offset = meta && meta->offsets ? meta->offsets[0] : 0;
  *samples = meta ? meta->samples : size / frame;
  if (meta && (GST_AUDIO_INFO_LAYOUT (&meta->info) != GST_AUDIO_LAYOUT_INTERLEAVED ||
               GST_AUDIO_INFO_BPF (&meta->info) != (gint)frame))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The audio meta of a buffer does not fit the caps; expected "
                            "interleaved audio of the same format and channels.");
  if (*offset > size || *samples > (size - *offset) / frame)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "An audio buffer has %zu bytes; expected %zu samples of %zu bytes from "
                            "byte %zu on, as its audio meta states.",
                            size, *samples, frame, *offset);
  return meta || size % frame == 0 ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "An audio buffer has %zu bytes; expected a multiple of %zu bytes, the "
                          "size of a sample of all channels.",
                          size, frame);
}

GstFlowReturn
gst_gemmcl_learn (GstGemmcl *self, GstBuffer *buffer, gsize *m)
{
  const GstGemmclFormat *format = &self->stream.input;
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;

  *m = 0;
  self->learned.has_room = FALSE;
  gst_gemmcl_learn_forget (self);
  if (gst_gemmcl_is_empty (self, buffer))
    return self->learned.waiting.length > 0 ? GST_BASE_TRANSFORM_FLOW_DROPPED : GST_FLOW_OK;
  if (!gst_gemmcl_meta_check_ids (&self->stream.settings, buffer, &error))
    flow = GST_FLOW_ERROR;
  else if (self->learned.waiting.length > 0 ||
           (self->stream.configured && format->medium == GST_GEMMCL_MEDIUM_TENSORS))
    flow = learn_tensor (self, buffer, m, &error);
  else if (self->stream.configured && format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    flow = learn_crop (self, buffer, &error);
  else if (self->stream.configured && format->medium == GST_GEMMCL_MEDIUM_AUDIO &&
           get_samples (&format->audio, buffer, &self->learned.input.offset, m, &error))
    self->learned.input.size = *m * GST_AUDIO_INFO_BPF (&format->audio);
  if (!error)
    return flow;
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return GST_FLOW_ERROR;
}
