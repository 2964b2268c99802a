/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search for the fastest kernel for a problem.
 */
#include <math.h>
#include <string.h>

#include "gemmcl-search.h"
#include "gemmcl-tuning.h"
#include "kernels/tuning.h"
#include "plan/search-data.h"

/* A candidate drops out if its first run takes this many times as long as the best. */
#define TOO_SLOW 4.0

/* If the best takes longer than LONG_SECONDS, a candidate first runs on 1 / ROWS_PART of the rows:
 * it can be a thousand times slower. */
#define LONG_SECONDS 1e-3
#define ROWS_PART    16

/* The first run of a plan is slower than later ones. If it is shorter than this share of the
 * search's time, up to SHORT_RUNS more runs follow, and the shortest counts. */
#define SHORT_SHARE 4e-4
#define SHORT_RUNS  4

/* The least and the largest number of turns, and the share of the search's time for all turns. */
#define LEAST_TURNS 5
#define MOST_TURNS  15
#define TURNS_SHARE 0.75

/* A candidate drops out after FIRST_TURNS if the best was FIRST_GAIN times as fast in each turn,
 * and after LEAST_TURNS if the best was CLEAR_GAIN times as fast. */
#define FIRST_TURNS 3
#define FIRST_GAIN  1.25
#define CLEAR_GAIN  1.05

/* The largest number of plans besides the first; each holds a B. */
#define MOST_OTHERS 12

/* The least gain of a faster kernel: see gemmcl_tuning_search(). */
#define LEAST_GAIN 1.02

typedef struct {
  GemmclTuningCandidate public; /* first: an element of the result's candidates */
  GemmclPlan *plan;             /* NULL: not made, or it dropped out */
  gdouble times[MOST_TURNS];    /* the results of its turns */
  guint n_times;
} Candidate;

typedef struct {
  GemmclSearchData *data;
  GemmclGemm gemm;   /* the problem that the plans run */
  GemmclGemm as_run; /* gemmcl_gemm_get_as_run(): the kernels' problem, for which they are chosen */
  const GemmclDeviceInfo *device;
  GemmclTuningOptions options;
  GCancellable *cancellable;
  GemmclTuningResult *result;
  GPtrArray *active; /* the candidates that take turns; the others have to beat the first */
  gint64 start;      /* monotonic time in microseconds */
  gboolean is_short; /* time was too short to try all candidates */
} Search;

static void
candidate_free (gpointer data)
{
  Candidate *self = data;

  g_free (self->public.kernel);
  g_free (self->public.why);
  g_free (self);
}

static void
search_clear (Search *self)
{
  for (guint i = 0; self->active != NULL && i < self->active->len; i++)
    g_clear_object (&((Candidate *)self->active->pdata[i])->plan);
  g_clear_pointer (&self->active, g_ptr_array_unref);
  g_clear_pointer (&self->data, gemmcl_search_data_free);
  g_clear_pointer (&self->result, gemmcl_tuning_result_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Search, search_clear)

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

/* Sorts @values. Returns: their quantile @share, rounded down to an element. */
static gdouble
get_quantile (gdouble *values, guint n, gdouble share)
{
  qsort (values, n, sizeof (*values), compare_doubles);
  return values[(guint)(share * (n - 1))];
}

/* Sleeps after @seconds on the device, so that the search takes only its share. Returns: %FALSE if
 * it was cancelled. */
static gboolean
rest (Search *self, gdouble seconds, GError **error)
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
  return !g_cancellable_set_error_if_cancelled (self->cancellable, error);
}

static void
notify (const Search *self, GemmclTuningStep step, const Candidate *candidate)
{
  if (self->options.notify != NULL)
    self->options.notify (step, &candidate->public, self->options.data);
}

/* @candidate drops out. It stays in the result's list. */
static void
drop (Search *self, Candidate *candidate, gboolean faulty, const gchar *why)
{
  candidate->public.faulty = faulty;
  candidate->public.why = g_strdup (why);
  g_clear_object (&candidate->plan);
  g_ptr_array_remove (self->active, candidate);
}

static void
fail (Search *self, Candidate *candidate, const GError *why)
{
  candidate->public.lost = g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL);
  drop (self, candidate, TRUE, why->message);
}

static Candidate *
get_active (const Search *self, guint index)
{
  return g_ptr_array_index (self->active, index);
}

static const Candidate *
find_best (const Search *self)
{
  const Candidate *best = NULL;

  for (guint i = 0; i < self->active->len; i++)
    if (best == NULL || get_active (self, i)->public.seconds < best->public.seconds)
      best = get_active (self, i);
  return best;
}

