/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/video/video.h>

#include "memory/gstgemmclmemory.h"

/* Maps buffers for a run, and holds them until it is done. */

/** GstGemmclMapping: A mapped frame or a mapped memory of a buffer. All zero: nothing is mapped. */
typedef struct {
  GstVideoFrame frame; /* mapped if it has a buffer */
  GstMemory *memory;   /* owned; mapped with map, unless frame is mapped */
  GstMapInfo map;
  GstBuffer *held; /* (nullable): an input that the device reads: not given back before */
} GstGemmclMapping;

/** gst_gemmcl_mapping_clear: Unmaps the frame or memory, if any, and releases the held buffer. */
void gst_gemmcl_mapping_clear (GstGemmclMapping *self);

/** gst_gemmcl_mapping_open_frame: Maps the frame of @image and @info: for the device if it is in
 * OpenCL memory of @context, in a layout that OpenCL can copy, otherwise on the host. @data: (out):
 * its planes. Returns: %FALSE with #GEMMCL_ERROR_FORMAT; #GEMMCL_ERROR_IO if the host cannot. */
gboolean gst_gemmcl_mapping_open_frame (GstGemmclMapping *self, GemmclContext *context,
                                        const GemmclImage *image, const GstVideoInfo *info,
                                        GstBuffer *buffer, GstMapFlags access, GemmclData *data,
                                        GError **error);

/** gst_gemmcl_mapping_open_memory: The same for a matrix that begins @offset bytes behind the start
 * of @memory, (transfer full) (nullable). On the host it is copied, if it is only read, for an
 * @alignment in bytes that it lacks. Returns: %FALSE with #GEMMCL_ERROR_IO. */
gboolean gst_gemmcl_mapping_open_memory (GstGemmclMapping *self, GemmclContext *context,
                                         GstMemory *memory, gsize offset, GstMapFlags access,
                                         gsize alignment, GemmclData *data, GError **error);

/** gst_gemmcl_refuse_memory: Sets @error, which says that the host cannot map @memory, (nullable).
 * Returns: %FALSE. */
gboolean gst_gemmcl_refuse_memory (GstMemory *memory, GError **error);

/** gst_gemmcl_find_planes: Finds the planes of a frame in one memory of @size bytes, by the
 * GstVideoMeta of @buffer or, without one, by @info. @data: (inout): its offsets are the start of
 * the memory, then those of the planes. Returns: %FALSE if a plane exceeds the memory, or has a
 * layout that OpenCL cannot copy. */
gboolean gst_gemmcl_find_planes (const GemmclImage *image, const GstVideoInfo *info,
                                 GstBuffer *buffer, gsize size, GemmclData *data);

/** gst_gemmcl_event_get_status: @event: (nullable). Returns: CL_COMPLETE (0) for a complete command
 * and for %NULL; positive if the command is not complete; negative if it failed. */
cl_int gst_gemmcl_event_get_status (cl_event event);

/** GstGemmclInflight: Holds the mapped inputs of an in-flight run until the device is done with
 * them, and is used again for later runs. The memory of an output references the one of its run, so
 * that the first map of the output releases the inputs. Any thread may call the functions, unless
 * they say otherwise. */
typedef struct {
  GMutex lock;                /* guards the other fields; never held while waiting */
  cl_event done;              /* NULL: no run, or the owner has finished it */
  guint n;                    /* number of mappings that are held */
  GstGemmclMapping *mappings; /* of inputs; between two runs those of the owner */
} GstGemmclInflight;

/** gst_gemmcl_inflight_new: @batch: the largest number of inputs. Returns: (transfer full): an idle
 * one. g_atomic_rc_box_acquire() adds a reference. */
GstGemmclInflight *gst_gemmcl_inflight_new (guint batch);

/** gst_gemmcl_inflight_unref: Releasing the last reference waits for the run. */
void gst_gemmcl_inflight_unref (GstGemmclInflight *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstGemmclInflight, gst_gemmcl_inflight_unref)

/** gst_gemmcl_inflight_begin: Begins a run with the event @done, (transfer full), until which the
 * first @n mappings are held. For the owner, after gst_gemmcl_inflight_finish(). */
void gst_gemmcl_inflight_begin (GstGemmclInflight *self, guint n, cl_event done);

/** gst_gemmcl_inflight_get_event: Returns: (transfer full) (nullable): the event of the run; %NULL
 * if there is none, or it is finished. */
cl_event gst_gemmcl_inflight_get_event (GstGemmclInflight *self);

/** gst_gemmcl_inflight_is_busy: Returns: %TRUE if there is a run and it is not complete. */
gboolean gst_gemmcl_inflight_is_busy (GstGemmclInflight *self);

/** gst_gemmcl_inflight_finish: Waits until the run is complete and releases its inputs. For the
 * owner. @time: (out): the ns from the submission of the run to its end, by the device's clock;
 * GST_CLOCK_TIME_NONE if there was no run or its time is not known. Returns: the negative status of
 * a failed run, only once; otherwise CL_SUCCESS. */
cl_int gst_gemmcl_inflight_finish (GstGemmclInflight *self, GstClockTime *time);

/** gst_gemmcl_inflight_release: Releases the inputs of the run if it is complete. */
void gst_gemmcl_inflight_release (GstGemmclInflight *self);
