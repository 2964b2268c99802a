/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/tensors-field.h"

#include "element/formats.h"

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

#if GST_CHECK_VERSION(1, 28, 0)

/* The tensors of a group are fixed caps, each of one structure. */
static const GstStructure *
get_tensor (const GValue *group, guint i)
{
  const GValue *value = gst_value_unique_list_get_value (group, i);
  const GstCaps *caps = GST_VALUE_HOLDS_CAPS (value) ? gst_value_get_caps (value) : NULL;

  return caps && gst_caps_is_fixed (caps) ? gst_caps_get_structure (caps, 0) : NULL;
}

static const GstStructure *
get_groups (const GstStructure *structure)
{
  const GValue *field = gst_structure_get_value (structure, FIELD);

  return field && GST_VALUE_HOLDS_STRUCTURE (field) ? gst_value_get_structure (field) : NULL;
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

gboolean
gst_gemmcl_tensors_field_is_present (const GstStructure *structure)
{
  return get_groups (structure) != NULL;
}

gboolean
gst_gemmcl_tensors_field_find (const GstStructure *structure, const GstGemmclSettings *settings,
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
    const GValue *dim = gst_value_array_get_value (value, i);

    dims[i] = G_VALUE_HOLDS_INT (dim) ? (gsize)MAX (g_value_get_int (dim), 0) : 0;
  }
  return gst_gemmcl_tensor_init (tensor, gst_structure_get_string (found, "type"), rank, dims,
                                 NULL);
}

/* Appends a dimension; 0 stands for one that caps do not know. */
static void
append_dim (GValue *dims, gsize size)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_INT);
  g_value_set_int (&value, size <= G_MAXINT ? (gint)size : 0);
  gst_value_array_append_and_take_value (dims, &value);
}

static void
append_tensor (GValue *group, const gchar *id, GemmclType type, gsize m, gsize n)
{
  GstStructure *tensor = gst_structure_new (
      "tensor/strided", "tensor-id", G_TYPE_STRING, id, "dims-order", G_TYPE_STRING, "row-major",
      "type", G_TYPE_STRING, gst_gemmcl_type_get_caps_name (type), NULL);
  GValue dims = G_VALUE_INIT, caps = G_VALUE_INIT;

  gst_value_array_init (&dims, 2);
  append_dim (&dims, m);
  append_dim (&dims, n);
  gst_structure_take_value (tensor, "dims", &dims);
  g_value_init (&caps, GST_TYPE_CAPS);
  g_value_take_boxed (&caps, gst_caps_new_full (tensor, NULL));
  gst_value_unique_list_append_and_take_value (group, &caps);
}

void
gst_gemmcl_tensors_field_add (GstStructure *structure, const gchar *id, GemmclType type, gsize m,
                              gsize n)
{
  const GValue *field = gst_structure_get_value (structure, FIELD), *present;
  g_autoptr (GstStructure) groups = field && GST_VALUE_HOLDS_STRUCTURE (field)
                                        ? gst_structure_copy (gst_value_get_structure (field))
                                        : gst_structure_new_empty ("tensorgroups");
  GValue group = G_VALUE_INIT;

  g_value_init (&group, GST_TYPE_UNIQUE_LIST);
  present = gst_structure_get_value (groups, id);
  if (present && GST_VALUE_HOLDS_UNIQUE_LIST (present))
    g_value_copy (present, &group);
  append_tensor (&group, id, type, m, n);
  gst_structure_take_value (groups, id, &group);
  gst_structure_set (structure, FIELD, GST_TYPE_STRUCTURE, groups, NULL);
}

#endif
