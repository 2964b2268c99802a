/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/mapping.h"

#include "memory/context.h"
#include "memory/dmabuf.h"
#include "memory/drm.h"
#include "memory/memory.h"
#include "memory/va.h"

/* (transfer full) (nullable): Where @buffer's meta does not tell the format, one of the same memory
 * whose meta does: GStreamer maps no other. */
static GstBuffer *
name_format (const GstVideoInfo *info, GstBuffer *buffer)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstBuffer *named;

  if (!meta || !gst_gemmcl_drm_is_hidden (meta->format) ||
      meta->n_planes != GST_VIDEO_INFO_N_PLANES (info))
    return NULL;
  named = gst_buffer_copy_region (buffer, GST_BUFFER_COPY_MEMORY, 0, -1);
  gst_buffer_add_video_meta_full (named, meta->flags, GST_VIDEO_INFO_FORMAT (info), meta->width,
                                  meta->height, meta->n_planes, meta->offset, meta->stride);
  return named;
}

static gboolean
map_frame (GstGemmclMapping *self, const GstVideoInfo *info, GstBuffer *buffer, GstMapFlags flags,
           GemmclData *data, GError **error)
{
  g_autoptr (GstBuffer) named = name_format (info, buffer);

  if (!gst_video_frame_map (&self->frame, info, named ? named : buffer, flags))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer of %zu bytes cannot be mapped as a %dx%d %s picture; "
                            "expected %zu bytes, or a video meta that fits the buffer.",
                            gst_buffer_get_size (buffer), GST_VIDEO_INFO_WIDTH (info),
                            GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_NAME (info),
                            GST_VIDEO_INFO_SIZE (info));
  self->is_frame = TRUE;
  if (GST_VIDEO_FRAME_WIDTH (&self->frame) < GST_VIDEO_INFO_WIDTH (info) ||
      GST_VIDEO_FRAME_HEIGHT (&self->frame) < GST_VIDEO_INFO_HEIGHT (info))
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_FORMAT, "A buffer's video meta says %dx%d; expected the caps' %dx%d.",
        GST_VIDEO_FRAME_WIDTH (&self->frame), GST_VIDEO_FRAME_HEIGHT (&self->frame),
        GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES (&self->frame); i++) {
    data->host[i] = GST_VIDEO_FRAME_PLANE_DATA (&self->frame, i);
    data->stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (&self->frame, i);
  }
  return TRUE;
}

/* Takes @memory. What is read at an address that does not suit its type is copied first. */
static gboolean
map_memory (GstGemmclMapping *self, GstMemory *memory, GstMapFlags flags, gsize alignment,
            GemmclData *data, GError **error)
{
  if (memory && gst_memory_map (memory, &self->map, flags)) {
    if ((guintptr)self->map.data % alignment == 0) {
      self->memory = memory;
      data->host[0] = self->map.data;
      return TRUE;
    }
    gst_memory_unmap (memory, &self->map);
    if (!(flags & GST_MAP_WRITE)) {
      GstMemory *copy = gst_memory_copy (memory, 0, -1);

      gst_memory_unref (memory);
      return map_memory (self, copy, flags, alignment, data, error);
    }
  }
  g_clear_pointer (&memory, gst_memory_unref);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_IO,
                          "A buffer's memory cannot be mapped; expected memory of the system.");
}

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
                            "A buffer's audio meta does not fit the caps; expected interleaved "
                            "audio of the same format and channels.");
  if (*offset > size || *samples > (size - *offset) / frame || (!meta && size % frame != 0))
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_FORMAT,
        "A buffer of audio has %zu bytes; expected %s %zu bytes for each moment.", size,
        meta ? "what its audio meta says at" : "a multiple of", frame);
  return TRUE;
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
                     "A buffer has %u memories; expected one for each of the caps' %u tensors.",
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
      "Tensor %u of a buffer has %zu bytes; expected %zu, by the caps' dimensions and types.",
      index, found, expected);
  return NULL;
}

