/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/**
 * memory:OpenCL: buffers whose memory is a cl_mem, as the element gemmcl takes and makes them. This
 * header is all that another element needs: nothing is to be linked but GStreamer and OpenCL.
 *
 * Caps with the feature #GST_CAPS_FEATURE_MEMORY_OPENCL promise that each GstMemory of a buffer is
 * of the type #GST_OPENCL_MEMORY_TYPE_NAME. Pictures have a GstVideoMeta that says where their
 * planes lie: rows follow one another without the padding that GStreamer's own layout has.
 *
 * On the host: such memory is mapped as any other. What the device still writes is waited for, and
 * what the host wrote is on the device before its next use there. A map fails when the command that
 * was to write the memory failed.
 *
 * On the device: a command that reads, in C:
 *
 *     GstMapInfo map;
 *     cl_event wait[GST_OPENCL_MAX_EVENTS], done;
 *     gsize offset;
 *     guint n;
 *
 *     if (gst_opencl_memory_get_context (memory) != mine ||
 *         !gst_memory_map (memory, &map, (GstMapFlags) (GST_MAP_READ | GST_MAP_OPENCL)))
 *       return FALSE;                              // map it for the host, and copy
 *     gst_memory_get_sizes (memory, &offset, NULL);
 *     n = gst_opencl_memory_get_events (memory, GST_MAP_READ, wait);
 *     status = clEnqueueCopyBuffer (queue, (cl_mem) map.data, other, offset, 0, map.size,
 *                                   n, n > 0 ? wait : NULL, &done);
 *     gst_opencl_release_events (n, wait);
 *     if (status == CL_SUCCESS) {
 *       clFlush (queue);                           // others wait for done in their queues
 *       gst_opencl_memory_add_event (memory, GST_MAP_READ, done);
 *       clReleaseEvent (done);
 *     }
 *     gst_memory_unmap (memory, &map);
 *
 * One that writes does the same with GST_MAP_WRITE, or with both; the buffer and its memory have to
 * be writable then, as for a map of the host. Nothing of this blocks. What was enqueued keeps the
 * cl_mem, so that the buffer may be released at once, also to its pool: whoever gets it next waits
 * for the events.
 *
 * Everything here may be called from any thread; of one memory as GStreamer has it for maps: many
 * readers, or one writer.
 */
#ifndef CL_TARGET_OPENCL_VERSION
  #define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/** GST_CAPS_FEATURE_MEMORY_OPENCL: the feature of caps. */
#define GST_CAPS_FEATURE_MEMORY_OPENCL "memory:OpenCL"

/** GST_OPENCL_MEMORY_TYPE_NAME: what gst_memory_is_type() is asked. */
#define GST_OPENCL_MEMORY_TYPE_NAME "OpenCLMemory"

/**
 * GST_MAP_OPENCL:
 *
 * With GST_MAP_READ, GST_MAP_WRITE or both: GstMapInfo.data is the cl_mem, which lives as long as
 * the GstMemory; clRetainMemObject() it to keep it longer. The memory's bytes begin at the offset
 * that gst_memory_get_sizes() gives and are GstMapInfo.size. Fails only where what the host wrote
 * cannot be sent to the device. Map the memory, not the buffer: a buffer of several memories would
 * be merged into one of the system.
 */
#define GST_MAP_OPENCL ((GstMapFlags)(GST_MAP_FLAG_LAST << 1))

/** GST_OPENCL_MAX_EVENTS: more than that has never to be waited for at once. */
#define GST_OPENCL_MAX_EVENTS 8

/**
 * GstOpenCLMemoryMethods:
 * @size: of this struct; later versions may be longer
 * @get_context, @get_events, @add_event: see the functions below
 *
 * What an allocator of such memory has as its object data #GST_OPENCL_MEMORY_METHODS; static.
 */
typedef struct {
  gsize size;
  cl_context (*get_context) (GstMemory *memory);
  guint (*get_events) (GstMemory *memory, GstMapFlags access,
                       cl_event events[GST_OPENCL_MAX_EVENTS]);
  void (*add_event) (GstMemory *memory, GstMapFlags access, cl_event event);
} GstOpenCLMemoryMethods;

#define GST_OPENCL_MEMORY_METHODS "gst-opencl-memory-methods"

/** gst_opencl_memory_get_methods: Returns: (transfer none): %NULL for memory of another type. */
static inline const GstOpenCLMemoryMethods *
gst_opencl_memory_get_methods (GstMemory *memory)
{
  if (!gst_memory_is_type (memory, GST_OPENCL_MEMORY_TYPE_NAME))
    return NULL;
  return (const GstOpenCLMemoryMethods *)g_object_get_data (G_OBJECT (memory->allocator),
                                                            GST_OPENCL_MEMORY_METHODS);
}

/**
 * gst_opencl_memory_get_context:
 * @memory: of any type
 *
 * Returns: (transfer none) (nullable): the cl_context to which the cl_mem belongs; lives as long as
 *   @memory. %NULL for memory of another type: the functions below are not for that.
 */
static inline cl_context
gst_opencl_memory_get_context (GstMemory *memory)
{
  const GstOpenCLMemoryMethods *methods = gst_opencl_memory_get_methods (memory);

  return methods ? methods->get_context (memory) : NULL;
}

/**
 * gst_opencl_memory_get_events:
 * @memory: mapped with #GST_MAP_OPENCL
 * @access: GST_MAP_READ, GST_MAP_WRITE or both: what the command is going to do
 * @events: (out caller-allocates) (transfer full): what it has to wait for: before it reads, the
 *   last write, though that may be done; before it writes, the reads since then, too. An event that
 *   fails makes the command fail, by OpenCL's rules
 *
 * Returns: how many there are; to be released, as gst_opencl_release_events() does.
 */
static inline guint
gst_opencl_memory_get_events (GstMemory *memory, GstMapFlags access,
                              cl_event events[GST_OPENCL_MAX_EVENTS])
{
  return gst_opencl_memory_get_methods (memory)->get_events (memory, access, events);
}

/**
 * gst_opencl_memory_add_event:
 * @memory: mapped with #GST_MAP_OPENCL and @access
 * @event: (nullable): of a command that was enqueued, in a queue that was flushed, and that waits
 *   for what gst_opencl_memory_get_events() gave; retained. %NULL after a write: it is done already
 *
 * Remembers the command as the last write, or as one more read. For each command that uses the
 * memory, before it is unmapped.
 */
static inline void
gst_opencl_memory_add_event (GstMemory *memory, GstMapFlags access, cl_event event)
{
  gst_opencl_memory_get_methods (memory)->add_event (memory, access, event);
}

/** gst_opencl_release_events: Releases the first @n of @events. */
static inline void
gst_opencl_release_events (guint n, const cl_event *events)
{
  guint i;

  for (i = 0; i < n; i++)
    clReleaseEvent (events[i]);
}

G_END_DECLS
