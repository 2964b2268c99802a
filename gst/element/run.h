/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/lanes.h"
#include "memory/inflight.h"

/*
 * From input buffers to runs of the library: a run (run.c), the places of A and D in
 * buffers (data.c), and batches (batch.c). The caller of each function is the streaming thread, or
 * holds the stream lock of the sink pad, unless the function says otherwise.
 */

/** GstGemmclRuns: What runs have in common, and the description of the next one. */
typedef struct _GstGemmclRuns GstGemmclRuns;

/** GstGemmclBatch: The buffers and events of a batch that is not full. */
typedef struct _GstGemmclBatch GstGemmclBatch;

/** gst_gemmcl_runs_start: Allocates room for the description of a run of batch-size buffers. */
void gst_gemmcl_runs_start (GstGemmcl *self);

void gst_gemmcl_runs_stop (GstGemmcl *self);

/**
 * gst_gemmcl_run_submit:
 * @inflight: idle; holds inputs that the device reads in place until the run is done
 * @inputs: (array length=n): at most a batch of inputs with the M of the scalars
 * @outputs: (array length=n): buffers from prepare_output_buffer; they may be pushed at once
 *
 * Submits a run with the scalars of the element to the current device.
 */
gboolean gst_gemmcl_run_submit (GstGemmcl *self, GstGemmclInflight *inflight, guint n,
                                GstBuffer *const *inputs, GstBuffer *const *outputs,
                                GError **error);

/** gst_gemmcl_run_finish: Waits for a run on @lane, takes its time and releases its inputs. Sets
 * @error unless it is set. */
gboolean gst_gemmcl_run_finish (GstGemmcl *self, GstGemmclLane *lane, GstGemmclInflight *inflight,
                                GError **error);

/** gst_gemmcl_runs_get_limit: Returns: the number of buffers of the pool of @input that the element
 * may hold at once: one less than the pool's maximum, but at least one. */
guint gst_gemmcl_runs_get_limit (GstGemmcl *self, GstBuffer *input);

/** gst_gemmcl_runs_forget: Resets the previous output to zeros. */
void gst_gemmcl_runs_forget (GstGemmcl *self);

/** gst_gemmcl_runs_want_feedback: Returns: %TRUE if plans must keep the previous output as C, since
 * beta was not 0 or is controlled. Always %FALSE with batches. */
gboolean gst_gemmcl_runs_want_feedback (GstGemmcl *self);

/* Copies that a better negotiation would save. Each kind has a line in GStreamer's category
 * GST_PERFORMANCE, at INFO, once after each caps (copies.c). */

/**
 * GstGemmclCopy:
 * @GST_GEMMCL_COPY_ALIGNED: of A, to an address that suits its elements
 * @GST_GEMMCL_COPY_MERGED: of audio in several memories, to one
 * @GST_GEMMCL_COPY_PASSED: of a tensor that passes, to OpenCL memory
 * @GST_GEMMCL_COPY_FOREIGN: of A in OpenCL memory of another context, by way of the host
 *
 * A copy that the element makes itself, or that a map of a buffer makes, before a run.
 */
typedef enum {
  GST_GEMMCL_COPY_ALIGNED,
  GST_GEMMCL_COPY_MERGED,
  GST_GEMMCL_COPY_PASSED,
  GST_GEMMCL_COPY_FOREIGN,
} GstGemmclCopy;

/** gst_gemmcl_copies_init: Finds the category. For the start of the plugin. */
void gst_gemmcl_copies_init (void);

/** gst_gemmcl_copies_add: Counts a copy of the element in the stats, and logs it. */
void gst_gemmcl_copies_add (GstGemmcl *self, GstGemmclCopy copy);

/** gst_gemmcl_copies_note_run: Logs the copies of @run, which was submitted. @input: its first. */
void gst_gemmcl_copies_note_run (GstGemmcl *self, const GemmclRun *run, GstBuffer *input);

/* The places of A and D in buffers of each kind of memory. */

/** gst_gemmcl_prepare_output: @output: (out): for the result of @input, with its metadata, in
 * memory of the current device. Returns: GST_FLOW_ERROR with @error. */
GstFlowReturn gst_gemmcl_prepare_output (GstGemmcl *self, GstBuffer *input, GstBuffer **output,
                                         GError **error);

/** gst_gemmcl_prepare_input: Renews the OpenCL context if @buffer is a VA surface of another
 * display. Call it before the output is allocated. */
gboolean gst_gemmcl_prepare_input (GstGemmcl *self, GstBuffer *buffer, GError **error);

/**
 * gst_gemmcl_open_input:
 * @buffer: an input; keep it and @mapping until the run is done
 * @data: (out): the place of A: in a surface or dma-buf, if caps promise them; in OpenCL memory of
 *   the same context, if the library can read its layout; otherwise on the host
 * @run: its functions for acquiring and releasing foreign memory are set
 *
 * Maps A in @buffer.
 */
gboolean gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                                GemmclData *data, GemmclRun *run, GError **error);

/**
 * gst_gemmcl_map_output:
 * @access: GST_MAP_WRITE, for which @buffer must be writable, or GST_MAP_READ
 *
 * Maps D in @buffer, an output.
 */
gboolean gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                                GstMapFlags access, GemmclData *data, GError **error);

/** gst_gemmcl_get_m: Returns: the rows of A and D in each buffer of the run that is being prepared.
 */
