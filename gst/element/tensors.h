/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl.h>
#include <gst/gst.h>

/* Reads and writes tensors: their description in caps, their places in buffers, and the headers of
 * flexible tensors. Pure functions and plain values. */

#define GST_GEMMCL_TENSORS_MEDIA "other/tensors"
#define GST_GEMMCL_MAX_RANK      16
/** The most tensors in a buffer. NNStreamer gives each of up to 16 its own memory. */
#define GST_GEMMCL_MAX_TENSORS 16

/* Tensors in caps. Caps of `other/tensors` have fields such as `dimensions=3:224:224,10` and
 * `types=uint8,float32`. Tensors are separated by a comma or a full stop. Dimensions are written
 * innermost first; zeros after them do not count. */

typedef struct {
  GemmclType type;
  guint rank;                        /* the number of dimensions */
  guint32 dims[GST_GEMMCL_MAX_RANK]; /* innermost first, each at least 1; 1 after the last */
} GstGemmclTensor;

typedef struct {
  /* The type and shape of each tensor are in its header in the buffer, and @tensor is not valid. */
  gboolean flexible;
  guint n; /* 1 to GST_GEMMCL_MAX_TENSORS; 0 if flexible and not known */
  GstGemmclTensor tensor[GST_GEMMCL_MAX_TENSORS];
} GstGemmclTensors;

/** gst_gemmcl_tensors_parse: Reads the fields @dimensions and @types of caps. @num_tensors: the
 * number of tensors that they must have; 0: any. Returns: %FALSE with #GEMMCL_ERROR_FORMAT, whose
 * message quotes the wrong part, or #GEMMCL_ERROR_TOO_LARGE; @tensors is undefined then. */
gboolean gst_gemmcl_tensors_parse (GstGemmclTensors *tensors, const gchar *dimensions,
                                   const gchar *types, guint num_tensors, GError **error);

/** gst_gemmcl_tensors_from_caps: Reads @caps, fixed caps of static or flexible tensors. Returns:
 * %FALSE as gst_gemmcl_tensors_parse() does. */
gboolean gst_gemmcl_tensors_from_caps (GstGemmclTensors *tensors, const GstCaps *caps,
                                       GError **error);

/** gst_gemmcl_tensors_check_strings: @caps: (nullable). Returns: %FALSE with #GEMMCL_ERROR_FORMAT
 * if dimensions or types of tensors are not strings, as in `dimensions=3:4` without `(string)`.
 * Such caps intersect with no others, and the message says how to write them. */
gboolean gst_gemmcl_tensors_check_strings (const GstCaps *caps, GError **error);

/** gst_gemmcl_tensor_get_size: Returns: its bytes, which fit a gsize if it was parsed. */
gsize gst_gemmcl_tensor_get_size (const GstGemmclTensor *tensor);

/** gst_gemmcl_tensors_to_structure: @types: the types that tensor @index may have, the preferred
 * one first. Returns: (transfer full): caps for @tensors, without a framerate. Dimensions, and the
 * types of several tensors, are lists of all equivalent spellings. The plain spelling is first, so
 * that fixation chooses it if downstream accepts any. Flexible tensors have neither field. */
GstStructure *gst_gemmcl_tensors_to_structure (const GstGemmclTensors *tensors, guint index,
                                               const GemmclType *types, guint n_types);

/** gst_gemmcl_tensor_init: @type: (nullable): the name of the type. @dims: (array length=rank):
 * innermost first. All arguments are checked. Returns: %FALSE with #GEMMCL_ERROR_FORMAT or
 * #GEMMCL_ERROR_TOO_LARGE; @self is undefined then. */
gboolean gst_gemmcl_tensor_init (GstGemmclTensor *self, const gchar *type, gsize rank,
                                 const gsize *dims, GError **error);

/** gst_gemmcl_tensor_count_dims: Returns: the number of dimensions, at least 1, without those of 1
 * at the end. */
guint gst_gemmcl_tensor_count_dims (const GstGemmclTensor *tensor);

/** gst_gemmcl_tensor_print: Returns: (transfer full): a text such as "float32 of 4 x 512". */
gchar *gst_gemmcl_tensor_print (const GstGemmclTensor *tensor);

/** gst_gemmcl_tensor_get_shape: @k: (out): the innermost dimension. @m: (out): all others. */
void gst_gemmcl_tensor_get_shape (const GstGemmclTensor *tensor, gsize *m, gsize *k);

/* Tensors in buffers. */

/** GstGemmclHeader: The header of a flexible tensor. Its words of 32 bits, in the byte order of the
 * host, are: magic number, version, type, 16 dimensions (innermost first, zeros after the last),
 * format, media type, the number of elements of a sparse tensor, and zeros. */
typedef struct {
  guint32 words[32];
} GstGemmclHeader;

#define GST_GEMMCL_HEADER_SIZE sizeof (GstGemmclHeader)

/** gst_gemmcl_header_init: Makes the header of @tensor. */
void gst_gemmcl_header_init (GstGemmclHeader *self, const GstGemmclTensor *tensor);

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
