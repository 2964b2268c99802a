/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/allocator.h"

#include "memory/memory-caps.h"
#include "memory/memory.h"
#include "memory/queues.h"

#define GST_CAT_DEFAULT gst_gemmcl_memory_debug

/* OpenCL aligns buffers and their mappings to its widest type. */
#define ALIGNMENT 128

G_DEFINE_FINAL_TYPE_WITH_CODE (GstGemmclAllocator, gst_gemmcl_allocator, GST_TYPE_ALLOCATOR,
                               GST_DEBUG_CATEGORY_INIT (gst_gemmcl_memory_debug, "gemmclmemory", 0,
                                                        "OpenCL memory"))

/* Parts of a memory are read-only, like those of GStreamer's memory: they lock their root. */
static GstMemory *
memory_share (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *root = memory->parent ? memory->parent : memory;
  GstGemmclMemory *self = g_new0 (GstGemmclMemory, 1);

  if (size == -1)
    size = memory->size - offset;
  gst_memory_init (&self->parent, GST_MINI_OBJECT_FLAGS (root) | GST_MINI_OBJECT_FLAG_LOCK_READONLY,
                   memory->allocator, root, root->maxsize, root->align, memory->offset + offset,
                   size);
  return &self->parent;
}

static cl_mem
create_buffer (GstGemmclAllocator *self, gsize size)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (self->context);
  const cl_mem_flags host = self->is_staged ? 0 : CL_MEM_ALLOC_HOST_PTR;
  cl_int status = CL_INVALID_BUFFER_SIZE;
  cl_mem buffer = NULL;

  if (size <= info->max_alloc_bytes)
    buffer = clCreateBuffer (gemmcl_context_get_cl_context (self->context),
                             CL_MEM_READ_WRITE | host, size, NULL, &status);
  if (status != CL_SUCCESS)
    GST_ERROR_OBJECT (self,
                      "cannot allocate %zu bytes on %s (%" G_GUINT64_FORMAT
                      " bytes of memory, at most %" G_GUINT64_FORMAT
                      " in one buffer): OpenCL error %d",
                      size, info->name, info->global_bytes, info->max_alloc_bytes, status);
  return buffer;
}

static GstMemory *
allocator_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  gsize maxsize;
  GstGemmclMemory *self;
  cl_mem buffer;

  if (params->align >= ALIGNMENT || !g_size_checked_add (&maxsize, size, params->prefix) ||
      !g_size_checked_add (&maxsize, maxsize, params->padding)) {
    GST_ERROR_OBJECT (allocator, "%zu bytes with alignment mask %zu cannot be allocated", size,
                      params->align);
    return NULL;
  }
  /* OpenCL has no empty buffers. */
  maxsize = MAX (maxsize, 1);
  buffer = create_buffer (GST_GEMMCL_ALLOCATOR (allocator), maxsize);
  if (!buffer)
    return NULL;
  self = g_new0 (GstGemmclMemory, 1);
  self->buffer = buffer;
  g_mutex_init (&self->host_lock);
  g_mutex_init (&self->lock);
  gst_memory_init (&self->parent, 0, allocator, NULL, maxsize, params->align, params->prefix, size);
  return &self->parent;
}

static void
allocator_free (GstAllocator *allocator G_GNUC_UNUSED, GstMemory *memory)
{
  if (!memory->parent)
    gst_gemmcl_memory_clear (gst_gemmcl_memory_get (memory));
  g_free (memory);
}

gboolean
gst_is_gemmcl_memory (GstMemory *memory)
{
  return memory->allocator && GST_IS_GEMMCL_ALLOCATOR (memory->allocator);
}

static void
gst_gemmcl_allocator_init (GstGemmclAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  gst_gemmcl_queues_init (self);
  allocator->mem_type = GST_GEMMCL_MEMORY_TYPE_NAME;
  allocator->mem_map_full = gst_gemmcl_memory_map;
  allocator->mem_unmap_full = gst_gemmcl_memory_unmap;
  allocator->mem_share = memory_share;
  allocator->mem_copy = gst_gemmcl_memory_copy;
  g_object_set_data (G_OBJECT (self), GST_GEMMCL_MEMORY_METHODS,
                     (gpointer)&gst_gemmcl_memory_methods);
}

