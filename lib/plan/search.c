/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search for the fastest kernel for a problem.
 */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "plan/search.h"

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
#define MOST_RIVALS 12

/* The least gain of a faster kernel: see gemmcl_tuning_search(). */
#define LEAST_GAIN 1.02

typedef struct {
  GemmclTuningCandidate public; /* first: the result's candidates are racers */
  GemmclPlan *plan;             /* NULL: not made, or it has left */
  gdouble times[MOST_TURNS];    /* the results of its turns */
  guint n_times;
} Racer;

typedef struct {
  GemmclSearchData *data;
  GemmclGemm gemm, as_run; /* the problem that is run, and as it most often runs */
  const GemmclDeviceInfo *device;
  GemmclTuningOptions options;
  GCancellable *cancellable;
  GemmclTuningResult *result;
  GPtrArray *racers; /* the candidates that take turns; the others have to beat the first */
  gint64 start;      /* monotonic time in microseconds */
  gboolean is_short; /* time was too short to try all candidates */
} Race;

static void
racer_free (gpointer data)
{
  Racer *self = data;

  g_free (self->public.kernel);
  g_free (self->public.why);
  g_free (self);
}

static void
race_clear (Race *self)
{
  for (guint i = 0; self->racers != NULL && i < self->racers->len; i++)
    g_clear_object (&((Racer *)self->racers->pdata[i])->plan);
  g_clear_pointer (&self->racers, g_ptr_array_unref);
  g_clear_pointer (&self->data, gemmcl_search_data_free);
  g_clear_pointer (&self->result, gemmcl_tuning_result_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Race, race_clear)

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
  return !g_cancellable_set_error_if_cancelled (self->cancellable, error);
}

static Racer *
add_candidate (Race *self, const gchar *name)
{
  Racer *racer = g_new0 (Racer, 1);

  racer->public.kernel = g_strdup (name);
  g_ptr_array_add (self->result->candidates, racer);
  return racer;
}

static void
notify (const Race *self, GemmclTuningStep step, const Racer *racer)
{
  if (self->options.notify != NULL)
    self->options.notify (step, &racer->public, self->options.data);
}

/* Takes @racer out of the race. It stays in the list of candidates. */
static void
leave (Race *self, Racer *racer, gboolean faulty, const gchar *why)
{
  racer->public.faulty = faulty;
  racer->public.why = g_strdup (why);
  g_clear_object (&racer->plan);
  g_ptr_array_remove (self->racers, racer);
}

static void
fail (Race *self, Racer *racer, const GError *why)
{
  racer->public.lost = g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL);
  leave (self, racer, TRUE, why->message);
}

static Racer *
get_racer (const Race *self, guint index)
{
  return g_ptr_array_index (self->racers, index);
}

static const Racer *
find_best (const Race *self)
{
  const Racer *best = NULL;

  for (guint i = 0; i < self->racers->len; i++)
    if (best == NULL || get_racer (self, i)->public.seconds < best->public.seconds)
      best = get_racer (self, i);
  return best;
}

static gdouble
get_best_seconds (const Race *self)
{
  const Racer *best = find_best (self);

  return best ? best->public.seconds : INFINITY;
}

/* The sum of the times of one run of each racer. */
static gdouble
get_turn_seconds (const Race *self)
{
  gdouble turn = 0;

  for (guint i = 0; i < self->racers->len; i++)
    turn += get_racer (self, i)->public.seconds;
  return turn;
}

static gboolean
is_within (const Race *self, gdouble seconds)
{
  return self->result->device_seconds + seconds <= self->options.seconds;
}

/* TRUE if there is time for one more candidate as fast as the best: its first run, and LEAST_TURNS
 * of all racers. Always TRUE for the first. */
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

/* Lets @racer leave if its kernel is not native or spills. Returns: TRUE if it left. */
static gboolean
has_flaw (Race *self, Racer *racer)
{
  const gboolean is_intel = self->device->intel && self->device->type == GEMMCL_DEVICE_TYPE_GPU;
  GemmclPlanInfo info;

  gemmcl_plan_get_info (racer->plan, &info);
  if (info.level != GEMMCL_KERNEL_LEVEL_NATIVE)
    leave (self, racer, TRUE, "It does not build natively.");
  else if (info.spill_bytes > 0 || (is_intel && info.private_bytes > 0))
    leave (self, racer, FALSE, "It spills registers.");
  return racer->plan == NULL;
}

/* Lets @racer take turns. If there are too many racers for the memory, the slowest leaves, but
 * never the first. */
static void
add_racer (Race *self, Racer *racer)
{
  Racer *slowest = racer;

  g_ptr_array_add (self->racers, racer);
  if (self->result->first == NULL)
    self->result->first = &racer->public;
  for (guint i = 1; i < self->racers->len; i++)
    if (get_racer (self, i)->public.seconds > slowest->public.seconds)
      slowest = get_racer (self, i);
  if (self->racers->len > 1 + MOST_RIVALS)
    leave (self, slowest, FALSE, "Others were faster.");
}

