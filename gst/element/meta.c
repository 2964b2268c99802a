/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/meta.h"

#include "element/element.h"
#include "element/results.h"

#ifdef GEMMCL_HAVE_ANALYTICS

  #include <gst/analytics/analytics.h>
  #include <string.h>

  /* Characters besides letters and digits in the id, which is the name of a field in caps. */
  #define MORE_LETTERS "-_.:/+"
  /* Bytes after which no id is added to a message */
  #define MAX_IDS_SIZE 200

gboolean
gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error)
{
  const gchar *id = settings->tensor_id;
  g_autofree gchar *found = gemmcl_quote (id);

  return !gst_gemmcl_output_is_meta (settings) ||
         id[strspn (id, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS MORE_LETTERS)] == '\0' ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "tensor-id is \"%s\"; expected only ASCII letters, digits and %s, since "
                          "the id is the name of a field in caps.",
                          found, MORE_LETTERS);
}

/* Returns: the name of @type. GStreamer before 1.28 has no function for that. */
static const gchar *
get_type_name (GstTensorDataType type)
{
  static const gchar *const names[] = {
      [GST_TENSOR_DATA_TYPE_INT8] = "int8",       [GST_TENSOR_DATA_TYPE_INT16] = "int16",
      [GST_TENSOR_DATA_TYPE_INT32] = "int32",     [GST_TENSOR_DATA_TYPE_INT64] = "int64",
      [GST_TENSOR_DATA_TYPE_UINT8] = "uint8",     [GST_TENSOR_DATA_TYPE_UINT16] = "uint16",
      [GST_TENSOR_DATA_TYPE_UINT32] = "uint32",   [GST_TENSOR_DATA_TYPE_UINT64] = "uint64",
      [GST_TENSOR_DATA_TYPE_FLOAT16] = "float16", [GST_TENSOR_DATA_TYPE_FLOAT32] = "float32",
      [GST_TENSOR_DATA_TYPE_FLOAT64] = "float64", [GST_TENSOR_DATA_TYPE_BFLOAT16] = "bfloat16",
  };

  return (guint)type < G_N_ELEMENTS (names) && names[type] ? names[type] : "another type";
}

static const gchar *
get_id (const GstTensor *tensor)
{
  return tensor->id ? g_quark_to_string (tensor->id) : "";
}

/* (transfer full): the id for a message. */
static gchar *
quote_id (const GstTensor *tensor)
{
  return gemmcl_quote (get_id (tensor));
}

/* Returns: (nullable): the next meta with tensors; @state: all zero before the first. */
static const GstTensorMeta *
get_next (GstBuffer *buffer, gpointer *state)
{
  return (const GstTensorMeta *)gst_buffer_iterate_meta_filtered (buffer, state,
                                                                  GST_TENSOR_META_API_TYPE);
}

/* Sets @error: none of the @n tensors of @buffer is A. Returns: FALSE. */
static gboolean
refuse (GstBuffer *buffer, guint n, const gchar *id, GError **error)
{
  g_autofree gchar *wanted = gemmcl_quote (id ? id : "(not set)");
  g_autoptr (GString) ids = g_string_new (NULL);
  const GstTensorMeta *meta;
  gpointer state = NULL;

  if (n == 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer has no tensors in its metadata (GstTensorMeta). Expected "
                            "an element upstream that attaches tensors, such as onnxinference, "
                            "or input=media.");
  while ((meta = get_next (buffer, &state)))
    for (gsize i = 0; i < meta->num_tensors && ids->len < MAX_IDS_SIZE; i++) {
      g_autofree gchar *found = quote_id (meta->tensors[i]);

      g_string_append_printf (ids, "%s\"%s\"", ids->len > 0 ? ", " : "", found);
    }
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "A buffer has %u tensor%s in its metadata, but no tensor \"%s\". "
                          "Expected one of these as input-tensor-id: %s.",
                          n, n == 1 ? "" : "s", wanted, ids->str);
}

/* Returns: (nullable): the tensor that is A. */
static const GstTensor *
find_tensor (const GstGemmclSettings *settings, GstBuffer *buffer, GError **error)
{
  const GstTensor *last = NULL;
  const GstTensorMeta *meta;
  gboolean or_only;
  const gchar *id = gst_gemmcl_get_input_id (settings, &or_only);
  gpointer state = NULL;
  guint n = 0;

  while ((meta = get_next (buffer, &state)))
    for (gsize i = 0; i < meta->num_tensors; i++, n++) {
      last = meta->tensors[i];
      if (g_strcmp0 (get_id (last), id) == 0)
        return last;
    }
  if (or_only && n == 1)
    return last;
  refuse (buffer, n, id, error);
  return NULL;
}

