/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The properties of the element. One table defines the texts of each property, with unit and
 * default, its limits and its field. A new property needs a row here, a field in settings.h, the
 * code that reads the field, and a row in docs/element.md, whose default the tests compare. */
#include "element/properties.h"

#include <gobject/gvaluecollector.h>
#include <string.h>

#include "element/element.h"

#ifdef GEMMCL_HAVE_ANALYTICS
  #define META_LACK ""
#else
  #define META_LACK " (not in this build, which lacks gstreamer-analytics-1.0)"
#endif

#define READY     GST_PARAM_MUTABLE_READY
#define PLAYING   GST_PARAM_MUTABLE_PLAYING
#define CONTROL   (GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE)
#define UNLIMITED -G_MAXDOUBLE, G_MAXDOUBLE

typedef enum {
  BOOLEAN,
  UINT,
  ENUM,
  FLAGS, /* the last kind whose field is a gint */
  INT64,
  DOUBLE,
  STRING,  /* interned; an empty string stands for the default */
  OPERAND, /* a string that names a matrix; setting it loads the matrix, also while playing */
  ROWS,    /* the same matrix as an array of arrays of doubles */
  VECTOR,  /* the same matrix as an array of doubles */
  BOXED,   /* the same matrix as a GemmclMatrix */
  STATS,   /* read-only; no field */
} Kind;

typedef struct {
  const gchar *name, *nick;
  GParamFlags flags;
  Kind kind;
  gsize field; /* an offset in GstGemmclProperties; for OPERAND to BOXED, a GemmclPlanOperand */
  const gchar *blurb;
  gdouble initial;      /* the default of numbers, enumerations and flags */
  gdouble least, most;  /* the limits of UINT, INT64 (where most is G_MAXINT64) and DOUBLE */
  const gchar *text;    /* the default of STRING */
  const gchar *type;    /* of ENUM and FLAGS: the name of the type */
  gconstpointer values; /* the values of the type, with their texts */
} Property;

/* gst_gemmcl_properties_install() sets the activations, and the nicks of feature modes. */
static GEnumValue activations[GEMMCL_N_ACTIVATIONS + 1];

static GEnumValue feature_modes[] = {
    {GST_GEMMCL_FEATURE_MODE_AUTO, "Video: the mode whose row length is the K of the weight; "
                                   "tensors: pixel"},
    {GST_GEMMCL_FEATURE_MODE_PIXEL,
     "A row is a pixel, or the innermost dimension of a tensor: K = channels, M = width x height"},
    {GST_GEMMCL_FEATURE_MODE_ROW, "A row is a row of the frame: K = width x channels, M = height"},
    {GST_GEMMCL_FEATURE_MODE_FRAME, "A row is the frame: K = width x height x channels, M = 1"},
    {GST_GEMMCL_FEATURE_MODE_PATCH, "A row is a patch: K = patch-width x patch-height x "
                                    "channels, M = patches"},
    {0, NULL, NULL},
};

static const GEnumValue precisions[] = {
    {0,
     "The type of the weight's file if that is f16, bf16 or int8 with scales, otherwise f32; but "
     "f32 instead of f16 if A may exceed its range",
     "auto"},
    {1 + GEMMCL_PRECISION_F32, "float32, not rounded", "f32"},
    {1 + GEMMCL_PRECISION_F16, "float16: 11 significant bits, at most 65504", "f16"},
    {1 + GEMMCL_PRECISION_BF16, "bfloat16: 8 significant bits", "bf16"},
    {1 + GEMMCL_PRECISION_TF32, "TF32: 11 significant bits, on matrix engines", "tf32"},
    {1 + GEMMCL_PRECISION_I8,
     "int8, with a scale for each column of the weight and for each row of A", "i8"},
    {0, NULL, NULL},
};

static const GEnumValue auto_tunes[] = {
    {GEMMCL_AUTO_TUNE_AUTO, "On GPUs", "auto"},
    {GEMMCL_AUTO_TUNE_ON, "On any device", "on"},
    {GEMMCL_AUTO_TUNE_OFF, "Never", "off"},
    {0, NULL, NULL},
};

