/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* Several buffers in one GEMM. All functions are for the streaming thread. */

G_BEGIN_DECLS

void gst_gemmcl_batch_init (GstGemmcl *self);
void gst_gemmcl_batch_finalize (GstGemmcl *self);

/**
 * gst_gemmcl_batch_generate:
 * @input: (transfer full) (nullable): what came in; %NULL when called again for more output
 * @output: (out) (transfer full): the next output in order; %NULL when there is none
 *
 * Collects buffers, and runs them when they are as many as batch-size says.
 */
GstFlowReturn gst_gemmcl_batch_generate (GstGemmcl *self, GstBuffer *input, GstBuffer **output);

/**
 * gst_gemmcl_batch_drain:
 *
 * Runs what was collected, though it is less than a batch, and pushes it.
 */
GstFlowReturn gst_gemmcl_batch_drain (GstGemmcl *self);

/** gst_gemmcl_batch_clear: Drops what was collected. */
void gst_gemmcl_batch_clear (GstGemmcl *self);

/**
 * gst_gemmcl_batch_query_latency:
 * @query: a latency query that upstream has answered
 *
 * Adds how long the first buffer of a batch waits for the last. From any thread.
 */
void gst_gemmcl_batch_query_latency (GstGemmcl *self, GstQuery *query);

G_END_DECLS
