/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Results as GstTensorMeta, for output=meta: the input is pushed with them.
 */
#include "element/gstgemmcl.h"

#include <string.h>

#ifdef GEMMCL_HAVE_ANALYTICS
  #include <gst/analytics/analytics.h>
#endif

#include "element/tensors-field.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

/* Letters of names of fields, beside letters and digits: caps have the id as one. */
#define MORE_LETTERS "-_.:/+"

#ifdef GEMMCL_HAVE_ANALYTICS

static gboolean
check_id (const gchar *id, GError **error)
{
  for (const gchar *letter = id; *letter; letter++)
    if (!g_ascii_isalnum (*letter) && !strchr (MORE_LETTERS, *letter))
      return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                              "tensor-id is \"%s\"; expected ASCII letters, digits and %s only, "
                              "since caps have the id as the name of a field.",
                              id, MORE_LETTERS);
  return TRUE;
}

gboolean
gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error)
{
  return settings->output != GST_GEMMCL_OUTPUT_META || check_id (settings->tensor_id, error);
}

static GstTensorDataType
get_data_type (GemmclType type)
{
  switch (type) {
  case GEMMCL_TYPE_F16:
    return GST_TENSOR_DATA_TYPE_FLOAT16;
  case GEMMCL_TYPE_I8:
    return GST_TENSOR_DATA_TYPE_INT8;
  case GEMMCL_TYPE_U8:
    return GST_TENSOR_DATA_TYPE_UINT8;
  default:
    return GST_TENSOR_DATA_TYPE_FLOAT32;
  }
}

/* Returns: (transfer full): a tensor of all of @data, (transfer full), with @n columns. */
static GstTensor *
tensor_new (const gchar *id, GstBuffer *data, GemmclType type, gsize n)
{
  gsize dims[] = {gst_buffer_get_size (data) / (n * gemmcl_type_get_size (type)), n};

  return gst_tensor_new_simple (g_quark_from_string (id), get_data_type (type), data,
                                GST_TENSOR_DIM_ORDER_ROW_MAJOR, G_N_ELEMENTS (dims), dims);
}

/* Returns: (transfer full): a buffer with the row outputs that are kept with @result. */
static GstBuffer *
wrap_rows (GstBuffer *result)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (buffer, gst_gemmcl_get_rows_memory (result));
  return buffer;
}

/* Takes @tensors. Adds a meta with them, also beside another one, which before 1.28
 * gst_buffer_add_tensor_meta() would return. */
static void
add_meta (GstBuffer *buffer, guint n, GstTensor **tensors)
{
  gst_tensor_meta_set (
      (GstTensorMeta *)gst_buffer_add_meta (buffer, gst_tensor_meta_get_info (), NULL), n, tensors);
}

/* Copies tensors to @copy if gst_buffer_copy() did not: before 1.28 it drops them. */
static void
keep_tensors (GstBuffer *copy, GstBuffer *original)
{
  gpointer state = NULL;
  GstTensorMeta *meta;

  if (gst_buffer_get_tensor_meta (copy))
    return;
  while ((meta = (GstTensorMeta *)gst_buffer_iterate_meta_filtered (original, &state,
                                                                    GST_TENSOR_META_API_TYPE))) {
    GstTensor **tensors = g_new (GstTensor *, meta->num_tensors);

    for (gsize i = 0; i < meta->num_tensors; i++)
      tensors[i] = gst_tensor_copy (meta->tensors[i]);
    add_meta (copy, meta->num_tensors, tensors);
  }
}

/* Takes @buffer. Returns: (transfer full): a buffer of the same memories that takes metas. */
static GstBuffer *
make_writable (GstBuffer *buffer)
{
  GstBuffer *copy;

  if (gst_buffer_is_writable (buffer))
    return buffer;
  copy = gst_buffer_copy (buffer);
  keep_tensors (copy, buffer);
  gst_buffer_unref (buffer);
  return copy;
}

/* Adds the tensors to the analytics meta, if @buffer has one. */
static void
relate (GstBuffer *buffer, guint n, GstTensor *const *tensors)
{
  #if GST_CHECK_VERSION(1, 28, 0)
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (buffer);

  for (guint i = 0; meta && i < n; i++) {
    const GstTensor *tensor = tensors[i];
    GstAnalyticsTensorMtd mtd;

    if (!gst_analytics_relation_meta_add_tensor_mtd_simple (
            meta, tensor->id, tensor->data_type, gst_buffer_ref (tensor->data), tensor->dims_order,
            tensor->num_dims, (gsize *)tensor->dims, &mtd))
      GST_WARNING ("a tensor does not fit the analytics meta");
  }
  #else
  (void)buffer, (void)n, (void)tensors;
  #endif
}

GstBuffer *
gst_gemmcl_meta_attach (GstGemmcl *self, GstBuffer *buffer, GstBuffer *result)
{
  const GemmclGemm *gemm = &self->slot.problem.gemm;
  const gchar *id = self->stream.settings.tensor_id;
  g_autofree gchar *rows_id = gst_gemmcl_get_rows_id (id);
  const guint n_rows = gemmcl_gemm_count_row_outputs (gemm);
  const guint n = n_rows > 0 ? 2 : 1;
  GstTensor **tensors;

  if (gst_buffer_n_memory (result) == 0)
    return buffer;
  tensors = g_new (GstTensor *, n);
  tensors[0] = tensor_new (id, gst_buffer_ref (result), gemm->d_type, gemm->n);
  if (n_rows > 0)
    tensors[1] = tensor_new (rows_id, wrap_rows (result), GEMMCL_TYPE_F32, n_rows);
  buffer = make_writable (buffer);
  relate (buffer, n, tensors);
  add_meta (buffer, n, tensors);
  return buffer;
}

#else

gboolean
gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error)
{
  return settings->output != GST_GEMMCL_OUTPUT_META ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "output=meta needs GstTensorMeta of gstreamer-analytics-1.0, 1.26 or "
                          "later, which this gemmcl was built without. Expected output=auto, media "
                          "or tensors.");
}

GstBuffer *
gst_gemmcl_meta_attach (GstGemmcl *self G_GNUC_UNUSED, GstBuffer *buffer,
                        GstBuffer *result G_GNUC_UNUSED)
{
  return buffer;
}

#endif
