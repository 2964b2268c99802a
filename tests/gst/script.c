/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "script.h"

#include "shape.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <math.h>
#include <string.h>

#define FRAME (GST_SECOND / 10)
#define FLAGS (GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_MARKER)

/** Number: either is right. */
typedef struct {
  gdouble one, other;
} Number;

/** Flush: @buffers, @events: how many had been pushed */
typedef struct {
  guint buffers, events;
} Flush;

/**
 * Run: of a script
 * @maps: as in Script
 * @arrivals: (element-type GstMiniObject): a GstSample for each buffer, with the caps that the pad
 *   had, and events
 * @next: (nullable): the first arrival, taken from there
 * @caps: of the next buffer
 * @buffers: (element-type GstCaps): those of each that was pushed
 * @events: (element-type GstEvent): each that was pushed
 * @late: (element-type GstEvent): tags that were flushed: the pad has them, and may send them yet
 * @flushes: (element-type Flush): those that have not arrived
 * @taken: numbers of the next buffer and of the next event to arrive
 */
typedef struct {
  Stream *stream;
  gboolean maps;
  GAsyncQueue *arrivals;
  GstMiniObject *next;
  GstCaps *caps;
  GPtrArray *buffers, *events, *late;
  GQueue flushes;
  Flush taken;
} Run;

/* "1 2/3 80*4" */
static GArray *
parse_numbers (const gchar *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (Number));

  for (guint i = 0; words[i]; i++) {
    const gchar *times = strchr (words[i], '*');
    gchar *end;
    const gdouble one = g_ascii_strtod (times ? times + 1 : words[i], &end);
    const Number number = {one, *end == '/' ? g_ascii_strtod (end + 1, NULL) : one};

    for (guint n = times ? (guint)atoi (words[i]) : 1; *words[i] && n > 0; n--)
      g_array_append_val (numbers, number);
  }
  return numbers;
}

/* Returns: the flags that @text begins with, and sets it to what is behind them. */
static GstBufferFlags
parse_flags (const gchar **text)
{
  GstBufferFlags flags = 0;

  for (; **text && strchr ("DGM", **text); (*text)++)
    flags |= **text == 'D'   ? GST_BUFFER_FLAG_DISCONT
             : **text == 'G' ? GST_BUFFER_FLAG_GAP
                             : GST_BUFFER_FLAG_MARKER;
  return flags;
}

static GstBuffer *
make_buffer (Run *self, const gchar *text)
{
  const GstBufferFlags flags = parse_flags (&text);
  const guint n = self->buffers->len;
  g_autoptr (GArray) numbers = parse_numbers (text);
  g_autofree gdouble *values = g_new (gdouble, numbers->len);
  GstBuffer *buffer;
  Shape shape;

  for (guint i = 0; i < numbers->len; i++)
    values[i] = g_array_index (numbers, Number, i).one;
  shape_init (&shape, self->caps);
  buffer = numbers->len > 0 ? shape_write (&shape, numbers->len, values) : gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = n * FRAME;
  GST_BUFFER_DTS (buffer) = n * FRAME / 2;
  GST_BUFFER_DURATION (buffer) = FRAME;
  GST_BUFFER_OFFSET (buffer) = n;
  GST_BUFFER_OFFSET_END (buffer) = n + 1;
  GST_BUFFER_FLAG_SET (buffer, flags);
  return buffer;
}

/* Buffers are dropped once they are noted. */
static GstPadProbeReturn
note_arrival (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Run *self = data;
  g_autoptr (GstCaps) caps = NULL;
  GstMapInfo map;

  if (!(info->type & GST_PAD_PROBE_TYPE_BUFFER)) {
    switch (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info))) {
    case GST_EVENT_STREAM_START:
    case GST_EVENT_CAPS:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_FLUSH_START:
      break;
    default:
      g_async_queue_push (self->arrivals, gst_event_ref (GST_PAD_PROBE_INFO_EVENT (info)));
    }
    return GST_PAD_PROBE_OK;
  }
  if (self->maps && gst_buffer_map (GST_PAD_PROBE_INFO_BUFFER (info), &map, GST_MAP_READ))
    gst_buffer_unmap (GST_PAD_PROBE_INFO_BUFFER (info), &map);
  caps = gst_pad_get_current_caps (pad);
  g_async_queue_push (self->arrivals,
                      gst_sample_new (GST_PAD_PROBE_INFO_BUFFER (info), caps, NULL, NULL));
  return GST_PAD_PROBE_DROP;
}

