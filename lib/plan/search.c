/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search for the fastest kernel for a problem.
 */
#include <math.h>
#include <string.h>

#include "plan/search.h"
#include "kernels/choice.h"

/* A candidate drops out if its first run takes this many times as long as the best. */
#define TOO_SLOW 4.0

/* If the best takes longer than LONG_SECONDS, a run on 1 / ROWS_PART of the rows comes before the
 * first one: a kernel can be a thousand times slower. */
#define LONG_SECONDS 1e-3
#define ROWS_PART    16

/* The first run of a plan is slower than later ones. If it is shorter than this share of the
 * search's time, up to SHORT_RUNS more runs follow, and the shortest counts. */
#define SHORT_SHARE 4e-4
#define SHORT_RUNS  4

/* After FIRST_TURNS, a candidate drops out if it is SLOWER times as slow as the best. */
#define FIRST_TURNS 3
#define SLOWER      1.25

/* The least and the largest number of turns, and the share of the search's time for all turns. */
#define LEAST_TURNS 5
#define MOST_TURNS  15
#define TURNS_SHARE 0.75

/* After LEAST_TURNS, a candidate drops out if the best was this many times as fast in each turn. */
#define CLEAR_GAIN 1.05

/* The largest number of plans besides the first; each holds a B. */
#define MOST_RIVALS 12

/* The least gain of a faster kernel: see gemmcl_tuning_search(). */
#define LEAST_GAIN 1.02

/* A candidate that takes turns. @times: the results of its turns */
typedef struct {
  GemmclTuningCandidate *candidate;
  GemmclPlan *plan;
  GArray *times;
} Racer;

typedef struct {
  GemmclSearchData *data;
  GemmclGemm gemm, as_run; /* the problem, and the problem as it most often runs */
  const GemmclDeviceInfo *device;
  GemmclTuningOptions options;
  GCancellable *cancellable;
  GemmclTuningResult *result;
  GPtrArray *racers; /* the others have to beat the first */
  gint64 start;      /* monotonic time in microseconds */
  gboolean is_short; /* time was too short to try all candidates */
} Race;

static void
racer_free (gpointer data)
{
  Racer *self = data;

  g_array_unref (self->times);
  g_object_unref (self->plan);
  g_free (self);
}

