/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-pool.h"

#include "gemmcl-media.h"

struct _GstGemmclPool {
  GstBufferPool parent;

  GstAllocator *allocator;
  guint size;
  gboolean is_video;
  GstVideoInfo info; /* with the library's offsets and strides */
};

G_DEFINE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST_TYPE_BUFFER_POOL)

static const gchar **
get_options (GstBufferPool *pool G_GNUC_UNUSED)
{
  static const gchar *options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META, NULL};

  return options;
}

/* The library's layout of pictures in place of GStreamer's. */
static gboolean
lay_out (GstVideoInfo *info)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  GemmclPixelFormat format;
  GemmclImage image;

  if (!gst_gemmcl_pixel_format (GST_VIDEO_INFO_FORMAT (info), &format))
    return FALSE;
  gst_gemmcl_image_init (&image, info);
  GST_VIDEO_INFO_SIZE (info) = gemmcl_image_get_planes (&image, planes);
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    GST_VIDEO_INFO_PLANE_OFFSET (info, i) = planes[i].offset;
    GST_VIDEO_INFO_PLANE_STRIDE (info, i) = planes[i].row_bytes;
  }
  return TRUE;
}

static gboolean
set_config (GstBufferPool *pool, GstStructure *config)
{
  GstGemmclPool *self = GST_GEMMCL_POOL (pool);
  guint size, min, max;
  GstCaps *caps;

  if (!gst_buffer_pool_config_get_params (config, &caps, &size, &min, &max))
    return FALSE;
  self->is_video =
      caps && gst_structure_has_name (gst_caps_get_structure (caps, 0), GST_GEMMCL_VIDEO_MEDIA);
  if (self->is_video) {
    if (!gst_video_info_from_caps (&self->info, caps) || !lay_out (&self->info) ||
        GST_VIDEO_INFO_SIZE (&self->info) > G_MAXUINT)
      return FALSE;
    size = MAX (size, GST_VIDEO_INFO_SIZE (&self->info));
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  }
  self->size = size;
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  return GST_BUFFER_POOL_CLASS (gst_gemmcl_pool_parent_class)->set_config (pool, config);
}

static GstFlowReturn
alloc_buffer (GstBufferPool *pool, GstBuffer **buffer,
              GstBufferPoolAcquireParams *params G_GNUC_UNUSED)
{
  GstGemmclPool *self = GST_GEMMCL_POOL (pool);
  GstVideoInfo *info = &self->info;
  GstMemory *memory = gst_allocator_alloc (self->allocator, self->size, NULL);

  if (!memory)
    return GST_FLOW_ERROR;
  *buffer = gst_buffer_new ();
  gst_buffer_append_memory (*buffer, memory);
  if (self->is_video)
    gst_buffer_add_video_meta_full (*buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                    GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_WIDTH (info),
                                    GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_N_PLANES (info),
                                    info->offset, info->stride);
  return GST_FLOW_OK;
}

/* What somebody else put into the buffer keeps it from coming back: the memory is the pool's. */
static void
reset_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  GST_BUFFER_POOL_CLASS (gst_gemmcl_pool_parent_class)->reset_buffer (pool, buffer);
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (gst_is_gemmcl_memory (memory))
      gst_gemmcl_memory_recycle (memory);
  }
}

static void
gst_gemmcl_pool_init (GstGemmclPool *self G_GNUC_UNUSED)
{
}

static void
gst_gemmcl_pool_finalize (GObject *object)
{
  GstGemmclPool *self = GST_GEMMCL_POOL (object);

  G_OBJECT_CLASS (gst_gemmcl_pool_parent_class)->finalize (object);
  /* Not before: the buffers that are left have their own references, but are freed by that. */
  g_clear_object (&self->allocator);
}

static void
gst_gemmcl_pool_class_init (GstGemmclPoolClass *klass)
{
  GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_gemmcl_pool_finalize;
  pool_class->get_options = get_options;
  pool_class->set_config = set_config;
  pool_class->alloc_buffer = alloc_buffer;
  pool_class->reset_buffer = reset_buffer;
}

GstBufferPool *
gst_gemmcl_pool_new (GstGemmclAllocator *allocator)
{
  GstGemmclPool *self = gst_object_ref_sink (g_object_new (GST_TYPE_GEMMCL_POOL, NULL));

  self->allocator = gst_object_ref (GST_ALLOCATOR (allocator));
  return GST_BUFFER_POOL (self);
}
