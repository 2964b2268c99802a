/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"

/** GST_GEMMCL_MAX_WAIT: A longer time to collect a batch, in ns, counts as no limit: 146 years. The
 * sum of such a time and a running time does not overflow. */
#define GST_GEMMCL_MAX_WAIT (G_MAXINT64 / 2)

/** GstGemmclStream: The formats of the stream (negotiate.c). Written under the lock of the element
 * and the stream lock of the sink pad, by the streaming thread and by start() and stop()
 * (element.c), unless a field says otherwise. A thread that has neither lock may not read it. */
typedef struct {
  GstGemmclSettings settings; /* the properties when streaming started; batch_timeout is at most
                               * GST_GEMMCL_MAX_WAIT */
  GstGemmclFormat input;      /* input.c writes the tensor or frame, as buffers describe it */
  GstGemmclFormat output;
  GstClockTime frame_duration; /* of a buffer, from caps or (batch.c) buffers; 0: unknown */
  gboolean started;
  gboolean configured;  /* caps were accepted; input.c: FALSE while caps wait for a buffer */
  gboolean negotiating; /* input and output are those of caps that are not accepted yet */

  guint64 late; /* properties.c: bits of the properties that were set while streaming, too late; any
                 * thread, under the lock of the element alone */

  guint warnings;        /* bits of posted warnings; atomic, any thread, without the lock */
  gboolean error_posted; /* for the streaming thread: since caps were last accepted */
} GstGemmclStream;

/** gst_gemmcl_stream_get_duration: @n: at least 1. Returns: the duration of @n buffers, in ns; 0 if
 * it is not known or longer than GST_GEMMCL_MAX_WAIT. */
static inline GstClockTime
gst_gemmcl_stream_get_duration (const GstGemmclStream *self, guint n)
{
  return self->frame_duration > GST_GEMMCL_MAX_WAIT / n ? 0 : n * self->frame_duration;
}

/** gst_gemmcl_stream_get_header_size: Returns: the bytes of the header before D, and before the row
 * outputs, in their memories; 0 if the output has no headers. */
static inline gsize
gst_gemmcl_stream_get_header_size (const GstGemmclStream *self)
{
  return self->output.tensors.flexible ? GST_GEMMCL_HEADER_SIZE : 0;
}

/** GstGemmcl: The element (element.h). */
typedef struct _GstGemmcl GstGemmcl;
