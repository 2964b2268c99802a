/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The search for the fastest kernel. The device's clock is the test's (clock.h), so that what is
 * found does not depend on the machine; the kernels, and their results, are the library's. The
 * library's cache directory is the test's own.
 */

#include <glib/gstdio.h>

#include "clock.h"
#include "files.h"
#include "gemmcl.h"

#define FAST 100 /* microseconds; kernels that were not set take 200 */
#define SLOW 900

/* How long a search that is cancelled may go on, with a machine that is busy. */
#define LIMIT_US (120 * G_USEC_PER_SEC)

static GemmclContext *context;

/* The problem of most tests, and the candidates of the rules; the first is their choice. */
static GemmclGemm usual;
static gchar **names;
static const gchar *first, *second, *third;

static GemmclGemm
make_problem (gsize m, gsize n, gsize k)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  return gemm;
}

/* All of the device's time: nothing sleeps. */
static GemmclTuningOptions
make_options (void)
{
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;

  options.share = 1.0;
  options.size += sizeof (gpointer); /* a later version has more fields */
  return options;
}

static GemmclTuningResult *
search (const GemmclGemm *gemm, const GemmclTuningOptions *options)
{
  g_autoptr (GError) error = NULL;
  GemmclTuningResult *result = gemmcl_tuning_search (context, gemm, options, NULL, &error);

  g_assert_no_error (error);
  return result;
}

static void
forget (void)
{
  g_autoptr (GError) error = NULL;

  clock_reset ();
  gemmcl_tuning_forget (context, &error);
  g_assert_no_error (error);
}

static const GemmclTuningCandidate *
find (const GemmclTuningResult *result, const gchar *kernel)
{
  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    if (g_str_equal (candidate->kernel, kernel))
      return candidate;
  }
  g_error ("%s was not tried", kernel);
  return NULL;
}

static void
assert_choice (const GemmclGemm *gemm, GemmclChoiceSource source, const gchar *kernel)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpint (gemmcl_plan_get_choice_source (plan), ==, source);
  g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, kernel);
}

/* A faster kernel is found, remembered, and used by the next plan. */
static void
test_faster (void)
{
  const GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  assert_choice (&usual, GEMMCL_CHOICE_RULES, first);
  clock_set (third, FAST);
  result = search (&usual, &options);
  g_assert_cmpuint (result->candidates->len, ==, options.candidates);
  g_assert_cmpstr (result->first->kernel, ==, first);
  g_assert_cmpstr (result->best->kernel, ==, third);
  g_assert_cmpfloat_with_epsilon (result->gain, 2.0, 1e-9);
  g_assert_cmpfloat_with_epsilon (result->best->seconds, FAST * 1e-6, 1e-12);
  g_assert_cmpstr (find (result, first)->why, ==, NULL);
  g_assert_cmpstr (result->why_not_stored, ==, NULL);
  g_assert_true (result->stored);
  assert_choice (&usual, GEMMCL_CHOICE_TUNED, third);
}

/* Where nothing is, the rules' choice is remembered. */
static void
test_kept (void)
{
  const GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  /* By a hundredth, which is noise; and one that is slow leaves after few runs. */
  clock_set (second, 198);
  result = search (&usual, &options);
  g_assert_true (result->best == result->first);
  g_assert_cmpfloat (result->gain, ==, 1.0);
  g_assert_true (result->stored);
  assert_choice (&usual, GEMMCL_CHOICE_TUNED, first);
}

/* Turns end early where each shows the same, by far. */
static void
test_clear (void)
{
  static const guint others[] = {FAST, 198, 215};
  GemmclTuningOptions options = make_options ();
  guint runs[G_N_ELEMENTS (others)];

  options.candidates = 2;
  options.runs = 1;
  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autoptr (GemmclTuningResult) result = NULL;

    forget ();
    clock_set (second, others[i]);
    result = search (&usual, &options);
    g_assert_nonnull (result->best);
    runs[i] = clock_count (second);
  }
  g_assert_cmpuint (runs[1], ==, runs[0] + 10);
  g_assert_cmpuint (runs[2], ==, runs[0]);
}

static void
test_slow_leave (void)
{
  const GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  clock_set (second, 300);
  clock_set (third, SLOW);
  result = search (&usual, &options);
  g_assert_cmpstr (find (result, second)->why, ==, "Others were faster.");
  g_assert_cmpstr (find (result, third)->why, ==, "Its first run was slow.");
  g_assert_false (find (result, third)->faulty);
  g_assert_cmpuint (clock_count (third), ==, 1);
  g_assert_cmpuint (clock_count (second), <, clock_count (result->first->kernel));
}