static const GFlagsValue normalizes[] = {
    {GEMMCL_NORMALIZE_A, "Rows of A, after input-scale and input-offset", "input"},
    {GEMMCL_NORMALIZE_D, "Rows of D, after the activation", "output"},
    {0, NULL, NULL},
};

static const GFlagsValue row_outputs[] = {
    {GEMMCL_ROW_SUM, "Sum of the row", "sum"},
    {GEMMCL_ROW_MAX, "Largest element of the row", "max"},
    {GEMMCL_ROW_ARG_MAX, "Column of the largest element, from 0", "arg-max"},
    {GEMMCL_ROW_TOP_K, "The top-k largest elements in descending order, then their columns",
     "top-k"},
    {0, NULL, NULL},
};

static const GEnumValue inputs[] = {
    {GST_GEMMCL_INPUT_AUTO,
     "meta if input-tensor-id is set, or if caps announce tensors in a medium that the element "
     "cannot read; otherwise media",
     "auto"},
    {GST_GEMMCL_INPUT_MEDIA, "The frame, audio samples or tensors of the buffer", "media"},
    {GST_GEMMCL_INPUT_META, "A tensor in GstTensorMeta of the buffer" META_LACK, "meta"},
    {0, NULL, NULL},
};

static const GEnumValue outputs[] = {
    {GST_GEMMCL_OUTPUT_AUTO,
     "The medium of the input if D fits it and downstream accepts it; otherwise tensors", "auto"},
    {GST_GEMMCL_OUTPUT_MEDIA, "The medium of the input", "media"},
    {GST_GEMMCL_OUTPUT_TENSORS, "Tensors (other/tensors)", "tensors"},
    {GST_GEMMCL_OUTPUT_META, "The input, with D as GstTensorMeta" META_LACK, "meta"},
    {GST_GEMMCL_OUTPUT_FLEXIBLE, "Tensors with headers (other/tensors with format=flexible)",
     "flexible"},
    {0, NULL, NULL},
};

static const GEnumValue output_types[] = {
    {GST_GEMMCL_OUTPUT_TYPE_AUTO, "The type that downstream accepts; float32 if it accepts several",
     "auto"},
    {GST_GEMMCL_OUTPUT_TYPE_F32, "float32", "f32"},
    {GST_GEMMCL_OUTPUT_TYPE_F16, "float16", "f16"},
    {GST_GEMMCL_OUTPUT_TYPE_I8, "int8, rounded to nearest and saturated", "i8"},
    {GST_GEMMCL_OUTPUT_TYPE_U8, "uint8, rounded to nearest and saturated", "u8"},
    {0, NULL, NULL},
};

static const GEnumValue device_types[] = {
    {GEMMCL_DEVICE_TYPE_AUTO, "Any type, in this order: Intel GPU, other GPU, accelerator, CPU",
     "auto"},
    {GEMMCL_DEVICE_TYPE_CPU, "CPUs only", "cpu"},
    {GEMMCL_DEVICE_TYPE_GPU, "GPUs only", "gpu"},
    {GEMMCL_DEVICE_TYPE_ACCELERATOR, "Accelerators only", "accelerator"},
    {GEMMCL_DEVICE_TYPE_DEFAULT, "The default device of each platform", "default"},
    {0, NULL, NULL},
};

#define FIELD(member)   G_STRUCT_OFFSET (GstGemmclProperties, member)
#define SETTING(member) FIELD (settings.member)

