/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-run.h"

#include "gemmcl-meta.h"
#include "gemmcl-negotiate.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

static GstBaseTransformClass *parent_class = NULL;

/* A buffer as the library sees it. All zero: nothing is mapped. */
typedef struct {
  GstVideoFrame frame;
  gboolean is_frame;
  GstMemory *memory; /* owned; what map is of, where that is not a frame */
  GstMapInfo map;
} Mapping;

static void
mapping_clear (Mapping *self)
{
  if (self->is_frame)
    gst_video_frame_unmap (&self->frame);
  if (self->memory) {
    gst_memory_unmap (self->memory, &self->map);
    gst_memory_unref (self->memory);
  }
  *self = (Mapping){.is_frame = FALSE};
}

static void
free_mappings (GArray *mappings)
{
  for (guint i = 0; i < mappings->len; i++)
    mapping_clear (&g_array_index (mappings, Mapping, i));
  g_array_unref (mappings);
}

static gboolean
map_frame (Mapping *self, const GstVideoInfo *info, GstBuffer *buffer, GstMapFlags flags,
           GemmclHostData *host, GError **error)
{
  if (!gst_video_frame_map (&self->frame, info, buffer, flags)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer of %" G_GSIZE_FORMAT " bytes cannot be mapped as a %dx%d %s picture; "
                 "expected %" G_GSIZE_FORMAT " bytes, or a video meta that fits the buffer.",
                 gst_buffer_get_size (buffer), GST_VIDEO_INFO_WIDTH (info),
                 GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_NAME (info),
                 GST_VIDEO_INFO_SIZE (info));
    return FALSE;
  }
  self->is_frame = TRUE;
  if (GST_VIDEO_FRAME_WIDTH (&self->frame) < GST_VIDEO_INFO_WIDTH (info) ||
      GST_VIDEO_FRAME_HEIGHT (&self->frame) < GST_VIDEO_INFO_HEIGHT (info)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer's video meta says %dx%d; expected the caps' %dx%d.",
                 GST_VIDEO_FRAME_WIDTH (&self->frame), GST_VIDEO_FRAME_HEIGHT (&self->frame),
                 GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
    return FALSE;
  }
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES (&self->frame); i++) {
    host->data[i] = GST_VIDEO_FRAME_PLANE_DATA (&self->frame, i);
    host->stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (&self->frame, i);
  }
  return TRUE;
}

/* Takes @memory. What is read at an address that does not suit its type is copied first. */
static gboolean
map_memory (Mapping *self, GstMemory *memory, GstMapFlags flags, gsize alignment,
            GemmclHostData *host, GError **error)
{
  if (memory && gst_memory_map (memory, &self->map, flags)) {
    if ((guintptr)self->map.data % alignment == 0) {
      self->memory = memory;
      host->data[0] = self->map.data;
      return TRUE;
    }
    gst_memory_unmap (memory, &self->map);
    if (!(flags & GST_MAP_WRITE)) {
      GstMemory *copy = gst_memory_copy (memory, 0, -1);

      gst_memory_unref (memory);
      return map_memory (self, copy, flags, alignment, host, error);
    }
  }
  g_clear_pointer (&memory, gst_memory_unref);
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_IO,
                       "A buffer's memory cannot be mapped; expected memory of the system.");
  return FALSE;
}

/* Where in a buffer of audio the samples are, and how many. */
static gboolean
get_samples (const GstAudioInfo *info, GstBuffer *buffer, gsize *offset, gsize *samples,
             GError **error)
{
  const GstAudioMeta *meta = gst_buffer_get_audio_meta (buffer);
  gsize size = gst_buffer_get_size (buffer), frame = GST_AUDIO_INFO_BPF (info);

  *offset = meta && meta->offsets ? meta->offsets[0] : 0;
  *samples = meta ? meta->samples : size / frame;
  if (meta && (GST_AUDIO_INFO_LAYOUT (&meta->info) != GST_AUDIO_LAYOUT_INTERLEAVED ||
               GST_AUDIO_INFO_BPF (&meta->info) != (gint)frame)) {
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                         "A buffer's audio meta does not fit the caps; expected interleaved audio "
                         "of the same format and channels.");
    return FALSE;
  }
  if (*offset > size || *samples > (size - *offset) / frame || (!meta && size % frame != 0)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer of audio has %" G_GSIZE_FORMAT " bytes; expected %s %" G_GSIZE_FORMAT
                 " bytes for each moment.",
                 size, meta ? "what its audio meta says at" : "a multiple of", frame);
    return FALSE;
  }
  return TRUE;
}