gboolean
gst_gemmcl_meta_check_ids (const GstGemmclSettings *settings, GstBuffer *buffer, GError **error)
{
  const gchar *id = settings->tensor_id;
  const gsize length = strlen (id);
  const GstTensorMeta *meta;
  gpointer state = NULL;

  while (gst_gemmcl_output_is_meta (settings) && (meta = get_next (buffer, &state)))
    for (gsize i = 0; i < meta->num_tensors; i++) {
      const gchar *found = get_id (meta->tensors[i]);

      if ((!gst_gemmcl_output_omits_d (settings) && g_str_equal (found, id)) ||
          (settings->gemm.row_outputs != 0 && g_str_has_prefix (found, id) &&
           g_str_equal (found + length, GST_GEMMCL_ROWS_SUFFIX)))
        return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                                "A buffer already has a tensor \"%s\" in its metadata, from which "
                                "the result could not be told apart. Expected another tensor-id "
                                "than \"%s\".",
                                found, id);
    }
  return TRUE;
}

gboolean
gst_gemmcl_meta_find (const GstGemmclSettings *settings, GstBuffer *buffer, GstGemmclTensor *tensor,
                      GstBuffer **data, GError **error)
{
  const GstTensor *found = find_tensor (settings, buffer, error);
  gsize dims[GST_GEMMCL_MAX_RANK], expected, size;
  g_autofree gchar *id = NULL;

  if (!found)
    return FALSE;
  id = quote_id (found);
  if (found->layout != GST_TENSOR_LAYOUT_CONTIGUOUS ||
      found->dims_order != GST_TENSOR_DIM_ORDER_ROW_MAJOR)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The tensor \"%s\" of a buffer has gaps or is not row-major. Expected "
                            "a contiguous, row-major tensor: let the model transpose its output.",
                            id);
  for (gsize i = 0; found->num_dims <= GST_GEMMCL_MAX_RANK && i < found->num_dims; i++)
    dims[i] = found->dims[found->num_dims - 1 - i];
  if (!gst_gemmcl_tensor_init (tensor, get_type_name (found->data_type), found->num_dims, dims,
                               error)) {
    g_prefix_error (error, "The tensor \"%s\" of a buffer cannot be read. ", id);
    return FALSE;
  }
  expected = gst_gemmcl_tensor_get_size (tensor);
  size = found->data ? gst_buffer_get_size (found->data) : 0;
  if (size < expected) {
    g_autofree gchar *text = gst_gemmcl_tensor_print (tensor);

    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The tensor \"%s\" of a buffer has %zu bytes; expected %zu for %s.", id,
                            size, expected, text);
  }
  *data = gst_buffer_ref (found->data);
  return TRUE;
}

static GstTensorDataType
get_data_type (GemmclType type)
{
  GstTensorDataType result = 0;

  while (!g_str_equal (get_type_name (result), gemmcl_type_get_caps_name (type)))
    result++;
  return result;
}

/* Returns: (transfer full): a tensor of all of @data, (transfer full): a result of @input with @n
 * elements for each row of A. */
static GstTensor *
new_result (const GstGemmclRun *run, const GstGemmclInput *input, const gchar *id, GstBuffer *data,
            GemmclType type, gsize n)
{
  const gsize m = gst_buffer_get_size (data) / (n * gemmcl_type_get_size (type));
  GstGemmclTensor tensor;
  gsize dims[GST_GEMMCL_MAX_RANK];

  gst_gemmcl_shape_get_result (&run->problem->gemm, &run->problem->a_frame, &input->a, m, n,
                               &tensor);
  for (guint i = 0; i < tensor.rank; i++)
    dims[i] = tensor.dims[tensor.rank - 1 - i];
  return gst_tensor_new_simple (g_quark_from_string (id), get_data_type (type), data,
                                GST_TENSOR_DIM_ORDER_ROW_MAJOR, tensor.rank, dims);
}

/* Adds a meta with @tensors, which it takes, even if there is another such meta.
 * gst_buffer_add_tensor_meta() before 1.28 would return the other one. */
static void
add_meta (GstBuffer *buffer, guint n, GstTensor **tensors)
{
  gst_tensor_meta_set (
      (GstTensorMeta *)gst_buffer_add_meta (buffer, gst_tensor_meta_get_info (), NULL), n, tensors);
}

