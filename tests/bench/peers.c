/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemmcl against OpenBLAS, in turns, on the same numbers: each run of the one is followed by a run
 * of the other, so that whatever else the machine does hits both alike. What is compared is the
 * median of the ratios of neighbours. A and D lie in device buffers, B is packed once, and a run is
 * timed from its enqueueing until it is done; OpenBLAS has as many threads as the device has
 * compute units. For M = 1 it is asked for sgemv, which its sgemm does not turn to by itself.
 */
#include <cblas.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "gemmcl-opencl.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

enum { PASSED = 0, FAILED = 1, USAGE = 2, SKIPPED = 77 };

/* The shapes, thin ones, and what convolutions and pixels make: M x N x K. */
static const gchar *const default_shapes[] = {
    "1024x1024x1024", "64x1024x1024", "16x1024x1024",   "1x1024x1024",
    "3600x96x147",    "230400x64x64", "2048x2048x2048", NULL,
};

typedef struct {
  GemmclGemm gemm;
  GemmclContext *context;
  GemmclPlan *plan;
  cl_mem cl_a, cl_d;
  gfloat *a, *b, *d;
  gdouble *ours, *theirs, *ratios; /* a number per round: seconds, seconds, theirs / ours */
  guint rounds;
} Match;

static void
match_clear (Match *self)
{
  g_clear_object (&self->plan);
  g_clear_pointer (&self->cl_a, clReleaseMemObject);
  g_clear_pointer (&self->cl_d, clReleaseMemObject);
  g_free (self->a);
  g_free (self->b);
  g_free (self->d);
  g_free (self->ours);
  g_free (self->theirs);
  g_free (self->ratios);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Match, match_clear)

static gfloat *
make_random (GRand *random, gsize n)
{
  gfloat *numbers = g_new (gfloat, n);

  for (gsize i = 0; i < n; i++)
    numbers[i] = (gfloat)g_rand_double_range (random, -0.5, 0.5);
  return numbers;
}

static gboolean
match_init (Match *self, GemmclContext *context, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  cl_context cl = gemmcl_context_get_cl_context (context);
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (GemmclMatrix) b = NULL;

  self->context = context;
  self->a = make_random (random, gemm->m * gemm->k);
  self->b = make_random (random, gemm->k * gemm->n);
  self->d = g_new0 (gfloat, gemm->m * gemm->n);
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, gemm->k, gemm->n, self->b, error);
  if (!b)
    return FALSE;
  self->plan = gemmcl_plan_new (context, gemm, NULL, error);
  if (!self->plan || !gemmcl_plan_set_b (self->plan, b, error))
    return FALSE;

  self->cl_a = clCreateBuffer (cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                               gemm->m * gemm->k * sizeof (gfloat), self->a, NULL);
  self->cl_d =
      clCreateBuffer (cl, CL_MEM_READ_WRITE, gemm->m * gemm->n * sizeof (gfloat), NULL, NULL);
  if (!self->cl_a || !self->cl_d) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL, "There is no memory for A and D.");
    return FALSE;
  }
  return TRUE;
}

static gboolean
run_ours (Match *self, GError **error)
{
  const GemmclDeviceRun run = {.a = self->cl_a, .d = self->cl_d};
  cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);

  return gemmcl_plan_enqueue (self->plan, &run, queue, 0, NULL, NULL, NULL, error) &&
         clFinish (queue) == CL_SUCCESS;
}

static void
run_theirs (Match *self)
{
  const blasint m = self->gemm.m, n = self->gemm.n, k = self->gemm.k;

  if (m == 1)
    cblas_sgemv (CblasRowMajor, CblasTrans, k, n, 1.0f, self->b, n, self->a, 1, 0.0f, self->d, 1);
  else
    cblas_sgemm (CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, self->a, k, self->b, n,
                 0.0f, self->d, n);
}

/* Sums of K products of numbers below 1/2, each rounded in its own order. */
static gboolean
check_results (Match *self, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize n = gemm->m * gemm->n;
  const gdouble bound = 2.0 * (gemm->k + 4) * ldexp (1.0, -24) * gemm->k / 4;
  g_autofree gfloat *ours = g_new (gfloat, n);
  cl_command_queue queue = gemmcl_context_get_cl_queue (self->context);

  if (!run_ours (self, error))
    return FALSE;
  clEnqueueReadBuffer (queue, self->cl_d, CL_TRUE, 0, n * sizeof (gfloat), ours, 0, NULL, NULL);
  run_theirs (self);
  for (gsize i = 0; i < n; i++)
    if (!(fabs ((gdouble)ours[i] - self->d[i]) <= bound)) {
      g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID,
                   "Element %" G_GSIZE_FORMAT " is %g by %s and %g by OpenBLAS.", i, ours[i],
                   gemmcl_plan_get_kernel (self->plan), self->d[i]);
      return FALSE;
    }
  return TRUE;
}