static void
race_clear (Race *self)
{
  g_clear_pointer (&self->racers, g_ptr_array_unref);
  g_clear_pointer (&self->data, gemmcl_search_data_free);
  g_clear_pointer (&self->result, gemmcl_tuning_result_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Race, race_clear)

static void
candidate_free (gpointer data)
{
  GemmclTuningCandidate *self = data;

  g_free (self->kernel);
  g_free (self->why);
  g_free (self);
}

void
gemmcl_tuning_result_free (GemmclTuningResult *result)
{
  g_ptr_array_unref (result->candidates);
  g_free (result->why_not_stored);
  g_free (result);
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

/* The quantile @share of @values, rounded down to an element. */
static gdouble
get_quantile (const GArray *values, gdouble share)
{
  g_autoptr (GArray) sorted = g_array_copy ((GArray *)values);

  g_array_sort (sorted, compare_doubles);
  return g_array_index (sorted, gdouble, (guint)(share * (sorted->len - 1)));
}

static gboolean
is_cancelled (const Race *self, GError **error)
{
  return g_cancellable_set_error_if_cancelled (self->cancellable, error);
}

/* Sleeps after @seconds on the device, so that the search takes only its share. Returns: %FALSE if
 * it was cancelled. */
static gboolean
rest (Race *self, gdouble seconds, GError **error)
{
  const gdouble pause = seconds * (1 / self->options.share - 1);
  GPollFD fd;

  self->result->device_seconds += seconds;
  if (pause > 0 && g_cancellable_make_pollfd (self->cancellable, &fd)) {
    g_poll (&fd, 1, (gint)MIN (ceil (pause * 1000), G_MAXINT));
    g_cancellable_release_fd (self->cancellable);
  } else if (pause > 0) {
    g_usleep ((gulong)(pause * G_USEC_PER_SEC));
  }
  return !is_cancelled (self, error);
}

static GemmclTuningCandidate *
add_candidate (Race *self, const gchar *name)
{
  GemmclTuningCandidate *candidate = g_new0 (GemmclTuningCandidate, 1);

  candidate->kernel = g_strdup (name);
  g_ptr_array_add (self->result->candidates, candidate);
  return candidate;
}

static void
notify (const Race *self, GemmclTuningStep step, const GemmclTuningCandidate *candidate)
{
  if (self->options.notify != NULL)
    self->options.notify (step, candidate, self->options.data);
}

static void
leave (GemmclTuningCandidate *candidate, gboolean faulty, const gchar *why)
{
  candidate->faulty = faulty;
  candidate->why = g_strdup (why);
}

static void
fail (GemmclTuningCandidate *candidate, const GError *why)
{
  leave (candidate, TRUE, why->message);
  candidate->lost = g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL);
}

static const Racer *
find_best (const Race *self)
{
  const Racer *best = NULL;

  for (guint i = 0; i < self->racers->len; i++) {
    const Racer *racer = g_ptr_array_index (self->racers, i);

    if (best == NULL || racer->candidate->seconds < best->candidate->seconds)
      best = racer;
  }
  return best;
}

static gdouble
get_best_seconds (const Race *self)
{
  const Racer *best = find_best (self);

  return best ? best->candidate->seconds : INFINITY;
}

/* The time of one run of each racer. */
static gdouble
get_turn_seconds (const Race *self)
{
  gdouble turn = 0;

  for (guint i = 0; i < self->racers->len; i++)
    turn += ((Racer *)g_ptr_array_index (self->racers, i))->candidate->seconds;
  return turn;
}

static gboolean
is_within (const Race *self, gdouble seconds)
{
  return self->result->device_seconds + seconds <= self->options.seconds;
}

/* TRUE if there is time for one more candidate as fast as the best: its first run, and LEAST_TURNS
 * of all racers. */
static gboolean
has_time (const Race *self)
{
  const gdouble elapsed = (g_get_monotonic_time () - self->start) / (gdouble)G_USEC_PER_SEC;
  const gdouble best = get_best_seconds (self);

  if (self->racers->len == 0)
    return TRUE;
  return is_within (self, best + LEAST_TURNS * (get_turn_seconds (self) + best)) &&
         (self->options.try_seconds <= 0 || elapsed < self->options.try_seconds);
}

/* Drops @candidate if its kernel is not native or spills. Returns: TRUE if it dropped out. */
static gboolean
has_flaw (const Race *self, GemmclTuningCandidate *candidate, GemmclPlan *plan)
{
  const gboolean is_intel = self->device->intel && self->device->type == GEMMCL_DEVICE_TYPE_GPU;
  GemmclBuildInfo build;

  gemmcl_plan_get_build_info (plan, &build);
  if (build.level != GEMMCL_KERNEL_LEVEL_NATIVE)
    leave (candidate, TRUE, "It does not build natively.");
  else if (build.spill_bytes > 0 || (is_intel && build.private_bytes > 0))
    leave (candidate, FALSE, "It spills registers.");
  return candidate->why != NULL;
}

/* Drops the slowest racer if there are too many for the memory; never the first. */
static void
limit_racers (Race *self)
{
  guint slowest = 1;

  if (self->racers->len <= 1 + MOST_RIVALS)
    return;
  for (guint i = 2; i < self->racers->len; i++)
    if (((Racer *)g_ptr_array_index (self->racers, i))->candidate->seconds >
        ((Racer *)g_ptr_array_index (self->racers, slowest))->candidate->seconds)
      slowest = i;
  leave (((Racer *)g_ptr_array_index (self->racers, slowest))->candidate, FALSE,
         "Others were faster.");
  g_ptr_array_remove_index (self->racers, slowest);
}

static void
add_racer (Race *self, GemmclTuningCandidate *candidate, GemmclPlan *plan)
{
  Racer *racer = g_new0 (Racer, 1);

  racer->candidate = candidate;
  racer->plan = g_object_ref (plan);
  racer->times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  g_ptr_array_add (self->racers, racer);
  if (self->result->first == NULL)
    self->result->first = candidate;
  limit_racers (self);
}

/* Runs a part of the rows, if the problem is long enough. Returns: FALSE with an error if @plan
 * fails. @slow: (out): the run took too long */
static gboolean
run_part (Race *self, GemmclPlan *plan, gboolean *slow, gdouble *seconds, GError **error)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize rows =
      gemm->a_image || gemm->d_image || gemmcl_gemm_get_batch (gemm) > 1 ? 0 : gemm->m / ROWS_PART;
  const gdouble best = get_best_seconds (self);

  *slow = FALSE;
  *seconds = 0;
  if (rows == 0 || isinf (best) || best < LONG_SECONDS)
    return TRUE;
  if (!gemmcl_search_data_run (self->data, plan, rows, seconds, error))
    return FALSE;
  *slow = *seconds > TOO_SLOW * best;
  return TRUE;
}

