/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/allocator.h"

#include "memory/memory.h"
#include "memory/queues.h"

#define GST_CAT_DEFAULT gst_gemmcl_memory_debug

/* OpenCL aligns buffers and their mappings to its widest type. */
#define ALIGNMENT 128

G_DEFINE_FINAL_TYPE_WITH_CODE (GstGemmclAllocator, gst_gemmcl_allocator, GST_TYPE_ALLOCATOR,
                               GST_DEBUG_CATEGORY_INIT (gst_gemmcl_memory_debug, "gemmclmemory", 0,
                                                        "OpenCL memory"))

/* GStreamer adds the offset of @memory to the result, so it is subtracted from a cl_mem. */
static gpointer
memory_map (GstMemory *memory, GstMapInfo *info, gsize maxsize G_GNUC_UNUSED)
{
  GstGemmclMemory *self = gst_gemmcl_memory_get (memory);

  if (!(info->flags & GST_GEMMCL_MAP_OPENCL))
    return gst_gemmcl_memory_map_host (self, info->flags);
  return gst_gemmcl_memory_open_device (self, info->flags) ? (guchar *)self->buffer - memory->offset
                                                           : NULL;
}

static void
memory_unmap (GstMemory *memory, GstMapInfo *info)
{
  if (!(info->flags & GST_GEMMCL_MAP_OPENCL))
    gst_gemmcl_memory_unmap_host (gst_gemmcl_memory_get (memory));
}

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

/* Copies on the device. */
static GstMemory *
memory_copy (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *copy;

  if (size == -1)
    size = memory->size > (gsize)offset ? memory->size - offset : 0;
  copy = gst_allocator_alloc (memory->allocator, size, NULL);
  if (copy && size > 0 &&
      !gst_gemmcl_memory_copy (gst_gemmcl_memory_get (memory), memory->offset + offset,
                               gst_gemmcl_memory_get (copy), size))
    g_clear_pointer (&copy, gst_memory_unref);
  return copy;
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

cl_command_queue
gst_gemmcl_memory_get_kernel_queue (GstMemory *memory)
{
  return g_atomic_pointer_get (&GST_GEMMCL_ALLOCATOR (memory->allocator)->kernels);
}

static void
gst_gemmcl_allocator_init (GstGemmclAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  gst_gemmcl_queues_init (self);
  allocator->mem_type = GST_GEMMCL_MEMORY_TYPE_NAME;
  allocator->mem_map_full = memory_map;
  allocator->mem_unmap_full = memory_unmap;
  allocator->mem_share = memory_share;
  allocator->mem_copy = memory_copy;
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
