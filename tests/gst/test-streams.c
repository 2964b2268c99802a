/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <stdlib.h>

#include "script.h"
#include "shape.h"

/* Random scripts: whatever comes between which buffers, each comes out once, right, in its place.
 * All numbers are small integers or halves, so that results are exact in f32 in whatever order they
 * are summed.
 *
 * GLib prints the seed that they follow from; --seed repeats it. GEMMCL_TEST_STREAMS is how many
 * there are, and GEMMCL_TEST_STREAM the seed of a single one, which is printed before it runs. */

#define DEFAULT_STREAMS 2000
#define BRIEF_STREAMS   80
#define MIN_STEPS       20
#define MAX_STEPS       80
#define N_CHOICES       3
#define MAX_K           5
#define MAX_N           17

#define ANY_OPENCL                                                                                 \
  "other/tensors(memory:OpenCL);audio/x-raw(memory:OpenCL);video/x-raw(memory:OpenCL)"
#define SAMPLES(format, rate)                                                                      \
  "audio/x-raw,format=" format ",rate=" rate                                                       \
  ",channels=2,layout=interleaved,channel-mask=(bitmask)3"
#define FLOATS(dimensions, rate) TENSORS ("1", dimensions, "float32", rate)

/**
 * Family: streams that one weight suits
 * @caps: theirs
 * @k: their K
 * @n: choices of N
 * @unit: what a bias and an addend are about
 */
typedef struct {
  const gchar *caps[4];
  guint k, n[N_CHOICES];
  gint unit;
} Family;

static const Family families[] = {
    {.caps = {SAMPLES ("F32LE", "8000"), SAMPLES ("S16LE", "8000"), SAMPLES ("F32LE", "16000"),
              SAMPLES ("S16LE", "16000")},
     .k = 2,
     .n = {1, 2, 3},
     .unit = 1000},
    {.caps = {FLOATS ("5:3", "100/1"), FLOATS ("5:7", "100/1"), FLOATS ("5:3", "50/1"),
              FLOATS ("5:1", "0/1")},
     .k = MAX_K,
     .n = {1, 4, MAX_N},
     .unit = 8},
    {.caps = {VIDEO ("GRAY8", "width=10,height=4"), VIDEO ("GRAY8", "width=7,height=5"),
              VIDEO ("GRAY8", "width=4,height=10"), VIDEO ("GRAY8", "width=1,height=1")},
     .k = 1,
     .n = {1, 2, 3},
     .unit = 60},
    {.caps = {VIDEO ("RGB", "width=9,height=4"), VIDEO ("BGR", "width=9,height=4"),
              VIDEO ("RGB", "width=5,height=6"), VIDEO ("BGR", "width=4,height=4")},
     .k = 3,
     .n = {1, 2, 3},
     .unit = 60},
};

/** Scalar: alpha or beta. @values: (nullable): what controls it, by the step of the stream time */
typedef struct {
  const gchar *name;
  gdouble value, *values;
} Scalar;

/**
 * Writer: of a script
 * @pending: (element-type utf8): what must arrive of what was pushed
 * @caps, @shape: the next buffer's
 * @has_addend: whether there is one, from the start to the end
 * @may_feed_back: whether beta may scale the previous output
 * @n, @b, @bias, @addend: what the next buffer is computed with
 * @previous: (nullable): the results of the buffer before it; %NULL: zeros. Both are right: the
 *   element may keep an integer as it was stored, or as it was before
 * @resets: whether its previous output is zeros, though it may have no DISCONT
 * @n_changed: whether N has changed since the last buffer
 * @samples: of most buffers of audio
 * @count: buffers so far
 * @step: how much later the stream time is than the buffers' times, in buffers
 */
typedef struct {
  GRand *rand;
  GString *steps;
  GPtrArray *pending;
  const Family *family;
  const gchar *caps;
  Shape shape;
  gboolean has_addend, may_feed_back, has_bias;
  Scalar alpha, beta;
  gsize n;
  gdouble b[MAX_K * MAX_N], bias[MAX_N], addend[MAX_N];
  GArray *previous[2];
  gboolean resets, n_changed;
  gsize samples;
  gint count, step;
} Writer;

/* Returns: a number from @least to @most. */
static gint
pick (Writer *self, gint least, gint most)
{
  return g_rand_int_range (self->rand, least, most + 1);
}

static gboolean
is_true (Writer *self, gint percent)
{
  return pick (self, 0, 99) < percent;
}

