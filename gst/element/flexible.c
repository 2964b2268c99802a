/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/flexible.h"

#include <string.h>

#include "memory/error.h"

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

static const gchar *const types[] = {
    "int32",   "uint32",  "int16", "uint16", "int8",    "uint8",
    "float64", "float32", "int64", "uint64", "float16",
};

static gboolean
parse_header (const guint32 *words, GstGemmclTensor *tensor, GError **error)
{
  gsize dims[GST_GEMMCL_MAX_RANK], rank = 0;

  if (words[MAGIC] != THE_MAGIC || words[VERSION] != THE_VERSION ||
      words[TYPE] >= G_N_ELEMENTS (types) || words[FORMAT] > FLEXIBLE || words[MEDIA] > TENSOR)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_FORMAT,
        "The header of a flexible tensor begins with 0x%08x 0x%08x, and has type %u, format %u and "
        "media type %u. Expected 0x%08x 0x%08x (version 1), type 0 to %zu (int32 to float16), "
        "format 1 (flexible) or 0 (static), and media type 0 to %d (tensor). Put tensor_sparse_dec "
        "before gemmcl if the tensor is sparse (format 2).",
        words[MAGIC], words[VERSION], words[TYPE], words[FORMAT], words[MEDIA], THE_MAGIC,
        THE_VERSION, G_N_ELEMENTS (types) - 1, TENSOR);
  for (gsize i = 0; i < GST_GEMMCL_MAX_RANK; i++) {
    dims[i] = words[DIMS + i];
    if (dims[i] > 0)
      rank = i + 1;
  }
  if (gst_gemmcl_tensor_init (tensor, types[words[TYPE]], MAX (rank, 1), dims, error))
    return TRUE;
  g_prefix_error (error, "The header of a flexible tensor is wrong. ");
  return FALSE;
}

void
gst_gemmcl_header_init (GstGemmclHeader *self, GemmclType type, gsize m, gsize n)
{
  *self = (GstGemmclHeader){.words = {
                                [MAGIC] = THE_MAGIC,
                                [VERSION] = THE_VERSION,
                                [DIMS] = (guint32)n,
                                [DIMS + 1] = (guint32)m,
                                [FORMAT] = FLEXIBLE,
                                [MEDIA] = TENSOR,
                            }};
  while (!g_str_equal (types[self->words[TYPE]], gst_gemmcl_type_get_caps_name (type)))
    self->words[TYPE]++;
}

/* Reads the header of a flexible tensor at @start of memory @index of @buffer; @room bytes remain
 * there. */
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
