/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-properties.h"

#include "gemmcl-enums.h"
#include "gemmcl-operands.h"
#include "gemmcl-stats.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

#define MATRIX_GRAMMAR                                                                             \
  "the path or file: URI of a .npy file, x.safetensors#name, x.raw#f32:ROWSxCOLS, or numbers as "  \
  "[[1,2],[3,4]]"
#define READY   (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)
#define PLAYING (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING)

enum {
  PROP_0,
  PROP_WEIGHT,
  PROP_TRANSPOSE_WEIGHT,
  PROP_BIAS,
  PROP_ADDEND,
  PROP_ALPHA,
  PROP_BETA,
  PROP_ACTIVATION,
  PROP_PRECISION,
  PROP_FEATURE_MODE,
  PROP_PATCH_WIDTH,
  PROP_PATCH_HEIGHT,
  PROP_TENSOR_INDEX,
  PROP_ROW_OUTPUTS,
  PROP_INPUT_SCALE,
  PROP_INPUT_OFFSET,
  PROP_KERNEL,
  PROP_PLATFORM,
  PROP_DEVICE_TYPE,
  PROP_DEVICE,
  PROP_BATCH_SIZE,
  PROP_QUEUE_DEPTH,
  PROP_BATCH_TIMEOUT,
  PROP_STATS,
};

/* With the object's lock held. */
static void
set_string (gchar **slot, const GValue *value, const gchar *fallback)
{
  const gchar *text = g_value_get_string (value);

  g_free (*slot);
  *slot = g_strdup (text && *text ? text : fallback);
}

/* A different device is opened when streaming starts next. */
static void
set_device (GstGemmcl *self, guint id, const GValue *value)
{
  g_mutex_lock (&self->lock);
  self->context_stale = TRUE;
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_PLATFORM:
    set_string (&self->platform, value, GST_GEMMCL_DEFAULT_PLATFORM);
    break;
  case PROP_DEVICE_TYPE:
    self->device_type = g_value_get_enum (value);
    break;
  default:
    set_string (&self->device, value, GST_GEMMCL_DEFAULT_DEVICE);
    break;
  }
  GST_OBJECT_UNLOCK (self);
  g_mutex_unlock (&self->lock);
}

/* What streaming copies when it starts, and the scalars. */
static gboolean
set_wanted (GstGemmcl *self, guint id, const GValue *value)
{
  GstGemmclSettings *wanted = &self->wanted;
  gboolean known = TRUE;

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_TRANSPOSE_WEIGHT:
    wanted->transpose_weight = g_value_get_boolean (value);
    break;
  case PROP_ALPHA:
    self->alpha = g_value_get_double (value);
    break;
  case PROP_BETA:
    self->beta = g_value_get_double (value);
    break;
  case PROP_ACTIVATION:
    wanted->activation = g_value_get_enum (value);
    break;
  case PROP_PRECISION:
    wanted->precision = g_value_get_enum (value);
    break;
  case PROP_FEATURE_MODE:
    wanted->feature_mode = g_value_get_enum (value);
    break;
  case PROP_PATCH_WIDTH:
    wanted->patch_width = g_value_get_uint (value);
    break;
  case PROP_PATCH_HEIGHT:
    wanted->patch_height = g_value_get_uint (value);
    break;
  case PROP_TENSOR_INDEX:
    wanted->tensor_index = g_value_get_uint (value);
    break;
  case PROP_ROW_OUTPUTS:
    wanted->row_outputs = g_value_get_flags (value);
    break;
  case PROP_INPUT_SCALE:
    wanted->input_scale = g_value_get_double (value);
    break;
  case PROP_INPUT_OFFSET:
    wanted->input_offset = g_value_get_double (value);
    break;
  case PROP_KERNEL:
    set_string (&wanted->kernel, value, GST_GEMMCL_DEFAULT_KERNEL);
    break;
  case PROP_BATCH_SIZE:
    wanted->batch_size = g_value_get_uint (value);
    break;
  case PROP_QUEUE_DEPTH:
    wanted->queue_depth = g_value_get_uint (value);
    break;
  case PROP_BATCH_TIMEOUT:
    wanted->batch_timeout = g_value_get_int64 (value);
    break;
  default:
    known = FALSE;
    break;
  }
  GST_OBJECT_UNLOCK (self);
  return known;
}

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstGemmcl *self = GST_GEMMCL (object);

  switch (id) {
  case PROP_WEIGHT:
    gst_gemmcl_operand_set (self, GST_GEMMCL_OPERAND_WEIGHT, g_value_get_string (value));
    break;
  case PROP_BIAS:
    gst_gemmcl_operand_set (self, GST_GEMMCL_OPERAND_BIAS, g_value_get_string (value));
    break;
  case PROP_ADDEND:
    gst_gemmcl_operand_set (self, GST_GEMMCL_OPERAND_ADDEND, g_value_get_string (value));
    break;
  case PROP_PLATFORM:
  case PROP_DEVICE_TYPE:
  case PROP_DEVICE:
    set_device (self, id, value);
    break;
  default:
    if (!set_wanted (self, id, value))
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
}