static void
gst_gemmcl_allocator_finalize (GObject *object)
{
  GstGemmclAllocator *self = GST_GEMMCL_ALLOCATOR (object);

  gst_gemmcl_queues_clear (self);
  g_clear_object (&self->context);
  G_OBJECT_CLASS (gst_gemmcl_allocator_parent_class)->finalize (object);
}

static void
gst_gemmcl_allocator_class_init (GstGemmclAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_gemmcl_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = allocator_free;
}

GstAllocator *
gst_gemmcl_allocator_new (GemmclContext *context, GError **error)
{
  g_autoptr (GstAllocator) allocator =
      gst_object_ref_sink (g_object_new (GST_TYPE_GEMMCL_ALLOCATOR, NULL));
  GstGemmclAllocator *self = GST_GEMMCL_ALLOCATOR (allocator);

  self->context = g_object_ref (context);
  self->is_staged = !gemmcl_context_get_device_info (context)->host_unified;
  if (!gst_gemmcl_queues_open (self, error))
    return NULL;
  return g_steal_pointer (&allocator);
}

/* The qdata key of the memory with which the pool made a buffer. */
#define OWN g_quark_from_static_string ("gst-gemmcl-pool-memory")

/* The page size of devices and drivers. */
#define PAGE 4096

struct _GstGemmclPool {
  GstBufferPool parent;

  GstAllocator *given;  /* (nullable): of gst_gemmcl_pool_new() */
  gboolean is_laid_out; /* frames have the library's layout and a video meta */
  GstVideoInfo info;    /* of frames; with the library's offsets and strides if is_laid_out */
};

G_DEFINE_FINAL_TYPE (GstGemmclPool, gst_gemmcl_pool, GST_TYPE_BUFFER_POOL)

static const gchar **
get_options (GstBufferPool *pool G_GNUC_UNUSED)
{
  static const gchar *options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META, NULL};

  return options;
}

/* Replaces GStreamer's layout by the library's. FALSE for formats that the library lacks. */
static gboolean
lay_out (GstVideoInfo *info)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  GemmclFrame frame;

  if (!gst_gemmcl_frame_init (&frame, info))
    return FALSE;
  GST_VIDEO_INFO_SIZE (info) = gemmcl_frame_get_planes (&frame, planes);
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    GST_VIDEO_INFO_PLANE_OFFSET (info, i) = planes[i].offset;
    GST_VIDEO_INFO_PLANE_STRIDE (info, i) = planes[i].row_bytes;
  }
  return TRUE;
}

/* Raises @size to the size of a frame. Adds the option of the video meta to @config if frames have
 * the library's layout. FALSE for formats that are not supported. */
static gboolean
configure_video (GstGemmclPool *self, GstStructure *config, GstCaps *caps, guint *size)
{
  if (!gst_video_info_from_caps (&self->info, caps))
    return FALSE;
  self->is_laid_out = gst_gemmcl_caps_get_memory (caps, 0) == GST_GEMMCL_MEMORY_OPENCL ||
                      gst_buffer_pool_config_has_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (self->is_laid_out) {
    if (!lay_out (&self->info))
      return FALSE;
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  }
  if (GST_VIDEO_INFO_SIZE (&self->info) > G_MAXUINT)
    return FALSE;
  *size = MAX (*size, GST_VIDEO_INFO_SIZE (&self->info));
  return TRUE;
}

void
gst_gemmcl_pool_ask_for_pages (GstAllocationParams *params, gsize size)
{
  const gsize used = params->prefix + size + params->padding;

  params->align |= PAGE - 1;
  if (size > 0 && used % PAGE > 0)
    params->padding += PAGE - used % PAGE;
}

