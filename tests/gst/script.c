/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "script.h"

#include "arrivals.h"
#include "shape.h"

#include <math.h>
#include <string.h>

#define FRAME (GST_SECOND / 10)

/**
 * Run: of a script
 * @caps: of the next buffer
 * @pushed, @taken: numbers of the next buffer to be pushed, and of the next to arrive
 * @at: the next arrival
 */
typedef struct {
  Stream *stream;
  Arrivals *arrivals;
  gchar *caps;
  guint pushed, taken, at;
} Run;

/* "1 2 80*3" */
static GArray *
parse_numbers (const gchar *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (gdouble));

  for (guint i = 0; words[i]; i++) {
    const gchar *times = strchr (words[i], '*');
    const gdouble value = g_ascii_strtod (times ? times + 1 : words[i], NULL);

    for (guint n = times ? (guint)atoi (words[i]) : 1; *words[i] && n > 0; n--)
      g_array_append_val (numbers, value);
  }
  return numbers;
}

static GstBuffer *
make_buffer (Run *self, const gchar *text, gboolean discont)
{
  g_autoptr (GArray) numbers = parse_numbers (text);
  g_autoptr (GstCaps) caps = gst_caps_from_string (self->caps);
  GstBuffer *buffer;
  Shape shape;

  shape_init (&shape, caps);
  buffer = shape_write (&shape, numbers->len, (gdouble *)numbers->data);
  GST_BUFFER_PTS (buffer) = self->pushed++ * FRAME;
  GST_BUFFER_DURATION (buffer) = FRAME;
  if (discont)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  return buffer;
}

/* The number of memories is that of the tensors. */
static void
assert_numbers (const Arrival *arrival, const gchar *text)
{
  g_autoptr (GArray) expected = parse_numbers (text);
  gint n_tensors = 1;
  gsize n = 0;
  g_autofree gdouble *found = NULL;
  Shape shape;

  gst_structure_get_int (gst_caps_get_structure (arrival->caps, 0), "num_tensors", &n_tensors);
  g_assert_cmpuint (gst_buffer_n_memory (arrival->buffer), ==, (guint)n_tensors);
  shape_init (&shape, arrival->caps);
  found = shape_read (&shape, arrival->buffer, &n);
  g_assert_cmpuint (n, ==, expected->len);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (found[i], g_array_index (expected, gdouble, i),
                                    1e-6 * (1 + fabs (found[i])));
}

/* The next arrival but segments. */
static const Arrival *
get_next (Run *self, gboolean wait)
{
  const Arrival *arrival;

  while (!wait || arrivals_wait (self->arrivals, self->at + 1, FOREVER)) {
    arrival = arrivals_get (self->arrivals, self->at);
    if (!arrival || arrival->kind != ARRIVAL_EVENT ||
        GST_EVENT_TYPE (arrival->event) != GST_EVENT_SEGMENT)
      return arrival;
    self->at++;
  }
  return NULL;
}

static void
take (Run *self, const gchar *text)
{
  const Arrival *arrival = get_next (self, TRUE);
  const gboolean discont = g_str_has_prefix (text, "D ");

  g_assert_nonnull (arrival);
  self->at++;
  if (*text == 'e' || *text == 'E') {
    g_assert_cmpint (arrival->kind, ==, ARRIVAL_EVENT);
    g_assert_cmpint (GST_EVENT_TYPE (arrival->event) == GST_EVENT_EOS, ==, *text == 'E');
    return;
  }
  g_assert_cmpint (arrival->kind, ==, ARRIVAL_BUFFER);
  g_assert_cmpuint (GST_BUFFER_PTS (arrival->buffer), ==, self->taken++ * FRAME);
  g_assert_cmpint (GST_BUFFER_IS_DISCONT (arrival->buffer), ==, discont);
  assert_numbers (arrival, discont ? text + 2 : text);
}

static void
assert_no_more (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  const Arrival *arrival = get_next (self, FALSE);

  if (arrival)
    g_error ("a %s more has arrived", arrival->buffer ? "buffer" : "event");
}

static void
push (Run *self, const gchar *text)
{
  const gboolean discont = g_str_has_prefix (text, "D ");

  stream_push (self->stream, make_buffer (self, discont ? text + 2 : text, discont));
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

  g_assert_cmpint (gst_harness_push (self->stream->harness, make_buffer (self, numbers, FALSE)), ==,
                   GST_FLOW_ERROR);
  stream_assert_message (self->stream, GST_MESSAGE_ERROR, NULL, words);
  self->pushed--;
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
  stream_assert_message (self->stream, GST_MESSAGE_WARNING, NULL, all);
  assert_string (self, name, before);
}

static void
push_mark (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  stream_push_event (self->stream, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
                                                         gst_structure_new_empty ("mark")));
}

static void
push_tag (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  stream_push_event (self->stream, gst_event_new_tag (gst_tag_list_new (GST_TAG_TRACK_NUMBER,
                                                                        self->pushed + 1, NULL)));
}

static void
push_gap (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  stream_push_event (self->stream, gst_event_new_gap (self->pushed * FRAME, FRAME));
}

static void
push_eos (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  stream_push_event (self->stream, gst_event_new_eos ());
}

static void
flush (Run *self, const gchar *unused G_GNUC_UNUSED)
{
  assert_no_more (self, NULL);
  stream_flush (self->stream);
  g_assert_cmpint (get_next (self, FALSE)->kind, ==, ARRIVAL_FLUSH);
  self->at++;
  self->taken = self->pushed;
}

static void
change_caps (Run *self, const gchar *text)
{
  g_free (self->caps);
  self->caps = g_strdup (text);
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
  stream_set_state (self->stream, GST_STATE_PLAYING);
  stream_begin (self->stream, self->caps);
}

static void
wait_a_while (Run *self G_GNUC_UNUSED, const gchar *unused G_GNUC_UNUSED)
{
  g_usleep (300000);
}

static const struct {
  const gchar *word;
  void (*run) (Run *self, const gchar *rest);
} steps[] = {
    {">", take},       {"-", assert_no_more}, {"mark", push_mark},    {"tag", push_tag},
    {"gap", push_gap}, {"eos", push_eos},     {"flush", flush},       {"caps", change_caps},
    {"ready", stop},   {"play", play_again},  {"wait", wait_a_while}, {"refuse", refuse},
    {"fail", fail},
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

static void
script_run (gconstpointer data)
{
  const Script *script = data;
  g_autoptr (Stream) stream = stream_new ("%s", script->elements);
  g_autoptr (Arrivals) arrivals = NULL;
  g_auto (GStrv) texts = g_strsplit (script->steps, ";", -1);
  Run self = {.stream = stream, .caps = g_strdup (script->caps)};

  g_assert_true (stream_play (stream, script->caps, script->output));
  self.arrivals = arrivals = arrivals_new (stream->harness->sinkpad, FALSE);
  for (guint i = 0; texts[i]; i++) {
    g_test_message ("%s", g_strstrip (texts[i]));
    run_step (&self, texts[i]);
  }
  assert_no_more (&self, NULL);
  stream_assert_quiet (stream);
  g_free (self.caps);
}

void
script_add_tests (const Script *scripts, gsize n)
{
  for (gsize i = 0; i < n; i++)
    stream_add_data_test (scripts[i].path, &scripts[i], script_run);
}
