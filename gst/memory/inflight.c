/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/inflight.h"

#include "memory/error.h"
#include "memory/memory-caps.h"

void
gst_gemmcl_mapping_clear (GstGemmclMapping *self)
{
  if (self->frame.buffer)
    gst_video_frame_unmap (&self->frame);
  if (self->memory) {
    gst_memory_unmap (self->memory, &self->map);
    gst_memory_unref (self->memory);
  }
  self->frame.buffer = NULL;
  self->memory = NULL;
  gst_clear_buffer (&self->held);
}

/* Returns: (transfer full) (nullable): a buffer of the same memory whose video meta names the
 * format, if the meta of @buffer does not: GStreamer cannot map a frame without its format. */
static GstBuffer *
name_format (const GstVideoInfo *info, GstBuffer *buffer)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstBuffer *named;

  if (!meta || meta->format != GST_VIDEO_FORMAT_DMA_DRM)
    return NULL;
  named = gst_buffer_copy_region (buffer, GST_BUFFER_COPY_MEMORY, 0, -1);
  gst_buffer_add_video_meta_full (named, meta->flags, GST_VIDEO_INFO_FORMAT (info), meta->width,
                                  meta->height, meta->n_planes, meta->offset, meta->stride);
  return named;
}

gboolean
gst_gemmcl_refuse_memory (GstMemory *memory, GError **error)
{
  const GstAllocator *allocator = memory ? memory->allocator : NULL;

  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_IO,
      "The host cannot map the memory of a buffer, \"%s\" of %s. Expected system memory, gemmcl's "
      "OpenCL memory, or other memory that the host can map; caps without memory features ask for "
      "the first.",
      allocator ? allocator->mem_type : "none",
      allocator ? G_OBJECT_TYPE_NAME (allocator) : "no allocator");
}

/* FALSE if a memory of @buffer cannot be mapped on the host. */
static gboolean
can_map (GstBuffer *buffer, GstMapFlags access, GError **error)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);
    GstMapInfo map;

    if (!gst_memory_map (memory, &map, access))
      return gst_gemmcl_refuse_memory (memory, error);
    gst_memory_unmap (memory, &map);
  }
  return TRUE;
}

/* Maps @memory for the device. @data: (out): its start. FALSE if it is not OpenCL memory of
 * @context. */
static gboolean
open_opencl (GstGemmclMapping *self, GemmclContext *context, GstMemory *memory, GstMapFlags access,
             GemmclData *data)
{
  gsize offset;

  if (gst_gemmcl_memory_get_cl_context (memory) != gemmcl_context_get_cl_context (context) ||
      !gst_memory_map (memory, &self->map, access | GST_GEMMCL_MAP_OPENCL))
    return FALSE;
  self->memory = gst_memory_ref (memory);
  gst_memory_get_sizes (memory, &offset, NULL);
  *data = (GemmclData){
      .kind = GEMMCL_DATA_BUFFER, .objects = {(cl_mem)self->map.data}, .offset = {offset}};
  return TRUE;
}

/* Finds @n bytes that begin with byte @at of @buffer. @place: (out): their start in a memory. FALSE
 * if no memory holds all of them. gst_buffer_find_memory() counts only up to 4 GiB. With @merged
 * the memories count as one, as in a map of the whole buffer, and @place is not set. */
static gboolean
find_bytes (GstBuffer *buffer, gsize at, gsize n, gboolean merged, gsize *place)
{
  if (merged)
    return at + n <= gst_buffer_get_size (buffer);
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    gsize start;
    const gsize size = gst_memory_get_sizes (gst_buffer_peek_memory (buffer, i), &start, NULL);

    if (at < size) {
      *place = start + at;
      return n <= size - at;
    }
    at -= size;
  }
  return FALSE;
}

void
gst_gemmcl_get_crop (GstBuffer *buffer, gsize *x, gsize *y)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);

  *x = crop ? crop->x : 0;
  *y = crop ? crop->y : 0;
}

gboolean
gst_gemmcl_frame_cut (GemmclFrame *frame, GstBuffer *buffer, GError **error)
{
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const gsize width = meta ? meta->width : frame->width;
  const gsize height = meta ? meta->height : frame->height;
  const gboolean has_chroma = gemmcl_pixel_format_get_n_planes (frame->format) > 1;

  frame->left = crop && has_chroma ? crop->x % 2 : 0;
  frame->top = crop && has_chroma ? crop->y % (frame->interlaced ? 4 : 2) : 0;
  if (!crop || (crop->width == frame->width && crop->height == frame->height &&
                crop->x + frame->width <= width && crop->y + frame->height <= height))
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "The GstVideoCropMeta of a buffer names %ux%u pixels at (%u, %u) of "
                          "%zux%zu; expected %zux%zu pixels within the frame, as caps state.",
                          crop->width, crop->height, crop->x, crop->y, width, height, frame->width,
                          frame->height);
}