static const Property table[] = {
    {"weight", "Weight", PLAYING, OPERAND, GEMMCL_PLAN_B,
     "B, the matrix of K rows and N columns: {matrix}. Required. May be set while "
     "playing: the next buffer uses it, and another N renegotiates the output. A weight that "
     "does not fit is refused with a warning; the old weight stays"},
    {"weight-matrix", "Weight matrix", PLAYING, ROWS, GEMMCL_PLAN_B,
     "The weight as an array of rows, as in <<1.0,2.0>,<3.0,4.0>>, instead of weight. Default: "
     "none. May be set while playing, like weight"},
    {"weight-boxed", "Weight, boxed", PLAYING, BOXED, GEMMCL_PLAN_B,
     "The weight as a GemmclMatrix of any type, which is referenced and not copied, instead of "
     "weight. Default: none. May be set while playing, like weight"},
    {"transpose-weight", "Transpose weight", READY, BOOLEAN, SETTING (gemm.trans_b),
     "TRUE: the weight is stored as N rows of K numbers, as in Linear layers of PyTorch; FALSE: "
     "as K rows of N numbers",
     FALSE},
    {"bias", "Bias", PLAYING, OPERAND, GEMMCL_PLAN_BIAS,
     "Vector of N numbers that is added to each row of D: {matrix}. Default: none. May "
     "be set while playing, like weight"},
    {"bias-vector", "Bias vector", PLAYING, VECTOR, GEMMCL_PLAN_BIAS,
     "The bias as an array, as in <1.0,2.0>, instead of bias. Default: none. May be set while "
     "playing, like weight"},
    {"bias-boxed", "Bias, boxed", PLAYING, BOXED, GEMMCL_PLAN_BIAS,
     "The bias as a GemmclMatrix of any type, which is referenced and not copied, instead of "
     "bias. Default: none. May be set while playing, like weight"},
    {"addend", "Addend", PLAYING, OPERAND, GEMMCL_PLAN_C,
     "C, a matrix of M x N or 1 x N numbers (audio: 1 x N): {matrix}. It is scaled by "
     "beta, which is 1 by default if an addend is set. Default: none; C is then the previous "
     "output. May be set while playing, like weight"},
    {"alpha", "Alpha", CONTROL, DOUBLE, FIELD (factors.alpha), "Factor of A * B", 1.0, UNLIMITED},
    {"beta", "Beta", CONTROL, DOUBLE, FIELD (factors.beta),
     "Factor of C, which is the addend or, without an addend, the previous output. 0: C is not "
     "read. The previous output is kept as float32, before conversion to the output's format, "
     "from the first buffer whose beta is not 0. It is zeros at the start and after a flush, a "
     "discontinuity, new caps or an audio buffer of another length. Default: 1 with an addend, 0 "
     "without",
     0.0, UNLIMITED},
    {"activation", "Activation", READY, ENUM, SETTING (gemm.activation),
     "Function that is applied to alpha * A * B + beta * C + bias; none: no function",
     GEMMCL_ACTIVATION_NONE, .type = "GstGemmclActivation", .values = activations},
    {"normalize", "Normalize", READY, FLAGS, SETTING (gemm.normalize),
     "Matrices whose rows are normalized: each row is divided by its L2 norm, or by 1e-12 if the "
     "norm is smaller. A row of zeros stays zeros. normalize=output makes video leave as "
     "tensors. Default: none",
     0, .type = "GstGemmclNormalize", .values = normalizes},
    {"precision", "Precision", READY, ENUM, SETTING (precision),
     "Lowest precision allowed for A and the weight. A kernel of lower precision than f32 is "
     "used only where it is faster; stats name the precision in use. Sums are float32; with i8 "
     "they are exact",
     0, .type = "GstGemmclPrecision", .values = precisions},
    {"feature-mode", "Feature mode", READY, ENUM, SETTING (feature_mode),
     "The part of a video frame, or of a tensor of dimensions channels:width:height, that is a row "
     "of A. auto: for video the mode whose row length is the K of the weight, for tensors pixel",
     GST_GEMMCL_FEATURE_MODE_AUTO, .type = "GstGemmclFeatureMode", .values = feature_modes},
    {"patch-width", "Patch width", READY, UINT, SETTING (patch_width),
     "Width of a patch in pixels, required by feature-mode=patch; 0: not set", 0, 0, 65535},
    {"patch-height", "Patch height", READY, UINT, SETTING (patch_height),
     "Height of a patch in pixels, required by feature-mode=patch; 0: not set", 0, 0, 65535},
    {"patch-stride", "Patch stride", READY, UINT, SETTING (patch_stride),
     "Distance from one patch to the next in pixels, across and down; 0: the width and the "
     "height of a patch",
     0, 0, 65535},
    {"patch-padding", "Patch padding", READY, UINT, SETTING (patch_padding),
     "Width in pixels of the border that patches read on each side of the frame; 0: no border. "
     "Elements of A from the border are 0, without input-scale and input-offset",
     0, 0, 65535},
    {"patch-dilation", "Patch dilation", READY, UINT, SETTING (patch_dilation),
     "Distance from one pixel of a patch to the next in pixels, across and down; 1: no gaps", 1, 1,
     65535},
    {"tensor-index", "Tensor index", READY, UINT, SETTING (tensor_index),
     "Index, from 0, of the tensor in a buffer that is A; other tensors pass through", 0, 0,
     GST_GEMMCL_MAX_TENSORS - 1},
    {"row-outputs", "Row outputs", READY, FLAGS, SETTING (gemm.row_outputs),
     "Values that are computed from each row of D. They leave as float32, in the order of the "
     "flags, in an additional tensor behind the others. Video then leaves as tensors; audio "
     "needs output=meta. Default: none",
     0, .type = "GstGemmclRowOutputs", .values = row_outputs},
    {"top-k", "Top-k", READY, UINT, SETTING (gemm.top_k),
     "Number of elements that row-outputs=top-k selects; at most N", 5, 1, GEMMCL_MAX_TOP_K},
    {"input", "Input", READY, ENUM, SETTING (input),
     "Place of A in a buffer. meta: a tensor in the buffer's metadata, which an element upstream "
     "such as onnxinference attached; its innermost dimension is K",
     GST_GEMMCL_INPUT_AUTO, .type = "GstGemmclInput", .values = inputs},
    {"input-tensor-id", "Input tensor id", READY, STRING, SETTING (input_tensor_id),
     "Id of the tensor that is A, with input=meta. Default: tensor-id, unless output=meta. With "
     "output=meta, or if tensor-id is not set either, the only tensor of a buffer is A"},
    {"output", "Output", READY, ENUM, SETTING (output),
     "Form of the output. meta: the input passes through, and D is attached to it as a tensor in "
     "GstTensorMeta, for the tensor decoders of GStreamer",
     GST_GEMMCL_OUTPUT_AUTO, .type = "GstGemmclOutput", .values = outputs},
    {"output-type", "Output type", READY, ENUM, SETTING (output_type),
     "Type of the elements of D in tensors. A value other than auto makes video leave as "
     "tensors; audio that leaves as audio needs auto",
     GST_GEMMCL_OUTPUT_TYPE_AUTO, .type = "GstGemmclOutputType", .values = output_types},
    {"output-scale", "Output scale", READY, DOUBLE, SETTING (gemm.d_scale),
     "Scale of D in tensors of integers: D = stored number * output-scale + output-offset, as in "
     "input-scale of a gemmcl downstream. A scale other than 1, or an offset other than 0, "
     "limits output-type=auto to i8 and u8",
     1.0, G_MINFLOAT, G_MAXFLOAT},
    {"output-offset", "Output offset", READY, DOUBLE, SETTING (gemm.d_shift),
     "Offset of D in tensors of integers: D = stored number * output-scale + output-offset", 0.0,
     -G_MAXFLOAT, G_MAXFLOAT},
    {"tensor-id", "Tensor id", READY, STRING, SETTING (tensor_id),
     "Id of the tensor that output=meta attaches. Tensor decoders select tensors by their id, "
     "such as classification-generic-softmaxed-out. The tensor of row outputs has this id with "
     "-rows behind it. A buffer must not have tensors with these ids yet. With input=meta and "
     "another output, the id of the tensor that is A",
     .text = GST_GEMMCL_DEFAULT_TENSOR_ID},
    {"input-scale", "Input scale", READY, STRING, SETTING (input_scale),
     "Factor of each sample of the input: A = sample * input-scale + input-offset. A sample is "
     "the stored number: 0 to 255 for most video, -32768 to 32767 for S16LE. Either a number, "
     "such as 0.5, or a list, such as <0.5,0.25,1>, with a number for each channel of a pixel or "
     "for each of the K elements of a row. A list is multiplied into the weight",
     .text = "1"},
    {"input-offset", "Input offset", READY, STRING, SETTING (input_offset),
     "Offset that is added to each scaled sample: A = sample * input-scale + input-offset. A "
     "number or a list, as in input-scale. A list is added into the bias, so it needs alpha=1 "
     "and patch-padding=0",
     .text = "0"},
    {"kernel", "Kernel", READY, STRING, SETTING (kernel),
     "Name of a kernel, as \"gemmcl kernels\" lists them; auto: the fastest kernel that is known "
     "for the device and the sizes",
     .text = GST_GEMMCL_AUTO},
    {"auto-tune", "Auto-tune", READY, ENUM, SETTING (auto_tune),
     "Search for a faster kernel while playing, if kernel=auto and no kernel was measured for "
     "the device and the sizes. The search takes 2 % of the device's time, and at most 250 ms in "
     "all. Later buffers use the kernel that it finds, and so do later starts, as after "
     "\"gemmcl tune\"",
     GEMMCL_AUTO_TUNE_AUTO, .type = "GstGemmclAutoTune", .values = auto_tunes},
    {"platform", "Platform", READY, STRING, FIELD (query.platform),
     "OpenCL platform: its number, or a part of its name or vendor; auto: any",
     .text = GST_GEMMCL_AUTO},
    {"device-type", "Device type", READY, ENUM, FIELD (query.type), "Type of the OpenCL device",
     GEMMCL_DEVICE_TYPE_AUTO, .type = "GstGemmclDeviceType", .values = device_types},
    {"device", "Device", READY, STRING, FIELD (query.device),
     "OpenCL device: a part of its name, or its number among the devices of platform and "
     "device-type, as \"gemmcl devices\" lists them; auto: the first one in the order of "
     "device-type",
     .text = GST_GEMMCL_AUTO},
    {"devices", "Devices", READY, STRING, FIELD (devices),
     "OpenCL devices that take runs in run, instead of device: numbers or parts of names, "
     "separated by commas; all: every device. A part of a name selects all devices with that "
     "part. Outputs leave in order, in system memory. A device that fails is dropped with a "
     "warning, and other devices take over its runs. With several devices, beta needs an "
     "addend. Default: none; device selects one device"},
    {"batch-size", "Batch size", READY, UINT, SETTING (batch_size),
     "Number of buffers that are multiplied in one run; 1: no batches. The first buffer of a "
     "batch waits for the last one; the latency that the element reports is this wait and the "
     "time of a run. A batch ends early at new caps, a segment, a discontinuity, end of stream, "
     "a flush, another alpha, beta, weight, bias or addend, and after batch-timeout. In batches, "
     "beta needs an addend",
     1, 1, 1024},
    {"batch-timeout", "Batch timeout", READY, INT64, SETTING (batch_timeout),
     "Time in nanoseconds after which an incomplete batch is multiplied. 0: never; -1: the "
     "duration of batch-size buffers, if caps or buffers state it, otherwise never",
     -1, -1},
    {"queue-depth", "Queue depth", READY, UINT, SETTING (queue_depth),
     "Number of runs, each of a buffer or a batch, that may be in flight on a device; a further "
     "run waits for the oldest. Runs in flight add no latency: outputs are pushed at once, and "
     "an element that maps an output waits for its run. A queue element behind gemmcl lets "
     "downstream work at the same time",
     2, 1, 64},
    {"stats", "Statistics", 0, STATS, 0,
     "Statistics since streaming started, also posted as an element message at the end of the "
     "stream: kernel (string), kernel-source (string: the origin of its choice: named, tuned, "
     "shipped or rules), auto-tune (string: off; known: measured before; waiting; searching; "
     "kept: no kernel is faster; swapped: the search found the kernel; or failed: and the "
     "reason), kernel-level (string: subgroups are native, khr or emulated), precision (string: "
     "of the kernel), device (string), memory (string: of the last input and output, as in \"VA "
     "to system\"), buffers (guint64: multiplied), dropped (guint64: buffers skipped by QoS), "
     "bytes (guint64: of A and D in memory of the host), copies-per-buffer (gdouble: copies of "
     "A, D and other tensors), compile-time (guint64: ns), kernel-time (guint64: ns), "
     "run-time-p50, run-time-p90, run-time-p99 and run-time-max (guint64: percentiles and "
     "maximum of the ns from the submission of a run to its end), gflops (gdouble), efficiency "
     "(gdouble: share of the device's f32 peak, which may exceed 1 in lower precisions; 0: "
     "unknown). With several devices also devices: an array with a structure for each device, "
     "which has its fields and failed (gboolean)"},
};

