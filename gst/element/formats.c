/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/formats.h"

#include "memory/error.h"

#define SEPARATORS ",."

static const gchar *const type_names[GEMMCL_N_TYPES] = {
    [GEMMCL_TYPE_F32] = "float32", [GEMMCL_TYPE_F64] = "float64", [GEMMCL_TYPE_F16] = "float16",
    [GEMMCL_TYPE_I8] = "int8",     [GEMMCL_TYPE_U8] = "uint8",    [GEMMCL_TYPE_I16] = "int16",
    [GEMMCL_TYPE_U16] = "uint16",  [GEMMCL_TYPE_I32] = "int32",   [GEMMCL_TYPE_U32] = "uint32",
    [GEMMCL_TYPE_I64] = "int64",   [GEMMCL_TYPE_U64] = "uint64",
};

const gchar *
gst_gemmcl_type_get_caps_name (GemmclType type)
{
  return type_names[type];
}

static gboolean
parse_type (GstGemmclTensor *tensor, const gchar *text, GError **error)
{
  for (guint type = 0; type < GEMMCL_N_TYPES; type++) {
    if (g_strcmp0 (text, type_names[type]) == 0) {
      tensor->type = type;
      return TRUE;
    }
  }
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "The types of tensors contain \"%s\"; expected float16, float32, "
                          "float64, int8 to int64 or uint8 to uint64.",
                          text);
}

gboolean
gst_gemmcl_tensor_init (GstGemmclTensor *self, const gchar *type, gsize rank, const gsize *dims,
                        GError **error)
{
  gsize size;

  if (!parse_type (self, type ? type : "", error))
    return FALSE;
  if (rank < 1 || rank > GST_GEMMCL_MAX_RANK)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A tensor has %zu dimensions; expected 1 to %d.", rank,
                            GST_GEMMCL_MAX_RANK);
  size = gemmcl_type_get_size (self->type);
  self->rank = rank;
  for (gsize i = rank; i < GST_GEMMCL_MAX_RANK; i++)
    self->dims[i] = 1;
  for (gsize i = 0; i < rank; i++) {
    if (dims[i] < 1 || dims[i] > G_MAXINT32)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "Dimension %zu of a tensor, innermost first from 0, is %zu; expected "
                              "1 to %d, or 0 behind the last dimension.",
                              i, dims[i], G_MAXINT32);
    self->dims[i] = dims[i];
    if (!g_size_checked_mul (&size, size, dims[i]) || size > G_MAXSSIZE)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                              "A tensor of these dimensions is larger than memory can hold.");
  }
  return TRUE;
}

static gboolean
parse_tensor (GstGemmclTensor *tensor, const gchar *type, const gchar *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  gsize dims[GST_GEMMCL_MAX_RANK], rank = g_strv_length (parts);

  for (gsize i = 0; i < MIN (rank, GST_GEMMCL_MAX_RANK); i++) {
    guint64 value;

    if (!g_ascii_string_to_unsigned (g_strstrip (parts[i]), 10, 0, G_MAXSIZE, &value, NULL))
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "The dimensions \"%s\" of a tensor contain \"%s\"; expected a number "
                              "from 1 to %d, as in 3:224:224.",
                              text, parts[i], G_MAXINT32);
    dims[i] = value;
  }
  while (rank > 1 && rank <= GST_GEMMCL_MAX_RANK && dims[rank - 1] == 0)
    rank--;
  if (gst_gemmcl_tensor_init (tensor, type, rank, dims, error))
    return TRUE;
  g_prefix_error (error, "A tensor of dimensions \"%s\" and type \"%s\" cannot be read. ", text,
                  type);
  return FALSE;
}

gchar *
gst_gemmcl_tensor_print (const GstGemmclTensor *tensor)
{
  GString *text = g_string_new (type_names[tensor->type]);

  for (guint i = tensor->rank; i > 0; i--)
    g_string_append_printf (text, " %s %u", i == tensor->rank ? "of" : "x", tensor->dims[i - 1]);
  return g_string_free (text, FALSE);
}

