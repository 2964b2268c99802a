/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Allocation on both pads. The element offers upstream the memory that the device reads with the
 * fewest copies. With caps of OpenCL memory that is OpenCL memory. With caps of system memory it is
 * whole pages if the device shares the memory of the host; otherwise it is OpenCL memory with
 * pinned host memory, from which the device copies while other kernels run.
 *
 * Outputs are in OpenCL memory, also with caps of system memory: a map waits for the device. A
 * device that shares the memory of the host also writes into the buffers of a special pool of
 * downstream. Each of several devices has a pool of its own.
 *
 * With output=meta inputs pass to downstream, so the element offers upstream what downstream
 * proposes. */
#include "element/allocation.h"

#include "element/element.h"
#include "memory/pool.h"

static GstBaseTransformClass *parent_class = NULL;

/* TRUE if the device shares the memory of the host. */
static gboolean
shares_memory (GstGemmclSharing *sharing)
{
  g_autoptr (GemmclContext) context = gst_gemmcl_sharing_get_context (sharing);

  return context && gemmcl_context_get_device_info (context)->host_unified;
}

/* Returns: the largest number of inputs that the element holds at once: those of all runs in
 * flight, and of a batch that is being collected. The buffer that upstream is pushing is not
 * counted. */
static guint
get_held (const GstGemmclSettings *settings, guint n_devices)
{
  return settings->batch_size * (settings->queue_depth * n_devices + 1) - 1;
}

/* Returns: the bytes of an input; 0 if inputs differ, have several memories or are too large for
 * a pool. */
static guint
get_input_size (const GstGemmclFormat *format)
{
  gsize size = 0;

  if (format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    size = gst_gemmcl_frame_get_size (&format->frame, &format->video);
  else if (format->medium == GST_GEMMCL_MEDIUM_TENSORS && !format->tensors.flexible &&
           format->tensors.n == 1)
    size = gst_gemmcl_tensor_get_size (&format->tensors.tensor[0]);
  return size <= G_MAXUINT ? size : 0;
}

/* Proposes a pool of at least @held buffers: of memory of @allocator or, if that is NULL, of pages.
 * Without @need_pool it proposes only the size of buffers. */
static void
propose_pool (GstQuery *query, GstCaps *caps, guint size, guint held, GstAllocator *allocator,
              gboolean need_pool)
{
  g_autoptr (GstBufferPool) pool = NULL;

  if (need_pool && size > 0)
    pool = gst_gemmcl_pool_new_configured (allocator, caps, size, held, FALSE);
  if (size > 0 && (pool || !allocator))
    gst_query_add_allocation_pool (query, pool, size, held, 0);
}

/* Lets downstream answer @query, since inputs pass to it. Raises the minimum of its pools by the
 * buffers that the element holds. */
static gboolean
propose_of_downstream (GstPad *srcpad, GstQuery *query, guint held)
{
  if (!gst_pad_peer_query (srcpad, query))
    return FALSE;
  for (guint i = 0; i < gst_query_get_n_allocation_pools (query); i++) {
    g_autoptr (GstBufferPool) pool = NULL;
    guint size, min, max;

    gst_query_parse_nth_allocation_pool (query, i, &pool, &size, &min, &max);
    min = MIN (min + held, max > 0 ? max : G_MAXUINT);
    gst_query_set_nth_allocation_pool (query, i, pool, size, min, max);
  }
  return TRUE;
}

static gboolean
propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  GstAllocationParams params;
  GstGemmclFormat format;
  gboolean need_pool;
  GstCaps *caps = NULL;
  guint size;
  const guint held = get_held (&self->stream.settings, self->n_devices);
  const gboolean is_passed = gst_gemmcl_stream_is_meta (&self->stream) &&
                             propose_of_downstream (trans->srcpad, query, held);

  /* The base class copies the metas that downstream supports. */
  if (!is_passed && !parent_class->propose_allocation (trans, decide_query, query))
    return FALSE;
  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!caps ||
      (is_passed &&
       gst_query_get_n_allocation_params (query) + gst_query_get_n_allocation_pools (query) > 0) ||
      gst_gemmcl_carriers_have (caps, 0, &self->stream.settings) ||
      !gst_gemmcl_format_from_caps (&format, caps, NULL))
    return TRUE;
  size = get_input_size (&format);
  if (!gst_gemmcl_stream_is_meta (&self->stream) && format.medium == GST_GEMMCL_MEDIUM_VIDEO) {
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
    gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  }
  if (format.memory == GST_GEMMCL_MEMORY_SYSTEM && shares_memory (&self->sharing)) {
    gst_allocation_params_init (&params);
    gst_gemmcl_pool_ask_for_pages (&params, size);
    gst_query_add_allocation_param (query, NULL, &params);
    propose_pool (query, caps, size, held, NULL, need_pool);
  } else if (format.memory > GST_GEMMCL_MEMORY_OPENCL) {
    /* Other memory comes from pools of upstream, which must have enough buffers. */
    propose_pool (query, caps, size, held, NULL, FALSE);
  } else if (format.memory == GST_GEMMCL_MEMORY_OPENCL || need_pool) {
    /* Upstream may also allocate buffers without the pool. */
    if (format.memory == GST_GEMMCL_MEMORY_OPENCL)
      gst_query_add_allocation_param (query, self->devices->allocator, NULL);
    propose_pool (query, caps, size, held, self->devices->allocator, TRUE);
  }
  return TRUE;
}