/* Where runs are long, a sixteenth of the rows shows that a kernel is far too slow. */
static void
test_part (void)
{
  GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  clock_set (first, 2000);
  clock_set (second, 30000);
  options.candidates = 2;
  result = search (&usual, &options);
  g_assert_cmpstr (find (result, second)->why, ==, "Its first run was slow.");
  g_assert_cmpuint (clock_count (second), ==, 1);
  g_assert_cmpuint (clock_get_rows (second), ==, 6);
  g_assert_cmpuint (clock_get_rows (first), ==, 0);
}

static void
test_dry_run (void)
{
  GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  options.dry_run = TRUE;
  result = search (&usual, &options);
  g_assert_nonnull (result->best);
  g_assert_false (result->stored);
  assert_choice (&usual, GEMMCL_CHOICE_RULES, first);
}

/* One that computes something wrong is out, however fast it is; another than the first by
 * comparison, the first because a few of its rows are looked at. */
static void
test_wrong (void)
{
  const GemmclTuningOptions options = make_options ();

  for (guint i = 0; i < 3; i++) {
    const gchar *wrong = names[i];
    g_autoptr (GemmclTuningResult) result = NULL;

    forget ();
    clock_set (wrong, FAST);
    clock_break (wrong);
    result = search (&usual, &options);
    g_assert_true (find (result, wrong)->faulty);
    g_assert_true (g_str_has_prefix (find (result, wrong)->why, "The result is wrong: "));
    g_assert_cmpuint (clock_count (wrong), ==, 1);
    g_assert_nonnull (result->best);
    g_assert_cmpstr (result->best->kernel, !=, wrong);
  }
}

/* Wherever it is, a single element that is wrong shows. */
static void
test_one_element (void)
{
  const gsize elements[] = {0, 64 + 1, 40 * 64 + 33, 96 * 64 - 1};
  GemmclTuningOptions options = make_options ();

  options.candidates = 2;
  for (guint i = 0; i < G_N_ELEMENTS (elements); i++) {
    g_autoptr (GemmclTuningResult) result = NULL;

    forget ();
    clock_spoil (second, elements[i]);
    result = search (&usual, &options);
    g_assert_true (find (result, second)->faulty);
    g_assert_false (find (result, second)->lost);
    g_assert_true (result->best == result->first);
  }
}

/* A candidate that is under way, and what the steps were; "t" a try, "d" done, "r" turns. */
static void
on_step (GemmclTuningStep step, const GemmclTuningCandidate *candidate, gpointer data)
{
  static const gchar letters[] = {'t', 'd', 'r'};
  GString *steps = data;

  g_assert_nonnull (candidate->kernel);
  if (steps->len == 0 || letters[step] != 'r' || steps->str[steps->len - 1] != 'r')
    g_string_append_c (steps, letters[step]);
}

/* The caller knows of each candidate before it is built, and before its turns. */
static void
test_notify (void)
{
  GemmclTuningOptions options = make_options ();
  g_autoptr (GString) steps = g_string_new (NULL);
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  options.candidates = 3;
  options.notify = on_step;
  options.data = steps;
  result = search (&usual, &options);
  g_assert_cmpstr (steps->str, ==, "tdtdtdr");
}

/* No candidate is tried after that time, and nothing is compared; a turn has no more runs. */
static void
test_limits (void)
{
  GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  options.candidates = 2;
  options.runs = 1;
  result = search (&usual, &options);
  /* The first run, and 15 turns. */
  g_assert_cmpuint (clock_count (result->first->kernel), ==, 16);
  g_clear_pointer (&result, gemmcl_tuning_result_free);

  forget ();
  options.try_seconds = 1e-9;
  result = search (&usual, &options);
  g_assert_cmpstr (((const GemmclTuningCandidate *)result->candidates->pdata[1])->why, ==,
                   "There was no time to try it.");
  g_assert_null (result->best);
  g_assert_false (result->stored);
}

/* Where rows cannot be looked at, the comparison with the first is all there is. */
static void
test_wrong_bytes (void)
{
  GemmclGemm gemm = make_problem (96, 64, 128);
  const GemmclTuningOptions options = make_options ();
  g_auto (GStrv) candidates = NULL;
  g_autoptr (GemmclTuningResult) result = NULL;
  const gchar *wrong;

  gemm.a_type = GEMMCL_TYPE_U8;
  gemm.d_type = GEMMCL_TYPE_U8;
  candidates = gemmcl_tuning_list_candidates (context, &gemm);
  wrong = candidates[1];
  forget ();
  clock_break (wrong);
  result = search (&gemm, &options);
  g_assert_true (find (result, wrong)->faulty);
  g_assert_true (g_str_has_prefix (find (result, wrong)->why, "The result is wrong: element "));
}

