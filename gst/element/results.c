/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/results.h"

#include "element/element.h"
#include "element/labels.h"

/* The most elements in a message: rows times the best elements of each */
#define MAX_ELEMENTS 4096
/* The streaming thread waits while more messages are due. */
#define MAX_DUE 1024

/* A message that is due. */
typedef struct {
  GstMemory *rows;   /* row outputs, with a lock that makes others who write them copy them */
  gsize header_size; /* before the row outputs */
  guint m;           /* rows of D */
  GstGemmclBest best;
  GPtrArray *labels; /* (nullable) */
  GstClockTime pts, duration, stream_time, running_time;
} Result;

static void
result_free (Result *self)
{
  gst_memory_unlock (self->rows, GST_LOCK_FLAG_EXCLUSIVE);
  gst_memory_unref (self->rows);
  g_clear_pointer (&self->labels, g_ptr_array_unref);
  g_free (self);
}

void
gst_gemmcl_results_init (GstGemmclResults *self)
{
  self->last = GST_CLOCK_TIME_NONE;
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  g_queue_init (&self->due);
}

void
gst_gemmcl_results_clear (GstGemmclResults *self)
{
  g_free (self->source);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
}

GstGemmclBest
gst_gemmcl_best_find (const GemmclGemm *gemm)
{
  const guint flags = gemm->row_outputs;
  const guint sum = !!(flags & GEMMCL_ROW_SUM), max = !!(flags & GEMMCL_ROW_MAX);
  const guint arg_max = !!(flags & GEMMCL_ROW_ARG_MAX), first = sum + max + arg_max;
  GstGemmclBest best = {.stride = gemmcl_gemm_count_row_outputs (gemm), .values = -1};

  if (flags & GEMMCL_ROW_TOP_K) {
    best.n = gemm->top_k;
    best.values = (gint)first;
    best.columns = first + gemm->top_k;
  } else if (arg_max) {
    best.n = 1;
    best.values = max ? (gint)sum : -1;
    best.columns = sum + max;
  }
  return best;
}

/* Replaces the property, and the loaded labels by @labels, (transfer full) (nullable). */
static void
store (GstGemmcl *self, const gchar *source, GPtrArray *labels)
{
  GstGemmclResults *results = &self->results;
  g_autofree gchar *old_source = NULL;
  g_autoptr (GPtrArray) old = NULL;

  GST_OBJECT_LOCK (self);
  old_source = results->source;
  results->source = source && *source ? g_strdup (source) : NULL;
  old = results->labels;
  results->labels = labels;
  GST_OBJECT_UNLOCK (self);
}

gchar *
gst_gemmcl_results_get_source (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  return g_strdup (self->results.source);
}

GPtrArray *
gst_gemmcl_results_get_labels (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  return self->results.labels ? g_ptr_array_ref (self->results.labels) : NULL;
}

gboolean
gst_gemmcl_results_open_labels (GstGemmcl *self, GError **error)
{
  g_autofree gchar *source = gst_gemmcl_results_get_source (self);
  GPtrArray *labels = NULL;

  if (source && !(labels = gst_gemmcl_labels_load (source, error)))
    return FALSE;
  store (self, source, labels);
  return TRUE;
}

void
gst_gemmcl_results_close_labels (GstGemmcl *self)
{
  g_autofree gchar *source = gst_gemmcl_results_get_source (self);

  store (self, source, NULL);
}

GPtrArray *
gst_gemmcl_results_get_fitting_labels (const GstGemmclRun *run)
{
  return run->labels && run->labels->len == run->problem->gemm.n ? run->labels : NULL;
}

gsize
gst_gemmcl_results_count_rows (const GstGemmclRun *run, GstMemory *rows)
{
  const gsize size = gst_memory_get_sizes (rows, NULL, NULL);

  return (size - gst_gemmcl_stream_get_header_size (run->stream)) /
         (gemmcl_gemm_count_row_outputs (&run->problem->gemm) * sizeof (gfloat));
}

gboolean
gst_gemmcl_results_check (const GstGemmclSettings *settings, const GPtrArray *labels, gsize n,
                          GError **error)
{
  const gchar *const name = labels ? "labels" : "post-messages=true";

  if ((labels || settings->post_messages) && gst_gemmcl_best_find (&settings->gemm).n == 0)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "%s needs the best elements of rows, but row-outputs has neither "
                            "arg-max nor top-k. Expected row-outputs=top-k, for example.",
                            name);
  return !labels || labels->len == n ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "labels has %u label%s. Expected %zu, one for each column of D: N of the "
                          "weight.",
                          labels->len, labels->len == 1 ? "" : "s", n);
}

