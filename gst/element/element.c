/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The class of the element: its states, its buffers and events, and its texts in gst-inspect-1.0.
 */
#include "element/element.h"

#include "element/meta.h"
#include "element/negotiate.h"
#include "element/plans.h"
#include "element/properties.h"
#include "memory/va.h"

G_DEFINE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST_TYPE_BASE_TRANSFORM)

/* Checks the output, and opens the devices that the properties name. */
static gboolean
open_devices (GstGemmcl *self, GError **error)
{
  const GstGemmclSettings settings = gst_gemmcl_get_properties (self).settings;

  return gst_gemmcl_output_check (&settings, error) && gst_gemmcl_meta_check (&settings, error) &&
         gst_gemmcl_devices_open (self, error);
}

/* Reopens the devices after the VADisplay changed. The next buffer builds a new plan. */
static gboolean
renew_context (GstGemmcl *self, GError **error)
{
  gst_gemmcl_plan_drop (self);
  self->needs_plan = TRUE;
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return gst_gemmcl_devices_open (self, error);
}

/* Takes the stream lock, since upstream may ask for an allocation in any state. */
static void
close_all (GstGemmcl *self)
{
  GST_PAD_STREAM_LOCK (GST_BASE_TRANSFORM_SINK_PAD (self));
  gst_gemmcl_operands_close (self);
  gst_gemmcl_results_close_labels (self);
  gst_gemmcl_devices_close (self);
  gst_gemmcl_sharing_close (&self->sharing);
  GST_PAD_STREAM_UNLOCK (GST_BASE_TRANSFORM_SINK_PAD (self));
}

/* Opens what outlives streams; takes the stream lock for the same reason. */
static gboolean
open_all (GstGemmcl *self, GError **error)
{
  gboolean ok;

  GST_PAD_STREAM_LOCK (GST_BASE_TRANSFORM_SINK_PAD (self));
  ok = gst_gemmcl_operands_open (self, error) && gst_gemmcl_results_open_labels (self, error) &&
       open_devices (self, error);
  GST_PAD_STREAM_UNLOCK (GST_BASE_TRANSFORM_SINK_PAD (self));
  if (!ok)
    close_all (self);
  return ok;
}

static void
set_context (GstElement *element, GstContext *context)
{
  GST_ELEMENT_CLASS (gst_gemmcl_parent_class)->set_context (element, context);
  gst_gemmcl_va_take_display (&GST_GEMMCL (element)->sharing, context);
}

static gboolean
post_message (GstElement *element, GstMessage *message)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_QOS)
    gst_gemmcl_stats_add_drop (&GST_GEMMCL (element)->stats, message);
  return GST_ELEMENT_CLASS (gst_gemmcl_parent_class)->post_message (element, message);
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  GstGemmcl *self = GST_GEMMCL (element);
  g_autoptr (GError) error = NULL;
  GstStateChangeReturn result;

  if (transition == GST_STATE_CHANGE_NULL_TO_READY && !open_all (self, &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    return GST_STATE_CHANGE_FAILURE;
  }
  result = GST_ELEMENT_CLASS (gst_gemmcl_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    close_all (self);
  return result;
}

/* Prepares for a stream. Needs the stream lock: queries that come with it read what this writes,
 * and threads that stop() did not end may still look for outputs. */
static gboolean
open_stream (GstGemmcl *self, GError **error)
{
  g_autoptr (GPtrArray) labels = gst_gemmcl_results_get_labels (self);
  GstGemmclSettings settings;

  gst_gemmcl_operands_pin (self, TRUE);
  gst_gemmcl_operands_unpin (self);
  if (!open_devices (self, error))
    return FALSE;
  if (gst_gemmcl_get_terms (self).k == 0) {
    g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
                         "No weight is set. Expected weight=FILE.npy, "
                         "weight=FILE.safetensors#NAME or weight=[[1,2],[3,4]].");
    return FALSE;
  }
  settings = gst_gemmcl_get_properties (self).settings;
  if (!gst_gemmcl_results_check (&settings, labels, gst_gemmcl_get_terms (self).n, error))
    return FALSE;
  if (settings.batch_timeout > GST_GEMMCL_MAX_WAIT)
    settings.batch_timeout = 0;
  g_mutex_lock (&self->lock);
  self->stream = (GstGemmclStream){.settings = settings, .started = TRUE};
  gst_gemmcl_stats_reset (self);
  g_mutex_unlock (&self->lock);
  self->pool_size = 0;
  gst_gemmcl_runs_start (self);
  return TRUE;
}