/* The search keeps to its time; what cannot be compared within it is not remembered. */
static void
test_time (void)
{
  GemmclTuningOptions options = make_options ();

  for (guint i = 0; i < 2; i++) {
    g_autoptr (GemmclTuningResult) result = NULL;

    forget ();
    clock_set (second, FAST);
    options.seconds = i == 0 ? 1e-3 : 3e-3;
    result = search (&usual, &options);
    g_assert_cmpfloat (result->device_seconds, <=, options.seconds);
    g_assert_cmpstr (result->first->kernel, ==, first);
    if (i == 0) {
      g_assert_null (result->best);
      g_assert_false (result->stored);
      assert_choice (&usual, GEMMCL_CHOICE_RULES, first);
    } else {
      g_assert_cmpstr (result->best->kernel, ==, second);
    }
  }
}

static gpointer
cancel_later (gpointer cancellable)
{
  g_usleep (G_USEC_PER_SEC / 2);
  g_cancellable_cancel (cancellable);
  return NULL;
}

/* A search that would sleep for minutes ends when it is told so, and so does one that is told
 * before. */
static void
test_cancel (void)
{
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  const gint64 begin = g_get_monotonic_time ();

  forget ();
  options.share = 1e-6;
  for (guint i = 0; i < 2; i++) {
    g_autoptr (GError) error = NULL;
    GThread *thread = i == 0 ? g_thread_new ("cancel", cancel_later, cancellable) : NULL;

    g_assert_null (gemmcl_tuning_search (context, &usual, &options, cancellable, &error));
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_clear_pointer (&thread, g_thread_join);
  }
  g_assert_cmpint (g_get_monotonic_time () - begin, <, LIMIT_US);
  g_assert_cmpuint (clock_count (first), ==, 1);
  assert_choice (&usual, GEMMCL_CHOICE_RULES, first);
}

/* A search takes its share: the time between runs is as much longer. */
static void
test_share (void)
{
  GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;
  gint64 begin;

  forget ();
  options.share = 0.02;
  options.seconds = 0.01;
  begin = g_get_monotonic_time ();
  result = search (&usual, &options);
  g_assert_cmpfloat ((g_get_monotonic_time () - begin) * 1e-6, >,
                     0.98 * result->device_seconds / options.share);
}

/* No kernel of the library is taken for wrong, whatever the problem; and what cannot be remembered
 * is searched for all the same. */
static void
check_problem (const GemmclGemm *gemm, const gchar *name, gboolean stored)
{
  GemmclTuningOptions options = make_options ();
  g_autoptr (GemmclTuningResult) result = NULL;

  forget ();
  /* Compiling is most of what this takes. */
  options.candidates = 3;
  result = search (gemm, &options);
  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    if (candidate->faulty)
      g_error ("%s: %s: %s", name, candidate->kernel, candidate->why);
  }
  g_assert_nonnull (result->best);
  if (result->stored != stored)
    g_error ("%s: stored %d: %s", name, result->stored, result->why_not_stored);
}

static void
test_problems (void)
{
  static const GemmclType types[] = {GEMMCL_TYPE_F16, GEMMCL_TYPE_BF16, GEMMCL_TYPE_U8,
                                     GEMMCL_TYPE_I16};
  static const GemmclActivation activations[] = {GEMMCL_ACTIVATION_GELU, GEMMCL_ACTIVATION_SOFTMAX};
  GemmclGemm gemm;

  for (GemmclPrecision p = 0; p < GEMMCL_N_PRECISIONS; p++) {
    gemm = make_problem (40, 48, 200);
    gemm.precision = p;
    check_problem (&gemm, gemmcl_precision_get_name (p), TRUE);
  }
  for (guint i = 0; i < G_N_ELEMENTS (activations); i++) {
    gemm = make_problem (40, 48, 100);
    gemm.activation = activations[i];
    gemm.bias = TRUE;
    check_problem (&gemm, gemmcl_activation_get_name (activations[i]), TRUE);
  }
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    gemm = make_problem (33, 20, 65);
    gemm.a_type = gemm.d_type = types[i];
    gemm.a_scale = 0.5;
    gemm.a_shift = -3;
    check_problem (&gemm, gemmcl_type_get_name (types[i]), TRUE);
  }
  for (GemmclAddend c = GEMMCL_ADDEND_MATRIX; c <= GEMMCL_ADDEND_PREVIOUS; c++) {
    g_autofree gchar *name = g_strdup_printf ("addend %d", c);

    gemm = make_problem (33, 20, 65);
    gemm.addend = c;
    check_problem (&gemm, name, TRUE);
  }
  gemm = make_problem (40, 48, 100);
  gemm.layout = GEMMCL_LAYOUT_COLUMN_MAJOR;
  gemm.trans_a = gemm.trans_b = TRUE;
  gemm.lda = 128;
  gemm.ldd = 50;
  gemm.d_offset = 3;
  check_problem (&gemm, "transposed columns", TRUE);
  gemm = make_problem (40, 48, 100);
  gemm.row_outputs = GEMMCL_ROW_SUM | GEMMCL_ROW_ARG_MAX;
  gemm.batch = 3;
  check_problem (&gemm, "a tall problem", TRUE);
  gemm = make_problem (9, 12, 40);
  gemm.a_type = GEMMCL_TYPE_U8;
  gemm.normalize = GEMMCL_NORMALIZE_A | GEMMCL_NORMALIZE_D;
  gemm.row_outputs = GEMMCL_ROW_ARG_MAX;
  check_problem (&gemm, "norms", TRUE);
  gemm = make_problem (40, 48, 100);
  gemm.batch = 3;
  gemm.addend = GEMMCL_ADDEND_MATRIX;
  check_problem (&gemm, "batches", FALSE);
}

