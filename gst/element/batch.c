/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/batch.h"

#include "element/element.h"
#include "element/meta.h"
#include "memory/allocator.h"

/* Returns: run @i, counted from the oldest in flight; run n is being collected. */
static GstGemmclRun *
get_run (GstGemmclRuns *self, guint i)
{
  return &self->ring[(self->first + i) % self->size];
}

void
gst_gemmcl_runs_start (GstGemmcl *self)
{
  GstGemmclRuns *runs = g_new0 (GstGemmclRuns, 1);

  runs->size = self->stream.settings.queue_depth * self->n_devices + 1;
  runs->ring = g_new0 (GstGemmclRun, runs->size);
  for (guint i = 0; i < runs->size; i++)
    gst_gemmcl_run_init (&runs->ring[i], self, self->stream.settings.batch_size);
  runs->last.untimed = G_MAXUINT;
  runs->last.feedback =
      gst_gemmcl_get_properties (self).factors.beta != 0.0 && !self->operands.current.addend;
  self->runs = runs;
}

/* Drops the buffers and events of @run. Sticky events stay on the pad, which sends them before the
 * next buffer: upstream would not send them again. */
static void
drop_run (GstGemmcl *self, GstGemmclRun *run)
{
  for (guint i = 0; i < run->items->len; i++) {
    gpointer item = g_ptr_array_index (run->items, i);

    if (GST_IS_EVENT (item) && GST_EVENT_IS_STICKY (item))
      gst_pad_store_sticky_event (GST_BASE_TRANSFORM_SRC_PAD (self), item);
  }
  gst_gemmcl_run_empty (run);
}

/* Waits for all runs and drops their outputs. */
static void
drop_runs (GstGemmcl *self, GError **error)
{
  GstGemmclRuns *runs = self->runs;

  for (; runs->n > 0; runs->n--) {
    GstGemmclRun *run = get_run (runs, 0);

    gst_gemmcl_run_finish (run, error);
    drop_run (self, run);
    runs->first = (runs->first + 1) % runs->size;
  }
}

static void
stop_timer (GstGemmclRuns *self)
{
  if (self->timer)
    gst_clock_id_unschedule (self->timer);
  g_clear_pointer (&self->timer, gst_clock_id_unref);
}

void
gst_gemmcl_runs_flush (GstGemmcl *self)
{
  GstGemmclRuns *runs = self->runs;
  g_autoptr (GError) error = NULL;

  drop_runs (self, &error);
  drop_run (self, get_run (runs, 0));
  gst_gemmcl_results_finish (self);
  stop_timer (runs);
  runs->discont = FALSE;
  runs->flow = GST_FLOW_OK;
  if (error && self->n_devices == 1)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
}

void
gst_gemmcl_runs_stop (GstGemmcl *self)
{
  GstGemmclRuns *runs = self->runs;

  gst_gemmcl_runs_flush (self);
  for (guint i = 0; i < runs->size; i++)
    gst_gemmcl_run_clear (&runs->ring[i]);
  gst_clear_buffer (&runs->last.output);
  g_free (runs->ring);
  g_clear_pointer (&self->runs, g_free);
}

/* Pushes the output of @input, one of @run, whose buffer is *@item. With output=meta, pushes *@item
 * with the output attached, and leaves the output in its place. */
static GstFlowReturn
push_output (GstBaseTransform *trans, const GstGemmclRun *run, gpointer *item,
             GstGemmclInput *input, GstFlowReturn flow)
{
  GstSegment *segment = &trans->segment;
  GstBuffer *output = g_steal_pointer (&input->output), *pushed = output;

  if (flow != GST_FLOW_OK) {
    gst_clear_buffer (&output);
    return flow;
  }
  if (gst_gemmcl_output_is_meta (&run->stream->settings)) {
    pushed = gst_gemmcl_meta_attach (run, input, *item, output);
    *item = output;
  }
  gst_gemmcl_results_add (GST_GEMMCL (trans), run, output, pushed);
  /* For position queries, which the base class answers. */
  if (segment->format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (pushed))
    segment->position = GST_BUFFER_PTS (pushed) +
                        (GST_BUFFER_DURATION_IS_VALID (pushed) ? GST_BUFFER_DURATION (pushed) : 0);
  return gst_pad_push (trans->srcpad, pushed);
}

/* Pushes the outputs and the events between them, and empties the run. If @flow is not OK, or a
 * push fails, drops the outputs from then on. Returns: the first flow that is not OK. */
static GstFlowReturn
push_run (GstBaseTransform *trans, GstGemmclRun *run, GstFlowReturn flow)
{
  for (guint i = 0, n = 0; i < run->items->len; i++) {
    gpointer *item = &g_ptr_array_index (run->items, i);

    if (GST_IS_EVENT (*item))
      gst_pad_push_event (trans->srcpad, gst_event_ref (*item));
    else
      flow = push_output (trans, run, item, &run->inputs[n++], flow);
  }
  gst_gemmcl_run_empty (run);
  return flow;
}