static void G_GNUC_PRINTF (2, 3) add (Writer *self, const gchar *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  if (self->steps->len > 0)
    g_string_append (self->steps, "; ");
  g_string_append_vprintf (self->steps, format, arguments);
  va_end (arguments);
}

/* What was pushed must arrive, by '>', or may have been flushed, by '?'. */
static void
settle (Writer *self, gchar how)
{
  for (guint i = 0; i < self->pending->len; i++)
    add (self, "%c %s", how, (const gchar *)g_ptr_array_index (self->pending, i));
  g_ptr_array_set_size (self->pending, 0);
}

static void
push_event (Writer *self, const gchar *name)
{
  add (self, "%s", name);
  g_ptr_array_add (self->pending, g_strdup ("e"));
}

/* The times of buffers go on; their stream time is somewhere else. */
static void
push_segment (Writer *self)
{
  const gint place = pick (self, 0, MAX_STEPS - 1);

  add (self, "segment %d", place);
  self->step = place - self->count;
}

static void
flush (Writer *self)
{
  add (self, "flush");
  settle (self, '?');
  push_segment (self);
  self->resets = TRUE;
}

static void
push_eos (Writer *self)
{
  add (self, "eos");
  g_ptr_array_add (self->pending, g_strdup ("E"));
  settle (self, '>');
  flush (self);
}

static const gchar *
pick_caps (Writer *self)
{
  return self->family->caps[pick (self, 0, G_N_ELEMENTS (self->family->caps) - 1)];
}

static void
set_caps (Writer *self, const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);

  shape_init (&self->shape, caps);
  self->caps = text;
  self->resets = TRUE;
}

/* GstHarness sends a segment with them. */
static void
change_caps (Writer *self)
{
  const gchar *caps = pick_caps (self);

  if (caps == self->caps)
    return;
  add (self, "caps %s", caps);
  set_caps (self, caps);
  self->step = 0;
}

static void
change_operand (Writer *self, const gchar *name, gdouble *matrix, gsize rows, gint least, gint most)
{
  g_autofree gchar *text = NULL;

  for (gsize i = 0; i < rows * self->n; i++)
    matrix[i] = pick (self, least, most);
  text = literal (matrix, rows, self->n);
  add (self, "%s=%s", name, text);
}

static void
change_weight (Writer *self)
{
  change_operand (self, "weight", self->b, self->family->k, -1, 2);
}

static void
change_row (Writer *self, const gchar *name, gdouble *row)
{
  change_operand (self, name, row, 1, -self->family->unit / 2, self->family->unit);
}

/* A bias and an addend must fit the weight all the time. */
static void
change_n (Writer *self)
{
  const gsize n = self->family->n[pick (self, 0, N_CHOICES - 1)];

  if (n == self->n || self->n_changed)
    return;
  self->n_changed = self->resets = TRUE;
  self->n = n;
  if (self->has_bias)
    add (self, "bias=");
  if (self->has_addend)
    add (self, "addend=");
  change_weight (self);
  if (self->has_bias)
    change_row (self, "bias", self->bias);
  if (self->has_addend)
    change_row (self, "addend", self->addend);
}

static void
change_bias (Writer *self)
{
  self->has_bias = is_true (self, 80);
  if (self->has_bias)
    change_row (self, "bias", self->bias);
  else
    add (self, "bias=");
}

static void
change_addend (Writer *self)
{
  if (self->has_addend)
    change_row (self, "addend", self->addend);
}

static gdouble
pick_scalar (Writer *self, const Scalar *scalar)
{
  static const gdouble alphas[] = {1, 1, 0.5, -1, 0, 3}, betas[] = {0, 0, 1, -1};

  if (scalar == &self->alpha)
    return alphas[pick (self, 0, G_N_ELEMENTS (alphas) - 1)];
  return self->has_addend || self->may_feed_back ? betas[pick (self, 0, G_N_ELEMENTS (betas) - 1)]
                                                 : 0;
}

static void
change_scalar (Writer *self, Scalar *scalar)
{
  if (!scalar->values && is_true (self, 60))
    add (self, "%s=%g", scalar->name, scalar->value = pick_scalar (self, scalar));
}

static void
change_scalars (Writer *self)
{
  change_scalar (self, &self->alpha);
  change_scalar (self, &self->beta);
}