/* One tensor of several, or the whole buffer when there is one. (transfer full) */
static GstMemory *
get_tensor_memory (const GstGemmclTensors *tensors, guint index, GstBuffer *buffer, GError **error)
{
  gsize expected = gst_gemmcl_tensor_get_size (&tensors->tensor[index]);
  GstMemory *memory;
  gsize found;

  if (tensors->n > 1 && gst_buffer_n_memory (buffer) != tensors->n) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
                 "A buffer has %u memories; expected one for each of the caps' %u tensors.",
                 gst_buffer_n_memory (buffer), tensors->n);
    return NULL;
  }
  memory =
      tensors->n > 1 ? gst_buffer_get_memory (buffer, index) : gst_buffer_get_all_memory (buffer);
  found = memory ? gst_memory_get_sizes (memory, NULL, NULL) : 0;
  if (found == expected)
    return memory;
  g_clear_pointer (&memory, gst_memory_unref);
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_FORMAT,
               "Tensor %u of a buffer has %" G_GSIZE_FORMAT " bytes; expected %" G_GSIZE_FORMAT
               ", by the caps' dimensions and types.",
               index, found, expected);
  return NULL;
}

static gboolean
map_input (GstGemmcl *self, Mapping *mapping, GstBuffer *buffer, GemmclHostData *host,
           GError **error)
{
  gsize alignment = gemmcl_type_get_size (self->problem.gemm.a_type);
  gsize offset, samples;
  GstMemory *memory;

  switch (self->input.medium) {
  case GST_GEMMCL_MEDIUM_VIDEO:
    return map_frame (mapping, &self->input.video, buffer, GST_MAP_READ, host, error);
  case GST_GEMMCL_MEDIUM_AUDIO:
    if (!get_samples (&self->input.audio, buffer, &offset, &samples, error))
      return FALSE;
    memory = gst_buffer_get_all_memory (buffer);
    if (offset > 0 && memory) {
      GstMemory *part = gst_memory_share (memory, offset, -1);

      gst_memory_unref (memory);
      memory = part;
    }
    return map_memory (mapping, memory, GST_MAP_READ, alignment, host, error);
  default:
    memory = get_tensor_memory (&self->input.tensors, self->settings.tensor_index, buffer, error);
    return memory && map_memory (mapping, memory, GST_MAP_READ, alignment, host, error);
  }
}

/* Which memory of an output holds D. */
static guint
get_output_index (GstGemmcl *self)
{
  return self->input.medium == GST_GEMMCL_MEDIUM_TENSORS ? self->settings.tensor_index : 0;
}

static gboolean
map_output (GstGemmcl *self, Mapping *mapping, GstBuffer *buffer, GemmclHostData *host,
            GError **error)
{
  gsize alignment = gemmcl_type_get_size (self->problem.gemm.d_type);

  if (self->output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return map_frame (mapping, &self->output.video, buffer, GST_MAP_WRITE, host, error);
  return map_memory (mapping, gst_buffer_get_memory (buffer, get_output_index (self)),
                     GST_MAP_WRITE, alignment, host, error);
}

/* A buffer with no data in it that is still to pass: a gap, or audio of no samples. */
static gboolean
is_empty (GstGemmcl *self, GstBuffer *buffer)
{
  gboolean is_audio = self->input.medium == GST_GEMMCL_MEDIUM_AUDIO;
  const GstAudioMeta *meta = is_audio ? gst_buffer_get_audio_meta (buffer) : NULL;

  if (meta)
    return meta->samples == 0;
  return gst_buffer_get_size (buffer) == 0 &&
         (is_audio || GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP));
}

