/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Allocation on both pads. The element offers upstream the memory that the device reads with the
 * fewest copies. With caps of OpenCL memory that is OpenCL memory. With caps of system memory it is
 * whole pages if the device shares the memory of the host; otherwise it is OpenCL memory with
 * pinned host memory, from which the device copies while other kernels run.
 *
 * Outputs are in OpenCL memory, also with caps of system memory: a map waits for the device. A
 * device that shares the memory of the host also writes into the buffers of a special pool of
 * downstream. Each of several devices has a pool of its own.
 *
 * With output=meta inputs pass to downstream, so the element offers upstream what downstream
 * proposes. */
#include "element/allocation.h"

#include <string.h>
#ifdef GEMMCL_HAVE_ANALYTICS
  #include <gst/analytics/analytics.h>
#endif

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
         gst_gemmcl_count_results (gemm, m) *
             gst_gemmcl_output_count_columns (&stream->settings, gemm->n) *
             gemmcl_type_get_size (gemm->d_type);
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
gst_gemmcl_output_get_rows (const GstGemmclRun *run, GstBuffer *output)
{
  if (run->problem->gemm.omit_d)
    return gst_buffer_get_memory (output, run->stream->output.index);
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
  gst_gemmcl_shape_get_result (&run->problem->gemm, &run->problem->a_frame, &input->a,
                               gst_gemmcl_run_get_m (run), n, &tensor);
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

/* Inserts the tensors that pass through around D or, in its place, row outputs, and the memory of
 * other row outputs after them. As metadata no tensors pass, and that memory is not in the buffer,
 * the tensor D. */
static gboolean
insert_others (const GstGemmclRun *run, const GstGemmclInput *input, GError **error)
{
  const GstGemmclStream *stream = run->stream;
  const gboolean is_meta = gst_gemmcl_output_is_meta (&stream->settings);
  const GemmclGemm *gemm = &run->problem->gemm;
  const gsize n_rows = gemmcl_gemm_count_row_outputs (gemm);
  const gsize size =
      gst_gemmcl_stream_get_header_size (stream) +
      gst_gemmcl_count_results (gemm, gst_gemmcl_run_get_m (run)) * n_rows * sizeof (gfloat);
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
  if (n_rows == 0 || run->problem->gemm.omit_d)
    return TRUE;
  rows = take_rows (run->device, input->output, size, error);
  if (!rows || !write_header (run, input, rows, GEMMCL_TYPE_F32, n_rows, error))
    return FALSE;
  if (!is_meta)
    gst_buffer_append_memory (input->output, g_steal_pointer (&rows));
  return TRUE;
}

/* Makes the output of @input: a buffer of @pool or, if that is NULL, of @size bytes on @device. */
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
  /* A gap stays a gap if the output of zeros is zeros. */
  if (run->stream->input.medium == GST_GEMMCL_MEDIUM_AUDIO &&
      (gemm->bias || gemm->a_shift != 0.0 || run->factors.beta != 0.0 ||
       !gemmcl_activation_keeps_zero (gemm->activation)))
    GST_BUFFER_FLAG_UNSET (input->output, GST_BUFFER_FLAG_GAP);
  /* Buffers of the pool have room for more rows. */
  gst_buffer_set_size (input->output, (gssize)size);
  if (write_header (run, input, gst_buffer_peek_memory (input->output, 0), gemm->d_type,
                    gst_gemmcl_output_count_columns (&run->stream->settings, gemm->n), error) &&
      insert_others (run, input, error))
    return GST_FLOW_OK;
  gst_clear_buffer (&input->output);
  return GST_FLOW_ERROR;
}

/* With output=meta the input itself keeps its metadata. */
static gboolean
copy_metadata (GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  return gst_gemmcl_output_is_meta (&GST_GEMMCL (trans)->stream.settings) ||
         parent_class->copy_metadata (trans, input, output);
}

