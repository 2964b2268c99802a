/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/run.h"

/* GstTensorMeta: A of the input, for input=meta; D, attached to the input, for output=meta. */

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

/** gst_gemmcl_meta_make_writable: @buffer: (transfer full). Returns: (transfer full): @buffer, or a
 * copy that shares its memories and has its tensors, which gst_buffer_copy() drops before 1.28. */
GstBuffer *gst_gemmcl_meta_make_writable (GstBuffer *buffer);

/** gst_gemmcl_meta_attach: @input: an input of @run, which was submitted. @buffer: (transfer full):
 * its buffer. @result: its output. Adds D and the row outputs of @result to the metas of @buffer;
 * an empty @result adds nothing. Adds the labels of one row, too, and then waits for the run.
 * Returns: (transfer full): @buffer, or a copy that shares its memories. */
GstBuffer *gst_gemmcl_meta_attach (const GstGemmclRun *run, const GstGemmclInput *input,
                                   GstBuffer *buffer, GstBuffer *result);

#else
  #define gst_gemmcl_meta_check_ids(settings, buffer, error) TRUE
  #define gst_gemmcl_meta_find(settings, buffer, tensor, data, error)                              \
    ((void)(tensor), (void)(data),                                                                 \
     gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,                                                  \
                      "This gemmcl was built without gstreamer-analytics-1.0."))
  #define gst_gemmcl_meta_make_writable(buffer)              gst_buffer_make_writable (buffer)
  #define gst_gemmcl_meta_attach(run, input, buffer, result) ((void)(input), (buffer))
#endif
