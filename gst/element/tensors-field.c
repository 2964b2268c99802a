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

#if GST_CHECK_VERSION(1, 28, 0)

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

#else

void
gst_gemmcl_tensors_field_add (GstStructure *structure G_GNUC_UNUSED, const gchar *id G_GNUC_UNUSED,
                              GemmclType type G_GNUC_UNUSED, gsize m G_GNUC_UNUSED,
                              gsize n G_GNUC_UNUSED)
{
}

#endif
