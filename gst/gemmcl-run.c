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
    }
    gst_buffer_append_memory (output, memory);
  }
  return TRUE;
}

/* Memory where there is no pool. */
static gboolean
append_memory (GstGemmcl *self, GstBuffer *input, GstBuffer *output, GError **error)
{
  gsize offset, samples, size;

  if (gst_gemmcl_is_empty (self, input))
    return TRUE;
  if (self->output.medium == GST_GEMMCL_MEDIUM_TENSORS)
    return append_tensors (self, input, output, error);
  if (!gst_gemmcl_get_samples (&self->input.audio, input, &offset, &samples, error))
    return FALSE;
  if (!g_size_checked_mul (&size, samples, GST_AUDIO_INFO_BPF (&self->output.audio))) {
    g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE,
                         "A buffer of audio makes a result that is more than memory can hold.");
    return FALSE;
  }
  gst_buffer_append_memory (output, new_memory (GST_BASE_TRANSFORM (self), size));
  return TRUE;
}

/* The base class has one, which decide_allocation chose. */
static gboolean
has_pool (GstGemmcl *self)
{
  return self->output.medium == GST_GEMMCL_MEDIUM_VIDEO ||
         gst_gemmcl_get_tensor_pool_size (self) > 0;
}

static GstFlowReturn
prepare_output_buffer (GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (trans);
  g_autoptr (GstBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;

  if (has_pool (self) && !gst_gemmcl_is_empty (self, input))
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
