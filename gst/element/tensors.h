/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* The grammar of `other/tensors` caps: `dimensions=3:224:224,10` and `types=uint8,float32`.
 * Dimensions are written innermost first, tensors are separated by a comma or a full stop. */

#define GST_GEMMCL_TENSORS_MEDIA "other/tensors"
#define GST_GEMMCL_MAX_RANK      16
/** NNStreamer gives each tensor a memory up to this number of them; more cannot be told apart. */
#define GST_GEMMCL_MAX_TENSORS 16

typedef struct {
  GemmclType type;
  guint rank;                        /* dimensions that were written */
  guint32 dims[GST_GEMMCL_MAX_RANK]; /* innermost first, each at least 1 */
} GstGemmclTensor;

typedef struct {
  guint n; /* 1 to GST_GEMMCL_MAX_TENSORS */
  GstGemmclTensor tensor[GST_GEMMCL_MAX_TENSORS];
} GstGemmclTensors;

/** Ones at the end of dimensions mean nothing, but caps compare as strings. */
typedef enum {
  GST_GEMMCL_SPELLING_PLAIN,  /* each dimension as it is */
  GST_GEMMCL_SPELLING_SHORT,  /* without ones at the end */
  GST_GEMMCL_SPELLING_RANK_4, /* with ones up to four, as older releases of NNStreamer write */
} GstGemmclSpelling;

#define GST_GEMMCL_N_SPELLINGS (GST_GEMMCL_SPELLING_RANK_4 + 1)

/**
 * gst_gemmcl_tensors_parse:
 * @tensors: (out caller-allocates): undefined on failure
 * @dimensions, @types: the fields of the caps
 * @num_tensors: how many there should be; 0: as many as are written
 *
 * Returns: %FALSE with #GEMMCL_ERROR_FORMAT that names the place, or #GEMMCL_ERROR_TOO_LARGE.
 */
gboolean gst_gemmcl_tensors_parse (GstGemmclTensors *tensors, const gchar *dimensions,
                                   const gchar *types, guint num_tensors, GError **error);

/** gst_gemmcl_tensors_from_structure: The same of static `other/tensors`. */
gboolean gst_gemmcl_tensors_from_structure (GstGemmclTensors *tensors,
                                            const GstStructure *structure, GError **error);

/** gst_gemmcl_tensor_get_size: Returns: bytes of a tensor that was parsed or that fits a gsize. */
gsize gst_gemmcl_tensor_get_size (const GstGemmclTensor *tensor);

/** gst_gemmcl_tensors_print_dimensions: Returns: (transfer full): "10:1,3:4". */
gchar *gst_gemmcl_tensors_print_dimensions (const GstGemmclTensors *tensors,
                                            GstGemmclSpelling spelling, gchar separator);

/** gst_gemmcl_tensors_print_types: Returns: (transfer full): "float32,uint8". */
gchar *gst_gemmcl_tensors_print_types (const GstGemmclTensors *tensors, gchar separator);

/** gst_gemmcl_list_append_once: Appends @text, which is taken, to @list if it is not in there. */
void gst_gemmcl_list_append_once (GValue *list, gchar *text);

/** gst_gemmcl_structure_take_list: Sets @field to @list, which is taken, or, of a list of one, to
 * that one: fixed caps stay fixed. */
void gst_gemmcl_structure_take_list (GstStructure *structure, const gchar *field, GValue *list);

/**
 * gst_gemmcl_tensors_to_structure:
 *
 * Returns: (transfer full): caps for @tensors, without a framerate. Dimensions, and types where
 *   there are several, are a list of all spellings that mean the same, the plain one first: it is
 *   what fixation takes when the other side does not mind.
 */
GstStructure *gst_gemmcl_tensors_to_structure (const GstGemmclTensors *tensors);

/** gst_gemmcl_tensor_get_shape: @m: the outer dimensions together, @k: the innermost. */
void gst_gemmcl_tensor_get_shape (const GstGemmclTensor *tensor, gsize *m, gsize *k);
