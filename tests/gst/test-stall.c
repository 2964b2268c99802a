/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/base/gstbasetransform.h>
#include <glib/gstdio.h>

#include "../lib/files.h"
#include "arrivals.h"
#include "stream.h"

/* A weight is swapped while a stream plays: each output is of one weight, and comes in time. The
 * test checks the outputs; the benchmark, -m perf, also the time between them. Other programs may
 * disturb a round, so that the best of several counts. */

#define MS G_TIME_SPAN_MILLISECOND

/* Frames a second, of which each is computed in a fraction of its time. */
#define SIZE        4096
#define RATE        20
#define FRAME       (G_TIME_SPAN_SECOND / RATE)
#define MAX_ROUNDS  10
#define SWAP_FRAMES 30
#define MOST_LONGER 1.5
/* Between two swaps: as fast as they can, they would take a processor's time from the device. */
#define REST (100 * MS)

static Files files;

/* Weights of one shape, to be swapped in a thread of the application's. */
typedef struct {
  GstElement *element;
  gchar *paths[2];
  gint stop;
  guint swaps;
} Swapper;

static gchar *
write_weight (const gchar *name, gfloat value)
{
  g_autofree gfloat *values = g_new (gfloat, SIZE * SIZE);
  gchar *path = files_path (&files, name);
  g_autoptr (GemmclMatrix) matrix = NULL;
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < (gsize)SIZE * SIZE; i++)
    values[i] = value;
  matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, SIZE, SIZE, values, &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_matrix_save_npy (matrix, path, &error));
  return path;
}

static gpointer
swap (gpointer data)
{
  Swapper *self = data;

  do {
    g_object_set (self->element, "weight", self->paths[++self->swaps % 2], NULL);
    g_usleep (REST);
  } while (!g_atomic_int_get (&self->stop));
  return NULL;
}

/* A row of ones. */
static void
push_row (Stream *stream)
{
  gfloat *values = g_new (gfloat, SIZE);

  for (guint i = 0; i < SIZE; i++)
    values[i] = 1;
  g_assert_cmpint (
      gst_harness_push (stream->harness, gst_buffer_new_wrapped (values, SIZE * sizeof (gfloat))),
      ==, GST_FLOW_OK);
}

/* Pushes frames, @period us or more from one to the next. Returns: in us, the longest between two
 * outputs, but no less than that. */
static gint64
find_longest_gap (Stream *stream, Arrivals *arrivals, gint64 period)
{
  const guint first = arrivals_count (arrivals);
  gint64 next = g_get_monotonic_time (), longest = period;

  for (guint i = 0; i < SWAP_FRAMES; i++) {
    const gint64 early = next - g_get_monotonic_time ();

    if (early > 0)
      g_usleep ((gulong)early);
    next = g_get_monotonic_time () + period;
    push_row (stream);
  }
  g_assert_true (arrivals_wait (arrivals, first + SWAP_FRAMES, 2 * G_TIME_SPAN_MINUTE));
  for (guint i = first + 1; i < first + SWAP_FRAMES; i++)
    longest =
        MAX (longest, arrivals_get (arrivals, i)->time - arrivals_get (arrivals, i - 1)->time);
  return longest;
}

static gint64
find_longest_gap_while_swapping (Stream *stream, Arrivals *arrivals, gint64 period,
                                 Swapper *swapper)
{
  GThread *thread;
  gint64 longest;

  swapper->stop = 0;
  thread = g_thread_new ("swap", swap, swapper);
  longest = find_longest_gap (stream, arrivals, period);
  g_atomic_int_set (&swapper->stop, 1);
  g_thread_join (thread);
  return longest;
}

/* Each output is of one weight, whole. */
static void
assert_weights (Arrivals *arrivals)
{
  const guint n = arrivals_count (arrivals);

  for (guint i = 0; i < n; i++) {
    GstMapInfo map;
    const gfloat *values;

    g_assert_true (gst_buffer_map (arrivals_get (arrivals, i)->buffer, &map, GST_MAP_READ));
    values = (const gfloat *)map.data;
    g_assert_true (values[0] == SIZE || values[0] == 2 * SIZE);
    for (guint j = 1; j < SIZE; j++)
      g_assert_cmpfloat (values[j], ==, values[0]);
    gst_buffer_unmap (arrivals_get (arrivals, i)->buffer, &map);
  }
}

static void
swap_init (Swapper *self, Stream *stream)
{
  self->element = stream->element;
  self->paths[0] = write_weight ("ones.npy", 1);
  self->paths[1] = write_weight ("twos.npy", 2);
  g_object_set (self->element, "weight", self->paths[0], NULL);
}

/* Frames with and without swaps, by turns: once, or until the best rounds of both show it. */
static void
check_gaps (Stream *stream, Arrivals *arrivals, Swapper *swapper)
{
  const guint rounds = g_test_perf () ? MAX_ROUNDS : 1;
  gint64 with = G_MAXINT64, without = G_MAXINT64;

  for (guint i = 0; i < rounds && (i == 0 || with > MOST_LONGER * without); i++) {
    const gint64 idle = find_longest_gap (stream, arrivals, FRAME);
    const gint64 busy = find_longest_gap_while_swapping (stream, arrivals, FRAME, swapper);

    g_test_message ("%.1f ms, while swapping %.1f", idle / 1e3, busy / 1e3);
    without = MIN (without, idle);
    with = MIN (with, busy);
  }
  g_test_message ("%u swaps", swapper->swaps);
  g_assert_cmpuint (swapper->swaps, >, 0);
  if (g_test_perf ())
    g_assert_cmpfloat (with, <=, MOST_LONGER * without);
}

static void
test_swap (void)
{
  g_autoptr (Stream) stream = stream_new ("name", "g", NULL);
  g_autoptr (Arrivals) arrivals = NULL;
  Swapper swapper = {NULL};

  swap_init (&swapper, stream);
  g_assert_true (stream_play (stream,
                              "other/tensors,format=static,num_tensors=1,types=(string)float32,"
                              "dimensions=(string)4096:1,framerate=20/1",
                              NULL));
  arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  push_row (stream);
  check_gaps (stream, arrivals, &swapper);
  assert_weights (arrivals);
  stream_assert_quiet (stream);
  g_free (swapper.paths[0]);
  g_free (swapper.paths[1]);
}

int
main (int argc, char **argv)
{
  int status;

  files_init (&files);
  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  stream_add_test ("/stall/swap", test_swap);
  status = g_test_run ();
  files_clear (&files);
  return status;
}
