/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-queue.h"

#include "gemmcl-flight.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

void
gst_gemmcl_queue_init (GstGemmcl *self)
{
  g_mutex_init (&self->queue_lock);
  g_cond_init (&self->queue_changed);
}

void
gst_gemmcl_queue_finalize (GstGemmcl *self)
{
  g_mutex_clear (&self->queue_lock);
  g_cond_clear (&self->queue_changed);
}

static GstGemmclFlight *
get_flight (GstGemmcl *self, guint index)
{
  return &self->flights[(self->first + index) % self->n_flights];
}

/* The one that collects. */
static GstGemmclFlight *
get_boarding (GstGemmcl *self)
{
  return get_flight (self, self->launched);
}

static void
clear_inputs (GstGemmclFlight *flight)
{
  for (guint i = 0; i < flight->n; i++)
    gst_clear_buffer (&flight->inputs[i]);
}

/* With no run under way. */
static void
clear_flight (GstGemmclFlight *flight)
{
  clear_inputs (flight);
  for (guint i = 0; i < flight->n; i++)
    gst_clear_buffer (&flight->outputs[i]);
  flight->n = flight->sent = 0;
  flight->flow = GST_FLOW_OK;
  flight->state = GST_GEMMCL_FLIGHT_BOARDING;
}

/* Lands the oldest flight that is under way, or waits for whoever does. With the lock held, which
 * is given up meanwhile. */
static void
land_next (GstGemmcl *self)
{
  GstGemmclFlight *flight = get_flight (self, self->launched - self->under_way);
  GstFlowReturn flow;

  if (flight->state == GST_GEMMCL_FLIGHT_LANDING) {
    g_cond_wait (&self->queue_changed, &self->queue_lock);
    return;
  }
  flight->state = GST_GEMMCL_FLIGHT_LANDING;
  g_mutex_unlock (&self->queue_lock);
  flow = gst_gemmcl_flight_land (flight, self);
  clear_inputs (flight);
  g_mutex_lock (&self->queue_lock);
  flight->flow = flow;
  flight->state = GST_GEMMCL_FLIGHT_LANDED;
  self->under_way--;
  g_cond_broadcast (&self->queue_changed);
}

static void
land_until (GstGemmcl *self, guint left)
{
  g_mutex_lock (&self->queue_lock);
  while (self->under_way > left)
    land_next (self);
  g_mutex_unlock (&self->queue_lock);
}

void
gst_gemmcl_queue_land (GstGemmcl *self)
{
  land_until (self, 0);
}

/* With the lock held. */
static void
drop_first (GstGemmcl *self)
{
  clear_flight (get_flight (self, 0));
  self->first = (self->first + 1) % self->n_flights;
  self->launched--;
}

/* What has landed and was sent, with the lock held. */
static void
drop_sent (GstGemmcl *self)
{
  while (self->launched > self->under_way) {
    const GstGemmclFlight *flight = get_flight (self, 0);

    if (flight->flow != GST_FLOW_OK || flight->sent < flight->n)
      return;
    drop_first (self);
  }
}

/* The oldest flight of which something is to be sent, or that failed; NULL if there is none. With
 * the lock held. */
static GstGemmclFlight *
find_unsent (GstGemmcl *self)
{
  const guint landed = self->launched - self->under_way;

  for (guint i = 0; i < self->launched; i++) {
    GstGemmclFlight *flight = get_flight (self, i);

    if (i < landed && flight->flow != GST_FLOW_OK)
      return flight;
    if (flight->sent < flight->n)
      return i < landed || flight->leaves_early ? flight : NULL;
  }
  return NULL;
}

/* The next output that can be sent; NULL if there is none, or after an error. */
static GstBuffer *
take_output (GstGemmcl *self, GstFlowReturn *flow)
{
  GstBuffer *output = NULL;
  GstGemmclFlight *flight;

  *flow = GST_FLOW_OK;
  g_mutex_lock (&self->queue_lock);
  drop_sent (self);
  flight = find_unsent (self);
  if (flight)
    *flow = flight->flow;
  if (*flow != GST_FLOW_OK) {
    drop_first (self);
  } else if (flight) {
    output = flight->outputs[flight->sent];
    flight->outputs[flight->sent++] = NULL;
    drop_sent (self);
  }
  g_mutex_unlock (&self->queue_lock);
  return output;
}

