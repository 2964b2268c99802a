/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One table has all that a property is: its texts, its default and limits, and the field that holds
 * it. A new one is a row here, a field, and whatever reads the field.
 */
#include "element/gstgemmcl.h"

#define MATRIX_GRAMMAR                                                                             \
  "the path or file: URI of a .npy file, x.safetensors#name, x.raw#f32:ROWSxCOLS, or numbers as "  \
  "[[1,2],[3,4]]"

#define READY     GST_PARAM_MUTABLE_READY
#define PLAYING   GST_PARAM_MUTABLE_PLAYING
#define CONTROL   (GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE)
#define UNLIMITED -G_MAXDOUBLE, G_MAXDOUBLE

typedef enum {
  BOOLEAN,
  UINT,
  INT64,
  DOUBLE,
  STRING,
  ENUM,
  FLAGS,
} Kind;

/* The effect of setting a property, besides filling its field. */
typedef enum {
  PLAIN,   /* nothing: streaming reads it when it starts, alpha and beta for each buffer */
  OPERAND, /* a matrix is loaded, and exchanged while playing */
} Effect;

typedef struct {
  const gchar *name, *nick, *blurb;
  GParamFlags flags;
  Kind kind;
  gsize field;         /* offset in GstGemmclProperties */
  gdouble initial;     /* the default of numbers */
  gdouble least, most; /* of INT64 most is G_MAXINT64 */
  const gchar *text;   /* the default of strings */
  const gchar *type;   /* of enumerations and flags: the name, and the values with their texts */
  gconstpointer values;
  Effect effect;
} Property;

/* install() fills in the nicks of these two: the library has the names. */
static GEnumValue activations[GEMMCL_N_ACTIVATIONS + 1] = {
    {GEMMCL_ACTIVATION_NONE, "x"},
    {GEMMCL_ACTIVATION_RELU, "max (x, 0)"},
    {GEMMCL_ACTIVATION_LEAKY_RELU, "x if x >= 0, else 0.01 x"},
    {GEMMCL_ACTIVATION_GELU, "x (1 + erf (x / sqrt 2)) / 2"},
    {GEMMCL_ACTIVATION_GELU_TANH, "x (1 + tanh (sqrt (2 / pi) (x + 0.044715 x^3))) / 2"},
    {GEMMCL_ACTIVATION_SIGMOID, "1 / (1 + exp (-x))"},
    {GEMMCL_ACTIVATION_SILU, "x / (1 + exp (-x))"},
    {GEMMCL_ACTIVATION_TANH, "tanh x"},
    {GEMMCL_ACTIVATION_HARD_SWISH, "x min (max (x + 3, 0), 6) / 6"},
    {GEMMCL_ACTIVATION_SOFTMAX, "exp (x) / sum of exp (x), over the N of each row"},
};

static GEnumValue feature_modes[] = {
    {GST_GEMMCL_FEATURE_MODE_AUTO, "The one mode whose K is the weight's"},
    {GST_GEMMCL_FEATURE_MODE_PIXEL, "A row per pixel: K = channels, M = width x height"},
    {GST_GEMMCL_FEATURE_MODE_ROW, "A row per row of the picture: K = width x channels, M = height"},
    {GST_GEMMCL_FEATURE_MODE_FRAME, "One row: K = width x height x channels, M = 1"},
    {GST_GEMMCL_FEATURE_MODE_PATCH, "A row per patch: K = patch-width x patch-height x channels"},
    {0, NULL, NULL},
};

static const GEnumValue precisions[] = {
    {GST_GEMMCL_PRECISION_AUTO,
     "What the weight's file states: f16 and bf16 of such elements, i8 of bytes with scales, else "
     "f32, also where integers come in that are too large for f16",
     "auto"},
    {GST_GEMMCL_PRECISION_F32, "Floats, as they are", "f32"},
    {GST_GEMMCL_PRECISION_F16, "Rounded to 11 binary digits, up to 65504", "f16"},
    {GST_GEMMCL_PRECISION_BF16, "Rounded to 8 binary digits", "bf16"},
    {GST_GEMMCL_PRECISION_TF32, "Rounded to 11 binary digits, by matrix engines", "tf32"},
    {GST_GEMMCL_PRECISION_I8,
     "Bytes: with a scale for each column of the weight and, found anew, each row of A", "i8"},
    {0, NULL, NULL},
};