/* Posts an error for a frame of 4 GiB or more. GStreamer counts its bytes in 32 bits, in pools and
 * elsewhere, but does not refuse all such caps. */
static gboolean
refuse_size (GstGemmcl *self)
{
  g_autoptr (GError) error = g_error_new (
      GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
      "An output frame of %dx%d in %s has 4 GiB or more; expected less, the limit of buffers of a "
      "GStreamer pool. Scale or crop the frame, or let downstream take a format of fewer bytes.",
      GST_VIDEO_INFO_WIDTH (&self->stream.output.video),
      GST_VIDEO_INFO_HEIGHT (&self->stream.output.video),
      GST_VIDEO_INFO_NAME (&self->stream.output.video));

  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return FALSE;
}

/* Returns: (transfer full) (nullable): the pool of downstream, if it is a special pool, such as
 * that of a display, and if the device can write its frames in place. */
static GstBufferPool *
take_peer_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps)
{
  g_autoptr (GstBufferPool) pool = NULL;
  guint size, min, max;
  GstStructure *config;

  if (self->stream.output.memory == GST_GEMMCL_MEMORY_OPENCL ||
      self->stream.output.medium != GST_GEMMCL_MEDIUM_VIDEO || self->n_devices > 1 ||
      !shares_memory (&self->sharing) || gst_query_get_n_allocation_pools (query) == 0)
    return NULL;
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  if (!pool || GST_IS_GEMMCL_POOL (pool) || G_OBJECT_TYPE (pool) == GST_TYPE_BUFFER_POOL ||
      G_OBJECT_TYPE (pool) == GST_TYPE_VIDEO_BUFFER_POOL)
    return NULL;
  size = MAX (size, self->pool_size);
  config = gst_buffer_pool_get_config (pool);
  if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL) &&
      gst_buffer_pool_has_option (pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_INFO_OBJECT (self, "the pool of downstream refuses its own configuration");
    return NULL;
  }
  gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  return g_steal_pointer (&pool);
}

/* Replaces the pools of @query by a pool of OpenCL memory of the element's device. A pool of
 * downstream may be in other memory. */
static gboolean
offer_own_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps, GError **error)
{
  GstAllocator *allocator = self->devices->allocator;
  g_autoptr (GstBufferPool) pool = NULL;

  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  gst_query_add_allocation_param (query, allocator, NULL);
  if (self->pool_size == 0)
    return gst_gemmcl_devices_set_pools (self->devices, self->n_devices, NULL, error);
  pool = gst_gemmcl_pool_new_configured (
      allocator, caps, self->pool_size, 0,
      !gst_gemmcl_stream_is_meta (&self->stream) &&
          gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL));
  if (pool)
    gst_query_add_allocation_pool (query, pool, self->pool_size, 0, 0);
  else
    self->pool_size = 0;
  return gst_gemmcl_devices_set_pools (self->devices, self->n_devices, pool, error);
}

static gboolean
decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_autoptr (GstBufferPool) peer = NULL;
  g_autoptr (GstCaps) tensors = gst_caps_new_empty_simple (GST_GEMMCL_TENSORS_MEDIA);
  g_autoptr (GError) error = NULL;
  /* With flexible tensors the problem is not known before the first buffer. */
  const gboolean is_known =
      gst_gemmcl_devices_get_plan (self) || !self->stream.input.tensors.flexible;
  const gsize size =
      is_known ? gst_gemmcl_output_get_size (&self->stream, &self->problem, self->problem.gemm.m)
               : 0;
  GstCaps *caps = NULL;

  gst_query_parse_allocation (query, &caps, NULL);
  self->pool_size = size <= G_MAXUINT ? size : 0;
  if (self->stream.output.medium == GST_GEMMCL_MEDIUM_VIDEO && self->pool_size == 0)
    return refuse_size (self);
  peer = take_peer_pool (self, query, caps);
  if (!peer &&
      !offer_own_pool (self, query, gst_gemmcl_stream_is_meta (&self->stream) ? tensors : caps,
                       &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, "OpenCL memory cannot be allocated.", error);
    return FALSE;
  }
  /* The base class would configure the pool for @caps, which are the caps of the input. */
  return gst_gemmcl_stream_is_meta (&self->stream) ||
         parent_class->decide_allocation (trans, query);
}

void
gst_gemmcl_allocation_install (GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent (klass);
  klass->propose_allocation = propose_allocation;
  klass->decide_allocation = decide_allocation;
}
