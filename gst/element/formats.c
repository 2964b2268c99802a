/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/formats.h"

#include "memory/error.h"

/* Fails for frames whose fields lie apart. */
static gboolean
check_fields (const GstStructure *structure, GError **error)
{
  const gchar *mode = gst_structure_get_string (structure, "interlace-mode");

  if (g_strcmp0 (mode, "fields") != 0 && g_strcmp0 (mode, "alternate") != 0)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "interlace-mode=%s stores the two fields of a frame apart; expected "
                          "progressive, interleaved or mixed. Put deinterlace before gemmcl.",
                          mode);
}

static gboolean
read_video (GstGemmclFormat *format, const GstStructure *structure)
{
  g_autoptr (GstCaps) plain = gst_caps_new_full (gst_gemmcl_drm_to_plain (structure), NULL);

  return gst_caps_is_fixed (plain) && gst_video_info_from_caps (&format->video, plain) &&
         gst_gemmcl_frame_init (&format->frame, &format->video);
}

/* Describes audio as a tensor, too: a row is a sample of all channels. */
static gboolean
read_audio (GstGemmclFormat *format, const GstCaps *caps)
{
  static const GstAudioFormat formats[GEMMCL_N_TYPES] = {
      [GEMMCL_TYPE_F32] = GST_AUDIO_FORMAT_F32LE,
      [GEMMCL_TYPE_F64] = GST_AUDIO_FORMAT_F64LE,
      [GEMMCL_TYPE_I16] = GST_AUDIO_FORMAT_S16LE,
      [GEMMCL_TYPE_I32] = GST_AUDIO_FORMAT_S32LE,
  };
  GstGemmclTensor *tensor = &format->tensors.tensor[0];

  if (!gst_audio_info_from_caps (&format->audio, caps) ||
      GST_AUDIO_INFO_LAYOUT (&format->audio) != GST_AUDIO_LAYOUT_INTERLEAVED)
    return FALSE;
  format->tensors.n = tensor->rank = 1;
  tensor->dims[0] = (guint32)GST_AUDIO_INFO_CHANNELS (&format->audio);
  while (tensor->type < GEMMCL_N_TYPES &&
         formats[tensor->type] != GST_AUDIO_INFO_FORMAT (&format->audio))
    tensor->type++;
  return tensor->type < GEMMCL_N_TYPES;
}

gboolean
gst_gemmcl_format_from_caps (GstGemmclFormat *format, const GstCaps *caps, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  g_autofree gchar *text = NULL;
  const gchar *expected;

  *format = (GstGemmclFormat){.memory = gst_gemmcl_caps_get_memory (caps, 0)};
  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA)) {
    format->medium = GST_GEMMCL_MEDIUM_VIDEO;
    if (!check_fields (structure, error))
      return FALSE;
    if (read_video (format, structure))
      return TRUE;
    expected = "format, width and height";
  } else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA)) {
    format->medium = GST_GEMMCL_MEDIUM_AUDIO;
    if (read_audio (format, caps))
      return TRUE;
    expected = "format, rate, channels, layout=interleaved and, for more than 2 channels, "
               "channel-mask, such as (bitmask)0,";
  } else {
    format->medium = GST_GEMMCL_MEDIUM_TENSORS;
    if (!gst_gemmcl_tensors_from_caps (&format->tensors, caps, error))
      return FALSE;
    format->varies = format->tensors.flexible;
    return TRUE;
  }
  text = gst_gemmcl_quote_caps (caps);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "gemmcl cannot read the caps %s. Expected the fields %s with values that "
                          "\"gst-inspect-1.0 gemmcl\" lists.",
                          text, expected);
}

#define FRAMERATE ", framerate = " GST_VIDEO_FPS_RANGE

/* The sides of a frame are at most 65535 pixels in the library. */
#define VIDEO_CAPS                                                                                 \
  GST_GEMMCL_VIDEO_MEDIA ", format = (string) { %s }, width = (int) [ 1, 65535 ], "                \
                         "height = (int) [ 1, 65535 ]" FRAMERATE
