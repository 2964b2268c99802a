/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds A, D and row outputs in buffers, and submits runs.
 */
#include "element/run.h"
#include "element/stats.h"

#include "memory/foreign.h"
#include "memory/memory.h"

/* One of this number of runs is timed if timing makes a run slower. */
#define TIMED 16

/* Makes later commands of @lane use other queues, since one failed. The library replaces its
 * own. */
static void
leave_queues (GstGemmcl *self, GstGemmclLane *lane)
{
  g_autoptr (GstAllocator) allocator = NULL;

  g_mutex_lock (&self->lock);
  gst_object_replace ((GstObject **)&allocator, (GstObject *)lane->allocator);
  g_mutex_unlock (&self->lock);
  if (allocator)
    gst_gemmcl_allocator_leave_queue (allocator, NULL);
}

gboolean
gst_gemmcl_run_finish (GstGemmcl *self, GstGemmclTurn *turn, GError **error)
{
  GstClockTime time;
  const cl_int status = gst_gemmcl_inflight_finish (turn->inflight, &time);

  if (GST_CLOCK_TIME_IS_VALID (time) && gst_gemmcl_stats_add_time (self, time))
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  if (status == CL_SUCCESS)
    return TRUE;
  leave_queues (self, turn->lane);
  if (error && !*error)
    gst_gemmcl_fail (
        error, GEMMCL_ERROR_OPENCL,
        "A run on %s failed with OpenCL error %d after it was submitted; its output cannot be "
        "mapped.",
        gemmcl_context_get_device_info (turn->lane->context)->name, status);
  return FALSE;
}

void
gst_gemmcl_runs_forget (GstGemmcl *self)
{
  if (self->lane->plan)
    gemmcl_plan_reset_previous (self->lane->plan);
  if (self->turns)
    gst_clear_buffer (&self->turns->last);
}

gboolean
gst_gemmcl_runs_want_feedback (GstGemmcl *self)
{
  g_autoptr (GstControlBinding) binding = NULL;

  if (self->stream.settings.batch_size > 1 || self->n_lanes > 1)
    return FALSE;
  if (!self->turns->feedback && self->scalars.beta == 0.0)
    binding = gst_object_get_control_binding (GST_OBJECT (self), "beta");
  self->turns->feedback |= self->scalars.beta != 0.0 || binding;
  return self->turns->feedback;
}

/* Returns: the frame of an input. Progressive frames of a stream that has interlaced frames, too,
 * may lack the last row of chroma. */
static GemmclFrame
get_frame (GstGemmcl *self)
{
  GemmclFrame frame = self->problem.a_frame;

  frame.interlaced = frame.interlaced && !self->scalars.progressive;
  return frame;
}

/* Maps A in OpenCL memory or on the host. OpenCL memory of the same context may come with any caps:
 * elements between pass it on. */
static gboolean
map_input (GstGemmcl *self, const GstGemmclInput *input, GstGemmclMapping *mapping,
           GemmclData *data, GError **error)
{
  GstBuffer *buffer = input->data ? input->data : input->buffer;
  const GemmclFrame frame = get_frame (self);
  guint first = 0, n = 0;
  gsize skip = 0;
  GstMemory *memory;

  if (self->stream.input.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return gst_gemmcl_mapping_open_frame (mapping, self->lane->context, &frame,
                                          &self->stream.input.video, buffer, GST_MAP_READ, data,
                                          error);
  if (!gst_buffer_find_memory (buffer, input->offset, input->size, &first, &n, &skip))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer has %zu bytes, but had at least %zu when it arrived. "
                            "Expected elements that do not shorten a buffer after they push it.",
                            gst_buffer_get_size (buffer), input->offset + input->size);
  memory = gst_buffer_get_memory_range (buffer, first, (gint)n);
  if (!gst_gemmcl_mapping_open_memory (mapping, self->lane->context, memory, skip, GST_MAP_READ,
                                       gemmcl_type_get_size (self->problem.gemm.a_type), data,
                                       error))
    return FALSE;
  if (mapping->memory != memory)
    gst_gemmcl_copies_add (self, GST_GEMMCL_COPY_ALIGNED);
  if (n > 1)
    gst_gemmcl_copies_add (self, GST_GEMMCL_COPY_MERGED);
  return TRUE;
}