/* A in the host's memory. */
static gboolean
map_input (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, GemmclData *data,
           GError **error)
{
  const gsize alignment = gemmcl_type_get_size (self->problem.gemm.a_type);
  gsize offset, samples;
  GstMemory *memory;

  switch (self->input.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return map_frame (mapping, &self->input.video, buffer, GST_MAP_READ, data, error);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!gst_gemmcl_get_samples (&self->input.audio, buffer, &offset, &samples, error))
      return FALSE;
    memory = gst_buffer_get_all_memory (buffer);
    if (offset > 0 && memory) {
      GstMemory *part = gst_memory_share (memory, offset, -1);

      gst_memory_unref (memory);
      memory = part;
    }
    return map_memory (mapping, memory, GST_MAP_READ, alignment, data, error);
  default:
    memory = gst_gemmcl_get_tensor_memory (&self->input.tensors, self->settings.tensor_index,
                                           buffer, error);
    return memory && map_memory (mapping, memory, GST_MAP_READ, alignment, data, error);
  }
}

/* Maps memory @index of @n in @buffer; sets @data to its start. */
static gboolean
open_memory (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, guint index, guint n,
             GstMapFlags access, GemmclData *data)
{
  GstMemory *memory;
  gsize offset;

  if (gst_buffer_n_memory (buffer) != n)
    return FALSE;
  memory = gst_buffer_peek_memory (buffer, index);
  if (gst_opencl_memory_get_context (memory) != gemmcl_context_get_cl_context (self->context) ||
      !gst_memory_map (memory, &mapping->map, access | GST_MAP_OPENCL))
    return FALSE;
  mapping->memory = gst_memory_ref (memory);
  gst_memory_get_sizes (memory, &offset, NULL);
  *data = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {(cl_mem)mapping->map.data}};
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
    data->offset[i] = offset;
  return TRUE;
}

gboolean
gst_gemmcl_find_planes (const GemmclImage *image, const GstVideoInfo *info, GstBuffer *buffer,
                        gsize size, GemmclData *data)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  if (meta &&
      ((meta->format != GST_VIDEO_INFO_FORMAT (info) && !gst_gemmcl_drm_is_hidden (meta->format)) ||
       meta->width < image->width || meta->height < image->height ||
       meta->n_planes != GST_VIDEO_INFO_N_PLANES (info)))
    return FALSE;
  gemmcl_image_get_planes (image, planes);
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    const gsize offset = meta ? meta->offset[i] : GST_VIDEO_INFO_PLANE_OFFSET (info, i);
    const gint stride = meta ? meta->stride[i] : GST_VIDEO_INFO_PLANE_STRIDE (info, i);
    const GemmclPlane *plane = &planes[i];

    if (stride < 0 || (gsize)stride < plane->row_bytes || offset > size ||
        (plane->rows - 1) * stride + plane->row_bytes > size - offset)
      return FALSE;
    data->offset[i] += offset;
    data->stride[i] = stride;
  }
  return TRUE;
}

/* A in OpenCL memory of the element's context, laid out as the library can read it. */
static gboolean
open_input (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, GemmclData *data)
{
  const GstGemmclTensors *tensors = &self->input.tensors;
  const guint index = self->settings.tensor_index;
  gsize offset = 0, samples;

  switch (self->input.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return open_memory (self, mapping, buffer, 0, 1, GST_MAP_READ, data) &&
           gst_gemmcl_find_planes (&self->problem.a_image, &self->input.video, buffer,
                                   mapping->map.size, data);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!gst_gemmcl_get_samples (&self->input.audio, buffer, &offset, &samples, NULL) ||
        !open_memory (self, mapping, buffer, 0, 1, GST_MAP_READ, data))
      return FALSE;
    data->offset[0] += offset;
    return TRUE;
  default:
    return open_memory (self, mapping, buffer, tensors->n > 1 ? index : 0, tensors->n, GST_MAP_READ,
                        data) &&
           mapping->map.size == gst_gemmcl_tensor_get_size (&tensors->tensor[index]);
  }
}

/* OpenCL memory of the element's own context is found in any caps: other elements keep it. */
static gboolean
open_any (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
          const gchar **name, GError **error)
{
  *name = "OpenCL";
  if (open_input (self, mapping, buffer, data))
    return TRUE;
  gst_gemmcl_mapping_clear (mapping);
  *data = (GemmclData){.kind = GEMMCL_DATA_HOST};
  *name = "system";
  return map_input (self, mapping, buffer, data, error);
}

