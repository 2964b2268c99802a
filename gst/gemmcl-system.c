/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-system.h"

#include "gemmcl-device.h"
#include "gemmcl-pool.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

/* Whether the device reads and writes the host's memory as it is. */
static gboolean
shares_memory (GstGemmcl *self)
{
  gboolean shared;

  g_mutex_lock (&self->lock);
  shared = self->context && gemmcl_context_get_device_info (self->context)->host_unified;
  g_mutex_unlock (&self->lock);
  return shared;
}

/* Bytes of each buffer that comes in; 0 where they differ, or are several memories. */
static gsize
get_input_size (const GstGemmclFormat *format)
{
  switch (format->medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return GST_VIDEO_INFO_SIZE (&format->video);
  case GST_GEMMCL_MEDIUM_AUDIO:
    return 0;
  default:
    return format->tensors.n == 1 ? gst_gemmcl_tensor_get_size (&format->tensors.tensor[0]) : 0;
  }
}

/* Pages, for whoever has a pool and for whoever has none. */
static void
propose_pages (GstQuery *query, GstCaps *caps, gsize size, guint min, gboolean need_pool)
{
  g_autoptr (GstBufferPool) pool =
      need_pool && size > 0 ? gst_gemmcl_pool_new_configured (NULL, caps, size, min) : NULL;
  GstAllocationParams params;

  gst_allocation_params_init (&params);
  gst_gemmcl_pool_ask_for_pages (&params, size);
  gst_query_add_allocation_param (query, NULL, &params);
  if (size > 0)
    gst_query_add_allocation_pool (query, pool, size, min, 0);
}

void
gst_gemmcl_system_propose (GstGemmcl *self, GstQuery *query, guint min)
{
  GstGemmclFormat format;
  gboolean need_pool;
  GstCaps *caps;
  gsize size;

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (gst_structure_has_name (gst_caps_get_structure (caps, 0), GST_GEMMCL_VIDEO_MEDIA))
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (!gst_caps_features_is_equal (gst_caps_get_features (caps, 0),
                                   GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY) ||
      !gst_gemmcl_format_from_caps (&format, caps, NULL))
    return;
  size = get_input_size (&format);
  if (size > G_MAXUINT)
    size = 0;
  if (shares_memory (self))
    propose_pages (query, caps, size, min, need_pool);
  else if (need_pool && size > 0)
    gst_gemmcl_device_propose_pool (self, query, caps, size, min);
}

/* What memory downstream wants, and pages of it if it is the system's. */
static void
ask_for_pages (GstQuery *query, gsize size)
{
  const gboolean listed = gst_query_get_n_allocation_params (query) > 0;
  g_autoptr (GstAllocator) allocator = NULL;
  GstAllocationParams params;

  gst_allocation_params_init (&params);
  if (listed)
    gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  if (allocator)
    return;
  gst_gemmcl_pool_ask_for_pages (&params, size);
  if (listed)
    gst_query_set_nth_allocation_param (query, 0, NULL, &params);
  else
    gst_query_add_allocation_param (query, NULL, &params);
}

/* GStreamer counts a picture's bytes in 32 bits, in pools and elsewhere, though not all caps of
 * larger ones are refused. */
static gboolean
refuse_size (GstGemmcl *self)
{
  g_autoptr (GError) error = g_error_new (
      GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
      "A %dx%d picture of the result, in %s, has 4 GiB or more; expected less, which "
      "is what GStreamer can have in a buffer of a pool. Scale or crop the picture, "
      "or let downstream take a format of fewer bytes.",
      GST_VIDEO_INFO_WIDTH (&self->output.video), GST_VIDEO_INFO_HEIGHT (&self->output.video),
      GST_VIDEO_INFO_NAME (&self->output.video));

  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return FALSE;
}

/* Strides of video may be any: buffers come from downstream's pool or one of our own. */
static gboolean
decide_video (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint held)
{
  const gsize picture = GST_VIDEO_INFO_SIZE (&self->output.video);
  g_autoptr (GstBufferPool) pool = NULL;
  guint size = 0, min = 0, max = 0;
  gboolean listed = gst_query_get_n_allocation_pools (query) > 0;
  GstStructure *config;

  if (self->pool_size == 0 || picture > G_MAXUINT)
    return refuse_size (self);
  if (listed)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  size = MAX (size, (guint)picture);
  /* A pool that has too few would never give the last one. Another gemmcl's may be of OpenCL
   * memory, which whoever puts caps of the system's between the two does not want. */
  if ((max > 0 && max - MIN (min, max) < held) || (pool && GST_IS_GEMMCL_POOL (pool))) {
    gst_clear_object (&pool);
    max = 0;
  }
  if (!pool)
    pool = gst_gemmcl_pool_new (NULL);
  config = gst_buffer_pool_get_config (pool);
  if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL) &&
      gst_buffer_pool_has_option (pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_INFO_OBJECT (self, "downstream's pool does not take its own configuration");
    gst_object_unref (pool);
    pool = gst_gemmcl_pool_new (NULL);
  }
  if (listed)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool (query, pool, size, min, max);
  return TRUE;
}

guint
gst_gemmcl_get_pool_size (GstGemmcl *self)
{
  const GstGemmclTensors *tensors = &self->output.tensors;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize size;

  switch (self->output.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    size = gemmcl_image_get_planes (&self->problem.d_image, planes);
    break;
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!g_size_checked_mul (&size, self->problem.gemm.m, GST_AUDIO_INFO_BPF (&self->output.audio)))
      size = 0;
    break;
  default:
    size = gst_gemmcl_tensor_get_size (&tensors->tensor[gst_gemmcl_get_output_index (self)]);
  }
  return size <= G_MAXUINT ? size : 0;
}

static gboolean
decide_other (GstGemmcl *self, GstQuery *query)
{
  g_autoptr (GstBufferPool) pool = NULL;

  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  if (self->pool_size > 0) {
    pool = gst_gemmcl_pool_new (NULL);
    gst_query_add_allocation_pool (query, pool, self->pool_size, 0, 0);
  }
  return TRUE;
}

gboolean
gst_gemmcl_system_decide (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint held)
{
  self->pool_size = gst_gemmcl_get_pool_size (self);
  if (shares_memory (self))
    ask_for_pages (query, self->pool_size);
  return self->output.medium == GST_GEMMCL_MEDIUM_VIDEO ? decide_video (self, query, caps, held)
                                                        : decide_other (self, query);
}
