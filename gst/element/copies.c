/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Logs copies that a better negotiation would avoid, in GStreamer's category GST_PERFORMANCE. */
#include "element/stats.h"

#include "memory/gstgemmclmemory.h"

GST_DEBUG_CATEGORY_STATIC (performance);

/* Bits of noted_copies: the copies of the element, then the reasons for A, then those for D. */
#define FIRST_OF_A 8
#define FIRST_OF_D 16

/* The text of each kind of copy. Three kinds do not depend on negotiation and have none: copies of
 * batches, of VA surfaces, and of buffers that the device reads faster after a copy. */
static const gchar *const texts[] = {
    [GST_GEMMCL_COPY_ALIGNED] = "inputs are copied because their elements are not aligned: a "
                                "memory of its own for each tensor or audio buffer",
    [GST_GEMMCL_COPY_MERGED] = "inputs are copied because A is in several memories: a single "
                               "memory",
    [GST_GEMMCL_COPY_PASSED] = "tensors that pass through are copied to OpenCL memory: inputs in "
                               "OpenCL memory, or an output in system memory,",
    [GST_GEMMCL_COPY_FOREIGN] = "inputs go through the host because they are in OpenCL memory of "
                                "another context: a GstContext that both elements share",
    [FIRST_OF_A + GEMMCL_COPY_REASON_SEPARATE] =
        "inputs are copied from pageable memory of the host: an upstream that uses the pool of "
        "pinned memory that gemmcl offers",
    [FIRST_OF_A + GEMMCL_COPY_REASON_GAPS] =
        "inputs are copied because their rows have gaps: an upstream that uses gemmcl's pool and "
        "GstVideoMeta, or uncropped rows of a multiple of 4 bytes,",
    [FIRST_OF_A + GEMMCL_COPY_REASON_OFFSET] =
        "inputs are copied because A does not begin at the start of its OpenCL memory: static "
        "tensors, each in a memory of its own,",
    [FIRST_OF_A + GEMMCL_COPY_REASON_ALIGNMENT] =
        "inputs are copied because their addresses are not aligned for the device: an upstream "
        "that uses gemmcl's pool or its allocation parameters",
    [FIRST_OF_D + GEMMCL_COPY_REASON_GAPS] =
        "outputs are copied because their rows have gaps: a downstream that accepts "
        "GstVideoMeta, or rows of a multiple of 4 bytes,",
    [FIRST_OF_D + GEMMCL_COPY_REASON_OFFSET] =
        "outputs are copied to their place behind the headers of flexible tensors: static tensors",
    [FIRST_OF_D + GEMMCL_COPY_REASON_ALIGNMENT] =
        "outputs are copied because buffers of downstream's pool are not aligned for the device: "
        "a pool of aligned buffers",
};

void
gst_gemmcl_copies_init (void)
{
  GST_DEBUG_CATEGORY_GET (performance, "GST_PERFORMANCE");
}

static void
note (GstGemmcl *self, guint bit)
{
  if (bit >= G_N_ELEMENTS (texts) || !texts[bit] || self->stream.noted_copies >> bit & 1)
    return;
  self->stream.noted_copies |= 1u << bit;
  GST_CAT_INFO_OBJECT (performance, self, "%s would avoid that", texts[bit]);
}

void
gst_gemmcl_copies_add (GstGemmcl *self, GstGemmclCopy copy)
{
  g_mutex_lock (&self->lock);
  self->stats.copies++;
  g_mutex_unlock (&self->lock);
  note (self, copy);
}

/* TRUE if @buffer is in OpenCL memory of a context other than the current device's. A carrier may
 * have no memory. */
static gboolean
is_foreign (GstGemmcl *self, GstBuffer *buffer)
{
  gpointer context = gst_buffer_n_memory (buffer) > 0
                         ? gst_gemmcl_memory_get_cl_context (gst_buffer_peek_memory (buffer, 0))
                         : NULL;

  return context && context != gemmcl_context_get_cl_context (self->lane->context);
}

void
gst_gemmcl_copies_note_run (GstGemmcl *self, const GemmclRun *run, GstBuffer *input)
{
  GemmclCopyReason a, d;

  if (gst_debug_category_get_threshold (performance) < GST_LEVEL_INFO)
    return;
  gemmcl_plan_explain_copies (self->lane->plan, run, &a, &d);
  if (run->a->kind == GEMMCL_DATA_HOST && is_foreign (self, input))
    note (self, GST_GEMMCL_COPY_FOREIGN);
  else
    note (self, FIRST_OF_A + a);
  note (self, FIRST_OF_D + d);
}
