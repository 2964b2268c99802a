/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-mapping.h"

/* The kinds of memory that inputs lie in, and how the device reads each. */

/**
 * GstGemmclSource:
 * @open: finds A in a buffer of the sink pad: in @mapping and @data, and for memory that is
 * acquired from its owner in @run, too. Buffer and mapping are kept until the run is done. Sets
 * @name to where it was found: "system", "OpenCL", "VA" or "DMABuf". For the streaming thread
 *
 * One kind of memory that caps can have. set_caps chooses it.
 */
struct _GstGemmclSource {
  gboolean (*open) (GstGemmcl *self, GstBuffer *buffer, GstGemmclMapping *mapping, GemmclData *data,
                    GemmclRun *run, const gchar **name, GError **error);
};

/** gst_gemmcl_source_choose: Returns: (transfer none): that of caps with buffers in @memory. */
const GstGemmclSource *gst_gemmcl_source_choose (GstGemmclMemory memory);

/**
 * gst_gemmcl_source_prepare:
 * @buffer: that is to be opened
 *
 * Gives the element an OpenCL context that can read @buffer, where that is a VA surface of another
 * display; then a new plan is due. For the streaming thread, before the output is allocated.
 */
gboolean gst_gemmcl_source_prepare (GstGemmcl *self, GstBuffer *buffer, GError **error);
