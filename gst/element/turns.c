/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Batches, the order of their runs on one or several devices, and the push of outputs.
 */
#include "element/lanes.h"
#include "element/run.h"
#include "element/stats.h"
#include "element/turns.h"

#include "memory/memory.h"

/* Returns: turn @i, counted from the oldest run in flight; turn n is being collected. */
static GstGemmclTurn *
get_turn (GstGemmclTurns *self, guint i)
{
  return &self->ring[(self->first + i) % self->size];
}

static void
empty (GstGemmclTurn *self)
{
  for (guint i = 0; i < self->n; i++) {
    gst_clear_buffer (&self->inputs[i].data);
    gst_clear_buffer (&self->inputs[i].output);
  }
  g_ptr_array_set_size (self->items, 0);
  self->n = 0;
}

void
gst_gemmcl_turns_start (GstGemmcl *self)
{
  const guint batch = self->stream.settings.batch_size;
  GstGemmclTurns *turns = g_new0 (GstGemmclTurns, 1);

  turns->size = self->stream.settings.queue_depth * self->n_lanes + 1;
  turns->ring = g_new0 (GstGemmclTurn, turns->size);
  for (guint i = 0; i < turns->size; i++)
    turns->ring[i] = (GstGemmclTurn){
        .items = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_mini_object_unref),
        .inputs = g_new0 (GstGemmclInput, batch),
        .inflight = gst_gemmcl_inflight_new (batch),
    };
  turns->a = g_new0 (GemmclData, batch);
  turns->d = g_new0 (GemmclData, 2 * batch);
  turns->mapped = g_new0 (GstGemmclMapping, 2 * batch);
  turns->wait = g_new0 (cl_event, (3 * batch + 1) * GST_GEMMCL_MAX_EVENTS + 1);
  turns->untimed = G_MAXUINT;
  self->turns = turns;
}

/* Waits for all runs and drops their outputs. */
static void
drop_runs (GstGemmcl *self, GError **error)
{
  GstGemmclTurns *turns = self->turns;

  for (; turns->n > 0; turns->n--) {
    GstGemmclTurn *turn = get_turn (turns, 0);

    gst_gemmcl_run_finish (self, turn, error);
    empty (turn);
    turns->first = (turns->first + 1) % turns->size;
  }
}

static void
stop_timer (GstGemmclTurns *self)
{
  if (self->timer)
    gst_clock_id_unschedule (self->timer);
  g_clear_pointer (&self->timer, gst_clock_id_unref);
}

void
gst_gemmcl_turns_flush (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;
  g_autoptr (GError) error = NULL;

  drop_runs (self, &error);
  empty (get_turn (turns, 0));
  gst_clear_buffer (&self->learned.input.data);
  stop_timer (turns);
  turns->discont = FALSE;
  turns->flow = GST_FLOW_OK;
  if (error && self->n_lanes == 1)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
}

GstFlowReturn
gst_gemmcl_turns_take_flow (GstGemmcl *self)
{
  const GstFlowReturn flow = self->turns->flow;

  self->turns->flow = GST_FLOW_OK;
  return flow;
}

void
gst_gemmcl_turns_note_drop (GstGemmcl *self)
{
  self->turns->discont = TRUE;
}

void
gst_gemmcl_turns_stop (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;

  gst_gemmcl_turns_flush (self);
  for (guint i = 0; i < turns->size; i++) {
    g_ptr_array_unref (turns->ring[i].items);
    g_free (turns->ring[i].inputs);
    gst_gemmcl_inflight_unref (turns->ring[i].inflight);
  }
  gst_clear_buffer (&turns->last);
  g_free (turns->ring);
  g_free (turns->a);
  g_free (turns->d);
  g_free (turns->mapped);
  g_free (turns->wait);
  g_clear_pointer (&self->turns, g_free);
}

/* Pushes the output of @input, whose buffer is *@item. With output=meta, pushes *@item with the
 * output attached, and leaves the output in its place. */