/* Tensors have as many memories and numbers as their caps say. */
static void
assert_numbers (GstBuffer *buffer, const GstCaps *caps, const gchar *text)
{
  g_autoptr (GArray) expected = parse_numbers (text);
  gint n_tensors = 1;
  gsize n = 0;
  g_autofree gdouble *found = NULL;
  Shape shape;

  if (expected->len == 0) {
    g_assert_cmpuint (gst_buffer_get_size (buffer), ==, 0);
    return;
  }
  gst_structure_get_int (gst_caps_get_structure (caps, 0), "num_tensors", &n_tensors);
  g_assert_cmpuint (gst_buffer_n_memory (buffer), ==, (guint)n_tensors);
  shape_init (&shape, caps);
  found = shape_read (&shape, buffer, &n);
  g_assert_nonnull (found);
  g_assert_cmpuint (n, ==, expected->len);
  g_assert_cmpuint (n % shape.columns, ==, 0);
  if (shape.medium == MEDIUM_TENSORS)
    g_assert_cmpuint (n, ==, shape.rows * shape.columns);
  for (gsize i = 0; i < n; i++) {
    const Number number = g_array_index (expected, Number, i);

    if (found[i] != number.other)
      g_assert_cmpfloat_with_epsilon (found[i], number.one, 1e-6 * (1 + fabs (found[i])));
  }
}

/* The rate of the input is that of the output. */
static void
assert_rate (const GstCaps *in, const GstCaps *out)
{
  static const gchar *const kept[] = {"rate", "framerate"};

  for (guint i = 0; i < G_N_ELEMENTS (kept); i++) {
    const GValue *expected = gst_structure_get_value (gst_caps_get_structure (in, 0), kept[i]);
    const GValue *found = gst_structure_get_value (gst_caps_get_structure (out, 0), kept[i]);

    g_assert_true (!expected || (found && gst_value_compare (expected, found) == GST_VALUE_EQUAL));
  }
}

static void
assert_buffer (Run *self, GstSample *sample, const gchar *text)
{
  const GstBufferFlags flags = parse_flags (&text);
  const guint n = self->taken.buffers++;
  GstBuffer *buffer = gst_sample_get_buffer (sample);

  g_assert_cmpuint (GST_BUFFER_PTS (buffer), ==, n * FRAME);
  g_assert_cmpuint (GST_BUFFER_DTS (buffer), ==, n * FRAME / 2);
  g_assert_cmpuint (GST_BUFFER_DURATION (buffer), ==, FRAME);
  g_assert_cmpuint (GST_BUFFER_OFFSET (buffer), ==, n);
  g_assert_cmpuint (GST_BUFFER_OFFSET_END (buffer), ==, n + 1);
  g_assert_cmphex (GST_BUFFER_FLAGS (buffer) & FLAGS, ==, flags);
  assert_rate (g_ptr_array_index (self->buffers, n), gst_sample_get_caps (sample));
  assert_numbers (buffer, gst_sample_get_caps (sample), text);
}

static void
drop_arrival (Run *self)
{
  g_clear_pointer (&self->next, gst_mini_object_unref);
}

static gboolean
is_flush (GstMiniObject *arrival)
{
  return GST_IS_EVENT (arrival) && GST_EVENT_TYPE (arrival) == GST_EVENT_FLUSH_STOP;
}

/* The next arrival but late tags, behind all flushes but the last @n, if it comes within @timeout
 * us. Returns: (nullable) */
static GstMiniObject *
get_next (Run *self, guint n, guint64 timeout)
{
  while (TRUE) {
    if (!self->next)
      self->next = g_async_queue_timeout_pop (self->arrivals, timeout);
    if (self->next && is_flush (self->next) && g_queue_get_length (&self->flushes) > n) {
      g_autofree Flush *flush = g_queue_pop_head (&self->flushes);

      self->taken = *flush;
    } else if (!self->next || !g_ptr_array_find (self->late, self->next, NULL)) {
      return self->next;
    }
    drop_arrival (self);
  }
}