static gboolean
open_surface (GstGemmcl *self, GstBuffer *buffer, GemmclData *data, GemmclRun *run,
              const gchar **name, GError **error)
{
  *name = "VA";
  return gst_gemmcl_va_expect_surface (self, buffer, error) &&
         gst_gemmcl_va_open (self, buffer, data, run, error);
}

/* A dma-buf may be a VA surface, and then lies in memory as only the media driver knows. */
static gboolean
is_surface (GstGemmcl *self, GstBuffer *buffer)
{
  const GemmclImage *image = &self->problem.a_image;

  if (!gst_gemmcl_va_has_surface (buffer))
    return gst_gemmcl_dmabuf_is_torn (buffer);
  return gemmcl_pixel_format_get_n_planes (image->format) == 2 &&
         (image->width | image->height) % 2 == 0 && gst_gemmcl_va_check (self, self->context, NULL);
}

static gboolean
open_dmabuf (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
             GemmclRun *run, const gchar **name, GError **error)
{
  if (is_surface (self, buffer))
    return open_surface (self, buffer, data, run, name, error);
  *name = "DMABuf";
  return gst_gemmcl_dmabuf_open (self, buffer, data, run) ||
         open_any (self, buffer, mapping, data, name, error);
}

gboolean
gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                       GemmclData *data, GemmclRun *run, const gchar **name, GError **error)
{
  switch (self->input_memory) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return open_surface (self, buffer, data, run, name, error);
  case GST_GEMMCL_MEMORY_DMABUF:
    return open_dmabuf (self, buffer, mapping, data, run, name, error);
  default:
    return open_any (self, buffer, mapping, data, name, error);
  }
}

gboolean
gst_gemmcl_prepare_input (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  switch (self->input_memory) {
  case GST_GEMMCL_MEMORY_VA:
  case GST_GEMMCL_MEMORY_TILED:
    return gst_gemmcl_va_expect_surface (self, buffer, error) &&
           gst_gemmcl_context_adapt (self, buffer, error);
  case GST_GEMMCL_MEMORY_DMABUF:
    return !self->configured || !gst_gemmcl_va_has_surface (buffer) || !is_surface (self, buffer) ||
           gst_gemmcl_context_adapt (self, buffer, error);
  default:
    return TRUE;
  }
}

guint
gst_gemmcl_get_output_index (GstGemmcl *self)
{
  return self->input.medium == GST_GEMMCL_MEDIUM_TENSORS ? self->settings.tensor_index : 0;
}

gboolean
gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                       GstMapFlags access, GemmclData *data, GError **error)
{
  const gboolean is_video = self->output.medium == GST_GEMMCL_MEDIUM_VIDEO;
  const guint index = gst_gemmcl_get_output_index (self);

  if (open_memory (self, mapping, buffer, index, gst_buffer_n_memory (buffer), access, data) &&
      (!is_video || gst_gemmcl_find_planes (&self->problem.d_image, &self->output.video, buffer,
                                            mapping->map.size, data)))
    return TRUE;
  gst_gemmcl_mapping_clear (mapping);
  *data = (GemmclData){.kind = GEMMCL_DATA_HOST};
  return is_video ? map_frame (mapping, &self->output.video, buffer, access, data, error)
                  : map_memory (mapping, gst_buffer_get_memory (buffer, index), access,
                                gemmcl_type_get_size (self->problem.gemm.d_type), data, error);
}

gboolean
gst_gemmcl_map_rows (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                     GemmclData *data, GError **error)
{
  const guint n = gst_buffer_n_memory (buffer);

  if (open_memory (self, mapping, buffer, n - 1, n, GST_MAP_WRITE, data))
    return TRUE;
  *data = (GemmclData){.kind = GEMMCL_DATA_HOST};
  return map_memory (mapping, gst_buffer_get_memory (buffer, n - 1), GST_MAP_WRITE, sizeof (gfloat),
                     data, error);
}

gboolean
gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer)
{
  gboolean is_audio = self->input.medium == GST_GEMMCL_MEDIUM_AUDIO;
  const GstAudioMeta *meta = is_audio ? gst_buffer_get_audio_meta (buffer) : NULL;

  if (meta)
    return meta->samples == 0;
  return gst_buffer_get_size (buffer) == 0 &&
         (is_audio || GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP));
}