/* Returns: the device with the fewest runs in flight; among equals the one after the last run's. */
static GstGemmclDevice *
choose_device (GstGemmclRuns *self, GstGemmclDevice *devices, guint n)
{
  guint busy[GST_GEMMCL_MAX_DEVICES] = {0}, best = G_MAXUINT;
  GstGemmclDevice *chosen = devices;

  for (guint i = 0; i < self->n; i++) {
    const GstGemmclRun *run = get_run (self, i);

    busy[run->device - devices] += gst_gemmcl_inflight_is_busy (run->inflight);
  }
  for (guint i = 0; i < n; i++) {
    const guint at = (self->next + i) % n;

    if (!devices[at].failed && busy[at] < best) {
      best = busy[at];
      chosen = &devices[at];
    }
  }
  self->next = (guint)(chosen - devices + 1) % n;
  return chosen;
}

/* TRUE if @error may come from the device, so that another one may succeed. */
static gboolean
is_of_device (const GError *error)
{
  return g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL) ||
         g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD) ||
         g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE);
}

/* Binds @run to @device, makes outputs in its memory and submits it; else with another device. */
static GstFlowReturn
begin (GstGemmcl *self, GstGemmclRun *run, GstGemmclDevice *device, GError **error)
{
  GstFlowReturn flow;

  do {
    flow = GST_FLOW_OK;
    run->device = device;
    run->n_held = 0;
    for (guint i = 0; flow == GST_FLOW_OK && i < run->n; i++) {
      gst_clear_buffer (&run->inputs[i].output);
      flow = gst_gemmcl_output_prepare (self, run, &run->inputs[i], error);
    }
    if (flow == GST_FLOW_OK &&
        !gst_gemmcl_format_is_empty (&run->stream->input, run->inputs[0].buffer) &&
        !gst_gemmcl_run_submit (run, self->n_devices == 1 ? &self->runs->last : NULL, error))
      flow = GST_FLOW_ERROR;
  } while (flow == GST_FLOW_ERROR && is_of_device (*error) &&
           (device = gst_gemmcl_devices_drop (self, device, error)));
  return flow;
}

/* Waits until the host can read the outputs. A map shows if the copy from the device failed. */
static gboolean
wait_for (GstGemmclRun *run, GError **error)
{
  GstMapInfo map;

  if (!gst_gemmcl_run_finish (run, error))
    return FALSE;
  for (guint i = 0; i < run->n; i++)
    for (guint j = 0; j < gst_buffer_n_memory (run->inputs[i].output); j++) {
      GstMemory *memory = gst_buffer_peek_memory (run->inputs[i].output, j);

      if (!gst_is_gemmcl_memory (memory))
        continue;
      if (!gst_memory_map (memory, &map, GST_MAP_READ))
        return gst_gemmcl_fail (error, GEMMCL_ERROR_OPENCL,
                                "An output cannot be copied from the device.");
      gst_memory_unmap (memory, &map);
    }
  return TRUE;
}

/* Waits for the first run and pushes its outputs. If the run fails, other devices do it again. */
static GstFlowReturn
push_first (GstGemmcl *self)
{
  GstGemmclRuns *runs = self->runs;
  GstGemmclRun *run = get_run (runs, 0);
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && !wait_for (run, &error)) {
    GstGemmclDevice *other = gst_gemmcl_devices_drop (self, run->device, &error);

    gst_gemmcl_stats_undo_run (run->stats, run->device, run->n);
    flow = other ? begin (self, run, other, &error) : GST_FLOW_ERROR;
  }
  if (error)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  runs->first = (runs->first + 1) % runs->size;
  runs->n--;
  return push_run (GST_BASE_TRANSFORM (self), run, flow);
}

/* Returns: the number of buffers of @input's pool that the element may hold: one less than the
 * pool's maximum. */
static guint
get_limit (GstBuffer *input)
{
  GstStructure *config;
  guint max = 0;

  if (input->pool) {
    config = gst_buffer_pool_get_config (input->pool);
    gst_buffer_pool_config_get_params (config, NULL, NULL, NULL, &max);
    gst_structure_free (config);
  }
  return max > 0 ? max - 1 : G_MAXUINT;
}

/* Returns: the inputs that @next and runs in flight hold. Releases those of complete runs. */
static guint64
count_held (GstGemmclRuns *self, const GstGemmclRun *next)
{
  guint64 held = next->n;

  for (guint i = 0; i < self->n; i++) {
    const GstGemmclRun *run = get_run (self, i);
    const gboolean busy = gst_gemmcl_inflight_is_busy (run->inflight);

    if (!busy)
      gst_gemmcl_inflight_release (run->inflight);
    held += busy ? MAX (run->n, run->n_held) : run->n;
  }
  return held;
}