static GstFlowReturn
push_output (GstGemmcl *self, gpointer *item, GstGemmclInput *input, GstFlowReturn flow)
{
  GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  GstBuffer *output = g_steal_pointer (&input->output), *pushed = output;

  if (flow != GST_FLOW_OK) {
    gst_clear_buffer (&output);
    return flow;
  }
  if (gst_gemmcl_is_meta (self)) {
    pushed = gst_gemmcl_meta_attach (self, input, *item, output);
    *item = output;
  }
  /* For position queries, which the base class answers. */
  if (segment->format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (pushed))
    segment->position = GST_BUFFER_PTS (pushed) +
                        (GST_BUFFER_DURATION_IS_VALID (pushed) ? GST_BUFFER_DURATION (pushed) : 0);
  return gst_pad_push (GST_BASE_TRANSFORM (self)->srcpad, pushed);
}

/* Pushes the outputs and the events between them, and empties the turn. If @flow is not OK, or a
 * push fails, drops the outputs from then on. Returns: the first flow that is not OK. */
static GstFlowReturn
push_turn (GstGemmcl *self, GstGemmclTurn *turn, GstFlowReturn flow)
{
  for (guint i = 0, n = 0; i < turn->items->len; i++) {
    gpointer *item = &g_ptr_array_index (turn->items, i);

    if (GST_IS_EVENT (*item))
      gst_pad_push_event (GST_BASE_TRANSFORM (self)->srcpad, gst_event_ref (*item));
    else
      flow = push_output (self, item, &turn->inputs[n++], flow);
  }
  empty (turn);
  return flow;
}

/* Makes the device with the fewest runs in flight the current one. Among several such devices it
 * takes the next one in turn. */
static void
choose_lane (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;
  guint busy[GST_GEMMCL_MAX_DEVICES] = {0}, best = G_MAXUINT;

  for (guint i = 0; i < turns->n; i++) {
    const GstGemmclTurn *turn = get_turn (turns, i);

    busy[turn->lane - self->lanes] += gst_gemmcl_inflight_is_busy (turn->inflight);
  }
  for (guint i = 0; i < self->n_lanes; i++) {
    const guint at = (turns->next + i) % self->n_lanes;

    if (!self->lanes[at].failed && busy[at] < best) {
      best = busy[at];
      self->lane = &self->lanes[at];
    }
  }
  turns->next = (guint)(self->lane - self->lanes + 1) % self->n_lanes;
}

/* TRUE if @error may come from the device, so that another one may succeed; FALSE if from the
 * input. */
static gboolean
is_of_device (const GError *error)
{
  return g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL) ||
         g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD) ||
         g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE);
}

/* Makes outputs in memory of the current device and submits the run of @turn to it. If that fails,
 * tries other devices. */
static GstFlowReturn
begin (GstGemmcl *self, GstGemmclTurn *turn, GError **error)
{
  const GstGemmclScalars present = self->scalars;
  GstFlowReturn flow;

  self->scalars = turn->scalars;
  do {
    flow = GST_FLOW_OK;
    turn->n_held = 0;
    turn->lane = self->lane;
    for (guint i = 0; flow == GST_FLOW_OK && i < turn->n; i++) {
      gst_clear_buffer (&turn->inputs[i].output);
      flow = gst_gemmcl_prepare_output (self, &turn->inputs[i], error);
    }
    if (flow == GST_FLOW_OK && !gst_gemmcl_is_empty (self, turn->inputs[0].buffer) &&
        !gst_gemmcl_run_submit (self, turn, error))
      flow = GST_FLOW_ERROR;
  } while (flow == GST_FLOW_ERROR && is_of_device (*error) &&
           gst_gemmcl_lane_fail (self, self->lane, error));
  self->scalars = present;
  return flow;
}