/* Copies the tensors to @copy if gst_buffer_copy() dropped them, as it does before 1.28. */
static void
keep_tensors (GstBuffer *copy, GstBuffer *original)
{
  const GstTensorMeta *meta;
  gpointer state = NULL;

  if (gst_buffer_get_tensor_meta (copy))
    return;
  while ((meta = get_next (original, &state))) {
    GstTensor **tensors = g_new (GstTensor *, meta->num_tensors);

    for (gsize i = 0; i < meta->num_tensors; i++)
      tensors[i] = gst_tensor_copy (meta->tensors[i]);
    add_meta (copy, meta->num_tensors, tensors);
  }
}

GstBuffer *
gst_gemmcl_meta_make_writable (GstBuffer *buffer)
{
  GstBuffer *copy;

  if (gst_buffer_is_writable (buffer))
    return buffer;
  copy = gst_buffer_copy (buffer);
  keep_tensors (copy, buffer);
  gst_buffer_unref (buffer);
  return copy;
}

/* Adds the tensors to the analytics meta of @buffer, if it has one. */
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
      GST_WARNING ("a tensor cannot be added to the analytics meta");
  }
  #else
  (void)buffer, (void)n, (void)tensors;
  #endif
}

/* Adds the labels of the best elements to the analytics meta of @buffer, if D is one row and labels
 * and values are known. Waits for the run. */
static void
classify (const GstGemmclRun *run, GstBuffer *buffer, GstMemory *rows)
{
  const GstGemmclBest best = gst_gemmcl_best_find (&run->problem->gemm);
  const GPtrArray *labels = gst_gemmcl_results_get_fitting_labels (run);
  GQuark quarks[GEMMCL_MAX_TOP_K];
  GstAnalyticsRelationMeta *meta;
  GstAnalyticsClsMtd mtd;
  gfloat *values;
  GstMapInfo map;

  if (!labels || best.values < 0 || gst_gemmcl_results_count_rows (run, rows) != 1 ||
      !gst_memory_map (rows, &map, GST_MAP_READ))
    return;
  values = (gfloat *)(map.data + gst_gemmcl_stream_get_header_size (run->stream));
  for (guint i = 0; i < best.n; i++)
    quarks[i] = g_quark_from_string (g_ptr_array_index (labels, (guint)values[best.columns + i]));
  meta = gst_buffer_get_analytics_relation_meta (buffer);
  if (!meta)
    meta = gst_buffer_add_analytics_relation_meta (buffer);
  if (!gst_analytics_relation_meta_add_cls_mtd (meta, best.n, values + best.values, quarks, &mtd))
    GST_WARNING ("a classification cannot be added to the analytics meta");
  gst_memory_unmap (rows, &map);
}

GstBuffer *
gst_gemmcl_meta_attach (const GstGemmclRun *run, const GstGemmclInput *input, GstBuffer *buffer,
                        GstBuffer *result)
{
  const GemmclGemm *gemm = &run->problem->gemm;
  const gchar *id = run->stream->settings.tensor_id;
  g_autofree gchar *rows_id = g_strconcat (id, GST_GEMMCL_ROWS_SUFFIX, NULL);
  const guint n_rows = gemmcl_gemm_count_row_outputs (gemm);
  GstTensor **tensors;
  GstBuffer *rows;
  guint n = 0;

  if (gst_buffer_n_memory (result) == 0)
    return buffer;
  tensors = g_new (GstTensor *, 2);
  if (!gemm->omit_d)
    tensors[n++] = new_result (run, input, id, gst_buffer_ref (result), gemm->d_type, gemm->n);
  if (n_rows > 0) {
    rows = gst_buffer_new ();
    gst_buffer_append_memory (rows, gst_gemmcl_output_get_rows (run, result));
    tensors[n++] = new_result (run, input, rows_id, rows, GEMMCL_TYPE_F32, n_rows);
  }
  buffer = gst_gemmcl_meta_make_writable (buffer);
  relate (buffer, n, tensors);
  if (n_rows > 0)
    classify (run, buffer, gst_buffer_peek_memory (tensors[n - 1]->data, 0));
  add_meta (buffer, n, tensors);
  return buffer;
}

#else

gboolean
gst_gemmcl_meta_check (const GstGemmclSettings *settings, GError **error)
{
  const gboolean is_input = gst_gemmcl_carriers_are_set (settings);

  if (!is_input && !gst_gemmcl_output_is_meta (settings))
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "%s needs GstTensorMeta of gstreamer-analytics-1.0, 1.26 or later, which "
                          "this gemmcl was built without. Expected %s.",
                          is_input ? "input=meta" : "output=meta",
                          is_input ? "input=media and no input-tensor-id"
                                   : "output=auto, media or tensors");
}

#endif