/* Returns: the bytes from the start of plane @i to pixel (@x, @y), or to its sample of chroma. */
static gssize
find_pixel (const GemmclFrame *frame, const GstVideoInfo *info, guint i, gssize stride, gsize x,
            gsize y)
{
  if (i > 0) {
    x = (x - frame->left) / 2;
    y = (y - frame->top) / 2;
  }
  return (gssize)y * stride + (gssize)x * GST_VIDEO_INFO_COMP_PSTRIDE (info, i);
}

gboolean
gst_gemmcl_find_planes (const GemmclFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                        GemmclData *data)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  const gboolean merged = !meta && data->kind == GEMMCL_DATA_HOST;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  gsize x, y;

  if (meta &&
      ((meta->format != GST_VIDEO_INFO_FORMAT (info) && meta->format != GST_VIDEO_FORMAT_DMA_DRM) ||
       meta->width < frame->width || meta->height < frame->height ||
       meta->n_planes != GST_VIDEO_INFO_N_PLANES (info)))
    return FALSE;
  gst_gemmcl_get_crop (buffer, &x, &y);
  gemmcl_frame_get_planes (frame, planes);
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    const gssize stride = meta ? meta->stride[i] : GST_VIDEO_INFO_PLANE_STRIDE (info, i);
    const gsize offset = (meta ? meta->offset[i] : GST_VIDEO_INFO_PLANE_OFFSET (info, i)) +
                         find_pixel (frame, info, i, stride, x, y);
    const gsize row_bytes = planes[i].row_bytes;
    const gsize last = (planes[i].rows - 1) * ABS (stride); /* the last row's distance */

    if ((data->kind != GEMMCL_DATA_HOST && stride < (gssize)row_bytes) ||
        !find_bytes (buffer, stride < 0 ? offset - last : offset, last + row_bytes, merged,
                     &data->offset[i]))
      return FALSE;
    data->stride[i] = stride;
  }
  return TRUE;
}

gsize
gst_gemmcl_frame_get_size (const GemmclFrame *frame, const GstVideoInfo *info)
{
  const guint last = GST_VIDEO_INFO_N_PLANES (info) - 1;
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  gemmcl_frame_get_planes (frame, planes);
  return MAX (GST_VIDEO_INFO_SIZE (info),
              GST_VIDEO_INFO_PLANE_OFFSET (info, last) +
                  planes[last].rows * GST_VIDEO_INFO_PLANE_STRIDE (info, last));
}

gboolean
gst_gemmcl_mapping_open_frame (GstGemmclMapping *self, GemmclContext *context,
                               const GemmclFrame *frame, const GstVideoInfo *info,
                               GstBuffer *buffer, GstMapFlags access, GemmclData *data,
                               GError **error)
{
  g_autoptr (GstBuffer) named = NULL;
  gsize x, y;

  if (gst_buffer_n_memory (buffer) == 1 &&
      open_opencl (self, context, gst_buffer_peek_memory (buffer, 0), access, data) &&
      gst_gemmcl_find_planes (frame, info, buffer, data))
    return TRUE;
  gst_gemmcl_mapping_clear (self);
  *data = (GemmclData){.kind = GEMMCL_DATA_HOST};
  named = name_format (info, buffer);
  /* GStreamer does not check the planes of a video meta. */
  if (!gst_gemmcl_find_planes (frame, info, buffer, data) ||
      !gst_video_frame_map (&self->frame, info, named ? named : buffer, access))
    return can_map (buffer, access, error) &&
           gst_gemmcl_fail (
               error, GEMMCL_ERROR_FORMAT,
               "A buffer of %zu bytes cannot be mapped as a %dx%d %s frame; expected "
               "%zu bytes, or a video meta of this size and format, each of whose planes "
               "lies within one memory.",
               gst_buffer_get_size (buffer), GST_VIDEO_INFO_WIDTH (info),
               GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_NAME (info),
               gst_gemmcl_frame_get_size (frame, info));
  gst_gemmcl_get_crop (buffer, &x, &y);
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES (&self->frame); i++) {
    data->stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (&self->frame, i);
    data->host[i] = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA (&self->frame, i) +
                    find_pixel (frame, info, i, data->stride[i], x, y);
  }
  return TRUE;
}

