/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/video/video.h>

#include "memory/gstgemmclmemory.h"

/* Maps buffers for a run, and holds them until the run is complete. */

/** GstGemmclMapping: A mapped frame or a mapped memory of a buffer. All zero: nothing is mapped. */
typedef struct {
  GstVideoFrame frame; /* mapped if it has a buffer */
  GstMemory *memory;   /* owned; mapped with map, unless frame is mapped */
  GstMapInfo map;
  GstBuffer *held; /* (nullable): the input in the mapped memory, until the device has read it */
} GstGemmclMapping;

/** gst_gemmcl_mapping_clear: Unmaps the frame or memory, if any, and releases the held buffer. */
void gst_gemmcl_mapping_clear (GstGemmclMapping *self);

/** gst_gemmcl_frame_cut: Sets left and top of @frame to the place where the frame in @buffer begins
 * within a sample of chroma, by its GstVideoCropMeta; 0 without one. Returns: %FALSE with
 * #GEMMCL_ERROR_FORMAT if its size is not that of @frame, or exceeds the GstVideoMeta. */
gboolean gst_gemmcl_frame_cut (GemmclFrame *frame, GstBuffer *buffer, GError **error);

/** gst_gemmcl_frame_get_size: Returns: the bytes of a frame without a GstVideoMeta. They may exceed
 * those of @info: GStreamer leaves out the last row of chroma of interlaced P010_10LE whose height
 * is even and no multiple of 4. */
gsize gst_gemmcl_frame_get_size (const GemmclFrame *frame, const GstVideoInfo *info);

/** gst_gemmcl_get_crop: @x, @y: (out): the pixel of the frame in @buffer with which the frame of
 * the caps begins: of the GstVideoCropMeta, or (0, 0). */
void gst_gemmcl_get_crop (GstBuffer *buffer, gsize *x, gsize *y);

/** gst_gemmcl_mapping_open_frame: Maps @buffer, which @frame and @info describe: for the device if
 * it is in OpenCL memory of @context, in a layout that OpenCL can copy; otherwise on the host.
 * @data: (out): its planes. Returns: %FALSE with #GEMMCL_ERROR_FORMAT if the frame does not fit,
 * with #GEMMCL_ERROR_IO if the host cannot map the memory. */
gboolean gst_gemmcl_mapping_open_frame (GstGemmclMapping *self, GemmclContext *context,
                                        const GemmclFrame *frame, const GstVideoInfo *info,
                                        GstBuffer *buffer, GstMapFlags access, GemmclData *data,
                                        GError **error);

/** gst_gemmcl_mapping_open_memory: Maps a matrix, as gst_gemmcl_mapping_open_frame() maps a frame.
 * @memory: (transfer full) (nullable). @offset: the first byte of the matrix in it. If the matrix
 * is on the host and not aligned to @alignment bytes, a copy is mapped; such a matrix cannot be
 * written. Returns: %FALSE with #GEMMCL_ERROR_IO. */
gboolean gst_gemmcl_mapping_open_memory (GstGemmclMapping *self, GemmclContext *context,
                                         GstMemory *memory, gsize offset, GstMapFlags access,
                                         gsize alignment, GemmclData *data, GError **error);

/** gst_gemmcl_refuse_memory: @memory: (nullable). Sets @error: the host cannot map @memory.
 * Returns: %FALSE. */
gboolean gst_gemmcl_refuse_memory (GstMemory *memory, GError **error);

/** gst_gemmcl_find_planes: Finds the planes of a frame by the GstVideoMeta of @buffer or, without
 * such a meta, by @info, and by the GstVideoCropMeta. @data: (inout): gets offsets in the memories
 * of @buffer, and strides. Returns: %FALSE if the meta does not fit @info, or if a plane does not
 * lie within one memory. For the device, also if OpenCL cannot copy a plane's layout. */
gboolean gst_gemmcl_find_planes (const GemmclFrame *frame, const GstVideoInfo *info,
                                 GstBuffer *buffer, GemmclData *data);

/** gst_gemmcl_event_ask: @event: (nullable). @status: (out): CL_COMPLETE (0) for a complete command
 * and for %NULL; positive if the command is not complete; negative if it failed. Returns: %FALSE if
 * the driver does not tell it; the command may then run, be complete or have failed. */
gboolean gst_gemmcl_event_ask (cl_event event, cl_int *status);

/** gst_gemmcl_event_has_ended: @event: (nullable). Returns: %TRUE for %NULL and for a command that
 * is known not to use its memory any more: it is complete or failed. */
gboolean gst_gemmcl_event_has_ended (cl_event event);

/** gst_gemmcl_event_get_time: Returns: the ns from the submission of a complete command to its end,
 * by the device's clock; GST_CLOCK_TIME_NONE if that is not known. */
GstClockTime gst_gemmcl_event_get_time (cl_event event);

/** GstGemmclInflight: Holds the mapped inputs of an in-flight run until the run is complete. Its
 * owner uses it again for later runs. The memory of an output references the GstGemmclInflight of
 * its run, so that the first map of the output releases the inputs. Any thread. */
typedef struct {
  GMutex lock;                /* guards the other fields; never held while waiting */
  cl_event done;              /* NULL: no run, or the owner has finished it */
  GemmclContext *context;     /* of done; NULL if that is NULL */
  guint n;                    /* number of held mappings */
  GstGemmclMapping *mappings; /* of inputs; the owner's between two runs */
} GstGemmclInflight;

/** gst_gemmcl_inflight_new: @batch: the largest number of inputs. Returns: (transfer full): an
 * object without a run. g_atomic_rc_box_acquire() adds a reference. */
GstGemmclInflight *gst_gemmcl_inflight_new (guint batch);

/** gst_gemmcl_inflight_unref: Releasing the last reference waits for the run. */
void gst_gemmcl_inflight_unref (GstGemmclInflight *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstGemmclInflight, gst_gemmcl_inflight_unref)

/** gst_gemmcl_inflight_begin: Begins a run in @context. @done: (transfer full): its event. The
 * first @n mappings are held until then. For the owner, once the last run is finished. */
void gst_gemmcl_inflight_begin (GstGemmclInflight *self, guint n, GemmclContext *context,
                                cl_event done);

/** gst_gemmcl_inflight_get_event: Returns: (transfer full) (nullable): the event of the run; %NULL
 * if there is no run, or if the owner has finished it. */
cl_event gst_gemmcl_inflight_get_event (GstGemmclInflight *self);

/** gst_gemmcl_inflight_wait: Waits for the run, if there is one, which is not finished by that. */
void gst_gemmcl_inflight_wait (GstGemmclInflight *self);

/** gst_gemmcl_inflight_is_busy: Returns: %TRUE if there is a run and it is not complete. %FALSE if
 * the driver does not tell: gst_gemmcl_inflight_finish() shows how the run ended. */
gboolean gst_gemmcl_inflight_is_busy (GstGemmclInflight *self);

/** gst_gemmcl_inflight_finish: Waits until the run, if any, is complete and releases its inputs.
 * For the owner. @time: (out): the ns from the submission of the run to its end, by the device's
 * clock; GST_CLOCK_TIME_NONE if there was no run or its time is not known. Returns: CL_SUCCESS, or
 * the negative status of a failed run. A second call returns CL_SUCCESS. */
cl_int gst_gemmcl_inflight_finish (GstGemmclInflight *self, GstClockTime *time);

/** gst_gemmcl_inflight_release: Releases the inputs of the run if it is complete. */
void gst_gemmcl_inflight_release (GstGemmclInflight *self);