/* Returns: FALSE with an error if @plan fails or is wrong. @seconds: (out): time of all runs */
static gboolean
run_first (Race *self, GemmclTuningCandidate *candidate, GemmclPlan *plan, gdouble *seconds,
           GError **error)
{
  gboolean slow, ok;

  if (!run_part (self, plan, &slow, seconds, error))
    return FALSE;
  if (slow) {
    candidate->seconds = *seconds;
    return TRUE;
  }
  ok = gemmcl_search_data_check (self->data, plan, &candidate->seconds, error);
  *seconds += candidate->seconds;
  for (guint i = 0;
       i < SHORT_RUNS && ok && candidate->seconds < SHORT_SHARE * self->options.seconds; i++) {
    gdouble again;

    if (!gemmcl_search_data_run (self->data, plan, 0, &again, error))
      return FALSE;
    *seconds += again;
    candidate->seconds = MIN (candidate->seconds, again);
  }
  return ok;
}

/* Does the first runs of @plan and checks its result. */
static gboolean
try_plan (Race *self, GemmclTuningCandidate *candidate, GemmclPlan *plan, GError **error)
{
  const gdouble best = get_best_seconds (self);
  g_autoptr (GError) why = NULL;
  gdouble seconds;

  if (!run_first (self, candidate, plan, &seconds, &why))
    fail (candidate, why);
  else if (candidate->seconds > TOO_SLOW * best)
    leave (candidate, FALSE, "Its first run was slow.");
  else
    add_racer (self, candidate, plan);
  return rest (self, seconds, error);
}