gboolean
gst_gemmcl_mapping_open_memory (GstGemmclMapping *self, GemmclContext *context, GstMemory *memory,
                                gsize offset, GstMapFlags access, gsize alignment, GemmclData *data,
                                GError **error)
{
  if (memory && open_opencl (self, context, memory, access, data)) {
    gst_memory_unref (memory);
    data->offset[0] += offset;
    return TRUE;
  }
  *data = (GemmclData){.kind = GEMMCL_DATA_HOST};
  if (memory && gst_memory_map (memory, &self->map, access)) {
    data->host[0] = self->map.data + offset;
    if ((guintptr)data->host[0] % alignment == 0) {
      self->memory = memory;
      return TRUE;
    }
    gst_memory_unmap (memory, &self->map);
    if (!(access & GST_MAP_WRITE)) {
      GstMemory *copy = gst_memory_copy (memory, offset, -1);

      gst_memory_unref (memory);
      return gst_gemmcl_mapping_open_memory (self, context, copy, 0, access, alignment, data,
                                             error);
    }
  }
  gst_gemmcl_refuse_memory (memory, error);
  g_clear_pointer (&memory, gst_memory_unref);
  return FALSE;
}

GstGemmclInflight *
gst_gemmcl_inflight_new (guint batch)
{
  GstGemmclInflight *self = g_atomic_rc_box_new0 (GstGemmclInflight);

  g_mutex_init (&self->lock);
  self->mappings = g_new0 (GstGemmclMapping, batch);
  return self;
}

static void
clear (gpointer data)
{
  GstGemmclInflight *self = data;
  GstClockTime time;

  gst_gemmcl_inflight_finish (self, &time);
  g_mutex_clear (&self->lock);
  g_free (self->mappings);
}

void
gst_gemmcl_inflight_unref (GstGemmclInflight *self)
{
  g_atomic_rc_box_release_full (self, clear);
}

void
gst_gemmcl_inflight_begin (GstGemmclInflight *self, guint n, GemmclContext *context, cl_event done)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  self->done = done;
  self->context = g_object_ref (context);
  self->n = n;
}

gboolean
gst_gemmcl_event_ask (cl_event event, cl_int *status)
{
  *status = CL_COMPLETE;
  return !event || clGetEventInfo (event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status,
                                   NULL) == CL_SUCCESS;
}

gboolean
gst_gemmcl_event_has_ended (cl_event event)
{
  cl_int status;

  return gst_gemmcl_event_ask (event, &status) && status <= CL_COMPLETE;
}

cl_event
gst_gemmcl_inflight_get_event (GstGemmclInflight *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  if (self->done)
    clRetainEvent (self->done);
  return self->done;
}

void
gst_gemmcl_inflight_wait (GstGemmclInflight *self)
{
  g_autoptr (GemmclContext) context = NULL;
  cl_event done = NULL;

  g_mutex_lock (&self->lock);
  if (self->done) {
    context = g_object_ref (self->context);
    done = self->done;
    clRetainEvent (done);
  }
  g_mutex_unlock (&self->lock);
  if (!done)
    return;
  gemmcl_context_wait (context, done);
  clReleaseEvent (done);
}

gboolean
gst_gemmcl_inflight_is_busy (GstGemmclInflight *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  cl_int status;

  return gst_gemmcl_event_ask (self->done, &status) && status > CL_COMPLETE;
}

static void
release_locked (GstGemmclInflight *self)
{
  for (guint i = 0; i < self->n; i++)
    gst_gemmcl_mapping_clear (&self->mappings[i]);
  self->n = 0;
}

/* Longer times are wrong: some drivers take both ends from different clocks. */
#define MAX_TIME (60 * GST_SECOND)

GstClockTime
gst_gemmcl_event_get_time (cl_event event)
{
  cl_ulong queued = 0, end = 0;

  if (clGetEventProfilingInfo (event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL) !=
          CL_SUCCESS ||
      clGetEventProfilingInfo (event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) !=
          CL_SUCCESS ||
      end < queued || end - queued > MAX_TIME)
    return GST_CLOCK_TIME_NONE;
  return end - queued;
}

cl_int
gst_gemmcl_inflight_finish (GstGemmclInflight *self, GstClockTime *time)
{
  g_autoptr (GemmclContext) context = NULL;
  cl_event done = NULL;
  cl_int status;

  *time = GST_CLOCK_TIME_NONE;
  g_mutex_lock (&self->lock);
  done = g_steal_pointer (&self->done);
  context = g_steal_pointer (&self->context);
  g_mutex_unlock (&self->lock);
  if (!done)
    return CL_SUCCESS;
  status = gemmcl_context_wait (context, done);
  *time = gst_gemmcl_event_get_time (done);
  clReleaseEvent (done);
  g_mutex_lock (&self->lock);
  release_locked (self);
  g_mutex_unlock (&self->lock);
  return status;
}

void
gst_gemmcl_inflight_release (GstGemmclInflight *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  if (self->done && gst_gemmcl_event_has_ended (self->done))
    release_locked (self);
}
