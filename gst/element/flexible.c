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
#define FLEXIBLE    1 /* of formats; 0 is static */
#define TENSOR      4 /* the last of the media */

G_STATIC_ASSERT (sizeof (GstGemmclHeader) == GST_GEMMCL_HEADER_SIZE);

static const GemmclType types[] = {
    GEMMCL_TYPE_I32, GEMMCL_TYPE_U32, GEMMCL_TYPE_I16, GEMMCL_TYPE_U16,
    GEMMCL_TYPE_I8,  GEMMCL_TYPE_U8,  GEMMCL_TYPE_F64, GEMMCL_TYPE_F32,
    GEMMCL_TYPE_I64, GEMMCL_TYPE_U64, GEMMCL_TYPE_F16,
};

static gboolean
parse_dims (const guint32 *dims, GstGemmclTensor *tensor, GError **error)
{
  gsize size = gemmcl_type_get_size (tensor->type);

  tensor->rank = GST_GEMMCL_MAX_RANK;
  while (tensor->rank > 1 && dims[tensor->rank - 1] == 0)
    tensor->rank--;
  for (guint i = 0; i < tensor->rank; i++) {
    if (dims[i] == 0 || dims[i] > G_MAXINT32)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "Dimension %u, from 0, in the header of a flexible tensor is %u; "
                              "expected 1 to %d, and 0 only behind the last dimension.",
                              i, dims[i], G_MAXINT32);
    tensor->dims[i] = dims[i];
    if (!g_size_checked_mul (&size, size, dims[i]) || size > G_MAXSSIZE)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                              "The dimensions in the header of a flexible tensor are those of a "
                              "tensor that is larger than memory can hold.");
  }
  return TRUE;
}

gboolean
gst_gemmcl_header_parse (const GstGemmclHeader *self, GstGemmclTensor *tensor, GError **error)
{
  const guint32 *words = self->words;

  if (words[MAGIC] != THE_MAGIC || words[VERSION] != THE_VERSION)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A flexible tensor begins with 0x%08x 0x%08x; expected its header, "
                            "which begins with 0x%08x 0x%08x (version 1).",
                            words[MAGIC], words[VERSION], THE_MAGIC, THE_VERSION);
  if (words[TYPE] >= G_N_ELEMENTS (types))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The type in the header of a flexible tensor is %u; expected 0 to %zu, "
                            "of int32 to float16.",
                            words[TYPE], G_N_ELEMENTS (types) - 1);
  if (words[FORMAT] > FLEXIBLE)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The format in the header of a flexible tensor is %u; expected 1 "
                            "(flexible) or 0 (static). Put tensor_sparse_dec before gemmcl if the "
                            "tensor is sparse.",
                            words[FORMAT]);
  if (words[MEDIA] > TENSOR)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "The media type in the header of a flexible tensor is %u; expected 0 "
                            "to %d, which is a tensor.",
                            words[MEDIA], TENSOR);
  tensor->type = types[words[TYPE]];
  return parse_dims (words + DIMS, tensor, error);
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
  while (types[self->words[TYPE]] != type)
    self->words[TYPE]++;
}

static gsize
get_memory_size (GstBuffer *buffer, guint index)
{
  return gst_memory_get_sizes (gst_buffer_peek_memory (buffer, index), NULL, NULL);
}

/* Finds a static tensor in a buffer of several. */
static gboolean
locate_static (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
               GstGemmclPlace *place, GError **error)
{
  const gsize found = gst_buffer_get_size (buffer);
  const guint n_memories = gst_buffer_n_memory (buffer);
  const gboolean own = n_memories == tensors->n;
  gsize size, end = 0;

  if (!own && n_memories != 1 && tensors->n > 1)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer has %u memories; expected one for each of the %u tensors of "
                            "the caps, or one with all of them.",
                            n_memories, tensors->n);
  for (guint i = 0; i < tensors->n; i++) {
    size = gst_gemmcl_tensor_get_size (&tensors->tensor[i]);
    if (own && get_memory_size (buffer, i) != size)
      return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                              "Tensor %u of a buffer has %zu bytes; expected %zu, by the "
                              "dimensions and types of the caps.",
                              i, get_memory_size (buffer, i), size);
    if (i == index && place)
      *place = (GstGemmclPlace){.tensor = tensors->tensor[i], .start = end, .size = size};
    if (!g_size_checked_add (&end, end, size))
      end = G_MAXSIZE;
  }
  if (end == found)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                          "The %u tensor%s of a buffer ha%s %zu bytes; expected %zu, by the "
                          "dimensions and types of the caps.",
                          tensors->n, tensors->n > 1 ? "s" : "", tensors->n > 1 ? "ve" : "s", found,
                          end);
}