/* Rows of D for @buffer; 0 after an error. */
static gsize
get_m (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  gsize offset, samples;

  if (self->input.medium != GST_GEMMCL_MEDIUM_AUDIO)
    return self->problem.gemm.m;
  if (!get_samples (&self->input.audio, buffer, &offset, &samples, error))
    return 0;
  return samples;
}

/* More rows than the plan has room for make a new one, with room to spare so that it is the last.
 */
static gboolean
make_room (GstGemmcl *self, gsize m, GError **error)
{
  gsize room = self->problem.gemm.m;

  if (m <= room)
    return TRUE;
  if (m > G_MAXINT32) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                 "A buffer of audio has %" G_GSIZE_FORMAT " samples; expected %d at most.", m,
                 G_MAXINT32);
    return FALSE;
  }
  while (room < m)
    room = MIN (2 * room, (gsize)G_MAXINT32);
  return gst_gemmcl_make_plan (self, room, error);
}

static gboolean
check_scalars (GstGemmcl *self, GError **error)
{
  if (self->run_beta == 0.0 || self->problem.gemm.addend != GEMMCL_ADDEND_NONE)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
               "beta is %g, batch-size is %u and there is no addend: the buffers of a batch are "
               "multiplied at once, so none has a previous output to add. Expected beta=0, "
               "batch-size=1 or an addend.",
               self->run_beta, self->settings.batch_size);
  return FALSE;
}

static gboolean
run_mapped (GstGemmcl *self, gsize m, guint n, const GemmclHostData *a, const GemmclHostData *d,
            GError **error)
{
  /* The application may put another weight into the plan, but only this thread replaces it. */
  GemmclPlan *plan = self->plan;
  GemmclHostRun run = {.m = m, .batch = n, .a = a, .d = d};

  if (m != self->last_m)
    gemmcl_plan_reset_output (plan);
  self->last_m = m;
  gemmcl_plan_set_scalars (plan, self->run_alpha, self->run_beta);
  return gemmcl_plan_run (plan, &run, error);
}

static gboolean
run (GstGemmcl *self, guint n, GstBuffer **inputs, GstBuffer **outputs, GError **error)
{
  g_autofree GemmclHostData *a = g_new0 (GemmclHostData, n);
  g_autofree GemmclHostData *d = g_new0 (GemmclHostData, n);
  gsize m = get_m (self, inputs[0], error);
  GArray *mappings;
  gboolean ok;

  ok = m > 0 && check_scalars (self, error) && make_room (self, m, error);
  if (!ok)
    return FALSE;
  mappings = g_array_set_size (g_array_new (FALSE, TRUE, sizeof (Mapping)), 2 * n);
  for (guint i = 0; ok && i < n; i++)
    ok = map_input (self, &g_array_index (mappings, Mapping, 2 * i), inputs[i], &a[i], error) &&
         map_output (self, &g_array_index (mappings, Mapping, 2 * i + 1), outputs[i], &d[i], error);
  ok = ok && run_mapped (self, m, n, a, d, error);
  free_mappings (mappings);
  return ok;
}

