/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"

/* The places of tensors in buffers, and the headers of flexible tensors. Pure functions. */

/** GstGemmclHeader: The header of a flexible tensor, 32 bit words in the order of the host: magic,
 * version, type, 16 dimensions (innermost first, zeros behind them), format, media type, the number
 * of elements of a sparse tensor, and zeros. */
typedef struct {
  guint32 words[32];
} GstGemmclHeader;

#define GST_GEMMCL_HEADER_SIZE sizeof (GstGemmclHeader)

/** gst_gemmcl_header_init: Makes the header of an @m x @n matrix of @type. */
void gst_gemmcl_header_init (GstGemmclHeader *self, GemmclType type, gsize m, gsize n);

/** GstGemmclPlaces: The tensors of a buffer, each behind the one before. */
typedef struct {
  guint n;
  gsize at[GST_GEMMCL_MAX_TENSORS + 1]; /* of each with its header, in bytes; behind them the end */
} GstGemmclPlaces;

/** gst_gemmcl_tensors_locate: @places, @tensor: (out): the tensors of @buffer, whose caps have
 * @tensors, and the one with @index. Each has a memory of its own, or all lie in one memory; the
 * sizes of memories must be those of the tensors. Headers are read on the host: if upstream's
 * device is still writing the buffer, this waits. Returns: %FALSE with #GEMMCL_ERROR_FORMAT or
 * #GEMMCL_ERROR_TOO_LARGE. */
gboolean gst_gemmcl_tensors_locate (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                                    GstGemmclPlaces *places, GstGemmclTensor *tensor,
                                    GError **error);