/* Reads the header of tensor @index at @start of @memory. @whole: the tensor has all of the memory
 * */
static gboolean
read_header (GstMemory *memory, guint index, gsize start, gboolean whole, GstGemmclPlace *place,
             GError **error)
{
  const gsize room = memory ? gst_memory_get_sizes (memory, NULL, NULL) - start : 0;
  GstGemmclHeader header;
  GstMapInfo map;

  if (room < sizeof (header))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "Flexible tensor %u of a buffer has %zu bytes; expected a header of "
                            "%zu bytes and elements.",
                            index, room, sizeof (header));
  if (!gst_memory_map (memory, &map, GST_MAP_READ))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_IO,
                            "The memory of flexible tensor %u of a buffer cannot be mapped; "
                            "expected system memory.",
                            index);
  memcpy (&header, map.data + start, sizeof (header));
  gst_memory_unmap (memory, &map);
  if (!gst_gemmcl_header_parse (&header, &place->tensor, error))
    return FALSE;
  place->start = start;
  place->size = gst_gemmcl_tensor_get_size (&place->tensor);
  if (whole ? place->size != room - sizeof (header) : place->size > room - sizeof (header))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "Flexible tensor %u of a buffer has %zu bytes behind its header; "
                            "expected %zu, by the dimensions and type in the header.",
                            index, room - sizeof (header), place->size);
  place->size += sizeof (header);
  return TRUE;
}

/* Finds a flexible tensor. Returns: the number of tensors; 0 after an error. */
static guint
locate_flexible (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                 GstGemmclPlace *place, GError **error)
{
  const gsize end = gst_buffer_get_size (buffer);
  const guint n_memories = gst_buffer_n_memory (buffer);
  GstGemmclPlace each = {.size = 0};
  guint n = 0;

  for (gsize at = 0; n == 0 || at < end; at += each.size, n++) {
    const gboolean own = n_memories > 1;
    GstMemory *memory = n_memories > 0 ? gst_buffer_peek_memory (buffer, own ? n : 0) : NULL;

    if (n == GST_GEMMCL_MAX_TENSORS) {
      gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                       "A buffer has more than %d flexible tensors; expected %d at most.",
                       GST_GEMMCL_MAX_TENSORS, GST_GEMMCL_MAX_TENSORS);
      return 0;
    }
    if (!read_header (memory, n, own ? 0 : at, own, &each, error))
      return 0;
    if (n == index && place)
      *place = each;
  }
  if (tensors->n > 0 && n != tensors->n)
    gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                     "A buffer has %u flexible tensors; expected %u, by num_tensors of the caps.",
                     n, tensors->n);
  else if (index >= n)
    gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                     "tensor-index is %u, but a buffer has %u flexible tensor%s. Expected 0 to %u.",
                     index, n, n == 1 ? "" : "s", n - 1);
  else
    return n;
  return 0;
}

guint
gst_gemmcl_tensors_locate (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                           GstGemmclPlace *place, GError **error)
{
  if (tensors->flexible)
    return locate_flexible (tensors, index, buffer, place, error);
  return locate_static (tensors, index, buffer, place, error) ? tensors->n : 0;
}

GstMemory *
gst_gemmcl_tensors_get_memory (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer,
                               GError **error)
{
  GstGemmclPlace place;
  GstMemory *memory;

  if (gst_gemmcl_tensors_locate (tensors, index, buffer, &place, error) == 0)
    return NULL;
  if (place.size == gst_buffer_get_size (buffer))
    return gst_buffer_get_all_memory (buffer);
  if (gst_buffer_n_memory (buffer) > 1)
    return gst_buffer_get_memory (buffer, index);
  memory = gst_buffer_peek_memory (buffer, 0);
  memory = GST_MEMORY_IS_NO_SHARE (memory)
               ? gst_memory_copy (memory, (gssize)place.start, (gssize)place.size)
               : gst_memory_share (memory, (gssize)place.start, (gssize)place.size);
  if (!memory)
    gst_gemmcl_fail (error, GEMMCL_ERROR_IO,
                     "Tensor %u of a buffer cannot be taken from the memory of all tensors.",
                     index);
  return memory;
}
