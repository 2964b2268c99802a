/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-device.h"

#include <string.h>

#include "gemmcl-drm.h"
#include "gemmcl-pool.h"
#include "gemmcl-system.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

/* The element's, for its context. (transfer none) */
static GstAllocator *
get_allocator (GstGemmcl *self, GError **error)
{
  g_mutex_lock (&self->lock);
  if (!self->allocator && self->context)
    self->allocator = gst_gemmcl_allocator_new (self->context, error);
  g_mutex_unlock (&self->lock);
  return self->allocator;
}

gboolean
gst_gemmcl_device_decide (GstGemmcl *self, GstQuery *query, GstCaps *caps)
{
  g_autoptr (GstBufferPool) pool = NULL;
  g_autoptr (GError) error = NULL;
  GstAllocator *allocator = get_allocator (self, &error);

  if (!allocator) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, "OpenCL memory cannot be had.", error);
    return FALSE;
  }
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  gst_query_add_allocation_param (query, allocator, NULL);
  self->pool_size = gst_gemmcl_get_pool_size (self);
  if (self->pool_size > 0)
    pool = gst_gemmcl_pool_new_configured (allocator, caps, self->pool_size, 0);
  if (pool)
    gst_query_add_allocation_pool (query, pool, self->pool_size, 0, 0);
  else
    self->pool_size = 0;
  return TRUE;
}

void
gst_gemmcl_device_propose_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint size,
                                guint min)
{
  GstAllocator *allocator = get_allocator (self, NULL);
  g_autoptr (GstBufferPool) pool =
      allocator ? gst_gemmcl_pool_new_configured (allocator, caps, size, min) : NULL;

  if (pool)
    gst_query_add_allocation_pool (query, pool, size, min, 0);
}

void
gst_gemmcl_device_propose (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint min)
{
  GstAllocator *allocator = get_allocator (self, NULL);
  GstGemmclFormat format;
  gsize size = 0;

  if (!allocator)
    return;
  gst_query_add_allocation_param (query, allocator, NULL);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (!gst_gemmcl_format_from_caps (&format, caps, NULL))
    return;
  if (format.medium == GST_GEMMCL_MEDIUM_VIDEO)
    size = GST_VIDEO_INFO_SIZE (&format.video);
  else if (format.medium == GST_GEMMCL_MEDIUM_TENSORS && format.tensors.n == 1)
    size = gst_gemmcl_tensor_get_size (&format.tensors.tensor[0]);
  if (size > 0 && size <= G_MAXUINT)
    gst_gemmcl_device_propose_pool (self, query, caps, size, min);
}

/* Maps memory @index of @n in @buffer; sets @data to its start. */
static gboolean
open_memory (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, guint index, guint n,
             GstMapFlags access, GemmclDeviceData *data)
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
  *data = (GemmclDeviceData){.buffer = (cl_mem)mapping->map.data};
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
    data->offset[i] = offset;
  return TRUE;
}

gboolean
gst_gemmcl_device_find_planes (const GemmclImage *image, const GstVideoInfo *info,
                               GstBuffer *buffer, gsize size, GemmclDeviceData *data)
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

static gboolean
open_audio (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, GemmclDeviceData *data)
{
  gsize offset, samples;

  if (!gst_gemmcl_get_samples (&self->input.audio, buffer, &offset, &samples, NULL) ||
      !open_memory (self, mapping, buffer, 0, 1, GST_MAP_READ, data))
    return FALSE;
  data->offset[0] += offset;
  return TRUE;
}

static gboolean
open_tensor (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, GemmclDeviceData *data)
{
  const GstGemmclTensors *tensors = &self->input.tensors;
  const guint index = tensors->n > 1 ? self->settings.tensor_index : 0;

  return open_memory (self, mapping, buffer, index, tensors->n, GST_MAP_READ, data) &&
         mapping->map.size ==
             gst_gemmcl_tensor_get_size (&tensors->tensor[self->settings.tensor_index]);
}

static gboolean
open_picture (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, GstMapFlags access,
              GemmclDeviceData *data)
{
  const gboolean read = access == GST_MAP_READ;

  return open_memory (self, mapping, buffer, 0, 1, access, data) &&
         gst_gemmcl_device_find_planes (read ? &self->problem.a_image : &self->problem.d_image,
                                        read ? &self->input.video : &self->output.video, buffer,
                                        mapping->map.size, data);
}

gboolean
gst_gemmcl_device_open_input (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                              GemmclDeviceData *data)
{
  gboolean opened;

  switch (self->input.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    opened = open_picture (self, mapping, buffer, GST_MAP_READ, data);
    break;
  case GST_GEMMCL_MEDIUM_AUDIO:
    opened = open_audio (self, mapping, buffer, data);
    break;
  default:
    opened = open_tensor (self, mapping, buffer, data);
  }
  if (!opened)
    gst_gemmcl_mapping_clear (mapping);
  return opened;
}

gboolean
gst_gemmcl_device_open_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                               GemmclDeviceData *data)
{
  gboolean opened;

  if (self->output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    opened = open_picture (self, mapping, buffer, GST_MAP_WRITE, data);
  else
    opened = open_memory (self, mapping, buffer, gst_gemmcl_get_output_index (self),
                          gst_buffer_n_memory (buffer), GST_MAP_WRITE, data);
  if (!opened)
    gst_gemmcl_mapping_clear (mapping);
  return opened;
}

gboolean
gst_gemmcl_device_open_previous (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                                 GemmclDeviceData *data)
{
  return open_memory (self, mapping, buffer, gst_gemmcl_get_output_index (self),
                      gst_buffer_n_memory (buffer), GST_MAP_READ, data);
}

static gboolean
copy_bytes (GstMemory *from, GstMemory *to)
{
  GstMapInfo source, target;

  if (!gst_memory_map (from, &source, GST_MAP_READ))
    return FALSE;
  if (!gst_memory_map (to, &target, GST_MAP_WRITE)) {
    gst_memory_unmap (from, &source);
    return FALSE;
  }
  memcpy (target.data, source.data, MIN (target.size, source.size));
  gst_memory_unmap (to, &target);
  gst_memory_unmap (from, &source);
  return TRUE;
}

GstMemory *
gst_gemmcl_device_take_memory (GstGemmcl *self, GstMemory *memory)
{
  GstMemory *copy;

  if (gst_memory_is_type (memory, GST_OPENCL_MEMORY_TYPE_NAME))
    return memory;
  copy = gst_allocator_alloc (get_allocator (self, NULL), gst_memory_get_sizes (memory, NULL, NULL),
                              NULL);
  if (copy && !copy_bytes (memory, copy))
    g_clear_pointer (&copy, gst_memory_unref);
  gst_memory_unref (memory);
  return copy;
}
