/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define GST_USE_UNSTABLE_API /* tracers */
#include "load.h"

#include <gemmcl.h>

#define FRAME (GST_SECOND / 1000)

static GstPlugin *
load_plugin (const gchar *name)
{
  const gchar *folder = g_getenv ("GEMMCL_TEST_PLUGINS");
  g_autofree gchar *path =
      g_strdup_printf ("%s/libgst%s.so", folder ? folder : PLUGINS_FOLDER, name);

  return gst_plugin_load_file (path, NULL);
}

/* Traces objects that are made later. Returns: (nullable): the tracer of leaks, if any. */
static GstTracer *
start_tracer (void)
{
  g_autoptr (GstPlugin) plugin = load_plugin ("coretracers");
  g_autoptr (GstPluginFeature) feature =
      plugin ? gst_registry_find_feature (gst_registry_get (), "leaks", GST_TYPE_TRACER_FACTORY)
             : NULL;

  return feature ? g_object_new (gst_tracer_factory_get_tracer_type (GST_TRACER_FACTORY (feature)),
                                 NULL)
                 : NULL;
}

guint
load_test_init (int *argc, char ***argv)
{
  g_autoptr (GstPlugin) core = NULL;
  g_autoptr (GPtrArray) devices = NULL;

  g_test_init (argc, argv, NULL);
  gst_init (argc, argv);
  core = load_plugin ("coreelements");
  g_assert_nonnull (core);
  devices = gemmcl_list_devices (NULL, NULL);
  if (!devices)
    g_print ("1..0 # SKIP there is no OpenCL device\n");
  return devices ? devices->len : 0;
}

int
load_test_run (void)
{
  /* The lists hold no references to the objects, but freeing a list would drop references. */
  static GstStructure *found[LOAD_SECONDS * 20];
  /* The registry keeps the plugins that were loaded before; they are not leaks. */
  GstTracer *tracer = start_tracer ();
  const int result = g_test_run ();
  const GValue *live = NULL;

  if (!tracer)
    return result;
  gst_task_cleanup_all (); /* a thread that ends holds its task */
  /* A clock's thread may hold an element for a while. */
  for (guint i = 0; i < G_N_ELEMENTS (found); i++) {
    g_signal_emit_by_name (tracer, "get-live-objects", &found[i]);
    live = gst_structure_get_value (found[i], "live-objects-list");
    if (gst_value_list_get_size (live) == 0)
      return result;
    g_usleep (G_USEC_PER_SEC / 20);
  }
  g_error ("objects are left: %s", gst_value_serialize (live));
}

/* All numbers of a buffer are equal, so that a wrong number is found. */
static GstBuffer *
make_tensor (gpointer data G_GNUC_UNUSED, guint n, gboolean is_long)
{
  const gsize count = is_long ? 32 : 16;
  gfloat *values = g_new (gfloat, count);

  for (gsize i = 0; i < count; i++)
    values[i] = n;
  return gst_buffer_new_wrapped (values, count * sizeof *values);
}

/* @values: (out) (transfer full). Returns: the number of @values. */
static gsize
read_floats (GstBuffer *buffer, gfloat **values)
{
  gsize size;

  gst_buffer_extract_dup (buffer, 0, G_MAXSIZE, (gpointer *)values, &size);
  g_assert_cmpuint (size % sizeof (gfloat), ==, 0);
  return size / sizeof (gfloat);
}

/* The weight may have a fifth column, of zeros. If weights change, it may be twice as large. */
static void
check_tensor (const Load *self, GstPad *pad, GstBuffer *buffer, guint n)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  const guint columns = g_ascii_strtoull (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "dimensions"), NULL, 10);
  g_autofree gfloat *values = NULL;
  gfloat expected = self->line->factor * (gfloat)n;
  const gsize count = read_floats (buffer, &values);

  g_assert_cmpuint (count, >, 0);
  g_assert_cmpuint (count % (4 * columns), ==, 0);
  if (self->caps_period > 0 && columns == 4 && values[0] == 2 * expected)
    expected *= 2;
  for (gsize i = 0; i < count; i++)
    g_assert_cmpfloat (values[i], ==, i % columns < 4 ? expected : 0.0f);
}

