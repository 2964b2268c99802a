/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/formats.h"
#include "element/properties.h"

/* Carriers: buffers of video or audio with A as a tensor in their metadata (GstTensorMeta), which
 * the element does not read otherwise. GStreamer 1.28 announces the tensors in the field `tensors`
 * of caps:
 *
 *     video/x-raw, tensors=[tensorgroups, ID=(/uniquelist){(GstCaps)[tensor/strided, tensor-id=ID,
 *         dims=<1,10>, dims-order=row-major, type=float32]}]
 *
 * Pure functions. */

/** gst_gemmcl_carriers_new_caps: Returns: (transfer full): the caps of all carriers. */
GstCaps *gst_gemmcl_carriers_new_caps (void);

/** gst_gemmcl_carriers_are_set: Returns: %TRUE if properties say that inputs are carriers. */
gboolean gst_gemmcl_carriers_are_set (const GstGemmclSettings *settings);

/** gst_gemmcl_carriers_have: Returns: %TRUE if buffers of structure @index of @caps, of the sink
 * pad, are carriers: by properties, or since the caps announce tensors and the element cannot read
 * the medium. */
gboolean gst_gemmcl_carriers_have (const GstCaps *caps, guint index,
                                   const GstGemmclSettings *settings);

/** gst_gemmcl_input_from_caps: @format: (out): that of @caps, fixed ones of the sink pad. A in
 * carriers is the tensor that caps announce or else, as in flexible tensors, @learned, that of the
 * last buffer; its rank is 0 if there was none. Returns: %FALSE with #GEMMCL_ERROR_FORMAT or
 * #GEMMCL_ERROR_TOO_LARGE if @caps cannot be read, or the tensor of carriers is not known. */
gboolean gst_gemmcl_input_from_caps (GstGemmclFormat *format, const GstCaps *caps,
                                     const GstGemmclSettings *settings,
                                     const GstGemmclTensor *learned, GError **error);

/** gst_gemmcl_carriers_announce: Adds a tensor of @type and @m x @n, in a group of the same id,
 * to those that @structure, of fixed caps, announces. @m: 0: it differs between buffers. */
#if GST_CHECK_VERSION(1, 28, 0)
void gst_gemmcl_carriers_announce (GstStructure *structure, const gchar *id, GemmclType type,
                                   gsize m, gsize n);
#else
  #define gst_gemmcl_carriers_announce(structure, id, type, m, n)                                  \
    ((void)(structure), (void)(id), (void)(type), (void)(m))
#endif

/** gst_gemmcl_get_input_id: Returns: (nullable): the id of the tensor that is A with input=meta.
 * @or_only: (out): %TRUE if the only tensor of a buffer is A, too, whatever its id. */
const gchar *gst_gemmcl_get_input_id (const GstGemmclSettings *settings, gboolean *or_only);

/** gst_gemmcl_get_rows_id: Returns: (transfer full): the id of row outputs, from that of D. */
gchar *gst_gemmcl_get_rows_id (const gchar *id);
