/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "arrivals.h"
#include "feed.h"

/* Random streams: whatever comes between which buffers, each comes out once, right, in its place.
 *
 * GLib prints the seed that they follow from; --seed repeats it. GEMMCL_TEST_STREAMS is how many
 * there are, and GEMMCL_TEST_STREAM the seed of a single one, as a failure names it. */

#define DEFAULT_STREAMS 2000
#define BRIEF_STREAMS   80
#define MAX_PRINTED     5

/* A walk along what was pushed and what arrived. */
typedef struct {
  GPtrArray *items;
  Arrivals *arrivals;
  guint item, arrival;
  guint dropped; /* the first item that the last flush dropped */
} Walk;

static Item *
get_item (const Walk *self, guint index)
{
  return index < self->items->len ? g_ptr_array_index (self->items, index) : NULL;
}

/* A flush may drop what is before it and was not sent yet, but not what is before EOS. */
static gboolean
skip_dropped (Walk *self)
{
  const guint first = self->item;

  for (; get_item (self, self->item); self->item++) {
    const Item *item = get_item (self, self->item);

    if (item->kind == ITEM_EVENT && GST_EVENT_TYPE (item->event) == GST_EVENT_EOS)
      break;
    if (item->kind == ITEM_FLUSH) {
      self->dropped = first;
      return TRUE;
    }
  }
  self->item = first;
  return FALSE;
}

/* Sticky events are the pad's, and may come after a flush that dropped them. */
static gboolean
is_late_tag (const Walk *self, const Arrival *arrival)
{
  if (arrival->kind != ARRIVAL_EVENT || GST_EVENT_TYPE (arrival->event) != GST_EVENT_TAG)
    return FALSE;
  for (guint i = self->dropped; i < self->item; i++) {
    const Item *item = get_item (self, i);

    if (item->kind == ITEM_EVENT && item->event == arrival->event)
      return TRUE;
  }
  return FALSE;
}

static gchar *
check_caps (const Item *item, const GstCaps *caps, const Shape *in, const Shape *out)
{
  static const gchar *const kept[] = {"rate", "framerate", NULL};
  const GstStructure *from = gst_caps_get_structure (item->caps, 0);
  const GstStructure *to = gst_caps_get_structure (caps, 0);
  gboolean right = out->columns == item->n && out->rows == in->rows &&
                   (out->medium == in->medium ? out->type == in->type
                                              : out->medium == MEDIUM_TENSORS &&
                                                    in->medium == MEDIUM_VIDEO && item->n == 2);

  for (guint i = 0; kept[i]; i++)
    right = right && (!gst_structure_has_field (from, kept[i]) ||
                      gst_value_compare (gst_structure_get_value (from, kept[i]),
                                         gst_structure_get_value (to, kept[i])) == GST_VALUE_EQUAL);
  return right ? NULL
               : g_strdup_printf ("N=%" G_GSIZE_FORMAT " of %" GST_PTR_FORMAT
                                  " left as %" GST_PTR_FORMAT,
                                  item->n, item->caps, caps);
}

static gchar *
check_metadata (const Item *item, GstBuffer *output)
{
  const guint mask = GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_MARKER;
  const guint kept = item->keeps_gap ? mask : mask & ~(guint)GST_BUFFER_FLAG_GAP;
  const guint expected = GST_BUFFER_FLAGS (item->buffer) & kept;
  const guint flags = GST_BUFFER_FLAGS (output) & mask;

  if (GST_BUFFER_PTS (output) != GST_BUFFER_PTS (item->buffer))
    return g_strdup_printf ("the buffer at %" GST_TIME_FORMAT " came",
                            GST_TIME_ARGS (GST_BUFFER_PTS (output)));
  if (GST_BUFFER_DTS (output) != GST_BUFFER_DTS (item->buffer) ||
      GST_BUFFER_DURATION (output) != GST_BUFFER_DURATION (item->buffer) ||
      GST_BUFFER_OFFSET (output) != GST_BUFFER_OFFSET (item->buffer) ||
      GST_BUFFER_OFFSET_END (output) != GST_BUFFER_OFFSET_END (item->buffer))
    return g_strdup ("dts, duration or offsets are others");
  if (flags != expected)
    return g_strdup_printf ("flags are %#x, expected %#x (DISCONT %#x, GAP %#x, MARKER %#x)", flags,
                            expected, GST_BUFFER_FLAG_DISCONT, GST_BUFFER_FLAG_GAP,
                            GST_BUFFER_FLAG_MARKER);
  return NULL;
}

