/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/output.h"

#include <string.h>

#include "element/element.h"
#include "memory/memory.h"

/* The qdata key of the memory of row outputs, which an output keeps when it returns to its pool. */
#define ROWS g_quark_from_static_string ("gst-gemmcl-rows")

static GstBaseTransformClass *parent_class = NULL;

gsize
gst_gemmcl_output_get_size (const GstGemmclStream *stream, const GstGemmclProblem *problem, gsize m)
{
  const GemmclGemm *gemm = &problem->gemm;

  if (gemm->d_frame)
    return gemmcl_frame_get_planes (gemm->d_frame, NULL);
  return gst_gemmcl_stream_get_header_size (stream) +
         m * gemm->n * gemmcl_type_get_size (gemm->d_type);
}

static void
set_no_memory (GError **error)
{
  gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                   "Memory for an output cannot be allocated. Outputs in OpenCL memory need "
                   "memory of the device: use system memory, smaller buffers, or fewer buffers "
                   "(queue-depth, batch-size, queues).");
}

/* Allocates memory of @device outside of pools. */
static GstMemory *
new_memory (const GstGemmclDevice *device, gsize size, GError **error)
{
  GstMemory *memory = gst_allocator_alloc (device->allocator, size, NULL);

  if (!memory)
    set_no_memory (error);
  return memory;
}

/* Returns: memory for row outputs. @output keeps it, also when it returns to its pool. */
static GstMemory *
take_rows (const GstGemmclDevice *device, GstBuffer *output, gsize size, GError **error)
{
  GstMiniObject *owner = GST_MINI_OBJECT (output);
  GstMemory *memory = gst_mini_object_get_qdata (owner, ROWS);

  if (memory && GST_MINI_OBJECT_REFCOUNT_VALUE (memory) == 1 &&
      gst_memory_get_sizes (memory, NULL, NULL) == size)
    return gst_memory_ref (memory);
  memory = new_memory (device, size, error);
  if (memory)
    gst_mini_object_set_qdata (owner, ROWS, gst_memory_ref (memory),
                               (GDestroyNotify)gst_memory_unref);
  return memory;
}

GstMemory *
gst_gemmcl_output_get_rows (GstBuffer *output)
{
  return gst_memory_ref (gst_mini_object_get_qdata (GST_MINI_OBJECT (output), ROWS));
}

/* Takes @memory, which holds a tensor that passes through. Returns: @memory if it is OpenCL memory,
 * as gstgemmclmemory.h defines it, otherwise a copy in OpenCL memory; NULL with @error if the copy
 * cannot be allocated or @memory cannot be read. */
static GstMemory *
take_memory (const GstGemmclRun *run, GstMemory *memory, GError **error)
{
  g_autoptr (GstMemory) copy = NULL, owned = NULL;
  GstMapInfo source, target;

  if (gst_gemmcl_memory_get_methods (memory))
    return memory;
  owned = memory;
  copy = new_memory (run->device, gst_memory_get_sizes (memory, NULL, NULL), error);
  if (!copy)
    return NULL;
  if (!gst_memory_map (memory, &source, GST_MAP_READ)) {
    gst_gemmcl_refuse_memory (memory, error);
    return NULL;
  }
  if (!gst_memory_map (copy, &target, GST_MAP_WRITE)) {
    gst_gemmcl_refuse_memory (copy, error);
    gst_memory_unmap (memory, &source);
    return NULL;
  }
  memcpy (target.data, source.data, source.size);
  gst_memory_unmap (copy, &target);
  gst_memory_unmap (memory, &source);
  gst_gemmcl_copies_add (run->stats, GST_GEMMCL_COPY_PASSED);
  return g_steal_pointer (&copy);
}

/* If the output has headers, enqueues a write of the header of a result of @input, with @n elements
 * of @type for each row of A, to @memory, which is OpenCL memory. */