/* With the object's lock held. */
static gboolean
get_wanted (const GstGemmclSettings *wanted, guint id, GValue *value)
{
  switch (id) {
  case PROP_TRANSPOSE_WEIGHT:
    g_value_set_boolean (value, wanted->transpose_weight);
    return TRUE;
  case PROP_ACTIVATION:
    g_value_set_enum (value, wanted->activation);
    return TRUE;
  case PROP_PRECISION:
    g_value_set_enum (value, wanted->precision);
    return TRUE;
  case PROP_FEATURE_MODE:
    g_value_set_enum (value, wanted->feature_mode);
    return TRUE;
  case PROP_PATCH_WIDTH:
    g_value_set_uint (value, wanted->patch_width);
    return TRUE;
  case PROP_PATCH_HEIGHT:
    g_value_set_uint (value, wanted->patch_height);
    return TRUE;
  case PROP_TENSOR_INDEX:
    g_value_set_uint (value, wanted->tensor_index);
    return TRUE;
  case PROP_ROW_OUTPUTS:
    g_value_set_flags (value, wanted->row_outputs);
    return TRUE;
  case PROP_INPUT_SCALE:
    g_value_set_double (value, wanted->input_scale);
    return TRUE;
  case PROP_INPUT_OFFSET:
    g_value_set_double (value, wanted->input_offset);
    return TRUE;
  case PROP_KERNEL:
    g_value_set_string (value, wanted->kernel);
    return TRUE;
  case PROP_BATCH_SIZE:
    g_value_set_uint (value, wanted->batch_size);
    return TRUE;
  case PROP_QUEUE_DEPTH:
    g_value_set_uint (value, wanted->queue_depth);
    return TRUE;
  case PROP_BATCH_TIMEOUT:
    g_value_set_int64 (value, wanted->batch_timeout);
    return TRUE;
  default:
    return FALSE;
  }
}