gsize gst_gemmcl_get_m (GstGemmcl *self);

/** gst_gemmcl_get_samples: @offset: (out): the first byte of the samples. @samples: (out): their
 * number. */
gboolean gst_gemmcl_get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset,
                                 gsize *samples, GError **error);

/** gst_gemmcl_get_header_size: Returns: the bytes before D and before the row outputs in their
 * memories: those of a header, or 0. */
gsize gst_gemmcl_get_header_size (GstGemmcl *self);

/** gst_gemmcl_get_output_size: Returns: the bytes of D for @m rows, without gaps and with its
 * header; 0 if they do not fit a gsize. */
gsize gst_gemmcl_get_output_size (GstGemmcl *self, gsize m);

/** gst_gemmcl_get_rows_memory: Returns: (transfer full): the row outputs of @output, from
 * prepare_output_buffer, of a run that has them. */
GstMemory *gst_gemmcl_get_rows_memory (GstBuffer *output);

/** gst_gemmcl_meta_check: Returns: %FALSE if @settings have input=meta or output=meta, and this
 * build does not support them or tensor-id cannot be a name in caps. */
gboolean gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error);

/**
 * gst_gemmcl_meta_find:
 * @buffer: a carrier
 * @tensor: (out): A
 * @memory: (out) (optional) (transfer full): its memory, which holds all of it
 *
 * Finds A in the metadata of @buffer.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_FORMAT if there is no such tensor, or if the element cannot
 *   read it: of another type, not row-major, or with fewer bytes than its dimensions need; or with
 *   #GEMMCL_ERROR_TOO_LARGE
 */
gboolean gst_gemmcl_meta_find (const GstGemmclSettings *settings, GstBuffer *buffer,
                               GstGemmclTensor *tensor, GstMemory **memory, GError **error);

/**
 * gst_gemmcl_meta_attach:
 * @buffer: (transfer full): an input
 * @result: its output, of a run that was submitted; not written any more
 *
 * Adds D and the row outputs to the metas of @buffer, for output=meta. An output of an empty input
 * is empty, and adds nothing.
 *
 * Returns: (transfer full): @buffer, or a copy that shares its memories
 */
GstBuffer *gst_gemmcl_meta_attach (GstGemmcl *self, GstBuffer *buffer, GstBuffer *result);

/**
 * gst_gemmcl_learn_hold:
 *
 * Takes @event if it is caps that do not tell the shape of A, or comes behind such caps before
 * their first buffer. The element then keeps it in its field waiting.
 *
 * Returns: %TRUE if @event was taken
 */
gboolean gst_gemmcl_learn_hold (GstGemmcl *self, GstEvent *event);

/**
 * gst_gemmcl_learn:
 * @input: the next buffer
 * @m: (out): M, if inputs differ in it; else 0
 *
 * Learns what A is where only buffers say it. If a tensor differs from that of the buffer before,
 * ends the batch, and makes negotiation and a new plan due as far as they are needed.
 *
 * Returns: GST_FLOW_ERROR after an error was posted; GST_BASE_TRANSFORM_FLOW_DROPPED if @input is
 *   empty and events wait; the result of gst_gemmcl_batch_end()
 */
GstFlowReturn gst_gemmcl_learn (GstGemmcl *self, GstBuffer *input, gsize *m);

/** gst_gemmcl_fit_plan: Makes the plan that is due, or one for the type and M of the next buffer,
 * which is negotiated; audio and flexible tensors get room to spare. */
gboolean gst_gemmcl_fit_plan (GstGemmcl *self, GError **error);

/** gst_gemmcl_is_empty: Returns: %TRUE if @buffer passes without a run: a gap without data, or
 * audio without samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);

/*
 * A batch collects buffers, and the serialised events between them. It ends when it is full, at its
 * timeout, or before a buffer or event that cannot be part of it. Then one run is submitted for all
 * of its buffers, and outputs and events are pushed in their order. With batch-size=1 the batch is
 * always empty.
 */

/** gst_gemmcl_batch_start: Allocates the batch. */
void gst_gemmcl_batch_start (GstGemmcl *self);

/** gst_gemmcl_batch_stop: Drops the batch's buffers and events and frees it. */
void gst_gemmcl_batch_stop (GstGemmcl *self);

/** gst_gemmcl_batch_add: Takes @input. Returns: the result of gst_gemmcl_batch_end() if @input
 * ended or filled a batch, otherwise GST_FLOW_OK. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *input);

/** gst_gemmcl_batch_mark_discont: Marks the next buffer as DISCONT, since one was dropped. */
void gst_gemmcl_batch_mark_discont (GstGemmcl *self);

/** gst_gemmcl_batch_hold: Returns: %TRUE if @event was taken, to be pushed after the collected
 * buffers; %FALSE if there are none, or if it ends the batch. */
gboolean gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_batch_end: Multiplies and pushes the batch. Returns: the flow of pushing it, or that
 * of the batch before if its timeout ended it and it failed. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);

/** gst_gemmcl_batch_clear: Drops the batch's buffers and events. */
void gst_gemmcl_batch_clear (GstGemmcl *self);

/** gst_gemmcl_batch_get_latency: Returns: the latency of collecting, in ns. Any thread. */
GstClockTime gst_gemmcl_batch_get_latency (GstGemmcl *self);
