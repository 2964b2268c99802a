/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/caps.h"
#include "memory/caps.h"

/* The formats of the stream (negotiate.c), and the memory of its buffers (allocation.c, output.c).
 */

/**
 * GstGemmclStream:
 *
 * The streaming thread writes it, under the lock of the element, and is the only one that may read
 * it without the lock. Only negotiate.c writes it, except @pool_size.
 */
typedef struct {
  GstGemmclSettings settings; /* the properties when streaming started */
  GstGemmclFormat input;
  GstGemmclFormat output;
  GstClockTime frame_duration;
  gboolean started;
  gboolean configured; /* caps were accepted */
  gboolean va_refused; /* a warning said why surfaces are refused; any thread */

  /* The streaming thread's own, without the lock. */
  gboolean error_posted; /* since caps were last accepted */
  gboolean addend_warned;
  guint pool_size; /* bytes of a buffer of the output's pool; 0: no pool */
} GstGemmclStream;

/* Parts of the class: caps; memory on both pads; output buffers. */
void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);
void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);
void gst_gemmcl_output_install (GstBaseTransformClass *klass);

/** gst_gemmcl_stream_start: Takes the properties as the settings. */
void gst_gemmcl_stream_start (GstGemmcl *self);

/** gst_gemmcl_stream_stop: Forgets the caps. */
void gst_gemmcl_stream_stop (GstGemmcl *self);

/** gst_gemmcl_stream_learn_duration: Raises frame_duration to @duration, that of a buffer. Caps of
 * audio have no duration. Returns: %TRUE if frame_duration changed. */
gboolean gst_gemmcl_stream_learn_duration (GstGemmcl *self, GstClockTime duration);

/**
 * gst_gemmcl_explain_failure:
 * @input: (nullable): caps of the sink pad that could not be negotiated
 *
 * Posts an error that says why, unless one was posted since caps were last accepted or the
 * element is being shut down.
 */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);
