/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/tensors.h"

#include <string.h>

#include "memory/memory-caps.h"
#include "memory/error.h"

#define SEPARATORS ",."

static gboolean
fail_type (const gchar *type, GError **error)
{
  g_autofree gchar *found = gemmcl_quote (type);
  g_autoptr (GString) known = g_string_new (NULL);

  for (GemmclType each = 0; each < GEMMCL_N_TYPES; each++)
    if (gemmcl_type_get_caps_name (each))
      g_string_append_printf (known, "%s%s", each > 0 ? ", " : "",
                              gemmcl_type_get_caps_name (each));
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "The types of tensors contain \"%s\"; expected one of %s.", found,
                          known->str);
}

gboolean
gst_gemmcl_tensor_init (GstGemmclTensor *self, const gchar *type, gsize rank, const gsize *dims,
                        GError **error)
{
  const gchar *wanted = type ? type : "";
  gsize size;

  self->type = 0;
  while (g_strcmp0 (gemmcl_type_get_caps_name (self->type), wanted) != 0)
    if (++self->type == GEMMCL_N_TYPES)
      return fail_type (wanted, error);
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
  g_autofree gchar *all = gemmcl_quote (text), *type_text = gemmcl_quote (type);

  for (gsize i = 0; i < MIN (rank, GST_GEMMCL_MAX_RANK); i++) {
    guint64 value;

    if (!g_ascii_string_to_unsigned (g_strstrip (parts[i]), 10, 0, G_MAXSIZE, &value, NULL)) {
      g_autofree gchar *found = gemmcl_quote (parts[i]);

      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "The dimensions \"%s\" of a tensor contain \"%s\"; expected a number "
                              "from 1 to %d, as in 3:224:224.",
                              all, found, G_MAXINT32);
    }
    dims[i] = value;
  }
  while (rank > 1 && rank <= GST_GEMMCL_MAX_RANK && dims[rank - 1] == 0)
    rank--;
  if (gst_gemmcl_tensor_init (tensor, type, rank, dims, error))
    return TRUE;
  g_prefix_error (error, "A tensor of dimensions \"%s\" and type \"%s\" cannot be read. ", all,
                  type_text);
  return FALSE;
}

guint
gst_gemmcl_tensor_count_dims (const GstGemmclTensor *tensor)
{
  guint n = tensor->rank;

  while (n > 1 && tensor->dims[n - 1] == 1)
    n--;
  return n;
}

gchar *
gst_gemmcl_tensor_print (const GstGemmclTensor *tensor)
{
  GString *text = g_string_new (gemmcl_type_get_caps_name (tensor->type));

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
      (num_tensors > 0 && n_dims != num_tensors)) {
    g_autofree gchar *all_dims = gemmcl_quote (dimensions), *all_types = gemmcl_quote (types);

    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "Dimensions \"%s\" (%u), types \"%s\" (%u) and num_tensors (%u) "
                            "differ in their number of tensors; expected the same number, 1 to "
                            "%d, in each.",
                            all_dims, n_dims, all_types, n_names, num_tensors,
                            GST_GEMMCL_MAX_TENSORS);
  }
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
    g_autofree gchar *text = NULL, *found = NULL;

    if (!value || G_VALUE_HOLDS_STRING (value) || GST_VALUE_HOLDS_LIST (value) ||
        !gst_structure_has_name (structure, GST_GEMMCL_TENSORS_MEDIA))
      continue;
    text = gst_value_serialize (value);
    found = gemmcl_quote (text ? text : "");
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The caps of tensors have %s=%s of type %s; expected a string. Write "
                            "(string) before the value, as in dimensions=(string)3:4.",
                            fields[i % 2], found, G_VALUE_TYPE_NAME (value));
  }
  return TRUE;
}

gboolean
gst_gemmcl_tensors_from_caps (GstGemmclTensors *tensors, const GstCaps *caps, GError **error)
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
  if (g_strcmp0 (format, "static") != 0) {
    g_autofree gchar *found = format ? gemmcl_quote (format) : NULL;

    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The caps of tensors have %s%s and num_tensors=%d; expected "
                            "format=static or flexible, and %d tensors at most.",
                            found ? "format=" : "no format", found ? found : "", num_tensors,
                            GST_GEMMCL_MAX_TENSORS);
  }
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

/* A way to write trailing dimensions of 1, since caps compare dimensions as strings. */
typedef struct {
  gboolean trims;    /* omits trailing ones */
  const gchar *fill; /* appended until there are @rank dimensions */
  guint rank;        /* 0: any */
} Spelling;

