/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compares the element in pipelines with the library's plan on the same memory, with memcpy, or
 * with another element for the same task. They run in turns of some buffers, so that other load
 * affects all alike. The result is the median of the ratios, or differences, of neighbouring turns.
 */
#include <glib/gstdio.h>

#include "stream.h"

typedef enum {
  AGAINST_DEVICE,  /* share of the plan's throughput on device buffers, without copies */
  AGAINST_PLAN,    /* share of the plan's throughput */
  ABOVE_PLAN,      /* additional time of a buffer */
  AGAINST_MEMCPY,  /* share of memcpy's throughput over the same bytes */
  AGAINST_ELEMENT, /* share of another element's throughput */
  AGAINST_SYSTEM,  /* three in a row: share with OpenCL memory of that with system memory */
} Comparison;

static const gchar *const opponents[] = {"kernel", "plan", "plan", "memcpy", "element", "system"};

/**
 * Case: caps without the fields of @width and @height, and the weight's K and N.
 * @width, @height: those of video; K and M of a tensor; channels and samples of audio
 * @patch: the size of patches of video; 0: pixels
 * @other: (nullable): the line of the other element
 */
typedef struct {
  const gchar *name;
  Comparison comparison;
  gdouble goal; /* 0: no goal */
  const gchar *caps;
  gsize width, height, patch;
  gsize k, n;
  const gchar *other;
  gboolean gpu; /* too slow on a CPU */
} Case;

#define TENSOR                                                                                     \
  "other/tensors,format=static,num_tensors=1,types=(string)float32,framerate=0/1,"                 \
  "dimensions=(string)%zu:%zu"
#define RGB  "video/x-raw,format=RGB,framerate=30/1,width=%zu,height=%zu"
#define GRAY "video/x-raw,format=GRAY8,framerate=30/1,width=%zu,height=%zu"
#define AUDIO                                                                                      \
  "audio/x-raw,format=F32LE,layout=interleaved,rate=48000,channels=%zu,channel-mask="              \
  "(bitmask)0x3"
#define MIX                                                                                        \
  "audiomixmatrix in-channels=2 out-channels=2 channel-mask=3 "                                    \
  "matrix=<<(double)0.5,(double)0.25>,<(double)0.25,(double)0.5>>"

static const Case cases[] = {
    {"1024x1024 floats x 1024", AGAINST_PLAN, 0.95, TENSOR, 1024, 1024, 0, 1024, 1024},
    {"256x1024 floats x 1024", AGAINST_PLAN, 0.95, TENSOR, 1024, 256, 0, 1024, 1024},
    {"1120x896 RGB, patches of 14 x 128", AGAINST_PLAN, 0.95, RGB, 1120, 896, 14, 588, 128},
    {"256x8192 floats x 8192", AGAINST_PLAN, 0.95, TENSOR, 8192, 256, 0, 8192, 8192, .gpu = TRUE},
    {"256x8192 floats x 8192", AGAINST_DEVICE, 0, TENSOR, 8192, 256, 0, 8192, 8192, .gpu = TRUE},
    {"1920x1088 RGB, patches of 16 x 768", AGAINST_PLAN, 0, RGB, 1920, 1088, 16, 768, 768,
     .gpu = TRUE},
    {"1920x1088 RGB, patches of 16 x 768", AGAINST_DEVICE, 0, RGB, 1920, 1088, 16, 768, 768,
     .gpu = TRUE},
    {"1 float", ABOVE_PLAN, 30e-6, TENSOR, 1, 1, 0, 1, 1},
    {"64 floats x 16", ABOVE_PLAN, 30e-6, TENSOR, 64, 1, 0, 64, 16},
    {"16x16 GRAY8, pixels", ABOVE_PLAN, 30e-6, GRAY, 16, 16, 0, 1, 1},
    {"64 samples of stereo", ABOVE_PLAN, 30e-6, AUDIO, 2, 64, 0, 2, 2},
    {"1280x720 RGB, pixels", AGAINST_MEMCPY, 0.5, RGB, 1280, 720, 0, 3, 3},
    {"1280x720 RGB, pixels", AGAINST_PLAN, 0, RGB, 1280, 720, 0, 3, 3},
    {"1280x720 RGB, pixels", AGAINST_DEVICE, 0, RGB, 1280, 720, 0, 3, 3},
    {"1024 samples of stereo", AGAINST_ELEMENT, 0, AUDIO, 2, 1024, 0, 2, 2, MIX},
    {"48000 samples of stereo", AGAINST_ELEMENT, 0, AUDIO, 2, 48000, 0, 2, 2, MIX},
    {"1280x720 RGB, pixels, 3 times", AGAINST_SYSTEM, 0, RGB, 1280, 720, 0, 3, 3},
    {"256x1024 floats x 1024, 3 times", AGAINST_SYSTEM, 0, TENSOR, 1024, 256, 0, 1024, 1024},
    {"1920x1080 RGB, pixels, 3 times", AGAINST_SYSTEM, 0, RGB, 1920, 1080, 0, 3, 3, .gpu = TRUE},
};