static void
test_frames (void)
{
  static const GemmclPixelFormat formats[] = {GEMMCL_PIXEL_GRAY16_LE, GEMMCL_PIXEL_BGRX,
                                              GEMMCL_PIXEL_P010_10LE};

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    GemmclImage image = {.format = formats[i],
                         .width = 32,
                         .height = 24,
                         .features = GEMMCL_FEATURE_PATCH,
                         .patch_width = 8,
                         .patch_height = 8,
                         .kr = 0.299,
                         .kb = 0.114};
    const gchar *name = gemmcl_pixel_format_get_name (formats[i]);
    GemmclGemm gemm = make_problem (0, 3, 0);

    gemm.a_image = &image;
    g_assert_true (gemmcl_image_get_shape (&image, &gemm.m, &gemm.k, NULL));
    check_problem (&gemm, name, TRUE);
    image.features = GEMMCL_FEATURE_PIXEL;
    image.patch_width = image.patch_height = 0;
    g_assert_true (gemmcl_image_get_shape (&image, &gemm.m, &gemm.k, NULL));
    gemm.batch = 2;
    if (gemmcl_pixel_format_get_n_planes (formats[i]) == 1) {
      gemm.n = gemm.k;
      gemm.d_image = &image;
    }
    check_problem (&gemm, name, FALSE);
  }
}

#define WRITERS 8

static gpointer
store_one (gpointer data)
{
  const GemmclGemm gemm = make_problem (96, 64, (gsize)8 << GPOINTER_TO_UINT (data));
  g_autoptr (GError) error = NULL;

  gemmcl_tuning_store (context, &gemm, "gemm_naive", 12.5, &error);
  g_assert_no_error (error);
  return NULL;
}

/* Results that several threads store at once are all in the file. */
static void
test_writers (void)
{
  GThread *threads[WRITERS];

  forget ();
  for (guint i = 0; i < WRITERS; i++)
    threads[i] = g_thread_new ("writer", store_one, GUINT_TO_POINTER (i));
  for (guint i = 0; i < WRITERS; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < WRITERS; i++) {
    const GemmclGemm gemm = make_problem (96, 64, (gsize)8 << i);

    assert_choice (&gemm, GEMMCL_CHOICE_TUNED, "gemm_naive");
  }
}

int
main (int argc, char **argv)
{
  g_auto (Files) files = {NULL};
  g_autoptr (GError) error = NULL;
  gint status;

  files_init (&files);
  files_enter_cache (&files);
  g_test_init (&argc, &argv, NULL);
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    g_print ("1..0 # SKIP %s\n", error->message);
    return 0;
  }
  usual = make_problem (96, 64, 128);
  names = gemmcl_tuning_list_candidates (context, &usual);
  g_assert_cmpuint (g_strv_length (names), >, 2);
  first = names[0];
  second = names[1];
  third = names[2];
  g_test_add_func ("/search/faster", test_faster);
  g_test_add_func ("/search/kept", test_kept);
  g_test_add_func ("/search/clear", test_clear);
  g_test_add_func ("/search/slow-leave", test_slow_leave);
  g_test_add_func ("/search/part", test_part);
  g_test_add_func ("/search/dry-run", test_dry_run);
  g_test_add_func ("/search/wrong", test_wrong);
  g_test_add_func ("/search/one-element", test_one_element);
  g_test_add_func ("/search/notify", test_notify);
  g_test_add_func ("/search/limits", test_limits);
  g_test_add_func ("/search/wrong-bytes", test_wrong_bytes);
  g_test_add_func ("/search/time", test_time);
  g_test_add_func ("/search/cancel", test_cancel);
  g_test_add_func ("/search/share", test_share);
  g_test_add_func ("/search/problems", test_problems);
  g_test_add_func ("/search/frames", test_frames);
  g_test_add_func ("/search/writers", test_writers);
  status = g_test_run ();
  g_strfreev (names);
  g_clear_object (&context);
  return status;
}