/* Checks @labels against what is streaming, if anything is. */
static gboolean
check_stream (GstGemmcl *self, const GPtrArray *labels, GError **error)
{
  GstGemmclSettings settings;
  gboolean started;
  gsize n;

  g_mutex_lock (&self->lock);
  started = self->stream.started;
  settings = self->stream.settings;
  n = gst_gemmcl_operands_get_next_n (self);
  g_mutex_unlock (&self->lock);
  return !started || gst_gemmcl_results_check (&settings, labels, n, error);
}

void
gst_gemmcl_results_set_labels (GstGemmcl *self, const gchar *text)
{
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GPtrArray) labels = NULL;
  g_autoptr (GError) error = NULL;

  g_mutex_lock (&self->operands.change_lock);
  context = gst_gemmcl_sharing_get_context (&self->sharing);
  if (!context || !text || !*text)
    store (self, text, NULL);
  else if ((labels = gst_gemmcl_labels_load (text, &error)) && check_stream (self, labels, &error))
    store (self, text, g_steal_pointer (&labels));
  g_mutex_unlock (&self->operands.change_lock);
  if (error)
    gst_gemmcl_post (self, GST_MESSAGE_WARNING, "The new labels are refused and the old ones stay.",
                     error);
}

/* Returns: (transfer full): the message's structure. @rows: the row outputs. */
static GstStructure *
describe (const Result *self, const gfloat *rows)
{
  const GstGemmclBest *best = &self->best;
  const guint size = self->m * best->n;
  g_auto (GValue) row = G_VALUE_INIT, index = G_VALUE_INIT, label = G_VALUE_INIT;
  g_auto (GValue) value = G_VALUE_INIT;
  g_auto (GValue) number = G_VALUE_INIT, text = G_VALUE_INIT, real = G_VALUE_INIT;
  GstStructure *structure =
      gst_structure_new ("gemmcl-result", "timestamp", G_TYPE_UINT64, self->pts, "stream-time",
                         G_TYPE_UINT64, self->stream_time, "running-time", G_TYPE_UINT64,
                         self->running_time, "duration", G_TYPE_UINT64, self->duration, NULL);

  gst_value_array_init (&row, size);
  gst_value_array_init (&index, size);
  gst_value_array_init (&label, size);
  gst_value_array_init (&value, size);
  g_value_init (&number, G_TYPE_UINT);
  g_value_init (&text, G_TYPE_STRING);
  g_value_init (&real, G_TYPE_FLOAT);
  for (guint i = 0; i < self->m; i++, rows += best->stride)
    for (guint j = 0; j < best->n; j++) {
      const guint column = (guint)rows[best->columns + j];

      g_value_set_uint (&number, i);
      gst_value_array_append_value (&row, &number);
      g_value_set_uint (&number, column);
      gst_value_array_append_value (&index, &number);
      if (self->labels) {
        g_value_set_static_string (&text, g_ptr_array_index (self->labels, column));
        gst_value_array_append_value (&label, &text);
      }
      if (best->values >= 0) {
        g_value_set_float (&real, rows[(guint)best->values + j]);
        gst_value_array_append_value (&value, &real);
      }
    }
  gst_structure_take_value (structure, "row", &row);
  gst_structure_take_value (structure, "index", &index);
  if (self->labels)
    gst_structure_take_value (structure, "label", &label);
  if (best->values >= 0)
    gst_structure_take_value (structure, "value", &value);
  return structure;
}

/* Waits for the result and posts its message. The error of a run that failed is posted where that
 * run is finished. */
static void
post (GstElement *element, const Result *result)
{
  GstMapInfo map;
  GstStructure *structure;

  if (!gst_memory_map (result->rows, &map, GST_MAP_READ)) {
    GST_DEBUG_OBJECT (element, "a result has no message: it cannot be read");
    return;
  }
  structure = describe (result, (const gfloat *)(map.data + result->header_size));
  gst_memory_unmap (result->rows, &map);
  gst_element_post_message (element, gst_message_new_element (GST_OBJECT (element), structure));
}

