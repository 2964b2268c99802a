/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#include "element/flexible.h"
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

/* Reads the header of the tensor of A, for flexible tensors. */
static gboolean
read_flexible (GstGemmcl *self, GstBuffer *buffer, GemmclType *type, gsize *m, GError **error)
{
  const guint index = self->stream.settings.tensor_index;
  GstGemmclPlace place;
  gsize k, weight_k, n;

  if (gst_gemmcl_tensors_locate (&self->stream.input.tensors, index, buffer, &place, error) == 0)
    return FALSE;
  gst_gemmcl_weight_get_shape (&self->stream.settings, self->operands.current.weight, &weight_k,
                               &n);
  gst_gemmcl_tensor_get_shape (&place.tensor, m, &k);
  *type = place.tensor.type;
  if (k != weight_k)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                            "Tensor %u of a buffer has rows of %zu, by its header, and needs a "
                            "weight with K = %zu, but the weight has K = %zu. Use another weight "
                            "(transpose-weight=true if K is its columns) or another tensor-index.",
                            index, k, k, weight_k);
  if (*m > G_MAXINT32)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                            "Tensor %u of a buffer has %zu rows, by its header; expected at most "
                            "%d.",
                            index, *m, G_MAXINT32);
  return TRUE;
}

gsize
gst_gemmcl_get_m (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  gsize offset, m, k;
  GemmclType type;

  if (input->medium == GST_GEMMCL_MEDIUM_AUDIO)
    return get_samples (&input->audio, buffer, &offset, &m, error) ? m : 0;
  if (gst_gemmcl_format_is_flexible (input))
    return read_flexible (self, buffer, &type, &m, error) ? m : 0;
  if (!input->is_meta || self->slot.problem.gemm.a_image)
    return self->slot.problem.gemm.m;
  gst_gemmcl_tensor_get_shape (&input->tensors.tensor[0], &m, &k);
  return m;
}

gboolean
gst_gemmcl_have_same_shape (GstGemmcl *self, GstBuffer *first, GstBuffer *second)
{
  GemmclType types[2];
  gsize m[2];

  if (gst_gemmcl_format_is_flexible (&self->stream.input))
    return read_flexible (self, first, &types[0], &m[0], NULL) &&
           read_flexible (self, second, &types[1], &m[1], NULL) && m[0] == m[1] &&
           types[0] == types[1];
  return gst_gemmcl_get_m (self, first, NULL) == gst_gemmcl_get_m (self, second, NULL);
}

/* Returns: (transfer full) (nullable): the memory of A, a tensor. */
static GstMemory *
get_tensor (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  GstGemmclTensor tensor;
  GstMemory *memory = NULL;

  if (!input->is_meta)
    return gst_gemmcl_tensors_get_memory (&input->tensors, self->stream.settings.tensor_index,
                                          buffer, error);
  gst_gemmcl_meta_find (&self->stream.settings, buffer, &tensor, &memory, error);
  return memory;
}

gboolean
gst_gemmcl_adapt_plan (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  GstGemmclTensor *tensor = &self->stream.input.tensors.tensor[self->stream.settings.tensor_index];
  GemmclType type;
  gsize m;

  if (!gst_gemmcl_format_is_flexible (&self->stream.input))
    return TRUE;
  if (!read_flexible (self, buffer, &type, &m, error))
    return FALSE;
  if (self->lane->plan && type == self->slot.problem.gemm.a_type)
    return gst_gemmcl_make_room (self, m, error);
  g_mutex_lock (&self->lock);
  tensor->type = type;
  g_mutex_unlock (&self->lock);
  /* The pool must suit the new plan. */
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return gst_gemmcl_make_plan (self, self->lane->plan ? MAX (m, self->slot.problem.gemm.m) : m,
                               error);
}

/* A header is read several times. If another element still writes the buffer, one reading may
 * differ from another, and from the size of the output. */
static gboolean
expect_size (GstMemory *memory, gsize size, GError **error)
{
  return gst_memory_get_sizes (memory, NULL, NULL) == size ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "The header of a flexible tensor changed while it was read; expected a "
                          "buffer that no element writes any more.");
}

gboolean
gst_gemmcl_check_output (GstGemmcl *self, GstBuffer *output, gsize m, GError **error)
{
  const guint index = gst_gemmcl_get_output_index (&self->stream.input, &self->stream.settings);

  return !gst_gemmcl_format_is_flexible (&self->stream.input) ||
         expect_size (gst_buffer_peek_memory (output, index), gst_gemmcl_get_output_size (self, m),
                      error);
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
  GstMemory *memory;

  switch (input->medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return gst_gemmcl_mapping_open_frame (mapping, self->lane->context, &self->slot.problem.a_image,
                                          &input->video, buffer, GST_MAP_READ, data, error);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!get_samples (&input->audio, buffer, &offset, &samples, error))
      return FALSE;
    memory = gst_buffer_get_all_memory (buffer);
    break;
  default:
    offset = input->tensors.flexible ? GST_GEMMCL_HEADER_SIZE : 0;
    memory = get_tensor (self, buffer, error);
    if (!memory)
      return FALSE;
    if (offset > 0 && !expect_size (memory, offset + m * self->slot.problem.gemm.k * size, error)) {
      gst_memory_unref (memory);
      return FALSE;
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
         map_input (self, buffer, run->m, mapping, data, error);
}

/* Returns: how inputs are read. Several devices get copies of dma-bufs. */
static GstGemmclMemory
get_memory (GstGemmcl *self)
{
  const GstGemmclMemory memory = self->stream.input.memory;

  return memory == GST_GEMMCL_MEMORY_DMABUF && self->n_lanes > 1 ? GST_GEMMCL_MEMORY_SYSTEM
                                                                 : memory;
}

gboolean
gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                       GemmclData *data, GemmclRun *run, GError **error)
{
  switch (get_memory (self)) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return open_surface (self, buffer, data, run, error);
  case GST_GEMMCL_MEMORY_DMABUF:
    return open_dmabuf (self, buffer, mapping, data, run, error);
  default:
    return map_input (self, buffer, run->m, mapping, data, error);
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
  switch (get_memory (self)) {
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

gsize
gst_gemmcl_get_header_size (GstGemmcl *self)
{
  return gst_gemmcl_format_is_flexible (&self->stream.output) ? GST_GEMMCL_HEADER_SIZE : 0;
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
