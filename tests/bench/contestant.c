/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contestant.h"

#include <gst/app/gstappsrc.h>
#include <string.h>

#define TIMEOUT_S     120
#define QUEUE_BUFFERS "2"

void
contestant_free (Contestant *self)
{
  self->free (self);
}

typedef struct {
  Contestant parent;
  GstElement *pipeline;
  GstBuffer *buffer;
  GTimer *timer;

  GMutex lock;
  GCond changed;
  guint left;      /* buffers that the source may still send */
  guint awaited;   /* buffers that the sink has still to see */
  gdouble seconds; /* until it saw the last */
  gboolean ending;
} Pipeline;

/* Called by the source's thread when it has nothing to send. */
static void
send_one (GstAppSrc *source, guint length G_GNUC_UNUSED, gpointer data)
{
  Pipeline *self = data;
  gboolean ending;

  g_mutex_lock (&self->lock);
  while (self->left == 0 && !self->ending)
    g_cond_wait (&self->changed, &self->lock);
  ending = self->ending;
  if (!ending)
    self->left--;
  g_mutex_unlock (&self->lock);
  if (ending)
    gst_app_src_end_of_stream (source);
  else
    gst_app_src_push_buffer (source, gst_buffer_ref (self->buffer));
}

/* A result is there when it can be read. */
static GstPadProbeReturn
see_one (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  Pipeline *self = data;
  GstMapInfo map;

  if (!gst_buffer_map (GST_PAD_PROBE_INFO_BUFFER (info), &map, GST_MAP_READ))
    return GST_PAD_PROBE_OK;
  gst_buffer_unmap (GST_PAD_PROBE_INFO_BUFFER (info), &map);
  g_mutex_lock (&self->lock);
  if (self->awaited > 0 && --self->awaited == 0) {
    self->seconds = g_timer_elapsed (self->timer, NULL);
    g_cond_broadcast (&self->changed);
  }
  g_mutex_unlock (&self->lock);
  return GST_PAD_PROBE_OK;
}

static void
take_message (Pipeline *self, GError **error)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (self->pipeline);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);

  if (message)
    gst_message_parse_error (message, error, NULL);
  else
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED, "No buffer came out for %d s.",
                 TIMEOUT_S);
}

static gboolean
has_failed (Pipeline *self)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (self->pipeline);
  g_autoptr (GstMessage) message = gst_bus_peek (bus);

  while (message && GST_MESSAGE_TYPE (message) != GST_MESSAGE_ERROR) {
    gst_message_unref (gst_bus_pop (bus));
    gst_message_unref (message);
    message = gst_bus_peek (bus);
  }
  return message != NULL;
}

static gdouble
run_pipeline (Contestant *contestant, guint n, GError **error)
{
  Pipeline *self = (Pipeline *)contestant;
  const gint64 end = g_get_monotonic_time () + TIMEOUT_S * G_TIME_SPAN_SECOND;
  gdouble seconds;
  gboolean late = FALSE;

  g_mutex_lock (&self->lock);
  g_timer_start (self->timer);
  self->left = self->awaited = n;
  g_cond_broadcast (&self->changed);
  while (self->awaited > 0 && !late) {
    g_cond_wait_until (&self->changed, &self->lock, g_get_monotonic_time () + G_TIME_SPAN_SECOND);
    late = g_get_monotonic_time () > end || has_failed (self);
  }
  seconds = self->awaited > 0 ? -1.0 : self->seconds;
  g_mutex_unlock (&self->lock);
  if (seconds < 0.0)
    take_message (self, error);
  return seconds;
}

static void
free_pipeline (Contestant *contestant)
{
  Pipeline *self = (Pipeline *)contestant;

  g_mutex_lock (&self->lock);
  self->ending = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  gst_element_set_state (self->pipeline, GST_STATE_NULL);
  gst_object_unref (self->pipeline);
  gst_buffer_unref (self->buffer);
  g_timer_destroy (self->timer);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  g_free (self);
}

static void
connect_ends (Pipeline *self, const gchar *caps)
{
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (self->pipeline), "source");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (self->pipeline), "sink");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (sink, "sink");
  g_autoptr (GstCaps) parsed = gst_caps_from_string (caps);
  GstAppSrcCallbacks callbacks = {.need_data = send_one};

  gst_app_src_set_caps (GST_APP_SRC (source), parsed);
  gst_app_src_set_callbacks (GST_APP_SRC (source), &callbacks, self, NULL);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, see_one, self, NULL);
}

