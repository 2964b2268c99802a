/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shape.h"

#include <gst/audio/audio.h>
#include <stdio.h>

static void
init_audio (Shape *self, const GstCaps *caps)
{
  GstAudioInfo info;

  g_assert_true (gst_audio_info_from_caps (&info, caps));
  self->medium = MEDIUM_AUDIO;
  self->type = GST_AUDIO_INFO_FORMAT (&info) == GST_AUDIO_FORMAT_F32LE   ? SAMPLE_F32
               : GST_AUDIO_INFO_FORMAT (&info) == GST_AUDIO_FORMAT_F64LE ? SAMPLE_F64
                                                                         : SAMPLE_S16;
  self->columns = GST_AUDIO_INFO_CHANNELS (&info);
}

/* Returns: the numbers of "3:4,2:1" together. */
static gsize
count_numbers (const gchar *dimensions)
{
  g_auto (GStrv) tensors = g_strsplit (dimensions, ",", -1);
  gsize sum = 0;

  for (guint i = 0; tensors[i]; i++) {
    g_auto (GStrv) dims = g_strsplit (tensors[i], ":", -1);
    gsize product = 1;

    for (guint j = 0; dims[j]; j++)
      product *= g_ascii_strtoull (dims[j], NULL, 10);
    sum += product;
  }
  return sum;
}

static void
init_tensors (Shape *self, const GstStructure *structure)
{
  const gchar *dimensions = gst_structure_get_string (structure, "dimensions");
  const gchar *types = gst_structure_get_string (structure, "types");

  self->medium = MEDIUM_TENSORS;
  self->type = g_strcmp0 (types, "uint8") == 0 ? SAMPLE_U8 : SAMPLE_F32;
  self->rows = 1;
  if (g_strrstr (types, ","))
    self->columns = count_numbers (dimensions);
  else
    g_assert_cmpint (sscanf (dimensions, "%zu:%zu", &self->columns, &self->rows), >=, 1);
}

static void
init_video (Shape *self, const GstCaps *caps)
{
  g_assert_true (gst_video_info_from_caps (&self->video, caps));
  g_assert_cmpuint (GST_VIDEO_INFO_N_PLANES (&self->video), ==, 1);
  self->medium = MEDIUM_VIDEO;
  self->type = SAMPLE_U8;
  self->rows =
      (gsize)GST_VIDEO_INFO_WIDTH (&self->video) * (gsize)GST_VIDEO_INFO_HEIGHT (&self->video);
  self->columns = GST_VIDEO_INFO_N_COMPONENTS (&self->video);
}

void
shape_init (Shape *self, const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);

  *self = (Shape){.rows = 0};
  if (gst_structure_has_name (structure, "audio/x-raw"))
    init_audio (self, caps);
  else if (gst_structure_has_name (structure, "other/tensors"))
    init_tensors (self, structure);
  else
    init_video (self, caps);
}

static gsize
get_sample_size (SampleType type)
{
  static const gsize sizes[] = {
      [SAMPLE_F32] = 4, [SAMPLE_F64] = 8, [SAMPLE_S16] = 2, [SAMPLE_U8] = 1};

  return sizes[type];
}

static guint8 *
get_pixel (GstVideoFrame *frame, gsize row, gsize channel)
{
  const gsize width = (gsize)GST_VIDEO_FRAME_WIDTH (frame);

  return (guint8 *)GST_VIDEO_FRAME_COMP_DATA (frame, channel) +
         row / width * (gsize)GST_VIDEO_FRAME_COMP_STRIDE (frame, channel) +
         row % width * (gsize)GST_VIDEO_FRAME_COMP_PSTRIDE (frame, channel);
}

static void
write_frame (const Shape *self, GstBuffer *buffer, const gdouble *values)
{
  GstVideoFrame frame;

  g_assert_true (gst_video_frame_map (&frame, &self->video, buffer, GST_MAP_WRITE));
  for (gsize i = 0; i < self->rows * self->columns; i++)
    *get_pixel (&frame, i / self->columns, i % self->columns) = (guint8)values[i];
  gst_video_frame_unmap (&frame);
}

static void
write_samples (const Shape *self, GstBuffer *buffer, gsize n, const gdouble *values)
{
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < n; i++) {
    if (self->type == SAMPLE_F32)
      ((gfloat *)map.data)[i] = (gfloat)values[i];
    else if (self->type == SAMPLE_F64)
      ((gdouble *)map.data)[i] = values[i];
    else if (self->type == SAMPLE_U8)
      map.data[i] = (guint8)values[i];
    else
      ((gint16 *)map.data)[i] = (gint16)values[i];
  }
  gst_buffer_unmap (buffer, &map);
}

GstBuffer *
shape_write (const Shape *self, gsize n, const gdouble *values)
{
  const gboolean is_video = self->medium == MEDIUM_VIDEO;
  GstBuffer *buffer = gst_buffer_new_allocate (
      NULL, is_video ? GST_VIDEO_INFO_SIZE (&self->video) : n * get_sample_size (self->type), NULL);

  g_assert_true (!is_video || n == self->rows * self->columns);
  if (is_video)
    write_frame (self, buffer, values);
  else
    write_samples (self, buffer, n, values);
  return buffer;
}

static gdouble *
read_frame (const Shape *self, GstBuffer *buffer, gsize *n)
{
  g_autofree gdouble *values = g_new (gdouble, self->rows * self->columns);
  GstVideoFrame frame;

  if (!gst_video_frame_map (&frame, &self->video, buffer, GST_MAP_READ))
    return NULL;
  *n = self->rows * self->columns;
  for (gsize i = 0; i < *n; i++)
    values[i] = *get_pixel (&frame, i / self->columns, i % self->columns);
  gst_video_frame_unmap (&frame);
  return g_steal_pointer (&values);
}

gdouble *
shape_read (const Shape *self, GstBuffer *buffer, gsize *n)
{
  gdouble *values;
  GstMapInfo map;

  if (self->medium == MEDIUM_VIDEO)
    return read_frame (self, buffer, n);
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return NULL;
  *n = map.size / get_sample_size (self->type);
  values = g_new (gdouble, *n);
  for (gsize i = 0; i < *n; i++)
    values[i] = self->type == SAMPLE_F32   ? ((gfloat *)map.data)[i]
                : self->type == SAMPLE_F64 ? ((gdouble *)map.data)[i]
                : self->type == SAMPLE_U8  ? map.data[i]
                                           : ((gint16 *)map.data)[i];
  gst_buffer_unmap (buffer, &map);
  return values;
}