/* TRUE if caps name surfaces, or if @buffer is a dma-buf with a surface that OpenCL can share. */
static gboolean
prefers_surface (GstGemmcl *self, GstBuffer *buffer)
{
  const GemmclFrame *frame = &self->problem.a_frame;
  const GstGemmclMemory memory = self->stream.input.memory;

  return gst_gemmcl_memory_is_surface (memory) ||
         (memory == GST_GEMMCL_MEMORY_DMABUF && gst_gemmcl_va_has_surface (buffer) &&
          gemmcl_pixel_format_get_n_planes (frame->format) == 2 &&
          (frame->width | frame->height) % 2 == 0);
}

/* TRUE if @buffer has to be read as a VA surface, whose layout only the media driver knows. A
 * dma-buf that cannot be mapped can only be read as a surface. */
static gboolean
is_surface (GstGemmcl *self, GstBuffer *buffer)
{
  if (self->stream.input.memory != GST_GEMMCL_MEMORY_DMABUF)
    return prefers_surface (self, buffer);
  return gst_gemmcl_dmabuf_is_shared (buffer) ||
         (prefers_surface (self, buffer) && gst_gemmcl_va_is_shared (&self->device, buffer));
}

/* Opens A in @input: as a surface or dma-buf, if caps promise one; in OpenCL memory of the same
 * context, if the library can read its layout; otherwise on the host. Sets the functions of @run
 * that acquire and release foreign memory. */
static gboolean
open_input (GstGemmcl *self, const GstGemmclInput *input, GstGemmclMapping *mapping,
            GemmclData *data, GemmclRun *run, GError **error)
{
  const GemmclFrame frame = get_frame (self);

  if (is_surface (self, input->buffer))
    return gst_gemmcl_va_open (&self->device, input->buffer, data, run, error);
  return (self->stream.input.memory == GST_GEMMCL_MEMORY_DMABUF &&
          gst_gemmcl_dmabuf_open (&self->device, &frame, &self->stream.input.video, input->buffer,
                                  data, run)) ||
         map_input (self, input, mapping, data, error);
}

gboolean
gst_gemmcl_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context, GError **error)
{
  g_autoptr (GstCaps) caps = NULL;
  g_autofree gchar *text = NULL;
  const guint n = gst_buffer_n_memory (buffer);
  const GstAllocator *allocator = n > 0 ? gst_buffer_peek_memory (buffer, 0)->allocator : NULL;
  const gboolean has_surface = gst_gemmcl_va_has_surface (buffer);

  *needs_context = has_surface && prefers_surface (self, buffer) &&
                   gst_gemmcl_va_needs_context (&self->device, buffer);
  if (has_surface || !is_surface (self, buffer))
    return TRUE;
  caps = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  text = caps ? gst_gemmcl_quote_caps (caps) : g_strdup ("no caps");
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_FORMAT,
      "A buffer of %s is not a whole VA surface, as buffers of GStreamer's va elements are: it "
      "has %u memories, the first of %s. Tiled frames can only be read as surfaces: put "
      "vapostproc before gemmcl, or let upstream send linear dma-bufs or video/x-raw.",
      text, n, allocator ? G_OBJECT_TYPE_NAME (allocator) : "no allocator");
}

/* Maps D in @buffer, an output. @access: GST_MAP_READ, or GST_MAP_WRITE if @buffer is writable. */
static gboolean
map_output (GstGemmcl *self, GstGemmclMapping *mapping, GstBuffer *buffer, GstMapFlags access,
            GemmclData *data, GError **error)
{
  const GstGemmclProblem *problem = &self->problem;

  if (self->stream.output.medium == GST_GEMMCL_MEDIUM_VIDEO)
    return gst_gemmcl_mapping_open_frame (mapping, self->lane->context, &problem->d_frame,
                                          &self->stream.output.video, buffer, access, data, error);
  return gst_gemmcl_mapping_open_memory (mapping, self->lane->context,
                                         gst_buffer_get_memory (buffer, self->stream.output.index),
                                         gst_gemmcl_get_header_size (self), access,
                                         gemmcl_type_get_size (problem->gemm.d_type), data, error);
}

