/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/run.h"

#include "element/element.h"
#include "memory/imports.h"
#include "memory/memory.h"
#include "memory/queues.h"
#include "memory/va.h"

/* Only one run in TIMED uses the profiling queue where profiling slows a run down. */
#define TIMED 16

void
gst_gemmcl_run_init (GstGemmclRun *self, GstGemmcl *element, guint batch)
{
  *self = (GstGemmclRun){
      .stream = &element->stream,
      .problem = &element->problem,
      .sharing = &element->sharing,
      .stats = &element->stats,
      .items = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_mini_object_unref),
      .inputs = g_new0 (GstGemmclInput, batch),
      .a = g_new0 (GemmclData, batch),
      .d = g_new0 (GemmclData, 2 * batch),
      .mapped = g_new0 (GstGemmclMapping, 2 * batch),
      .wait = g_new0 (cl_event, (3 * batch + 1) * GST_GEMMCL_MAX_EVENTS + 1),
      .inflight = gst_gemmcl_inflight_new (batch),
  };
}

void
gst_gemmcl_run_empty (GstGemmclRun *self)
{
  for (guint i = 0; i < self->n; i++)
    gst_gemmcl_input_clear (&self->inputs[i]);
  g_ptr_array_set_size (self->items, 0);
  g_clear_pointer (&self->labels, g_ptr_array_unref);
  self->n = 0;
}

void
gst_gemmcl_run_clear (GstGemmclRun *self)
{
  gst_gemmcl_run_empty (self);
  g_ptr_array_unref (self->items);
  g_free (self->inputs);
  g_free (self->a);
  g_free (self->d);
  g_free (self->mapped);
  g_free (self->wait);
  gst_gemmcl_inflight_unref (self->inflight);
}

static void
add_time (const GstGemmclRun *self, GstClockTime time)
{
  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_gemmcl_stats_add_time (self->stats, time);
}

gboolean
gst_gemmcl_run_finish (GstGemmclRun *self, GError **error)
{
  GstClockTime time;
  const cl_int status = gst_gemmcl_inflight_finish (self->inflight, &time);

  add_time (self, time);
  if (status == CL_SUCCESS)
    return TRUE;
  /* The library replaces its own queue. */
  gst_gemmcl_queues_leave (self->device->allocator, NULL);
  if (error && !*error)
    gst_gemmcl_fail (
        error, GEMMCL_ERROR_OPENCL,
        "A run on %s failed with OpenCL error %d after it was submitted; its output cannot be "
        "mapped.",
        gemmcl_context_get_device_info (self->device->context)->name, status);
  return FALSE;
}

void
gst_gemmcl_run_reset_previous (GstGemmclLastRun *last, GemmclPlan *plan)
{
  if (plan)
    gemmcl_plan_reset_previous (plan);
  gst_clear_buffer (&last->output);
}

gboolean
gst_gemmcl_run_wants_feedback (GstGemmcl *self)
{
  g_autoptr (GstControlBinding) binding = NULL;
  gboolean *feedback = &self->runs->last.feedback;

  if (self->stream.settings.batch_size > 1 || self->n_devices > 1 ||
      gst_gemmcl_output_omits_d (&self->stream.settings))
    return FALSE;
  if (!*feedback)
    binding = gst_object_get_control_binding (GST_OBJECT (self), "beta");
  *feedback |= binding != NULL;
  return *feedback;
}

/* Returns: the frame of @input. Progressive frames of a stream that has interlaced frames, too, may
 * lack the last row of chroma. */
static GemmclFrame
get_frame (const GstGemmclRun *run, const GstGemmclInput *input)
{
  GemmclFrame frame = run->problem->a_frame;

  frame.interlaced = frame.interlaced && !input->progressive;
  return frame;
}

/* Finds the @n memories of @buffer that hold @size bytes from byte @at. @skip: (out): the place of
 * that byte in memory @first. gst_buffer_find_memory() counts only up to 4 GiB. */
