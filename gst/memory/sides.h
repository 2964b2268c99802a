/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>

#include "memory/inflight.h"
#include "memory/memory.h"

/* What is behind a GstMemory: its bytes, on the device and on the host. Private to that. */

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_memory_debug);

struct _GstGemmclAllocator {
  GstAllocator parent;

  GemmclContext *context;
  GstGemmclHostSide side;
  cl_command_queue queue;   /* of copies and maps; nothing there waits for what stands before it */
  cl_command_queue fetches; /* of copies to the host that follow a run, in the order of the runs */
};

/** GstGemmclEvents: The commands that use some memory. All zero: none. */
typedef struct {
  cl_event written;                         /* of the last that writes, or NULL */
  cl_event read[GST_OPENCL_MAX_EVENTS - 1]; /* of those that read since */
  guint n_read;
} GstGemmclEvents;

/** GstGemmclSides: The bytes of a memory on the device and on the host. */
typedef struct {
  GstGemmclAllocator *allocator; /* whoever has this holds it */
  gsize size;
  cl_mem buffer; /* on the device: what kernels read and write */

  GMutex host_lock; /* held while the CPU waits for the host's side; taken before @lock */
  gpointer mapped;  /* @buffer, as the host sees it while @n_maps is not 0 */
  guint n_maps;
  GstMapFlags mapped_access;
  cl_mem pinned; /* with @staging, where the allocator's side is staged and once it was mapped */
  guchar *staging;

  GMutex lock; /* never held while anything is waited for */
  GstGemmclEvents events;
  gboolean need_upload;   /* @staging is newer: sent by the next use on the device */
  gboolean need_download; /* @buffer is newer: fetched by the next map of the host */
  cl_event fetched;       /* of the copy to @staging, done or not, for which the next map waits */
  GstGemmclInflight *inflight; /* the run that writes @buffer, which a map of the host finishes */
  guint64 run;                 /* its number */
} GstGemmclSides;

/** gst_gemmcl_memory_get_sides: Returns: those of @memory's root, of an allocator of this kind. */
GstGemmclSides *gst_gemmcl_memory_get_sides (GstMemory *memory);

/** gst_gemmcl_sides_init: Takes @buffer, of @size bytes. */
void gst_gemmcl_sides_init (GstGemmclSides *self, GstGemmclAllocator *allocator, cl_mem buffer,
                            gsize size);

/** gst_gemmcl_sides_clear: Frees all, what is under way as soon as it is done. */
void gst_gemmcl_sides_clear (GstGemmclSides *self);

/** gst_gemmcl_sides_map_host: Waits until the host may do @access, and fetches what is not there
 * yet. Returns: the first byte; %NULL if that failed or there is nothing to be read. */
gpointer gst_gemmcl_sides_map_host (GstGemmclSides *self, GstMapFlags access);

void gst_gemmcl_sides_unmap_host (GstGemmclSides *self);

/** gst_gemmcl_sides_open_device: Makes ready for @access by the device; does not wait. */
gboolean gst_gemmcl_sides_open_device (GstGemmclSides *self, GstMapFlags access);

/** gst_gemmcl_sides_get_events, gst_gemmcl_sides_add_event: As those of gstgemmclmemory.h. */
guint gst_gemmcl_sides_get_events (GstGemmclSides *self, GstMapFlags access,
                                   cl_event events[GST_OPENCL_MAX_EVENTS]);
void gst_gemmcl_sides_add_event (GstGemmclSides *self, GstMapFlags access, cl_event event);

/** gst_gemmcl_sides_are_lost: Returns: whether the command that was to write failed. */
gboolean gst_gemmcl_sides_are_lost (GstGemmclSides *self);

/** gst_gemmcl_sides_copy: Enqueues a copy of @size bytes of @from, behind @offset, to @to. */
gboolean gst_gemmcl_sides_copy (GstGemmclSides *from, gsize offset, GstGemmclSides *to, gsize size);