/* @name: (nullable): %NULL for the choice of the rules, which may spill if nothing better builds */
static gboolean
try_kernel (Race *self, const gchar *name, GError **error)
{
  GemmclTuningCandidate *candidate;
  g_autoptr (GError) why = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  gboolean ok = TRUE;

  if (is_cancelled (self, error))
    return FALSE;
  candidate = add_candidate (self, name ? name : "rules");
  if (name != NULL && !has_time (self)) {
    leave (candidate, FALSE, "There was no time to try it.");
    self->is_short = TRUE;
    return TRUE;
  }
  notify (self, GEMMCL_TUNING_STEP_TRY, candidate);
  plan = gemmcl_search_data_make_plan (self->data, candidate->kernel, &why);
  if (plan == NULL && name == NULL) {
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  if (plan == NULL) {
    fail (candidate, why);
  } else {
    g_free (candidate->kernel);
    candidate->kernel = g_strdup (gemmcl_plan_get_kernel (plan));
    if (name == NULL || !has_flaw (self, candidate, plan))
      ok = try_plan (self, candidate, plan, error);
  }
  notify (self, GEMMCL_TUNING_STEP_TRIED, candidate);
  return ok;
}

static gboolean
is_known (const Race *self, const gchar *name)
{
  for (guint i = 0; i < self->result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (self->result->candidates, i);

    if (g_str_equal (candidate->kernel, name))
      return TRUE;
  }
  return FALSE;
}

static gboolean
try_all (Race *self, GemmclContext *context, const GemmclGemm *gemm, GError **error)
{
  g_auto (GStrv) listed = NULL;
  const gchar *const *names = self->options.names;

  if (names == NULL) {
    if (!try_kernel (self, NULL, error))
      return FALSE;
    listed = gemmcl_tuning_list_candidates (context, &self->as_run);
    names = (const gchar *const *)listed;
  }
  for (; *names != NULL && self->result->candidates->len < self->options.candidates; names++)
    if (!is_known (self, *names) && gemmcl_kernel_fits (context, *names, gemm, NULL) &&
        !try_kernel (self, *names, error))
      return FALSE;
  return TRUE;
}

/* A turn: the median of a few runs. */
static gboolean
take_turn (Race *self, Racer *racer, GError **error)
{
  const gdouble turn = TURNS_SHARE * self->options.seconds / (self->racers->len * MOST_TURNS);
  const guint n = (guint)CLAMP (turn / racer->candidate->seconds, 1, self->options.runs);
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (gdouble));
  gdouble median;

  notify (self, GEMMCL_TUNING_STEP_TURN, racer->candidate);
  for (guint i = 0; i < n; i++) {
    gdouble seconds;

    if (!gemmcl_search_data_run (self->data, racer->plan, 0, &seconds, error) ||
        !rest (self, seconds, error))
      return FALSE;
    g_array_append_val (runs, seconds);
  }
  median = get_quantile (runs, 0.5);
  g_array_append_val (racer->times, median);
  racer->candidate->seconds = get_quantile (racer->times, 0.5);
  return TRUE;
}

/* Drops the racers that cannot win any more; never the first. */
static void
drop_slow (Race *self)
{
  const gdouble limit = SLOWER * get_best_seconds (self);

  for (guint i = self->racers->len; i-- > 1;) {
    Racer *racer = g_ptr_array_index (self->racers, i);

    if (racer->candidate->seconds <= limit)
      continue;
    leave (racer->candidate, FALSE, "Others were faster.");
    g_ptr_array_remove_index (self->racers, i);
  }
}

/* TRUE if @racer was slower than @best by CLEAR_GAIN in each turn. */
static gboolean
is_beaten (const Racer *racer, const Racer *best)
{
  for (guint i = 0; i < racer->times->len; i++)
    if (g_array_index (racer->times, gdouble, i) <
        CLEAR_GAIN * g_array_index (best->times, gdouble, i))
      return FALSE;
  return TRUE;
}

/* Drops the racers that the best has beaten; never the first. Returns: TRUE if more turns may
 * change the order. */
static gboolean
drop_beaten (Race *self)
{
  const Racer *best = find_best (self);
  gboolean open = FALSE;

  for (guint i = self->racers->len; i-- > 0;) {
    Racer *racer = g_ptr_array_index (self->racers, i);

    if (racer == best)
      continue;
    if (!is_beaten (racer, best)) {
      open = TRUE;
    } else if (i > 0) {
      leave (racer->candidate, FALSE, "Others were faster.");
      g_ptr_array_remove_index (self->racers, i);
    }
  }
  return open;
}

/* Every other turn goes backwards, so that no racer always follows the same one. */
static gboolean
take_turns (Race *self, GError **error)
{
  for (guint turn = 0; self->racers->len > 1 && turn < MOST_TURNS; turn++) {
    if (turn == FIRST_TURNS)
      drop_slow (self);
    if (turn >= LEAST_TURNS && !drop_beaten (self))
      break;
    if (!is_within (self, get_turn_seconds (self)))
      break;
    for (guint i = 0; i < self->racers->len; i++) {
      const guint at = turn % 2 == 0 ? i : self->racers->len - 1 - i;

      if (!take_turn (self, g_ptr_array_index (self->racers, at), error))
        return FALSE;
    }
  }
  return TRUE;
}