static const LoadSource tensors = {{TENSORS ("4:4"), TENSORS ("4:8")},
                                   {"[[2,0,0,0,0],[0,2,0,0,0],[0,0,2,0,0],[0,0,0,2,0]]",
                                    LOAD_WEIGHT, "[[4,0,0,0],[0,4,0,0],[0,0,4,0],[0,0,0,4]]"},
                                   make_tensor,
                                   check_tensor,
                                   NULL};

#define EACH(number) "[" number "," number "," number "," number "]"
#define CONTROLLED   " bias=" EACH ("0") " addend=" EACH (".125")

/* Settings, each with two values. */
static const struct {
  const gchar *name, *values[2];
} controls[] = {{"alpha", {"1", "2"}},
                {"beta", {"1", "2"}},
                {"bias", {EACH ("0"), EACH (".0625")}},
                {"addend", {EACH (".125"), EACH (".25")}}};

/* Sometimes waits so long that a batch ends at its timeout. */
static GstBuffer *
make_controlled (gpointer data, guint n, gboolean is_long)
{
  if (n % 32 == 31)
    g_usleep (3000);
  return make_tensor (data, n, is_long);
}

/* Any values of the settings are right, if they are the same for the whole buffer. */
static void
check_controlled (const Load *self, GstPad *pad G_GNUC_UNUSED, GstBuffer *buffer, guint n)
{
  const gfloat product = self->line->factor * (gfloat)n;
  gboolean is_right = FALSE;
  g_autofree gfloat *values = NULL;

  g_assert_cmpuint (read_floats (buffer, &values), ==, 16);
  for (gint alpha = 1; alpha <= 2; alpha++)
    for (gint bias = 0; bias <= 1; bias++)
      for (gint addend = 1; addend <= 4; addend *= 2)
        is_right |= values[0] == alpha * product + bias * .0625f + addend * .125f;
  if (!is_right)
    g_error ("%g came out for %u", values[0], n);
  for (guint i = 1; i < 16; i++)
    g_assert_cmpfloat (values[i], ==, values[0]);
}

static const LoadSource controlled = {
    {TENSORS ("4:4")}, {NULL}, make_controlled, check_controlled, NULL};

static void
push_event (Load *self, GstEvent *event)
{
  g_assert_true (gst_harness_push_event (self->harness, event));
}