/* TRUE if a run is left for a batch after @next, and the inputs held do not exhaust their pool. */
static gboolean
can_submit (GstGemmclRuns *self, const GstGemmclRun *next)
{
  guint64 held;

  if (self->n == self->size - 1)
    return FALSE;
  held = count_held (self, next);
  return held <= 1 || held <= get_limit (next->inputs[0].buffer);
}

/* Pushes the outputs of complete runs, in order. With @waits, waits for all runs; otherwise only
 * until @next, (nullable), can be submitted. */
static GstFlowReturn
push_some (GstGemmcl *self, const GstGemmclRun *next, gboolean waits)
{
  GstGemmclRuns *runs = self->runs;
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && runs->n > 0 &&
         (waits || !gst_gemmcl_inflight_is_busy (get_run (runs, 0)->inflight) ||
          (next && !can_submit (runs, next))))
    flow = push_first (self);
  if (flow != GST_FLOW_OK)
    drop_runs (self, NULL);
  return flow;
}

GstFlowReturn
gst_gemmcl_runs_finish (GstGemmcl *self)
{
  return self->runs ? push_some (self, NULL, TRUE) : GST_FLOW_OK;
}

GstFlowReturn
gst_gemmcl_runs_push_held (GstGemmcl *self)
{
  return self->n_devices > 1 ? gst_gemmcl_runs_finish (self) : GST_FLOW_OK;
}

/* Keeps @flow, of a push in another thread, for the next buffer. */
static void
keep_flow (GstGemmcl *self, GstFlowReturn flow)
{
  if (flow == GST_FLOW_OK)
    return;
  self->runs->flow = flow;
  self->runs->unlinked =
      flow == GST_FLOW_NOT_LINKED && !gst_pad_is_linked (GST_BASE_TRANSFORM_SRC_PAD (self));
}

/* Pushes each output as soon as it is complete, in case no input follows. Runs in a thread of
 * GStreamer's pool until no output is left. */
static void
push_late (GstElement *element, gpointer data G_GNUC_UNUSED)
{
  GstGemmcl *self = GST_GEMMCL (element);
  GstPad *pad = GST_BASE_TRANSFORM (self)->sinkpad;
  GstGemmclInflight *first;

  do {
    first = NULL;
    GST_PAD_STREAM_LOCK (pad);
    if (self->runs) {
      if (!GST_PAD_IS_FLUSHING (pad))
        keep_flow (self, push_some (self, NULL, FALSE));
      if (self->runs->n > 0 && !GST_PAD_IS_FLUSHING (pad))
        first = g_atomic_rc_box_acquire (get_run (self->runs, 0)->inflight);
      self->runs->is_late = first != NULL;
    }
    GST_PAD_STREAM_UNLOCK (pad);
    if (first) {
      gst_gemmcl_inflight_wait (first);
      gst_gemmcl_inflight_unref (first);
    }
  } while (first);
}

GstFlowReturn
gst_gemmcl_batch_end (GstGemmcl *self)
{
  GstGemmclRuns *runs = self->runs;
  GstGemmclRun *run = get_run (runs, runs->n);
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK, rest = GST_FLOW_OK;
  gboolean waits, is_last; /* is_last: upstream's pool has no other buffer */

  stop_timer (runs);
  if (run->n == 0)
    return GST_FLOW_OK;
  /* An empty buffer has no run, but with several devices it waits for the outputs before it. */
  waits = self->n_devices > 1 ||
          !gst_gemmcl_format_is_empty (&run->stream->input, run->inputs[0].buffer);
  if (waits)
    flow = push_some (self, run, FALSE);
  if (flow != GST_FLOW_OK)
    return push_run (GST_BASE_TRANSFORM (self), run, flow);
  flow = begin (self, run, choose_device (runs, self->devices, self->n_devices), &error);
  if (flow != GST_FLOW_OK) {
    gst_gemmcl_runs_push_held (self);
    if (error)
      gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return push_run (GST_BASE_TRANSFORM (self), run, flow);
  }
  /* With one device a run that has ended needs no place among those in flight. */
  runs->n += waits && (self->n_devices > 1 || run->inflight->done);
  if (self->n_devices == 1) {
    is_last = runs->n > 0 && get_limit (run->inputs[0].buffer) == 0;
    flow = push_run (GST_BASE_TRANSFORM (self), run, GST_FLOW_OK);
    if (is_last)
      rest = gst_gemmcl_runs_finish (self);
    return flow == GST_FLOW_OK ? rest : flow;
  }
  if (!runs->is_late)
    gst_element_call_async (GST_ELEMENT (self), push_late, NULL, NULL);
  runs->is_late = TRUE;
  return GST_FLOW_OK;
}

