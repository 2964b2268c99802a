/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune-search.h"

#include <math.h>
#include <string.h>

#include "bench.h"
#include "tool.h"

/* Up to when, as shares of the time, candidates are tried and then halved. The rest is for the
 * comparison with the rules' choice. */
#define TRYING_SHARE  0.55
#define HALVING_SHARE 0.75

/* A first run that takes so many times as long as the best is the last. */
#define TOO_SLOW 4.0

/* Building a kernel may take this share of the search, but so many seconds in any case: there are
 * compilers that need them. */
#define BUILD_SHARE         0.5
#define LEAST_BUILD_SECONDS 10.0
#define MOST_BUILD_SECONDS  60.0

/* A run that takes so many times as long as the best, and so many seconds more, hangs. */
#define HANG_FACTOR  10.0
#define HANG_SECONDS 5.0

/* Checking is the host's work, which is bounded; reading D from the device is the most of it. */
#define CHECK_SECONDS 30.0

/* A batch is about as long as this, of so many runs at the most. */
#define BATCH_MS  10.0
#define MOST_RUNS 100

/* The rules' choice and others. */
#define FINALISTS 3

/* Turns of the last round. */
#define LEAST_TURNS 5
#define MOST_TURNS  25

/* A turn of the last round takes so many times as long as the best, and that for each of them. */
#define LAST_MARGIN 1.5

/* What counts as faster: see tune_search_run(). */
#define LEAST_GAIN 1.02

typedef struct {
  TuneSearch *search;
  TuneWorker *worker;
  ToolProgress *progress;
  GHashTable *banned;
  GPtrArray *alive; /* the candidates in the race */
  gint64 start;
  gdouble seconds;
  gdouble best_ms; /* of all that are alive; infinite before the first run */
} Race;