static gboolean
open_buffers (GstGemmcl *self, const GstGemmclTurn *turn, GemmclRun *run, GError **error)
{
  GstGemmclTurns *turns = self->turns;
  const guint n = turn->n;

  for (guint i = 0; i < n; i++)
    if (!open_input (self, &turn->inputs[i], &turn->inflight->mappings[i], &turns->a[i], run,
                     error) ||
        !map_output (self, &turns->mapped[i], turn->inputs[i].output, GST_MAP_WRITE, &turns->d[i],
                     error) ||
        (run->row_outputs &&
         !gst_gemmcl_mapping_open_memory (&turns->mapped[n + i], self->lane->context,
                                          gst_gemmcl_get_rows_memory (turn->inputs[i].output),
                                          gst_gemmcl_get_header_size (self), GST_MAP_WRITE,
                                          sizeof (gfloat), &turns->d[n + i], error)))
      return FALSE;
  return TRUE;
}

/* Returns: the number of elements of the array d that @run uses, for D and for row outputs. */
static guint
count_places (const GemmclRun *run)
{
  return run->row_outputs ? 2 * run->batch : run->batch;
}

/* TRUE if @data is OpenCL memory, which carries the events of the commands that use it. */
static gboolean
has_events (const GemmclData *data)
{
  return data->kind == GEMMCL_DATA_BUFFER && !data->acquired;
}

/* Returns: (nullable): the queue for the kernels: a queue without profiling, for runs that copy
 * nothing between host and device, or NULL, the context's queue, which times them. */
static cl_command_queue
choose_queue (GstGemmclTurns *turns, const GemmclRun *run)
{
  GstMemory *output = turns->mapped[0].memory;

  if (!has_events (&turns->d[0]) || !gst_is_gemmcl_memory (output) || turns->untimed >= TIMED - 1)
    return NULL;
  for (guint i = 0; i < run->batch; i++)
    if (turns->a[i].kind == GEMMCL_DATA_HOST)
      return NULL;
  return gst_gemmcl_memory_get_kernel_queue (output);
}

/* Collects the events that @run waits for: those of its memories and, if the last run was in
 * another queue, that run's. */
static void
collect_events (GstGemmclTurns *turns, const GstGemmclTurn *turn, GemmclRun *run,
                GstMemory *previous)
{
  cl_event *wait = turns->wait, last = NULL;

  if (previous)
    wait += gst_gemmcl_memory_get_events (previous, GST_MAP_READ, wait);
  for (guint i = 0; i < run->batch; i++)
    if (has_events (&turns->a[i]))
      wait += gst_gemmcl_memory_get_events (turn->inflight->mappings[i].memory, GST_MAP_READ, wait);
  for (guint i = 0; i < count_places (run); i++)
    if (has_events (&turns->d[i]))
      wait += gst_gemmcl_memory_get_events (turns->mapped[i].memory, GST_MAP_WRITE, wait);
  if (run->queue != turns->queue && turns->latest)
    last = gst_gemmcl_inflight_get_event (turns->latest);
  if (last)
    *wait++ = last;
  run->wait = turns->wait;
  run->n_wait = wait - turns->wait;
}

/* Takes @done, the event of @run, and adds it to each OpenCL memory. Inputs in other memory are
 * held until @done. */
static void
leave_event (GstGemmcl *self, GstGemmclTurn *turn, const GemmclRun *run, cl_event done)
{
  GstGemmclTurns *turns = self->turns;

  for (guint i = 0; i < run->batch; i++) {
    GstGemmclMapping *mapping = &turn->inflight->mappings[i];

    if (has_events (&turns->a[i])) {
      gst_gemmcl_memory_add_event (mapping->memory, GST_MAP_READ, done);
      gst_gemmcl_mapping_clear (mapping);
    } else {
      mapping->held = gst_buffer_ref (turn->inputs[i].buffer);
      turn->n_held++;
    }
  }
  gst_gemmcl_inflight_begin (turn->inflight, run->batch, self->lane->context, done);
  for (guint i = 0; i < count_places (run); i++) {
    GstMemory *memory = turns->mapped[i].memory;

    if (!has_events (&turns->d[i]))
      continue;
    gst_gemmcl_memory_add_event (memory, GST_MAP_WRITE, done);
    if (gst_is_gemmcl_memory (memory))
      gst_gemmcl_memory_set_run (memory, turn->inflight,
                                 self->stream.output.memory != GST_GEMMCL_MEMORY_OPENCL);
  }
}