static gdouble
get_best_seconds (const Search *self)
{
  const Candidate *best = find_best (self);

  return best ? best->public.seconds : INFINITY;
}

/* The sum of the times of one run of each active candidate. */
static gdouble
get_turn_seconds (const Search *self)
{
  gdouble turn = 0;

  for (guint i = 0; i < self->active->len; i++)
    turn += get_active (self, i)->public.seconds;
  return turn;
}

static gboolean
is_within (const Search *self, gdouble seconds)
{
  return self->result->device_seconds + seconds <= self->options.seconds;
}

/* TRUE if there is time for one more candidate as fast as the best: its first run, and LEAST_TURNS
 * of all active ones. Always TRUE for the first. */
static gboolean
has_time (const Search *self)
{
  const gdouble elapsed = (g_get_monotonic_time () - self->start) / (gdouble)G_USEC_PER_SEC;
  const gdouble best = get_best_seconds (self);

  if (self->active->len == 0)
    return TRUE;
  return is_within (self, best + LEAST_TURNS * (get_turn_seconds (self) + best)) &&
         (self->options.try_seconds <= 0 || elapsed < self->options.try_seconds);
}

/* Drops @candidate if its kernel is not native or spills. Returns: TRUE if it dropped out. */
static gboolean
has_flaw (Search *self, Candidate *candidate)
{
  const gboolean is_intel = self->device->intel && self->device->type == GEMMCL_DEVICE_TYPE_GPU;
  GemmclPlanInfo info;

  gemmcl_plan_get_info (candidate->plan, &info);
  if (info.level != GEMMCL_KERNEL_LEVEL_NATIVE)
    drop (self, candidate, TRUE, "It does not build natively.");
  else if (info.spill_bytes > 0 || (is_intel && info.private_bytes > 0))
    drop (self, candidate, FALSE, "It spills registers.");
  return candidate->plan == NULL;
}

/* Adds @candidate to the timed rounds. If there are too many for the memory, the slowest drops out,
 * but never the first. */
static void
admit (Search *self, Candidate *candidate)
{
  Candidate *slowest = candidate;

  g_ptr_array_add (self->active, candidate);
  if (self->result->first == NULL)
    self->result->first = &candidate->public;
  for (guint i = 1; i < self->active->len; i++)
    if (get_active (self, i)->public.seconds > slowest->public.seconds)
      slowest = get_active (self, i);
  if (self->active->len > 1 + MOST_OTHERS)
    drop (self, slowest, FALSE, "Others were faster.");
}

/* The rows of the short run before a candidate's first run; 0: there is none. */
static gsize
get_part (const Search *self)
{
  const GemmclGemm *gemm = &self->gemm;
  const gdouble best = get_best_seconds (self);

  return gemm->a_frame || gemm->d_frame || gemmcl_gemm_get_batch (gemm) > 1 || isinf (best) ||
                 best < LONG_SECONDS
             ? 0
             : gemm->m / ROWS_PART;
}

/* Runs @candidate's plan for the first time, checks its result and sets its time. Returns: FALSE
 * with an error if the plan fails or is wrong. @seconds: (out): time of all runs */
static gboolean
run_first (Search *self, Candidate *candidate, gdouble *seconds, GError **error)
{
  const gsize part = get_part (self);
  gdouble *own = &candidate->public.seconds, again;
  gboolean right;

  *seconds = 0;
  if (part > 0) {
    if (!gemmcl_search_data_run (self->data, candidate->plan, part, seconds, error))
      return FALSE;
    if (*seconds > TOO_SLOW * get_best_seconds (self)) {
      *own = *seconds;
      return TRUE;
    }
  }
  right = gemmcl_search_data_check (self->data, candidate->plan, own, error);
  *seconds += *own;
  for (guint i = 0; right && i < SHORT_RUNS && *own < SHORT_SHARE * self->options.seconds; i++) {
    if (!gemmcl_search_data_run (self->data, candidate->plan, 0, &again, error))
      return FALSE;
    *seconds += again;
    *own = MIN (*own, again);
  }
  return right;
}

/* Does the first runs of @candidate's plan, after which it takes turns or drops out. */
static gboolean
try_plan (Search *self, Candidate *candidate, GError **error)
{
  const gdouble best = get_best_seconds (self);
  g_autoptr (GError) why = NULL;
  gdouble seconds;

  if (!run_first (self, candidate, &seconds, &why))
    fail (self, candidate, why);
  else if (candidate->public.seconds > TOO_SLOW * best)
    drop (self, candidate, FALSE, "Its first run was slow.");
  else
    admit (self, candidate);
  return rest (self, seconds, error);
}