#define AUDIO_CAPS                                                                                 \
  GST_GEMMCL_AUDIO_MEDIA ", format = (string) { F32LE, F64LE, S16LE, S32LE }, "                    \
                         "rate = " GST_AUDIO_RATE_RANGE ", channels = " GST_AUDIO_CHANNELS_RANGE   \
                         ", layout = (string) interleaved"
#define FLEXIBLE_CAPS GST_GEMMCL_TENSORS_MEDIA ", format = (string) flexible" FRAMERATE
#define STATIC_CAPS                                                                                \
  GST_GEMMCL_TENSORS_MEDIA ", format = (string) static, num_tensors = (int) [ 1, 16 ]" FRAMERATE
#define OTHER_CAPS "; " AUDIO_CAPS "; " STATIC_CAPS "; " FLEXIBLE_CAPS

/* Returns: the caps of a pad in system memory, which the process keeps. The element reads all
 * formats of the library, and writes those of one plane. */
static GstCaps *
get_supported (GstPadDirection direction)
{
  static gsize supported[GST_PAD_SINK + 1];
  gsize *caps = &supported[direction];

  if (g_once_init_enter (caps)) {
    g_autoptr (GString) formats = g_string_new (NULL);
    g_autofree gchar *text = NULL;
    GstCaps *made;

    for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++)
      if (direction == GST_PAD_SINK || gemmcl_pixel_format_get_n_planes (i) == 1)
        g_string_append_printf (formats, "%s%s", i > 0 ? ", " : "",
                                gemmcl_pixel_format_get_name (i));
    text = g_strdup_printf (VIDEO_CAPS OTHER_CAPS, formats->str);
    made = gst_caps_from_string (text);
    GST_MINI_OBJECT_FLAG_SET (made, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
    g_once_init_leave (caps, (gsize)made);
  }
  return (GstCaps *)*caps;
}
G_STATIC_ASSERT (GST_GEMMCL_MAX_TENSORS == 16);

GstCaps *
gst_gemmcl_caps_new_template (GstPadDirection direction)
{
  return gst_gemmcl_caps_spread (get_supported (direction), direction);
}

gboolean
gst_gemmcl_caps_are_supported (GstPadDirection direction, const GstCaps *caps, guint index)
{
  const GstGemmclMemoryKind memory = gst_gemmcl_caps_get_memory (caps, index);
  g_autoptr (GstCaps) plain =
      gst_caps_new_full (gst_gemmcl_drm_to_plain (gst_caps_get_structure (caps, index)), NULL);

  return memory != GST_GEMMCL_MEMORY_OTHER &&
         (direction == GST_PAD_SINK || memory <= GST_GEMMCL_MEMORY_OPENCL) &&
         gst_caps_can_intersect (get_supported (direction), plain);
}

const gchar *
gst_gemmcl_get_input_id (const GstGemmclSettings *settings, gboolean *or_only)
{
  const gboolean names_result = gst_gemmcl_output_is_meta (settings);

  *or_only = !settings->input_tensor_id &&
             (names_result || g_strcmp0 (settings->tensor_id, GST_GEMMCL_DEFAULT_TENSOR_ID) == 0);
  return settings->input_tensor_id || names_result ? settings->input_tensor_id
                                                   : settings->tensor_id;
}

/* Returns: (nullable): the groups of tensors that @structure announces. */
static const GstStructure *
get_groups (const GstStructure *structure)
{
  const GValue *field = gst_structure_get_value (structure, "tensors");

  return field && GST_VALUE_HOLDS_STRUCTURE (field) ? gst_value_get_structure (field) : NULL;
}

#if GST_CHECK_VERSION(1, 28, 0)

/* Returns: (nullable): tensor @i of @group, which is fixed caps of one structure. */
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

/* @tensor: (out): A. FALSE unless @structure announces an A that can be read. */
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

