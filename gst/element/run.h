/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/turns.h"

/* From input buffers to runs of the library. The caller of each function is the streaming thread,
 * or holds the stream lock of the sink pad, unless the function says otherwise. */

/* Runs (run.c). */

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

/* Copies that a better negotiation would save (copies.c). Each kind has a line in GStreamer's
 * category GST_PERFORMANCE, at INFO, once after each caps. */

/** GstGemmclCopy: Copies that the element or a map of a buffer makes before a run. */
typedef enum {
  GST_GEMMCL_COPY_ALIGNED, /* of A, to an address that suits its elements */
  GST_GEMMCL_COPY_MERGED,  /* of A in several memories, to one */
  GST_GEMMCL_COPY_PASSED,  /* of a tensor that passes, to OpenCL memory */
  GST_GEMMCL_COPY_FOREIGN, /* of A in OpenCL memory of another context, by way of the host */
} GstGemmclCopy;

/** gst_gemmcl_copies_init: Finds the category. For the start of the plugin. */
void gst_gemmcl_copies_init (void);

/** gst_gemmcl_copies_add: Counts a copy of the element in the stats, and logs it. */
void gst_gemmcl_copies_add (GstGemmcl *self, GstGemmclCopy copy);

/** gst_gemmcl_copies_note_run: Logs the copies of @run, which was submitted. @input: its first. */
void gst_gemmcl_copies_note_run (GstGemmcl *self, const GemmclRun *run, GstBuffer *input);

/* Inputs and outputs (run.c, output.c). */

/** gst_gemmcl_check_input: Fails if @buffer is not in the memory of the caps; for each buffer.
 * @needs_context: (out): it is a VA surface of another display than the context's. */
gboolean gst_gemmcl_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context,
                                 GError **error);

/** gst_gemmcl_prepare_output: @output: (out): for the result of @input, with its metadata, in
 * memory of the current device. Returns: GST_FLOW_ERROR with @error. */
GstFlowReturn gst_gemmcl_prepare_output (GstGemmcl *self, const GstGemmclInput *input,
                                         GstBuffer **output, GError **error);

/** gst_gemmcl_get_m: Returns: the rows of A and D in each buffer of the run that is being prepared.
 */
gsize gst_gemmcl_get_m (GstGemmcl *self);

/** gst_gemmcl_get_header_size: Returns: the bytes before D and before the row outputs in their
 * memories: those of a header, or 0. */
gsize gst_gemmcl_get_header_size (GstGemmcl *self);

/** gst_gemmcl_get_output_size: Returns: the bytes of D for @m rows, without gaps and with its
 * header; 0 if they do not fit a gsize. */
gsize gst_gemmcl_get_output_size (GstGemmcl *self, gsize m);

/* The qdata key of the memory of row outputs, which an output keeps when it returns to its pool. */
#define GST_GEMMCL_ROWS "gst-gemmcl-rows"

/** gst_gemmcl_get_rows_memory: Returns: (transfer full): the row outputs of @output, of a run that
 * has them. */
static inline GstMemory *
gst_gemmcl_get_rows_memory (GstBuffer *output)
{
  return gst_memory_ref (gst_mini_object_get_qdata (GST_MINI_OBJECT (output),
                                                    g_quark_from_static_string (GST_GEMMCL_ROWS)));
}

/** gst_gemmcl_is_empty: Returns: %TRUE if @buffer passes without a run: a gap without data, or
 * audio without samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);

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

/* A, where only buffers describe it (learn.c). */

/** gst_gemmcl_learn_hold: Takes @event if it is caps that do not tell the shape of A, or comes
 * behind such caps before their first buffer. The field waiting keeps it. Returns: %TRUE if it was
 * taken. */
gboolean gst_gemmcl_learn_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_learn: Describes @buffer in the field input. Ends the batch if A is another tensor
 * than in the buffer before, and makes negotiation and a new plan due as far as they are needed.
 * @m: (out): M, if inputs differ in it; else 0. Returns: the result of gst_gemmcl_batch_end();
 * GST_FLOW_ERROR after an error was posted; GST_BASE_TRANSFORM_FLOW_DROPPED if @buffer is empty and
 * events wait. */
GstFlowReturn gst_gemmcl_learn (GstGemmcl *self, GstBuffer *buffer, gsize *m);
