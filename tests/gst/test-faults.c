/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "faults.h"
#include "stream.h"

#ifdef GEMMCL_HAVE_ANALYTICS
  #include <gst/analytics/analytics.h>
#endif

/* Each OpenCL call of a short stream fails, alone or with all that follow it, or a kernel does. The
 * element posts an error or all outputs are there; none is wrong; states come back, nothing leaks,
 * and the same element plays afterwards. And kernels or compilers are held back: what returns
 * meanwhile did not wait for one. */

/** Tensors, of 4 and of 8 rows. All elements of a buffer are their number. */
#define CAPS(rows) TENSORS ("1", "4:" rows, "float32", "100/1")
#define COLUMNS    4
#define FRAME      (GST_SECOND / 100)

/** On GPUs a search would make OpenCL calls besides those of the stream. */
#define GEMMCL "gemmcl auto-tune=off "

/** Weights that make f times the number. */
#define TIMES(f) "[[" f ",0,0,0],[0," f ",0,0],[0,0," f ",0],[0,0,0," f "]]"

/* Nothing that does not wait takes longer; and how long something is watched that waits. */
#define LIMIT_US (120 * G_USEC_PER_SEC)
#define WATCH_US (G_USEC_PER_SEC / 5)

/* Cases of a sweep with GEMMCL_TEST_BRIEF, spread over all calls; which, the random seed tells. */
#define BRIEF_CASES 12

/**
 * Kind: elements that play, of which the weight of "a" is swapped
 * @factor: of the others
 * @adds: each output is added to the next
 * @header: floats before each result
 * @several: there are several devices
 */
typedef struct {
  const gchar *name, *elements;
  gdouble factor;
  gboolean adds;
  guint header;
  gboolean several;
} Kind;

static const Kind kinds[] = {
    {"single", GEMMCL "name=a weight=" TIMES ("2"), 1, FALSE},
    {"batch", GEMMCL "name=a batch-size=2 queue-depth=3 weight=" TIMES ("2"), 1, FALSE},
    {"previous", GEMMCL "name=a beta=1 weight=" TIMES ("2"), 1, TRUE},
    {"flexible",
     GEMMCL "name=a output=flexible weight=" TIMES ("2") " ! " GEMMCL "weight=" TIMES ("5"), 5,
     FALSE, 32},
    {"row", GEMMCL "name=a weight=" TIMES ("2") " ! " GEMMCL "weight=" TIMES ("5"), 5, FALSE},
    {"devices", GEMMCL "name=a devices=all weight=" TIMES ("2"), 1, FALSE, .several = TRUE},
#ifdef GEMMCL_HAVE_ANALYTICS
    {"meta", GEMMCL "name=a output=meta weight=" TIMES ("2"), 1, FALSE},
#endif
};

/**
 * Play: a stream through a bin
 * @before, @after: the weight's factor, and that after the swap
 * @number: of the next buffer
 * @swapped, @changed: the first buffer with the other weight, and the first of 8 rows
 * @seen, @next: outputs that did not fail, and the least number of the next one
 * @failed, @warned: what was posted
 */
typedef struct {
  const Kind *kind;
  Stream *stream;
  gdouble before, after;
  guint number, swapped, changed, seen, next;
  gboolean failed, warned;
} Play;

static void
play_init (Play *self, const Kind *kind)
{
  *self = (Play){.kind = kind, .before = 2, .after = 3, .swapped = G_MAXUINT, .changed = G_MAXUINT};
  self->stream = stream_new ("%s", kind->elements);
}

