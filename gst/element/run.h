/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/gstgemmcl.h"

/*
 * Runs: from buffers that came in to the library's GemmclRun, and what stays until one is done. All
 * functions are for the streaming thread, unless they say otherwise.
 */

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