/* The contestants of a case, and the result. */
typedef struct {
  const Case *what;
  GemmclGemm gemm;
  GemmclImage a_image, d_image;
  gsize bytes_in;
  guchar *data;
  GemmclMatrix *weight;
  gchar *weight_path;
  Contestant *theirs, *ours;
} Match;

static void
match_free (Match *self)
{
  g_clear_pointer (&self->theirs, contestant_free);
  g_clear_pointer (&self->ours, contestant_free);
  g_clear_pointer (&self->weight, gemmcl_matrix_unref);
  if (self->weight_path)
    g_remove (self->weight_path);
  g_free (self->weight_path);
  g_free (self->data);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Match, match_free)

static gboolean
is_video (const Case *what)
{
  return g_str_has_prefix (what->caps, "video");
}

static void
describe_video (Match *self)
{
  const Case *what = self->what;
  const gboolean gray = what->k == 1;

  self->a_image = (GemmclImage){
      .format = gray ? GEMMCL_PIXEL_GRAY8 : GEMMCL_PIXEL_RGB,
      .width = what->width,
      .height = what->height,
      .features = what->patch ? GEMMCL_FEATURE_PATCH : GEMMCL_FEATURE_PIXEL,
      .patch_width = what->patch,
      .patch_height = what->patch,
  };
  self->gemm.a_image = &self->a_image;
  gemmcl_image_get_shape (&self->a_image, &self->gemm.m, &self->gemm.k, NULL);
  self->bytes_in = what->width * what->height * (gray ? 1 : 3);
  if (what->patch)
    return;
  self->d_image = self->a_image;
  self->gemm.d_image = &self->d_image;
}

/* Sets the problem that the element has for the case's caps and weight. */
static void
describe (Match *self)
{
  const Case *what = self->what;

  self->gemm = (GemmclGemm)GEMMCL_GEMM_INIT;
  self->gemm.m = what->height;
  self->gemm.k = what->k;
  self->gemm.n = what->n;
  self->gemm.addend = GEMMCL_ADDEND_OUTPUT;
  if (is_video (what))
    describe_video (self);
  else
    self->bytes_in = what->width * what->height * sizeof (gfloat);
}

static gboolean
make_data (Match *self, GError **error)
{
  const Case *what = self->what;
  const gsize n = what->k * what->n;
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree gfloat *b = g_new (gfloat, n);
  gint fd;

  self->data = g_malloc (self->bytes_in);
  if (is_video (what))
    for (gsize i = 0; i < self->bytes_in; i++)
      self->data[i] = (guchar)g_rand_int (random);
  else
    for (gsize i = 0; i < self->bytes_in / sizeof (gfloat); i++)
      ((gfloat *)self->data)[i] = (gfloat)g_rand_double_range (random, -0.5, 0.5);
  for (gsize i = 0; i < n; i++)
    b[i] = (gfloat)g_rand_double_range (random, 0.0, 0.3);
  self->weight = gemmcl_matrix_new (GEMMCL_TYPE_F32, what->k, what->n, b, error);
  if (!self->weight)
    return FALSE;
  fd = g_file_open_tmp ("gemmcl-XXXXXX.raw", &self->weight_path, error);
  return fd >= 0 && g_close (fd, error) &&
         g_file_set_contents (self->weight_path, (const gchar *)b, n * sizeof (gfloat), error);
}

static gchar *
print_line (Match *self, const gchar *properties)
{
  const Case *what = self->what;
  g_autofree gchar *mode = NULL;

  if (is_video (what))
    mode = what->patch ? g_strdup_printf ("feature-mode=patch patch-width=%zu patch-height=%zu",
                                          what->patch, what->patch)
                       : g_strdup ("feature-mode=pixel");
  return g_strdup_printf ("gemmcl weight=%s#f32:%zux%zu %s %s", self->weight_path, what->k, what->n,
                          mode ? mode : "", properties);
}

static gchar *
print_caps (const Case *what)
{
  return g_strdup_printf (what->caps, what->width, what->height);
}

/* Returns: (transfer full): @line three times; with @system, caps of system memory in between. */
static gchar *
print_chain (Match *self, const gchar *line, gboolean system)
{
  const gchar *link = is_video (self->what) ? " ! video/x-raw ! " : " ! other/tensors ! ";

  return g_strjoin (system ? link : " ! ", line, line, line, NULL);
}

static Contestant *
make_opponent (Match *self, GemmclContext *context, const gchar *caps, const gchar *line,
               GError **error)
{
  g_autofree gchar *chain = NULL;

  switch (self->what->comparison) {
  case AGAINST_DEVICE:
    return contestant_new_plan (context, &self->gemm, NULL, self->weight, NULL, error);
  case AGAINST_MEMCPY:
    return contestant_new_memcpy (self->data, self->bytes_in);
  case AGAINST_ELEMENT:
    return contestant_new_pipeline (self->what->other, caps, self->data, self->bytes_in, error);
  case AGAINST_SYSTEM:
    chain = print_chain (self, line, TRUE);
    return contestant_new_pipeline (chain, caps, self->data, self->bytes_in, error);
  default:
    return contestant_new_plan (context, &self->gemm, NULL, self->weight, self->data, error);
  }
}

