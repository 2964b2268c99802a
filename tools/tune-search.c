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

/* A search that is running. @under_way: the last announced candidate. */
typedef struct {
  TuneSearch *search;
  ToolChild *child;
  ToolProgress *progress;
  GHashTable *banned;
  gint64 start;
  gdouble seconds;
  gdouble best_ms;
  TuneCandidate *under_way;
  gboolean is_try;
  gdouble limit; /* seconds until the next answer */
} Race;

static void
candidate_free (gpointer data)
{
  TuneCandidate *self = data;

  g_free (self->name);
  g_free (self->why);
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

/* Returns: (nullable): the candidate @name. */
static TuneCandidate *
find (const TuneSearch *self, const gchar *name)
{
  for (guint i = 0; i < self->candidates->len; i++) {
    TuneCandidate *candidate = g_ptr_array_index (self->candidates, i);
    if (g_strcmp0 (candidate->name, name) == 0)
      return candidate;
  }
  return NULL;
}

/* Returns: (transfer full): the row of the table. Kernels that differ only in the split of K are
 * built from the same row. */
static gchar *
get_row (const TuneCandidate *candidate)
{
  return g_strndup (candidate->name, strcspn (candidate->name, "/"));
}

static void
leave (TuneCandidate *candidate, const gchar *why)
{
  g_free (candidate->why);
  candidate->why = g_strdup (why);
  candidate->faulty = TRUE;
}

static void
leave_banned (Race *self)
{
  for (guint i = 0; i < self->search->candidates->len; i++) {
    TuneCandidate *candidate = g_ptr_array_index (self->search->candidates, i);
    g_autofree gchar *row = get_row (candidate);
    const gchar *why = g_hash_table_lookup (self->banned, row);

    if (candidate->why == NULL && why != NULL)
      leave (candidate, why);
  }
}

/* Returns: the request for the problem, with the names of the candidates that did not leave. With
 * @all it has no names: the library chooses candidates. */
static json_t *
make_request (const Race *self, gboolean all)
{
  const GemmclGemm *gemm = &self->search->gemm;
  const gdouble seconds = MAX (self->seconds - get_elapsed (self), LEAST_SECONDS);
  json_t *request = json_pack ("{s:I, s:I, s:I, s:f}", "m", (json_int_t)gemm->m, "n",
                               (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "seconds", seconds);
  json_t *names = json_array ();

  for (guint i = 0; i < self->search->candidates->len; i++) {
    const TuneCandidate *candidate = g_ptr_array_index (self->search->candidates, i);
    if (candidate->why == NULL)
      json_array_append_new (names, json_string (candidate->name));
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
  const gdouble ms = tool_json_get_number (answer, "ms");

  self->under_way = g_str_equal (step, "tried")
                        ? NULL
                        : find (self->search, tool_json_get_string (answer, "kernel"));
  self->is_try = g_str_equal (step, "try");
  if (self->under_way == NULL)
    self->limit = START_SECONDS;
  else if (self->is_try)
    self->limit = CLAMP (TRY_SHARE * self->seconds, LEAST_TRY_SECONDS, MOST_TRY_SECONDS);
  else
    self->limit = HANG_SECONDS + HANG_FACTOR * ms / 1e3 + HANG_SHARE * self->seconds;
  if (ms < self->best_ms && (!self->is_try && tool_json_get_string (answer, "why") == NULL)) {
    self->best_ms = ms;
    tool_progress_set_best (self->progress, tool_json_get_string (answer, "kernel"),
                            bench_gflops (&self->search->gemm, ms));
  }
}

static void
note_result (TuneSearch *search, const json_t *answer)
{
  const json_t *object;
  gsize i;

  json_array_foreach (json_object_get (answer, "candidates"), i, object)
  {
    TuneCandidate *candidate = find (search, tool_json_get_string (object, "kernel"));

    if (candidate == NULL)
      continue;
    candidate->ms = tool_json_get_number (object, "ms");
    g_free (candidate->why);
    candidate->why = g_strdup (tool_json_get_string (object, "why"));
    candidate->faulty = json_is_true (json_object_get (object, "faulty"));
  }
  search->rules = find (search, tool_json_get_string (answer, "first"));
  search->best = find (search, tool_json_get_string (answer, "best"));
  if (search->rules != NULL && search->best != NULL)
    search->gain = json_number_value (json_object_get (answer, "gain"));
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
      note_result (self->search, answer);
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
  if (self->is_try)
    g_hash_table_replace (self->banned, get_row (self->under_way), g_strdup (why->message));
  else
    leave (self->under_way, why->message);
}

/* Searches again after each loss, until a child completes the search. */
static gboolean
search (Race *self, gboolean all, GError **error)
{
  while (TRUE) {
    GError *why = NULL;

    leave_banned (self);
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
has_usable (const TuneSearch *self)
{
  for (guint i = 0; i < self->candidates->len; i++)
    if (!((const TuneCandidate *)g_ptr_array_index (self->candidates, i))->faulty)
      return TRUE;
  return FALSE;
}

gboolean
tune_search_run (TuneSearch *self, ToolChild *child, gdouble seconds, GHashTable *banned,
                 ToolProgress *progress, GError **error)
{
  Race race = {
      .search = self,
      .child = child,
      .progress = progress,
      .banned = banned,
      .start = g_get_monotonic_time (),
      .seconds = seconds,
      .best_ms = INFINITY,
  };
  gboolean ok = search (&race, FALSE, error);

  /* A kernel that spills is used only if no other works. Then the library may choose it. */
  if (ok && self->rules == NULL && has_usable (self))
    ok = search (&race, TRUE, error);
  self->seconds = get_elapsed (&race);
  return ok;
}