static gboolean
write_header (const GstGemmclRun *run, const GstGemmclInput *input, GstMemory *memory,
              GemmclType type, gsize n, GError **error)
{
  GstGemmclTensor tensor;
  GstGemmclHeader header;

  if (gst_gemmcl_stream_get_header_size (run->stream) == 0)
    return TRUE;
  gst_gemmcl_shape_get_result (&run->problem->a_frame, &input->a, gst_gemmcl_run_get_m (run), n,
                               &tensor);
  tensor.type = type;
  gst_gemmcl_header_init (&header, &tensor);
  return gst_gemmcl_memory_fill (memory, &header, sizeof (header)) ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_OPENCL,
                          "The header of a flexible tensor cannot be written to the device.");
}

/* Returns: (transfer full) (nullable): the memory of tensor @i, which passes through. */
static GstMemory *
get_passed (const GstGemmclRun *run, const GstGemmclInput *input, guint i, GError **error)
{
  const gsize *at = &input->places.at[i];
  const gsize size = at[1] - at[0];
  g_autoptr (GstBuffer) region = NULL;
  GstMemory *memory = NULL;
  guint first, n;
  gsize skip;

  /* gst_buffer_copy_region() copies memory that cannot be shared, even if it is a whole memory. */
  if (gst_buffer_find_memory (input->buffer, at[0], size, &first, &n, &skip) && n == 1 &&
      gst_memory_get_sizes (gst_buffer_peek_memory (input->buffer, first), NULL, NULL) == size)
    memory = gst_buffer_get_memory (input->buffer, first);
  else if ((region = gst_buffer_copy_region (input->buffer, GST_BUFFER_COPY_MEMORY, at[0], size)))
    memory = gst_buffer_get_all_memory (region);
  if (!memory) {
    gst_gemmcl_fail (error, GEMMCL_ERROR_IO, "Tensor %u cannot be taken from its buffer.", i);
    return NULL;
  }
  return run->stream->output.memory == GST_GEMMCL_MEMORY_OPENCL ? take_memory (run, memory, error)
                                                                : memory;
}

/* Inserts the tensors that pass through around D, and the memory of row outputs after them. With
 * output=meta no tensors pass, and that memory stays outside of the buffer, which is the tensor
 * D. */
static gboolean
insert_others (const GstGemmclRun *run, const GstGemmclInput *input, GError **error)
{
  const GstGemmclStream *stream = run->stream;
  const gboolean is_meta = gst_gemmcl_stream_is_meta (stream);
  const gsize n_rows = gemmcl_gemm_count_row_outputs (&run->problem->gemm);
  const gsize size = gst_gemmcl_stream_get_header_size (stream) +
                     gst_gemmcl_run_get_m (run) * n_rows * sizeof (gfloat);
  g_autoptr (GstMemory) rows = NULL;
  GstMemory *memory;

  for (guint i = 0; !is_meta && i < input->places.n; i++) {
    if (i == stream->output.index)
      continue;
    memory = get_passed (run, input, i, error);
    if (!memory)
      return FALSE;
    gst_buffer_insert_memory (input->output, (gint)i, memory);
  }
  if (n_rows == 0)
    return TRUE;
  rows = take_rows (run->device, input->output, size, error);
  if (!rows || !write_header (run, input, rows, GEMMCL_TYPE_F32, n_rows, error))
    return FALSE;
  if (!is_meta)
    gst_buffer_append_memory (input->output, g_steal_pointer (&rows));
  return TRUE;
}

/* Makes the output of @input: a buffer of @pool or, if that is NULL, a new one of @size bytes in
 * memory of @device. */
static GstFlowReturn
make_output (GstBaseTransform *trans, const GstGemmclDevice *device, GstGemmclInput *input,
             GstBufferPool *pool, gsize size)
{
  g_autoptr (GstBuffer) buffer = pool ? NULL : gst_buffer_new ();
  GstMemory *memory;

  if (pool && gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) != GST_FLOW_OK)
    return GST_FLOW_ERROR;
  if (!pool && size > 0) {
    memory = new_memory (device, size, NULL);
    if (!memory)
      return GST_FLOW_ERROR;
    gst_buffer_append_memory (buffer, memory);
  }
  if (!GST_BASE_TRANSFORM_GET_CLASS (trans)->copy_metadata (trans, input->buffer, buffer))
    GST_ELEMENT_WARNING (trans, STREAM, NOT_IMPLEMENTED, (NULL), ("could not copy metadata"));
  input->output = g_steal_pointer (&buffer);
  return GST_FLOW_OK;
}

