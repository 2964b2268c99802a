/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#include "memory/foreign.h"

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
  if (*offset > size || *samples > (size - *offset) / frame || (!meta && size % frame != 0))
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_FORMAT,
        "An audio buffer has %zu bytes; expected %s %zu bytes, the size of a sample of all "
        "channels.",
        size, meta ? "as its audio meta states, a multiple of" : "a multiple of", frame);
  return TRUE;
}

gsize
gst_gemmcl_get_m (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  gsize offset, m, k;

  if (input->is_meta)
    gst_gemmcl_tensor_get_shape (&input->tensors.tensor[0], &m, &k);
  else if (input->medium != GST_GEMMCL_MEDIUM_AUDIO)
    m = self->slot.problem.gemm.m;
  else if (!get_samples (&input->audio, buffer, &offset, &m, error))
    m = 0;
  return m;
}

GstMemory *
gst_gemmcl_get_tensor_memory (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                              GError **error)
{
  gsize expected = gst_gemmcl_tensor_get_size (&tensors->tensor[index]);
  GstMemory *memory;
  gsize found;

  if (tensors->n > 1 && gst_buffer_n_memory (buffer) != tensors->n) {
    gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                     "A buffer has %u memories; expected one for each of the %u tensors of the "
                     "caps.",
                     gst_buffer_n_memory (buffer), tensors->n);
    return NULL;
  }
  memory =
      tensors->n > 1 ? gst_buffer_get_memory (buffer, index) : gst_buffer_get_all_memory (buffer);
  found = memory ? gst_memory_get_sizes (memory, NULL, NULL) : 0;
  if (found == expected)
    return memory;
  g_clear_pointer (&memory, gst_memory_unref);
  gst_gemmcl_fail (
      error, GEMMCL_ERROR_FORMAT,
      "Tensor %u of a buffer has %zu bytes; expected %zu, by the dimensions and types of the "
      "caps.",
      index, found, expected);
  return NULL;
}

/* Returns: (transfer full) (nullable): the memory of A, a tensor. */
static GstMemory *
get_tensor (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  GstGemmclTensor tensor;
  GstMemory *memory = NULL;

  if (!input->is_meta)
    return gst_gemmcl_get_tensor_memory (&input->tensors, self->stream.settings.tensor_index,
                                         buffer, error);
  gst_gemmcl_meta_find (&self->stream.settings, buffer, &tensor, &memory, error);
  return memory;
}

/* Maps A in OpenCL memory or on the host. Memory of the same context may come with any caps, since
 * other elements pass it on. */
static gboolean
map_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
           GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  gsize offset = 0, samples;
  GstMemory *memory;

  switch (input->medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return gst_gemmcl_mapping_open_frame (mapping, self->device.context,
                                          &self->slot.problem.a_image, &input->video, buffer,
                                          GST_MAP_READ, data, error);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!get_samples (&input->audio, buffer, &offset, &samples, error))
      return FALSE;
    memory = gst_buffer_get_all_memory (buffer);
    break;
  default:
    memory = get_tensor (self, buffer, error);
    if (!memory)
      return FALSE;
  }
  return gst_gemmcl_mapping_open_memory (
      mapping, self->device.context, memory, offset, GST_MAP_READ,
      gemmcl_type_get_size (self->slot.problem.gemm.a_type), data, error);
}

/* Fails if @buffer is not a VA surface, which its caps promise. */
static gboolean
expect_surface (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  g_autoptr (GstCaps) caps = NULL;
  g_autofree gchar *text = NULL;
  const guint n = gst_buffer_n_memory (buffer);
  const GstAllocator *allocator = n > 0 ? gst_buffer_peek_memory (buffer, 0)->allocator : NULL;

  if (gst_gemmcl_va_has_surface (buffer))
    return TRUE;
  caps = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  text = caps ? gst_caps_to_string (caps) : g_strdup ("no caps");
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_FORMAT,
      "A buffer of %s is not a whole VA surface, as buffers of GStreamer's va elements are: it "
      "has %u memories, the first of %s. Tiled frames can only be read as surfaces: put "
      "vapostproc before gemmcl, or let upstream give linear dma-bufs or video/x-raw.",
      text, n, allocator ? G_OBJECT_TYPE_NAME (allocator) : "no allocator");
}