/* Tags of the metas that stay valid if the medium, and the size of frames, stay the same. */
static const gchar *const kept[][4] = {
    [GST_GEMMCL_MEDIUM_VIDEO] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                 GST_META_TAG_VIDEO_ORIENTATION_STR},
    [GST_GEMMCL_MEDIUM_AUDIO] = {GST_META_TAG_AUDIO_STR, GST_META_TAG_AUDIO_RATE_STR},
    [GST_GEMMCL_MEDIUM_TENSORS] = {NULL},
};

/* TRUE if the meta has no tags, but places in a frame. */
static gboolean
has_places (GType api)
{
#ifdef GEMMCL_HAVE_ANALYTICS
  if (api == GST_ANALYTICS_RELATION_META_API_TYPE)
    return TRUE;
#endif
  return api == GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE;
}

/* TRUE if @meta of the input is valid for the output. Metas about time or the stream are valid.
 * Metas about the frame (size, orientation, region, time code) are valid if the output is a frame
 * of the same size that begins at the same pixel. Metas about colours, channels, levels and the
 * input's memory are not. */
static gboolean
transform_meta (GstBaseTransform *trans, GstBuffer *output G_GNUC_UNUSED, GstMeta *meta,
                GstBuffer *input)
{
  const GstGemmclFormat *from = &GST_GEMMCL (trans)->stream.input,
                        *to = &GST_GEMMCL (trans)->stream.output;
  const gchar *const *tags = gst_meta_api_type_get_tags (meta->info->api);
  gboolean same = from->medium == to->medium;
  gsize x, y;

  gst_gemmcl_get_crop (input, &x, &y);
  same &= from->frame.width == to->frame.width && from->frame.height == to->frame.height &&
          x == 0 && y == 0;
  /* The level meta has no tags, but it describes the input. The output is the cropped frame. */
  if (meta->info->api == GST_AUDIO_LEVEL_META_API_TYPE ||
      meta->info->api == GST_VIDEO_CROP_META_API_TYPE ||
      (to->medium == GST_GEMMCL_MEDIUM_VIDEO && !same && has_places (meta->info->api)))
    return FALSE;
  for (; tags && *tags; tags++)
    if (!g_strv_contains (kept[same ? from->medium : GST_GEMMCL_MEDIUM_TENSORS], *tags))
      return FALSE;
  return TRUE;
}

/* TRUE if the device shares the memory of the host. */
static gboolean
shares_memory (GstGemmclSharing *sharing)
{
  g_autoptr (GemmclContext) context = gst_gemmcl_sharing_get_context (sharing);

  return context && gemmcl_context_get_device_info (context)->host_unified;
}