static void
assert_arrival (Run *self, const gchar *text)
{
  if (*text != 'e' && *text != 'E') {
    g_assert_true (GST_IS_SAMPLE (self->next));
    assert_buffer (self, GST_SAMPLE (self->next), text);
  } else {
    g_assert_true (GST_IS_EVENT (self->next));
    g_assert_cmpint (GST_EVENT_TYPE (self->next) == GST_EVENT_EOS, ==, *text == 'E');
    g_assert_true (self->next == g_ptr_array_index (self->events, self->taken.events++));
  }
  drop_arrival (self);
}

static void
take (Run *self, const gchar *text)
{
  g_assert_nonnull (get_next (self, 0, FOREVER));
  assert_arrival (self, text);
}

static void
take_unless_flushed (Run *self, const gchar *text)
{
  GstMiniObject *arrival = get_next (self, 1, 0);

  if (arrival && !is_flush (arrival)) {
    assert_arrival (self, text);
  } else if (*text == 'e') {
    GstEvent *event = g_ptr_array_index (self->events, self->taken.events++);

    if (GST_EVENT_TYPE (event) == GST_EVENT_TAG)
      g_ptr_array_add (self->late, event);
  }
}

static void
assert_no_more (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  GstMiniObject *arrival = get_next (self, 0, 0);

  if (arrival)
    g_error ("a %s more has arrived", GST_IS_SAMPLE (arrival) ? "buffer" : "event");
}

static void
push (Run *self, const gchar *text)
{
  GstBuffer *buffer = make_buffer (self, text);

  g_ptr_array_add (self->buffers, gst_caps_ref (self->caps));
  stream_push (self->stream, buffer);
}

/* Returns: the words before the first blank, with theirs, and sets @rest to what is behind it. */
static gchar *
split_words (const gchar *text, const gchar **rest)
{
  const gchar *blank = strchr (text, ' ');

  g_assert_nonnull (blank);
  *rest = blank + 1;
  return g_strdelimit (g_strndup (text, (gsize)(blank - text)), "|", ' ');
}

static void
fail (Run *self, const gchar *text)
{
  const gchar *numbers;
  g_autofree gchar *words = split_words (text, &numbers);

  g_assert_cmpint (gst_harness_push (self->stream->harness, make_buffer (self, numbers)), ==,
                   GST_FLOW_ERROR);
  stream_assert_message (self->stream, GST_MESSAGE_ERROR, words);
}

static void
set (Run *self, const gchar *text)
{
  g_auto (GStrv) parts = g_strsplit (text, "=", 2);

  g_assert_nonnull (parts[1]);
  gst_util_set_object_arg (G_OBJECT (stream_get (self->stream, "a")), parts[0], parts[1]);
}

static void
assert_string (Run *self, const gchar *name, const gchar *expected)
{
  g_autofree gchar *found = NULL;

  g_object_get (stream_get (self->stream, "a"), name, &found, NULL);
  g_assert_cmpstr (found, ==, expected);
}

/* The same; an operand that is taken reads back. */
static void
change (Run *self, const gchar *text)
{
  g_auto (GStrv) parts = g_strsplit (text, "=", 2);

  set (self, text);
  if (*parts[1] == '[')
    assert_string (self, parts[0], parts[1]);
}

static void
refuse (Run *self, const gchar *text)
{
  const gchar *setting;
  g_autofree gchar *words = split_words (text, &setting), *before = NULL;
  g_autofree gchar *name = g_strndup (setting, strcspn (setting, "="));
  g_autofree gchar *all = g_strdup_printf ("The new %s|the old one stays|%s", name, words);

  g_object_get (stream_get (self->stream, "a"), name, &before, NULL);
  set (self, setting);
  stream_assert_message (self->stream, GST_MESSAGE_WARNING, all);
  assert_string (self, name, before);
}

/* Pushes @event (transfer full). */
static void
push_event (Run *self, GstEvent *event)
{
  g_ptr_array_add (self->events, gst_event_ref (event));
  stream_push_event (self->stream, event);
}

static void
push_mark (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  push_event (self,
              gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("mark")));
}

static void
push_tag (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  push_event (self, gst_event_new_tag (
                        gst_tag_list_new (GST_TAG_TRACK_NUMBER, self->buffers->len + 1, NULL)));
}

static void
push_gap (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  push_event (self, gst_event_new_gap (self->buffers->len * FRAME, FRAME));
}

static void
push_eos (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  push_event (self, gst_event_new_eos ());
}