/* No output of a buffer that was pushed before a flush may come after the flush. */
static GstPadProbeReturn
see_flush (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  Load *self = data;

  g_mutex_lock (&self->lock);
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP)
    self->floor = self->next;
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
see (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Load *self = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const guint n = GST_BUFFER_PTS (buffer) / FRAME;

  self->source->check (self, pad, buffer, n);
  g_mutex_lock (&self->lock);
  g_assert_cmpint (n, >, self->last);
  g_assert_cmpuint (n, >=, self->floor);
  self->last = n;
  self->seen++;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

void
load_init (Load *self, const LoadLine *line, const LoadSource *source, guint total)
{
  *self = (Load){.source = source ? source : &tensors, .line = line, .total = total, .last = -1};
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  self->harness = gst_harness_new_parse (line->text);
  self->element = gst_bin_get_by_name (GST_BIN (self->harness->element), "a");
  self->bus = gst_bus_new ();
  gst_element_set_bus (self->harness->element, self->bus);
  gst_harness_set_drop_buffers (self->harness, TRUE);
  gst_pad_add_probe (self->harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, see, self, NULL);
  gst_pad_add_probe (self->harness->sinkpad, GST_PAD_PROBE_TYPE_EVENT_FLUSH, see_flush, self, NULL);
  gst_harness_set_src_caps_str (self->harness, self->source->caps[0]);
}

GError *
load_pop_message (Load *self)
{
  g_autoptr (GstMessage) message =
      gst_bus_pop_filtered (self->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  GError *error = NULL;

  if (message)
    gst_structure_get (gst_message_get_structure (message), "gerror", G_TYPE_ERROR, &error, NULL);
  return error;
}

void
load_clear (Load *self)
{
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->pusher, g_thread_join);
  push_event (self, gst_event_new_eos ());
  g_assert_true (self->floor > 0 || self->seen == self->taken);
  error = load_pop_message (self);
  g_assert_no_error (error);
  gst_element_set_bus (self->harness->element, NULL);
  gst_harness_teardown (self->harness);
  gst_object_unref (self->bus);
  g_clear_object (&self->element);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
}

GstFlowReturn
load_push (Load *self)
{
  const gboolean is_long = self->caps_period > 0 && self->next / self->caps_period % 2 > 0;
  GstBuffer *buffer = self->source->make (self->source->data, self->next, is_long);
  GstFlowReturn flow;

  GST_BUFFER_PTS (buffer) = self->next * FRAME;
  GST_BUFFER_DURATION (buffer) = FRAME;
  if (self->caps_period > 0 && self->next % self->caps_period == 0)
    gst_harness_set_src_caps_str (self->harness, self->source->caps[is_long]);
  flow = gst_harness_push (self->harness, buffer);
  g_mutex_lock (&self->lock);
  self->next++;
  self->taken += flow == GST_FLOW_OK;
  g_mutex_unlock (&self->lock);
  return flow;
}

/* Sets @flag, and wakes the threads that wait for it. */
static void
tell (Load *self, gboolean *flag, gboolean value)
{
  g_mutex_lock (&self->lock);
  *flag = value;
  g_cond_broadcast (&self->changed);
  while (value && self->parked)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
}

/* Pushes until all buffers are accepted. This thread is parked while the element flushes, and after
 * the first buffer: so each flow begins before all buffers are through. */
static gpointer
push_all (gpointer data)
{
  Load *self = data;

  while (self->taken < self->total) {
    const GstFlowReturn flow = load_push (self);

    if (flow != GST_FLOW_FLUSHING)
      g_assert_cmpstr (gst_flow_get_name (flow), ==, "ok");
    if (flow == GST_FLOW_FLUSHING || self->next == 1)
      tell (self, &self->parked, TRUE);
  }
  tell (self, &self->done, TRUE);
  return NULL;
}

/* Waits for @n more outputs. Returns: TRUE if the pusher has more buffers. */
static gboolean
wait_for (Load *self, guint n)
{
  gboolean pushing;
  guint until;

  g_mutex_lock (&self->lock);
  until = self->seen + n;
  while (!self->done && self->seen < until)
    g_cond_wait (&self->changed, &self->lock);
  pushing = !self->done;
  g_mutex_unlock (&self->lock);
  return pushing;
}

/* Waits until the pusher is parked or done. */
static void
wait_parked (Load *self)
{
  g_mutex_lock (&self->lock);
  while (!self->done && !self->parked)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
}

/* Flushes while buffers are in flight. */
static void
flow_flush (Load *self)
{
  GstSegment segment;
  guint n = 0;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (; wait_for (self, n % 5); n++) {
    push_event (self, gst_event_new_flush_start ());
    wait_parked (self);
    push_event (self, gst_event_new_flush_stop (TRUE));
    push_event (self, gst_event_new_segment (&segment));
    tell (self, &self->parked, FALSE);
  }
  g_test_message ("%u flushes", n);
}

/* The pusher changes caps. This thread changes the weight of "a", and so the output's caps. */
static void
flow_caps (Load *self)
{
  const guint n_weights = self->source->weights[2] ? 3 : 2;

  tell (self, &self->parked, FALSE);
  for (guint n = 0; wait_for (self, 3); n++)
    if (self->element)
      g_object_set (self->element, "weight", self->source->weights[n % n_weights], NULL);
}

/* This thread does what applications and sinks do while buffers flow. */
static void
flow_control (Load *self)
{
  GstPad *pad = self->harness->sinkpad;
  guint64 buffers = 0;

  tell (self, &self->parked, FALSE);
  for (guint n = 0; wait_for (self, 1); n++) {
    const guint which = n % G_N_ELEMENTS (controls);
    g_autoptr (GstQuery) query = gst_query_new_latency ();
    g_autoptr (GstStructure) stats = NULL;

    g_object_get (self->element, "stats", &stats, NULL);
    gst_util_set_object_arg (G_OBJECT (self->element), controls[which].name,
                             controls[which].values[n / G_N_ELEMENTS (controls) % 2]);
    g_assert_true (gst_structure_get_uint64 (stats, "buffers", &buffers));
    g_assert_true (gst_pad_peer_query (pad, query));
    /* A QoS event for the first buffer makes no other buffer late. */
    gst_pad_push_event (pad, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 0.5, 0, 0));
  }
}