/* Posts the messages that are due. Runs in a thread of GStreamer's pool until none is left. */
static void
post_due (GstElement *element, gpointer data G_GNUC_UNUSED)
{
  GstGemmclResults *self = &GST_GEMMCL (element)->results;
  Result *result;

  do {
    g_mutex_lock (&self->lock);
    result = g_queue_pop_head (&self->due);
    self->is_posting = result != NULL;
    g_cond_broadcast (&self->changed);
    g_mutex_unlock (&self->lock);
    if (result) {
      post (element, result);
      result_free (result);
    }
  } while (result);
}

/* Takes @result. */
static void
add (GstGemmcl *element, Result *result)
{
  GstGemmclResults *self = &element->results;
  gboolean starts;

  g_mutex_lock (&self->lock);
  while (self->due.length >= MAX_DUE)
    g_cond_wait (&self->changed, &self->lock);
  g_queue_push_tail (&self->due, result);
  starts = !self->is_posting;
  self->is_posting = TRUE;
  g_mutex_unlock (&self->lock);
  if (starts)
    gst_element_call_async (GST_ELEMENT (element), post_due, NULL, NULL);
}

/* TRUE if message-interval is over at @pts or, without that, by the clock of the system. */
static gboolean
is_time (GstGemmclResults *self, GstClockTime interval, GstClockTime pts)
{
  const GstClockTime now =
      GST_CLOCK_TIME_IS_VALID (pts) ? pts : (GstClockTime)g_get_monotonic_time () * GST_USECOND;

  if (GST_CLOCK_TIME_IS_VALID (self->last) && now >= self->last && now - self->last < interval)
    return FALSE;
  self->last = now;
  return TRUE;
}

/* Warns once in a stream of results that are too large. */
static void
warn_of_size (GstGemmcl *self, gsize m, guint n)
{
  g_autoptr (GError) error = NULL;

  if (self->results.warned)
    return;
  self->results.warned = TRUE;
  gst_gemmcl_fail (&error, GEMMCL_ERROR_TOO_LARGE,
                   "A result has %zu rows with the %u best elements of each. Expected at most %d "
                   "elements in all for a message: use a smaller top-k, or post-messages=false.",
                   m, n, MAX_ELEMENTS);
  gst_gemmcl_post (self, GST_MESSAGE_WARNING, "Results have no messages.", error);
}

/* Returns: (transfer full): a result whose buffer is @pushed. */
static Result *
result_new (GstGemmcl *self, const GstGemmclRun *run, GstBuffer *output, GstBuffer *pushed)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  const gboolean has_time = segment->format == GST_FORMAT_TIME;
  const GstClockTime pts = GST_BUFFER_PTS (pushed);
  Result *result = g_new (Result, 1);
  GPtrArray *labels;

  *result = (Result){
      .rows = gst_gemmcl_output_get_rows (run, output),
      .header_size = gst_gemmcl_stream_get_header_size (run->stream),
      .best = gst_gemmcl_best_find (&run->problem->gemm),
      .pts = pts,
      .duration = GST_BUFFER_DURATION (pushed),
      .stream_time = has_time ? gst_segment_to_stream_time (segment, GST_FORMAT_TIME, pts)
                              : GST_CLOCK_TIME_NONE,
      .running_time = has_time ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, pts)
                               : GST_CLOCK_TIME_NONE,
  };
  gst_memory_lock (result->rows, GST_LOCK_FLAG_EXCLUSIVE);
  labels = gst_gemmcl_results_get_fitting_labels (run);
  result->labels = labels ? g_ptr_array_ref (labels) : NULL;
  return result;
}

void
gst_gemmcl_results_add (GstGemmcl *self, const GstGemmclRun *run, GstBuffer *output,
                        GstBuffer *pushed)
{
  const GstGemmclSettings *settings = &run->stream->settings;
  Result *result;
  gsize m;

  if (!settings->post_messages || gst_buffer_n_memory (output) == 0 ||
      !is_time (&self->results, (GstClockTime)settings->message_interval, GST_BUFFER_PTS (pushed)))
    return;
  result = result_new (self, run, output, pushed);
  m = gst_gemmcl_results_count_rows (run, result->rows);
  if (m > MAX_ELEMENTS / result->best.n) {
    warn_of_size (self, m, result->best.n);
    result_free (result);
    return;
  }
  result->m = (guint)m;
  add (self, result);
}

void
gst_gemmcl_results_finish (GstGemmcl *element)
{
  GstGemmclResults *self = &element->results;

  g_mutex_lock (&self->lock);
  while (self->is_posting)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
  self->last = GST_CLOCK_TIME_NONE;
  self->warned = FALSE;
}