static gboolean
open_surface (GstGemmcl *self, GstBuffer *buffer, GemmclData *data, GemmclRun *run, GError **error)
{
  return expect_surface (self, buffer, error) &&
         gst_gemmcl_va_open (&self->device, buffer, data, run, error);
}

/* TRUE if @buffer has to be read as a VA surface. Only the media driver knows the layout of one. A
 * dma-buf that cannot be mapped is read as a surface or not at all. */
static gboolean
is_surface (GstGemmcl *self, GstBuffer *buffer)
{
  const GemmclImage *image = &self->slot.problem.a_image;

  if (gst_gemmcl_dmabuf_is_shared (buffer))
    return TRUE;
  return gst_gemmcl_va_has_surface (buffer) &&
         gemmcl_pixel_format_get_n_planes (image->format) == 2 &&
         (image->width | image->height) % 2 == 0 &&
         gst_gemmcl_va_check (&self->device, self->device.context, NULL);
}

static gboolean
open_dmabuf (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
             GemmclRun *run, GError **error)
{
  if (is_surface (self, buffer))
    return open_surface (self, buffer, data, run, error);
  return gst_gemmcl_dmabuf_open (&self->device, &self->slot.problem.a_image,
                                 &self->stream.input.video, buffer, data, run) ||
         map_input (self, buffer, mapping, data, error);
}

gboolean
gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                       GemmclData *data, GemmclRun *run, GError **error)
{
  switch (self->stream.input.memory) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return open_surface (self, buffer, data, run, error);
  case GST_GEMMCL_MEMORY_DMABUF:
    return open_dmabuf (self, buffer, mapping, data, run, error);
  default:
    return map_input (self, buffer, mapping, data, error);
  }
}

/* Gives the element a context with the display of the surface in @buffer. */
static gboolean
adapt_context (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  return !gst_gemmcl_va_needs_context (&self->device, buffer) ||
         gst_gemmcl_renew_context (self, error);
}

gboolean
gst_gemmcl_prepare_input (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  switch (self->stream.input.memory) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return expect_surface (self, buffer, error) && adapt_context (self, buffer, error);
  case GST_GEMMCL_MEMORY_DMABUF:
    return !self->stream.configured || !gst_gemmcl_va_has_surface (buffer) ||
           !is_surface (self, buffer) || adapt_context (self, buffer, error);
  default:
    return TRUE;
  }
}

guint
gst_gemmcl_get_output_index (GstGemmcl *self)
{
  return self->stream.input.medium == GST_GEMMCL_MEDIUM_TENSORS &&
                 self->stream.settings.output != GST_GEMMCL_OUTPUT_META
             ? gst_gemmcl_get_tensor_index (&self->stream.input, &self->stream.settings)
             : 0;
}

gsize
gst_gemmcl_get_output_size (GstGemmcl *self, gsize m)
{
  const GemmclGemm *gemm = &self->slot.problem.gemm;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize size;

  if (gemm->d_image)
    return gemmcl_image_get_planes (gemm->d_image, planes);
  return g_size_checked_mul (&size, m, gemm->n) &&
                 g_size_checked_mul (&size, size, gemmcl_type_get_size (gemm->d_type))
             ? size
             : 0;
}

gboolean
gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                       GstMapFlags access, GemmclData *data, GError **error)
{
  const GstGemmclProblem *problem = &self->slot.problem;

  if (self->stream.output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return gst_gemmcl_mapping_open_frame (mapping, self->device.context, &problem->d_image,
                                          &self->stream.output.video, buffer, access, data, error);
  return gst_gemmcl_mapping_open_memory (
      mapping, self->device.context,
      gst_buffer_get_memory (buffer, gst_gemmcl_get_output_index (self)), 0, access,
      gemmcl_type_get_size (problem->gemm.d_type), data, error);
}

gboolean
gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer)
{
  gboolean is_audio = self->stream.input.medium == GST_GEMMCL_MEDIUM_AUDIO;
  const GstAudioMeta *meta = is_audio ? gst_buffer_get_audio_meta (buffer) : NULL;

  if (meta)
    return meta->samples == 0;
  return gst_buffer_get_size (buffer) == 0 &&
         (is_audio || GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP));
}