/* @name: (nullable): %NULL for the choice of the rules, which may spill if nothing better builds */
static gboolean
try_kernel (Search *self, const gchar *name, GError **error)
{
  g_autoptr (GError) why = NULL;
  gboolean ok = TRUE;
  Candidate *candidate;

  if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
    return FALSE;
  candidate = g_new0 (Candidate, 1);
  candidate->public.kernel = g_strdup (name ? name : "rules");
  g_ptr_array_add (self->result->candidates, candidate);
  if (!has_time (self)) {
    drop (self, candidate, FALSE, "There was no time to try it.");
    self->is_short = TRUE;
    return TRUE;
  }
  notify (self, GEMMCL_TUNING_STEP_TRY, candidate);
  candidate->plan = gemmcl_search_data_make_plan (self->data, candidate->public.kernel, &why);
  if (candidate->plan == NULL && name == NULL) {
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  if (candidate->plan == NULL) {
    fail (self, candidate, why);
  } else {
    g_free (candidate->public.kernel);
    candidate->public.kernel = g_strdup (gemmcl_plan_get_kernel (candidate->plan));
    if (name == NULL || !has_flaw (self, candidate))
      ok = try_plan (self, candidate, error);
  }
  notify (self, GEMMCL_TUNING_STEP_TRIED, candidate);
  return ok;
}

static gboolean
is_called (gconstpointer candidate, gconstpointer name)
{
  return g_str_equal (((const GemmclTuningCandidate *)candidate)->kernel, name);
}

static gboolean
try_all (Search *self, GemmclContext *context, GError **error)
{
  g_auto (GStrv) listed = NULL;
  const gchar *const *names = self->options.names;
  GPtrArray *tried = self->result->candidates;

  if (names == NULL) {
    if (!try_kernel (self, NULL, error))
      return FALSE;
    listed = gemmcl_tuning_list_candidates (context, &self->as_run);
    names = (const gchar *const *)listed;
  }
  for (; *names != NULL && tried->len < self->options.candidates; names++)
    if (!g_ptr_array_find_with_equal_func (tried, *names, is_called, NULL) &&
        gemmcl_kernel_fits (context, *names, &self->gemm, NULL) &&
        !try_kernel (self, *names, error))
      return FALSE;
  return TRUE;
}

/* A turn: the median of a few runs. */
static gboolean
take_turn (Search *self, Candidate *candidate, GError **error)
{
  const gdouble turn = TURNS_SHARE * self->options.seconds / (self->active->len * MOST_TURNS);
  const guint n = (guint)CLAMP (turn / candidate->public.seconds, 1, self->options.runs);
  g_autofree gdouble *runs = g_new (gdouble, n);
  gdouble sorted[MOST_TURNS];

  notify (self, GEMMCL_TUNING_STEP_TURN, candidate);
  for (guint i = 0; i < n; i++)
    if (!gemmcl_search_data_run (self->data, candidate->plan, 0, &runs[i], error) ||
        !rest (self, runs[i], error))
      return FALSE;
  candidate->times[candidate->n_times++] = get_quantile (runs, n, 0.5);
  memcpy (sorted, candidate->times, sizeof (sorted));
  candidate->public.seconds = get_quantile (sorted, candidate->n_times, 0.5);
  return TRUE;
}

/* TRUE if @best was @gain times as fast as @candidate in each turn. */
static gboolean
is_beaten (const Candidate *candidate, const Candidate *best, gdouble gain)
{
  for (guint i = 0; i < candidate->n_times; i++)
    if (candidate->times[i] < gain * best->times[i])
      return FALSE;
  return TRUE;
}

/* Drops those that the best has beaten, but never the first. Returns: TRUE if more turns may
 * change the order. */
static gboolean
drop_beaten (Search *self, gdouble gain)
{
  const Candidate *best = find_best (self);
  gboolean open = FALSE;

  for (guint i = self->active->len; i-- > 0;) {
    Candidate *candidate = get_active (self, i);

    if (candidate == best)
      continue;
    if (!is_beaten (candidate, best, gain))
      open = TRUE;
    else if (i > 0)
      drop (self, candidate, FALSE, "Others were faster.");
  }
  return open;
}

/* Every other turn goes backwards, so that none always follows the same one. */
static gboolean
take_turns (Search *self, GError **error)
{
  for (guint turn = 0; self->active->len > 1 && turn < MOST_TURNS; turn++) {
    const gdouble gain = turn < LEAST_TURNS ? FIRST_GAIN : CLEAR_GAIN;

    if (turn >= FIRST_TURNS && !drop_beaten (self, gain) && turn >= LEAST_TURNS)
      break;
    if (!is_within (self, get_turn_seconds (self)))
      break;
    for (guint i = 0; i < self->active->len; i++) {
      const guint at = turn % 2 == 0 ? i : self->active->len - 1 - i;

      if (!take_turn (self, get_active (self, at), error))
        return FALSE;
    }
  }
  return TRUE;
}

/* The median speed of @candidate relative to @first; 1 if the difference may be noise. */
static gdouble
get_gain (const Candidate *candidate, const Candidate *first)
{
  const guint n = MIN (candidate->n_times, first->n_times);
  gdouble gains[MOST_TURNS], gain;

  for (guint i = 0; i < n; i++)
    gains[i] = first->times[i] / candidate->times[i];
  gain = get_quantile (gains, n, 0.5);
  return gain >= LEAST_GAIN && get_quantile (gains, n, 0.25) > 1.0 ? gain : 1.0;
}

static void
decide (Search *self)
{
  GemmclTuningResult *result = self->result;
  const Candidate *first = self->active->len > 0 ? get_active (self, 0) : NULL;

  /* If no candidate was left to compare, the first wins without turns. */
  if (first == NULL || (first->n_times < LEAST_TURNS && (self->active->len > 1 || self->is_short)))
    return;
  result->best = &first->public;
  for (guint i = 1; i < self->active->len; i++) {
    const gdouble gain = get_gain (get_active (self, i), first);

    if (gain > result->gain) {
      result->best = &get_active (self, i)->public;
      result->gain = gain;
    }
  }
}

static void
store (Search *self, GemmclContext *context)
{
  const GemmclGemm *gemm = &self->as_run;
  GemmclTuningResult *result = self->result;
  g_autoptr (GError) why = NULL;

  if (result->best == NULL || self->options.dry_run || !gemmcl_tuning_has_entries (gemm))
    return;
  result->stored = gemmcl_tuning_store (context, gemm, result->best->kernel,
                                        2e-9 * gemm->m * gemm->n * gemm->k / result->best->seconds,
                                        self->cancellable, &why);
  if (!result->stored)
    result->why_not_stored = g_strdup (why->message);
}

GEMMCL_DEFINE_PLAIN_STRUCT (GemmclTuningOptions, gemmcl_tuning_options, GEMMCL_TUNING_OPTIONS_INIT)

GemmclTuningResult *
gemmcl_tuning_search (GemmclContext *context, const GemmclGemm *gemm,
                      const GemmclTuningOptions *options, GCancellable *cancellable, GError **error)
{
  g_auto (Search) search = {.options = GEMMCL_TUNING_OPTIONS_INIT, .cancellable = cancellable};
  GemmclGemm computed;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  g_return_val_if_fail (gemm != NULL, NULL);
  g_return_val_if_fail (options == NULL || options->size >= sizeof (GemmclTuningOptions), NULL);

  if (options != NULL)
    search.options = *options;
  g_return_val_if_fail (search.options.candidates >= 2 && search.options.seconds > 0, NULL);
  g_return_val_if_fail (search.options.share > 0 && search.options.share <= 1, NULL);
  g_return_val_if_fail (search.options.runs >= 1, NULL);

  if (!gemmcl_gemm_validate (gemm, error))
    return NULL;
  computed = gemmcl_gemm_get_computed (gemm);
  /* Without the steps that normalize, which take the same time with every kernel. */
  search.gemm = gemmcl_gemm_get_product (gemm);
  search.as_run = gemmcl_gemm_get_as_run (&computed);
  search.device = gemmcl_context_get_device_info (context);
  search.active = g_ptr_array_new ();
  search.result = g_atomic_rc_box_new0 (GemmclTuningResult);
  search.result->gain = 1.0;
  search.result->candidates = g_ptr_array_new_with_free_func (candidate_free);
  search.start = g_get_monotonic_time ();
  search.data = gemmcl_search_data_new (context, &search.gemm,
                                        MIN (search.options.candidates, 2 + MOST_OTHERS), error);
  if (search.data == NULL || !try_all (&search, context, error) || !take_turns (&search, error))
    return NULL;
  decide (&search);
  store (&search, context);
  return g_steal_pointer (&search.result);
}