Contestant *
contestant_new_pipeline (const gchar *line, const gchar *caps, gpointer data, gsize size,
                         GError **error)
{
  g_autofree gchar *whole =
      g_strdup_printf ("appsrc name=source format=time ! %s ! queue max-size-buffers=" QUEUE_BUFFERS
                       " max-size-bytes=0 max-size-time=0 ! fakesink name=sink sync=false",
                       line);
  GstElement *pipeline = gst_parse_launch_full (whole, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  Pipeline *self;

  if (!pipeline)
    return NULL;
  self = g_new0 (Pipeline, 1);
  self->parent = (Contestant){run_pipeline, free_pipeline};
  self->pipeline = pipeline;
  self->buffer =
      gst_buffer_new_wrapped_full (GST_MEMORY_FLAG_READONLY, data, size, 0, size, NULL, NULL);
  self->timer = g_timer_new ();
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  connect_ends (self, caps);
  if (gst_element_set_state (pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
    take_message (self, error);
    contestant_free (&self->parent);
    return NULL;
  }
  return &self->parent;
}

typedef struct {
  Contestant parent;
  GemmclPlan *plan;
  GemmclData a, d;
  GTimer *timer;
} Plan;

static gdouble
run_plan (Contestant *contestant, guint n, GError **error)
{
  Plan *self = (Plan *)contestant;
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &self->a, .d = &self->d};

  g_timer_start (self->timer);
  for (guint i = 0; i < n; i++)
    if (!gemmcl_plan_run (self->plan, &run, error))
      return -1.0;
  return g_timer_elapsed (self->timer, NULL);
}

static void
free_plan (Contestant *contestant)
{
  Plan *self = (Plan *)contestant;

  g_clear_object (&self->plan);
  g_free (self->d.host[0]);
  g_timer_destroy (self->timer);
  g_free (self);
}

/* Bytes of D, and how its rows lie. */
static gsize
describe_d (const GemmclGemm *gemm, GemmclData *d)
{
  GemmclPlane planes[GEMMCL_MAX_PLANES];

  if (!gemm->d_image)
    return gemm->m * gemm->n * gemmcl_type_get_size (gemm->d_type);
  gemmcl_image_get_planes (gemm->d_image, planes);
  d->stride[0] = (gssize)planes[0].row_bytes;
  return planes[0].rows * planes[0].row_bytes;
}

Contestant *
contestant_new_plan (GemmclContext *context, const GemmclGemm *gemm, GemmclMatrix *b, gpointer a,
                     GError **error)
{
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, NULL, error);
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  Plan *self;

  if (!plan || !gemmcl_plan_set_b (plan, b, error))
    return NULL;
  self = g_new0 (Plan, 1);
  self->parent = (Contestant){run_plan, free_plan};
  self->plan = g_steal_pointer (&plan);
  self->a.host[0] = a;
  if (gemm->a_image) {
    gemmcl_image_get_planes (gemm->a_image, planes);
    self->a.stride[0] = (gssize)planes[0].row_bytes;
  }
  self->d.host[0] = g_malloc0 (describe_d (gemm, &self->d));
  self->timer = g_timer_new ();
  return &self->parent;
}

typedef struct {
  Contestant parent;
  GemmclPlan *plan;
  cl_command_queue queue;
  GemmclData a, d;
  GTimer *timer;
} Device;

static gdouble
run_device (Contestant *contestant, guint n, GError **error)
{
  Device *self = (Device *)contestant;
  const GemmclRun run = {
      .size = sizeof run, .alpha = 1, .a = &self->a, .d = &self->d, .strided = TRUE};

  g_timer_start (self->timer);
  for (guint i = 0; i < n; i++)
    if (!gemmcl_plan_submit (self->plan, &run, NULL, NULL, error))
      return -1.0;
  clFinish (self->queue);
  return g_timer_elapsed (self->timer, NULL);
}

static void
free_device (Contestant *contestant)
{
  Device *self = (Device *)contestant;

  g_clear_object (&self->plan);
  g_clear_pointer (&self->a.objects[0], clReleaseMemObject);
  g_clear_pointer (&self->d.objects[0], clReleaseMemObject);
  g_timer_destroy (self->timer);
  g_free (self);
}

Contestant *
contestant_new_device (GemmclContext *context, const GemmclGemm *gemm, GemmclMatrix *b,
                       GError **error)
{
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, NULL, error);
  const cl_context cl = gemmcl_context_get_cl_context (context);
  GemmclData unused;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize a_bytes = gemm->a_image ? gemmcl_image_get_planes (gemm->a_image, planes)
                                      : gemm->m * gemm->k * gemmcl_type_get_size (gemm->a_type);
  Device *self;

  if (!plan || !gemmcl_plan_set_b (plan, b, error))
    return NULL;
  self = g_new0 (Device, 1);
  self->parent = (Contestant){run_device, free_device};
  self->plan = g_steal_pointer (&plan);
  self->queue = gemmcl_context_get_cl_queue (context);
  self->a.kind = self->d.kind = GEMMCL_DATA_BUFFER;
  self->a.objects[0] = clCreateBuffer (cl, CL_MEM_READ_ONLY, a_bytes, NULL, NULL);
  self->d.objects[0] =
      clCreateBuffer (cl, CL_MEM_READ_WRITE, describe_d (gemm, &unused), NULL, NULL);
  self->timer = g_timer_new ();
  if (self->a.objects[0] && self->d.objects[0])
    return &self->parent;
  contestant_free (&self->parent);
  g_set_error_literal (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "There is no memory for A and D.");
  return NULL;
}

typedef struct {
  Contestant parent;
  gpointer from, to;
  gsize size;
  GTimer *timer;
} Copy;

static gdouble
run_copy (Contestant *contestant, guint n, GError **error G_GNUC_UNUSED)
{
  Copy *self = (Copy *)contestant;

  g_timer_start (self->timer);
  for (guint i = 0; i < n; i++)
    memcpy (self->to, self->from, self->size);
  return g_timer_elapsed (self->timer, NULL);
}

static void
free_copy (Contestant *contestant)
{
  Copy *self = (Copy *)contestant;

  g_free (self->to);
  g_timer_destroy (self->timer);
  g_free (self);
}

Contestant *
contestant_new_memcpy (gpointer data, gsize size)
{
  Copy *self = g_new0 (Copy, 1);

  self->parent = (Contestant){run_copy, free_copy};
  self->from = data;
  self->to = g_malloc0 (size);
  self->size = size;
  self->timer = g_timer_new ();
  return &self->parent;
}