/* The rows of the short run before a candidate's first run; 0: there is none. */
static gsize
get_part (const Race *self)
{
  const GemmclGemm *gemm = &self->gemm;
  const gdouble best = get_best_seconds (self);

  return gemm->a_image || gemm->d_image || gemmcl_gemm_get_batch (gemm) > 1 || isinf (best) ||
                 best < LONG_SECONDS
             ? 0
             : gemm->m / ROWS_PART;
}

/* Runs @racer's plan for the first time, checks its result and sets its time. Returns: FALSE with
 * an error if the plan fails or is wrong. @seconds: (out): time of all runs */
static gboolean
run_first (Race *self, Racer *racer, gdouble *seconds, GError **error)
{
  const gsize part = get_part (self);
  gdouble *own = &racer->public.seconds, again;
  gboolean right;

  *seconds = 0;
  if (part > 0) {
    if (!gemmcl_search_data_run (self->data, racer->plan, part, seconds, error))
      return FALSE;
    if (*seconds > TOO_SLOW * get_best_seconds (self)) {
      *own = *seconds;
      return TRUE;
    }
  }
  right = gemmcl_search_data_check (self->data, racer->plan, own, error);
  *seconds += *own;
  for (guint i = 0; right && i < SHORT_RUNS && *own < SHORT_SHARE * self->options.seconds; i++) {
    if (!gemmcl_search_data_run (self->data, racer->plan, 0, &again, error))
      return FALSE;
    *seconds += again;
    *own = MIN (*own, again);
  }
  return right;
}

/* Does the first runs of @racer's plan, after which it takes turns or leaves. */
static gboolean
try_plan (Race *self, Racer *racer, GError **error)
{
  const gdouble best = get_best_seconds (self);
  g_autoptr (GError) why = NULL;
  gdouble seconds;

  if (!run_first (self, racer, &seconds, &why))
    fail (self, racer, why);
  else if (racer->public.seconds > TOO_SLOW * best)
    leave (self, racer, FALSE, "Its first run was slow.");
  else
    add_racer (self, racer);
  return rest (self, seconds, error);
}