static gboolean
is_of_operand (const Property *property)
{
  return property->kind >= OPERAND && property->kind <= BOXED;
}

/* lcopy_value() stores a GValue in a field, as g_object_get() does. collect_value() reads a GValue
 * from a field, as g_object_set() does. Both return the text of an error, or NULL. */

/* Stores @value in the field. Needs the lock of the object. */
static void
set_field (GstGemmclProperties *self, const Property *property, const GValue *value)
{
  gpointer field = G_STRUCT_MEMBER_P (self, property->field);
  GTypeCValue place = {.v_pointer = field};
  const gchar *text;

  if (property->kind == STRING) {
    text = g_value_get_string (value);
    *(const gchar **)field = g_intern_string (text && *text ? text : property->text);
    return;
  }
  g_free (g_type_value_table_peek (G_VALUE_TYPE (value))->lcopy_value (value, 1, &place, 0));
}

/* gst_parse_launch() of GStreamer 1.22 keeps single quotation marks around a value. Returns:
 * @value, or @bare with a matching pair of marks removed. @bare: all zero */
static const GValue *
remove_quotes (const GValue *value, GValue *bare)
{
  const gchar *text = G_VALUE_HOLDS_STRING (value) ? g_value_get_string (value) : NULL;
  const gsize length = text ? strlen (text) : 0;

  if (length < 2 || !strchr ("'\"", text[0]) || text[length - 1] != text[0])
    return value;
  g_value_init (bare, G_TYPE_STRING);
  g_value_take_string (bare, g_strndup (text + 1, length - 2));
  return bare;
}

