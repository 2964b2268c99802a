/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"

/* Finds tensors in buffers, and reads and makes the headers of flexible tensors. Pure functions. */

/** GstGemmclHeader: The header of a flexible tensor. Its words of 32 bits, in the byte order of the
 * host, are: magic number, version, type, 16 dimensions (innermost first, zeros after the last),
 * format, media type, the number of elements of a sparse tensor, and zeros. */
typedef struct {
  guint32 words[32];
} GstGemmclHeader;

#define GST_GEMMCL_HEADER_SIZE sizeof (GstGemmclHeader)

/** gst_gemmcl_header_init: Makes the header of an @m x @n matrix of @type. */
void gst_gemmcl_header_init (GstGemmclHeader *self, GemmclType type, gsize m, gsize n);

/** GstGemmclPlaces: The places of the tensors in a buffer, which follow one another. */
typedef struct {
  guint n;
  gsize at[GST_GEMMCL_MAX_TENSORS + 1]; /* the first byte of each, with its header; then the end */
} GstGemmclPlaces;

/** gst_gemmcl_tensors_locate: Finds the tensors of @buffer; @tensors are those of its caps.
 * @places: (out): of all tensors. @tensor: (out): type and shape of tensor @index. Each tensor has
 * a memory of its own, or all lie in one memory; the sizes of the memories must match. Headers are
 * read on the host: if upstream's device is still writing the buffer, this waits. Returns: %FALSE
 * with #GEMMCL_ERROR_FORMAT or #GEMMCL_ERROR_TOO_LARGE. */
gboolean gst_gemmcl_tensors_locate (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                                    GstGemmclPlaces *places, GstGemmclTensor *tensor,
                                    GError **error);
