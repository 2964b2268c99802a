/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-mapping.h"

#include "gemmcl-drm.h"

void
gst_gemmcl_mapping_clear (GstGemmclMapping *self)
{
  if (self->is_frame)
    gst_video_frame_unmap (&self->frame);
  if (self->memory) {
    gst_memory_unmap (self->memory, &self->map);
    gst_memory_unref (self->memory);
  }
  self->is_frame = FALSE;
  self->memory = NULL;
}

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
           GemmclHostData *host, GError **error)
{
  g_autoptr (GstBuffer) named = name_format (info, buffer);

  if (!gst_video_frame_map (&self->frame, info, named ? named : buffer, flags)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer of %" G_GSIZE_FORMAT " bytes cannot be mapped as a %dx%d %s picture; "
                 "expected %" G_GSIZE_FORMAT " bytes, or a video meta that fits the buffer.",
                 gst_buffer_get_size (buffer), GST_VIDEO_INFO_WIDTH (info),
                 GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_NAME (info),
                 GST_VIDEO_INFO_SIZE (info));
    return FALSE;
  }
  self->is_frame = TRUE;
  if (GST_VIDEO_FRAME_WIDTH (&self->frame) < GST_VIDEO_INFO_WIDTH (info) ||
      GST_VIDEO_FRAME_HEIGHT (&self->frame) < GST_VIDEO_INFO_HEIGHT (info)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer's video meta says %dx%d; expected the caps' %dx%d.",
                 GST_VIDEO_FRAME_WIDTH (&self->frame), GST_VIDEO_FRAME_HEIGHT (&self->frame),
                 GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
    return FALSE;
  }
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES (&self->frame); i++) {
    host->data[i] = GST_VIDEO_FRAME_PLANE_DATA (&self->frame, i);
    host->stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (&self->frame, i);
  }
  return TRUE;
}

/* Takes @memory. What is read at an address that does not suit its type is copied first. */
static gboolean
map_memory (GstGemmclMapping *self, GstMemory *memory, GstMapFlags flags, gsize alignment,
            GemmclHostData *host, GError **error)
{
  if (memory && gst_memory_map (memory, &self->map, flags)) {
    if ((guintptr)self->map.data % alignment == 0) {
      self->memory = memory;
      host->data[0] = self->map.data;
      return TRUE;
    }
    gst_memory_unmap (memory, &self->map);
    if (!(flags & GST_MAP_WRITE)) {
      GstMemory *copy = gst_memory_copy (memory, 0, -1);

      gst_memory_unref (memory);
      return map_memory (self, copy, flags, alignment, host, error);
    }
  }
  g_clear_pointer (&memory, gst_memory_unref);
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_IO,
                       "A buffer's memory cannot be mapped; expected memory of the system.");
  return FALSE;
}

/* Where in a buffer of audio the samples are, and how many. */
gboolean
gst_gemmcl_get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset, gsize *samples,
                        GError **error)
{
  const GstAudioMeta *meta = gst_buffer_get_audio_meta (buffer);
  gsize size = gst_buffer_get_size (buffer), frame = GST_AUDIO_INFO_BPF (info);

  *offset = meta && meta->offsets ? meta->offsets[0] : 0;
  *samples = meta ? meta->samples : size / frame;
  if (meta && (GST_AUDIO_INFO_LAYOUT (&meta->info) != GST_AUDIO_LAYOUT_INTERLEAVED ||
               GST_AUDIO_INFO_BPF (&meta->info) != (gint)frame)) {
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                         "A buffer's audio meta does not fit the caps; expected interleaved audio "
                         "of the same format and channels.");
    return FALSE;
  }
  if (*offset > size || *samples > (size - *offset) / frame || (!meta && size % frame != 0)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer of audio has %" G_GSIZE_FORMAT " bytes; expected %s %" G_GSIZE_FORMAT
                 " bytes for each moment.",
                 size, meta ? "what its audio meta says at" : "a multiple of", frame);
    return FALSE;
  }
  return TRUE;
}

/* One tensor of several, or the whole buffer when there is one. (transfer full) */
GstMemory *
gst_gemmcl_get_tensor_memory (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                              GError **error)
{
  gsize expected = gst_gemmcl_tensor_get_size (&tensors->tensor[index]);
  GstMemory *memory;
  gsize found;

  if (tensors->n > 1 && gst_buffer_n_memory (buffer) != tensors->n) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
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
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
               "Tensor %u of a buffer has %" G_GSIZE_FORMAT " bytes; expected %" G_GSIZE_FORMAT
               ", by the caps' dimensions and types.",
               index, found, expected);
  return NULL;
}

gboolean
gst_gemmcl_map_input (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                      GemmclHostData *host, GError **error)
{
  gsize alignment = gemmcl_type_get_size (self->problem.gemm.a_type);
  gsize offset, samples;
  GstMemory *memory;

  switch (self->input.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return map_frame (mapping, &self->input.video, buffer, GST_MAP_READ, host, error);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!gst_gemmcl_get_samples (&self->input.audio, buffer, &offset, &samples, error))
      return FALSE;
    memory = gst_buffer_get_all_memory (buffer);
    if (offset > 0 && memory) {
      GstMemory *part = gst_memory_share (memory, offset, -1);

      gst_memory_unref (memory);
      memory = part;
    }
    return map_memory (mapping, memory, GST_MAP_READ, alignment, host, error);
  default:
    memory = gst_gemmcl_get_tensor_memory (&self->input.tensors, self->settings.tensor_index,
                                           buffer, error);
    return memory && map_memory (mapping, memory, GST_MAP_READ, alignment, host, error);
  }
}

/* Which memory of an output holds D. */
guint
gst_gemmcl_get_output_index (GstGemmcl *self)
{
  return self->input.medium == GST_GEMMCL_MEDIUM_TENSORS ? self->settings.tensor_index : 0;
}

gboolean
gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                       GemmclHostData *host, GError **error)
{
  gsize alignment = gemmcl_type_get_size (self->problem.gemm.d_type);

  if (self->output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return map_frame (mapping, &self->output.video, buffer, GST_MAP_WRITE, host, error);
  return map_memory (mapping, gst_buffer_get_memory (buffer, gst_gemmcl_get_output_index (self)),
                     GST_MAP_WRITE, alignment, host, error);
}

gboolean
gst_gemmcl_map_rows (GstGemmclMapping *mapping, GstBuffer *buffer, gfloat **rows, GError **error)
{
  GstMemory *last = gst_buffer_get_memory (buffer, gst_buffer_n_memory (buffer) - 1);
  GemmclHostData host;

  if (!map_memory (mapping, last, GST_MAP_WRITE, sizeof (gfloat), &host, error))
    return FALSE;
  *rows = host.data[0];
  return TRUE;
}

/* A buffer with no data in it that is still to pass: a gap, or audio of no samples. */
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