/* Sets @value, of the property's type, to the field. Needs the lock of the object. */
static void
get_field (const GstGemmclProperties *self, const Property *property, GValue *value)
{
  gconstpointer field = G_STRUCT_MEMBER_P (self, property->field);
  GTypeCValue content = {0};

  memcpy (&content, field, property->kind <= FLAGS ? sizeof (gint) : sizeof (gint64));
  g_free (g_type_value_table_peek (G_VALUE_TYPE (value))->collect_value (value, 1, &content, 0));
}

/* Warns once in a stream that a new value of property @id has no effect before the next start. */
static void
warn_of_late (GstGemmcl *self, guint id)
{
  const guint64 bit = G_GUINT64_CONSTANT (1) << id;
  g_autoptr (GError) error = NULL;
  gboolean warns;

  g_mutex_lock (&self->lock);
  warns = self->stream.started && !(self->stream.late & bit);
  if (warns)
    self->stream.late |= bit;
  g_mutex_unlock (&self->lock);
  if (!warns)
    return;
  error = g_error_new (GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                       "The property %s was set while the element streams. The new value has no "
                       "effect until streaming starts again. Expected the state NULL or READY.",
                       table[id - 1].name);
  gst_gemmcl_post (self, GST_MESSAGE_WARNING, NULL, error);
}