/* Returns: the bytes of an input; 0 if they differ, have several memories or exceed a pool. */
static guint
get_input_size (const GstGemmclFormat *format)
{
  gsize size = 0;

  if (format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    size = gst_gemmcl_frame_get_size (&format->frame, &format->video);
  else if (format->medium == GST_GEMMCL_MEDIUM_TENSORS && !format->tensors.flexible &&
           format->tensors.n == 1)
    size = gst_gemmcl_tensor_get_size (&format->tensors.tensor[0]);
  return size <= G_MAXUINT ? size : 0;
}

/* Proposes a pool of at least @held buffers: of memory of @allocator or, if that is NULL, of pages.
 * Without @need_pool it proposes only the size of buffers. */
static void
propose_pool (GstQuery *query, GstCaps *caps, guint size, guint held, GstAllocator *allocator,
              gboolean need_pool)
{
  g_autoptr (GstBufferPool) pool = NULL;

  if (need_pool && size > 0)
    pool = gst_gemmcl_pool_new_configured (allocator, caps, size, held, FALSE);
  if (size > 0 && (pool || !allocator))
    gst_query_add_allocation_pool (query, pool, size, held, 0);
}

/* Lets downstream, to which inputs pass, answer @query. Its pools also need @held buffers. */
static gboolean
propose_of_downstream (GstPad *srcpad, GstQuery *query, guint held)
{
  if (!gst_pad_peer_query (srcpad, query))
    return FALSE;
  for (guint i = 0; i < gst_query_get_n_allocation_pools (query); i++) {
    g_autoptr (GstBufferPool) pool = NULL;
    guint size, min, max;

    gst_query_parse_nth_allocation_pool (query, i, &pool, &size, &min, &max);
    min = MIN (min + held, max > 0 ? max : G_MAXUINT);
    gst_query_set_nth_allocation_pool (query, i, pool, size, min, max);
  }
  return TRUE;
}

static gboolean
propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  const GstGemmclSettings *settings = &self->stream.settings;
  GstAllocationParams params;
  GstGemmclFormat format;
  gboolean need_pool;
  GstCaps *caps = NULL;
  guint size;
  /* Inputs that the element holds at once: those of all runs in flight, and of a batch that is
   * collected. The buffer that upstream is pushing is not counted. */
  const guint held = settings->batch_size * (settings->queue_depth * self->n_devices + 1) - 1;
  const gboolean is_passed = gst_gemmcl_output_is_meta (&self->stream.settings) &&
                             propose_of_downstream (trans->srcpad, query, held);

  /* The base class copies the metas that downstream supports. */
  if (!is_passed && !parent_class->propose_allocation (trans, decide_query, query))
    return FALSE;
  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!caps ||
      (is_passed &&
       gst_query_get_n_allocation_params (query) + gst_query_get_n_allocation_pools (query) > 0) ||
      gst_gemmcl_carriers_have (caps, 0, settings) ||
      !gst_gemmcl_format_from_caps (&format, caps, NULL))
    return TRUE;
  size = get_input_size (&format);
  if (!gst_gemmcl_output_is_meta (&self->stream.settings) &&
      format.medium == GST_GEMMCL_MEDIUM_VIDEO) {
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
    gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  }
  if (format.memory == GST_GEMMCL_MEMORY_SYSTEM && shares_memory (&self->sharing)) {
    gst_allocation_params_init (&params);
    gst_gemmcl_pool_ask_for_pages (&params, size);
    gst_query_add_allocation_param (query, NULL, &params);
    propose_pool (query, caps, size, held, NULL, need_pool);
  } else if (format.memory > GST_GEMMCL_MEMORY_OPENCL) {
    /* Other memory comes from pools of upstream, which must have enough buffers. */
    propose_pool (query, caps, size, held, NULL, FALSE);
  } else if (format.memory == GST_GEMMCL_MEMORY_OPENCL || need_pool) {
    /* Upstream may also allocate buffers without the pool. */
    if (format.memory == GST_GEMMCL_MEMORY_OPENCL)
      gst_query_add_allocation_param (query, self->devices->allocator, NULL);
    propose_pool (query, caps, size, held, self->devices->allocator, TRUE);
  }
  return TRUE;
}

/* Returns: (transfer full) (nullable): the pool of downstream, if it is a special pool, such as
 * that of a display, and if the device can write its frames in place. */
static GstBufferPool *
take_peer_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps)
{
  g_autoptr (GstBufferPool) pool = NULL;
  guint size, min, max;
  GstStructure *config;

  if (self->stream.output.memory == GST_GEMMCL_MEMORY_OPENCL ||
      self->stream.output.medium != GST_GEMMCL_MEDIUM_VIDEO || self->n_devices > 1 ||
      !shares_memory (&self->sharing) || gst_query_get_n_allocation_pools (query) == 0)
    return NULL;
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  /* A batch takes all its outputs before it pushes the first one: a limited pool may have fewer. */
  if (!pool || (max > 0 && self->stream.settings.batch_size > 1) || GST_IS_GEMMCL_POOL (pool) ||
      G_OBJECT_TYPE (pool) == GST_TYPE_BUFFER_POOL ||
      G_OBJECT_TYPE (pool) == GST_TYPE_VIDEO_BUFFER_POOL)
    return NULL;
  size = MAX (size, self->pool_size);
  config = gst_buffer_pool_get_config (pool);
  if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL) &&
      gst_buffer_pool_has_option (pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_INFO_OBJECT (self, "the pool of downstream refuses its own configuration");
    return NULL;
  }
  gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  self->runs->last.limited = max > 0;
  return g_steal_pointer (&pool);
}