/* Warns of labels that have no effect. */
static void
warn_of_labels (GstGemmcl *self)
{
  g_autoptr (GPtrArray) labels = gst_gemmcl_results_get_labels (self);
  g_autoptr (GError) error = NULL;

  if (!labels || self->stream.settings.post_messages ||
      gst_gemmcl_output_is_meta (&self->stream.settings))
    return;
  gst_gemmcl_fail (&error, GEMMCL_ERROR_INVALID,
                   "labels has no effect. Expected post-messages=true or output=meta, which say "
                   "where labels go.");
  gst_gemmcl_post (self, GST_MESSAGE_WARNING, NULL, error);
}

static gboolean
start (GstBaseTransform *trans)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_autoptr (GError) error = NULL;
  gboolean ok;

  GST_PAD_STREAM_LOCK (trans->sinkpad);
  ok = open_stream (self, &error);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  if (!ok)
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
  else
    warn_of_labels (self);
  return ok;
}

static gboolean
stop (GstBaseTransform *trans)
{
  GstGemmcl *self = GST_GEMMCL (trans);

  /* Threads that push outputs hold this lock. */
  GST_PAD_STREAM_LOCK (trans->sinkpad);
  gst_gemmcl_runs_stop (self);
  gst_gemmcl_stats_report (self);
  gst_gemmcl_plan_drop (self);
  gst_gemmcl_input_stop (self);
  g_mutex_lock (&self->lock);
  self->stream.started = self->stream.configured = FALSE;
  g_mutex_unlock (&self->lock);
  GST_PAD_STREAM_UNLOCK (trans->sinkpad);
  return TRUE;
}

/* Sets controlled properties to their values at the stream time of @buffer. A segment in bytes,
 * such as one of multifilesrc, has no stream time. Returns: the factors for @buffer. */
static GstGemmclFactors
sync_factors (GstGemmcl *self, GstBuffer *buffer)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  GstClockTime time = GST_CLOCK_TIME_NONE;
  GstGemmclFactors factors;

  if (segment->format == GST_FORMAT_TIME)
    time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, GST_BUFFER_TIMESTAMP (buffer));
  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_object_sync_values (GST_OBJECT (self), time);
  GST_OBJECT_LOCK (self);
  factors = self->properties.factors;
  GST_OBJECT_UNLOCK (self);
  return factors;
}

static gboolean
pass_event (GstGemmcl *self, GstEvent *event)
{
  g_autoptr (GstCaps) caps = NULL;
  gboolean accepted;

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    gst_event_parse_caps (event, &caps);
    gst_caps_ref (caps);
    gst_gemmcl_operands_pin (self, TRUE);
  }
  accepted = GST_BASE_TRANSFORM_CLASS (gst_gemmcl_parent_class)
                 ->sink_event (GST_BASE_TRANSFORM (self), event);
  if (caps) {
    if (!accepted)
      gst_gemmcl_explain_failure (self, caps);
    gst_gemmcl_operands_unpin (self);
  }
  return accepted;
}

/* Passes the events that waited for the first buffer. FALSE if an event was not accepted. */
static gboolean
pass_waiting (GstGemmcl *self)
{
  gboolean ok = TRUE;
  GstEvent *event;

  while ((event = gst_gemmcl_input_pop_event (&self->described)))
    ok = pass_event (self, event) && ok;
  return ok;
}

/* Calls set_caps() with the present caps of both pads, and describes @buffer again. The base class
 * does not: it takes refused caps, and caps that waited for @buffer, for those in use. */
static GstFlowReturn
set_caps_again (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  g_autoptr (GstCaps) incaps = gst_pad_get_current_caps (trans->sinkpad);
  g_autoptr (GstCaps) outcaps = gst_pad_get_current_caps (trans->srcpad);

  if (!self->stream.configured &&
      !GST_BASE_TRANSFORM_GET_CLASS (trans)->set_caps (trans, incaps, outcaps))
    return GST_FLOW_NOT_NEGOTIATED;
  gst_gemmcl_input_clear (input);
  *input = (GstGemmclInput){NULL};
  return gst_gemmcl_input_describe (self, buffer, input);
}

/* Negotiates for @buffer, which the base class takes into queued_buf, and makes a plan if one is
 * due. Operands must be pinned. */