static void
set_property (GObject *object, guint id, const GValue *given, GParamSpec *pspec)
{
  GstGemmcl *self = GST_GEMMCL (object);
  const Property *property = &table[id - 1];
  g_auto (GValue) bare = G_VALUE_INIT, old = G_VALUE_INIT;
  const GValue *value = remove_quotes (given, &bare);

  if (is_of_operand (property)) {
    gst_gemmcl_operand_set (self, property->field, value);
    return;
  }
  g_value_init (&old, G_VALUE_TYPE (value));
  GST_OBJECT_LOCK (self);
  get_field (&self->properties, property, &old);
  set_field (&self->properties, property, value);
  self->properties.factors.has_beta |= property->field == FIELD (factors.beta);
  GST_OBJECT_UNLOCK (self);
  if (property->flags == READY && g_param_values_cmp (pspec, &old, value) != 0)
    warn_of_late (self, id);
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec G_GNUC_UNUSED)
{
  GstGemmcl *self = GST_GEMMCL (object);
  const Property *property = &table[id - 1];

  if (property->kind == STATS) {
    g_value_take_boxed (value, gst_gemmcl_stats_new (self));
  } else if (is_of_operand (property)) {
    gst_gemmcl_operand_get (self, property->field, value);
  } else {
    GST_OBJECT_LOCK (self);
    get_field (&self->properties, property, value);
    GST_OBJECT_UNLOCK (self);
  }
}