gboolean
gst_gemmcl_tensors_parse (GstGemmclTensors *tensors, const gchar *dimensions, const gchar *types,
                          guint num_tensors, GError **error)
{
  g_auto (GStrv) dims = g_strsplit_set (dimensions, SEPARATORS, -1);
  g_auto (GStrv) names = g_strsplit_set (types, SEPARATORS, -1);
  guint n_dims = g_strv_length (dims), n_names = g_strv_length (names);

  if (n_dims < 1 || n_dims > GST_GEMMCL_MAX_TENSORS || n_dims != n_names ||
      (num_tensors > 0 && n_dims != num_tensors))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "Dimensions \"%s\" (%u), types \"%s\" (%u) and num_tensors (%u) "
                            "differ in their number of tensors; expected the same number, 1 to "
                            "%d, in each.",
                            dimensions, n_dims, types, n_names, num_tensors,
                            GST_GEMMCL_MAX_TENSORS);
  tensors->flexible = FALSE;
  tensors->n = n_dims;
  for (guint i = 0; i < n_dims; i++) {
    if (!parse_tensor (&tensors->tensor[i], g_strstrip (names[i]), g_strstrip (dims[i]), error))
      return FALSE;
  }
  return TRUE;
}

gboolean
gst_gemmcl_tensors_check_strings (const GstCaps *caps, GError **error)
{
  static const gchar *const fields[] = {"dimensions", "types"};

  for (guint i = 0; caps && i < 2 * gst_caps_get_size (caps); i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i / 2);
    const GValue *value = gst_structure_get_value (structure, fields[i % 2]);
    g_autofree gchar *text = NULL;

    if (!value || G_VALUE_HOLDS_STRING (value) || GST_VALUE_HOLDS_LIST (value) ||
        !gst_structure_has_name (structure, GST_GEMMCL_TENSORS_MEDIA))
      continue;
    text = gst_value_serialize (value);
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The caps of tensors have %s=%s of type %s; expected a string. Write "
                            "(string) before the value, as in dimensions=(string)3:4.",
                            fields[i % 2], text, G_VALUE_TYPE_NAME (value));
  }
  return TRUE;
}

/* Reads fixed caps of static or flexible tensors. */
static gboolean
read_tensors (GstGemmclTensors *tensors, const GstCaps *caps, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const gchar *format = gst_structure_get_string (structure, "format");
  const gchar *dimensions = gst_structure_get_string (structure, "dimensions");
  const gchar *types = gst_structure_get_string (structure, "types");
  gint num_tensors = 0;

  gst_structure_get_int (structure, "num_tensors", &num_tensors);
  if (g_strcmp0 (format, "flexible") == 0 && num_tensors <= GST_GEMMCL_MAX_TENSORS) {
    *tensors = (GstGemmclTensors){.flexible = TRUE, .n = (guint)MAX (num_tensors, 0)};
    return TRUE;
  }
  if (g_strcmp0 (format, "static") != 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The caps of tensors have format=%s and num_tensors=%d; expected "
                            "format=static or flexible, and %d tensors at most.",
                            format ? format : "(nothing)", num_tensors, GST_GEMMCL_MAX_TENSORS);
  if (!gst_gemmcl_tensors_check_strings (caps, error))
    return FALSE;
  if (!dimensions || !types)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The caps of tensors have no %s; expected a string, as in "
                            "dimensions=(string)3:4 and types=(string)float32.",
                            dimensions ? "types" : "dimensions");
  return gst_gemmcl_tensors_parse (tensors, dimensions, types, MAX (num_tensors, 0), error);
}

gsize
gst_gemmcl_tensor_get_size (const GstGemmclTensor *tensor)
{
  gsize size = gemmcl_type_get_size (tensor->type);

  for (guint i = 0; i < tensor->rank; i++)
    size *= tensor->dims[i];
  return size;
}

