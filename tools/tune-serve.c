/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune-serve.h"

#include <math.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"
#include "tool.h"
#include "tune-check.h"

/* A first run shorter than this says little alone. */
#define SHORT_MS   5.0
#define SHORT_RUNS 4

/* The part of the rows by which what is far too slow is found. */
#define ROWS_PART 16

typedef struct {
  GemmclContext *context;
  BenchProblem *problem;
  TuneCheck *check;
  GHashTable *plans; /* by the kernel's name */
  gboolean runs;     /* the request under way has come to something that the device runs */
} Server;

static void
server_clear (Server *self)
{
  g_clear_pointer (&self->plans, g_hash_table_unref);
  g_clear_pointer (&self->check, tune_check_free);
  g_clear_pointer (&self->problem, bench_problem_free);
  g_clear_object (&self->context);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Server, server_clear)

static gboolean
fail_request (const gchar *what, const gchar *found, GError **error)
{
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "The worker expected %s, not \"%s\".", what,
               found);
  return FALSE;
}

static gboolean
parse_count (const gchar *text, gsize *count, GError **error)
{
  guint64 value = 0;

  if (!g_ascii_string_to_unsigned (text, 10, 1, G_MAXINT32, &value, error))
    return FALSE;
  *count = value;
  return TRUE;
}

static gboolean
serve_problem (Server *self, gchar **words, G_GNUC_UNUSED GString *answer, GError **error)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  g_hash_table_remove_all (self->plans);
  g_clear_pointer (&self->check, tune_check_free);
  g_clear_pointer (&self->problem, bench_problem_free);
  if (!parse_count (words[0], &gemm.m, error) || !parse_count (words[1], &gemm.n, error) ||
      !parse_count (words[2], &gemm.k, error) ||
      !tool_parse_precision (words[3], &gemm.precision, error) ||
      !tool_parse_layout (words[4], &gemm.layout, error) || !gemmcl_gemm_validate (&gemm, error))
    return FALSE;
  self->problem = bench_problem_new (self->context, &gemm, error);
  if (self->problem == NULL)
    return FALSE;
  self->check = tune_check_new (self->problem, error);
  return self->check != NULL;
}

static GemmclPlan *
find_plan (Server *self, const gchar *kernel, GError **error)
{
  GemmclPlan *plan = g_hash_table_lookup (self->plans, kernel);

  if (plan == NULL)
    fail_request ("a kernel that it built", kernel, error);
  return plan;
}

/* The library builds what it remembers natively or not at all: no other build is worth timing. */
static gboolean
check_level (const GemmclBuildInfo *build, GError **error)
{
  if (build->level == GEMMCL_KERNEL_LEVEL_NATIVE)
    return TRUE;
  g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                       "It does not build natively on this device.");
  return FALSE;
}

static gboolean
serve_build (Server *self, gchar **words, GString *answer, GError **error)
{
  const gboolean may_spill = g_str_equal (words[1], "1");
  g_autoptr (GemmclPlan) plan = NULL;
  GemmclBuildInfo build;
  gdouble ms;

  if (self->problem == NULL)
    return fail_request ("a problem first", words[0], error);
  /* On a CPU a new plan runs all of its kernels. */
  self->runs = TRUE;
  plan = gemmcl_plan_new (self->context, &self->problem->gemm, words[0], error);
  if (plan == NULL)
    return FALSE;
  gemmcl_plan_get_build_info (plan, &build);
  if (!check_level (&build, error))
    return FALSE;
  if (build.spill_bytes > 0 && !may_spill) {
    g_string_append_printf (answer, " %" G_GUINT64_FORMAT, build.spill_bytes);
    return TRUE;
  }
  /* Some drivers compile when a kernel is first run. */
  if (!gemmcl_plan_set_b (plan, self->problem->weights, error) ||
      !bench_run_once (self->problem, plan, 1, &ms, error))
    return FALSE;
  g_hash_table_replace (self->plans, g_strdup (words[0]), g_steal_pointer (&plan));
  return TRUE;
}

/* Whether a part of the rows alone takes longer than @limit, in two of two runs. */
static gboolean
is_too_slow (Server *self, GemmclPlan *plan, gdouble limit, gboolean *slow, GError **error)
{
  const gsize rows = self->problem->gemm.m / ROWS_PART;

  *slow = rows > 0;
  for (guint i = 0; i < 2 && *slow; i++) {
    gdouble ms;
    if (!bench_run_once (self->problem, plan, rows, &ms, error))
      return FALSE;
    *slow = ms > limit;
  }
  return TRUE;
}

