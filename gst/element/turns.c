/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#include "memory/memory.h"

typedef struct {
  GstGemmclParcel parcel;
  GstGemmclInflight *inflight;
  GstGemmclLane *lane;
  GstGemmclScalars scalars;
} Turn;

struct _GstGemmclTurns {
  Turn *ring;
  guint size; /* one more than there may be in flight: for the parcel that is being filled */
  guint first, n;
  guint next;         /* the lane after that of the last run */
  GstFlowReturn flow; /* of outputs that push_late() pushed */
  gboolean is_late;   /* push_late() is running */
};

static void
empty (GstGemmclParcel *self)
{
  for (guint i = 0; i < self->n; i++)
    gst_clear_buffer (&self->outputs[i]);
  g_ptr_array_set_size (self->items, 0);
  self->n = 0;
}

static Turn *
get_next (GstGemmclTurns *turns)
{
  return &turns->ring[(turns->first + turns->n) % turns->size];
}

GstGemmclParcel *
gst_gemmcl_turns_get_parcel (GstGemmcl *self)
{
  return &get_next (self->turns)->parcel;
}

/* Prepares outputs in memory of the current device, instead of others that were prepared before. */
static GstFlowReturn
prepare_outputs (GstGemmcl *element, GstGemmclParcel *self, GError **error)
{
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint i = 0; flow == GST_FLOW_OK && i < self->n; i++) {
    gst_clear_buffer (&self->outputs[i]);
    flow = gst_gemmcl_prepare_output (element, self->inputs[i], &self->outputs[i], error);
  }
  return flow;
}

/* Takes @output. With output=meta it is pushed in *@input, which it replaces there. */
static GstFlowReturn
push_output (GstGemmcl *self, gpointer *input, GstBuffer *output, GstFlowReturn flow)
{
  GstBuffer *pushed = output;

  if (flow != GST_FLOW_OK) {
    gst_clear_buffer (&output);
    return flow;
  }
  if (gst_gemmcl_is_meta (self)) {
    pushed = gst_gemmcl_meta_attach (self, *input, output);
    *input = output;
  }
  return gst_pad_push (GST_BASE_TRANSFORM (self)->srcpad, pushed);
}

/* Pushes the outputs, and the events between them, and empties the parcel. If @flow is not OK, or
 * another one comes from downstream, outputs are dropped. Returns: the flow. */
static GstFlowReturn
push_parcel (GstGemmcl *element, GstGemmclParcel *self, GstFlowReturn flow)
{
  for (guint i = 0, n = 0; i < self->items->len; i++) {
    gpointer *item = &g_ptr_array_index (self->items, i);

    if (GST_IS_EVENT (*item))
      gst_pad_push_event (GST_BASE_TRANSFORM (element)->srcpad, gst_event_ref (*item));
    else
      flow = push_output (element, item, g_steal_pointer (&self->outputs[n++]), flow);
  }
  empty (self);
  return flow;
}

void
gst_gemmcl_turns_start (GstGemmcl *self)
{
  const GstGemmclSettings *settings = &self->stream.settings;
  GstGemmclTurns *turns = g_new0 (GstGemmclTurns, 1);

  turns->size = settings->queue_depth * self->n_lanes + 1;
  turns->ring = g_new0 (Turn, turns->size);
  for (guint i = 0; i < turns->size; i++)
    turns->ring[i] = (Turn){
        .parcel = {.items = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_mini_object_unref),
                   .inputs = g_new0 (GstBuffer *, settings->batch_size),
                   .outputs = g_new0 (GstBuffer *, settings->batch_size)},
        .inflight = gst_gemmcl_inflight_new (settings->batch_size),
    };
  self->turns = turns;
}

/* Waits for all runs and drops their outputs. */
static void
flush (GstGemmcl *self, GError **error)
{
  GstGemmclTurns *turns = self->turns;

  for (; turns->n > 0; turns->n--) {
    Turn *turn = &turns->ring[turns->first];

    gst_gemmcl_run_finish (self, turn->lane, turn->inflight, error);
    empty (&turn->parcel);
    turns->first = (turns->first + 1) % turns->size;
  }
  turns->flow = GST_FLOW_OK;
}