static const Spelling spellings[] = {
    {FALSE, NULL, 0}, /* as they are */
    {TRUE, NULL, 0},  /* without trailing ones */
    {TRUE, ":1", 4},  /* as older releases of NNStreamer write */
    {TRUE, ":1", 2},  /* N:1 */
    {TRUE, ":1", 3},  /* N:1:1 */
    {FALSE, ":0", 4}, /* a zero ends the dimensions */
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
    for (; rank < spelling->rank; rank++)
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
    names[i] = gemmcl_type_get_caps_name (tensors->tensor[i].type);
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

/* The words of a header. */
enum {
  MAGIC,
  VERSION,
  TYPE,
  DIMS,
  FORMAT = DIMS + GST_GEMMCL_MAX_RANK,
  MEDIA,
};

#define THE_MAGIC   0xfeedccedu
#define THE_VERSION 0xde001000u
#define FLEXIBLE    1 /* the value of FORMAT; 0 is static */
#define TENSOR      4 /* the largest value of MEDIA */

/* The types in the order of the values of TYPE. */
static const gchar *const header_types[] = {
    "int32",   "uint32",  "int16", "uint16", "int8",    "uint8",
    "float64", "float32", "int64", "uint64", "float16",
};

static gboolean
parse_header (const guint32 *words, GstGemmclTensor *tensor, GError **error)
{
  gsize dims[GST_GEMMCL_MAX_RANK], rank = 0;

  if (words[MAGIC] != THE_MAGIC || words[VERSION] != THE_VERSION ||
      words[TYPE] >= G_N_ELEMENTS (header_types) || words[FORMAT] > FLEXIBLE ||
      words[MEDIA] > TENSOR)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_FORMAT,
        "The header of a flexible tensor begins with 0x%08x 0x%08x, and has type %u, format %u and "
        "media type %u. Expected 0x%08x 0x%08x (version 1), type 0 to %zu (int32 to float16), "
        "format 1 (flexible) or 0 (static), and media type 0 to %d (tensor). Put tensor_sparse_dec "
        "before gemmcl if the tensor is sparse (format 2).",
        words[MAGIC], words[VERSION], words[TYPE], words[FORMAT], words[MEDIA], THE_MAGIC,
        THE_VERSION, G_N_ELEMENTS (header_types) - 1, TENSOR);
  for (gsize i = 0; i < GST_GEMMCL_MAX_RANK; i++) {
    dims[i] = words[DIMS + i];
    if (dims[i] > 0)
      rank = i + 1;
  }
  if (gst_gemmcl_tensor_init (tensor, header_types[words[TYPE]], MAX (rank, 1), dims, error))
    return TRUE;
  g_prefix_error (error, "The header of a flexible tensor is wrong. ");
  return FALSE;
}

void
gst_gemmcl_header_init (GstGemmclHeader *self, const GstGemmclTensor *tensor)
{
  *self = (GstGemmclHeader){.words = {
                                [MAGIC] = THE_MAGIC,
                                [VERSION] = THE_VERSION,
                                [FORMAT] = FLEXIBLE,
                                [MEDIA] = TENSOR,
                            }};
  memcpy (&self->words[DIMS], tensor->dims, tensor->rank * sizeof (tensor->dims[0]));
  while (!g_str_equal (header_types[self->words[TYPE]], gemmcl_type_get_caps_name (tensor->type)))
    self->words[TYPE]++;
}

/* Reads a header at @start of memory @index of @buffer, where @room bytes remain. */
static gboolean
read_header (GstBuffer *buffer, guint index, gsize start, gsize room, GstGemmclTensor *tensor,
             GError **error)
{
  GstGemmclHeader header;
  GstMemory *memory;
  GstMapInfo map;

  if (room < sizeof (header))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A flexible tensor of a buffer has %zu bytes; expected a header of %zu "
                            "bytes and elements.",
                            room, sizeof (header));
  memory = gst_buffer_peek_memory (buffer, index);
  if (!gst_memory_map (memory, &map, GST_MAP_READ))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_IO,
                            "The memory of a flexible tensor cannot be mapped; expected system "
                            "memory.");
  memcpy (&header, map.data + start, sizeof (header));
  gst_memory_unmap (memory, &map);
  return parse_header (header.words, tensor, error);
}

gboolean
gst_gemmcl_tensors_locate (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                           GstGemmclPlaces *places, GstGemmclTensor *tensor, GError **error)
{
  const gboolean flexible = tensors->flexible;
  const guint n_memories = gst_buffer_n_memory (buffer);
  const gboolean own = n_memories > 1 && (flexible || n_memories == tensors->n);
  const gsize end = gst_buffer_get_size (buffer), header = flexible ? GST_GEMMCL_HEADER_SIZE : 0;
  gsize room, size, at = 0;
  guint n = 0;

  if (!flexible && !own && n_memories != 1 && tensors->n > 1)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer has %u memories; expected one for each of the %u tensors of "
                            "the caps, or one with all of them.",
                            n_memories, tensors->n);
  for (GstGemmclTensor each; flexible ? n == 0 || at < end : n < tensors->n; n++) {
    if (n == GST_GEMMCL_MAX_TENSORS)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "A buffer has more than %d flexible tensors; expected %d at most.",
                              GST_GEMMCL_MAX_TENSORS, GST_GEMMCL_MAX_TENSORS);
    room = own ? gst_memory_get_sizes (gst_buffer_peek_memory (buffer, n), NULL, NULL) : end - at;
    if (!flexible)
      each = tensors->tensor[n];
    else if (!read_header (buffer, own ? n : 0, own ? 0 : at, room, &each, error))
      return FALSE;
    room -= header;
    size = gst_gemmcl_tensor_get_size (&each);
    if (own || (!flexible && n + 1 == tensors->n) ? size != room : size > room)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "Tensor %u of a buffer has %zu bytes%s; expected %zu, by the "
                              "dimensions and type in %s.",
                              n, room, flexible ? " behind its header" : "", size,
                              flexible ? "the header" : "caps");
    places->at[n] = at;
    at += header + size;
    if (n == index)
      *tensor = each;
  }
  places->n = n;
  places->at[n] = at;
  if (flexible && tensors->n > 0 && n != tensors->n)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer has %u flexible tensors; expected %u, by num_tensors of the "
                            "caps.",
                            n, tensors->n);
  return index < n ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "tensor-index is %u, but a buffer has %u flexible tensor%s. Expected 0 "
                          "to %u.",
                          index, n, n == 1 ? "" : "s", n - 1);
}
