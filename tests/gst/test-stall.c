/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

#include "../lib/files.h"
#include "arrivals.h"
#include "stream.h"

/* A weight is swapped while a stream plays: each output is of one weight, whole. The benchmark, -m
 * perf, also compares the longest time between two outputs with that without swaps; other programs
 * may disturb a round, so that the best of several counts. */

/* Frames a second, of which each is computed in a fraction of its time. */
#define SIZE        4096
#define RATE        20
#define FRAME       (G_TIME_SPAN_SECOND / RATE)
#define FRAMES      30
#define MAX_ROUNDS  10
#define MOST_LONGER 1.5
/* Between two swaps: as fast as they can, they would take a processor's time from the device. */
#define REST (100 * G_TIME_SPAN_MILLISECOND)

/**
 * Swapper: swaps weights of one shape in a thread of the application's
 * @paths: of a weight of ones, and one of twos
 */
typedef struct {
  Stream *stream;
  Arrivals *arrivals;
  gchar *paths[2];
  gint stop;
  guint swaps;
} Swapper;

static gchar *
write_weight (const Files *files, const gchar *name, gfloat value)
{
  g_autofree gfloat *values = g_new (gfloat, SIZE * SIZE);
  gchar *path = files_path (files, name);
  g_autoptr (GemmclMatrix) matrix = NULL;

  for (gsize i = 0; i < (gsize)SIZE * SIZE; i++)
    values[i] = value;
  matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, SIZE, SIZE, values, NULL);
  g_assert_true (gemmcl_matrix_save_npy (matrix, path, NULL));
  return path;
}

static gpointer
swap (gpointer data)
{
  Swapper *self = data;

  do {
    g_object_set (self->stream->element, "weight", self->paths[++self->swaps % 2], NULL);
    g_usleep (REST);
  } while (!g_atomic_int_get (&self->stop));
  return NULL;
}

static void
push_ones (Stream *stream)
{
  gfloat *values = g_new (gfloat, SIZE);

  for (guint i = 0; i < SIZE; i++)
    values[i] = 1;
  stream_push (stream, gst_buffer_new_wrapped (values, SIZE * sizeof (gfloat)));
}

/* Pushes frames. Returns: in us, the longest time between two outputs, but no less than FRAME. */
static gint64
find_longest_gap (Swapper *self, gboolean swaps)
{
  const guint first = arrivals_count (self->arrivals);
  gint64 next = g_get_monotonic_time (), longest = FRAME;
  g_autoptr (GThread) thread = NULL;

  self->stop = 0;
  if (swaps)
    thread = g_thread_new ("swap", swap, self);
  for (guint i = 0; i < FRAMES; i++) {
    g_usleep ((gulong)MAX (next - g_get_monotonic_time (), 0));
    next = g_get_monotonic_time () + FRAME;
    push_ones (self->stream);
  }
  g_assert_true (arrivals_wait (self->arrivals, first + FRAMES, FOREVER));
  g_atomic_int_set (&self->stop, 1);
  if (swaps)
    g_thread_join (g_steal_pointer (&thread));
  for (guint i = first + 1; i < first + FRAMES; i++)
    longest = MAX (longest, arrivals_get (self->arrivals, i)->time -
                                arrivals_get (self->arrivals, i - 1)->time);
  return longest;
}

static void
assert_weights (Arrivals *arrivals)
{
  const Arrival *arrival;

  for (guint i = 0; (arrival = arrivals_get (arrivals, i)); i++) {
    GstMapInfo map;
    const gfloat *values;

    g_assert_true (gst_buffer_map (arrival->buffer, &map, GST_MAP_READ));
    values = (const gfloat *)map.data;
    g_assert_true (values[0] == SIZE || values[0] == 2 * SIZE);
    for (guint j = 1; j < SIZE; j++)
      g_assert_cmpfloat (values[j], ==, values[0]);
    gst_buffer_unmap (arrival->buffer, &map);
  }
}

static void
test_swap (void)
{
  g_auto (Files) files = {NULL};
  g_autoptr (Stream) stream = NULL;
  g_autoptr (Arrivals) arrivals = NULL;
  gint64 with = G_MAXINT64, without = G_MAXINT64;
  Swapper self = {NULL};

  files_init (&files);
  self.paths[0] = write_weight (&files, "ones.npy", 1);
  self.paths[1] = write_weight (&files, "twos.npy", 2);
  self.stream = stream = stream_start (TENSOR ("4096:1"), "gemmcl weight=%s", self.paths[0]);
  self.arrivals = arrivals = arrivals_new (stream->harness->sinkpad, TRUE);
  push_ones (stream);
  for (guint i = 0; i == 0 || (g_test_perf () && i < MAX_ROUNDS && with > MOST_LONGER * without);
       i++) {
    without = MIN (without, find_longest_gap (&self, FALSE));
    with = MIN (with, find_longest_gap (&self, TRUE));
    g_test_message ("%.1f ms, while swapping %.1f", without / 1e3, with / 1e3);
  }
  g_assert_cmpuint (self.swaps, >, 0);
  if (g_test_perf ())
    g_assert_cmpfloat (with, <=, MOST_LONGER * without);
  assert_weights (arrivals);
  stream_assert_quiet (stream);
  g_free (self.paths[0]);
  g_free (self.paths[1]);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/stall/swap", test_swap);
  return g_test_run ();
}