static GstFlowReturn
negotiate (GstGemmcl *self, gboolean is_discont, GstBuffer *buffer, GstGemmclInput *input,
           const GstGemmclFactors *factors)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  const gboolean was_configured = self->stream.configured;
  g_autoptr (GstCaps) caps = NULL;
  g_autoptr (GError) error = NULL;
  gboolean needs_context;
  GstFlowReturn flow;

  if (!gst_gemmcl_run_check_input (self, buffer, &needs_context, &error) ||
      (needs_context && !renew_context (self, &error))) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  flow = GST_BASE_TRANSFORM_CLASS (gst_gemmcl_parent_class)
             ->submit_input_buffer (trans, is_discont, buffer);
  if (flow == GST_FLOW_OK && !was_configured)
    flow = set_caps_again (self, buffer, input);
  if (flow == GST_FLOW_OK && !gst_gemmcl_format_is_empty (&self->stream.input, buffer) &&
      !gst_gemmcl_plan_fit (self, input->m, factors, &error)) {
    gst_gemmcl_post (self, GST_MESSAGE_ERROR, NULL, error);
    flow = GST_FLOW_ERROR;
  }
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED) {
    self->runs->discont = TRUE;
  } else if (flow == GST_FLOW_NOT_NEGOTIATED) {
    caps = gst_pad_get_current_caps (trans->sinkpad);
    gst_gemmcl_explain_failure (self, caps);
  }
  return flow;
}

/* Describes @buffer. Ends the batch, and waits for its runs, if @buffer needs that.
 * @factors: (out): those for @buffer. @changes: (out): TRUE if operands wait: the batch has ended,
 * and @buffer is the first with the operands that are set by then. If FALSE, operands that are set
 * from now on wait for the next buffer. */
static GstFlowReturn
describe_buffer (GstGemmcl *self, GstBuffer *buffer, GstGemmclInput *input,
                 GstGemmclFactors *factors, gboolean *changes)
{
  GstFlowReturn flow = self->runs->flow;

  self->runs->flow = GST_FLOW_OK;
  if (self->runs->unlinked && gst_pad_is_linked (GST_BASE_TRANSFORM_SRC_PAD (self)))
    flow = GST_FLOW_OK;
  self->runs->unlinked = FALSE;
  if (flow == GST_FLOW_OK)
    flow = gst_gemmcl_input_describe (self, buffer, input);
  if (flow != GST_FLOW_OK)
    return flow;
  if (!pass_waiting (self))
    return GST_FLOW_NOT_NEGOTIATED;
  *factors = sync_factors (self, buffer);
  *changes = gst_gemmcl_operands_have_next (self);
  if (GST_BUFFER_IS_DISCONT (buffer) ||
      !gst_gemmcl_batch_accepts (self->runs, buffer, input, factors) || *changes ||
      gst_pad_needs_reconfigure (GST_BASE_TRANSFORM (self)->srcpad))
    flow = gst_gemmcl_batch_end (self);
  /* A failed run is done again, with the operands of its first try: the new ones must wait. */
  if (flow == GST_FLOW_OK && self->n_devices > 1 && *changes)
    flow = gst_gemmcl_runs_push_held (self);
  return flow;
}

/* The batch takes the buffer that the base class has put into queued_buf. The pads are open before
 * start(), and also behind one that fails: then there are no runs. */
static GstFlowReturn
submit_input_buffer (GstBaseTransform *trans, gboolean is_discont, GstBuffer *buffer)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  g_auto (GstGemmclInput) input = {NULL};
  GstGemmclFactors factors;
  gboolean changes = FALSE;
  GstFlowReturn flow =
      self->runs ? describe_buffer (self, buffer, &input, &factors, &changes) : GST_FLOW_FLUSHING;

  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (buffer);
    return flow;
  }
  if (GST_BUFFER_IS_DISCONT (buffer))
    gst_gemmcl_run_reset_previous (&self->runs->last, self->devices->plan);
  gst_gemmcl_operands_pin (self, changes);
  /* The default of beta follows the addend in use; the property may name a later one. */
  if (!factors.has_beta)
    factors.beta = self->operands.current.addend != NULL;
  self->runs->last.feedback |= factors.beta != 0.0 && !self->operands.current.addend;
  flow = negotiate (self, is_discont, buffer, &input, &factors);
  gst_gemmcl_operands_unpin (self);
  return flow == GST_FLOW_OK
             ? gst_gemmcl_batch_add (self, g_steal_pointer (&trans->queued_buf), &input, &factors)
             : flow;
}