/* Waits until the host can read the outputs. A map shows if the copy from the device failed. */
static gboolean
wait_for (GstGemmcl *self, GstGemmclTurn *turn, GError **error)
{
  GstMapInfo map;

  if (!gst_gemmcl_run_finish (self, turn, error))
    return FALSE;
  for (guint i = 0; i < turn->n; i++)
    for (guint j = 0; j < gst_buffer_n_memory (turn->inputs[i].output); j++) {
      GstMemory *memory = gst_buffer_peek_memory (turn->inputs[i].output, j);

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
  GstGemmclTurns *turns = self->turns;
  GstGemmclTurn *turn = get_turn (turns, 0);
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && !wait_for (self, turn, &error)) {
    gst_gemmcl_stats_undo_run (self, turn->lane, turn->n);
    flow = gst_gemmcl_lane_fail (self, turn->lane, &error) ? begin (self, turn, &error)
                                                           : GST_FLOW_ERROR;
  }
  if (error)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  turns->first = (turns->first + 1) % turns->size;
  turns->n--;
  return push_turn (self, turn, flow);
}

/* Returns: the number of buffers of @input's pool that the element may hold at once: one less than
 * the pool's maximum, and at least one. */
static guint
get_limit (GstGemmclTurns *self, GstBuffer *input)
{
  GstStructure *config;
  guint max = 0;

  if (input->pool == self->pool && self->limit > 0)
    return self->limit;
  self->pool = input->pool;
  if (input->pool) {
    config = gst_buffer_pool_get_config (input->pool);
    gst_buffer_pool_config_get_params (config, NULL, NULL, NULL, &max);
    gst_structure_free (config);
  }
  self->limit = max > 0 ? MAX (max, 2) - 1 : G_MAXUINT;
  return self->limit;
}

/* Returns: the number of inputs that @next and the runs in flight hold. Releases the inputs of
 * complete runs. */
static guint64
count_held (GstGemmclTurns *self, const GstGemmclTurn *next)
{
  guint64 held = next->n;

  for (guint i = 0; i < self->n; i++) {
    const GstGemmclTurn *turn = get_turn (self, i);
    const gboolean busy = gst_gemmcl_inflight_is_busy (turn->inflight);

    if (!busy)
      gst_gemmcl_inflight_release (turn->inflight);
    held += busy ? MAX (turn->n, turn->n_held) : turn->n;
  }
  return held;
}

/* TRUE if a turn is free for the run of @next, and its inputs do not exhaust their pool. */
static gboolean
has_room (GstGemmclTurns *self, const GstGemmclTurn *next)
{
  return self->n < self->size - 1 &&
         count_held (self, next) <= get_limit (self, next->inputs[0].buffer);
}

/* Pushes the outputs of complete runs, in order. Waits for runs that are not complete: for all of
 * them with @waits, otherwise until @next, (nullable), has room. */
static GstFlowReturn
push_some (GstGemmcl *self, const GstGemmclTurn *next, gboolean waits)
{
  GstGemmclTurns *turns = self->turns;
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && turns->n > 0 &&
         (waits || !gst_gemmcl_inflight_is_busy (get_turn (turns, 0)->inflight) ||
          (next && !has_room (turns, next))))
    flow = push_first (self);
  if (flow != GST_FLOW_OK)
    drop_runs (self, NULL);
  return flow;
}

GstFlowReturn
gst_gemmcl_turns_finish (GstGemmcl *self)
{
  return self->turns ? push_some (self, NULL, TRUE) : GST_FLOW_OK;
}

GstFlowReturn
gst_gemmcl_turns_push_held (GstGemmcl *self)
{
  return self->n_lanes > 1 ? gst_gemmcl_turns_finish (self) : GST_FLOW_OK;
}

