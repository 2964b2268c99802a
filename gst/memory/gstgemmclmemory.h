/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * memory:OpenCL: buffers whose memory is a cl_mem, for exchange with the element gemmcl.
 * Other elements need only this header, and link only GStreamer and OpenCL.
 *
 * Caps with the feature #GST_GEMMCL_CAPS_FEATURE_OPENCL promise that each GstMemory of a buffer is
 * of the type #GST_GEMMCL_MEMORY_TYPE_NAME. Frames have a GstVideoMeta that states the offset and
 * stride of each plane: rows follow one another without the padding of GStreamer's own layout.
 *
 * On the host: such memory is mapped like any other memory. The map waits for writes of the device,
 * and fails if the last write failed. Writes of the host reach the device before its next command
 * uses the memory.
 *
 * On the device: a command that reads, in C:
 *
 *     GstMapInfo map;
 *     cl_event wait[GST_GEMMCL_MAX_EVENTS], done;
 *     gsize offset;
 *     guint n;
 *
 *     if (gst_gemmcl_memory_get_cl_context (memory) != mine ||
 *         !gst_memory_map (memory, &map, (GstMapFlags) (GST_MAP_READ | GST_GEMMCL_MAP_OPENCL)))
 *       return FALSE;                              // map it for the host, and copy
 *     gst_memory_get_sizes (memory, &offset, NULL);
 *     n = gst_gemmcl_memory_get_events (memory, GST_MAP_READ, wait);
 *     status = clEnqueueCopyBuffer (queue, (cl_mem) map.data, other, offset, 0, map.size,
 *                                   n, n > 0 ? wait : NULL, &done);
 *     gst_gemmcl_release_events (n, wait);
 *     if (status == CL_SUCCESS) {
 *       clFlush (queue);                           // others wait for done in their queues
 *       gst_gemmcl_memory_add_event (memory, GST_MAP_READ, done);
 *       clReleaseEvent (done);
 *     }
 *     gst_memory_unmap (memory, &map);
 *
 * A command that writes uses GST_MAP_WRITE, or both flags; the buffer and its memory must be
 * writable, as for a map of the host. None of these calls blocks. Enqueued commands keep the
 * cl_mem, so the buffer may be released at once, also to its pool: its next user waits for the
 * events.
 *
 * All functions may be called from any thread. One memory has many readers or one writer, as for
 * maps of GStreamer.
 */
#ifndef CL_TARGET_OPENCL_VERSION
  #define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/** GST_GEMMCL_CAPS_FEATURE_OPENCL: The feature of caps. */
#define GST_GEMMCL_CAPS_FEATURE_OPENCL "memory:OpenCL"

/** GST_GEMMCL_MEMORY_TYPE_NAME: The type for gst_memory_is_type(). */
#define GST_GEMMCL_MEMORY_TYPE_NAME "GemmclMemory"

/**
 * GST_GEMMCL_MAP_OPENCL:
 *
 * With GST_MAP_READ, GST_MAP_WRITE or both: GstMapInfo.data is the cl_mem, which lives as long as
 * the GstMemory; clRetainMemObject() keeps it longer. The bytes begin at the offset that
 * gst_memory_get_sizes() returns; GstMapInfo.size is their number. The map fails only if writes of
 * the host cannot be sent to the device. Map the memory, not the buffer: several memories of a
 * buffer would be merged into system memory.
 *
 * Without GST_MAP_READ and GST_MAP_WRITE it is the flag GST_MAP_NATIVE_HANDLE of DL Streamer, whose
 * elements do not use events: the map waits for the last write, and fails if that write failed.
 */
#define GST_GEMMCL_MAP_OPENCL ((GstMapFlags)(GST_MAP_FLAG_LAST << 1))

/** GST_GEMMCL_MAX_EVENTS: The most events that a command has to wait for. */
#define GST_GEMMCL_MAX_EVENTS 8

/** GstGemmclMemoryMethods: The functions below, in the object data #GST_GEMMCL_MEMORY_METHODS of an
 * allocator of OpenCL memory; static. @size: of this struct; later versions may be larger.
 */
typedef struct {
  gsize size;
  cl_context (*get_context) (GstMemory *memory);
  guint (*get_events) (GstMemory *memory, GstMapFlags access,
                       cl_event events[GST_GEMMCL_MAX_EVENTS]);
  void (*add_event) (GstMemory *memory, GstMapFlags access, cl_event event);
} GstGemmclMemoryMethods;

/** GST_GEMMCL_MEMORY_METHODS: The key of the object data. */
#define GST_GEMMCL_MEMORY_METHODS "gst-gemmcl-memory-methods"

/** gst_gemmcl_memory_get_methods: Returns: (transfer none): the methods; %NULL for memory of
 * another type.
 */
static inline const GstGemmclMemoryMethods *
gst_gemmcl_memory_get_methods (GstMemory *memory)
{
  if (!gst_memory_is_type (memory, GST_GEMMCL_MEMORY_TYPE_NAME))
    return NULL;
  return (const GstGemmclMemoryMethods *)g_object_get_data (G_OBJECT (memory->allocator),
                                                            GST_GEMMCL_MEMORY_METHODS);
}

/** gst_gemmcl_memory_get_cl_context: Returns: (transfer none) (nullable): the cl_context of the
 * cl_mem, which lives as long as @memory. %NULL for memory of another type, for which the functions
 * below must not be called.
 */
static inline cl_context
gst_gemmcl_memory_get_cl_context (GstMemory *memory)
{
  const GstGemmclMemoryMethods *methods = gst_gemmcl_memory_get_methods (memory);

  return methods ? methods->get_context (memory) : NULL;
}

/**
 * gst_gemmcl_memory_get_events:
 * @memory: mapped with #GST_GEMMCL_MAP_OPENCL
 * @access: GST_MAP_READ, GST_MAP_WRITE or both: the access of the command
 * @events: (out caller-allocates) (transfer full): the events that the command has to wait for. A
 *   command that reads waits for the last write, which may be complete; a command that writes also
 *   for the reads since then. By the rules of OpenCL, an event that fails makes the command fail
 *
 * Returns: the number of events, to be released with gst_gemmcl_release_events().
 */
static inline guint
gst_gemmcl_memory_get_events (GstMemory *memory, GstMapFlags access,
                              cl_event events[GST_GEMMCL_MAX_EVENTS])
{
  return gst_gemmcl_memory_get_methods (memory)->get_events (memory, access, events);
}

/**
 * gst_gemmcl_memory_add_event:
 * @memory: mapped with #GST_GEMMCL_MAP_OPENCL and @access
 * @event: (nullable): the event of the enqueued command, which waits for the events of
 *   gst_gemmcl_memory_get_events() and whose queue was flushed; retained. %NULL for a write that is
 *   complete
 *
 * Records the command as the last write, or as one more read. Call it for each command that uses
 * the memory, before the memory is unmapped.
 */
static inline void
gst_gemmcl_memory_add_event (GstMemory *memory, GstMapFlags access, cl_event event)
{
  gst_gemmcl_memory_get_methods (memory)->add_event (memory, access, event);
}

/** gst_gemmcl_release_events: Releases the first @n of @events. */
static inline void
gst_gemmcl_release_events (guint n, const cl_event *events)
{
  guint i;

  for (i = 0; i < n; i++)
    clReleaseEvent (events[i]);
}

G_END_DECLS