void
gst_gemmcl_tensor_get_shape (const GstGemmclTensor *tensor, gsize *m, gsize *k)
{
  *k = tensor->dims[0];
  *m = 1;
  for (guint i = 1; i < tensor->rank; i++)
    *m *= tensor->dims[i];
}

/* A way to write trailing dimensions of 1. They do not change a shape, but caps compare dimensions
 * as strings. */
typedef struct {
  gboolean trims;    /* omits trailing ones */
  const gchar *fill; /* (nullable): appended until there are four dimensions */
} Spelling;

static const Spelling spellings[] = {
    {FALSE, NULL}, /* as they are */
    {TRUE, NULL},  /* without trailing ones */
    {TRUE, ":1"},  /* as older releases of NNStreamer write */
    {FALSE, ":0"}, /* a zero ends the dimensions */
};

/* Returns: (transfer full): "10:1,3:4". */
static gchar *
print_dimensions (const GstGemmclTensors *tensors, const Spelling *spelling, gchar separator)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < tensors->n; i++) {
    const guint32 *dims = tensors->tensor[i].dims;
    guint rank = tensors->tensor[i].rank;

    while (spelling->trims && rank > 1 && dims[rank - 1] == 1)
      rank--;
    if (i > 0)
      g_string_append_c (text, separator);
    for (guint j = 0; j < rank; j++)
      g_string_append_printf (text, "%s%u", j > 0 ? ":" : "", dims[j]);
    for (; spelling->fill && rank < 4; rank++)
      g_string_append (text, spelling->fill);
  }
  return g_string_free (text, FALSE);
}

/* Returns: (transfer full): "float32,uint8". */
static gchar *
print_types (const GstGemmclTensors *tensors, gchar separator)
{
  const gchar *names[GST_GEMMCL_MAX_TENSORS + 1] = {NULL};

  for (guint i = 0; i < tensors->n; i++)
    names[i] = type_names[tensors->tensor[i].type];
  return g_strjoinv ((gchar[]){separator, '\0'}, (gchar **)names);
}

GstStructure *
gst_gemmcl_tensors_to_structure (const GstGemmclTensors *tensors, guint index,
                                 const GemmclType *types, guint n_types)
{
  GstStructure *structure = gst_structure_new (GST_GEMMCL_TENSORS_MEDIA, "format", G_TYPE_STRING,
                                               tensors->flexible ? "flexible" : "static", NULL);
  GValue dimensions = G_VALUE_INIT, names = G_VALUE_INIT;
  GstGemmclTensors typed = *tensors;

  if (tensors->n > 0)
    gst_structure_set (structure, "num_tensors", G_TYPE_INT, (gint)tensors->n, NULL);
  if (tensors->flexible)
    return structure;
  for (const gchar *separator = SEPARATORS; *separator; separator++) {
    for (guint i = 0; i < G_N_ELEMENTS (spellings); i++)
      gst_gemmcl_values_add (&dimensions, print_dimensions (tensors, &spellings[i], *separator));
  }
  for (guint i = 0; i < n_types; i++) {
    typed.tensor[index].type = types[i];
    for (const gchar *separator = SEPARATORS; *separator; separator++)
      gst_gemmcl_values_add (&names, print_types (&typed, *separator));
  }
  gst_structure_take_value (structure, "dimensions", &dimensions);
  gst_structure_take_value (structure, "types", &names);
  return structure;
}