static gboolean
serve_first (Server *self, gchar **words, GString *answer, GError **error)
{
  GemmclPlan *plan = find_plan (self, words[0], error);
  gdouble least = 0.0;
  gboolean slow;

  if (plan == NULL || !is_too_slow (self, plan, g_ascii_strtod (words[1], NULL), &slow, error))
    return FALSE;
  if (slow)
    return TRUE;
  if (!bench_spoil_output (self->problem, error) ||
      !bench_run_once (self->problem, plan, 0, &least, error))
    return FALSE;
  if (isnan (least)) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED, "the device measures no time");
    return FALSE;
  }
  for (guint i = 0; i < SHORT_RUNS && least < SHORT_MS; i++) {
    gdouble ms;
    if (!bench_run_once (self->problem, plan, 0, &ms, error))
      return FALSE;
    least = MIN (least, ms);
  }
  g_string_append_printf (answer, " %.6f", least);
  return TRUE;
}

static gboolean
serve_check (Server *self, G_GNUC_UNUSED gchar **words, G_GNUC_UNUSED GString *answer,
             GError **error)
{
  if (self->problem == NULL)
    return fail_request ("a problem first", "check", error);
  return bench_read_output (self->problem, error) && tune_check_output (self->check, error);
}

static gboolean
serve_time (Server *self, gchar **words, GString *answer, GError **error)
{
  GemmclPlan *plan = find_plan (self, words[0], error);
  gsize runs;

  if (plan == NULL || !parse_count (words[1], &runs, error))
    return FALSE;
  for (gsize i = 0; i < runs; i++) {
    gdouble ms;
    if (!bench_run_once (self->problem, plan, 0, &ms, error))
      return FALSE;
    g_string_append_printf (answer, " %.6f", ms);
  }
  return TRUE;
}

static gboolean
serve_drop (Server *self, gchar **words, G_GNUC_UNUSED GString *answer,
            G_GNUC_UNUSED GError **error)
{
  g_hash_table_remove (self->plans, words[0]);
  return TRUE;
}

static const struct {
  const gchar *word;
  guint n_words;
  gboolean runs;
  gboolean (*serve) (Server *self, gchar **words, GString *answer, GError **error);
} requests[] = {
    {"problem", 5, FALSE, serve_problem}, {"build", 2, FALSE, serve_build},
    {"first", 2, TRUE, serve_first},      {"check", 0, TRUE, serve_check},
    {"time", 2, TRUE, serve_time},        {"drop", 1, FALSE, serve_drop},
};

static gboolean
serve (Server *self, const gchar *line, GString *answer, GError **error)
{
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  const guint n_words = g_strv_length (words);

  for (guint i = 0; i < G_N_ELEMENTS (requests); i++)
    if (n_words == requests[i].n_words + 1 && g_str_equal (words[0], requests[i].word)) {
      self->runs = requests[i].runs;
      return requests[i].serve (self, words + 1, answer, error);
    }
  return fail_request ("a request", line, error);
}

/* Whether the device may be lost for this process: what a run did, such as reading where there is
 * no memory, can make every call after it fail. */
static gboolean
is_lost (const Server *self, const GError *error)
{
  return self->runs && g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL);
}

static void
answer_request (Server *self, gchar *line, FILE *out)
{
  g_autoptr (GString) answer = g_string_new ("ok");
  g_autoptr (GError) error = NULL;

  g_strchomp (line);
  if (!serve (self, line, answer, &error)) {
    g_string_printf (answer, "%s %s", is_lost (self, error) ? "lost" : "error", error->message);
    /* A compiler's log has many lines. */
    g_strdelimit (answer->str, "\r\n", ' ');
  }
  fprintf (out, "%s\n", answer->str);
  fflush (out);
}

/* The standard output for the answers alone, whatever else is printed in this process. */
static FILE *
take_output (GError **error)
{
  const gint fd = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  FILE *out = fd >= 0 && dup2 (STDERR_FILENO, STDOUT_FILENO) >= 0 ? fdopen (fd, "w") : NULL;

  if (out == NULL)
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                         "The worker cannot write to its standard output.");
  return out;
}

gboolean
tune_serve (GError **error)
{
  g_auto (Server) self = {NULL};
  FILE *out = take_output (error);
  char *line = NULL;
  size_t size = 0;

  if (out == NULL)
    return FALSE;
  /* Ctrl-C is for the process that asks; when that ends, so does this one, even if it hangs. */
  signal (SIGINT, SIG_IGN);
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  self.plans = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self.context = tool_open_context (error);
  while (self.context != NULL && getline (&line, &size, stdin) >= 0)
    answer_request (&self, line, out);
  free (line);
  fclose (out);
  return self.context != NULL;
}