static void
control (Writer *self, Scalar *scalar)
{
  scalar->values = g_new (gdouble, MAX_STEPS);
  add (self, "control %s", scalar->name);
  for (guint i = 0; i < MAX_STEPS; i++) {
    scalar->values[i] =
        i == 0 || is_true (self, 20) ? pick_scalar (self, scalar) : scalar->values[i - 1];
    g_string_append_printf (self->steps, " %g", scalar->values[i]);
  }
}

/* The element may do now what it does by itself. */
static void
rest (Writer *self)
{
  add (self, "wait %d", pick (self, 0, 3));
}

static gdouble
pick_sample (Writer *self)
{
  switch (self->shape.type) {
  case SAMPLE_F32:
    return pick (self, -8, 8);
  case SAMPLE_S16:
    return is_true (self, 3) ? 20000 : pick (self, -1000, 1000);
  default:
    return pick (self, 0, 255);
  }
}

/* Many buffers of audio are as long as the one before, and few are longer than all others. */
static gsize
pick_rows (Writer *self)
{
  static const gsize choice[] = {1, 7, 16, 33};

  if (self->shape.medium != MEDIUM_AUDIO)
    return self->shape.rows;
  if (is_true (self, 25))
    self->samples = choice[pick (self, 0, G_N_ELEMENTS (choice) - 1)];
  return is_true (self, 1) ? (gsize)pick (self, 1000, 2499) : self->samples;
}

/* Returns: @value as it is stored: integers are rounded and saturated. */
static gdouble
store (const Writer *self, gdouble value)
{
  /* No frame has two channels: they leave as tensors. */
  if (self->shape.type == SAMPLE_F32 || (self->shape.medium == MEDIUM_VIDEO && self->n == 2))
    return value;
  return self->shape.type == SAMPLE_S16 ? rint (CLAMP (value, -32768.0, 32767.0))
                                        : rint (CLAMP (value, 0.0, 255.0));
}

static void
forget_previous (Writer *self)
{
  for (guint c = 0; c < 2; c++)
    g_clear_pointer (&self->previous[c], g_array_unref);
}

/* Makes the results of @a, of @m rows, the previous ones. @text: gets them */
static void
compute (Writer *self, gsize m, const gdouble *a, GString *text)
{
  const gsize k = self->family->k, n = self->n;
  GArray *results[2];

  if (self->previous[0] && self->previous[0]->len != m * n)
    forget_previous (self);
  for (guint c = 0; c < 2; c++)
    results[c] = g_array_sized_new (FALSE, FALSE, sizeof (gdouble), m * n);
  for (gsize i = 0; i < m * n; i++) {
    gdouble sum = 0, d[2];

    for (gsize l = 0; l < k; l++)
      sum += a[i / n * k + l] * self->b[l * n + i % n];
    sum = self->alpha.value * sum + (self->has_bias ? self->bias[i % n] : 0);
    for (guint c = 0; c < 2; c++) {
      const gdouble previous =
          self->previous[c] ? g_array_index (self->previous[c], gdouble, i) : 0;

      d[c] = sum + self->beta.value * (self->has_addend ? self->addend[i % n] : previous);
    }
    g_string_append_printf (text, " %.10g", store (self, d[0]));
    if (store (self, d[1]) != store (self, d[0]))
      g_string_append_printf (text, "/%.10g", store (self, d[1]));
    if (self->beta.value == 0)
      d[1] = store (self, d[1]);
    for (guint c = 0; c < 2; c++)
      g_array_append_val (results[c], d[c]);
  }
  forget_previous (self);
  for (guint c = 0; c < 2; c++)
    self->previous[c] = results[c];
}

static void
sync_scalar (Writer *self, Scalar *scalar)
{
  if (scalar->values)
    scalar->value = scalar->values[MIN (self->count + self->step, MAX_STEPS - 1)];
}

/* Silence of audio stays silence without a bias and without beta. */
static void
push_buffer (Writer *self)
{
  const gboolean is_gap = is_true (self, 10), is_empty = is_gap && is_true (self, 40);
  const gboolean is_audio = self->shape.medium == MEDIUM_AUDIO;
  const gchar *discont = is_true (self, 7) ? "D" : "", *marker = is_true (self, 20) ? "M" : "";
  const gsize m = is_empty ? 0 : pick_rows (self), n_a = m * self->family->k;
  g_autofree gdouble *a = g_new0 (gdouble, n_a);
  GString *expected = g_string_new (discont);

  sync_scalar (self, &self->alpha);
  sync_scalar (self, &self->beta);
  add (self, "%s%s%s", discont, is_gap ? "G" : "", marker);
  for (gsize i = 0; i < n_a; i++) {
    if (!is_gap || !is_audio)
      a[i] = pick_sample (self);
    g_string_append_printf (self->steps, " %g", a[i]);
  }
  if (self->resets || *discont)
    forget_previous (self);
  if (is_gap && (!is_audio || is_empty || (!self->has_bias && self->beta.value == 0)))
    g_string_append (expected, "G");
  g_string_append (expected, marker);
  if (!is_empty)
    compute (self, m, a, expected);
  g_ptr_array_add (self->pending, g_string_free (expected, FALSE));
  self->resets = self->n_changed = FALSE;
  self->count++;
}