static void
play_clear (Play *self)
{
  g_clear_pointer (&self->stream, stream_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Play, play_clear)

/* Returns: whether it succeeded; faults_start_case() ends what does not return. */
static gboolean
set_state (Play *self, GstState state)
{
  return gst_element_set_state (self->stream->element, state) != GST_STATE_CHANGE_FAILURE;
}

/* Takes what was posted. */
static void
read_bus (Play *self)
{
  GstMessage *message;

  while ((message =
              gst_bus_pop_filtered (self->stream->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      self->failed = TRUE;
    else
      self->warned = TRUE;
    gst_message_unref (message);
  }
}

static gboolean
has_failed (Play *self)
{
  read_bus (self);
  return self->failed;
}

/* Puts it between pads, and plays. Returns: whether it does. */
static gboolean
start (Play *self)
{
  if (!set_state (self, GST_STATE_PLAYING)) {
    g_assert_true (has_failed (self));
    return FALSE;
  }
  self->stream->harness = gst_harness_new_with_element (self->stream->element, "sink", "src");
  return TRUE;
}

/* Returns: whether it can go on. */
static gboolean
push_caps (Play *self, const gchar *caps)
{
  gst_harness_set_src_caps_str (self->stream->harness, caps);
  return !has_failed (self);
}

static guint
get_rows (const Play *self, guint number)
{
  return number < self->changed ? 4 : 8;
}

static gboolean
push (Play *self)
{
  const gsize n = COLUMNS * get_rows (self, self->number);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n * sizeof (gfloat), NULL);
  GstFlowReturn flow;
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i < n; i++)
    ((gfloat *)map.data)[i] = self->number + 1;
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = self->number++ * FRAME;
  flow = gst_harness_push (self->stream->harness, buffer);
  if (flow == GST_FLOW_OK)
    return TRUE;
  g_assert_cmpstr (gst_flow_get_name (flow), ==, "error");
  g_assert_true (has_failed (self));
  return FALSE;
}

static gboolean
push_some (Play *self, guint n)
{
  for (guint i = 0; i < n; i++)
    if (!push (self))
      return FALSE;
  return TRUE;
}

static gdouble
get_expected (const Play *self, guint number, gdouble after)
{
  const guint start = number < self->changed ? 0 : self->changed;
  gdouble sum = 0;

  for (guint i = self->kind->adds ? start : number; i <= number; i++)
    sum += (i < self->swapped ? self->before : after) * (i + 1) * self->kind->factor;
  return sum;
}

/* A swap that is refused with a warning leaves the old weight. */
static gboolean
is_right (const Play *self, guint number, gdouble found)
{
  return found == get_expected (self, number, self->after) ||
         (self->warned && found == get_expected (self, number, self->before));
}

/* Returns: (transfer none): the result in @output, which may be in its metadata. */
static GstBuffer *
get_result (GstBuffer *output)
{
#ifdef GEMMCL_HAVE_ANALYTICS
  const GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);

  if (meta)
    return meta->tensors[0]->data;
#endif
  return output;
}

/* Outputs come in order. One that cannot be mapped is a report to whoever maps it if a call failed
 * there; if its run failed before, the element posts an error. */
static void
check_output (Play *self, GstBuffer *output)
{
  const guint strikes = faults_get_strikes ();
  const guint number = GST_BUFFER_PTS (output) / FRAME;
  GstBuffer *buffer = get_result (output);
  GstMapInfo map;

  g_assert_cmpuint (number, >=, self->next);
  g_assert_cmpuint (number, <, self->number);
  self->next = number + 1;
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    self->seen += faults_get_strikes () > strikes;
    return;
  }
  self->seen++;
  g_assert_cmpuint (map.size, ==,
                    (self->kind->header + COLUMNS * get_rows (self, number)) * sizeof (gfloat));
  for (gsize i = self->kind->header; i < map.size / sizeof (gfloat); i++) {
    const gdouble found = ((gfloat *)map.data)[i];

    if (!is_right (self, number, found))
      g_error ("buffer %u: element %" G_GSIZE_FORMAT " is %g, expected %g", number, i, found,
               get_expected (self, number, self->after));
  }
  gst_buffer_unmap (buffer, &map);
}

/* Ends the stream. */
static void
check_outputs (Play *self)
{
  GstBuffer *buffer;

  gst_harness_push_event (self->stream->harness, gst_event_new_eos ());
  read_bus (self);
  while ((buffer = gst_harness_try_pull (self->stream->harness))) {
    check_output (self, buffer);
    gst_buffer_unref (buffer);
  }
  if (!self->failed && self->seen != self->number)
    g_error ("%u buffers, %u outputs, and no error", self->number, self->seen);
}

static gboolean
play (Play *self)
{
  if (!push_caps (self, CAPS ("4")) || !push_some (self, 4))
    return FALSE;
  g_object_set (stream_get (self->stream, "a"), "weight", TIMES ("3"), NULL);
  self->swapped = self->number;
  if (!push_some (self, 2))
    return FALSE;
  self->changed = self->number;
  return push_caps (self, CAPS ("8")) && push_some (self, 2);
}

/* The same elements, when nothing fails any more. */
static void
play_again (Play *self)
{
  g_autofree gchar *weight = NULL;

  read_bus (self);
  g_object_get (stream_get (self->stream, "a"), "weight", &weight, NULL);
  self->before = g_str_equal (weight, TIMES ("3")) ? 3 : 2;
  self->number = self->next = self->seen = 0;
  self->swapped = self->changed = G_MAXUINT;
  self->failed = self->warned = FALSE;
  g_assert_true (set_state (self, GST_STATE_PLAYING));
  if (self->stream->harness)
    g_assert_true (
        gst_harness_push_event (self->stream->harness, gst_event_new_stream_start ("again")));
  else
    start (self);
  g_assert_true (push_caps (self, CAPS ("4")));
  g_assert_true (push_some (self, 4));
  check_outputs (self);
  g_assert_false (self->failed);
}