/* @name: (nullable): %NULL for the choice of the rules, which may spill if nothing better builds */
static gboolean
try_kernel (Race *self, const gchar *name, GError **error)
{
  g_autoptr (GError) why = NULL;
  gboolean ok = TRUE;
  Racer *racer;

  if (g_cancellable_set_error_if_cancelled (self->cancellable, error))
    return FALSE;
  racer = add_candidate (self, name ? name : "rules");
  if (!has_time (self)) {
    leave (self, racer, FALSE, "There was no time to try it.");
    self->is_short = TRUE;
    return TRUE;
  }
  notify (self, GEMMCL_TUNING_STEP_TRY, racer);
  racer->plan = gemmcl_search_data_make_plan (self->data, racer->public.kernel, &why);
  if (racer->plan == NULL && name == NULL) {
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  if (racer->plan == NULL) {
    fail (self, racer, why);
  } else {
    g_free (racer->public.kernel);
    racer->public.kernel = g_strdup (gemmcl_plan_get_kernel (racer->plan));
    if (name == NULL || !has_flaw (self, racer))
      ok = try_plan (self, racer, error);
  }
  notify (self, GEMMCL_TUNING_STEP_TRIED, racer);
  return ok;
}

static gboolean
is_called (gconstpointer candidate, gconstpointer name)
{
  return g_str_equal (((const GemmclTuningCandidate *)candidate)->kernel, name);
}

static gboolean
try_all (Race *self, GemmclContext *context, GError **error)
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
take_turn (Race *self, Racer *racer, GError **error)
{
  const gdouble turn = TURNS_SHARE * self->options.seconds / (self->racers->len * MOST_TURNS);
  const guint n = (guint)CLAMP (turn / racer->public.seconds, 1, self->options.runs);
  g_autofree gdouble *runs = g_new (gdouble, n);
  gdouble sorted[MOST_TURNS];

  notify (self, GEMMCL_TUNING_STEP_TURN, racer);
  for (guint i = 0; i < n; i++)
    if (!gemmcl_search_data_run (self->data, racer->plan, 0, &runs[i], error) ||
        !rest (self, runs[i], error))
      return FALSE;
  racer->times[racer->n_times++] = get_quantile (runs, n, 0.5);
  memcpy (sorted, racer->times, sizeof (sorted));
  racer->public.seconds = get_quantile (sorted, racer->n_times, 0.5);
  return TRUE;
}

/* TRUE if @best was @gain times as fast as @racer in each turn. */
static gboolean
is_beaten (const Racer *racer, const Racer *best, gdouble gain)
{
  for (guint i = 0; i < racer->n_times; i++)
    if (racer->times[i] < gain * best->times[i])
      return FALSE;
  return TRUE;
}

/* Lets racers leave that the best has beaten, but never the first. Returns: TRUE if more turns may
 * change the order. */
static gboolean
drop_beaten (Race *self, gdouble gain)
{
  const Racer *best = find_best (self);
  gboolean open = FALSE;

  for (guint i = self->racers->len; i-- > 0;) {
    Racer *racer = get_racer (self, i);

    if (racer == best)
      continue;
    if (!is_beaten (racer, best, gain))
      open = TRUE;
    else if (i > 0)
      leave (self, racer, FALSE, "Others were faster.");
  }
  return open;
}

/* Every other turn goes backwards, so that no racer always follows the same one. */
static gboolean
take_turns (Race *self, GError **error)
{
  for (guint turn = 0; self->racers->len > 1 && turn < MOST_TURNS; turn++) {
    const gdouble gain = turn < LEAST_TURNS ? FIRST_GAIN : CLEAR_GAIN;

    if (turn >= FIRST_TURNS && !drop_beaten (self, gain) && turn >= LEAST_TURNS)
      break;
    if (!is_within (self, get_turn_seconds (self)))
      break;
    for (guint i = 0; i < self->racers->len; i++) {
      const guint at = turn % 2 == 0 ? i : self->racers->len - 1 - i;

      if (!take_turn (self, get_racer (self, at), error))
        return FALSE;
    }
  }
  return TRUE;
}

/* The median speed of @racer relative to @first; 1 if the difference may be noise. */
static gdouble
get_gain (const Racer *racer, const Racer *first)
{
  const guint n = MIN (racer->n_times, first->n_times);
  gdouble gains[MOST_TURNS], gain;

  for (guint i = 0; i < n; i++)
    gains[i] = first->times[i] / racer->times[i];
  gain = get_quantile (gains, n, 0.5);
  return gain >= LEAST_GAIN && get_quantile (gains, n, 0.25) > 1.0 ? gain : 1.0;
}

static void
decide (Race *self)
{
  GemmclTuningResult *result = self->result;
  const Racer *first = self->racers->len > 0 ? get_racer (self, 0) : NULL;

  /* If no candidate was left to compare, the first wins without turns. */
  if (first == NULL || (first->n_times < LEAST_TURNS && (self->racers->len > 1 || self->is_short)))
    return;
  result->best = &first->public;
  for (guint i = 1; i < self->racers->len; i++) {
    const gdouble gain = get_gain (get_racer (self, i), first);

    if (gain > result->gain) {
      result->best = &get_racer (self, i)->public;
      result->gain = gain;
    }
  }
}

static void
store (Race *self, GemmclContext *context)
{
  const GemmclGemm *gemm = &self->as_run;
  GemmclTuningResult *result = self->result;
  g_autoptr (GError) why = NULL;

  if (result->best == NULL || self->options.dry_run || !gemmcl_tuning_has_entries (gemm))
    return;
  result->stored =
      gemmcl_tuning_store (context, gemm, result->best->kernel,
                           2e-9 * gemm->m * gemm->n * gemm->k / result->best->seconds, &why);
  if (!result->stored)
    result->why_not_stored = g_strdup (why->message);
}

GEMMCL_DEFINE_PLAIN_STRUCT (GemmclTuningOptions, gemmcl_tuning_options, GEMMCL_TUNING_OPTIONS_INIT)

GemmclTuningResult *
gemmcl_tuning_search (GemmclContext *context, const GemmclGemm *gemm,
                      const GemmclTuningOptions *options, GCancellable *cancellable, GError **error)
{
  g_auto (Race) race = {.options = GEMMCL_TUNING_OPTIONS_INIT, .cancellable = cancellable};
  GemmclGemm computed;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  g_return_val_if_fail (gemm != NULL, NULL);
  g_return_val_if_fail (options == NULL || options->size >= sizeof (GemmclTuningOptions), NULL);

  if (options != NULL)
    race.options = *options;
  g_return_val_if_fail (race.options.candidates >= 2 && race.options.seconds > 0, NULL);
  g_return_val_if_fail (race.options.share > 0 && race.options.share <= 1, NULL);
  g_return_val_if_fail (race.options.runs >= 1, NULL);

  if (!gemmcl_gemm_validate (gemm, error))
    return NULL;
  computed = gemmcl_gemm_get_computed (gemm);
  /* Normalizing takes the same time with every kernel. */
  race.gemm = gemmcl_gemm_get_product (gemm);
  race.as_run = gemmcl_gemm_get_as_run (&computed);
  race.device = gemmcl_context_get_device_info (context);
  race.racers = g_ptr_array_new ();
  race.result = g_atomic_rc_box_new0 (GemmclTuningResult);
  race.result->gain = 1.0;
  race.result->candidates = g_ptr_array_new_with_free_func (racer_free);
  race.start = g_get_monotonic_time ();
  race.data = gemmcl_search_data_new (context, &race.gemm,
                                      MIN (race.options.candidates, 2 + MOST_RIVALS), error);
  if (race.data == NULL || !try_all (&race, context, error) || !take_turns (&race, error))
    return NULL;
  decide (&race);
  store (&race, context);
  return g_steal_pointer (&race.result);
}
