/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "stream.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <gst/app/gstappsrc.h>
#include <stdio.h>

#define TIMEOUT_S     120
#define QUEUE_BUFFERS "2"

typedef struct {
  Contestant parent;
  GstElement *pipeline;
  GstBuffer *buffer;

  GMutex lock;
  GCond changed;
  guint left;    /* buffers that the source still sends */
  guint awaited; /* buffers that the sink still waits for */
  gboolean ending;
} Pipeline;

/* Called in the source's thread when it needs a buffer. */
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

/* Maps a result, which waits for it. */
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
    self->parent.end = g_get_monotonic_time ();
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

static gboolean
run_pipeline (Contestant *contestant, guint n, GError **error)
{
  Pipeline *self = (Pipeline *)contestant;
  const gint64 end = g_get_monotonic_time () + TIMEOUT_S * G_TIME_SPAN_SECOND;
  gboolean done, late = FALSE;

  g_mutex_lock (&self->lock);
  self->left = self->awaited = n;
  g_cond_broadcast (&self->changed);
  while (self->awaited > 0 && !late) {
    g_cond_wait_until (&self->changed, &self->lock, g_get_monotonic_time () + G_TIME_SPAN_SECOND);
    late = g_get_monotonic_time () > end || has_failed (self);
  }
  done = self->awaited == 0;
  g_mutex_unlock (&self->lock);
  if (!done)
    take_message (self, error);
  return done;
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

#define LINE                                                                                       \
  "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=1280,height=720 ! gemmcl "            \
  "%s weight=[[.5,.2,.1],[.3,.5,.2],[.2,.3,.7]] ! fakesink sync=false"
#define WARM_RUNS 9
#define GOAL_S    0.1

gint
first_buffer_run (const gchar *properties)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GTimer) timer = NULL;
  g_autofree gchar *line = g_strdup_printf (LINE, properties);
  g_autoptr (GstElement) pipeline = gst_parse_launch (line, &error);
  g_autoptr (GstBus) bus = NULL;
  g_autoptr (GstMessage) message = NULL;
  gdouble ready, done;
  gint status;

  if (!pipeline) {
    g_printerr ("%s\n", error->message);
    return FAILED;
  }
  timer = g_timer_new ();
  gst_element_set_state (pipeline, GST_STATE_READY);
  ready = g_timer_elapsed (timer, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  bus = gst_element_get_bus (pipeline);
  message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  done = g_timer_elapsed (timer, NULL);
  status = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS ? PASSED : FAILED;
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_print ("%.6f %.6f\n", ready, done);
  return status;
}

static int
remove_one (const char *path, const struct stat *info G_GNUC_UNUSED, int type G_GNUC_UNUSED,
            struct FTW *where G_GNUC_UNUSED)
{
  return g_remove (path);
}

static gboolean
measure (const gchar *properties, const gchar *cache, gdouble *ready, gdouble *done)
{
  gchar *command[] = {(gchar *)"/proc/self/exe", (gchar *)"--first-buffer", (gchar *)"--properties",
                      (gchar *)properties, NULL};
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "XDG_CACHE_HOME", cache, TRUE);
  g_autofree gchar *pocl = g_build_filename (cache, "pocl", NULL), *program = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;
  gint status = 0;

  environment = g_environ_setenv (environment, "POCL_CACHE_DIR", pocl, TRUE);
  program = g_file_read_link (command[0], &error);
  command[0] = program;
  if (program &&
      g_spawn_sync (NULL, command, environment, G_SPAWN_DEFAULT, NULL, NULL, &text, NULL, &status,
                    &error) &&
      g_spawn_check_wait_status (status, &error) && sscanf (text, "%lf %lf", ready, done) == 2)
    return TRUE;
  g_printerr ("The first buffer: %s\n", error ? error->message : text);
  return FALSE;
}

static gboolean
measure_both (const gchar *properties, const gchar *cache, json_t *list)
{
  gdouble ready[WARM_RUNS], done[WARM_RUNS], cold_ready, cold_done;
  gdouble warm_ready, warm_done;
  const gchar *verdict;

  if (!measure (properties, cache, &cold_ready, &cold_done))
    return FALSE;
  for (guint i = 0; i < WARM_RUNS; i++)
    if (!measure (properties, cache, &ready[i], &done[i]))
      return FALSE;
  warm_ready = turns_quantile (ready, WARM_RUNS, 0.5);
  warm_done = turns_quantile (done, WARM_RUNS, 0.5);
  verdict = warm_done < GOAL_S ? "met" : "missed";
  g_print ("first buffer, caches empty: %.0f ms, %.0f of them for the device; filled: %.0f ms, "
           "%.0f of them for the device (median of %d); < %.0f ms %s\n",
           cold_done * 1e3, cold_ready * 1e3, warm_done * 1e3, warm_ready * 1e3, WARM_RUNS,
           GOAL_S * 1e3, verdict);
  json_array_append_new (list,
                         json_pack ("{s:s, s:f, s:f, s:f, s:f, s:s}", "case", "first buffer",
                                    "cold_s", cold_done, "cold_device_s", cold_ready, "warm_s",
                                    warm_done, "warm_device_s", warm_ready, "verdict", verdict));
  return TRUE;
}

gboolean
first_buffer_report (const gchar *properties, json_t *list)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *cache = g_dir_make_tmp ("gemmcl-XXXXXX", &error);
  gboolean ok;

  if (!cache) {
    g_printerr ("%s\n", error->message);
    return FALSE;
  }
  ok = measure_both (properties, cache, list);
  nftw (cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  return ok;
}