/* Returns: whether an error was posted. @n_warned: grows if a warning was. */
static gboolean
run_case (const Kind *kind, FaultsMode mode, guint n, guint *n_warned)
{
  g_auto (Play) self = {0};
  gboolean started, failed;

  play_init (&self, kind);
  faults_start_case (kind->name, mode, n);
  started = start (&self);
  if (started) {
    play (&self);
    check_outputs (&self);
  }
  failed = has_failed (&self);
  *n_warned += self.warned;
  g_assert_true (!started || set_state (&self, GST_STATE_READY));
  g_assert_true (set_state (&self, GST_STATE_NULL));
  faults_set (FAULTS_NONE, 0);
  play_again (&self);
  faults_end_case ();
  return failed;
}

typedef struct {
  const Kind *kind;
  FaultsMode mode;
} Sweep;

static void
test_sweep (gconstpointer data)
{
  const Sweep *self = data;
  const gboolean several = self->kind->several && faults_count_devices () > 1;
  const FaultsMode counting = self->mode == FAULTS_LATE ? FAULTS_LATE : FAULTS_ONE;
  guint calls, step, cases = 0, failed = 0, warned = 0;

  if (!faults_init ())
    return;
  g_assert_false (run_case (self->kind, FAULTS_NONE, 0, &warned));
  g_assert_false (run_case (self->kind, counting, 0, &warned));
  faults_assert_no_objects ();
  calls = faults_get_calls ();
  step = g_getenv ("GEMMCL_TEST_BRIEF") ? calls / BRIEF_CASES + 1 : 1;
  for (guint n = g_test_rand_int_range (1, step + 1); n <= calls; n += step, cases++) {
    failed += run_case (self->kind, self->mode, n, &warned);
    faults_assert_no_objects ();
  }
  /* If a command of one of several devices fails, others do its frames. */
  if (several && self->mode == FAULTS_LATE)
    g_assert_true (failed == 0 && warned > 0);
  else if (self->mode == FAULTS_REST || (!several && step == 1)) /* few cases may all be harmless */
    g_assert_cmpuint (failed, >, 0);
  g_test_message ("%u of %u calls: %u errors, and the results of the others are right", cases,
                  calls, failed);
}

static gpointer
push_first_caps (gpointer data)
{
  gst_harness_set_src_caps_str (((Play *)data)->stream->harness, CAPS ("4"));
  return NULL;
}

/* Returns: whether @condition became true in time. */
static gboolean
wait_for (gboolean (*condition) (gpointer data), gpointer data)
{
  const gint64 end = g_get_monotonic_time () + LIMIT_US;

  while (!condition (data) && g_get_monotonic_time () < end)
    g_usleep (1000);
  return condition (data);
}

static gboolean
is_compiling (gpointer nothing G_GNUC_UNUSED)
{
  return faults_count_held () > 0;
}

static gboolean
has_posted (gpointer play)
{
  return has_failed (play);
}

/* While the compiler does not return, the element leaves PLAYING in time, and posts an error. When
 * it returns after all, nothing is left, and the element plays. */
static void
leave_compiler (GstState state)
{
  g_auto (Play) self = {0};
  g_autoptr (GThread) pusher = NULL;

  play_init (&self, &kinds[0]);
  g_assert_true (start (&self));
  faults_hold_builds (TRUE);
  pusher = g_thread_new ("pusher", push_first_caps, &self);
  g_assert_true (wait_for (is_compiling, NULL));
  set_state (&self, state);
  g_assert_true (wait_for (has_posted, &self));
  if (state == GST_STATE_READY)
    g_assert_true (set_state (&self, GST_STATE_NULL));
  faults_hold_builds (FALSE);
  g_thread_join (g_steal_pointer (&pusher));
  g_assert_true (set_state (&self, GST_STATE_NULL));
  play_again (&self);
}

static void
test_leave_compiler (gconstpointer state)
{
  if (!faults_init ())
    return;
  faults_start_case ("compiler", FAULTS_NONE, 0);
  leave_compiler (GPOINTER_TO_INT (state));
  faults_assert_no_objects ();
  faults_end_case ();
}

static void
ask_for_caps (GstElement *element, const gchar *name)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, name);
  g_autoptr (GstCaps) caps = gst_pad_query_caps (pad, NULL);

  g_assert_false (gst_caps_is_empty (caps));
}