static void
drop_landed (GstGemmcl *self, guint left)
{
  g_mutex_lock (&self->queue_lock);
  while (self->launched > MAX (self->under_way, left))
    drop_first (self);
  g_mutex_unlock (&self->queue_lock);
}

/* Sends what has landed, as long as downstream takes it. */
static GstFlowReturn
send (GstGemmcl *self)
{
  GstFlowReturn flow;
  GstBuffer *output;

  while ((output = take_output (self, &flow)) && flow == GST_FLOW_OK)
    flow = gst_pad_push (GST_BASE_TRANSFORM (self)->srcpad, output);
  if (flow != GST_FLOW_OK)
    drop_landed (self, 0);
  return flow;
}

static void
send_as_watcher (GstGemmcl *self)
{
  GstPad *pad = GST_BASE_TRANSFORM (self)->sinkpad;
  GstFlowReturn flow;

  GST_PAD_STREAM_LOCK (pad);
  flow = send (self);
  if (flow != GST_FLOW_OK)
    self->sent_flow = flow;
  GST_PAD_STREAM_UNLOCK (pad);
}

static gpointer
watch (gpointer data)
{
  GstGemmcl *self = data;

  g_mutex_lock (&self->queue_lock);
  while (!self->stopping) {
    if (self->under_way == 0) {
      g_cond_wait (&self->queue_changed, &self->queue_lock);
      continue;
    }
    land_next (self);
    if (find_unsent (self)) {
      g_mutex_unlock (&self->queue_lock);
      send_as_watcher (self);
      g_mutex_lock (&self->queue_lock);
    }
  }
  g_mutex_unlock (&self->queue_lock);
  return NULL;
}

void
gst_gemmcl_queue_start (GstGemmcl *self)
{
  g_autoptr (GError) error = NULL;

  /* Besides those under way one that boards and one that has landed but is not sent. */
  self->n_flights = self->settings.queue_depth + 2;
  self->flights = gst_gemmcl_flights_new (self->n_flights, self->settings.batch_size);
  self->first = self->launched = self->under_way = 0;
  self->sent_flow = GST_FLOW_OK;
  self->stopping = FALSE;
  if (self->settings.queue_depth == 1)
    return;
  self->watcher = g_thread_try_new ("gemmcl", watch, self, &error);
  if (!self->watcher) {
    GST_WARNING_OBJECT (self, "queue-depth is 1: %s", error->message);
    self->settings.queue_depth = 1;
  }
}

void
gst_gemmcl_queue_stop (GstGemmcl *self)
{
  g_mutex_lock (&self->queue_lock);
  self->stopping = TRUE;
  g_cond_broadcast (&self->queue_changed);
  g_mutex_unlock (&self->queue_lock);
  g_clear_pointer (&self->watcher, g_thread_join);
  gst_gemmcl_queue_clear (self);
  gst_gemmcl_flights_free (self->flights, self->n_flights);
  self->flights = NULL;
}

static GstFlowReturn
prepare_outputs (GstGemmcl *self, GstGemmclFlight *flight)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint i = 0; flow == GST_FLOW_OK && i < flight->n; i++)
    flow = GST_BASE_TRANSFORM_GET_CLASS (trans)->prepare_output_buffer (trans, flight->inputs[i],
                                                                        &flight->outputs[i]);
  return flow;
}

GstFlowReturn
gst_gemmcl_queue_launch (GstGemmcl *self)
{
  const guint depth = self->settings.queue_depth;
  GstGemmclFlight *flight = get_boarding (self);
  GstFlowReturn flow;

  if (flight->n == 0)
    return GST_FLOW_OK;
  flow = prepare_outputs (self, flight);
  if (flow == GST_FLOW_OK) {
    land_until (self, depth - 1);
    flow = gst_gemmcl_flight_launch (flight, self);
  }
  if (flow != GST_FLOW_OK) {
    clear_flight (flight);
    return flow;
  }
  /* The memory's events are all that the device needs. */
  if (flight->a_on_device)
    clear_inputs (flight);
  g_mutex_lock (&self->queue_lock);
  drop_sent (self);
  flight->state = GST_GEMMCL_FLIGHT_UNDER_WAY;
  self->launched++;
  self->under_way++;
  g_cond_broadcast (&self->queue_changed);
  g_mutex_unlock (&self->queue_lock);
  /* Nobody would land it before the next buffer comes. */
  if (depth == 1 && !(flight->a_on_device && flight->leaves_early))
    land_until (self, 0);
  return GST_FLOW_OK;
}

