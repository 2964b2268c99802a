/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* Runs (run.c). The caller of each function is the streaming thread, or holds the stream lock of
 * the sink pad. */

/** gst_gemmcl_check_input: Fails if @buffer is not in the memory of the caps; for each buffer.
 * @needs_context: (out): it is a VA surface of another display than the context's. */
gboolean gst_gemmcl_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context,
                                 GError **error);

/** gst_gemmcl_run_submit: Submits the run of @turn, with the scalars of the element and outputs of
 * gst_gemmcl_prepare_output(), to the current device. The outputs may be pushed at once. */
gboolean gst_gemmcl_run_submit (GstGemmcl *self, GstGemmclTurn *turn, GError **error);

/** gst_gemmcl_run_finish: Waits for the run of @turn, takes its time and releases its inputs. Sets
 * @error unless it is set. */
gboolean gst_gemmcl_run_finish (GstGemmcl *self, GstGemmclTurn *turn, GError **error);

/** gst_gemmcl_runs_forget: Resets the previous output to zeros. */
void gst_gemmcl_runs_forget (GstGemmcl *self);

/** gst_gemmcl_runs_want_feedback: Returns: %TRUE if plans must keep the previous output as C, since
 * beta was not 0 or is controlled. Always %FALSE with batches. */
gboolean gst_gemmcl_runs_want_feedback (GstGemmcl *self);

/* A and D in GstTensorMeta (meta.c). */

/** gst_gemmcl_meta_check: Returns: %FALSE if @settings have input=meta or output=meta, and this
 * build does not support them or tensor-id cannot be a name in caps. */
gboolean gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error);

#ifdef GEMMCL_HAVE_ANALYTICS

/** gst_gemmcl_meta_find: Finds A in @buffer, a carrier. @data: (out) (transfer full): it begins
 * with A. Returns: %FALSE if there is no such tensor, or the element cannot read it. */
gboolean gst_gemmcl_meta_find (const GstGemmclSettings *settings, GstBuffer *buffer,
                               GstGemmclTensor *tensor, GstBuffer **data, GError **error);

/** gst_gemmcl_meta_attach: Adds D and the row outputs of @result, the output of a submitted run, to
 * the metas of @buffer, (transfer full), its input. An empty output adds nothing. Returns:
 * (transfer full): @buffer, or a copy that shares its memories. */
GstBuffer *gst_gemmcl_meta_attach (GstGemmcl *self, GstBuffer *buffer, GstBuffer *result);

#else
  #define gst_gemmcl_meta_find(settings, buffer, tensor, data, error)                              \
    ((void)(tensor), (void)(data),                                                                 \
     gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,                                                  \
                      "This gemmcl was built without gstreamer-analytics-1.0."))
  #define gst_gemmcl_meta_attach(self, buffer, result) (buffer)
#endif
