/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-run.h"

#include "gemmcl-flight.h"
#include "gemmcl-meta.h"
#include "gemmcl-negotiate.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

static GstBaseTransformClass *parent_class = NULL;

void
gst_gemmcl_forget_output (GstGemmcl *self)
{
  self->last_m = 0;
  gst_clear_buffer (&self->last_output);
}

/* With neither batches nor a queue the base class calls this for each buffer. */
static GstFlowReturn
transform (GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  GstGemmclFlight *flight = &self->flights[0];
  GstFlowReturn flow;

  flight->n = 1;
  flight->inputs[0] = input;
  flight->outputs[0] = output;
  flow = gst_gemmcl_flight_launch (flight, self);
  if (flow == GST_FLOW_OK)
    flow = gst_gemmcl_flight_land (flight, self);
  flight->n = 0;
  return flow;
}

static void
set_no_memory (GError **error)
{
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                       "There is no memory for a result. In OpenCL memory a device that is smaller "
                       "than the host has to hold it: use system memory, smaller buffers, or fewer "
                       "of them (queue-depth, batch-size, queues).");
}

/* Takes @memory, which may be NULL. */
static gboolean
append (GstBuffer *output, GstMemory *memory, GError **error)
{
  if (memory)
    gst_buffer_append_memory (output, memory);
  else
    set_no_memory (error);
  return memory != NULL;
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

    if (i == gst_gemmcl_get_output_index (self)) {
      memory = new_memory (GST_BASE_TRANSFORM (self), gst_gemmcl_tensor_get_size (&out->tensor[i]));
    } else {
      memory = gst_gemmcl_get_tensor_memory (&self->input.tensors, i, input, error);
      if (!memory)
        return FALSE;
      if (self->output_opencl)
        memory = gst_gemmcl_device_take_memory (self, memory);
    }
    if (!append (output, memory, error))
      return FALSE;
  }
  return TRUE;
}

/* Bytes of the result that a buffer of audio makes; 0 after an error. */
static gsize
get_audio_size (GstGemmcl *self, GstBuffer *input, GError **error)
{
  gsize offset, samples, size;

  if (!gst_gemmcl_get_samples (&self->input.audio, input, &offset, &samples, error))
    return 0;
  if (g_size_checked_mul (&size, samples, GST_AUDIO_INFO_BPF (&self->output.audio)))
    return size;
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                       "A buffer of audio makes a result that is more than memory can hold.");
  return 0;
}

/* Memory where there is no pool. */
static gboolean
append_memory (GstGemmcl *self, GstBuffer *input, GstBuffer *output, GError **error)
{
  gsize size;

  if (gst_gemmcl_is_empty (self, input))
    return TRUE;
  if (self->output.medium == GST_GEMMCL_MEDIUM_TENSORS)
    return append_tensors (self, input, output, error);
  size = get_audio_size (self, input, error);
  return size > 0 && append (output, new_memory (GST_BASE_TRANSFORM (self), size), error);
}

/* The base class has one, which decide_allocation chose. Audio goes into larger buffers. */
static gboolean
has_pool (GstGemmcl *self, GstBuffer *input)
{
  gsize size;

  if (gst_gemmcl_is_empty (self, input))
    return FALSE;
  if (self->output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return TRUE;
  if (self->output.medium == GST_GEMMCL_MEDIUM_TENSORS)
    return gst_gemmcl_get_tensor_pool_size (self) > 0;
  size = self->output_opencl ? get_audio_size (self, input, NULL) : 0;
  return size > 0 && size <= self->pool_size;
}

static GstFlowReturn
take_from_pool (GstGemmcl *self, GstBuffer *input, GstBuffer **output)
{
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow =
      parent_class->prepare_output_buffer (GST_BASE_TRANSFORM (self), input, output);

  if (flow == GST_FLOW_OK && self->output.medium == GST_GEMMCL_MEDIUM_AUDIO)
    gst_buffer_set_size (*output, get_audio_size (self, input, NULL));
  if (flow == GST_FLOW_ERROR) {
    set_no_memory (&error);
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  }
  return flow;
}

static GstFlowReturn
prepare_output_buffer (GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (trans);
  g_autoptr (GstBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;

  if (has_pool (self, input))
    return take_from_pool (self, input, output);
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
  if (self->input.medium == GST_GEMMCL_MEDIUM_AUDIO && !gst_gemmcl_is_empty (self, input) &&
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