static gboolean
set_config (GstBufferPool *pool, GstStructure *config)
{
  GstGemmclPool *self = GST_GEMMCL_POOL (pool);
  GstAllocator *allocator = NULL;
  GstAllocationParams params;
  guint size, min, max;
  GstCaps *caps;

  if (!gst_buffer_pool_config_get_params (config, &caps, &size, &min, &max))
    return FALSE;
  self->is_laid_out = FALSE;
  if (caps && gst_structure_has_name (gst_caps_get_structure (caps, 0), GST_GEMMCL_VIDEO_MEDIA) &&
      !configure_video (self, config, caps, &size))
    return FALSE;
  gst_buffer_pool_config_get_allocator (config, &allocator, &params);
  if (self->given) {
    allocator = self->given;
    gst_allocation_params_init (&params);
  }
  if (!allocator || g_strcmp0 (allocator->mem_type, GST_ALLOCATOR_SYSMEM) == 0)
    gst_gemmcl_pool_ask_for_pages (&params, size);
  gst_buffer_pool_config_set_allocator (config, allocator, &params);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  return GST_BUFFER_POOL_CLASS (gst_gemmcl_pool_parent_class)->set_config (pool, config);
}

static GstFlowReturn
alloc_buffer (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *acquire)
{
  GstGemmclPool *self = GST_GEMMCL_POOL (pool);
  GstVideoInfo *info = &self->info;
  const GstFlowReturn flow =
      GST_BUFFER_POOL_CLASS (gst_gemmcl_pool_parent_class)->alloc_buffer (pool, buffer, acquire);

  if (flow != GST_FLOW_OK)
    return flow;
  gst_mini_object_set_qdata (GST_MINI_OBJECT (*buffer), OWN, gst_buffer_get_all_memory (*buffer),
                             (GDestroyNotify)gst_memory_unref);
  if (self->is_laid_out)
    gst_buffer_add_video_meta_full (*buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                    GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_WIDTH (info),
                                    GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_N_PLANES (info),
                                    info->offset, info->stride);
  return GST_FLOW_OK;
}

/* Removes memories that were added to a buffer, with which it would not return to the pool. */
static void
drop_guests (GstBuffer *buffer)
{
  const gpointer own = gst_mini_object_get_qdata (GST_MINI_OBJECT (buffer), OWN);
  gboolean has_own = FALSE;

  for (guint i = gst_buffer_n_memory (buffer); i > 0; i--) {
    if (gst_buffer_peek_memory (buffer, i - 1) == own)
      has_own = TRUE;
    else
      gst_buffer_remove_memory (buffer, i - 1);
  }
  if (has_own)
    GST_BUFFER_FLAG_UNSET (buffer, GST_BUFFER_FLAG_TAG_MEMORY);
}

static void
reset_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  GstMemory *memory;

  if (gst_buffer_n_memory (buffer) > 1)
    drop_guests (buffer);
  GST_BUFFER_POOL_CLASS (gst_gemmcl_pool_parent_class)->reset_buffer (pool, buffer);
  memory = gst_buffer_n_memory (buffer) > 0 ? gst_buffer_peek_memory (buffer, 0) : NULL;
  /* Another owner may still read it; the buffer does not return to the pool then. */
  if (memory && gst_is_gemmcl_memory (memory) && gst_memory_is_writable (memory))
    gst_gemmcl_memory_recycle (memory);
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
  /* The parent frees the buffers, which use the allocator. */
  gst_clear_object (&self->given);
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
gst_gemmcl_pool_new (GstAllocator *allocator)
{
  GstGemmclPool *self = gst_object_ref_sink (g_object_new (GST_TYPE_GEMMCL_POOL, NULL));

  self->given = allocator ? gst_object_ref (allocator) : NULL;
  return GST_BUFFER_POOL (self);
}

GstBufferPool *
gst_gemmcl_pool_new_configured (GstAllocator *allocator, GstCaps *caps, guint size, guint min,
                                gboolean video_meta)
{
  GstBufferPool *pool = gst_gemmcl_pool_new (allocator);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, size, min, 0);
  if (video_meta)
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config))
    g_clear_pointer (&pool, gst_object_unref);
  return pool;
}