static gboolean
read_video (GstGemmclFormat *format, const GstStructure *structure)
{
  g_autoptr (GstCaps) plain = gst_caps_new_full (gst_gemmcl_drm_to_plain (structure), NULL);

  return gst_caps_is_fixed (plain) && gst_video_info_from_caps (&format->video, plain) &&
         gst_gemmcl_image_init (&format->image, &format->video);
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
  const gchar *medium;

  *format = (GstGemmclFormat){.memory = gst_gemmcl_caps_get_memory (caps, 0)};
  if (gst_structure_has_name (structure, GST_GEMMCL_VIDEO_MEDIA)) {
    format->medium = GST_GEMMCL_MEDIUM_VIDEO;
    if (read_video (format, structure))
      return TRUE;
    medium = "a video";
  } else if (gst_structure_has_name (structure, GST_GEMMCL_AUDIO_MEDIA)) {
    format->medium = GST_GEMMCL_MEDIUM_AUDIO;
    if (read_audio (format, caps))
      return TRUE;
    medium = "interleaved audio";
  } else {
    format->medium = GST_GEMMCL_MEDIUM_TENSORS;
    if (!read_tensors (&format->tensors, caps, error))
      return FALSE;
    format->varies = format->tensors.flexible;
    return TRUE;
  }
  text = gst_caps_to_string (caps);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT, "gemmcl cannot read these caps of %s: %s.",
                          medium, text);
}

#define FRAMERATE    ", framerate = " GST_VIDEO_FPS_RANGE
#define SRC_FORMATS  "GRAY8, GRAY16_LE, RGB, BGR, RGBA, BGRA, RGBx, BGRx, xRGB, xBGR"
#define SINK_FORMATS SRC_FORMATS ", NV12, I420, P010_10LE"

/* The sides of a frame are at most 65535 pixels in the library. */
#define VIDEO_CAPS(formats)                                                                        \
  GST_GEMMCL_VIDEO_MEDIA ", format = (string) { " formats                                          \
                         " }, width = (int) [ 1, 65535 ], height = (int) [ 1, 65535 ]" FRAMERATE
#define AUDIO_CAPS                                                                                 \
  GST_GEMMCL_AUDIO_MEDIA ", format = (string) { F32LE, F64LE, S16LE, S32LE }, "                    \
                         "rate = " GST_AUDIO_RATE_RANGE ", channels = " GST_AUDIO_CHANNELS_RANGE   \
                         ", layout = (string) interleaved"
#define FLEXIBLE_CAPS GST_GEMMCL_TENSORS_MEDIA ", format = (string) flexible" FRAMERATE
#define STATIC_CAPS                                                                                \
  GST_GEMMCL_TENSORS_MEDIA ", format = (string) static, num_tensors = (int) [ 1, 16 ]" FRAMERATE
#define OTHER_CAPS "; " AUDIO_CAPS "; " STATIC_CAPS "; " FLEXIBLE_CAPS

/* The caps of a pad in system memory, by direction. */
static GstStaticCaps templates[] = {
    [GST_PAD_SRC] = GST_STATIC_CAPS (VIDEO_CAPS (SRC_FORMATS) OTHER_CAPS),
    [GST_PAD_SINK] = GST_STATIC_CAPS (VIDEO_CAPS (SINK_FORMATS) OTHER_CAPS),
};
G_STATIC_ASSERT (GST_GEMMCL_MAX_TENSORS == 16);

GstCaps *
gst_gemmcl_caps_new_template (GstPadDirection direction)
{
  g_autoptr (GstCaps) caps = gst_static_caps_get (&templates[direction]);

  return gst_gemmcl_caps_spread (caps, direction);
}

gboolean
gst_gemmcl_caps_know (GstPadDirection direction, const GstCaps *caps, guint index)
{
  const GstGemmclMemory memory = gst_gemmcl_caps_get_memory (caps, index);
  g_autoptr (GstCaps) known = gst_static_caps_get (&templates[direction]);
  g_autoptr (GstCaps) plain =
      gst_caps_new_full (gst_gemmcl_drm_to_plain (gst_caps_get_structure (caps, index)), NULL);

  return memory != GST_GEMMCL_MEMORY_OTHER &&
         (direction == GST_PAD_SINK || memory <= GST_GEMMCL_MEMORY_OPENCL) &&
         gst_caps_can_intersect (known, plain);
}

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

/* @tensor: (out): A. FALSE if @structure does not announce A with all its dimensions, or if the
 * element cannot read it. */
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
  /* A dimension of 0 stands for one that caps do not state. */
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
