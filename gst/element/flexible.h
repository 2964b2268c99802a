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

/** GstGemmclPlace: A tensor in a buffer. */
typedef struct {
  GstGemmclTensor tensor;
  gsize start; /* bytes before it in a memory of all tensors */
  gsize size;  /* its bytes, with its header */
} GstGemmclPlace;

/** gst_gemmcl_tensors_locate: @place: (out) (optional): tensor @index of @buffer, whose caps have
 * @tensors. Each has a memory of its own, or all lie in one memory, one behind the other; the sizes
 * of memories must be those of the tensors. Headers are read on the host: if upstream's device is
 * still writing the buffer, this waits. Returns: the number of tensors in @buffer; 0 with
 * #GEMMCL_ERROR_FORMAT or #GEMMCL_ERROR_TOO_LARGE. */
guint gst_gemmcl_tensors_locate (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                                 GstGemmclPlace *place, GError **error);

/** gst_gemmcl_tensors_get_memory: Returns: (transfer full) (nullable): the memory of tensor @index,
 * with its header. */
GstMemory *gst_gemmcl_tensors_get_memory (const GstGemmclTensors *tensors, guint index,
                                          GstBuffer *buffer, GError **error);
