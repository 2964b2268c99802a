/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>

#include "memory/inflight.h"

/* The bytes of OpenCL memory: on the device, and on the host. Any thread, unless a function says
 * otherwise. */

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_memory_debug);

/** GstGemmclHostSide: The place in which the host sees memory that it maps. */
typedef enum {
  /* Mapped by OpenCL: devices that share the host's memory copy nothing. */
  GST_GEMMCL_HOST_SIDE_MAPPED,
  /* Pinned memory, made by the first map and kept; copied, either way, when the other has changed.
   */
  GST_GEMMCL_HOST_SIDE_STAGED,
} GstGemmclHostSide;

/** GstGemmclTransfers: The queues for copies and maps of an allocator's memory; constant. */
typedef struct {
  gpointer owner; /* the allocator, which logs; not referenced */
  GemmclContext *context;
  GstGemmclHostSide side;
  cl_command_queue queue;   /* of copies and maps; none waits for the one before it */
  cl_command_queue fetches; /* of copies to the host that follow a run, in the order of the runs */
} GstGemmclTransfers;

/** GstGemmclEvents: The commands that use a memory. All zero: none. */
typedef struct {
  cl_event written;                         /* of the last write, or NULL */
  cl_event read[GST_OPENCL_MAX_EVENTS - 1]; /* of the reads since */
  guint n_read;
} GstGemmclEvents;

/** GstGemmclSides: The bytes of a memory on the device and on the host. */
typedef struct {
  const GstGemmclTransfers *transfers; /* of the allocator, which a GstMemory references */
  gsize size;
  cl_mem buffer; /* on the device: what kernels read and write */

  GMutex host_lock; /* held while the host waits; taken before @lock */
  gpointer mapped;  /* @buffer, as the host sees it while @n_maps is not 0 */
  guint n_maps;
  GstMapFlags mapped_access;
  cl_mem pinned; /* with @staging, if the side is STAGED, from the first map on */
  guchar *staging;

  GMutex lock; /* never held while anything is waited for */
  GstGemmclEvents events;
  gboolean need_upload;        /* @staging is newer: the next use on the device sends it */
  gboolean need_download;      /* @buffer is newer: the next map of the host fetches it */
  cl_event fetched;            /* of a copy to @staging, for which the next map waits */
  GstGemmclInflight *inflight; /* the run that writes @buffer; a map of the host finishes it */
  guint64 run;                 /* its number */
} GstGemmclSides;

/** gst_gemmcl_sides_init: @buffer: (transfer full): of @size bytes. */
void gst_gemmcl_sides_init (GstGemmclSides *self, const GstGemmclTransfers *transfers,
                            cl_mem buffer, gsize size);

/** gst_gemmcl_sides_clear: Frees all; OpenCL keeps what a command still uses until that is done. */
void gst_gemmcl_sides_clear (GstGemmclSides *self);

/** gst_gemmcl_sides_map_host: Waits until the host may do @access, and fetches the bytes if needed.
 * Returns: (nullable): the first byte; %NULL if that failed or the last write had failed. */
gpointer gst_gemmcl_sides_map_host (GstGemmclSides *self, GstMapFlags access);

void gst_gemmcl_sides_unmap_host (GstGemmclSides *self);

/** gst_gemmcl_sides_open_device: Sends the bytes to the device if needed, without waiting. Returns:
 * whether that succeeded. */
gboolean gst_gemmcl_sides_open_device (GstGemmclSides *self, GstMapFlags access);

/** gst_gemmcl_sides_get_events, gst_gemmcl_sides_add_event: As in gstgemmclmemory.h. */
guint gst_gemmcl_sides_get_events (GstGemmclSides *self, GstMapFlags access,
                                   cl_event events[GST_OPENCL_MAX_EVENTS]);
void gst_gemmcl_sides_add_event (GstGemmclSides *self, GstMapFlags access, cl_event event);

/** gst_gemmcl_sides_are_lost: Returns: whether the last write failed. */
gboolean gst_gemmcl_sides_are_lost (GstGemmclSides *self);

/** gst_gemmcl_sides_copy: Enqueues a copy of @size bytes of @from, behind @offset, to @to. */
gboolean gst_gemmcl_sides_copy (GstGemmclSides *from, gsize offset, GstGemmclSides *to, gsize size);

/** gst_gemmcl_sides_fetch: Enqueues the copy to the host behind the last write, so that a map of
 * the host finds it done or under way. Does nothing where memory is mapped. */
void gst_gemmcl_sides_fetch (GstGemmclSides *self);

/** gst_gemmcl_sides_set_run: Lets the next map of the host, which waits for run number @run of
 * @inflight in any case, release the inputs that @inflight holds. */
void gst_gemmcl_sides_set_run (GstGemmclSides *self, GstGemmclInflight *inflight, guint64 run);

/** gst_gemmcl_sides_recycle: The content is not needed any more: the next map copies nothing. The
 * next write waits for the commands that still use the memory. For the only owner of the memory. */
void gst_gemmcl_sides_recycle (GstGemmclSides *self);
