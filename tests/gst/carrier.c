/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "carrier.h"

#include <math.h>
#include <string.h>

const Spec plain = {"a", GST_TENSOR_DATA_TYPE_FLOAT32, 2, {2, K}, 2 * K};

gdouble
carrier_get_value (gsize i, guint seed)
{
  return (gdouble)((i * 7 + seed * 3) % 13);
}

/* Returns: the bits of a small integer as float16. */
static guint16
encode_half (gdouble value)
{
  gint exponent;
  const gdouble fraction = frexp (value, &exponent);

  return value == 0 ? 0 : (guint16)((exponent + 14) << 10 | (guint)((fraction * 2 - 1) * 1024));
}

/* Writes number @i. Returns: its size. */
static gsize
encode (GstTensorDataType type, gsize i, gdouble value, gpointer data)
{
  switch (type) {
  case GST_TENSOR_DATA_TYPE_FLOAT64:
    ((gdouble *)data)[i] = value;
    return 8;
  case GST_TENSOR_DATA_TYPE_INT64:
  case GST_TENSOR_DATA_TYPE_UINT64:
    ((gint64 *)data)[i] = (gint64)value;
    return 8;
  case GST_TENSOR_DATA_TYPE_FLOAT32:
    ((gfloat *)data)[i] = (gfloat)value;
    return 4;
  case GST_TENSOR_DATA_TYPE_INT32:
  case GST_TENSOR_DATA_TYPE_UINT32:
    ((gint32 *)data)[i] = (gint32)value;
    return 4;
  case GST_TENSOR_DATA_TYPE_FLOAT16:
    ((guint16 *)data)[i] = encode_half (value);
    return 2;
  case GST_TENSOR_DATA_TYPE_INT16:
  case GST_TENSOR_DATA_TYPE_UINT16:
    ((gint16 *)data)[i] = (gint16)value;
    return 2;
  default:
    ((gint8 *)data)[i] = (gint8)value;
    return 1;
  }
}

GstBuffer *
carrier_make_data (const Spec *spec, guint seed)
{
  guint8 bytes[1024];
  gsize size = 0;

  g_assert_cmpuint (spec->values, <=, sizeof bytes / 8);
  for (gsize i = 0; i < spec->values; i++)
    size += encode (spec->type, i, carrier_get_value (i, seed), bytes);
  return size > 0 ? gst_buffer_new_memdup (bytes, size) : gst_buffer_new ();
}

GstTensor *
carrier_make_tensor (const Spec *spec, GstBuffer *data)
{
  GstTensor *tensor = gst_tensor_alloc (spec->rank);

  tensor->id = g_quark_from_string (spec->id);
  tensor->data_type = spec->type;
  tensor->data = data;
  tensor->num_dims = spec->rank;
  memcpy (tensor->dims, spec->dims, MIN (spec->rank, G_N_ELEMENTS (spec->dims)) * sizeof (gsize));
  return tensor;
}

void
carrier_attach (GstBuffer *buffer, GstTensor *tensor)
{
  GstTensor **tensors = g_new (GstTensor *, 1);

  tensors[0] = tensor;
  gst_tensor_meta_set (
      (GstTensorMeta *)gst_buffer_add_meta (buffer, gst_tensor_meta_get_info (), NULL), 1, tensors);
}

GstBuffer *
carrier_new (const Spec *spec, guint seed)
{
  GstBuffer *frame = noise_bytes (48, seed);

  carrier_attach (frame, carrier_make_tensor (spec, carrier_make_data (spec, seed)));
  return frame;
}

void
carrier_check (GstBuffer *result, gsize m, guint seed)
{
  static const gdouble weight[K * N] = {1, 2, 3, 4, -5, 6};
  gdouble a[64 * K], d[64 * N];

  g_assert_cmpuint (m, <=, 64);
  for (gsize i = 0; i < m * K; i++)
    a[i] = carrier_get_value (i, seed);
  reference_gemm (m, N, K, a, weight, d);
  assert_floats (result, d, m * N, 1e-4);
}

const GstTensor *
carrier_get_last (GstBuffer *buffer)
{
  const GstTensorMeta *meta = NULL;
  GstMeta *next;
  gpointer state = NULL;

  while ((next = gst_buffer_iterate_meta_filtered (buffer, &state, GST_TENSOR_META_API_TYPE)))
    meta = (const GstTensorMeta *)next;
  g_assert_nonnull (meta);
  return meta->tensors[meta->num_tensors - 1];
}