static const GEnumValue auto_tunes[] = {
    {GST_GEMMCL_AUTO_TUNE_AUTO, "On GPUs", "auto"},
    {GST_GEMMCL_AUTO_TUNE_ON, "On any device", "on"},
    {GST_GEMMCL_AUTO_TUNE_OFF, "Never", "off"},
    {0, NULL, NULL},
};

static const GFlagsValue row_outputs[] = {
    {GEMMCL_ROW_SUM, "The sum of a row", "sum"},
    {GEMMCL_ROW_MAX, "The largest element of a row", "max"},
    {GEMMCL_ROW_ARG_MAX, "The column of that, from 0", "arg-max"},
    {0, NULL, NULL},
};

static const GEnumValue device_types[] = {
    {GEMMCL_DEVICE_TYPE_AUTO, "The best there is: Intel GPU, other GPU, accelerator, CPU", "auto"},
    {GEMMCL_DEVICE_TYPE_CPU, "CPUs only", "cpu"},
    {GEMMCL_DEVICE_TYPE_GPU, "GPUs only", "gpu"},
    {GEMMCL_DEVICE_TYPE_ACCELERATOR, "Accelerators only", "accelerator"},
    {GEMMCL_DEVICE_TYPE_DEFAULT, "What each platform calls its default", "default"},
    {0, NULL, NULL},
};

#define FIELD(member)   G_STRUCT_OFFSET (GstGemmclProperties, member)
#define SETTING(member) FIELD (settings.member)