/* With the object's lock held. */
static gboolean
get_locked (GstGemmcl *self, guint id, GValue *value)
{
  switch (id) {
  case PROP_WEIGHT:
    g_value_set_string (value, self->where[GST_GEMMCL_OPERAND_WEIGHT]);
    return TRUE;
  case PROP_BIAS:
    g_value_set_string (value, self->where[GST_GEMMCL_OPERAND_BIAS]);
    return TRUE;
  case PROP_ADDEND:
    g_value_set_string (value, self->where[GST_GEMMCL_OPERAND_ADDEND]);
    return TRUE;
  case PROP_ALPHA:
    g_value_set_double (value, self->alpha);
    return TRUE;
  case PROP_BETA:
    g_value_set_double (value, self->beta);
    return TRUE;
  case PROP_PLATFORM:
    g_value_set_string (value, self->platform);
    return TRUE;
  case PROP_DEVICE_TYPE:
    g_value_set_enum (value, self->device_type);
    return TRUE;
  case PROP_DEVICE:
    g_value_set_string (value, self->device);
    return TRUE;
  default:
    return get_wanted (&self->wanted, id, value);
  }
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstGemmcl *self = GST_GEMMCL (object);
  gboolean known;

  if (id == PROP_STATS) {
    g_value_take_boxed (value, gst_gemmcl_stats_new (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  known = get_locked (self, id, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
install_operands (GObjectClass *klass)
{
  g_object_class_install_property (
      klass, PROP_WEIGHT,
      g_param_spec_string (
          "weight", "Weight",
          "B, of K rows and N columns: " MATRIX_GRAMMAR
          ". May be set while playing: the next buffer has it; with another N the output is "
          "negotiated again; a bad one is refused with a warning and the old one stays",
          GST_GEMMCL_DEFAULT_WEIGHT, PLAYING));
  g_object_class_install_property (
      klass, PROP_TRANSPOSE_WEIGHT,
      g_param_spec_boolean ("transpose-weight", "Transpose weight",
                            "The weight has N rows and K columns: [out, in], as PyTorch's Linear "
                            "layers are saved",
                            GST_GEMMCL_DEFAULT_TRANSPOSE_WEIGHT, READY));
  g_object_class_install_property (
      klass, PROP_BIAS,
      g_param_spec_string ("bias", "Bias",
                           "A vector of N numbers that is added to each row of D: " MATRIX_GRAMMAR
                           ". May be set while playing, as weight",
                           GST_GEMMCL_DEFAULT_BIAS, PLAYING));
  g_object_class_install_property (
      klass, PROP_ADDEND,
      g_param_spec_string ("addend", "Addend",
                           "C, of M x N or 1 x N (for audio 1 x N), which beta scales: with beta=0 "
                           "it does nothing. " MATRIX_GRAMMAR
                           ". If it is not set, C is the previous output. May be set while "
                           "playing, as weight",
                           GST_GEMMCL_DEFAULT_ADDEND, PLAYING));
}

static void
install_arithmetic (GObjectClass *klass)
{
  g_object_class_install_property (
      klass, PROP_ALPHA,
      g_param_spec_double ("alpha", "Alpha", "Scales A * B", -G_MAXDOUBLE, G_MAXDOUBLE,
                           GST_GEMMCL_DEFAULT_ALPHA, PLAYING | GST_PARAM_CONTROLLABLE));
  g_object_class_install_property (
      klass, PROP_BETA,
      g_param_spec_double (
          "beta", "Beta",
          "Scales C: the addend if that is set, otherwise the previous output, which is zeros at "
          "the start and after a flush, a discontinuity, new caps, or a buffer of audio of another "
          "length. The previous output is kept in float32, before it is rounded to the output's "
          "format, from the first buffer with a beta other than 0 on",
          -G_MAXDOUBLE, G_MAXDOUBLE, GST_GEMMCL_DEFAULT_BETA, PLAYING | GST_PARAM_CONTROLLABLE));
  g_object_class_install_property (
      klass, PROP_ACTIVATION,
      g_param_spec_enum ("activation", "Activation", "The function that is applied last",
                         GST_TYPE_GEMMCL_ACTIVATION, GST_GEMMCL_DEFAULT_ACTIVATION, READY));
  g_object_class_install_property (
      klass, PROP_PRECISION,
      g_param_spec_enum (
          "precision", "Precision",
          "What A and the weight may be where they are multiplied, if a kernel gains "
          "by it: stats tell what is. Sums are floats, of bytes exact",
          GST_TYPE_GEMMCL_PRECISION, GST_GEMMCL_DEFAULT_PRECISION, READY));
  g_object_class_install_property (
      klass, PROP_INPUT_SCALE,
      g_param_spec_double ("input-scale", "Input scale",
                           "A = what comes in * input-scale + input-offset. What comes in is the "
                           "number as it is stored: 0 to 255 for most video, -32768 to 32767 for "
                           "S16LE",
                           -G_MAXDOUBLE, G_MAXDOUBLE, GST_GEMMCL_DEFAULT_INPUT_SCALE, READY));
  g_object_class_install_property (
      klass, PROP_INPUT_OFFSET,
      g_param_spec_double ("input-offset", "Input offset",
                           "A = what comes in * input-scale + input-offset", -G_MAXDOUBLE,
                           G_MAXDOUBLE, GST_GEMMCL_DEFAULT_INPUT_OFFSET, READY));
}

static void
install_shapes (GObjectClass *klass)
{
  g_object_class_install_property (
      klass, PROP_FEATURE_MODE,
      g_param_spec_enum ("feature-mode", "Feature mode", "What of a picture makes a row of A",
                         GST_TYPE_GEMMCL_FEATURE_MODE, GST_GEMMCL_DEFAULT_FEATURE_MODE, READY));
  g_object_class_install_property (
      klass, PROP_PATCH_WIDTH,
      g_param_spec_uint ("patch-width", "Patch width",
                         "Pixels in a row of a patch; 0: there is no feature-mode=patch", 0, 65535,
                         GST_GEMMCL_DEFAULT_PATCH_WIDTH, READY));
  g_object_class_install_property (
      klass, PROP_PATCH_HEIGHT,
      g_param_spec_uint ("patch-height", "Patch height",
                         "Rows of a patch; 0: there is no feature-mode=patch", 0, 65535,
                         GST_GEMMCL_DEFAULT_PATCH_HEIGHT, READY));
  g_object_class_install_property (
      klass, PROP_TENSOR_INDEX,
      g_param_spec_uint ("tensor-index", "Tensor index",
                         "Which of several tensors is multiplied; the others pass through", 0,
                         GST_GEMMCL_MAX_TENSORS - 1, GST_GEMMCL_DEFAULT_TENSOR_INDEX, READY));
  g_object_class_install_property (
      klass, PROP_ROW_OUTPUTS,
      g_param_spec_flags ("row-outputs", "Row outputs",
                          "What is told of each row of the result in a tensor of its own, behind "
                          "the others, as float32 in this order. The result then is a tensor, too, "
                          "whatever came in; of audio there are none",
                          GST_TYPE_GEMMCL_ROW_OUTPUTS, GST_GEMMCL_DEFAULT_ROW_OUTPUTS, READY));
  g_object_class_install_property (
      klass, PROP_BATCH_SIZE,
      g_param_spec_uint ("batch-size", "Batch size",
                         "Buffers that are multiplied in one run. The first waits for the last; "
                         "that latency is reported. A batch ends early at new caps, a segment, a "
                         "discontinuity, end of stream, a flush, another alpha, beta, weight, bias "
                         "or addend, and at batch-timeout. With more than 1, beta needs an addend",
                         1, GST_GEMMCL_MAX_BATCH_SIZE, GST_GEMMCL_DEFAULT_BATCH_SIZE, READY));
  g_object_class_install_property (
      klass, PROP_BATCH_TIMEOUT,
      g_param_spec_int64 ("batch-timeout", "Batch timeout",
                          "Time in nanoseconds after which a batch is multiplied though it is not "
                          "full. 0: never; -1: the duration of batch-size buffers, where caps or "
                          "buffers tell it",
                          -1, G_MAXINT64, GST_GEMMCL_DEFAULT_BATCH_TIMEOUT, READY));
  g_object_class_install_property (
      klass, PROP_QUEUE_DEPTH,
      g_param_spec_uint ("queue-depth", "Queue depth",
                         "Runs (of a buffer or a batch) that may be in flight on the device. "
                         "Outputs are pushed at once, and whoever maps one waits for its run, so "
                         "this adds no latency; a queue behind the element overlaps the device "
                         "with the elements that follow",
                         1, GST_GEMMCL_MAX_QUEUE_DEPTH, GST_GEMMCL_DEFAULT_QUEUE_DEPTH, READY));
}

static void
install_device (GObjectClass *klass)
{
  g_object_class_install_property (
      klass, PROP_KERNEL,
      g_param_spec_string ("kernel", "Kernel",
                           "The name of the kernel to use, as \"gemmcl kernels\" lists them; auto: "
                           "the best for the device and the sizes",
                           GST_GEMMCL_DEFAULT_KERNEL, READY));
  g_object_class_install_property (
      klass, PROP_PLATFORM,
      g_param_spec_string ("platform", "Platform",
                           "OpenCL platform: its number or a part of its name; auto: any",
                           GST_GEMMCL_DEFAULT_PLATFORM, READY));
  g_object_class_install_property (
      klass, PROP_DEVICE_TYPE,
      g_param_spec_enum ("device-type", "Device type", "Type of the OpenCL device",
                         GST_TYPE_GEMMCL_DEVICE_TYPE, GST_GEMMCL_DEFAULT_DEVICE_TYPE, READY));
  g_object_class_install_property (
      klass, PROP_DEVICE,
      g_param_spec_string ("device", "Device",
                           "OpenCL device: its number among those that platform and device-type "
                           "leave, as \"gemmcl devices\" lists them, or a part of its name; auto: "
                           "the best",
                           GST_GEMMCL_DEFAULT_DEVICE, READY));
  g_object_class_install_property (
      klass, PROP_STATS,
      g_param_spec_boxed (
          "stats", "Statistics",
          "Since streaming started: buffers (guint64), bytes (guint64: of A and D in the host's "
          "memory), kernel (string), kernel-source (string: named, tuned, shipped, modelled or "
          "rules: where the choice of the kernel comes from), kernel-level (string: native, khr or "
          "emulated: what its subgroups, if any, and sums of bytes are made of), precision "
          "(string: what it computes in), device (string), memory (string: where the last buffer "
          "was and its result is: system, OpenCL, VA or DMABuf, such as \"VA to system\"), "
          "kernel-time (guint64: ns), gflops (gdouble) and efficiency (gdouble: of the device's "
          "f32 peak, 0 where that is unknown; more than 1 is possible in other precisions)",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_gemmcl_properties_install (GObjectClass *klass)
{
  klass->set_property = set_property;
  klass->get_property = get_property;
  install_operands (klass);
  install_arithmetic (klass);
  install_shapes (klass);
  install_device (klass);
}

void
gst_gemmcl_properties_init (GstGemmcl *self)
{
  self->where[GST_GEMMCL_OPERAND_WEIGHT] = g_strdup (GST_GEMMCL_DEFAULT_WEIGHT);
  self->where[GST_GEMMCL_OPERAND_BIAS] = g_strdup (GST_GEMMCL_DEFAULT_BIAS);
  self->where[GST_GEMMCL_OPERAND_ADDEND] = g_strdup (GST_GEMMCL_DEFAULT_ADDEND);
  self->wanted = (GstGemmclSettings){
      .transpose_weight = GST_GEMMCL_DEFAULT_TRANSPOSE_WEIGHT,
      .activation = GST_GEMMCL_DEFAULT_ACTIVATION,
      .precision = GST_GEMMCL_DEFAULT_PRECISION,
      .feature_mode = GST_GEMMCL_DEFAULT_FEATURE_MODE,
      .patch_width = GST_GEMMCL_DEFAULT_PATCH_WIDTH,
      .patch_height = GST_GEMMCL_DEFAULT_PATCH_HEIGHT,
      .tensor_index = GST_GEMMCL_DEFAULT_TENSOR_INDEX,
      .row_outputs = GST_GEMMCL_DEFAULT_ROW_OUTPUTS,
      .input_scale = GST_GEMMCL_DEFAULT_INPUT_SCALE,
      .input_offset = GST_GEMMCL_DEFAULT_INPUT_OFFSET,
      .kernel = g_strdup (GST_GEMMCL_DEFAULT_KERNEL),
      .batch_size = GST_GEMMCL_DEFAULT_BATCH_SIZE,
      .queue_depth = GST_GEMMCL_DEFAULT_QUEUE_DEPTH,
      .batch_timeout = GST_GEMMCL_DEFAULT_BATCH_TIMEOUT,
  };
  self->platform = g_strdup (GST_GEMMCL_DEFAULT_PLATFORM);
  self->device = g_strdup (GST_GEMMCL_DEFAULT_DEVICE);
  self->device_type = GST_GEMMCL_DEFAULT_DEVICE_TYPE;
  self->alpha = GST_GEMMCL_DEFAULT_ALPHA;
  self->beta = GST_GEMMCL_DEFAULT_BETA;
}

void
gst_gemmcl_properties_clear (GstGemmcl *self)
{
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    g_clear_pointer (&self->where[i], g_free);
  gst_gemmcl_settings_clear (&self->wanted);
  g_clear_pointer (&self->platform, g_free);
  g_clear_pointer (&self->device, g_free);
}