/* The median speed of @racer relative to @first; 1 if the difference may be noise. */
static gdouble
get_gain (const Racer *racer, const Racer *first)
{
  g_autoptr (GArray) gains = g_array_new (FALSE, FALSE, sizeof (gdouble));
  gdouble gain;

  for (guint i = 0; i < MIN (racer->times->len, first->times->len); i++) {
    gain = g_array_index (first->times, gdouble, i) / g_array_index (racer->times, gdouble, i);
    g_array_append_val (gains, gain);
  }
  gain = get_quantile (gains, 0.5);
  return gain >= LEAST_GAIN && get_quantile (gains, 0.25) > 1.0 ? gain : 1.0;
}

static void
decide (Race *self)
{
  GemmclTuningResult *result = self->result;
  const Racer *first = self->racers->len > 0 ? g_ptr_array_index (self->racers, 0) : NULL;

  /* If no candidate was left to compare, the first wins without turns. */
  if (first == NULL ||
      (first->times->len < LEAST_TURNS && (self->racers->len > 1 || self->is_short)))
    return;
  result->best = first->candidate;
  for (guint i = 1; i < self->racers->len; i++) {
    const Racer *racer = g_ptr_array_index (self->racers, i);
    const gdouble gain = get_gain (racer, first);

    if (gain > result->gain) {
      result->best = racer->candidate;
      result->gain = gain;
    }
  }
}

/* Stores an entry for the matrices of the problem. */
static void
store (Race *self, GemmclContext *context)
{
  const GemmclGemm *as_run = &self->as_run;
  GemmclTuningResult *result = self->result;
  GemmclGemm matrices = GEMMCL_GEMM_INIT;
  g_autoptr (GError) why = NULL;
  gdouble flops;

  if (result->best == NULL || self->options.dry_run || !gemmcl_tuning_has_entries (as_run))
    return;
  matrices.m = as_run->m;
  matrices.n = as_run->n;
  matrices.k = as_run->k;
  matrices.layout = as_run->layout;
  matrices.trans_a = as_run->trans_a;
  matrices.trans_b = as_run->trans_b;
  matrices.precision = as_run->precision;
  flops = 2.0 * matrices.m * matrices.n * matrices.k;
  result->stored = gemmcl_tuning_store (context, &matrices, result->best->kernel,
                                        flops / result->best->seconds / 1e9, &why);
  if (!result->stored)
    result->why_not_stored = g_strdup (why->message);
}

GemmclTuningResult *
gemmcl_tuning_search (GemmclContext *context, const GemmclGemm *gemm,
                      const GemmclTuningOptions *options, GCancellable *cancellable, GError **error)
{
  g_auto (Race) race = {.options = GEMMCL_TUNING_OPTIONS_INIT, .cancellable = cancellable};
  GemmclGemm computed;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  g_return_val_if_fail (gemm != NULL, NULL);
  g_return_val_if_fail (options == NULL || options->size == sizeof (GemmclTuningOptions), NULL);

  if (options != NULL)
    race.options = *options;
  g_return_val_if_fail (race.options.candidates >= 2 && race.options.seconds > 0, NULL);
  g_return_val_if_fail (race.options.share > 0 && race.options.share <= 1, NULL);
  g_return_val_if_fail (race.options.runs >= 1, NULL);

  if (!gemmcl_gemm_validate (gemm, error))
    return NULL;
  computed = gemmcl_gemm_get_computed (gemm);
  race.gemm = *gemm;
  race.as_run = gemmcl_gemm_get_as_run (&computed);
  race.device = gemmcl_context_get_device_info (context);
  race.racers = g_ptr_array_new_with_free_func (racer_free);
  race.result = g_new0 (GemmclTuningResult, 1);
  race.result->gain = 1.0;
  race.result->candidates = g_ptr_array_new_with_free_func (candidate_free);
  race.start = g_get_monotonic_time ();
  race.data =
      gemmcl_search_data_new (context, gemm, MIN (race.options.candidates, 2 + MOST_RIVALS), error);
  if (race.data == NULL || !try_all (&race, context, gemm, error) || !take_turns (&race, error))
    return NULL;
  decide (&race);
  store (&race, context);
  return g_steal_pointer (&race.result);
}
