/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/properties.h"

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

/** gst_gemmcl_tensors_field_is_present: Returns: %TRUE if @structure announces tensors. Before 1.28
 * the result is %FALSE. */
gboolean gst_gemmcl_tensors_field_is_present (const GstStructure *structure);

/** gst_gemmcl_tensors_field_find: @tensor: (out): undefined on failure. Gets the tensor that is A
 * with input=meta. Returns: %FALSE if @structure does not announce it with all its dimensions, or
 * if the element cannot read it. */
gboolean gst_gemmcl_tensors_field_find (const GstStructure *structure,
                                        const GstGemmclSettings *settings, GstGemmclTensor *tensor);

/**
 * gst_gemmcl_get_input_id:
 * @or_only: (out): %TRUE if the only tensor of a buffer is A, too, whatever its id
 *
 * Returns: (nullable): the id of the tensor that is A with input=meta
 */
const gchar *gst_gemmcl_get_input_id (const GstGemmclSettings *settings, gboolean *or_only);

/** gst_gemmcl_get_rows_id: Returns: (transfer full): the id of row outputs, from that of D. */
gchar *gst_gemmcl_get_rows_id (const gchar *id);
