/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/allocator.h"
#include "memory/gstgemmclmemory.h"
#include "memory/inflight.h"

/* OpenCL memory, the GstMemory of gstgemmclmemory.h: a cl_mem with its events, and its content on
 * the host and on the device. Any thread. */

/** GstGemmclEvents: The commands that use a memory. All zero: no commands. */
typedef struct {
  cl_event written;                         /* of the last write, or NULL */
  cl_event read[GST_GEMMCL_MAX_EVENTS - 1]; /* of the reads since that write */
  guint n_read;
  gboolean lost; /* instead of @written: OpenCL refused the last write */
} GstGemmclEvents;

/** GstGemmclMemory: Memory of a #GstGemmclAllocator. A part of a memory uses only parent. */
typedef struct {
  GstMemory parent;
  cl_mem buffer; /* the content on the device, which kernels read and write */

  GMutex host_lock; /* held while the host waits; taken before @lock */
  gpointer mapped;  /* the address of the mapped @buffer while @n_maps is not 0 */
  guint n_maps;
  GstMapFlags mapped_access;
  cl_mem pinned;   /* host copy of @buffer, only with is_staged and from the first map on; copied
                    * lazily in both directions */
  guchar *staging; /* the mapped @pinned */

  GMutex lock; /* never held while waiting */
  GstGemmclEvents events;
  gboolean need_upload;        /* @staging is newer: the next use on the device sends it */
  gboolean need_download;      /* @buffer is newer: the next map of the host fetches it */
  cl_event fetched;            /* of a copy to @staging; the next map waits for it */
  GstGemmclInflight *inflight; /* of the run that wrote @buffer; a map of the host releases it */
} GstGemmclMemory;

/** gst_gemmcl_memory_get: Returns: (transfer none): @memory, or that of which it is a part. */
static inline GstGemmclMemory *
gst_gemmcl_memory_get (GstMemory *memory)
{
  return (GstGemmclMemory *)(memory->parent ? memory->parent : memory);
}

/** gst_gemmcl_memory_clear: Releases everything. OpenCL keeps objects that a command still uses. */
void gst_gemmcl_memory_clear (GstGemmclMemory *self);

/* For GstAllocator. A map for the host waits for the device, and fetches the content if needed. A
 * map for the device sends it without waiting. A copy is made on the device. Each returns %NULL if
 * an OpenCL call or the last write failed. */
gpointer gst_gemmcl_memory_map (GstMemory *memory, GstMapInfo *info, gsize maxsize);
void gst_gemmcl_memory_unmap (GstMemory *memory, GstMapInfo *info);
GstMemory *gst_gemmcl_memory_copy (GstMemory *memory, gssize offset, gssize size);

extern const GstGemmclMemoryMethods gst_gemmcl_memory_methods;

/* The following functions are for memory of a #GstGemmclAllocator. */

/** gst_gemmcl_memory_fill: Enqueues a write of @pattern to the start of @memory. @size: the bytes
 * of @pattern, a power of 2 up to 128. Returns: %FALSE if that fails; the log has the reason. */
gboolean gst_gemmcl_memory_fill (GstMemory *memory, gconstpointer pattern, gsize size);

/** gst_gemmcl_memory_set_run: @inflight: the run that writes @memory; the next map of the host
 * releases the inputs of that run. @fetches: enqueues the copy to the host right after the run, if
 * the host needs a copy, so that the map waits less. */
void gst_gemmcl_memory_set_run (GstMemory *memory, GstGemmclInflight *inflight, gboolean fetches);

/** gst_gemmcl_memory_recycle: Drops the content of @memory, so that the next map copies nothing.
 * The next write waits for the commands that still use @memory. No other thread may use @memory. */
void gst_gemmcl_memory_recycle (GstMemory *memory);
