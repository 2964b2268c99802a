/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "options.h"
#include "tune.h"

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

/* The search for an entry of the state. */
typedef struct {
  GemmclContext *context;
  json_t *state, *entry;
  gsize index;
  GemmclGemm gemm;
  gdouble seconds;
  gboolean begun; /* a candidate was announced */
} Search;

static json_t *
get_candidate (const Search *self, gsize index)
{
  return json_array_get (json_object_get (self->entry, "candidates"), index);
}

static gsize
count_candidates (const Search *self)
{
  return json_array_size (json_object_get (self->entry, "candidates"));
}

/* Returns: the path of the candidate with that kernel; that of the first for "rules". */
static json_t *
find_path (const Search *self, const gchar *kernel)
{
  gsize i = count_candidates (self);

  while (--i > 0 &&
         g_strcmp0 (tool_json_get_string (get_candidate (self, i), "kernel"), kernel) != 0)
    ;
  return json_pack ("[s, I, s, I]", "entries", (json_int_t)self->index, "candidates",
                    (json_int_t)i);
}

static json_t *
get_gflops (const Search *self, const GemmclTuningCandidate *candidate)
{
  return tool_json_number (
      candidate->seconds > 0 ? bench_gflops (&self->gemm, candidate->seconds * 1e3) : NAN);
}

static void
on_step (GemmclTuningStep step, const GemmclTuningCandidate *candidate, gpointer data)
{
  Search *self = data;
  const gdouble limit =
      step == GEMMCL_TUNING_STEP_TRY
          ? CLAMP (TRY_SHARE * self->seconds, LEAST_TRY_SECONDS, MOST_TRY_SECONDS)
          : HANG_SECONDS + HANG_FACTOR * candidate->seconds + HANG_SHARE * self->seconds;

  self->begun = TRUE;
  if (step != GEMMCL_TUNING_STEP_TRIED)
    tool_worker_begin (find_path (self, candidate->kernel), limit,
                       json_pack ("{s:b}", "faulty", TRUE));
  else if (candidate->lost)
    tool_worker_lose (candidate->why);
  else
    tool_worker_set (find_path (self, candidate->kernel),
                     json_pack ("{s:o, s:o}", "gflops", get_gflops (self, candidate), "why",
                                tool_json_string (candidate->why)));
}

/* Returns: (nullable): the reason why a kernel of the candidate's row of the table ended a worker.
 * Kernels that differ only in the split of K are built from the same row. */
static const gchar *
find_loss (const Search *self, const json_t *candidate)
{
  const json_t *losses = json_object_get (self->state, "lost"), *lost;
  const gchar *name = tool_json_get_string (candidate, "kernel");
  const gsize length = strcspn (name, "/");
  gsize i;

  json_array_foreach (losses, i, lost)
  {
    const gchar *other = tool_json_get_string (lost, "kernel");

    if (strcspn (other, "/") == length && strncmp (name, other, length) == 0)
      return tool_json_get_string (lost, "why");
  }
  return NULL;
}

/* Returns: the names of the candidates whose rows ended no worker; the others are faulty. */
static GPtrArray *
list_names (const Search *self)
{
  GPtrArray *names = g_ptr_array_new ();

  for (gsize i = 0; i < count_candidates (self); i++) {
    const json_t *candidate = get_candidate (self, i);
    const gchar *kernel = tool_json_get_string (candidate, "kernel");
    const gchar *why = find_loss (self, candidate);

    if (why == NULL)
      g_ptr_array_add (names, (gpointer)kernel);
    else
      tool_worker_set (find_path (self, kernel),
                       json_pack ("{s:b, s:o}", "faulty", TRUE, "why", tool_json_string (why)));
  }
  g_ptr_array_add (names, NULL);
  return names;
}