static void
set_state (Load *self, GstState state)
{
  g_assert_cmpint (gst_element_set_state (self->harness->element, state), !=,
                   GST_STATE_CHANGE_FAILURE);
}

/* Asks what applications and other elements ask, at both ends, in any state; but not for the
 * position, which GStreamer's base class computes from its segment without a lock. */
static gpointer
ask_all (gpointer data)
{
  Load *self = data;
  g_autoptr (GstCaps) caps = gst_caps_from_string (self->source->caps[0]);
  GstPad *const pads[] = {self->harness->srcpad, self->harness->sinkpad};

  while (!g_atomic_int_get (&self->asked)) {
    for (guint i = 0; i < G_N_ELEMENTS (pads); i++) {
      GstQuery *const queries[] = {gst_query_new_latency (), gst_query_new_caps (NULL),
                                   gst_query_new_accept_caps (caps),
                                   gst_query_new_allocation (caps, TRUE), gst_query_new_drain ()};

      for (guint j = 0; j < G_N_ELEMENTS (queries); j++) {
        /* The last two travel downstream only. */
        if (i == 0 || j < G_N_ELEMENTS (queries) - 2)
          gst_pad_peer_query (pads[i], queries[j]);
        gst_query_unref (queries[j]);
      }
    }
    g_usleep (1000);
  }
  return NULL;
}

/* Changes the state to READY or NULL and back, while another thread asks. GStreamer's base class
 * may warn if pads are deactivated while it renegotiates; such warnings are ignored. */
static void
flow_states (Load *self)
{
  GThread *asker = g_thread_new ("asker", ask_all, self);
  guint n = 0;

  for (; wait_for (self, n % 5); n++) {
    g_autoptr (GError) warning = NULL;

    set_state (self, n % 7 == 6 ? GST_STATE_NULL : GST_STATE_READY);
    wait_parked (self);
    warning = load_pop_message (self);
    g_assert_cmpstr (warning ? warning->message : "not negotiated", ==, "not negotiated");
    self->floor = self->next;
    set_state (self, GST_STATE_PLAYING);
    push_event (self, gst_event_new_stream_start ("again"));
    gst_harness_set_src_caps_str (self->harness, self->source->caps[0]);
    tell (self, &self->parked, FALSE);
  }
  g_atomic_int_set (&self->asked, TRUE);
  g_thread_join (asker);
  g_test_message ("%u changes", n);
}

const LoadFlow load_flows[LOAD_N_FLOWS] = {
    {"flush", flow_flush}, {"caps", flow_caps, .caps_period = 7}, {"states", flow_states}};

void
load_run (const LoadFlow *flow, const LoadLine *line, const LoadSource *source, guint n)
{
  g_auto (Load) load = {NULL};
  g_autoptr (GTimer) timer = g_timer_new ();

  load_init (&load, line, source, n);
  load.caps_period = flow->caps_period;
  load.pusher = g_thread_new ("pusher", push_all, &load);
  wait_parked (&load);
  flow->run (&load);
  g_test_message ("%s, %s: %u in, %u out, %.2f s", line->text, flow->name, load.taken, load.seen,
                  g_timer_elapsed (timer, NULL));
}

void
load_run_controlled (const gchar *element, guint n)
{
  static const LoadFlow flow = {"control", flow_control};
  g_autofree gchar *text = g_strconcat (element, CONTROLLED, NULL);
  const LoadLine line = {text, 2};

  load_run (&flow, &line, &controlled, n);
}
