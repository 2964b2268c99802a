/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The properties of the element. The rows of their table, with texts, units, limits and defaults,
 * are in properties.def. */
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
  LABELS,  /* a string that names labels; no field */
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

static const GEnumValue pools[] = {
    {GEMMCL_POOL_NONE, "D has a row for each row of A", "none"},
    {GEMMCL_POOL_MAX, "The largest element of a window; NaN if one is NaN", "max"},
    {GEMMCL_POOL_AVERAGE, "The average of the elements of a window", "average"},
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
     "The medium of the input if D fits it and downstream accepts it; otherwise tensors, or video "
     "if downstream accepts nothing else",
     "auto"},
    {GST_GEMMCL_OUTPUT_MEDIA, "The medium of the input", "media"},
    {GST_GEMMCL_OUTPUT_TENSORS, "Tensors (other/tensors)", "tensors"},
    {GST_GEMMCL_OUTPUT_META, "The input, with D as GstTensorMeta" META_LACK, "meta"},
    {GST_GEMMCL_OUTPUT_FLEXIBLE, "Tensors with headers (other/tensors with format=flexible)",
     "flexible"},
    {GST_GEMMCL_OUTPUT_ROWS, "Tensors, of row-outputs in place of D", "rows"},
    {GST_GEMMCL_OUTPUT_ROWS_META,
     "The input, with row-outputs, but not D, as GstTensorMeta" META_LACK, "rows-meta"},
    {GST_GEMMCL_OUTPUT_ROWS_FLEXIBLE, "Tensors with headers, of row-outputs in place of D",
     "rows-flexible"},
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

#define FIELD(member) G_STRUCT_OFFSET (GstGemmclProperties, member)

static const Property table[] = {
#define PROPERTY(...) {__VA_ARGS__},
#define SETTING(Type, member, name, nick, kind, ...)                                               \
  {name, nick, READY, kind, FIELD (settings.member), __VA_ARGS__},
#include "element/properties.def"
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
  if (property->kind == LABELS) {
    gst_gemmcl_results_set_labels (self, g_value_get_string (value));
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
  } else if (property->kind == LABELS) {
    g_value_take_string (value, gst_gemmcl_results_get_source (self));
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

    if (table[i].kind < OPERAND)
      set_field (&self->properties, &table[i], g_param_spec_get_default_value (spec));
  }
}
