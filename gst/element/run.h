/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/* Outputs and runs, for the streaming thread or a caller with the stream lock of the sink pad. */

/* Output buffers (output.c). */

/** gst_gemmcl_prepare_output: Makes the output of @input, with its metadata, in memory of the
 * current device. Returns: GST_FLOW_ERROR with @error. */
GstFlowReturn gst_gemmcl_prepare_output (GstGemmcl *self, GstGemmclInput *input, GError **error);

/** gst_gemmcl_get_m: Returns: the rows of A and D in each buffer of the run in preparation. */
gsize gst_gemmcl_get_m (GstGemmcl *self);

/** gst_gemmcl_get_header_size: Returns: the bytes of the header before D, and before the row
 * outputs, in their memories; 0 if the output has no headers. */
gsize gst_gemmcl_get_header_size (GstGemmcl *self);

/** gst_gemmcl_get_output_size: Returns: the bytes of D with @m rows, at most M of the plan, without
 * gaps, and of its header. The library has checked that they fit a gsize. */
gsize gst_gemmcl_get_output_size (GstGemmcl *self, gsize m);

/** gst_gemmcl_get_rows_memory: Returns: (transfer full): the row outputs of @output. Its run
 * must have row outputs. */
GstMemory *gst_gemmcl_get_rows_memory (GstBuffer *output);

/** gst_gemmcl_is_empty: Returns: %TRUE if @buffer passes without a run: a gap without data, or
 * audio without samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);

/* Runs (run.c). */

/** gst_gemmcl_check_input: Checks that @buffer, the next one, is in the kind of memory that caps
 * name. @needs_context: (out): %TRUE if it is a VA surface that needs a context with its display.
 */
gboolean gst_gemmcl_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context,
                                 GError **error);

/** gst_gemmcl_run_submit: Submits the run of @turn to the current device, with the scalars of the
 * element. gst_gemmcl_prepare_output() must have made the outputs. They may be pushed at once. */
gboolean gst_gemmcl_run_submit (GstGemmcl *self, GstGemmclTurn *turn, GError **error);

/** gst_gemmcl_run_finish: Waits for the run of @turn, records its time and releases its inputs.
 * Returns: %FALSE if the run failed; @error then stays if it was set before. */
gboolean gst_gemmcl_run_finish (GstGemmcl *self, GstGemmclTurn *turn, GError **error);

/** gst_gemmcl_runs_forget: Resets the previous output to zeros. */
void gst_gemmcl_runs_forget (GstGemmcl *self);

/** gst_gemmcl_runs_want_feedback: Returns: %TRUE if plans must keep the previous output as C, since
 * beta was not 0 or is controlled. Always %FALSE with batches or several devices. */
gboolean gst_gemmcl_runs_want_feedback (GstGemmcl *self);

/* GstTensorMeta with A or D (meta.c). */

/** gst_gemmcl_meta_check: Returns: %FALSE with @error if @settings have input=meta or output=meta,
 * and this build does not support that, or if tensor-id cannot be a name in caps. */
gboolean gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error);

#ifdef GEMMCL_HAVE_ANALYTICS

/** gst_gemmcl_meta_check_ids: Returns: %FALSE with @error if @settings have output=meta, and
 * @buffer has a tensor with the id of a result. */
gboolean gst_gemmcl_meta_check_ids (const GstGemmclSettings *settings, GstBuffer *buffer,
                                    GError **error);

/** gst_gemmcl_meta_find: Finds A in @buffer, a carrier. @data: (out) (transfer full): a buffer that
 * begins with A. Returns: %FALSE with @error if @buffer does not have A, or the element cannot read
 * it. */
gboolean gst_gemmcl_meta_find (const GstGemmclSettings *settings, GstBuffer *buffer,
                               GstGemmclTensor *tensor, GstBuffer **data, GError **error);

/** gst_gemmcl_meta_attach: @input: an input of a submitted run. @buffer: (transfer full): its
 * buffer. @result: its output. Adds D and the row outputs of @result to the metas of @buffer; an
 * empty @result adds nothing. Returns: (transfer full): @buffer, or a copy that shares its
 * memories. */
GstBuffer *gst_gemmcl_meta_attach (GstGemmcl *self, const GstGemmclInput *input, GstBuffer *buffer,
                                   GstBuffer *result);

#else
  #define gst_gemmcl_meta_check_ids(settings, buffer, error) TRUE
  #define gst_gemmcl_meta_find(settings, buffer, tensor, data, error)                              \
    ((void)(tensor), (void)(data),                                                                 \
     gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,                                                  \
                      "This gemmcl was built without gstreamer-analytics-1.0."))
  #define gst_gemmcl_meta_attach(self, input, buffer, result) ((void)(input), (buffer))
#endif