/* While a plan is compiled, statistics and caps can be read, and properties set. */
static void
test_ask_while_compiling (void)
{
  if (!faults_init ())
    return;
  faults_start_case ("compiler", FAULTS_NONE, 0);
  {
    g_auto (Play) self = {0};
    g_autoptr (GThread) pusher = NULL;

    play_init (&self, &kinds[0]);
    g_assert_true (start (&self));
    faults_hold_builds (TRUE);
    pusher = g_thread_new ("pusher", push_first_caps, &self);
    g_assert_true (wait_for (is_compiling, NULL));
    /* For longer than the element waits before it says that it compiles. */
    for (guint i = 0; i < WATCH_US / 1000; i++) {
      g_autoptr (GstStructure) stats = stream_get_stats (self.stream, "a");

      g_assert_nonnull (stats);
      ask_for_caps (stream_get (self.stream, "a"), "sink");
      ask_for_caps (stream_get (self.stream, "a"), "src");
      g_usleep (1000);
    }
    g_object_set (stream_get (self.stream, "a"), "alpha", 3.0, NULL);
    g_assert_cmpuint (faults_count_held (), >, 0);
    faults_hold_builds (FALSE);
    g_thread_join (g_steal_pointer (&pusher));
    self.before = self.after = 6;
    g_assert_true (push_some (&self, 1));
    check_outputs (&self);
  }
  faults_assert_no_objects ();
  faults_end_case ();
}

/**
 * Held: buffers that are pushed while no kernel starts
 * @n: how many
 * @free: how many of them do not wait for a kernel
 * @pushed: how many pushes have returned
 */
typedef struct {
  Kind kind;
  guint n, free;
  Play play;
  gint pushed;
} Held;

static gpointer
push_held (gpointer data)
{
  Held *self = data;

  while (self->play.number < self->n && push (&self->play))
    g_atomic_int_inc (&self->pushed);
  return NULL;
}

static gboolean
is_pushed (gpointer data)
{
  Held *self = data;

  return g_atomic_int_get (&self->pushed) == (gint)self->free;
}

static void
run_held (Held *self)
{
  g_autoptr (GThread) pusher = NULL;

  play_init (&self->play, &self->kind);
  g_assert_true (start (&self->play));
  g_assert_true (push_caps (&self->play, CAPS ("4")));
  faults_start_case (self->kind.name, FAULTS_ONE, 0);
  faults_hold_kernels (TRUE);
  pusher = g_thread_new ("pusher", push_held, self);
  g_assert_true (wait_for (is_pushed, self));
  g_usleep (WATCH_US);
  g_assert_true (is_pushed (self));
  faults_hold_kernels (FALSE);
  g_thread_join (g_steal_pointer (&pusher));
  check_outputs (&self->play);
  g_assert_false (self->play.failed);
  play_clear (&self->play);
  faults_assert_no_objects ();
  faults_end_case ();
}

#define DEEP GEMMCL "queue-depth=3 weight="

/* As many runs are in flight on each device as queue-depth says, and the next one waits for the
 * first; no element of a row waits for the one before it. */
static void
test_held (void)
{
  Held depth = {{"depth", DEEP TIMES ("2") " name=a", 1}, 5, 3};
  Held row = {{"row", DEEP TIMES ("2") " name=a ! " DEEP TIMES ("15"), 15}, 3, 3};
  Held devices = {{"devices", DEEP TIMES ("2") " name=a devices=all", 1}, 8, 0};

  if (!faults_init ())
    return;
  run_held (&depth);
  run_held (&row);
  devices.free = 3 * faults_count_devices ();
  run_held (&devices);
}

int
main (int argc, char **argv)
{
  static const gchar *const modes[] = {
      [FAULTS_ONE] = "one", [FAULTS_REST] = "rest", [FAULTS_LATE] = "late"};

  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    for (FaultsMode mode = FAULTS_ONE; mode <= FAULTS_LATE; mode++) {
      g_autofree gchar *path = g_strdup_printf ("/faults/%s/%s", kinds[i].name, modes[mode]);
      const Sweep sweep = {&kinds[i], mode};

      g_test_add_data_func_full (path, g_memdup2 (&sweep, sizeof sweep), test_sweep, g_free);
    }
  g_test_add_data_func ("/compiler/leave/ready", GINT_TO_POINTER (GST_STATE_READY),
                        test_leave_compiler);
  g_test_add_data_func ("/compiler/leave/null", GINT_TO_POINTER (GST_STATE_NULL),
                        test_leave_compiler);
  g_test_add_func ("/compiler/ask", test_ask_while_compiling);
  g_test_add_func ("/held", test_held);
  return g_test_run ();
}