static const Property table[] = {
    {"weight", "Weight",
     "B, of K rows and N columns: " MATRIX_GRAMMAR
     ". If set while playing, it is used from the next buffer on; another N renegotiates the "
     "output; one that does not fit is refused with a warning and the old one stays",
     PLAYING, STRING, FIELD (where[GST_GEMMCL_OPERAND_WEIGHT]), .effect = OPERAND},
    {"transpose-weight", "Transpose weight",
     "The weight is stored with N rows and K columns, as the Linear layers of PyTorch are", READY,
     BOOLEAN, SETTING (transpose_weight), FALSE},
    {"bias", "Bias",
     "A vector of N numbers that is added to each row of D: " MATRIX_GRAMMAR
     ". May be set while playing, like weight",
     PLAYING, STRING, FIELD (where[GST_GEMMCL_OPERAND_BIAS]), .effect = OPERAND},
    {"addend", "Addend",
     "C, of M x N or 1 x N (for audio 1 x N), which beta scales; with beta=0 it is not "
     "added. " MATRIX_GRAMMAR
     ". If it is not set, C is the previous output. May be set while playing, like weight",
     PLAYING, STRING, FIELD (where[GST_GEMMCL_OPERAND_ADDEND]), .effect = OPERAND},
    {"alpha", "Alpha", "Scales A * B", CONTROL, DOUBLE, FIELD (scalars.alpha), 1.0, UNLIMITED},
    {"beta", "Beta",
     "Scales C: the addend if that is set, otherwise the previous output, which is zeros at the "
     "start and after a flush, a discontinuity, new caps, or a buffer of audio of another length. "
     "The previous output is kept in float32, before it is rounded to the format of the output, "
     "from the first buffer with a beta other than 0 on",
     CONTROL, DOUBLE, FIELD (scalars.beta), 0.0, UNLIMITED},
    {"activation", "Activation", "The function that is applied last", READY, ENUM,
     SETTING (activation), GEMMCL_ACTIVATION_NONE, .type = "GstGemmclActivation",
     .values = activations},
    {"precision", "Precision",
     "The lowest precision of A and the weight that is allowed. A kernel of a lower one than "
     "float32 is used only where it is faster; stats tell which. Sums are float32, of int8 exact",
     READY, ENUM, SETTING (precision), GST_GEMMCL_PRECISION_AUTO, .type = "GstGemmclPrecision",
     .values = precisions},
    {"feature-mode", "Feature mode",
     "The part of a frame that is a row of A. auto: the mode whose row length is the number of "
     "rows of the weight",
     READY, ENUM, SETTING (feature_mode), GST_GEMMCL_FEATURE_MODE_AUTO,
     .type = "GstGemmclFeatureMode", .values = feature_modes},
    {"patch-width", "Patch width", "Width of a patch in pixels, for feature-mode=patch; 0: unset",
     READY, UINT, SETTING (patch_width), 0, 0, 65535},
    {"patch-height", "Patch height",
     "Height of a patch in pixels, for feature-mode=patch; 0: unset", READY, UINT,
     SETTING (patch_height), 0, 0, 65535},
    {"tensor-index", "Tensor index",
     "The tensor of a buffer that is multiplied, from 0; the others pass through", READY, UINT,
     SETTING (tensor_index), 0, 0, GST_GEMMCL_MAX_TENSORS - 1},
    {"row-outputs", "Row outputs",
     "Figures of each row of the result, float32, in this order, in a tensor of their own behind "
     "the others. The result then is a tensor, too, whatever came in. Audio has none",
     READY, FLAGS, SETTING (row_outputs), 0, .type = "GstGemmclRowOutputs", .values = row_outputs},
    {"input-scale", "Input scale",
     "A = sample * input-scale + input-offset. A sample is the number as it is stored: 0 to 255 "
     "for most video, -32768 to 32767 for S16LE",
     READY, DOUBLE, SETTING (input_scale), 1.0, UNLIMITED},
    {"input-offset", "Input offset", "A = sample * input-scale + input-offset", READY, DOUBLE,
     SETTING (input_offset), 0.0, UNLIMITED},
    {"kernel", "Kernel",
     "The name of a kernel, as \"gemmcl kernels\" lists them; auto: the fastest that is known for "
     "the device and the sizes",
     READY, STRING, SETTING (kernel), .text = GST_GEMMCL_AUTO},
    {"auto-tune", "Auto-tune",
     "Search for a faster kernel while data flows, where kernel=auto and nothing was measured for "
     "the device and the sizes. The search takes 2 % of the device's time and 250 ms of it at "
     "most. "
     "The kernel that is found is used from a later buffer on, and is remembered for the next "
     "start, as by \"gemmcl tune\"",
     READY, ENUM, SETTING (auto_tune), GST_GEMMCL_AUTO_TUNE_AUTO, .type = "GstGemmclAutoTune",
     .values = auto_tunes},
    {"platform", "Platform", "OpenCL platform: its number or a part of its name; auto: any", READY,
     STRING, FIELD (platform), .text = GST_GEMMCL_AUTO},
    {"device-type", "Device type", "Type of the OpenCL device", READY, ENUM, FIELD (device_type),
     GEMMCL_DEVICE_TYPE_AUTO, .type = "GstGemmclDeviceType", .values = device_types},
    {"device", "Device",
     "OpenCL device: its number among those that platform and device-type leave, as \"gemmcl "
     "devices\" lists them, or a part of its name; auto: the best",
     READY, STRING, FIELD (device), .text = GST_GEMMCL_AUTO},
    {"batch-size", "Batch size",
     "Buffers that are multiplied in one run. The first waits for the last; that latency is "
     "reported. A batch ends early at new caps, a segment, a discontinuity, end of stream, a "
     "flush, another alpha, beta, weight, bias or addend, and at batch-timeout. With more than 1, "
     "beta needs an addend",
     READY, UINT, SETTING (batch_size), 1, 1, 1024},
    {"batch-timeout", "Batch timeout",
     "Time in nanoseconds after which a batch is multiplied though it is not full. 0: never; -1: "
     "the duration of batch-size buffers, where caps or buffers tell it",
     READY, INT64, SETTING (batch_timeout), -1, -1, 0},
    {"queue-depth", "Queue depth",
     "Runs (of a buffer or a batch) that may be in flight on the device. Outputs are pushed at "
     "once and whoever maps one waits for its run, so this adds no latency. A queue behind the "
     "element lets the elements that follow work at the same time",
     READY, UINT, SETTING (queue_depth), 2, 1, 64},
};

