/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* The field `tensors` of caps, in which GStreamer 1.28 announces the tensors in GstTensorMeta:
 *
 *     video/x-raw, tensors=[tensorgroups, ID=(/uniquelist){(GstCaps)[tensor/strided, tensor-id=ID,
 *         dims=<1,10>, dims-order=row-major, type=float32]}]
 *
 * Pure functions. */

/** gst_gemmcl_tensors_field_add: Adds a tensor of @type and @m x @n, in a group of the same id,
 * to those that @structure, of fixed caps, announces. @m: 0: it differs between buffers. Before
 * 1.28 caps announce no tensors, and the function does nothing. */
void gst_gemmcl_tensors_field_add (GstStructure *structure, const gchar *id, GemmclType type,
                                   gsize m, gsize n);

/** gst_gemmcl_get_rows_id: Returns: (transfer full): the id of row outputs, from that of D. */
gchar *gst_gemmcl_get_rows_id (const gchar *id);