/* Never called. Without it the base class of GStreamer 1.22 makes the element passthrough. */
static GstFlowReturn
transform (GstBaseTransform *trans G_GNUC_UNUSED, GstBuffer *input G_GNUC_UNUSED,
           GstBuffer *output G_GNUC_UNUSED)
{
  return GST_FLOW_NOT_SUPPORTED;
}

/* batch.c pushes the outputs, not the base class. */
static GstFlowReturn
generate_output (GstBaseTransform *trans G_GNUC_UNUSED, GstBuffer **output)
{
  *output = NULL;
  return GST_FLOW_OK;
}

/* Ends the batch before an event that must not be in it. At EOS, waits for all runs, because their
 * errors must be posted before EOS, and reports the stats. */
static void
end_before (GstGemmcl *self, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    gst_gemmcl_runs_flush (self);
    gst_gemmcl_run_reset_previous (&self->runs->last, self->devices->plan);
    gst_gemmcl_stats_flush (&self->stats);
  } else if (GST_EVENT_IS_SERIALIZED (event)) {
    if (gst_gemmcl_batch_end (self) == GST_FLOW_OK)
      gst_gemmcl_runs_push_held (self);
    /* The flow of earlier outputs does not apply to buffers after the event. */
    self->runs->flow = GST_FLOW_OK;
    if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
      gst_gemmcl_runs_finish (self);
      gst_gemmcl_results_finish (self);
      gst_gemmcl_stats_report (self);
    }
  }
}

/* Events that wait for the first buffer pass at EOS, or at caps that describe A. Without runs, see
 * submit_input_buffer(), serialized events are dropped. */
static gboolean
sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  const GstEventType type = GST_EVENT_TYPE (event);

  if (!self->runs && GST_EVENT_IS_SERIALIZED (event)) {
    gst_event_unref (event);
    return FALSE;
  }
  if (gst_gemmcl_batch_take_event (self->runs, event))
    return TRUE;
  end_before (self, event);
  if (gst_gemmcl_input_take_event (self, event))
    return TRUE;
  if (type == GST_EVENT_EOS)
    pass_waiting (self);
  return pass_event (self, event) && (type != GST_EVENT_CAPS || pass_waiting (self));
}

/* Returns: the sum of two times; GST_CLOCK_TIME_NONE if one is that, or if the sum is too large. */
static GstClockTime
add_times (GstClockTime a, GstClockTime b)
{
  return a > GST_CLOCK_TIME_NONE - b ? GST_CLOCK_TIME_NONE : a + b;
}

static gboolean
query (GstBaseTransform *trans, GstPadDirection direction, GstQuery *query_)
{
  GstGemmcl *self = GST_GEMMCL (trans);
  GstClockTime wait, min, max;
  gboolean live;

  if (gst_gemmcl_sharing_answer (&self->sharing, query_))
    return TRUE;
  /* The base class would negotiate the waiting caps now. */
  if (GST_QUERY_TYPE (query_) == GST_QUERY_ALLOCATION && self->described.waiting.length > 0)
    return FALSE;
  /* Upstream waits until its buffers are released. Only the sink pad gets this query, and with the
   * stream lock, which guards the runs; other queries come without it. */
  if (GST_QUERY_TYPE (query_) == GST_QUERY_DRAIN && self->runs) {
    gst_gemmcl_batch_end (self);
    gst_gemmcl_runs_finish (self);
  }
  if (!GST_BASE_TRANSFORM_CLASS (gst_gemmcl_parent_class)->query (trans, direction, query_))
    return FALSE;
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE (query_) == GST_QUERY_LATENCY) {
    wait = gst_gemmcl_stats_get_latency (self);
    gst_query_parse_latency (query_, &live, &min, &max);
    gst_query_set_latency (query_, live, add_times (min, wait), add_times (max, wait));
  }
  return TRUE;
}

static void
gst_gemmcl_finalize (GObject *object)
{
  GstGemmcl *self = GST_GEMMCL (object);

  gst_gemmcl_operands_close (self);
  g_mutex_clear (&self->operands.change_lock);
  gst_gemmcl_sharing_clear (&self->sharing);
  gst_gemmcl_results_close_labels (self);
  gst_gemmcl_results_clear (&self->results);
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    g_value_unset (&self->properties.source[i]);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gst_gemmcl_parent_class)->finalize (object);
}