static GType
register_type (const Property *p)
{
  const GType type = p->kind == ENUM ? g_enum_register_static (p->type, p->values)
                                     : g_flags_register_static (p->type, p->values);

  gst_type_mark_as_plugin_api (type, 0);
  return type;
}

static GParamSpec *
create_vector (const gchar *name, const gchar *nick, const gchar *blurb, GParamFlags flags)
{
  return gst_param_spec_array (
      name, nick, blurb,
      g_param_spec_double ("element", "Element", "An element of the matrix", UNLIMITED, 0.0, flags),
      flags);
}

/* Returns: the blurb, with the forms of names in place of {matrix}; static. */
static const gchar *
get_blurb (const Property *p)
{
  g_autofree gchar *forms =
      g_strconcat (gemmcl_matrix_get_grammar (), ", where FILE is a path or a file: URI", NULL);
  g_autoptr (GString) blurb = g_string_new (p->blurb);

  g_string_replace (blurb, "{matrix}", forms, 0);
  return g_intern_string (blurb->str);
}

static GParamSpec *
create_spec (const Property *p)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | p->flags;

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
    return g_param_spec_enum (p->name, p->nick, p->blurb, register_type (p), p->initial, flags);
  case FLAGS:
    return g_param_spec_flags (p->name, p->nick, p->blurb, register_type (p), p->initial, flags);
  case ROWS:
    return gst_param_spec_array (p->name, p->nick, p->blurb,
                                 create_vector ("row", "Row", "A row of the matrix", flags), flags);
  case VECTOR:
    return create_vector (p->name, p->nick, p->blurb, flags);
  case BOXED:
    return g_param_spec_boxed (p->name, p->nick, p->blurb, GEMMCL_TYPE_MATRIX, flags);
  case STATS:
    return g_param_spec_boxed (p->name, p->nick, p->blurb, GST_TYPE_STRUCTURE,
                               flags & ~G_PARAM_WRITABLE);
  default:
    return g_param_spec_string (p->name, p->nick, get_blurb (p), p->text, flags);
  }
}

G_STATIC_ASSERT (G_N_ELEMENTS (table) < 64); /* bits of late */

void
gst_gemmcl_properties_install (GObjectClass *klass)
{
  klass->set_property = set_property;
  klass->get_property = get_property;
  for (guint i = 0; i < GEMMCL_N_ACTIVATIONS; i++)
    activations[i] =
        (GEnumValue){i, gemmcl_activation_get_text (i), gemmcl_activation_get_name (i)};
  for (guint i = 0; feature_modes[i].value_name; i++)
    feature_modes[i].value_nick = gst_gemmcl_feature_mode_get_nick (i);
  for (guint i = 0; i < G_N_ELEMENTS (table); i++)
    g_object_class_install_property (klass, i + 1, create_spec (&table[i]));
}

void
gst_gemmcl_properties_init (GstGemmcl *self)
{
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    g_value_init (&self->properties.source[i], G_TYPE_STRING);
  for (guint i = 0; i < G_N_ELEMENTS (table); i++) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (self), table[i].name);

    if (!is_of_operand (&table[i]) && table[i].kind != STATS)
      set_field (&self->properties, &table[i], g_param_spec_get_default_value (spec));
  }
}

void
gst_gemmcl_properties_clear (GstGemmclProperties *self)
{
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    g_value_unset (&self->source[i]);
}