/* TRUE if the output of zeros is zeros. A gap then stays a gap. */
static gboolean
keeps_zeros (const GstGemmclRun *run)
{
  const GemmclGemm *gemm = &run->problem->gemm;

  return !gemm->bias && gemm->a_shift == 0.0 && run->factors.beta == 0.0 &&
         gemmcl_activation_keeps_zero (gemm->activation);
}

GstFlowReturn
gst_gemmcl_output_prepare (GstGemmcl *self, const GstGemmclRun *run, GstGemmclInput *input,
                           GError **error)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  const GemmclGemm *gemm = &run->problem->gemm;
  const GstGemmclDevice *device = run->device;
  gsize size;
  GstFlowReturn flow;

  if (gst_gemmcl_format_is_empty (&run->stream->input, input->buffer))
    return make_output (trans, device, input, NULL, 0);
  size = gst_gemmcl_output_get_size (run->stream, run->problem, gst_gemmcl_run_get_m (run));
  if (size > self->pool_size)
    flow = make_output (trans, device, input, NULL, size);
  else if (device->pool)
    flow = make_output (trans, device, input, device->pool, size);
  else
    flow = parent_class->prepare_output_buffer (trans, input->buffer, &input->output);
  if (flow == GST_FLOW_ERROR)
    set_no_memory (error);
  if (flow != GST_FLOW_OK || run->stream->output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return flow;
  if (run->stream->input.medium == GST_GEMMCL_MEDIUM_AUDIO && !keeps_zeros (run))
    GST_BUFFER_FLAG_UNSET (input->output, GST_BUFFER_FLAG_GAP);
  /* Buffers of the pool have room for more rows. */
  gst_buffer_set_size (input->output, (gssize)size);
  if (write_header (run, input, gst_buffer_peek_memory (input->output, 0), gemm->d_type, gemm->n,
                    error) &&
      insert_others (run, input, error))
    return GST_FLOW_OK;
  gst_clear_buffer (&input->output);
  return GST_FLOW_ERROR;
}

/* With output=meta the input itself keeps its metadata. */
static gboolean
copy_metadata (GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  return gst_gemmcl_stream_is_meta (&GST_GEMMCL (trans)->stream) ||
         parent_class->copy_metadata (trans, input, output);
}

/* Tags of the metas that stay valid if the medium stays the same. */
static const gchar *const kept[][4] = {
    [GST_GEMMCL_MEDIUM_VIDEO] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                 GST_META_TAG_VIDEO_ORIENTATION_STR},
    [GST_GEMMCL_MEDIUM_AUDIO] = {GST_META_TAG_AUDIO_STR, GST_META_TAG_AUDIO_RATE_STR},
    [GST_GEMMCL_MEDIUM_TENSORS] = {NULL},
};

/* TRUE if @meta of the input is valid for the output. Metas about time or the stream are valid.
 * Metas about the frame (size, orientation, region, time code) are valid if the output is a frame
 * of the same size. Metas about colours, channels or levels, which change, and about the input's
 * memory are not valid. */
static gboolean
transform_meta (GstBaseTransform *trans, GstBuffer *output G_GNUC_UNUSED, GstMeta *meta,
                GstBuffer *input G_GNUC_UNUSED)
{
  const GstGemmclMedium from = GST_GEMMCL (trans)->stream.input.medium,
                        to = GST_GEMMCL (trans)->stream.output.medium;
  const gchar *const *tags = gst_meta_api_type_get_tags (meta->info->api);

  /* The level meta has no tags, but it describes the input. The output is the cropped frame. */
  if (meta->info->api == GST_AUDIO_LEVEL_META_API_TYPE ||
      meta->info->api == GST_VIDEO_CROP_META_API_TYPE)
    return FALSE;
  for (; tags && *tags; tags++)
    if (!g_strv_contains (kept[from == to ? from : GST_GEMMCL_MEDIUM_TENSORS], *tags))
      return FALSE;
  return TRUE;
}

void
gst_gemmcl_output_install (GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent (klass);
  klass->copy_metadata = copy_metadata;
  klass->transform_meta = transform_meta;
}