/* Replaces the pools of @query, in any memory, by one of OpenCL memory of the device. */
static gboolean
offer_own_pool (GstGemmcl *self, GstQuery *query, GstCaps *caps, GError **error)
{
  GstAllocator *allocator = self->devices->allocator;
  g_autoptr (GstBufferPool) pool = NULL;

  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  while (gst_query_get_n_allocation_params (query) > 0)
    gst_query_remove_nth_allocation_param (query, 0);
  gst_query_add_allocation_param (query, allocator, NULL);
  if (self->pool_size == 0)
    return gst_gemmcl_devices_set_pools (self->devices, self->n_devices, NULL, error);
  pool = gst_gemmcl_pool_new_configured (
      allocator, caps, self->pool_size, 0,
      !gst_gemmcl_output_is_meta (&self->stream.settings) &&
          gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL));
  if (pool)
    gst_query_add_allocation_pool (query, pool, self->pool_size, 0, 0);
  else
    self->pool_size = 0;
  return gst_gemmcl_devices_set_pools (self->devices, self->n_devices, pool, error);
}

static gboolean
decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_autoptr (GstBufferPool) peer = NULL;
  g_autoptr (GstCaps) tensors = gst_caps_new_empty_simple (GST_GEMMCL_TENSORS_MEDIA);
  g_autoptr (GError) error = NULL;
  /* With flexible tensors the problem is not known before the first buffer. */
  const gboolean is_known =
      gst_gemmcl_devices_get_plan (self) || !self->stream.input.tensors.flexible;
  const gsize size =
      is_known ? gst_gemmcl_output_get_size (&self->stream, &self->problem, self->problem.gemm.m)
               : 0;
  const GstVideoInfo *video = &self->stream.output.video;
  GstCaps *caps = NULL;

  gst_query_parse_allocation (query, &caps, NULL);
  self->pool_size = size <= G_MAXUINT ? size : 0;
  self->runs->last.limited = FALSE;
  /* GStreamer counts bytes in 32 bits in pools and elsewhere, but does not refuse all such caps. */
  if (self->stream.output.medium == GST_GEMMCL_MEDIUM_VIDEO && self->pool_size == 0) {
    gst_gemmcl_fail (&error, GEMMCL_ERROR_TOO_LARGE,
                     "An output frame of %dx%d in %s has 4 GiB or more; expected less, the limit "
                     "of buffers of a GStreamer pool. Scale or crop the frame, or let downstream "
                     "take a format of fewer bytes.",
                     GST_VIDEO_INFO_WIDTH (video), GST_VIDEO_INFO_HEIGHT (video),
                     GST_VIDEO_INFO_NAME (video));
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return FALSE;
  }
  peer = take_peer_pool (self, query, caps);
  if (!peer && !offer_own_pool (self, query,
                                gst_gemmcl_output_is_meta (&self->stream.settings) ? tensors : caps,
                                &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, "OpenCL memory cannot be allocated.", error);
    return FALSE;
  }
  /* The base class would configure the pool for @caps, which are the caps of the input. */
  return gst_gemmcl_output_is_meta (&self->stream.settings) ||
         parent_class->decide_allocation (trans, query);
}

void
gst_gemmcl_allocation_install (GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent (klass);
  klass->copy_metadata = copy_metadata;
  klass->transform_meta = transform_meta;
  klass->propose_allocation = propose_allocation;
  klass->decide_allocation = decide_allocation;
}
