/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#include "element/flexible.h"
#include "memory/foreign.h"

gboolean
gst_gemmcl_get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset, gsize *samples,
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
gst_gemmcl_get_m (GstGemmcl *self)
{
  return self->scalars.m > 0 ? self->scalars.m : self->slot.problem.gemm.m;
}

/* Maps A, of @m rows, in OpenCL memory or on the host. Memory of the same context may come with any
 * caps, since other elements pass it on. */
static gboolean
map_input (GstGemmcl *self, GstBuffer *buffer, gsize m, GstGemmclMapping *mapping, GemmclData *data,
           GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  const gsize size = gemmcl_type_get_size (self->slot.problem.gemm.a_type);
  gsize offset = 0, samples;
  GstGemmclTensor tensor;
  GstMemory *memory = NULL;

  switch (input->medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return gst_gemmcl_mapping_open_frame (mapping, self->lane->context, &self->slot.problem.a_image,
                                          &input->video, buffer, GST_MAP_READ, data, error);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!gst_gemmcl_get_samples (&input->audio, buffer, &offset, &samples, error))
      return FALSE;
    /* Another element may still write the meta. */
    if (samples != m)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "An audio buffer has %zu samples, but had %zu when it came; expected "
                              "a buffer that no element writes any more.",
                              samples, m);
    memory = gst_buffer_get_all_memory (buffer);
    break;
  default:
    offset = input->tensors.flexible ? GST_GEMMCL_HEADER_SIZE : 0;
    if (input->is_meta)
      gst_gemmcl_meta_find (&self->stream.settings, buffer, &tensor, &memory, error);
    else
      memory = gst_gemmcl_tensors_get_memory (&input->tensors, self->stream.settings.tensor_index,
                                              buffer, error);
    if (!memory)
      return FALSE;
    /* A header is read several times, and another element may still write the buffer. */
    if (offset > 0 && gst_memory_get_sizes (memory, NULL, NULL) !=
                          offset + m * self->slot.problem.gemm.k * size) {
      gst_memory_unref (memory);
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "The header of a flexible tensor changed while it was read; expected "
                              "a buffer that no element writes any more.");
    }
  }
  if (!gst_gemmcl_mapping_open_memory (mapping, self->lane->context, memory, offset, GST_MAP_READ,
                                       size, data, error))
    return FALSE;
  if (mapping->memory != memory)
    gst_gemmcl_copies_add (self, GST_GEMMCL_COPY_ALIGNED);
  if (input->medium == GST_GEMMCL_MEDIUM_AUDIO && gst_buffer_n_memory (buffer) > 1)
    gst_gemmcl_copies_add (self, GST_GEMMCL_COPY_MERGED);
  return TRUE;
}

/* Returns: how inputs are read. Several devices get copies of dma-bufs. */
static GstGemmclMemory
get_memory (GstGemmcl *self)
{
  const GstGemmclMemory memory = self->stream.input.memory;

  return memory == GST_GEMMCL_MEMORY_DMABUF && self->n_lanes > 1 ? GST_GEMMCL_MEMORY_SYSTEM
                                                                 : memory;
}

/* TRUE if @buffer has to be read as a VA surface. Only the media driver knows the layout of one. A
 * dma-buf that cannot be mapped is read as a surface or not at all. */
static gboolean
is_surface (GstGemmcl *self, GstBuffer *buffer)
{
  const GemmclImage *image = &self->slot.problem.a_image;
  const GstGemmclMemory memory = get_memory (self);

  if (memory != GST_GEMMCL_MEMORY_DMABUF)
    return memory == GST_GEMMCL_MEMORY_VA || memory == GST_GEMMCL_MEMORY_TILED;
  return gst_gemmcl_dmabuf_is_shared (buffer) ||
         (gst_gemmcl_va_has_surface (buffer) &&
          gemmcl_pixel_format_get_n_planes (image->format) == 2 &&
          (image->width | image->height) % 2 == 0 &&
          gst_gemmcl_va_check (&self->device, self->device.context, NULL));
}

gboolean
gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                       GemmclData *data, GemmclRun *run, GError **error)
{
  if (is_surface (self, buffer))
    return gst_gemmcl_va_open (&self->device, buffer, data, run, error);
  return (get_memory (self) == GST_GEMMCL_MEMORY_DMABUF &&
          gst_gemmcl_dmabuf_open (&self->device, &self->slot.problem.a_image,
                                  &self->stream.input.video, buffer, data, run)) ||
         map_input (self, buffer, run->m, mapping, data, error);
}

gboolean
gst_gemmcl_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context, GError **error)
{
  g_autoptr (GstCaps) caps = NULL;
  g_autofree gchar *text = NULL;
  const guint n = gst_buffer_n_memory (buffer);
  const GstAllocator *allocator = n > 0 ? gst_buffer_peek_memory (buffer, 0)->allocator : NULL;
  const gboolean surface = is_surface (self, buffer);

  if (!surface || gst_gemmcl_va_has_surface (buffer)) {
    *needs_context = surface && gst_gemmcl_va_needs_context (&self->device, buffer);
    return TRUE;
  }
  caps = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  text = caps ? gst_caps_to_string (caps) : g_strdup ("no caps");
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_FORMAT,
      "A buffer of %s is not a whole VA surface, as buffers of GStreamer's va elements are: it "
      "has %u memories, the first of %s. Tiled frames can only be read as surfaces: put "
      "vapostproc before gemmcl, or let upstream give linear dma-bufs or video/x-raw.",
      text, n, allocator ? G_OBJECT_TYPE_NAME (allocator) : "no allocator");
}

gsize
gst_gemmcl_get_header_size (GstGemmcl *self)
{
  return self->stream.output.tensors.flexible ? GST_GEMMCL_HEADER_SIZE : 0;
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
                 g_size_checked_mul (&size, size, gemmcl_type_get_size (gemm->d_type)) &&
                 g_size_checked_add (&size, size, gst_gemmcl_get_header_size (self))
             ? size
             : 0;
}

gboolean
gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                       GstMapFlags access, GemmclData *data, GError **error)
{
  const GstGemmclProblem *problem = &self->slot.problem;

  if (self->stream.output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return gst_gemmcl_mapping_open_frame (mapping, self->lane->context, &problem->d_image,
                                          &self->stream.output.video, buffer, access, data, error);
  return gst_gemmcl_mapping_open_memory (
      mapping, self->lane->context,
      gst_buffer_get_memory (
          buffer, gst_gemmcl_get_output_index (&self->stream.input, &self->stream.settings)),
      gst_gemmcl_get_header_size (self), access, gemmcl_type_get_size (problem->gemm.d_type), data,
      error);
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