static gboolean
play (Match *self, gdouble seconds, GError **error)
{
  const gint64 end = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  const guint most = 100000;
  g_autoptr (GTimer) timer = g_timer_new ();

  self->ours = g_new (gdouble, most);
  self->theirs = g_new (gdouble, most);
  self->ratios = g_new (gdouble, most);
  for (guint i = 0; i < 5 || (i < most && g_get_monotonic_time () < end); i++) {
    g_timer_start (timer);
    if (!run_ours (self, error))
      return FALSE;
    self->ours[i] = g_timer_elapsed (timer, NULL);
    g_timer_start (timer);
    run_theirs (self);
    self->theirs[i] = g_timer_elapsed (timer, NULL);
    self->ratios[i] = self->theirs[i] / self->ours[i];
    self->rounds = i + 1;
  }
  return TRUE;
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

/* The number that the given share of the numbers lies below. Sorts them. */
static gdouble
quantile (gdouble *numbers, guint n, gdouble share)
{
  qsort (numbers, n, sizeof *numbers, compare_doubles);
  return numbers[(guint)(share * (n - 1) + 0.5)];
}

static json_t *
report (Match *self)
{
  const GemmclGemm *gemm = &self->gemm;
  const gdouble flops = 2.0 * gemm->m * gemm->n * gemm->k / 1e9;
  const gdouble ours = flops / quantile (self->ours, self->rounds, 0.5);
  const gdouble theirs = flops / quantile (self->theirs, self->rounds, 0.5);
  const gdouble low = quantile (self->ratios, self->rounds, 0.25);
  const gdouble middle = quantile (self->ratios, self->rounds, 0.5);
  const gdouble high = quantile (self->ratios, self->rounds, 0.75);
  g_autofree gchar *shape = g_strdup_printf (
      "%" G_GSIZE_FORMAT "x%" G_GSIZE_FORMAT "x%" G_GSIZE_FORMAT, gemm->m, gemm->n, gemm->k);

  g_print ("%-16s %-20s %8.1f %8.1f   %5.2f  (%.2f to %.2f of %u)\n", shape,
           gemmcl_plan_get_kernel (self->plan), ours, theirs, middle, low, high, self->rounds);
  return json_pack ("{s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:i, s:f, s:f, s:{s:f, s:f, s:f}}",
                    "device", gemmcl_context_get_device_info (self->context)->name, "kernel",
                    gemmcl_plan_get_kernel (self->plan), "openblas_core", openblas_get_corename (),
                    "openblas_threads", openblas_get_num_threads (), "m", (json_int_t)gemm->m, "n",
                    (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "rounds", (int)self->rounds,
                    "gflops", ours, "openblas_gflops", theirs, "ratio", "lower_quartile", low,
                    "median", middle, "upper_quartile", high);
}

static gboolean
parse_shape (const gchar *text, GemmclGemm *gemm)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", -1);
  guint64 sizes[3];

  if (g_strv_length (parts) != 3)
    return FALSE;
  for (guint i = 0; i < 3; i++)
    if (!g_ascii_string_to_unsigned (parts[i], 10, 1, 1 << 20, &sizes[i], NULL))
      return FALSE;
  gemm->m = sizes[0];
  gemm->n = sizes[1];
  gemm->k = sizes[2];
  return gemmcl_gemm_validate (gemm, NULL);
}

/* An OpenBLAS older than the CPU takes it for the oldest there is and runs at a quarter of its
 * speed, which would be no comparison. It reads its choice once, when it is loaded. */
static void
help_openblas (gchar **argv)
{
#ifdef __x86_64__
  const gchar *core =
      __builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl") ? "SkylakeX"
      : __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma")        ? "Haswell"
                                                                                 : NULL;

  if (!core || g_getenv ("OPENBLAS_CORETYPE") || g_strcmp0 (openblas_get_corename (), "Prescott"))
    return;
  g_setenv ("OPENBLAS_CORETYPE", core, TRUE);
  execv ("/proc/self/exe", argv);
#else
  (void)argv;
#endif
}

static gint
run_shapes (GemmclContext *context, const gchar *const *shapes, gdouble seconds,
            const gchar *json_path)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  g_autoptr (json_t) list = json_array ();

  openblas_set_num_threads ((int)info->compute_units);
  g_print ("%s, %u compute units; %s; %s kernels, %d threads\n", info->name, info->compute_units,
           openblas_get_config (), openblas_get_corename (), openblas_get_num_threads ());
  g_print ("%-16s %-20s %8s %8s   ratio  (middle half, rounds)\n", "M x N x K", "kernel", "GFLOPS",
           "OpenBLAS");
  for (guint i = 0; shapes[i]; i++) {
    g_auto (Match) match = {.gemm = GEMMCL_GEMM_INIT};
    g_autoptr (GError) error = NULL;

    if (!parse_shape (shapes[i], &match.gemm)) {
      g_printerr ("%s: a shape is MxNxK, as in 64x1024x1024.\n", shapes[i]);
      return USAGE;
    }
    if (!match_init (&match, context, &error) || !check_results (&match, &error) ||
        !play (&match, seconds, &error)) {
      g_printerr ("%s: %s\n", shapes[i], error ? error->message : "clFinish failed.");
      return FAILED;
    }
    json_array_append_new (list, report (&match));
  }
  if (json_path && json_dump_file (list, json_path, JSON_INDENT (2)) != 0) {
    g_printerr ("%s cannot be written.\n", json_path);
    return FAILED;
  }
  return PASSED;
}

gint
main (gint argc, gchar **argv)
{
  g_autofree gchar *json_path = NULL;
  g_auto (GStrv) shapes = NULL;
  gdouble seconds = 3.0;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "Write the results there", "FILE"},
      {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "Time for each shape", "SECONDS"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &shapes, NULL, "[MxNxK ...]"},
      {NULL},
  };
  g_autoptr (GOptionContext) options = g_option_context_new ("- gemmcl against OpenBLAS");
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GError) error = NULL;

  help_openblas (argv);
  setlocale (LC_ALL, "");
  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return USAGE;
  }

  context = gemmcl_context_new (&(GemmclDeviceQuery){.type = GEMMCL_DEVICE_TYPE_CPU}, &error);
  if (!context) {
    g_printerr ("%s\n", error->message);
    return SKIPPED;
  }
  return run_shapes (context, shapes ? (const gchar *const *)shapes : default_shapes, seconds,
                     json_path);
}