void
gst_gemmcl_turns_flush (GstGemmcl *self)
{
  g_autoptr (GError) error = NULL;

  flush (self, &error);
  empty (gst_gemmcl_turns_get_parcel (self));
  if (error && self->n_lanes == 1)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
}

void
gst_gemmcl_turns_stop (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;

  gst_gemmcl_turns_flush (self);
  for (guint i = 0; i < turns->size; i++) {
    g_ptr_array_unref (turns->ring[i].parcel.items);
    g_free (turns->ring[i].parcel.inputs);
    g_free (turns->ring[i].parcel.outputs);
    gst_gemmcl_inflight_unref (turns->ring[i].inflight);
  }
  g_free (turns->ring);
  g_clear_pointer (&self->turns, g_free);
}

/* Makes the device with the fewest runs in flight the current one; of equal ones the next by turns.
 */
static void
choose_lane (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;
  guint busy[GST_GEMMCL_MAX_DEVICES] = {0}, best = G_MAXUINT;

  for (guint i = 0; i < turns->n; i++) {
    const Turn *turn = &turns->ring[(turns->first + i) % turns->size];

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

/* FALSE if the input is at fault. */
static gboolean
is_of_device (const GError *error)
{
  return g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL) ||
         g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD) ||
         g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_TOO_LARGE);
}

/* Submits the run of @turn to the current device, or to others if that fails. */
static GstFlowReturn
begin (GstGemmcl *self, Turn *turn, GError **error)
{
  const GstGemmclScalars present = self->scalars;
  GstFlowReturn flow;

  self->scalars = turn->scalars;
  do {
    flow = prepare_outputs (self, &turn->parcel, error);
    if (flow == GST_FLOW_OK && !gst_gemmcl_is_empty (self, turn->parcel.inputs[0]) &&
        !gst_gemmcl_run_submit (self, turn->inflight, turn->parcel.n, turn->parcel.inputs,
                                turn->parcel.outputs, error))
      flow = GST_FLOW_ERROR;
  } while (flow == GST_FLOW_ERROR && is_of_device (*error) &&
           gst_gemmcl_lane_fail (self, self->lane, error));
  turn->lane = self->lane;
  self->scalars = present;
  return flow;
}

/* Waits until the host can read the outputs. A failed copy from the device shows only here. */
static gboolean
wait_for (GstGemmcl *self, Turn *turn, GError **error)
{
  GstMapInfo map;

  if (!gst_gemmcl_run_finish (self, turn->lane, turn->inflight, error))
    return FALSE;
  for (guint i = 0; i < turn->parcel.n; i++)
    for (guint j = 0; j < gst_buffer_n_memory (turn->parcel.outputs[i]); j++) {
      GstMemory *memory = gst_buffer_peek_memory (turn->parcel.outputs[i], j);

      if (!gst_is_gemmcl_memory (memory))
        continue;
      if (!gst_memory_map (memory, &map, GST_MAP_READ))
        return gst_gemmcl_fail (error, GEMMCL_ERROR_OPENCL,
                                "A result cannot be read from the device.");
      gst_memory_unmap (memory, &map);
    }
  return TRUE;
}

/* Waits for the first run, which other devices do again if it fails, and pushes its outputs. */
static GstFlowReturn
push_first (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;
  Turn *turn = &turns->ring[turns->first];
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && !wait_for (self, turn, &error)) {
    gst_gemmcl_stats_undo_run (self, turn->lane, turn->parcel.n);
    flow = gst_gemmcl_lane_fail (self, turn->lane, &error) ? begin (self, turn, &error)
                                                           : GST_FLOW_ERROR;
  }
  if (error)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  turns->first = (turns->first + 1) % turns->size;
  turns->n--;
  return push_parcel (self, &turn->parcel, flow);
}

/* Pushes outputs until none is left or, unless @waits, the run of the next one is in flight. */
static GstFlowReturn
push_some (GstGemmcl *self, gboolean waits)
{
  GstGemmclTurns *turns = self->turns;
  GstFlowReturn flow = turns->flow;

  turns->flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && turns->n > 0 &&
         (waits || !gst_gemmcl_inflight_is_busy (turns->ring[turns->first].inflight)))
    flow = push_first (self);
  if (flow != GST_FLOW_OK)
    flush (self, NULL);
  return flow;
}