static gboolean
find_memories (GstBuffer *buffer, gsize at, gsize size, guint *first, guint *n, gsize *skip)
{
  const guint count = gst_buffer_n_memory (buffer);
  gsize end = 0;

  for (*first = 0; *first < count; ++*first) {
    end = gst_memory_get_sizes (gst_buffer_peek_memory (buffer, *first), NULL, NULL);
    if (at < end)
      break;
    at -= end;
  }
  *skip = at;
  for (*n = 1; *first + *n < count && end - at < size; ++*n)
    end += gst_memory_get_sizes (gst_buffer_peek_memory (buffer, *first + *n), NULL, NULL);
  return *first < count && end - at >= size;
}

/* Maps A in OpenCL memory or on the host. OpenCL memory of the same context may come with any caps:
 * elements between pass it on. */
static gboolean
map_input (const GstGemmclRun *run, const GstGemmclInput *input, GstGemmclMapping *mapping,
           GemmclData *data, GError **error)
{
  const GstGemmclFormat *format = &run->stream->input;
  GemmclContext *context = run->device->context;
  GstBuffer *buffer = input->data ? input->data : input->buffer;
  const GemmclFrame frame = get_frame (run, input);
  guint first = 0, n = 0;
  gsize skip = 0;
  GstMemory *memory;

  if (format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    return gst_gemmcl_mapping_open_frame (mapping, context, &frame, &format->video, buffer,
                                          GST_MAP_READ, data, error);
  if (!find_memories (buffer, input->offset, input->size, &first, &n, &skip))
    return gst_gemmcl_fail (error, GEMMCL_ERROR_FORMAT,
                            "A buffer has %zu bytes, but had at least %zu when it arrived. "
                            "Expected elements that do not shorten a buffer after they push it.",
                            gst_buffer_get_size (buffer), input->offset + input->size);
  memory = gst_buffer_get_memory_range (buffer, first, (gint)n);
  if (!gst_gemmcl_mapping_open_memory (mapping, context, memory, skip, GST_MAP_READ,
                                       gemmcl_type_get_size (run->problem->gemm.a_type), data,
                                       error))
    return FALSE;
  if (mapping->memory != memory)
    gst_gemmcl_copies_add (run->stats, GST_GEMMCL_COPY_ALIGNED);
  if (n > 1)
    gst_gemmcl_copies_add (run->stats, GST_GEMMCL_COPY_MERGED);
  return TRUE;
}

/* TRUE if caps of @kind name surfaces, or @buffer is a dma-buf with one that OpenCL shares. */
static gboolean
prefers_surface (GstGemmclMemoryKind kind, const GemmclFrame *frame, GstBuffer *buffer)
{
  return gst_gemmcl_memory_is_surface (kind) ||
         (kind == GST_GEMMCL_MEMORY_DMABUF && gst_gemmcl_va_has_surface (buffer) &&
          gemmcl_pixel_format_get_n_planes (frame->format) == 2 &&
          (frame->width | frame->height) % 2 == 0);
}

/* TRUE if @buffer has to be read as a VA surface, whose layout only the media driver knows. A
 * dma-buf that cannot be mapped can only be read as a surface. */
static gboolean
is_surface (GstGemmclSharing *sharing, GstGemmclMemoryKind kind, const GemmclFrame *frame,
            GstBuffer *buffer)
{
  if (kind != GST_GEMMCL_MEMORY_DMABUF)
    return prefers_surface (kind, frame, buffer);
  return gst_gemmcl_dmabuf_is_shared (buffer) ||
         (prefers_surface (kind, frame, buffer) && gst_gemmcl_va_is_shared (sharing, buffer));
}

/* Opens A in input @i: as a surface or dma-buf, if caps promise one; in OpenCL memory of the same
 * context, if the library can read its layout; otherwise on the host. */
static gboolean
open_input (GstGemmclRun *run, guint i, GError **error)
{
  const GstGemmclFormat *format = &run->stream->input;
  const GstGemmclInput *input = &run->inputs[i];
  const GemmclFrame frame = get_frame (run, input);

  if (is_surface (run->sharing, format->memory, &frame, input->buffer))
    return gst_gemmcl_va_open (run->sharing, input->buffer, &run->a[i], &run->call, error);
  return (format->memory == GST_GEMMCL_MEMORY_DMABUF &&
          gst_gemmcl_dmabuf_open (run->sharing, &frame, &format->video, input->buffer, &run->a[i],
                                  &run->call)) ||
         map_input (run, input, &run->inflight->mappings[i], &run->a[i], error);
}

gboolean
gst_gemmcl_run_check_input (GstGemmcl *self, GstBuffer *buffer, gboolean *needs_context,
                            GError **error)
{
  const GstGemmclMemoryKind kind = self->stream.input.memory;
  const GemmclFrame *frame = &self->problem.a_frame;
  g_autoptr (GstCaps) caps = NULL;
  g_autofree gchar *text = NULL;
  const guint n = gst_buffer_n_memory (buffer);
  const GstAllocator *allocator = n > 0 ? gst_buffer_peek_memory (buffer, 0)->allocator : NULL;
  const gboolean has_surface =
      kind != GST_GEMMCL_MEMORY_SYSTEM && gst_gemmcl_va_has_surface (buffer);

  *needs_context = has_surface && prefers_surface (kind, frame, buffer) &&
                   gst_gemmcl_va_needs_context (&self->sharing, buffer);
  if (has_surface || !is_surface (&self->sharing, kind, frame, buffer))
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

/* Maps D, or row outputs in its place, in @buffer, an output. @access: GST_MAP_READ, or
 * GST_MAP_WRITE if @buffer is writable. */
static gboolean
map_output (const GstGemmclRun *run, GstGemmclMapping *mapping, GstBuffer *buffer,
            GstMapFlags access, GemmclData *data, GError **error)
{
  const GstGemmclProblem *problem = run->problem;
  const GstGemmclFormat *format = &run->stream->output;
  GemmclContext *context = run->device->context;

  if (format->medium == GST_GEMMCL_MEDIUM_VIDEO)
    return gst_gemmcl_mapping_open_frame (mapping, context, &problem->d_frame, &format->video,
                                          buffer, access, data, error);
  return gst_gemmcl_mapping_open_memory (mapping, context,
                                         gst_buffer_get_memory (buffer, format->index),
                                         gst_gemmcl_stream_get_header_size (run->stream), access,
                                         gemmcl_type_get_size (problem->gemm.d_type), data, error);
}

static gboolean
open_buffers (GstGemmclRun *run, GError **error)
{
  const guint n = run->n;

  for (guint i = 0; i < n; i++) {
    GstBuffer *output = run->inputs[i].output;

    if (!open_input (run, i, error) ||
        !map_output (run, &run->mapped[i], output, GST_MAP_WRITE, &run->d[i], error) ||
        (run->call.d && run->call.row_outputs &&
         !gst_gemmcl_mapping_open_memory (&run->mapped[n + i], run->device->context,
                                          gst_gemmcl_output_get_rows (run, output),
                                          gst_gemmcl_stream_get_header_size (run->stream),
                                          GST_MAP_WRITE, sizeof (gfloat), &run->d[n + i], error)))
      return FALSE;
  }
  return TRUE;
}

/* Returns: the number of elements of the array d that are used. */
static guint
count_places (const GstGemmclRun *run)
{
  return run->call.d && run->call.row_outputs ? 2 * run->n : run->n;
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
choose_queue (const GstGemmclRun *run, const GstGemmclLastRun *last)
{
  GstMemory *output = run->mapped[0].memory;

  if (!has_events (&run->d[0]) || !gst_is_gemmcl_memory (output) || last->untimed >= TIMED - 1)
    return NULL;
  for (guint i = 0; i < run->n; i++)
    if (run->a[i].kind == GEMMCL_DATA_HOST)
      return NULL;
  return g_atomic_pointer_get (&GST_GEMMCL_ALLOCATOR (output->allocator)->kernels);
}

/* Collects the events that @run waits for: those of its memories and, if the last run was in
 * another queue, that run's. @previous: (nullable): the memory of the previous output. */
static void
collect_events (GstGemmclRun *run, const GstGemmclLastRun *last, GstMemory *previous)
{
  cl_event *wait = run->wait, done = NULL;

  if (previous)
    wait += gst_gemmcl_memory_get_events (previous, GST_MAP_READ, wait);
  for (guint i = 0; i < run->n; i++)
    if (has_events (&run->a[i]))
      wait += gst_gemmcl_memory_get_events (run->inflight->mappings[i].memory, GST_MAP_READ, wait);
  for (guint i = 0; i < count_places (run); i++)
    if (has_events (&run->d[i]))
      wait += gst_gemmcl_memory_get_events (run->mapped[i].memory, GST_MAP_WRITE, wait);
  if (last && last->inflight && run->call.queue != last->queue)
    done = gst_gemmcl_inflight_get_event (last->inflight);
  if (done)
    *wait++ = done;
  run->call.wait = run->wait;
  run->call.n_wait = wait - run->wait;
}

/* TRUE if a CPU ended the run of @done while it was submitted, as PoCL's inline device does: then
 * the host and later commands see its results without waiting. */
static gboolean
has_ended (const GstGemmclRun *run, cl_event done)
{
  cl_int status;

  return gemmcl_context_get_device_info (run->device->context)->type == GEMMCL_DEVICE_TYPE_CPU &&
         gst_gemmcl_event_ask (done, &status) && status == CL_COMPLETE;
}

/* Takes @done, the event of @run, which has ended: no later command waits for it. */
static void
end_at_once (GstGemmclRun *run, cl_event done)
{
  for (guint i = 0; i < run->n; i++)
    gst_gemmcl_mapping_clear (&run->inflight->mappings[i]);
  for (guint i = 0; i < count_places (run); i++)
    if (has_events (&run->d[i]))
      gst_gemmcl_memory_add_event (run->mapped[i].memory, GST_MAP_WRITE, NULL);
  add_time (run, gst_gemmcl_event_get_time (done));
  clReleaseEvent (done);
}

/* Takes @done, the event of @run, and adds it to each OpenCL memory. Other inputs are held. */
static void
leave_event (GstGemmclRun *run, cl_event done)
{
  for (guint i = 0; i < run->n; i++) {
    GstGemmclMapping *mapping = &run->inflight->mappings[i];

    if (has_events (&run->a[i])) {
      gst_gemmcl_memory_add_event (mapping->memory, GST_MAP_READ, done);
      gst_gemmcl_mapping_clear (mapping);
    } else {
      mapping->held = gst_buffer_ref (run->inputs[i].buffer);
      run->n_held++;
    }
  }
  gst_gemmcl_inflight_begin (run->inflight, run->n, run->device->context, done);
  for (guint i = 0; i < count_places (run); i++) {
    GstMemory *memory = run->mapped[i].memory;

    if (!has_events (&run->d[i]))
      continue;
    gst_gemmcl_memory_add_event (memory, GST_MAP_WRITE, done);
    if (gst_is_gemmcl_memory (memory))
      gst_gemmcl_memory_set_run (memory, run->inflight,
                                 run->stream->output.memory != GST_GEMMCL_MEMORY_OPENCL);
  }
}

/* Adds @run, which was submitted, to the stats, and logs its copies. */
static void
record_run (const GstGemmclRun *run)
{
  const gboolean is_mapped =
      run->stream->output.memory != GST_GEMMCL_MEMORY_OPENCL && run->d[0].kind != GEMMCL_DATA_HOST;
  const gsize size = gst_gemmcl_output_get_size (run->stream, run->problem, run->call.m);
  const GemmclData *a = &run->a[run->n - 1];
  const gchar *const buffer = a->acquired ? "DMABuf" : "OpenCL";
  const gchar *const kinds[] = {
      [GEMMCL_DATA_HOST] = "system", [GEMMCL_DATA_BUFFER] = buffer, [GEMMCL_DATA_IMAGES] = "VA"};

  gst_gemmcl_stats_add_run (run->stats, run->device, run->n, is_mapped ? run->n * size : 0,
                            kinds[a->kind]);
  gst_gemmcl_copies_log_run (run->stats, run->device, &run->call, run->inputs[0].buffer);
}

/* Submits @run, whose inputs and outputs are open. */
static gboolean
submit_open (GstGemmclRun *run, GstGemmclLastRun *last, GError **error)
{
  GstGemmclMapping mapping = {.memory = NULL};
  GemmclData previous = {.kind = GEMMCL_DATA_HOST};
  GemmclRun *call = &run->call;
  cl_event done = NULL;
  gboolean ok = TRUE;

  if (last && last->output && run->problem->gemm.addend == GEMMCL_ADDEND_PREVIOUS) {
    ok = map_output (run, &mapping, last->output, GST_MAP_READ, &previous, error);
    call->previous = &previous;
  }
  call->queue = last ? choose_queue (run, last) : NULL;
  collect_events (run, last, has_events (&previous) ? mapping.memory : NULL);
  ok = ok && gemmcl_plan_submit (run->device->plan, call, NULL, &done, error);
  gst_gemmcl_release_events (call->n_wait, call->wait);
  if (ok) {
    if (has_events (&previous))
      gst_gemmcl_memory_add_event (mapping.memory, GST_MAP_READ, done);
    else if (call->previous)
      gemmcl_context_wait (run->device->context, done);
    if (has_ended (run, done))
      end_at_once (run, done);
    else
      leave_event (run, done);
    /* An output in host memory carries no event, so it must be complete before it is pushed. */
    ok = run->d[0].kind != GEMMCL_DATA_HOST || gst_gemmcl_run_finish (run, error);
  }
  gst_gemmcl_mapping_clear (&mapping);
  return ok;
}

/* Makes @run, which was submitted, the last run. Its output is kept if beta may need it. */
static void
set_last (GstGemmclLastRun *last, const GstGemmclRun *run)
{
  const GemmclGemm *gemm = &run->problem->gemm;
  const gboolean may_add = run->stream->settings.batch_size == 1 &&
                           gemm->addend == GEMMCL_ADDEND_NONE && !gemm->omit_d && !last->limited;

  last->untimed = run->call.queue ? last->untimed + 1 : 0;
  last->queue = run->call.queue;
  last->inflight = run->inflight;
  gst_buffer_replace (&last->output, may_add ? run->inputs[0].output : NULL);
}

gboolean
gst_gemmcl_run_submit (GstGemmclRun *self, GstGemmclLastRun *last, GError **error)
{
  GemmclRun *call = &self->call;
  gboolean ok;

  if (!self->device->plan)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_BUILD,
                            "The device has no plan: the last one could not be made.");
  *call = (GemmclRun)GEMMCL_RUN_INIT;
  call->m = gst_gemmcl_run_get_m (self);
  call->batch = self->n;
  call->alpha = self->factors.alpha;
  call->beta = self->factors.beta;
  call->progressive = self->inputs[0].progressive;
  call->a = self->a;
  if (self->problem->gemm.omit_d)
    call->row_outputs = self->d;
  else
    call->d = self->d;
  if (call->d && self->problem->gemm.row_outputs != 0)
    call->row_outputs = self->d + self->n;
  if (last && call->m != last->m) {
    gst_gemmcl_run_reset_previous (last, self->device->plan);
    last->m = call->m;
  }
  ok = open_buffers (self, error) && submit_open (self, last, error);
  for (guint i = 0; i < count_places (self); i++)
    gst_gemmcl_mapping_clear (&self->mapped[i]);
  for (guint i = 0; !ok && i < self->n; i++)
    gst_gemmcl_mapping_clear (&self->inflight->mappings[i]);
  if (ok && last)
    set_last (last, self);
  if (ok)
    record_run (self);
  else if (g_error_matches (*error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL))
    gst_gemmcl_queues_leave (self->device->allocator, NULL);
  return ok;
}