GstFlowReturn
gst_gemmcl_run (GstGemmcl *self, guint n, GstBuffer **inputs, GstBuffer **outputs)
{
  g_autoptr (GError) error = NULL;

  if (!is_empty (self, inputs[0]) && !run (self, n, inputs, outputs, &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return GST_FLOW_ERROR;
  }
  g_mutex_lock (&self->lock);
  self->buffers += n;
  g_mutex_unlock (&self->lock);
  return GST_FLOW_OK;
}

void
gst_gemmcl_forget_output (GstGemmcl *self)
{
  self->last_m = 0;
}

static GstFlowReturn
transform (GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  return gst_gemmcl_run (GST_GEMMCL (trans), 1, &input, &output);
}

static GstMemory *
new_memory (GstBaseTransform *trans, gsize size)
{
  GstAllocator *allocator = NULL;
  GstAllocationParams params;
  GstMemory *memory;

  gst_base_transform_get_allocator (trans, &allocator, &params);
  memory = gst_allocator_alloc (allocator, size, &params);
  g_clear_object (&allocator);
  return memory;
}

/* The result and, around it, what passes through. */
static gboolean
append_tensors (GstGemmcl *self, GstBuffer *input, GstBuffer *output, GError **error)
{
  const GstGemmclTensors *out = &self->output.tensors;

  for (guint i = 0; i < out->n; i++) {
    GstMemory *memory;

    if (i == get_output_index (self)) {
      memory = new_memory (GST_BASE_TRANSFORM (self), gst_gemmcl_tensor_get_size (&out->tensor[i]));
    } else {
      memory = get_tensor_memory (&self->input.tensors, i, input, error);
      if (!memory)
        return FALSE;
    }
    gst_buffer_append_memory (output, memory);
  }
  return TRUE;
}

/* Memory for all but video, whose buffers come from a pool. */
static gboolean
append_memory (GstGemmcl *self, GstBuffer *input, GstBuffer *output, GError **error)
{
  gsize offset, samples, size;

  if (is_empty (self, input))
    return TRUE;
  if (self->output.medium == GST_GEMMCL_MEDIUM_TENSORS)
    return append_tensors (self, input, output, error);
  if (!get_samples (&self->input.audio, input, &offset, &samples, error))
    return FALSE;
  if (!g_size_checked_mul (&size, samples, GST_AUDIO_INFO_BPF (&self->output.audio))) {
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                         "A buffer of audio makes a result that is more than memory can hold.");
    return FALSE;
  }
  gst_buffer_append_memory (output, new_memory (GST_BASE_TRANSFORM (self), size));
  return TRUE;
}

static GstFlowReturn
prepare_output_buffer (GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (trans);
  g_autoptr (GstBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;

  if (self->output.medium == GST_GEMMCL_MEDIUM_VIDEO && !is_empty (self, input))
    return parent_class->prepare_output_buffer (trans, input, output);
  buffer = gst_buffer_new ();
  if (!append_memory (self, input, buffer, &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return GST_FLOW_ERROR;
  }
  if (!klass->copy_metadata (trans, input, buffer))
    GST_ELEMENT_WARNING (self, STREAM, NOT_IMPLEMENTED, (NULL), ("could not copy metadata"));
  *output = g_steal_pointer (&buffer);
  return GST_FLOW_OK;
}

/* Nothing in, nothing out: whether silence stays silence, and a gap so a gap. */
static gboolean
keeps_zeros (GstGemmcl *self)
{
  const GemmclGemm *gemm = &self->problem.gemm;

  return !gemm->bias && gemm->a_shift == 0.0 && self->run_beta == 0.0 &&
         gemm->activation != GEMMCL_ACTIVATION_SIGMOID &&
         gemm->activation != GEMMCL_ACTIVATION_SOFTMAX;
}

static gboolean
copy_metadata (GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  GstGemmcl *self = GST_GEMMCL (trans);

  if (!parent_class->copy_metadata (trans, input, output))
    return FALSE;
  if (self->input.medium == GST_GEMMCL_MEDIUM_AUDIO && !is_empty (self, input) &&
      !keeps_zeros (self))
    GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_GAP);
  return TRUE;
}

static gboolean
transform_meta (GstBaseTransform *trans, GstBuffer *output G_GNUC_UNUSED, GstMeta *meta,
                GstBuffer *input G_GNUC_UNUSED)
{
  GstGemmcl *self = GST_GEMMCL (trans);

  return gst_gemmcl_meta_survives (meta->info->api, self->input.medium, self->output.medium);
}

void
gst_gemmcl_run_install (GstBaseTransformClass *klass)
{
  parent_class = g_type_class_peek_parent (klass);
  klass->transform = transform;
  klass->prepare_output_buffer = prepare_output_buffer;
  klass->copy_metadata = copy_metadata;
  klass->transform_meta = transform_meta;
}