/* Caps of audio do not say how long a buffer is: the first ones do. */
static void
learn_duration (GstGemmcl *self, GstBuffer *input)
{
  GstClockTime duration = GST_BUFFER_DURATION (input);
  gboolean longer;

  if (!GST_CLOCK_TIME_IS_VALID (duration))
    return;
  g_mutex_lock (&self->lock);
  longer = !GST_CLOCK_TIME_IS_VALID (self->frame_duration) || duration > self->frame_duration;
  if (longer)
    self->frame_duration = duration;
  g_mutex_unlock (&self->lock);
  if (longer)
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
}

/* All problems of a run have the same M, and a gap without data has none. Of audio a meta may say
 * how many samples the bytes are. */
static gboolean
fit_together (GstGemmcl *self, GstBuffer *first, GstBuffer *second)
{
  const GstAudioInfo *info = &self->input.audio;
  gsize offset, samples, others;

  return gst_buffer_get_size (first) == gst_buffer_get_size (second) &&
         (self->input.medium != GST_GEMMCL_MEDIUM_AUDIO ||
          (gst_gemmcl_get_samples (info, first, &offset, &samples, NULL) &&
           gst_gemmcl_get_samples (info, second, &offset, &others, NULL) && samples == others));
}

/* Takes @input. */
static GstFlowReturn
board (GstGemmcl *self, GstBuffer *input)
{
  GstGemmclFlight *flight = get_boarding (self);
  GstFlowReturn flow = GST_FLOW_OK;

  if (flight->n > 0 && !fit_together (self, flight->inputs[0], input))
    flow = gst_gemmcl_queue_launch (self);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (input);
    return flow;
  }
  flight = get_boarding (self);
  flight->inputs[flight->n++] = input;
  if (flight->n >= self->settings.batch_size)
    flow = gst_gemmcl_queue_launch (self);
  return flow;
}

GstFlowReturn
gst_gemmcl_queue_generate (GstGemmcl *self, GstBuffer *input, GstBuffer **output)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (input) {
    learn_duration (self, input);
    /* What was not taken because downstream refused what was before it. */
    drop_landed (self, self->settings.queue_depth);
    flow = board (self, input);
  }
  *output = flow == GST_FLOW_OK ? take_output (self, &flow) : NULL;
  return flow;
}

GstFlowReturn
gst_gemmcl_queue_drain (GstGemmcl *self)
{
  GstFlowReturn launched = gst_gemmcl_queue_launch (self), sent;

  gst_gemmcl_queue_land (self);
  sent = send (self);
  return sent != GST_FLOW_OK ? sent : launched;
}

void
gst_gemmcl_queue_clear (GstGemmcl *self)
{
  clear_flight (get_boarding (self));
  gst_gemmcl_queue_land (self);
  drop_landed (self, 0);
  self->sent_flow = GST_FLOW_OK;
}

GstFlowReturn
gst_gemmcl_queue_get_flow (GstGemmcl *self)
{
  return self->sent_flow;
}

void
gst_gemmcl_queue_query_latency (GstGemmcl *self, GstQuery *query)
{
  GstClockTime min, max, wait = 0;
  gboolean live;

  gst_query_parse_latency (query, &live, &min, &max);
  g_mutex_lock (&self->lock);
  if (self->started && GST_CLOCK_TIME_IS_VALID (self->frame_duration))
    wait = ((guint64)self->settings.batch_size * self->settings.queue_depth - 1) *
           self->frame_duration;
  g_mutex_unlock (&self->lock);
  GST_DEBUG_OBJECT (self, "adding %" GST_TIME_FORMAT, GST_TIME_ARGS (wait));
  gst_query_set_latency (query, live, min + wait, GST_CLOCK_TIME_IS_VALID (max) ? max + wait : max);
}