/* Returns: the kind of memory of @a, an input, as a word; static. */
static const gchar *
name_memory (const GemmclData *a)
{
  switch (a->kind) {
  case GEMMCL_DATA_IMAGES:
    return "VA";
  case GEMMCL_DATA_BUFFER:
    return a->acquired ? "DMABuf" : "OpenCL";
  default:
    return "system";
  }
}

static void
note_run (GstGemmcl *self, const GemmclRun *run, const GstGemmclTurn *turn)
{
  const gboolean may_add = self->n_lanes == 1 && self->stream.settings.batch_size == 1 &&
                           !self->operands.current.addend &&
                           self->problem.gemm.addend == GEMMCL_ADDEND_NONE;
  const gboolean is_mapped =
      self->stream.output.memory != GST_GEMMCL_MEMORY_OPENCL && run->d[0].kind != GEMMCL_DATA_HOST;

  gst_buffer_replace (&self->turns->last, may_add ? turn->inputs[0].output : NULL);
  gst_gemmcl_stats_add_run (self, run->batch,
                            is_mapped ? run->batch * gst_gemmcl_get_output_size (self, run->m) : 0,
                            name_memory (&run->a[run->batch - 1]));
  gst_gemmcl_copies_note_run (self, run, turn->inputs[0].buffer);
}

/* Submits @run, whose inputs and outputs are open. */
static gboolean
submit_open (GstGemmcl *self, GstGemmclTurn *turn, GemmclRun *run, GError **error)
{
  GstGemmclTurns *turns = self->turns;
  GstGemmclMapping mapping = {.memory = NULL};
  GemmclData previous = {.kind = GEMMCL_DATA_HOST};
  cl_event done = NULL;
  gboolean ok = TRUE;

  if (turns->last && self->problem.gemm.addend == GEMMCL_ADDEND_PREVIOUS) {
    ok = map_output (self, &mapping, turns->last, GST_MAP_READ, &previous, error);
    run->previous = &previous;
  }
  run->queue = self->n_lanes > 1 ? NULL : choose_queue (turns, run);
  collect_events (turns, turn, run, has_events (&previous) ? mapping.memory : NULL);
  ok = ok && gemmcl_plan_submit (self->lane->plan, run, NULL, &done, error);
  gst_gemmcl_release_events (run->n_wait, run->wait);
  if (ok) {
    turns->untimed = run->queue ? turns->untimed + 1 : 0;
    turns->queue = run->queue;
    turns->latest = turn->inflight;
    if (has_events (&previous))
      gst_gemmcl_memory_add_event (mapping.memory, GST_MAP_READ, done);
    else if (run->previous)
      gemmcl_context_wait (self->lane->context, done);
    leave_event (self, turn, run, done);
    /* An output in host memory carries no event, so it must be complete before it is pushed. */
    ok = turns->d[0].kind != GEMMCL_DATA_HOST || gst_gemmcl_run_finish (self, turn, error);
  }
  gst_gemmcl_mapping_clear (&mapping);
  return ok;
}

gboolean
gst_gemmcl_run_submit (GstGemmcl *self, GstGemmclTurn *turn, GError **error)
{
  GstGemmclTurns *turns = self->turns;
  GemmclRun run = GEMMCL_RUN_INIT;
  gboolean ok;

  if (!self->lane->plan)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_BUILD,
                            "The device has no plan: the last one could not be made.");
  run.m = gst_gemmcl_get_m (self);
  if (run.m != turns->last_m)
    gst_gemmcl_runs_forget (self);
  turns->last_m = run.m;
  run.batch = turn->n;
  run.alpha = self->scalars.alpha;
  run.beta = self->scalars.beta;
  run.progressive = self->scalars.progressive;
  run.a = turns->a;
  run.d = turns->d;
  run.row_outputs = self->problem.gemm.row_outputs != 0 ? turns->d + turn->n : NULL;
  ok = open_buffers (self, turn, &run, error) && submit_open (self, turn, &run, error);
  for (guint i = 0; i < 2 * turn->n; i++)
    gst_gemmcl_mapping_clear (&turns->mapped[i]);
  for (guint i = 0; !ok && i < turn->n; i++)
    gst_gemmcl_mapping_clear (&turn->inflight->mappings[i]);
  if (ok)
    note_run (self, &run, turn);
  else if (g_error_matches (*error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL))
    leave_queues (self, self->lane);
  return ok;
}
