/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/video/video.h>

#include "memory/gstgemmclmemory.h"

/* Buffers mapped for a run, and held until it is done. */

/** GstGemmclMapping: A mapped frame or a mapped memory of a buffer. All zero: neither. */
typedef struct {
  GstVideoFrame frame;
  gboolean is_frame;
  GstMemory *memory; /* owned; mapped by map, unless the frame is */
  GstMapInfo map;
} GstGemmclMapping;

/** gst_gemmcl_mapping_clear: Unmaps it; nothing is mapped afterwards. */
void gst_gemmcl_mapping_clear (GstGemmclMapping *self);

/** gst_gemmcl_mapping_open_frame: Maps @buffer on the host, as a frame of @info. @data: (inout):
 * gets the planes. Returns: %FALSE with #GEMMCL_ERROR_FORMAT. */
gboolean gst_gemmcl_mapping_open_frame (GstGemmclMapping *self, const GstVideoInfo *info,
                                        GstBuffer *buffer, GstMapFlags access, GemmclData *data,
                                        GError **error);

/** gst_gemmcl_mapping_open_memory: Maps @memory, (transfer full) (nullable), on the host. Memory to
 * be read at an address that is no multiple of @alignment is copied first. @data: (inout): gets the
 * address. Returns: %FALSE with #GEMMCL_ERROR_IO. */
gboolean gst_gemmcl_mapping_open_memory (GstGemmclMapping *self, GstMemory *memory,
                                         GstMapFlags access, gsize alignment, GemmclData *data,
                                         GError **error);

/** gst_gemmcl_mapping_open_opencl: Maps memory @index of @buffer for the device. @data: (out): the
 * start of the memory. Returns: %FALSE unless @buffer has @n memories and this one is OpenCL memory
 * of @context. */
gboolean gst_gemmcl_mapping_open_opencl (GstGemmclMapping *self, GemmclContext *context,
                                         GstBuffer *buffer, guint index, guint n,
                                         GstMapFlags access, GemmclData *data);

/**
 * gst_gemmcl_find_planes:
 * @buffer: of @size bytes, in one memory
 * @data: (inout): its offsets are where the memory begins, and become where the planes begin
 *
 * Returns: whether the planes of a frame lie within the memory, by the GstVideoMeta of @buffer or
 * else by @info, in a layout that OpenCL can copy.
 */
gboolean gst_gemmcl_find_planes (const GemmclImage *image, const GstVideoInfo *info,
                                 GstBuffer *buffer, gsize size, GemmclData *data);

/** gst_gemmcl_event_get_status: @event: (nullable). Returns: CL_COMPLETE, which is 0, also for
 * %NULL; more if the command is not complete; less if it failed. */
cl_int gst_gemmcl_event_get_status (cl_event event);

/**
 * GstGemmclInflight:
 *
 * Holds the inputs of an in-flight run, mapped, until the device is done with them. The element
 * reuses one for each of its queue-depth runs. The memory of an output refers to the one of its
 * run, so that the first map of the output releases the inputs.
 *
 * Any thread may call the functions, unless they say otherwise.
 */
typedef struct _GstGemmclInflight GstGemmclInflight;

/** gst_gemmcl_inflight_new: Returns: (transfer full): with room for @batch inputs.
 * g_atomic_rc_box_acquire() adds a reference. */
GstGemmclInflight *gst_gemmcl_inflight_new (guint batch);

/** gst_gemmcl_inflight_unref: Releasing the last reference waits for the run. */
void gst_gemmcl_inflight_unref (GstGemmclInflight *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstGemmclInflight, gst_gemmcl_inflight_unref)

/** gst_gemmcl_inflight_get_mapping: Returns: (transfer none): the mapping of input @index. For the
 * owner, between two runs. */
GstGemmclMapping *gst_gemmcl_inflight_get_mapping (GstGemmclInflight *self, guint index);

/**
 * gst_gemmcl_inflight_begin:
 * @inputs: (array length=n): the inputs that are needed until @done; referenced. They and their
 *   mappings are released when the run is finished
 * @done: (transfer full): the event of the run
 *
 * Begins a run. For the owner, after gst_gemmcl_inflight_finish().
 *
 * Returns: the number of the run.
 */
guint64 gst_gemmcl_inflight_begin (GstGemmclInflight *self, guint n, GstBuffer *const *inputs,
                                   cl_event done);

/** gst_gemmcl_inflight_is_busy: Returns: whether the run, if there is one, is not complete. */
gboolean gst_gemmcl_inflight_is_busy (GstGemmclInflight *self);

/** gst_gemmcl_inflight_finish: Waits until the run is complete and releases its inputs. For the
 * owner. Returns: the negative status of a failed run, once; otherwise CL_SUCCESS. */
cl_int gst_gemmcl_inflight_finish (GstGemmclInflight *self);

/** gst_gemmcl_inflight_finish_run: Releases the inputs of run @number, if it is complete and they
 * are still held. */
void gst_gemmcl_inflight_finish_run (GstGemmclInflight *self, guint64 number);

/** gst_gemmcl_inflight_count: Returns: the number of inputs that are held. */
guint gst_gemmcl_inflight_count (GstGemmclInflight *self);
