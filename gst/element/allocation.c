/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory on both pads. Upstream is offered memory that the device reads with the fewest copies:
 * OpenCL memory where caps say so; for the system's memory pages, which a device that shares the
 * host's memory reads in place, or else OpenCL memory with a pinned side, which the device fetches
 * while it computes. Outputs lie in OpenCL memory, also where caps say the system's: a map waits
 * for the device. Only frames that downstream alone can make are taken from its pool, if the device
 * shares the host's memory and so can write them.
 */
#include "element/gstgemmcl.h"

#include "memory/pool.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

static GstBaseTransformClass *parent_class = NULL;

/* TRUE if the device works in the host's memory. */
static gboolean
shares_memory (GstGemmcl *self)
{
  g_autoptr (GemmclContext) context = gst_gemmcl_device_get_context (&self->device);

  return context && gemmcl_context_get_device_info (context)->host_unified;
}

/* Inputs that the element may hold at once: those of a batch, and of the runs in flight. */
static guint
get_held (GstGemmcl *self)
{
  return self->stream.settings.batch_size * self->stream.settings.queue_depth;
}

/* Bytes of each buffer with @caps that comes in; 0 where they differ, are several memories, or are
 * more than a pool can have. */
static guint
get_input_size (const GstCaps *caps)
{
  GstGemmclFormat format;
  gsize size = 0;

  if (!gst_gemmcl_format_from_caps (&format, caps, NULL))
    return 0;
  if (format.medium == GST_GEMMCL_MEDIUM_VIDEO)
    size = GST_VIDEO_INFO_SIZE (&format.video);
  else if (format.medium == GST_GEMMCL_MEDIUM_TENSORS && format.tensors.n == 1)
    size = gst_gemmcl_tensor_get_size (&format.tensors.tensor[0]);
  return size <= G_MAXUINT ? size : 0;
}

static void
propose_opencl_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint size)
{
  g_autoptr (GstAllocator) allocator = gst_gemmcl_device_get_allocator (&self->device, NULL);
  g_autoptr (GstBufferPool) pool = NULL;

  if (allocator && size > 0)
    pool = gst_gemmcl_pool_new_configured (allocator, caps, size, get_held (self), FALSE);
  if (pool)
    gst_query_add_allocation_pool (query, pool, size, get_held (self), 0);
}

/* Pages, which a device that shares the host's memory reads in place. */
static void
propose_pages (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint size, gboolean need_pool)
{
  g_autoptr (GstBufferPool) pool = NULL;
  GstAllocationParams params;

  if (need_pool && size > 0)
    pool = gst_gemmcl_pool_new_configured (NULL, caps, size, get_held (self), FALSE);
  gst_allocation_params_init (&params);
  gst_gemmcl_pool_ask_for_pages (&params, size);
  gst_query_add_allocation_param (query, NULL, &params);
  if (size > 0)
    gst_query_add_allocation_pool (query, pool, size, get_held (self), 0);
}

static gboolean
propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_autoptr (GstAllocator) allocator = NULL;
  gboolean need_pool;
  GstCaps *caps = NULL;
  guint size;

  if (!parent_class->propose_allocation (trans, decide_query, query))
    return FALSE;
  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!caps)
    return TRUE;
  size = get_input_size (caps);
  if (gst_structure_has_name (gst_caps_get_structure (caps, 0), GST_GEMMCL_VIDEO_MEDIA))
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  switch (gst_gemmcl_caps_get_memory (caps, 0)) {
  case GST_GEMMCL_MEMORY_OPENCL:
    allocator = gst_gemmcl_device_get_allocator (&self->device, NULL);
    if (allocator)
      gst_query_add_allocation_param (query, allocator, NULL);
    propose_opencl_pool (self, query, caps, size);
    break;
  case GST_GEMMCL_MEMORY_SYSTEM:
    if (shares_memory (self))
      propose_pages (self, query, caps, size, need_pool);
    else if (need_pool)
      propose_opencl_pool (self, query, caps, size);
    break;
  default:
    /* Memory of others comes from their own pools, which must have enough of it. */
    if (size > 0)
      gst_query_add_allocation_pool (query, NULL, size, get_held (self), 0);
  }
  return TRUE;
}