#define STATS (G_N_ELEMENTS (table) + 1)

static gpointer
get_field (GstGemmcl *self, const Property *property)
{
  return G_STRUCT_MEMBER_P (&self->properties, property->field);
}

/* With the object's lock held. */
static void
set_field (GstGemmcl *self, const Property *property, const GValue *value)
{
  gpointer field = get_field (self, property);
  const gchar *text;

  switch (property->kind) {
  case BOOLEAN:
    *(gboolean *)field = g_value_get_boolean (value);
    break;
  case UINT:
    *(guint *)field = g_value_get_uint (value);
    break;
  case INT64:
    *(gint64 *)field = g_value_get_int64 (value);
    break;
  case DOUBLE:
    *(gdouble *)field = g_value_get_double (value);
    break;
  case STRING:
    text = g_value_get_string (value);
    g_free (*(gchar **)field);
    *(gchar **)field = g_strdup (text && *text ? text : property->text);
    break;
  case ENUM:
    *(gint *)field = g_value_get_enum (value);
    break;
  case FLAGS:
    *(guint *)field = g_value_get_flags (value);
    break;
  }
}

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstGemmcl *self = GST_GEMMCL (object);
  const Property *property = &table[id - 1];

  if (id >= STATS) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  if (property->effect == OPERAND) {
    gst_gemmcl_operand_set (self, (property->field - FIELD (where)) / sizeof (gchar *),
                            g_value_get_string (value));
    return;
  }
  GST_OBJECT_LOCK (self);
  set_field (self, property, value);
  GST_OBJECT_UNLOCK (self);
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstGemmcl *self = GST_GEMMCL (object);
  gconstpointer field;

  if (id >= STATS) {
    if (id == STATS)
      g_value_take_boxed (value, gst_gemmcl_stats_new (self));
    else
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  field = get_field (self, &table[id - 1]);
  GST_OBJECT_LOCK (self);
  switch (table[id - 1].kind) {
  case BOOLEAN:
    g_value_set_boolean (value, *(const gboolean *)field);
    break;
  case UINT:
    g_value_set_uint (value, *(const guint *)field);
    break;
  case INT64:
    g_value_set_int64 (value, *(const gint64 *)field);
    break;
  case DOUBLE:
    g_value_set_double (value, *(const gdouble *)field);
    break;
  case STRING:
    g_value_set_string (value, *(gchar *const *)field);
    break;
  case ENUM:
    g_value_set_enum (value, *(const gint *)field);
    break;
  case FLAGS:
    g_value_set_flags (value, *(const guint *)field);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static GParamSpec *
create_spec (const Property *p)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | p->flags;
  GType type = G_TYPE_INVALID;

  if (p->type) {
    type = p->kind == ENUM ? g_enum_register_static (p->type, p->values)
                           : g_flags_register_static (p->type, p->values);
    gst_type_mark_as_plugin_api (type, 0);
  }
  switch (p->kind) {
  case BOOLEAN:
    return g_param_spec_boolean (p->name, p->nick, p->blurb, p->initial != 0, flags);
  case UINT:
    return g_param_spec_uint (p->name, p->nick, p->blurb, p->least, p->most, p->initial, flags);
  case INT64:
    return g_param_spec_int64 (p->name, p->nick, p->blurb, p->least, G_MAXINT64, p->initial, flags);
  case DOUBLE:
    return g_param_spec_double (p->name, p->nick, p->blurb, p->least, p->most, p->initial, flags);
  case ENUM:
    return g_param_spec_enum (p->name, p->nick, p->blurb, type, p->initial, flags);
  case FLAGS:
    return g_param_spec_flags (p->name, p->nick, p->blurb, type, p->initial, flags);
  default:
    return g_param_spec_string (p->name, p->nick, p->blurb, p->text, flags);
  }
}

void
gst_gemmcl_properties_install (GObjectClass *klass)
{
  klass->set_property = set_property;
  klass->get_property = get_property;
  for (guint i = 0; i < GEMMCL_N_ACTIVATIONS; i++)
    activations[i].value_nick = gemmcl_activation_get_name (i);
  for (guint i = 0; feature_modes[i].value_name; i++)
    feature_modes[i].value_nick = gst_gemmcl_feature_mode_get_nick (i);
  for (guint i = 0; i < G_N_ELEMENTS (table); i++)
    g_object_class_install_property (klass, i + 1, create_spec (&table[i]));
  g_object_class_install_property (
      klass, STATS,
      g_param_spec_boxed (
          "stats", "Statistics",
          "Since streaming started: buffers (guint64), bytes (guint64: of A and D in the host's "
          "memory), kernel (string), kernel-source (string: named, tuned, shipped or "
          "rules, where the choice of the kernel came from), auto-tune (string: off; known: the "
          "kernel "
          "was measured before; waiting, searching; kept: no kernel is faster; swapped: the kernel "
          "is the one that was found; or failed: and the reason), kernel-level (string: native, "
          "khr or "
          "emulated), precision (string: of the kernel), device (string), memory (string: of the "
          "last input and output, as in \"VA to system\"), kernel-time (guint64, ns), gflops "
          "(gdouble), efficiency (gdouble: of the device's f32 peak, 0 where that is unknown; more "
          "than 1 is possible in other precisions)",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_gemmcl_properties_init (GstGemmcl *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (table); i++) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (self), table[i].name);

    set_field (self, &table[i], g_param_spec_get_default_value (spec));
  }
}

void
gst_gemmcl_properties_clear (GstGemmcl *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (table); i++)
    if (table[i].kind == STRING)
      g_clear_pointer ((gchar **)get_field (self, &table[i]), g_free);
}

