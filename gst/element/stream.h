/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/caps.h"
#include "memory/caps.h"

/* The stream as caps describe it: negotiate.c, allocation.c and output.c. */

/**
 * GstGemmclStream:
 *
 * Written by the streaming thread, under the lock of the element; only that thread may read it
 * without. Only negotiate.c writes it, but for @pool_size.
 */
typedef struct {
  GstGemmclSettings settings; /* the properties when streaming started */
  GstGemmclFormat input;
  GstGemmclFormat output;
  GstGemmclMemory input_memory;
  gboolean output_opencl; /* caps say that outputs are in OpenCL memory */
  GstClockTime frame_duration;
  gboolean started;
  gboolean configured; /* there are caps, and they fit */
  gboolean va_refused; /* a warning said why surfaces are not taken; any thread */

  /* The streaming thread's own, without the lock. */
  gboolean error_posted; /* since caps were last accepted */
  gboolean addend_warned;
  guint pool_size; /* bytes of the buffers of the output's pool; 0: there is none */
} GstGemmclStream;

/* Parts of the class: caps; memory on both pads; output buffers. */
void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);
void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);
void gst_gemmcl_output_install (GstBaseTransformClass *klass);

/** gst_gemmcl_stream_start: Takes the properties as the settings. */
void gst_gemmcl_stream_start (GstGemmcl *self);

/** gst_gemmcl_stream_stop: There are no caps any more. */
void gst_gemmcl_stream_stop (GstGemmcl *self);

/** gst_gemmcl_stream_learn_duration: @duration, of a buffer, lengthens the frame_duration of audio,
 * of which caps say nothing. Returns: whether it has. */
gboolean gst_gemmcl_stream_learn_duration (GstGemmcl *self, GstClockTime duration);

/**
 * gst_gemmcl_explain_failure:
 * @input: (nullable): caps of the sink pad that could not be negotiated
 *
 * Posts an error that says why, unless one was posted since caps were last accepted or the
 * element is being shut down.
 */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);