/* Sets what the search found of its candidates. Returns: TRUE if one has no fault. */
static gboolean
set_candidates (const Search *self, const GemmclTuningResult *result)
{
  gboolean usable = FALSE;

  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    usable |= !candidate->faulty;
    tool_worker_set (find_path (self, candidate->kernel),
                     json_pack ("{s:o, s:o, s:b}", "gflops", get_gflops (self, candidate), "why",
                                tool_json_string (candidate->why), "faulty", candidate->faulty));
  }
  return usable;
}

static json_t *
make_choice (const Search *self, const GemmclTuningCandidate *candidate)
{
  return candidate != NULL ? json_pack ("{s:s, s:o}", "kernel", candidate->kernel, "gflops",
                                        get_gflops (self, candidate))
                           : json_null ();
}

/* @names: (nullable): the kernels; NULL: the choice of the rules and the next one
 * @change: gets the result. Returns: TRUE if the library may choose one that works but was left. */
static gboolean
search (Search *self, const GPtrArray *names, json_t *change)
{
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GemmclTuningResult) result = NULL;
  g_autoptr (GError) error = NULL;
  gboolean usable;

  if (names != NULL) {
    options.candidates = MAX (names->len, 2);
    options.names = (const gchar *const *)names->pdata;
  } else {
    options.candidates = 2;
  }
  options.seconds = RUNNING_SHARE * self->seconds;
  options.try_seconds = TRYING_SHARE * self->seconds;
  options.share = 1;
  options.dry_run = TRUE;
  options.runs = MOST_RUNS;
  options.notify = on_step;
  options.data = self;
  result = gemmcl_tuning_search (self->context, &self->gemm, &options, NULL, &error);
  /* Running out of memory for the matrices does not lose the device. */
  if (self->begun && g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL))
    tool_worker_lose (error->message);
  if (result == NULL) {
    json_object_set_new (change, "error", tool_json_string (error->message));
    return FALSE;
  }
  usable = set_candidates (self, result);
  json_object_set_new (change, "rules", make_choice (self, result->first));
  json_object_set_new (change, "tuned", make_choice (self, result->best));
  json_object_set_new (change, "gain",
                       tool_json_number (result->best != NULL ? result->gain : NAN));
  return usable && result->first == NULL;
}

static gdouble
get_seconds_until (gint64 end)
{
  return (gdouble)(end - g_get_monotonic_time ()) / G_USEC_PER_SEC;
}

static void
search_entry (Search *self)
{
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (GPtrArray) names = list_names (self);
  json_t *change = json_object ();

  /* A kernel that spills is used only if no other works. Then the library may choose it. */
  if (search (self, names, change))
    search (self, NULL, change);
  json_object_set_new (change, "seconds", json_real (-get_seconds_until (start)));
  tool_worker_set (json_pack ("[s, I]", "entries", (json_int_t)self->index), change);
}

static void
work (GemmclContext *context, json_t *state, G_GNUC_UNUSED gpointer data)
{
  const gint64 end = json_integer_value (json_object_get (state, "end"));
  json_t *entries = json_object_get (state, "entries");
  const gsize n = json_array_size (entries);
  Search self = {.context = context, .state = state, .gemm = tool_gemm};

  for (; self.index < n; self.index++) {
    g_autofree gchar *name = NULL, *step = NULL;

    self.begun = FALSE;
    self.entry = json_array_get (entries, self.index);
    if (!json_is_null (json_object_get (self.entry, "seconds")))
      continue;
    tool_json_get_sizes (self.entry, &self.gemm);
    name = tool_json_get_problem (self.entry);
    step = g_strdup_printf ("%zu/%zu %s", self.index + 1, n, name);
    tool_worker_step (step);
    /* Up to twice its equal share of the remaining time, since most kernels are built for the first
     * problem. */
    self.seconds =
        MAX (get_seconds_until (end) * 2.0 / (gdouble)(n - self.index + 1), LEAST_SECONDS);
    search_entry (&self);
  }
}

gboolean
tune_serve (GError **error)
{
  return tool_worker_serve (work, NULL, error);
}