static gboolean
prepare (Match *self, GemmclContext *context, const gchar *properties, GError **error)
{
  g_autofree gchar *caps = print_caps (self->what), *line = NULL, *chain = NULL;

  describe (self);
  if (!make_data (self, error))
    return FALSE;
  line = print_line (self, properties);
  self->theirs = make_opponent (self, context, caps, line, error);
  if (self->what->comparison == AGAINST_SYSTEM)
    chain = print_chain (self, line, FALSE);
  self->ours = self->theirs ? contestant_new_pipeline (chain ? chain : line, caps, self->data,
                                                       self->bytes_in, error)
                            : NULL;
  return self->ours != NULL;
}

static json_t *
report (const Match *self, const Turns *turns)
{
  const Case *what = self->what;
  const gboolean above = what->comparison == ABOVE_PLAN;
  const gchar *opponent = opponents[what->comparison], *verdict = "";
  g_autofree gchar *goal = NULL;

  if (what->goal > 0) {
    goal = above ? g_strdup_printf ("< %.0f us", what->goal * 1e6)
                 : g_strdup_printf (">= %.2f", what->goal);
    verdict =
        (above ? turns->middle < what->goal * 1e6 : turns->middle >= what->goal) ? "met" : "missed";
  }
  g_print ("%-34s %-8s %10.1f %10.1f  %6.2f%s (%.2f to %.2f of %u)  %s %s\n", what->name, opponent,
           turns->theirs, turns->ours, turns->middle, above ? " us" : "   ", turns->low,
           turns->high, turns->rounds, goal ? goal : "", verdict);
  return json_pack ("{s:s, s:s, s:I, s:i, s:f, s:f, s:s, s:f, s:f, s:f, s:s, s:s}", "case",
                    what->name, "against", opponent, "bytes_in", (json_int_t)self->bytes_in,
                    "rounds", (int)turns->rounds, "their_us", turns->theirs, "element_us",
                    turns->ours, "figure", above ? "us more" : "ratio", "lower_quartile",
                    turns->low, "median", turns->middle, "upper_quartile", turns->high, "goal",
                    goal ? goal : "", "verdict", verdict);
}

static gint
run_cases (Bench *bench, GemmclContext *context, const gchar *properties)
{
  const gboolean is_gpu = gemmcl_context_get_device_info (context)->type == GEMMCL_DEVICE_TYPE_GPU;

  g_print ("%-34s %-8s %10s %10s   ratio     (middle half, rounds)\n", "buffer", "against",
           "its us", "gemmcl's");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Case *what = &cases[i];
    g_autoptr (Match) match = g_new0 (Match, 1);
    g_autoptr (GError) error = NULL;
    Turns turns;

    if (!bench_wants (bench, what->name) || (what->gpu && !is_gpu))
      continue;
    match->what = what;
    if (!prepare (match, context, properties, &error) ||
        !turns_play (&turns, match->theirs, match->ours, 0, bench->seconds,
                     what->comparison == ABOVE_PLAN, &error)) {
      g_printerr ("%s: %s\n", what->name, error->message);
      return FAILED;
    }
    json_array_append_new (bench->list, report (match, &turns));
  }
  return bench->part || first_buffer_report (properties, bench->list) ? PASSED : FAILED;
}

gint
main (gint argc, gchar **argv)
{
  g_autofree gchar *properties = NULL, *device = NULL, *more = NULL;
  gboolean first_buffer = FALSE;
  const GOptionEntry entries[] = {
      {"device-type", 0, 0, G_OPTION_ARG_STRING, &device, "cpu or gpu; cpu", "TYPE"},
      {"properties", 0, 0, G_OPTION_ARG_STRING, &more, "More of the element's", "NAME=VALUE"},
      {"first-buffer", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &first_buffer,
       "Time one buffer in this process", NULL},
      {NULL},
  };
  GemmclDeviceQuery query = {.type = GEMMCL_DEVICE_TYPE_CPU};
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GError) error = NULL;
  Bench bench;

  if (!bench_init (&bench, "- the element in pipelines", entries, &argc, &argv))
    return USAGE;
  gst_init (NULL, NULL);
  properties = g_strdup_printf ("device-type=%s %s", device ? device : "cpu", more ? more : "");
  if (first_buffer)
    return first_buffer_run (properties);
  if (g_strcmp0 (device, "gpu") == 0)
    query.type = GEMMCL_DEVICE_TYPE_GPU;
  context = gemmcl_context_new (&query, &error);
  if (!context) {
    g_printerr ("%s\n", error->message);
    return SKIPPED;
  }
  g_print ("%s, %u compute units\n", gemmcl_context_get_device_info (context)->name,
           gemmcl_context_get_device_info (context)->compute_units);
  return bench_end (&bench, run_cases (&bench, context, properties));
}
