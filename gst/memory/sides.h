/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/memory.h"

/* The content of OpenCL memory, which may be on the device, on the host or on both sides. For
 * memory.c. Any thread. */

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_memory_debug);

/* Fields are constant after gst_gemmcl_allocator_new(), except for the queues: another one replaces
 * each in which a command failed. Read them atomically. */
struct _GstGemmclAllocator {
  GstAllocator parent;

  GemmclContext *context;
  gboolean is_staged;     /* the device has memory of its own; otherwise the host maps @buffer */
  cl_command_queue queue; /* for copies and maps; out of order if the device supports it */
  /* Only if is_staged. @fetches: for copies to the host after each run, in the order of the runs.
   * @kernels: for kernels, without profiling, which costs 10 us a kernel with NVIDIA's driver. */
  cl_command_queue fetches, kernels;
  GMutex lock;           /* guards replacements, and the next field */
  GPtrArray *old_queues; /* replaced ones, which other threads may still use; owned */
};

/* The queues of an allocator (queues.c). */

void gst_gemmcl_queues_init (GstGemmclAllocator *self);

/** gst_gemmcl_queues_open: Creates the queues. Returns: %FALSE with #GEMMCL_ERROR_OPENCL. */
gboolean gst_gemmcl_queues_open (GstGemmclAllocator *self, GError **error);
void gst_gemmcl_queues_clear (GstGemmclAllocator *self);

/** gst_gemmcl_queues_get: Returns: the queue for the next copy or map. */
cl_command_queue gst_gemmcl_queues_get (GstGemmclAllocator *self);

/** gst_gemmcl_queues_wait: Waits for @event, and leaves its queue if its command failed. Returns:
 * %TRUE if it is complete. */
gboolean gst_gemmcl_queues_wait (GstGemmclAllocator *self, cl_event event);

/** GstGemmclEvents: The commands that use a memory. All zero: no commands. */
typedef struct {
  cl_event written;                         /* of the last write, or NULL */
  cl_event read[GST_GEMMCL_MAX_EVENTS - 1]; /* of the reads since that write */
  guint n_read;
  gboolean lost; /* instead of @written: OpenCL refused the last write */
} GstGemmclEvents;

/** GstGemmclSides: A memory, with its content on the device and on the host. A part of a memory
 * uses only the field parent. */
typedef struct {
  GstMemory parent;
  cl_mem buffer; /* the side of the device, which kernels read and write */

  GMutex host_lock; /* held while the host waits; taken before @lock */
  gpointer mapped;  /* the address of the mapped @buffer while @n_maps is not 0 */
  guint n_maps;
  GstMapFlags mapped_access;
  cl_mem pinned; /* if is_staged, from the first map on: the side of the host, mapped at @staging;
                  * a use of one side fetches the content if the other side has changed it */
  guchar *staging;

  GMutex lock; /* never held while waiting */
  GstGemmclEvents events;
  gboolean need_upload;        /* @staging is newer: the next use on the device sends it */
  gboolean need_download;      /* @buffer is newer: the next map of the host fetches it */
  cl_event fetched;            /* of a copy to @staging; the next map waits for it */
  GstGemmclInflight *inflight; /* of the run that wrote @buffer; a map of the host releases it */
} GstGemmclSides;

/** gst_gemmcl_get_sides: @memory: of a #GstGemmclAllocator. Returns: (transfer none): the sides of
 * @memory or of the memory of which it is a part. */
static inline GstGemmclSides *
gst_gemmcl_get_sides (GstMemory *memory)
{
  return (GstGemmclSides *)(memory->parent ? memory->parent : memory);
}

/** gst_gemmcl_sides_clear: Releases everything. OpenCL keeps objects that a command still uses. */
void gst_gemmcl_sides_clear (GstGemmclSides *self);

/** gst_gemmcl_sides_map_host: Waits until the host may access the memory by @access, and fetches
 * the content if needed. Returns: (nullable): the first byte; %NULL if the map, the fetch or the
 * last write failed. */
gpointer gst_gemmcl_sides_map_host (GstGemmclSides *self, GstMapFlags access);

void gst_gemmcl_sides_unmap_host (GstGemmclSides *self);

/** gst_gemmcl_sides_open_device: Sends the content to the device if needed, without waiting. If
 * @access has neither GST_MAP_READ nor GST_MAP_WRITE, also waits for the last write. Returns:
 * %FALSE if the sending or that write failed. */
gboolean gst_gemmcl_sides_open_device (GstGemmclSides *self, GstMapFlags access);

/** gst_gemmcl_sides_get_events, gst_gemmcl_sides_add_event: The #GstGemmclMemoryMethods. */
guint gst_gemmcl_sides_get_events (GstMemory *memory, GstMapFlags access,
                                   cl_event events[GST_GEMMCL_MAX_EVENTS]);
void gst_gemmcl_sides_add_event (GstMemory *memory, GstMapFlags access, cl_event event);

/** gst_gemmcl_sides_copy: Enqueues a copy of @size bytes at @offset of @from to the start of @to.
 * Returns: %FALSE if that fails, or if the last write to @from failed. */
gboolean gst_gemmcl_sides_copy (GstGemmclSides *from, gsize offset, GstGemmclSides *to, gsize size);