static void
push_segment (Run *self, const gchar *number)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.position = self->buffers->len * FRAME;
  segment.time = (guint64)atoi (number) * FRAME;
  stream_push_event (self->stream, gst_event_new_segment (&segment));
}

static void
flush (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  const Flush here = {self->buffers->len, self->events->len};

  g_queue_push_tail (&self->flushes, g_memdup2 (&here, sizeof here));
  stream_flush (self->stream);
}

static void
change_caps (Run *self, const gchar *text)
{
  gst_clear_caps (&self->caps);
  self->caps = gst_caps_from_string (text);
  g_assert_true (stream_push_caps (self->stream, text));
}

static void
stop (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  stream_set_state (self->stream, GST_STATE_READY);
}

static void
play_again (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  g_autofree gchar *caps = gst_caps_to_string (self->caps);

  stream_set_state (self->stream, GST_STATE_PLAYING);
  stream_begin (self->stream, caps);
}

static void
wait_a_while (Run *self G_GNUC_UNUSED, const gchar *number)
{
  g_usleep (1000 * (gulong)atoi (number));
}

static void
control (Run *self, const gchar *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstObject *element = GST_OBJECT (stream_get (self->stream, "a"));

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_NONE, NULL);
  for (guint i = 1; words[i]; i++)
    gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source), (i - 1) * FRAME,
                                        g_ascii_strtod (words[i], NULL));
  g_assert_true (gst_object_add_control_binding (
      element, gst_direct_control_binding_new_absolute (element, words[0], source)));
  gst_object_unref (source);
}

static const struct {
  const gchar *word;
  void (*run) (Run *self, const gchar *rest);
} steps[] = {
    {">", take},       {"-", assert_no_more},      {"mark", push_mark},       {"tag", push_tag},
    {"gap", push_gap}, {"eos", push_eos},          {"flush", flush},          {"caps", change_caps},
    {"ready", stop},   {"play", play_again},       {"wait", wait_a_while},    {"refuse", refuse},
    {"fail", fail},    {"?", take_unless_flushed}, {"segment", push_segment}, {"control", control},
};

static void
run_step (Run *self, const gchar *text)
{
  const gsize length = strcspn (text, " ");
  g_autofree gchar *word = g_strndup (text, length);

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    if (g_str_equal (word, steps[i].word)) {
      steps[i].run (self, text + length + (text[length] == ' '));
      return;
    }
  if (strchr (word, '='))
    change (self, text);
  else
    push (self, text);
}

void
script_run (const Script *script)
{
  g_autoptr (Stream) stream = stream_new ("%s", script->elements);
  g_autoptr (GAsyncQueue) arrivals = g_async_queue_new_full ((GDestroyNotify)gst_mini_object_unref);
  g_autoptr (GPtrArray) buffers = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_caps_unref);
  g_autoptr (GPtrArray) events = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_event_unref);
  g_autoptr (GPtrArray) late = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) texts = g_strsplit (script->steps, ";", -1);
  Run self = {.stream = stream,
              .maps = script->maps,
              .arrivals = arrivals,
              .buffers = buffers,
              .events = events,
              .late = late};
  gulong probe;

  self.caps = gst_caps_from_string (script->caps);
  g_assert_true (stream_play (stream, script->caps, script->output));
  probe = gst_pad_add_probe (stream->harness->sinkpad,
                             GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                                 GST_PAD_PROBE_TYPE_EVENT_FLUSH,
                             note_arrival, &self, NULL);
  for (guint i = 0; texts[i]; i++) {
    g_strstrip (texts[i]);
    if (!script->is_random || g_getenv ("GEMMCL_TEST_STREAM"))
      g_test_message ("%s", texts[i]);
    run_step (&self, texts[i]);
  }
  assert_no_more (&self, NULL);
  if (script->is_random)
    error = stream_pop_message (stream, GST_MESSAGE_ERROR);
  else
    stream_assert_quiet (stream);
  g_assert_no_error (error);
  gst_pad_remove_probe (stream->harness->sinkpad, probe);
  drop_arrival (&self);
  gst_clear_caps (&self.caps);
}

static void
run_script (gconstpointer script)
{
  script_run (script);
}

void
script_add_tests (const Script *scripts, gsize n)
{
  for (gsize i = 0; i < n; i++)
    stream_add_data_test (scripts[i].path, &scripts[i], run_script);
}