/* Returns: (transfer full): caps of @tensor. A dimension of 0 is unknown. */
static GstCaps *
announce (const gchar *id, const GstGemmclTensor *tensor, gboolean varies)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_printf (text,
                   "tensor/strided, tensor-id = (string) \"%s\", dims-order = (string) row-major, "
                   "type = (string) %s, dims = (int) ",
                   id, gemmcl_type_get_caps_name (tensor->type));
  for (guint i = tensor->rank; i-- > 0;) {
    const gboolean is_known = (i == 0 || !varies) && tensor->dims[i] <= G_MAXINT;

    g_string_append_printf (text, "%s %u", i == tensor->rank - 1 ? "<" : ",",
                            is_known ? tensor->dims[i] : 0);
  }
  g_string_append (text, " >");
  return gst_caps_from_string (text->str);
}

void
gst_gemmcl_carriers_announce (GstStructure *structure, const gchar *id,
                              const GstGemmclTensor *tensor, gboolean varies)
{
  const GstStructure *announced = get_groups (structure);
  g_autoptr (GstStructure) groups =
      announced ? gst_structure_copy (announced) : gst_structure_new_empty ("tensorgroups");
  const GValue *present = gst_structure_get_value (groups, id);
  GValue group = G_VALUE_INIT, value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_CAPS);
  g_value_take_boxed (&value, announce (id, tensor, varies));
  g_value_init (&group, GST_TYPE_UNIQUE_LIST);
  if (present && GST_VALUE_HOLDS_UNIQUE_LIST (present))
    g_value_copy (present, &group);
  gst_value_unique_list_append_and_take_value (&group, &value);
  gst_structure_take_value (groups, id, &group);
  gst_structure_set (structure, "tensors", GST_TYPE_STRUCTURE, groups, NULL);
}

#else

  #define find_announced(structure, settings, tensor) ((void)(structure), (void)(settings), FALSE)

#endif

gboolean
gst_gemmcl_carriers_have (const GstCaps *caps, guint index, const GstGemmclSettings *settings)
{
  return gst_gemmcl_carriers_are_set (settings) ||
         (settings->input == GST_GEMMCL_INPUT_AUTO &&
          get_groups (gst_caps_get_structure (caps, index)) &&
          !gst_gemmcl_caps_are_supported (GST_PAD_SINK, caps, index));
}

gboolean
gst_gemmcl_input_from_caps (GstGemmclFormat *format, const GstCaps *caps,
                            const GstGemmclSettings *settings, const GstGemmclTensor *described,
                            GError **error)
{
  if (!gst_gemmcl_carriers_have (caps, 0, settings)) {
    if (!gst_gemmcl_format_from_caps (format, caps, error))
      return FALSE;
    if (format->medium == GST_GEMMCL_MEDIUM_TENSORS)
      format->index = settings->tensor_index;
    if (format->tensors.flexible)
      format->tensors.tensor[format->index] = *described;
    return TRUE;
  }
  *format = (GstGemmclFormat){.memory = GST_GEMMCL_MEMORY_SYSTEM,
                              .medium = GST_GEMMCL_MEDIUM_TENSORS,
                              .tensors = {.n = 1},
                              .is_meta = TRUE};
  if (find_announced (gst_caps_get_structure (caps, 0), settings, &format->tensors.tensor[0]))
    return TRUE;
  format->varies = TRUE;
  format->tensors.tensor[0] = *described;
  return described->rank > 0 ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "Caps do not announce the tensor that is A, and no buffer with it has "
                          "come yet; expected a buffer with GstTensorMeta.");
}

gboolean
gst_gemmcl_format_is_empty (const GstGemmclFormat *format, GstBuffer *buffer)
{
  const gboolean is_audio = format->medium == GST_GEMMCL_MEDIUM_AUDIO;
  const GstAudioMeta *meta = is_audio ? gst_buffer_get_audio_meta (buffer) : NULL;

  if (meta)
    return meta->samples == 0;
  return gst_buffer_get_size (buffer) == 0 &&
         (is_audio || GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP));
}
