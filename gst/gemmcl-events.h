/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmclmemory.h"

G_BEGIN_DECLS

/**
 * GstGemmclEvents:
 * @written: (nullable): of the last command that writes
 * @read: (array length=n_read): of those that read since
 *
 * Which commands use some memory. All zero: none. Whoever has it locks it.
 */
typedef struct {
  cl_event written;
  cl_event read[GST_OPENCL_MAX_EVENTS - 1];
  guint n_read;
} GstGemmclEvents;

/** gst_gemmcl_events_clear: Forgets all. */
void gst_gemmcl_events_clear (GstGemmclEvents *self);

/**
 * gst_gemmcl_events_prune:
 *
 * Forgets commands that are done, or failed, for what is to be written next.
 */
void gst_gemmcl_events_prune (GstGemmclEvents *self);

/** gst_gemmcl_events_get: As gst_opencl_memory_get_events(). */
guint gst_gemmcl_events_get (GstGemmclEvents *self, GstMapFlags access,
                             cl_event events[GST_OPENCL_MAX_EVENTS]);

/**
 * gst_gemmcl_events_add:
 * @queue: where a marker may be put in place of all reads, when they are too many
 *
 * As gst_opencl_memory_add_event().
 */
void gst_gemmcl_events_add (GstGemmclEvents *self, GstMapFlags access, cl_event event,
                            cl_command_queue queue);

/** gst_gemmcl_events_failed: Returns: whether the last write did not do what it should. */
gboolean gst_gemmcl_events_failed (const GstGemmclEvents *self);

G_END_DECLS