static void
add_template (GstElementClass *klass, const gchar *name, GstPadDirection direction)
{
  g_autoptr (GstCaps) caps = gst_gemmcl_caps_new_pad_template (direction);

  gst_element_class_add_pad_template (klass,
                                      gst_pad_template_new (name, direction, GST_PAD_ALWAYS, caps));
}

static void
describe (GstElementClass *klass)
{
  gst_element_class_set_static_metadata (
      klass, "Matrix multiplication on OpenCL", "Filter/Converter/Video/Audio/Tensor",
      "Multiplies each video frame, audio buffer or tensor by the matrix of the property weight, "
      "which must be set: D = act (alpha * A * B + beta * C + bias). A is the input, M x K; B is "
      "the weight, K x N; D is the output, M x N. Video: feature-mode chooses the rows of A, from "
      "pixels (K = channels; NV12, I420 and P010 count as R, G, B) to whole frames. Audio: M = "
      "samples, K = channels. Tensors: K = the innermost dimension. Pixels with N = 1, 3 or 4 "
      "stay video, and audio stays audio, if downstream accepts that; integers are rounded and "
      "saturated. Other outputs are tensors of N and the outer dimensions of the input, in "
      "float32 unless output-type is set; patches, pooled pixels and static tensors leave as "
      "video if downstream accepts nothing else. With output=meta the input passes through, with "
      "D as a tensor in its metadata; with input=meta A is such a tensor. Runs on any OpenCL "
      "device; Intel GPUs are preferred",
      "The gemmcl developers");
  gst_element_class_add_static_metadata (
      klass, "examples",
      "a colour matrix: gst-launch-1.0 videotestsrc ! gemmcl "
      "weight=\"[[.3,.3,.3],[.6,.6,.6],[.1,.1,.1]]\" ! videoconvert ! autovideosink; "
      "stereo to mono: gst-launch-1.0 audiotestsrc ! audio/x-raw,channels=2 ! gemmcl "
      "weight=\"[[.5],[.5]]\" ! audioconvert ! autoaudiosink; "
      "temporal smoothing: gst-launch-1.0 videotestsrc pattern=snow ! gemmcl "
      "weight=\"[[1,0,0],[0,1,0],[0,0,1]]\" alpha=0.1 beta=0.9 ! videoconvert ! autovideosink");
  add_template (klass, "sink", GST_PAD_SINK);
  add_template (klass, "src", GST_PAD_SRC);
}

static void
gst_gemmcl_class_init (GstGemmclClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_gemmcl_finalize;
  GST_ELEMENT_CLASS (klass)->change_state = change_state;
  GST_ELEMENT_CLASS (klass)->set_context = set_context;
  GST_ELEMENT_CLASS (klass)->post_message = post_message;
  trans_class->start = start;
  trans_class->stop = stop;
  trans_class->submit_input_buffer = submit_input_buffer;
  trans_class->transform = transform;
  trans_class->generate_output = generate_output;
  trans_class->sink_event = sink_event;
  trans_class->query = query;
  gst_gemmcl_negotiate_install (trans_class);
  gst_gemmcl_allocation_install (trans_class);
  gst_gemmcl_properties_install (G_OBJECT_CLASS (klass));
  describe (GST_ELEMENT_CLASS (klass));
}

static void
gst_gemmcl_init (GstGemmcl *self)
{
  g_mutex_init (&self->lock);
  g_mutex_init (&self->operands.change_lock);
  self->n_devices = 1;
  gst_gemmcl_stats_reset (self);
  gst_gemmcl_results_init (&self->results);
  gst_gemmcl_sharing_init (&self->sharing, GST_ELEMENT (self));
  gst_gemmcl_properties_init (self);
  gst_base_transform_set_gap_aware (GST_BASE_TRANSFORM (self), TRUE);
}

/* This runs in GStreamer's plugin scanner, where OpenCL must not be called. */
static gboolean
plugin_init (GstPlugin *plugin)
{
  GST_DEBUG_CATEGORY_INIT (gst_gemmcl_debug, "gemmcl", 0, "matrix multiplication on OpenCL");
  gst_gemmcl_copies_init ();
  return gst_element_register (plugin, "gemmcl", GST_RANK_NONE, GST_TYPE_GEMMCL);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, gemmcl,
                   "Multiplies video, audio and tensors by a matrix on OpenCL", plugin_init,
                   PACKAGE_VERSION, "LGPL", PACKAGE, PACKAGE_ORIGIN)