static gchar *
check_numbers (const Item *item, GstBuffer *output, const Shape *out)
{
  gsize n = 0;
  g_autofree gdouble *found = shape_read (out, output, &n);

  if (!found)
    return g_strdup ("the output cannot be mapped");
  if (n != item->results[0]->len)
    return g_strdup_printf ("%zu numbers came, not %u", n, item->results[0]->len);
  for (gsize i = 0; i < n; i++) {
    const gdouble one = feed_store (out->type, g_array_index (item->results[0], gdouble, i));
    const gdouble other = feed_store (out->type, g_array_index (item->results[1], gdouble, i));

    if (found[i] != one && found[i] != other)
      return g_strdup_printf ("number %zu is %g, expected %g or %g: N=%zu", i, found[i], one, other,
                              item->n);
  }
  return NULL;
}

static gchar *
check_buffer (const Item *item, const Arrival *arrival)
{
  Shape in, out;
  gchar *wrong;

  shape_init (&in, item->caps);
  shape_init (&out, arrival->caps);
  wrong = check_metadata (item, arrival->buffer);
  if (!wrong)
    wrong = check_caps (item, arrival->caps, &in, &out);
  if (!wrong && gst_buffer_get_size (item->buffer) > 0)
    wrong = check_numbers (item, arrival->buffer, &out);
  else if (!wrong && gst_buffer_get_size (arrival->buffer) > 0)
    wrong = g_strdup ("something came of nothing");
  return wrong;
}

/* Compares the next item with what arrived, and goes on. */
static gchar *
check_next (Walk *self)
{
  const Item *item = get_item (self, self->item);
  const Arrival *arrival = arrivals_get (self->arrivals, self->arrival);

  if (item && (!arrival || (arrival->kind == ARRIVAL_FLUSH && item->kind != ITEM_FLUSH)))
    return skip_dropped (self) ? NULL : g_strdup ("it is lost");
  self->arrival++;
  if (!item)
    return g_strdup ("there is more than that");
  if (is_late_tag (self, arrival))
    return NULL;
  self->item++;
  if ((guint)item->kind != (guint)arrival->kind)
    return g_strdup ("something else came instead");
  if (item->kind == ITEM_BUFFER)
    return check_buffer (item, arrival);
  if (item->kind == ITEM_EVENT && item->event != arrival->event)
    return g_strdup_printf ("another event, %s, came", GST_EVENT_TYPE_NAME (arrival->event));
  return NULL;
}

/* Returns: (nullable): the first thing that is wrong. */
static gchar *
check_arrivals (GPtrArray *items, Arrivals *arrivals)
{
  Walk walk = {.items = items, .arrivals = arrivals};
  g_autofree gchar *wrong = NULL;
  guint at = 0;

  while (!wrong && (get_item (&walk, walk.item) || arrivals_get (arrivals, walk.arrival))) {
    at = walk.item;
    wrong = check_next (&walk);
  }
  return wrong ? g_strdup_printf ("item %u: %s", at, wrong) : NULL;
}

/* Returns: whether nothing was wrong. */
static gboolean
run_stream (guint32 seed, gboolean print)
{
  g_autoptr (Feed) feed = feed_new (seed);
  g_autoptr (Arrivals) arrivals = arrivals_new (feed->stream->harness->sinkpad, seed % 2);
  g_autofree gchar *wrong = feed_run (feed), *came = NULL;
  g_autoptr (GError) error = stream_pop_message (feed->stream, GST_MESSAGE_ERROR);

  if (!wrong && error)
    wrong = g_strdup ("an error was posted");
  if (!wrong)
    wrong = check_arrivals (feed->items, arrivals);
  if (wrong && print) {
    came = arrivals_print (arrivals);
    g_test_message ("GEMMCL_TEST_STREAM=%u: %s%s%s\n  in: %s\n  out: %s", seed, wrong,
                    error ? ": " : "", error ? error->message : "", feed->script->str, came);
  }
  return !wrong;
}

static guint
get_count (void)
{
  const gchar *count = g_getenv ("GEMMCL_TEST_STREAMS");

  if (count)
    return (guint)strtoul (count, NULL, 10);
  return g_getenv ("GEMMCL_TEST_BRIEF") ? BRIEF_STREAMS : DEFAULT_STREAMS;
}

static void
test_random (void)
{
  const gchar *single = g_getenv ("GEMMCL_TEST_STREAM");
  const guint n = single ? 1 : get_count ();
  guint n_wrong = 0;

  for (guint i = 0; i < n; i++) {
    const guint32 seed = single ? (guint32)strtoul (single, NULL, 10) : (guint32)g_test_rand_int ();

    if (!run_stream (seed, n_wrong < MAX_PRINTED))
      n_wrong++;
  }
  g_test_message ("%u of %u streams were wrong", n_wrong, n);
  if (n_wrong > 0)
    g_test_fail ();
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/streams/random", test_random);
  return g_test_run ();
}
