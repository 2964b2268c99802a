/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/properties.h"
#include "memory/inflight.h"

/*
 * From input buffers to runs of the library: the queue of runs (run.c), the places of A and D in
 * buffers (data.c), and batches (batch.c). All functions are for the streaming thread, that is for
 * whoever holds the stream lock of the sink pad, unless they say otherwise.
 */

/** GstGemmclRuns: The run queue: a GstGemmclInflight for each of queue-depth runs. */
typedef struct _GstGemmclRuns GstGemmclRuns;

/** GstGemmclBatch: The buffers and events of a batch that is not full. */
typedef struct _GstGemmclBatch GstGemmclBatch;

/** gst_gemmcl_runs_start: Makes room for the queue-depth and batch-size of the settings. */
void gst_gemmcl_runs_start (GstGemmcl *self);

/** gst_gemmcl_runs_stop: Waits for all runs and frees the room. */
void gst_gemmcl_runs_stop (GstGemmcl *self);

/**
 * gst_gemmcl_run_submit:
 * @inputs: (array length=n): of the sink pad, at most a batch, which fit together
 *   (gst_gemmcl_run_fits()); those that the device reads in place are kept until it has
 * @outputs: (array length=n): by prepare_output_buffer; may be pushed at once
 *
 * Enqueues the product of @inputs with run_alpha and run_beta. Waits while queue-depth runs are in
 * flight. Posts an error when it fails, or when one before has failed on the device.
 */
GstFlowReturn gst_gemmcl_run_submit (GstGemmcl *self, guint n, GstBuffer *const *inputs,
                                     GstBuffer *const *outputs);

/** gst_gemmcl_run_fits: Returns: whether both inputs can be in one run: they have the same M. */
gboolean gst_gemmcl_run_fits (GstGemmcl *self, GstBuffer *first, GstBuffer *second);

/** gst_gemmcl_runs_get_limit: Returns: how many buffers like @input the element may hold at once,
 * so that upstream's pool always has one more. */
guint gst_gemmcl_runs_get_limit (GstGemmcl *self, GstBuffer *input);

/** gst_gemmcl_runs_finish: Waits for all runs. Posts an error and returns GST_FLOW_ERROR if one
 * failed. */
GstFlowReturn gst_gemmcl_runs_finish (GstGemmcl *self);

/** gst_gemmcl_runs_forget: The next run finds zeros as the previous output. */
void gst_gemmcl_runs_forget (GstGemmcl *self);

/** gst_gemmcl_runs_want_feedback: Returns: whether the previous output is, or will be, C. */
gboolean gst_gemmcl_runs_want_feedback (GstGemmcl *self);

/* The place of A and of D in buffers, for each kind of memory. */

/** gst_gemmcl_prepare_input: Gives the element an OpenCL context that can read @buffer, where that
 * is a VA surface of another display; then a new plan is due. Before the output is allocated. */
gboolean gst_gemmcl_prepare_input (GstGemmcl *self, GstBuffer *buffer, GError **error);

/**
 * gst_gemmcl_open_input:
 * @buffer: of the sink pad; with @mapping to be kept until the run is done
 * @data: (out): the place of A: where caps promise surfaces or dma-bufs, in these; in OpenCL memory
 *   of the element's context, laid out as the library can read it; else on the host
 * @run: told how memory is acquired from its owner and released
 * @name: (out): where it was found: "system", "OpenCL", "VA" or "DMABuf"
 */
gboolean gst_gemmcl_open_input (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping,
                                GemmclData *data, GemmclRun *run, const gchar **name,
                                GError **error);

/**
 * gst_gemmcl_map_output:
 * @access: GST_MAP_WRITE, for which @buffer must be writable, or GST_MAP_READ
 *
 * The same for D in @buffer, an output.
 */
gboolean gst_gemmcl_map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                                GstMapFlags access, GemmclData *data, GError **error);

/** gst_gemmcl_map_rows: The same for the row outputs, in the last memory of @buffer. */
gboolean gst_gemmcl_map_rows (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer,
                              GemmclData *data, GError **error);

/** gst_gemmcl_get_samples: Where in a buffer of audio the samples are, and how many. */
gboolean gst_gemmcl_get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset,
                                 gsize *samples, GError **error);

/** gst_gemmcl_get_tensor_memory: Returns: (transfer full): one tensor of several, or the whole
 * buffer when there is one. */
GstMemory *gst_gemmcl_get_tensor_memory (const GstGemmclTensors *tensors, guint index,
                                         GstBuffer *buffer, GError **error);

/** gst_gemmcl_get_output_index: Returns: which memory of an output holds D. */
guint gst_gemmcl_get_output_index (GstGemmcl *self);

/** gst_gemmcl_is_empty: Returns: whether @buffer has no data in it and is still to pass: a gap, or
 * audio of no samples. */
gboolean gst_gemmcl_is_empty (GstGemmcl *self, GstBuffer *buffer);

/*
 * A batch collects buffers, and the serialised events between them, until it is full, its timeout
 * is over, or something comes that must not be in one run with them. Whatever ends it, the same
 * function submits one run for all of its buffers and pushes outputs and events in their order.
 * With batch-size 1 there is never anything in it.
 *
 * Unless a function says otherwise it is for the streaming thread, that is for whoever holds the
 * sink pad's stream lock.
 */

/** gst_gemmcl_batch_start: Makes room for batch-size buffers. */
void gst_gemmcl_batch_start (GstGemmcl *self);

/** gst_gemmcl_batch_stop: Drops the batch and frees the room. */
void gst_gemmcl_batch_stop (GstGemmcl *self);

/** gst_gemmcl_batch_add: Takes @input. Returns: the flow of what was pushed, if it was the last. */
GstFlowReturn gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *input);

/** gst_gemmcl_batch_mark_discont: The next buffer follows one that was dropped. */
void gst_gemmcl_batch_mark_discont (GstGemmcl *self);

/** gst_gemmcl_batch_hold: Returns: whether @event, which is taken then, waits behind the collected
 * buffers; not if there are none, or if it is one that ends the batch. */
gboolean gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event);

/** gst_gemmcl_batch_end: Returns: the flow of what was pushed; that of an earlier end by the
 * timeout, if it failed. */
GstFlowReturn gst_gemmcl_batch_end (GstGemmcl *self);

/** gst_gemmcl_batch_clear: Drops what was collected. */
void gst_gemmcl_batch_clear (GstGemmcl *self);

/** gst_gemmcl_batch_get_latency: Returns: ns that collecting may add. Any thread. */
GstClockTime gst_gemmcl_batch_get_latency (GstGemmcl *self);
