/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "options.h"
#include "tool.h"
#include "tune.h"

/* Limit for opening a device and filling matrices. */
#define START_SECONDS 60.0

/* Limit of a build and a first run: a share of the time, but within these bounds, since some
 * compilers are slow. */
#define TRY_SHARE         0.5
#define LEAST_TRY_SECONDS 15.0
#define MOST_TRY_SECONDS  60.0

/* Limit of a turn: a multiple of a run, plus these seconds and this share of the time. */
#define HANG_FACTOR  10.0
#define HANG_SECONDS 10.0
#define HANG_SHARE   0.1

/* Minimum time of a search that begins late, after a loss. */
#define LEAST_SECONDS 0.05

/* Shares of the time: for trying candidates, by the wall clock; for runs, by the device's clock. */
#define TRYING_SHARE  0.55
#define RUNNING_SHARE 0.45

/* Most runs of a turn, enough to compare short runs in spite of noise. */
#define MOST_RUNS 50

/* A search that is running. @best: the fastest speed so far. @under_way: (nullable): the candidate
 * that was announced last. */
typedef struct {
  json_t *entry;
  ToolChild *child;
  ToolProgress *progress;
  json_t *banned;
  gint64 start;
  gdouble seconds;
  gdouble best;
  json_t *under_way;
  gboolean is_try;
  gdouble limit; /* seconds until the next answer */
} Race;

static gdouble
get_elapsed (const Race *self)
{
  return (gdouble)(g_get_monotonic_time () - self->start) / G_USEC_PER_SEC;
}

/* Returns: (transfer full): the row of the table. Kernels that differ only in the split of K are
 * built from the same row. */
static gchar *
get_row (const json_t *candidate)
{
  const gchar *name = tool_json_get_string (candidate, "kernel");

  return g_strndup (name, strcspn (name, "/"));
}

static gboolean
has_left (const json_t *candidate)
{
  return tool_json_get_string (candidate, "why") != NULL;
}

static void
leave (json_t *candidate, const gchar *why)
{
  json_object_set_new (candidate, "why", tool_json_string (why));
  json_object_set_new (candidate, "faulty", json_true ());
}

/* Leaves out banned candidates. Returns: the request for the problem, with the names of the others.
 * With @all it has no names: the library chooses candidates. */
static json_t *
make_request (const Race *self, gboolean all)
{
  const gdouble seconds = MAX (self->seconds - get_elapsed (self), LEAST_SECONDS);
  json_t *request = json_pack ("{s:O, s:O, s:O, s:f}", "m", json_object_get (self->entry, "m"), "n",
                               json_object_get (self->entry, "n"), "k",
                               json_object_get (self->entry, "k"), "seconds", seconds);
  json_t *names = json_array (), *candidate;
  gsize i;

  json_array_foreach (json_object_get (self->entry, "candidates"), i, candidate)
  {
    g_autofree gchar *row = get_row (candidate);
    const gchar *why = tool_json_get_string (self->banned, row);

    if (!has_left (candidate) && why != NULL)
      leave (candidate, why);
    if (!has_left (candidate))
      json_array_append (names, json_object_get (candidate, "kernel"));
  }
  if (all)
    json_decref (names);
  else
    json_object_set_new (request, "kernels", names);
  return request;
}

/* Handles an announcement or the result of a try. */
static void
note_step (Race *self, const gchar *step, const json_t *answer)
{
  const gchar *kernel = tool_json_get_string (answer, "kernel");
  const gdouble gflops = tool_json_get_number (answer, "gflops");

  self->under_way =
      g_str_equal (step, "tried") ? NULL : tool_json_find_candidate (self->entry, kernel);
  self->is_try = g_str_equal (step, "try");
  if (self->under_way == NULL)
    self->limit = START_SECONDS;
  else if (self->is_try)
    self->limit = CLAMP (TRY_SHARE * self->seconds, LEAST_TRY_SECONDS, MOST_TRY_SECONDS);
  else
    self->limit = HANG_SECONDS + HANG_FACTOR * tool_json_get_number (answer, "ms") / 1e3 +
                  HANG_SHARE * self->seconds;
  if (gflops > self->best && !self->is_try && !has_left (answer)) {
    self->best = gflops;
    tool_progress_set_best (self->progress, kernel, gflops);
  }
}

static void
note_result (json_t *entry, const json_t *answer)
{
  static const gchar *const keys[] = {"rules", "tuned", "gain"};
  const json_t *found;
  gsize i;

  json_array_foreach (json_object_get (answer, "candidates"), i, found)
  {
    json_t *candidate = tool_json_find_candidate (entry, tool_json_get_string (found, "kernel"));

    if (candidate != NULL)
      json_object_update (candidate, (json_t *)found);
  }
  for (i = 0; i < G_N_ELEMENTS (keys); i++)
    json_object_set (entry, keys[i], json_object_get (answer, keys[i]));
}

/* Reads the answers of a search to its end. Returns: FALSE with an error, also one of the child. */
static gboolean
follow (Race *self, GError **error)
{
  while (TRUE) {
    g_autoptr (json_t) answer = tool_child_read (self->child, self->limit, error);
    const gchar *step = tool_json_get_string (answer, "step");

    if (answer == NULL)
      return FALSE;
    if (json_is_true (json_object_get (answer, "error"))) {
      g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                           tool_json_get_string (answer, "why"));
      return FALSE;
    }
    if (step == NULL) {
      note_result (self->entry, answer);
      return TRUE;
    }
    note_step (self, step, answer);
  }
}

