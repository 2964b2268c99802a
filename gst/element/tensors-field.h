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

#if GST_CHECK_VERSION(1, 28, 0)

/** gst_gemmcl_tensors_field_add: Adds a tensor of @type and @m x @n, in a group of the same id,
 * to those that @structure, of fixed caps, announces. @m: 0: it differs between buffers. */
void gst_gemmcl_tensors_field_add (GstStructure *structure, const gchar *id, GemmclType type,
                                   gsize m, gsize n);

/** gst_gemmcl_tensors_field_is_present: Returns: %TRUE if @structure announces tensors. */
gboolean gst_gemmcl_tensors_field_is_present (const GstStructure *structure);

/** gst_gemmcl_tensors_field_find: @tensor: (out): undefined on failure. Gets the tensor that is A
 * with input=meta. Returns: %FALSE if @structure does not announce it with all its dimensions, or
 * if the element cannot read it. */
gboolean gst_gemmcl_tensors_field_find (const GstStructure *structure,
                                        const GstGemmclSettings *settings, GstGemmclTensor *tensor);

#else
  /* Caps announce no tensors. */
  #define gst_gemmcl_tensors_field_add(structure, id, type, m, n) ((void)(id), (void)(m))
  #define gst_gemmcl_tensors_field_is_present(structure)          FALSE
  #define gst_gemmcl_tensors_field_find(structure, settings, tensor)                               \
    ((void)(structure), (void)(settings), FALSE)
#endif

/** gst_gemmcl_get_input_id: Returns: (nullable): the id of the tensor that is A with input=meta.
 * @or_only: (out): %TRUE if the only tensor of a buffer is A, too, whatever its id. */
const gchar *gst_gemmcl_get_input_id (const GstGemmclSettings *settings, gboolean *or_only);

/** gst_gemmcl_get_rows_id: Returns: (transfer full): the id of row outputs, from that of D. */
gchar *gst_gemmcl_get_rows_id (const gchar *id);