static void
race_clear (Race *self)
{
  g_clear_pointer (&self->alive, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Race, race_clear)

static void
candidate_free (gpointer data)
{
  TuneCandidate *self = data;

  g_free (self->name);
  g_free (self->why);
  g_array_unref (self->times);
  g_free (self);
}

TuneSearch *
tune_search_new (const GemmclGemm *gemm, const gchar *const *names)
{
  TuneSearch *self = g_new0 (TuneSearch, 1);

  self->gemm = *gemm;
  self->gain = NAN;
  self->candidates = g_ptr_array_new_with_free_func (candidate_free);
  for (; *names != NULL; names++) {
    TuneCandidate *candidate = g_new0 (TuneCandidate, 1);
    candidate->name = g_strdup (*names);
    candidate->ms = NAN;
    candidate->times = g_array_new (FALSE, FALSE, sizeof (gdouble));
    g_ptr_array_add (self->candidates, candidate);
  }
  return self;
}

void
tune_search_free (TuneSearch *self)
{
  g_ptr_array_unref (self->candidates);
  g_free (self);
}

static gdouble
get_elapsed (const Race *self)
{
  return (gdouble)(g_get_monotonic_time () - self->start) / G_USEC_PER_SEC;
}

static gboolean
is_before (const Race *self, gdouble share)
{
  return get_elapsed (self) < share * self->seconds;
}

/* Whether there is time for what may take that share, with enough left for the last round. */
static gboolean
has_time (const Race *self, gdouble share)
{
  const gdouble last =
      isinf (self->best_ms) ? 0.0 : LEAST_TURNS * FINALISTS * LAST_MARGIN * self->best_ms / 1000;

  return is_before (self, share) && get_elapsed (self) + last < self->seconds;
}

/* Kernels that differ in the split alone are built alike. */
static gchar *
get_row (const TuneCandidate *candidate)
{
  return g_strndup (candidate->name, strcspn (candidate->name, "/"));
}

static void
leave (Race *self, TuneCandidate *candidate, gboolean faulty, const gchar *why)
{
  g_ptr_array_remove (self->alive, candidate);
  candidate->why = g_strdup (why);
  candidate->faulty = faulty;
  if (self->search->rules == candidate)
    self->search->rules = NULL;
  self->best_ms = INFINITY;
  for (guint i = 0; i < self->alive->len; i++) {
    const TuneCandidate *other = g_ptr_array_index (self->alive, i);
    self->best_ms = isnan (other->ms) ? self->best_ms : MIN (self->best_ms, other->ms);
  }
}

static void
set_time (Race *self, TuneCandidate *candidate, gdouble ms)
{
  candidate->ms = ms;
  if (ms < self->best_ms) {
    self->best_ms = ms;
    tool_progress_set_best (self->progress, candidate->name,
                            bench_gflops (&self->search->gemm, ms));
  }
}

static gdouble
get_build_limit (const Race *self)
{
  return CLAMP (BUILD_SHARE * self->seconds, LEAST_BUILD_SECONDS, MOST_BUILD_SECONDS);
}

static gdouble
get_run_limit (const Race *self, guint runs)
{
  return isinf (self->best_ms) ? MOST_BUILD_SECONDS
                               : HANG_SECONDS + HANG_FACTOR * runs * self->best_ms / 1000;
}

/*
 * What came of a request for @candidate, which is out of the race if it failed by its own fault.
 *
 * Returns: %FALSE with an error when it is not the candidate that failed.
 */
static gboolean
blame (Race *self, TuneCandidate *candidate, const gchar *answer, GError *why, GError **error)
{
  if (answer != NULL)
    return TRUE;
  if (g_error_matches (why, TUNE_ERROR, TUNE_ERROR_REFUSED) ||
      g_error_matches (why, TUNE_ERROR, TUNE_ERROR_LOST)) {
    leave (self, candidate, TRUE, why->message);
    g_error_free (why);
    return TRUE;
  }
  g_propagate_error (error, why);
  return FALSE;
}

/* Builds @candidate where the worker does not have it; *@ready tells whether it can run. One that
 * turns out to spill cannot yet. */
static gboolean
prepare (Race *self, TuneCandidate *candidate, gboolean *ready, GError **error)
{
  g_autofree gchar *row = get_row (candidate), *answer = NULL;
  const gchar *known = g_hash_table_lookup (self->banned, row);
  GError *why = NULL;

  *ready = FALSE;
  if (known != NULL) {
    leave (self, candidate, TRUE, known);
    return TRUE;
  }
  if (candidate->generation == tune_worker_get_generation (self->worker)) {
    *ready = TRUE;
    return TRUE;
  }
  answer = tune_worker_ask (self->worker, get_build_limit (self), &why, "build %s %d",
                            candidate->name, candidate->spills);
  if (g_error_matches (why, TUNE_ERROR, TUNE_ERROR_LOST))
    g_hash_table_replace (self->banned, g_steal_pointer (&row), g_strdup (why->message));
  *ready = answer != NULL && *answer == '\0';
  if (*ready)
    candidate->generation = tune_worker_get_generation (self->worker);
  else if (answer != NULL)
    candidate->spills = TRUE;
  return blame (self, candidate, answer, why, error);
}

/* The memory that the worker holds for those that are out; that it may fail does not matter. */
static void
drop (Race *self, const TuneCandidate *candidate)
{
  if (candidate->generation == tune_worker_get_generation (self->worker))
    g_free (tune_worker_ask (self->worker, HANG_SECONDS, NULL, "drop %s", candidate->name));
}

static gboolean
check (Race *self, TuneCandidate *candidate, GError **error)
{
  GError *why = NULL;
  g_autofree gchar *answer = tune_worker_ask (self->worker, CHECK_SECONDS, &why, "check");

  return blame (self, candidate, answer, why, error);
}

/* The first run. */
static gboolean
try_candidate (Race *self, TuneCandidate *candidate, GError **error)
{
  g_autofree gchar *answer = NULL;
  GError *why = NULL;
  gboolean ready;
  gdouble ms;

  if (!prepare (self, candidate, &ready, error))
    return FALSE;
  if (!ready)
    return TRUE;
  answer = tune_worker_ask (self->worker, get_run_limit (self, 1), &why, "first %s %f",
                            candidate->name, TOO_SLOW * self->best_ms);
  if (answer == NULL)
    return blame (self, candidate, answer, why, error);
  ms = *answer != '\0' ? g_ascii_strtod (answer, NULL) : NAN;
  /* NaN, too, is no less. */
  if (!(ms <= TOO_SLOW * self->best_ms)) {
    candidate->ms = ms;
    leave (self, candidate, FALSE, "Its first run was slow.");
    drop (self, candidate);
    return TRUE;
  }
  if (!check (self, candidate, error))
    return FALSE;
  if (candidate->why == NULL)
    set_time (self, candidate, ms);
  return TRUE;
}

/* The candidates that are known to spill, or all others, as long as there is time. */
static gboolean
try_those (Race *self, gboolean spill, GError **error)
{
  TuneSearch *search = self->search;

  for (guint i = 0; i < search->candidates->len; i++) {
    TuneCandidate *candidate = g_ptr_array_index (search->candidates, i);

    if (candidate->why != NULL || candidate->spills != spill)
      continue;
    if (search->rules != NULL && !has_time (self, TRYING_SHARE)) {
      leave (self, candidate, FALSE, "There was no time to try it.");
      continue;
    }
    if (!try_candidate (self, candidate, error))
      return FALSE;
    if (search->rules == NULL && candidate->why == NULL && candidate->spills == spill)
      search->rules = candidate;
  }
  return TRUE;
}

static void
leave_those_that_spill (Race *self)
{
  for (guint i = 0; i < self->search->candidates->len; i++) {
    TuneCandidate *candidate = g_ptr_array_index (self->search->candidates, i);

    if (candidate->why == NULL && candidate->spills)
      leave (self, candidate, FALSE, "It spills registers, and others do not.");
  }
}

/* What spills has a chance only where nothing else works. */
static gboolean
try_all (Race *self, GError **error)
{
  if (!try_those (self, FALSE, error))
    return FALSE;
  if (self->search->rules == NULL)
    return try_those (self, TRUE, error);
  leave_those_that_spill (self);
  return TRUE;
}

/* The median time of a batch of runs. */
static gboolean
time_batch (Race *self, TuneCandidate *candidate, GError **error)
{
  const guint runs = (guint)CLAMP (BATCH_MS / candidate->ms, 1, MOST_RUNS);
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_autofree gchar *answer = NULL;
  g_auto (GStrv) words = NULL;
  GError *why = NULL;
  gboolean ready;
  gdouble median;

  if (!prepare (self, candidate, &ready, error))
    return FALSE;
  if (!ready)
    return TRUE;
  answer = tune_worker_ask (self->worker, get_run_limit (self, runs), &why, "time %s %u",
                            candidate->name, runs);
  if (answer == NULL)
    return blame (self, candidate, answer, why, error);
  words = g_strsplit (answer, " ", -1);
  for (guint i = 0; words[i] != NULL; i++) {
    const gdouble ms = g_ascii_strtod (words[i], NULL);
    g_array_append_val (times, ms);
  }
  median = tool_quantile (times, 0.5);
  g_array_append_val (candidate->times, median);
  set_time (self, candidate, tool_quantile (candidate->times, 0.5));
  return TRUE;
}

/* A batch of each candidate; every other turn goes backwards, so that none always follows the same
 * one. */
static gboolean
take_turn (Race *self, guint turn, GError **error)
{
  g_autoptr (GPtrArray) racers = g_ptr_array_copy (self->alive, NULL, NULL);

  for (guint i = 0; i < racers->len; i++) {
    const guint at = turn % 2 == 0 ? i : racers->len - 1 - i;
    if (!time_batch (self, g_ptr_array_index (racers, at), error))
      return FALSE;
  }
  return TRUE;
}

static void
clear_times (Race *self)
{
  for (guint i = 0; i < self->alive->len; i++) {
    const TuneCandidate *candidate = g_ptr_array_index (self->alive, i);
    g_array_set_size (candidate->times, 0);
  }
}

static gint
compare_times (gconstpointer a, gconstpointer b)
{
  const TuneCandidate *x = *(TuneCandidate *const *)a, *y = *(TuneCandidate *const *)b;

  return (x->ms > y->ms) - (x->ms < y->ms);
}

/* The fastest @count, the rules' choice among them in any case. */
static void
keep (Race *self, guint count)
{
  g_autoptr (GPtrArray) sorted = g_ptr_array_copy (self->alive, NULL, NULL);
  guint kept = self->search->rules != NULL ? 1 : 0;

  g_ptr_array_sort (sorted, compare_times);
  for (guint i = 0; i < sorted->len; i++) {
    TuneCandidate *candidate = g_ptr_array_index (sorted, i);
    if (candidate == self->search->rules || kept++ < count)
      continue;
    leave (self, candidate, FALSE, "Others were faster.");
    drop (self, candidate);
  }
}

static gboolean
halve (Race *self, GError **error)
{
  for (guint turns = 1; self->alive->len > FINALISTS && has_time (self, HALVING_SHARE);
       turns *= 2) {
    clear_times (self);
    for (guint turn = 0; turn < turns && has_time (self, HALVING_SHARE); turn++)
      if (!take_turn (self, turn, error))
        return FALSE;
    keep (self, MAX (FINALISTS, (self->alive->len + 1) / 2));
  }
  keep (self, FINALISTS);
  return TRUE;
}

static gboolean
run_final (Race *self, GError **error)
{
  clear_times (self);
  for (guint turn = 0; turn < MOST_TURNS && is_before (self, 1.0); turn++)
    if (!take_turn (self, turn, error))
      return FALSE;
  return TRUE;
}

/* How many times as fast as @rules @candidate is in the middle one of their turns; 1 where that is
 * no more than noise. */
static gdouble
compare (const TuneCandidate *candidate, const TuneCandidate *rules)
{
  g_autoptr (GArray) gains = g_array_new (FALSE, FALSE, sizeof (gdouble));
  gdouble gain;

  for (guint i = 0; i < MIN (candidate->times->len, rules->times->len); i++) {
    gain = g_array_index (rules->times, gdouble, i) / g_array_index (candidate->times, gdouble, i);
    g_array_append_val (gains, gain);
  }
  gain = tool_quantile (gains, 0.5);
  return gain >= LEAST_GAIN && tool_quantile (gains, 0.25) > 1.0 ? gain : 1.0;
}

static void
decide (Race *self)
{
  TuneSearch *search = self->search;

  for (guint i = 0; i < self->alive->len; i++) {
    TuneCandidate *candidate = g_ptr_array_index (self->alive, i);
    gdouble gain;

    if (candidate->times->len < LEAST_TURNS)
      continue;
    if (search->rules == NULL) {
      if (search->best == NULL || candidate->ms < search->best->ms)
        search->best = candidate;
      continue;
    }
    gain = compare (candidate, search->rules);
    if (search->best == NULL || gain > search->gain) {
      search->best = gain > 1.0 ? candidate : search->rules;
      search->gain = gain;
    }
  }
}

gboolean
tune_search_run (TuneSearch *self, TuneWorker *worker, gdouble seconds, GHashTable *banned,
                 ToolProgress *progress, GError **error)
{
  g_auto (Race) race = {
      .search = self,
      .worker = worker,
      .progress = progress,
      .banned = banned,
      .alive = g_ptr_array_new (),
      .start = g_get_monotonic_time (),
      .seconds = seconds,
      .best_ms = INFINITY,
  };
  gboolean ok;

  g_ptr_array_extend (race.alive, self->candidates, NULL, NULL);
  ok = tune_worker_set_problem (worker, &self->gemm, error) && try_all (&race, error) &&
       halve (&race, error);
  if (ok) {
    ok = run_final (&race, error);
    decide (&race);
  }
  self->seconds = get_elapsed (&race);
  return ok;
}