/* How many in a hundred steps are which: a function, or the event of that name. */
static const struct {
  gint weight;
  void (*run) (Writer *self);
  const gchar *event;
} steps[] = {
    {60, push_buffer},   {7, NULL, "mark"}, {3, NULL, "tag"}, {2, NULL, "gap"},
    {3, push_segment},   {2, flush},        {1, push_eos},    {3, change_caps},
    {4, change_weight},  {2, change_n},     {3, change_bias}, {2, change_addend},
    {5, change_scalars}, {3, rest},
};

static void
add_step (Writer *self)
{
  gint at = pick (self, 0, 99);
  guint i = 0;

  for (; at >= steps[i].weight; i++)
    at -= steps[i].weight;
  if (steps[i].event)
    push_event (self, steps[i].event);
  else
    steps[i].run (self);
}

/* Writes the elements. The operands that they need to start with are settings of theirs, too. */
static gchar *
write_elements (Writer *self)
{
  static const gint timeouts[] = {-1, 0, 1000000, 20000000};
  const gint batch = is_true (self, 30) ? 1 : pick (self, 2, 5);
  const gboolean named = self->shape.medium != MEDIUM_VIDEO && is_true (self, 75);
  g_autofree gchar *weight = NULL, *addend = NULL;

  self->may_feed_back = batch == 1;
  self->has_addend = is_true (self, 30);
  self->n = self->family->n[pick (self, 0, N_CHOICES - 1)];
  self->alpha = (Scalar){"alpha", 1};
  self->beta = (Scalar){"beta", self->has_addend};
  change_weight (self);
  weight = g_strdup (self->steps->str);
  g_string_truncate (self->steps, 0);
  change_addend (self);
  addend = g_strdup (self->steps->str);
  g_string_truncate (self->steps, 0);
  if (is_true (self, 50))
    change_bias (self);
  return g_strdup_printf (
      "gemmcl batch-size=%d queue-depth=%d batch-timeout=%d kernel=%s "
      "precision=f32 feature-mode=pixel %s %s",
      batch, pick (self, 1, 4), timeouts[pick (self, 0, G_N_ELEMENTS (timeouts) - 1)],
      named ? "gemm_naive" : "auto" /* which writes no video */, weight, addend);
}

static void
run_stream (guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GPtrArray) pending = g_ptr_array_new_with_free_func (g_free);
  Writer self = {.rand = rand, .steps = text, .pending = pending, .samples = 16};
  Script script = {.maps = seed % 2, .is_random = TRUE};
  g_autofree gchar *elements = NULL;
  gint n;

  g_test_message ("GEMMCL_TEST_STREAM=%u", seed);
  self.family = &families[pick (&self, 0, G_N_ELEMENTS (families) - 1)];
  set_caps (&self, script.caps = pick_caps (&self));
  script.elements = elements = write_elements (&self);
  script.output = is_true (&self, 25) ? ANY_OPENCL : NULL;
  if (is_true (&self, 20))
    control (&self, &self.alpha);
  if (is_true (&self, 20))
    control (&self, &self.beta);
  change_scalars (&self);
  n = pick (&self, MIN_STEPS, MAX_STEPS - 1);
  for (gint i = 0; i < n; i++)
    add_step (&self);
  add (&self, "eos");
  g_ptr_array_add (pending, g_strdup ("E"));
  settle (&self, '>');
  script.steps = text->str;
  script_run (&script);
  forget_previous (&self);
  g_free (self.alpha.values);
  g_free (self.beta.values);
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

  for (guint i = 0; i < n; i++)
    run_stream (single ? (guint32)strtoul (single, NULL, 10) : (guint32)g_test_rand_int ());
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/streams/random", test_random);
  return g_test_run ();
}