GstFlowReturn
gst_gemmcl_turns_finish (GstGemmcl *self)
{
  return self->turns ? push_some (self, TRUE) : GST_FLOW_OK;
}

GstFlowReturn
gst_gemmcl_turns_push_held (GstGemmcl *self)
{
  return self->n_lanes > 1 ? gst_gemmcl_turns_finish (self) : GST_FLOW_OK;
}

/* Pushes each output as soon as it is complete, since there may be no next input. Runs in a thread
 * of GStreamer until no output is left. */
static void
push_late (GstElement *element, gpointer data G_GNUC_UNUSED)
{
  GstGemmcl *self = GST_GEMMCL (element);
  GstPad *pad = GST_BASE_TRANSFORM (self)->sinkpad;
  cl_event done;

  do {
    done = NULL;
    GST_PAD_STREAM_LOCK (pad);
    if (self->turns) {
      if (!GST_PAD_IS_FLUSHING (pad))
        self->turns->flow = push_some (self, FALSE);
      if (self->turns->n > 0 && !GST_PAD_IS_FLUSHING (pad))
        done = gst_gemmcl_inflight_get_event (self->turns->ring[self->turns->first].inflight);
      self->turns->is_late = done != NULL;
    }
    GST_PAD_STREAM_UNLOCK (pad);
    if (done) {
      clWaitForEvents (1, &done);
      clReleaseEvent (done);
    }
  } while (done);
}

/* Returns: the number of inputs that @turn needs. */
static guint
count_held (const Turn *turn)
{
  return MAX (turn->parcel.n, gst_gemmcl_inflight_count (turn->inflight));
}

/* Pushes outputs that are complete, and waits for others until a run of @n inputs, such as @input,
 * has room. */
static GstFlowReturn
make_way (GstGemmcl *self, guint n, GstBuffer *input)
{
  GstGemmclTurns *turns = self->turns;
  const guint limit = gst_gemmcl_runs_get_limit (self, input);
  GstFlowReturn flow = push_some (self, FALSE);
  guint held = 0;

  for (guint i = 0; i < turns->n; i++)
    held += count_held (&turns->ring[(turns->first + i) % turns->size]);
  while (flow == GST_FLOW_OK && turns->n > 0 &&
         (turns->n == turns->size - 1 || (gint64)held + n > limit)) {
    held -= count_held (&turns->ring[turns->first]);
    flow = push_first (self);
  }
  if (flow != GST_FLOW_OK)
    flush (self, NULL);
  return flow;
}

GstFlowReturn
gst_gemmcl_turns_submit (GstGemmcl *self, GstBuffer *input, GstBuffer *output)
{
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow;
  Turn *turn;

  if (gst_gemmcl_is_empty (self, input))
    return GST_FLOW_OK;
  flow = make_way (self, 1, input);
  if (flow != GST_FLOW_OK)
    return flow;
  turn = get_next (self->turns);
  turn->lane = self->lane;
  if (gst_gemmcl_run_submit (self, turn->inflight, 1, &input, &output, &error)) {
    self->turns->n++;
    return GST_FLOW_OK;
  }
  gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  return GST_FLOW_ERROR;
}

GstFlowReturn
gst_gemmcl_turns_take (GstGemmcl *self)
{
  GstGemmclTurns *turns = self->turns;
  Turn *turn = get_next (turns);
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = make_way (self, turn->parcel.n, turn->parcel.inputs[0]);

  if (flow != GST_FLOW_OK)
    return push_parcel (self, &turn->parcel, flow);
  turn->scalars = self->scalars;
  choose_lane (self);
  flow = begin (self, turn, &error);
  if (flow != GST_FLOW_OK) {
    gst_gemmcl_turns_finish (self);
    if (error)
      gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return push_parcel (self, &turn->parcel, flow);
  }
  turns->n++;
  if (self->n_lanes == 1)
    return push_parcel (self, &turn->parcel, GST_FLOW_OK);
  if (!turns->is_late)
    gst_element_call_async (GST_ELEMENT (self), push_late, NULL, NULL);
  turns->is_late = TRUE;
  return GST_FLOW_OK;
}