/* Leaves out the kernel that was under way at a loss, if any. */
static void
blame (Race *self, const GError *why)
{
  if (self->under_way == NULL)
    return;
  if (self->is_try) {
    g_autofree gchar *row = get_row (self->under_way);

    json_object_set_new (self->banned, row, tool_json_string (why->message));
  } else {
    leave (self->under_way, why->message);
  }
}

/* Searches again after each loss, until a child completes the search. */
static gboolean
search (Race *self, gboolean all, GError **error)
{
  while (TRUE) {
    GError *why = NULL;

    self->under_way = NULL;
    self->limit = START_SECONDS;
    if (!tool_child_send (self->child, make_request (self, all), error))
      return FALSE;
    if (follow (self, &why))
      return TRUE;
    if (why->domain != TOOL_CHILD_ERROR) {
      g_propagate_error (error, why);
      return FALSE;
    }
    blame (self, why);
    g_error_free (why);
  }
}

/* TRUE if a candidate left without a fault, as one that spills, so that it could be used. */
static gboolean
has_usable (const json_t *entry)
{
  const json_t *candidate;
  gsize i;

  json_array_foreach (json_object_get (entry, "candidates"), i, candidate)
  {
    if (!json_is_true (json_object_get (candidate, "faulty")))
      return TRUE;
  }
  return FALSE;
}

gboolean
tune_search (json_t *entry, ToolChild *child, gdouble seconds, json_t *banned,
             ToolProgress *progress, GError **error)
{
  Race race = {
      .entry = entry,
      .child = child,
      .progress = progress,
      .banned = banned,
      .start = g_get_monotonic_time (),
      .seconds = seconds,
  };
  gboolean ok = search (&race, FALSE, error);

  /* A kernel that spills is used only if no other works. Then the library may choose it. */
  if (ok && json_is_null (json_object_get (entry, "rules")) && has_usable (entry))
    ok = search (&race, TRUE, error);
  json_object_set_new (entry, "seconds", tool_json_number (get_elapsed (&race)));
  return ok;
}

static json_t *
make_choice (const GemmclGemm *gemm, const GemmclTuningCandidate *candidate)
{
  const gdouble gflops = candidate != NULL && candidate->seconds > 0
                             ? bench_gflops (gemm, candidate->seconds * 1e3)
                             : NAN;

  return candidate != NULL ? json_pack ("{s:s, s:o}", "kernel", candidate->kernel, "gflops",
                                        tool_json_number (gflops))
                           : json_null ();
}

/* The search of the child. @begun: a candidate was announced. */
typedef struct {
  GemmclGemm gemm;
  gboolean begun;
} Served;

static void
on_step (GemmclTuningStep step, const GemmclTuningCandidate *candidate, gpointer data)
{
  static const gchar *const steps[] = {"try", "tried", "turn"};
  Served *self = data;
  json_t *answer = make_choice (&self->gemm, candidate);

  self->begun = TRUE;
  json_object_set_new (answer, "step", json_string (steps[step]));
  json_object_set_new (answer, "ms", json_real (candidate->seconds * 1e3));
  json_object_set_new (answer, "why", tool_json_string (candidate->why));
  json_object_set_new (answer, "lost", json_boolean (candidate->lost));
  if (step == GEMMCL_TUNING_STEP_TRIED && candidate->why == NULL)
    json_object_set_new (answer, "result", json_string ("ok"));
  tool_child_answer (answer);
}

static json_t *
describe (const GemmclGemm *gemm, const GemmclTuningResult *result)
{
  json_t *candidates = json_array ();

  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);
    json_t *object = make_choice (gemm, candidate);

    json_object_set_new (object, "why", tool_json_string (candidate->why));
    json_object_set_new (object, "faulty", json_boolean (candidate->faulty));
    json_array_append_new (candidates, object);
  }
  return json_pack ("{s:o, s:o, s:o, s:o}", "rules", make_choice (gemm, result->first), "tuned",
                    make_choice (gemm, result->best), "gain",
                    tool_json_number (result->best != NULL ? result->gain : NAN), "candidates",
                    candidates);
}

static json_t *
serve (G_GNUC_UNUSED gpointer data, GemmclContext *context, const json_t *request)
{
  const gdouble seconds = json_number_value (json_object_get (request, "seconds"));
  const json_t *kernels = json_object_get (request, "kernels"), *kernel;
  Served self = {.gemm = tool_child_read_problem (request)};
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GemmclTuningResult) result = NULL;
  g_autoptr (GError) error = NULL;
  json_t *answer;
  gsize i;

  json_array_foreach (kernels, i, kernel)
  {
    g_ptr_array_add (names, (gpointer)json_string_value (kernel));
  }
  options.candidates = MAX (names->len, 2);
  g_ptr_array_add (names, NULL);
  options.names = kernels != NULL ? (const gchar *const *)names->pdata : NULL;
  options.seconds = RUNNING_SHARE * seconds;
  options.try_seconds = TRYING_SHARE * seconds;
  options.share = 1;
  options.dry_run = TRUE;
  options.runs = MOST_RUNS;
  options.notify = on_step;
  options.data = &self;
  result = gemmcl_tuning_search (context, &self.gemm, &options, NULL, &error);
  if (result != NULL)
    return describe (&self.gemm, result);
  answer = tool_child_make_error (error);
  /* Running out of memory for the matrices does not lose the device. */
  if (!self.begun)
    json_object_del (answer, "lost");
  return answer;
}

gboolean
tune_serve (GError **error)
{
  return tool_child_serve (serve, NULL, error);
}
