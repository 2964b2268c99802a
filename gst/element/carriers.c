/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/carriers.h"

#include "element/caps.h"
#include "memory/error.h"

#define FIELD "tensors"

gchar *
gst_gemmcl_get_rows_id (const gchar *id)
{
  return g_strconcat (id, "-rows", NULL);
}

const gchar *
gst_gemmcl_get_input_id (const GstGemmclSettings *settings, gboolean *or_only)
{
  const gboolean names_result = settings->output == GST_GEMMCL_OUTPUT_META;

  *or_only = !settings->input_tensor_id &&
             (names_result || g_strcmp0 (settings->tensor_id, GST_GEMMCL_DEFAULT_TENSOR_ID) == 0);
  return settings->input_tensor_id || names_result ? settings->input_tensor_id
                                                   : settings->tensor_id;
}

/* Returns: (nullable): the tensors that @structure announces, in groups. */
static const GstStructure *
get_groups (const GstStructure *structure)
{
  const GValue *field = gst_structure_get_value (structure, FIELD);

  return field && GST_VALUE_HOLDS_STRUCTURE (field) ? gst_value_get_structure (field) : NULL;
}

#if GST_CHECK_VERSION(1, 28, 0)

/* The tensors of a group are fixed caps, each of one structure. */
static const GstStructure *
get_tensor (const GValue *group, guint i)
{
  const GValue *value = gst_value_unique_list_get_value (group, i);
  const GstCaps *caps = GST_VALUE_HOLDS_CAPS (value) ? gst_value_get_caps (value) : NULL;

  return caps && gst_caps_is_fixed (caps) ? gst_caps_get_structure (caps, 0) : NULL;
}

/* Returns: (nullable): the tensor that is A. */
static const GstStructure *
find_tensor (const GstStructure *groups, const GstGemmclSettings *settings)
{
  const GstStructure *only = NULL;
  gboolean or_only;
  const gchar *id = gst_gemmcl_get_input_id (settings, &or_only);
  guint n = 0;

  for (gint i = 0; i < gst_structure_n_fields (groups); i++) {
    const GValue *group =
        gst_structure_get_value (groups, gst_structure_nth_field_name (groups, (guint)i));

    for (guint j = 0;
         GST_VALUE_HOLDS_UNIQUE_LIST (group) && j < gst_value_unique_list_get_size (group); j++) {
      const GstStructure *tensor = get_tensor (group, j);

      if (tensor && id && g_strcmp0 (gst_structure_get_string (tensor, "tensor-id"), id) == 0)
        return tensor;
      only = tensor;
      n++;
    }
  }
  return or_only && n == 1 ? only : NULL;
}

/* Gets the tensor that is A. FALSE if @structure does not announce it with all its dimensions, or
 * if the element cannot read it. */
static gboolean
find_announced (const GstStructure *structure, const GstGemmclSettings *settings,
                GstGemmclTensor *tensor)
{
  const GstStructure *groups = get_groups (structure);
  const GstStructure *found = groups ? find_tensor (groups, settings) : NULL;
  const GValue *value = found ? gst_structure_get_value (found, "dims") : NULL;
  gsize dims[GST_GEMMCL_MAX_RANK] = {0};
  guint rank;

  if (!value || !GST_VALUE_HOLDS_ARRAY (value) ||
      g_strcmp0 (gst_structure_get_string (found, "dims-order"), "row-major") != 0)
    return FALSE;
  rank = gst_value_array_get_size (value);
  for (guint i = 0; i < MIN (rank, GST_GEMMCL_MAX_RANK); i++) {
    const GValue *dim = gst_value_array_get_value (value, rank - 1 - i);

    dims[i] = G_VALUE_HOLDS_INT (dim) ? (gsize)MAX (g_value_get_int (dim), 0) : 0;
  }
  return gst_gemmcl_tensor_init (tensor, gst_structure_get_string (found, "type"), rank, dims,
                                 NULL);
}

void
gst_gemmcl_carriers_announce (GstStructure *structure, const gchar *id, GemmclType type, gsize m,
                              gsize n)
{
  const GstStructure *announced = get_groups (structure);
  g_autoptr (GstStructure) groups =
      announced ? gst_structure_copy (announced) : gst_structure_new_empty ("tensorgroups");
  const GValue *present = gst_structure_get_value (groups, id);
  /* 0 stands for a dimension that caps do not know. */
  g_autofree gchar *text = g_strdup_printf (
      "tensor/strided, tensor-id = (string) \"%s\", dims-order = (string) row-major, "
      "type = (string) %s, dims = (int) < %zu, %zu >",
      id, gst_gemmcl_type_get_caps_name (type), m <= G_MAXINT ? m : 0, n <= G_MAXINT ? n : 0);
  GValue group = G_VALUE_INIT, tensor = G_VALUE_INIT;

  g_value_init (&tensor, GST_TYPE_CAPS);
  g_value_take_boxed (&tensor, gst_caps_from_string (text));
  g_value_init (&group, GST_TYPE_UNIQUE_LIST);
  if (present && GST_VALUE_HOLDS_UNIQUE_LIST (present))
    g_value_copy (present, &group);
  gst_value_unique_list_append_and_take_value (&group, &tensor);
  gst_structure_take_value (groups, id, &group);
  gst_structure_set (structure, FIELD, GST_TYPE_STRUCTURE, groups, NULL);
}

#else

  #define find_announced(structure, settings, tensor) ((void)(structure), (void)(settings), FALSE)

#endif

GstCaps *
gst_gemmcl_carriers_new_caps (void)
{
  return gst_caps_from_string (GST_GEMMCL_VIDEO_MEDIA "(ANY); " GST_GEMMCL_AUDIO_MEDIA "(ANY)");
}

gboolean
gst_gemmcl_carriers_are_set (const GstGemmclSettings *settings)
{
  return settings->input == GST_GEMMCL_INPUT_META ||
         (settings->input == GST_GEMMCL_INPUT_AUTO && settings->input_tensor_id);
}

gboolean
gst_gemmcl_carriers_have (const GstCaps *caps, guint index, const GstGemmclSettings *settings)
{
  return gst_gemmcl_carriers_are_set (settings) ||
         (settings->input == GST_GEMMCL_INPUT_AUTO &&
          get_groups (gst_caps_get_structure (caps, index)) &&
          !gst_gemmcl_caps_know (GST_PAD_SINK, caps, index));
}

gboolean
gst_gemmcl_input_from_caps (GstGemmclFormat *format, const GstCaps *caps,
                            const GstGemmclSettings *settings, const GstGemmclTensor *learned,
                            GError **error)
{
  if (!gst_gemmcl_carriers_have (caps, 0, settings)) {
    if (!gst_gemmcl_format_from_caps (format, caps, error))
      return FALSE;
    if (format->medium == GST_GEMMCL_MEDIUM_TENSORS)
      format->index = settings->tensor_index;
    if (format->tensors.flexible)
      format->tensors.tensor[format->index] = *learned;
    return TRUE;
  }
  *format = (GstGemmclFormat){.memory = GST_GEMMCL_MEMORY_SYSTEM,
                              .medium = GST_GEMMCL_MEDIUM_TENSORS,
                              .tensors = {.n = 1},
                              .is_meta = TRUE};
  if (find_announced (gst_caps_get_structure (caps, 0), settings, &format->tensors.tensor[0]))
    return TRUE;
  format->varies = TRUE;
  format->tensors.tensor[0] = *learned;
  return learned->rank > 0 ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "Caps do not announce the tensor that is A, and no buffer with it has "
                          "come yet; expected a buffer with GstTensorMeta.");
}