/* GStreamer counts a picture's bytes in 32 bits, in pools and elsewhere, though not all caps of
 * larger ones are refused. */
static gboolean
refuse_size (GstGemmcl *self)
{
  g_autoptr (GError) error = g_error_new (
      GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
      "A %dx%d picture of the result, in %s, has 4 GiB or more; expected less, which is what "
      "GStreamer can have in a buffer of a pool. Scale or crop the picture, or let downstream take "
      "a format of fewer bytes.",
      GST_VIDEO_INFO_WIDTH (&self->stream.output.video),
      GST_VIDEO_INFO_HEIGHT (&self->stream.output.video),
      GST_VIDEO_INFO_NAME (&self->stream.output.video));

  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return FALSE;
}

/* Bytes of a buffer of the pool: a frame, the samples that the plan has room for, or the one tensor
 * of a buffer that is made anew; 0 if that is too much. */
static guint
get_pool_size (GstGemmcl *self)
{
  const GstGemmclTensors *tensors = &self->stream.output.tensors;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize size;

  switch (self->stream.output.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    size = gemmcl_image_get_planes (&self->slot.problem.d_image, planes);
    break;
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!g_size_checked_mul (&size, self->slot.problem.gemm.m,
                             GST_AUDIO_INFO_BPF (&self->stream.output.audio)))
      size = 0;
    break;
  default:
    size = gst_gemmcl_tensor_get_size (&tensors->tensor[gst_gemmcl_get_output_index (self)]);
  }
  return size <= G_MAXUINT ? size : 0;
}

/* (transfer full) (nullable): Downstream's pool, if the device can write its frames as they are and
 * the element has none such: the memory of a display, for one. A plain pool has nothing special. */
static GstBufferPool *
take_peer_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps)
{
  g_autoptr (GstBufferPool) pool = NULL;
  guint size, min, max;
  GstStructure *config;

  if (self->stream.output_opencl || self->stream.output.medium != GST_GEMMCL_MEDIUM_VIDEO ||
      !shares_memory (self) || gst_query_get_n_allocation_pools (query) == 0)
    return NULL;
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  if (!pool || GST_IS_GEMMCL_POOL (pool) || G_OBJECT_TYPE (pool) == GST_TYPE_BUFFER_POOL ||
      G_OBJECT_TYPE (pool) == GST_TYPE_VIDEO_BUFFER_POOL)
    return NULL;
  size = MAX (size, self->stream.pool_size);
  config = gst_buffer_pool_get_config (pool);
  if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL) &&
      gst_buffer_pool_has_option (pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_INFO_OBJECT (self, "downstream's pool does not take its own configuration");
    return NULL;
  }
  gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  return g_steal_pointer (&pool);
}

/* Buffers in OpenCL memory: what downstream proposes may be on another device, or on none. */
static gboolean
offer_own_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps, GError **error)
{
  g_autoptr (GstAllocator) allocator = gst_gemmcl_device_get_allocator (&self->device, error);
  g_autoptr (GstBufferPool) pool = NULL;

  if (!allocator)
    return FALSE;
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  gst_query_add_allocation_param (query, allocator, NULL);
  if (self->stream.pool_size == 0)
    return TRUE;
  pool = gst_gemmcl_pool_new_configured (
      allocator, caps, self->stream.pool_size, 0,
      gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL));
  if (pool)
    gst_query_add_allocation_pool (query, pool, self->stream.pool_size, 0, 0);
  else
    self->stream.pool_size = 0;
  return TRUE;
}

static gboolean
decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_autoptr (GstBufferPool) peer = NULL;
  g_autoptr (GError) error = NULL;
  GstCaps *caps = NULL;

  gst_query_parse_allocation (query, &caps, NULL);
  self->stream.pool_size = get_pool_size (self);
  if (self->stream.output.medium == GST_GEMMCL_MEDIUM_VIDEO && self->stream.pool_size == 0)
    return refuse_size (self);
  peer = take_peer_pool (self, query, caps);
  if (!peer && !offer_own_pool (self, query, caps, &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, "OpenCL memory cannot be had.", error);
    return FALSE;
  }
  return parent_class->decide_allocation (trans, query);
}

void
gst_gemmcl_allocation_install (GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent (klass);
  klass->propose_allocation = propose_allocation;
  klass->decide_allocation = decide_allocation;
}
