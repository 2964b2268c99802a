/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/carriers.h"

#include "element/caps.h"
#include "element/tensors-field.h"
#include "memory/error.h"

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
gst_gemmcl_carriers_can_read (const GstCaps *caps, guint index)
{
  static GstCaps *readable = NULL;
  g_autoptr (GstCaps) plain =
      gst_caps_new_full (gst_gemmcl_drm_to_plain (gst_caps_get_structure (caps, index)), NULL);

  if (g_once_init_enter (&readable)) {
    GstCaps *template = gst_gemmcl_caps_new_template (GST_PAD_SINK);

    GST_MINI_OBJECT_FLAG_SET (template, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
    g_once_init_leave (&readable, template);
  }
  return gst_gemmcl_caps_get_memory (caps, index) != GST_GEMMCL_MEMORY_OTHER &&
         gst_caps_can_intersect (readable, plain);
}

gboolean
gst_gemmcl_carriers_have (const GstCaps *caps, guint index, const GstGemmclSettings *settings)
{
  return gst_gemmcl_carriers_are_set (settings) ||
         (settings->input == GST_GEMMCL_INPUT_AUTO &&
          gst_gemmcl_tensors_field_is_present (gst_caps_get_structure (caps, index)) &&
          !gst_gemmcl_carriers_can_read (caps, index));
}

GstCaps *
gst_gemmcl_carriers_get_announced (const GstCaps *caps, const GstGemmclSettings *settings)
{
  GstCaps *result = gst_caps_new_empty ();

  for (guint i = 0; !gst_gemmcl_carriers_are_set (settings) && i < gst_caps_get_size (caps); i++)
    if (gst_gemmcl_carriers_have (caps, i, settings))
      gst_caps_append (result, gst_caps_copy_nth (caps, i));
  return result;
}

gboolean
gst_gemmcl_carriers_read (GstGemmclFormat *format, const GstStructure *structure,
                          const GstGemmclSettings *settings, const GstGemmclTensor *learned,
                          GError **error)
{
  *format = (GstGemmclFormat){.memory = GST_GEMMCL_MEMORY_SYSTEM,
                              .medium = GST_GEMMCL_MEDIUM_TENSORS,
                              .tensors = {.n = 1},
                              .is_meta = TRUE};
  if (gst_gemmcl_tensors_field_find (structure, settings, &format->tensors.tensor[0]))
    return TRUE;
  format->varies = TRUE;
  if (!learned || learned->rank == 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "Caps do not announce the tensor that is A, and no buffer with it has "
                            "come yet; expected a buffer with GstTensorMeta.");
  format->tensors.tensor[0] = *learned;
  return TRUE;
}

gboolean
gst_gemmcl_input_from_caps (GstGemmclFormat *format, const GstCaps *caps,
                            const GstGemmclSettings *settings, const GstGemmclTensor *learned,
                            GError **error)
{
  if (gst_gemmcl_carriers_have (caps, 0, settings))
    return gst_gemmcl_carriers_read (format, gst_caps_get_structure (caps, 0), settings, learned,
                                     error);
  if (!gst_gemmcl_format_from_caps (format, caps, error))
    return FALSE;
  if (learned && gst_gemmcl_format_is_flexible (format))
    format->tensors.tensor[settings->tensor_index] = *learned;
  return TRUE;
}