/* Ends the batch after its timeout, in a thread of GStreamer's pool. By then a later batch may have
 * begun, or the element may have stopped. */
static void
end_late (GstElement *element, gpointer data G_GNUC_UNUSED)
{
  GstGemmcl *self = GST_GEMMCL (element);
  GstPad *pad = GST_BASE_TRANSFORM (self)->sinkpad;
  g_autoptr (GstClock) clock = gst_system_clock_obtain ();
  GstClockID timer;

  GST_PAD_STREAM_LOCK (pad);
  timer = self->runs ? self->runs->timer : NULL;
  if (timer && gst_clock_get_time (clock) >= gst_clock_id_get_time (timer) &&
      !GST_PAD_IS_FLUSHING (pad)) {
    GST_LOG_OBJECT (self, "a batch of at most %u buffers ends at its timeout",
                    self->stream.settings.batch_size);
    keep_flow (self, gst_gemmcl_batch_end (self));
  }
  GST_PAD_STREAM_UNLOCK (pad);
}

/* Runs in the clock's thread, which must not wait. */
static gboolean
on_timeout (GstClock *clock G_GNUC_UNUSED, GstClockTime time G_GNUC_UNUSED,
            GstClockID id G_GNUC_UNUSED, gpointer data)
{
  gst_element_call_async (GST_ELEMENT (data), end_late, NULL, NULL);
  return TRUE;
}

static void
start_timer (GstGemmcl *self)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  g_autoptr (GstClock) clock = gst_system_clock_obtain ();
  const GstClockTime timeout =
      settings->batch_timeout < 0
          ? gst_gemmcl_stream_get_duration (&self->stream, settings->batch_size)
          : (GstClockTime)settings->batch_timeout;

  if (timeout == 0)
    return;
  self->runs->timer = gst_clock_new_single_shot_id (clock, gst_clock_get_time (clock) + timeout);
  gst_clock_id_wait_async (self->runs->timer, on_timeout, gst_object_ref (self), gst_object_unref);
}

/* Raises frame_duration to that of a buffer: caps may state none. FALSE if nothing changed. */
static gboolean
raise_duration (GstGemmcl *self, GstClockTime duration)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  GstClockTime *known = &self->stream.frame_duration;

  if (!GST_CLOCK_TIME_IS_VALID (duration) || duration <= *known)
    return FALSE;
  *known = duration;
  return TRUE;
}

gboolean
gst_gemmcl_batch_accepts (GstGemmclRuns *self, GstBuffer *buffer, const GstGemmclInput *input,
                          const GstGemmclFactors *factors)
{
  const GstGemmclRun *run = get_run (self, self->n);

  return run->n == 0 ||
         (gst_buffer_get_size (buffer) == gst_buffer_get_size (run->inputs[0].buffer) &&
          input->m == run->inputs[0].m && input->progressive == run->inputs[0].progressive &&
          factors->alpha == run->factors.alpha &&
          (!factors->has_beta || factors->beta == run->factors.beta));
}

GstFlowReturn
gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input,
                      const GstGemmclFactors *factors)
{
  GstGemmclRuns *runs = self->runs;
  GstGemmclRun *run = get_run (runs, runs->n);
  const guint batch_size = self->stream.settings.batch_size;
  const guint limit = batch_size > 1 ? get_limit (buffer) : 1;

  if (batch_size > 1 && raise_duration (self, GST_BUFFER_DURATION (buffer)))
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  if (runs->discont) {
    buffer = gst_gemmcl_meta_make_writable (buffer);
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    runs->discont = FALSE;
  }
  if (run->n == 0)
    run->labels = gst_gemmcl_results_get_labels (self);
  run->factors = *factors;
  run->inputs[run->n] = *input;
  run->inputs[run->n++].buffer = buffer;
  input->data = NULL;
  g_ptr_array_add (run->items, buffer);
  if (run->n >= MIN (batch_size, limit) || count_held (runs, run) > limit)
    return gst_gemmcl_batch_end (self);
  if (run->n == 1)
    start_timer (self);
  return GST_FLOW_OK;
}

gboolean
gst_gemmcl_batch_take_event (GstGemmclRuns *self, GstEvent *event)
{
  GstGemmclRun *run;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_STREAM_START:
  case GST_EVENT_CAPS:
  case GST_EVENT_SEGMENT:
  case GST_EVENT_SEGMENT_DONE:
  case GST_EVENT_STREAM_GROUP_DONE:
  case GST_EVENT_EOS:
  case GST_EVENT_FLUSH_STOP:
    return FALSE;
  default:
    /* An event that is not serialized comes without the stream lock, which guards the batch. */
    if (!GST_EVENT_IS_SERIALIZED (event))
      return FALSE;
    run = get_run (self, self->n);
    if (run->n > 0)
      g_ptr_array_add (run->items, event);
    return run->n > 0;
  }
}