/* Keeps @flow, of a push in another thread, for the next buffer. */
static void
keep_flow (GstGemmclTurns *self, GstFlowReturn flow)
{
  if (flow != GST_FLOW_OK)
    self->flow = flow;
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
    if (self->turns) {
      if (!GST_PAD_IS_FLUSHING (pad))
        keep_flow (self->turns, push_some (self, NULL, FALSE));
      if (self->turns->n > 0 && !GST_PAD_IS_FLUSHING (pad))
        first = g_atomic_rc_box_acquire (get_turn (self->turns, 0)->inflight);
      self->turns->is_late = first != NULL;
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
  GstGemmclTurns *turns = self->turns;
  GstGemmclTurn *turn = get_turn (turns, turns->n);
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;
  gboolean waits;

  stop_timer (turns);
  if (turn->n == 0)
    return GST_FLOW_OK;
  /* An empty buffer has no run, but with several devices it waits for the outputs before it. */
  waits = self->n_lanes > 1 || !gst_gemmcl_is_empty (self, turn->inputs[0].buffer);
  if (waits)
    flow = push_some (self, turn, FALSE);
  if (flow != GST_FLOW_OK)
    return push_turn (self, turn, flow);
  turn->scalars = self->scalars;
  choose_lane (self);
  flow = begin (self, turn, &error);
  if (flow != GST_FLOW_OK) {
    gst_gemmcl_turns_push_held (self);
    if (error)
      gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return push_turn (self, turn, flow);
  }
  turns->n += waits;
  if (self->n_lanes == 1)
    return push_turn (self, turn, GST_FLOW_OK);
  if (!turns->is_late)
    gst_element_call_async (GST_ELEMENT (self), push_late, NULL, NULL);
  turns->is_late = TRUE;
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
  timer = self->turns ? self->turns->timer : NULL;
  if (timer && gst_clock_get_time (clock) >= gst_clock_id_get_time (timer) &&
      !GST_PAD_IS_FLUSHING (pad)) {
    GST_LOG_OBJECT (self, "a batch of at most %u buffers ends at its timeout",
                    self->stream.settings.batch_size);
    keep_flow (self->turns, gst_gemmcl_batch_end (self));
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
  self->turns->timer = gst_clock_new_single_shot_id (clock, gst_clock_get_time (clock) + timeout);
  gst_clock_id_wait_async (self->turns->timer, on_timeout, gst_object_ref (self), gst_object_unref);
}

/* Raises frame_duration to that of a buffer: caps may state none. FALSE if nothing changed. */
static gboolean
learn_duration (GstGemmcl *self, GstClockTime duration)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  GstClockTime *known = &self->stream.frame_duration;

  if (!GST_CLOCK_TIME_IS_VALID (duration) || duration <= *known)
    return FALSE;
  *known = duration;
  return TRUE;
}

GstFlowReturn
gst_gemmcl_batch_add (GstGemmcl *self, GstBuffer *buffer)
{
  GstGemmclTurns *turns = self->turns;
  GstGemmclTurn *turn = get_turn (turns, turns->n);
  const guint batch_size = self->stream.settings.batch_size;
  GstFlowReturn flow = GST_FLOW_OK;
  guint limit;

  if (batch_size > 1 && learn_duration (self, GST_BUFFER_DURATION (buffer)))
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  if (turn->n > 0 && gst_buffer_get_size (turn->inputs[0].buffer) != gst_buffer_get_size (buffer))
    flow = gst_gemmcl_batch_end (self);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (buffer);
    return flow;
  }
  turn = get_turn (turns, turns->n);
  if (turns->discont) {
    buffer = gst_buffer_make_writable (buffer);
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    turns->discont = FALSE;
  }
  self->learned.input.buffer = buffer;
  turn->inputs[turn->n++] = self->learned.input;
  self->learned.input = (GstGemmclInput){NULL};
  g_ptr_array_add (turn->items, buffer);
  limit = get_limit (turns, buffer);
  if (turn->n >= MIN (batch_size, limit) || count_held (turns, turn) > limit)
    return gst_gemmcl_batch_end (self);
  if (turn->n == 1)
    start_timer (self);
  return GST_FLOW_OK;
}

gboolean
gst_gemmcl_batch_hold (GstGemmcl *self, GstEvent *event)
{
  GstGemmclTurn *turn;

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
    turn = get_turn (self->turns, self->turns->n);
    if (turn->n > 0)
      g_ptr_array_add (turn->items, event);
    return turn->n > 0;
  }
}