void
gst_gemmcl_settings_clear (GstGemmclSettings *self)
{
  g_clear_pointer (&self->kernel, g_free);
}

void
gst_gemmcl_settings_copy (GstGemmclSettings *self, const GstGemmclSettings *from)
{
  g_free (self->kernel);
  *self = *from;
  self->kernel = g_strdup (from->kernel);
}

void
gst_gemmcl_get_settings (GstGemmcl *self, GstGemmclSettings *settings)
{
  GST_OBJECT_LOCK (self);
  gst_gemmcl_settings_copy (settings, &self->properties.settings);
  GST_OBJECT_UNLOCK (self);
}

GstGemmclScalars
gst_gemmcl_get_scalars (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  return self->properties.scalars;
}

gchar *
gst_gemmcl_get_where (GstGemmcl *self, GstGemmclOperand operand)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  return g_strdup (self->properties.where[operand]);
}

void
gst_gemmcl_set_where (GstGemmcl *self, GstGemmclOperand operand, const gchar *where)
{
  GST_OBJECT_LOCK (self);
  g_free (self->properties.where[operand]);
  self->properties.where[operand] = g_strdup (where);
  GST_OBJECT_UNLOCK (self);
}

GemmclDeviceQuery
gst_gemmcl_get_device_query (GstGemmcl *self, gchar **platform, gchar **device)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  *platform = g_strdup (self->properties.platform);
  *device = g_strdup (self->properties.device);
  return (GemmclDeviceQuery){
      .platform = *platform, .device = *device, .type = self->properties.device_type};
}
