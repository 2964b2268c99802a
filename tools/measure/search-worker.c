/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "shared-options.h"
#include "measure/search-worker.h"

/* Minimum seconds for a search, even if losses of workers have used up the time. */
#define LEAST_SECONDS 0.05

/* Shares of the time: for trying candidates, by the wall clock; for runs, by the device's clock. */
#define TRYING_SHARE  0.55
#define RUNNING_SHARE 0.45

/* Maximum number of runs of a turn, enough to compare short runs in spite of noise. */
#define MOST_RUNS 50

/* The search for an entry. */
typedef struct {
  const ToolSearch *asked;
  GemmclContext *context;
  json_t *entry;
  GemmclGemm gemm;
  gdouble seconds;
  gboolean begun; /* a candidate was announced */
} Search;

json_t *
tool_search_new_entry (GemmclContext *context, const GemmclGemm *gemm, guint most)
{
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, gemm);
  json_t *candidates = json_array ();

  for (guint i = 0; names[i] != NULL && i < most; i++)
    json_array_append_new (candidates, json_pack ("{s:s, s:n, s:n, s:b}", "kernel", names[i],
                                                  "gflops", "why", "faulty", FALSE));
  return json_pack ("{s:s, s:s, s:I, s:I, s:I, s:o, s:n, s:n, s:n, s:n}", "precision",
                    gemmcl_precision_get_name (gemm->precision), "layout",
                    tool_layout_get_name (gemm->layout), "m", (json_int_t)gemm->m, "n",
                    (json_int_t)gemm->n, "k", (json_int_t)gemm->k, "candidates", candidates,
                    "rules", "tuned", "gain", "seconds");
}

/* TRUE if the entry was not searched yet. */
static gboolean
is_open (const json_t *entry)
{
  return json_is_null (json_object_get (entry, "seconds"));
}

/* Returns: the candidate with that kernel; the first one for "rules". */
static json_t *
find_candidate (const json_t *entry, const gchar *kernel)
{
  const json_t *candidates = json_object_get (entry, "candidates");
  json_t *candidate;
  gsize i;

  json_array_foreach (candidates, i, candidate)
    if (g_strcmp0 (tool_json_get_string (candidate, "kernel"), kernel) == 0)
      return candidate;
  return json_array_get (candidates, 0);
}

static void
set_reason (json_t *candidate, gboolean faulty, const gchar *why)
{
  json_object_set_new (candidate, "faulty", json_boolean (faulty));
  json_object_set_new (candidate, "why", tool_json_string (why));
}

void
tool_search_exclude (json_t *entries, const gchar *kernel, const gchar *why)
{
  const GemmclKernelInfo *row = tool_get_kernel_info (kernel);
  json_t *entry, *candidate;
  gsize i, j;

  json_array_foreach (entries, i, entry)
    json_array_foreach (json_object_get (entry, "candidates"), j, candidate)
      if (is_open (entry) && tool_json_get_string (candidate, "why") == NULL &&
          tool_get_kernel_info (tool_json_get_string (candidate, "kernel")) == row)
        json_object_set_new (candidate, "why", tool_json_string (why));
}

static void
lose (json_t *entry, const gchar *kernel, const gchar *why, gpointer data)
{
  json_t *candidate = find_candidate (entry, kernel);

  set_reason (candidate, TRUE, why);
  tool_search_exclude (((const ToolSearch *)data)->entries,
                       tool_json_get_string (candidate, "kernel"), why);
}

static json_t *
get_gflops (const Search *self, const GemmclTuningCandidate *candidate)
{
  const GemmclGemm *gemm = &self->gemm;

  return tool_json_number (
      candidate->seconds > 0 ? 2e-9 * gemm->m * gemm->n * gemm->k / candidate->seconds : NAN);
}

static void
on_step (GemmclTuningStep step, const GemmclTuningCandidate *candidate, gpointer data)
{
  Search *self = data;

  self->begun = TRUE;
  if (step != GEMMCL_TUNING_STEP_TRIED)
    tool_worker_begin (candidate->kernel, self->asked->patience);
  else if (candidate->lost)
    tool_worker_lose (candidate->why);
}

/* Returns: the names of the candidates that are tried. */
static GPtrArray *
list_names (const json_t *entry)
{
  GPtrArray *names = g_ptr_array_new ();
  const json_t *candidate;
  gsize i;

  json_array_foreach (json_object_get (entry, "candidates"), i, candidate)
    if (tool_json_get_string (candidate, "why") == NULL)
      g_ptr_array_add (names, (gpointer)tool_json_get_string (candidate, "kernel"));
  g_ptr_array_add (names, NULL);
  return names;
}

static json_t *
make_choice (const Search *self, const GemmclTuningCandidate *candidate)
{
  return candidate != NULL ? json_pack ("{s:s, s:o}", "kernel", candidate->kernel, "gflops",
                                        get_gflops (self, candidate))
                           : json_null ();
}

/* @names: (nullable): the candidates; NULL: the choice of the rules and the next one. Returns: TRUE
 * if no kernel was chosen although a candidate has no fault. */
static gboolean
search (Search *self, const GPtrArray *names)
{
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GemmclTuningResult) result = NULL;
  g_autoptr (GError) error = NULL;
  gboolean usable = FALSE;

  options.candidates = names != NULL ? MAX (names->len, 2) : 2;
  options.names = names != NULL ? (const gchar *const *)names->pdata : NULL;
  options.seconds = RUNNING_SHARE * self->seconds;
  options.try_seconds = TRYING_SHARE * self->seconds;
  options.share = 1;
  options.dry_run = !self->asked->store;
  options.runs = MOST_RUNS;
  options.notify = on_step;
  options.data = self;
  result = gemmcl_tuning_search (self->context, &self->gemm, &options, NULL, &error);
  /* Running out of memory for the matrices does not lose the device. */
  if (self->begun && g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL))
    tool_worker_lose (error->message);
  if (result == NULL) {
    json_object_set_new (self->entry, "error", tool_json_string (error->message));
    return FALSE;
  }
  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    json_t *object = find_candidate (self->entry, candidate->kernel);

    set_reason (object, candidate->faulty, candidate->why);
    json_object_set_new (object, "gflops", get_gflops (self, candidate));
    usable |= !candidate->faulty;
  }
  json_object_set_new (self->entry, "rules", make_choice (self, result->first));
  json_object_set_new (self->entry, "tuned", make_choice (self, result->best));
  json_object_set_new (self->entry, "gain",
                       tool_json_number (result->best != NULL ? result->gain : NAN));
  if (result->stored)
    json_object_set_new (self->entry, "stored", json_true ());
  if (result->why_not_stored != NULL)
    json_object_set_new (self->entry, "why_not_stored", tool_json_string (result->why_not_stored));
  return usable && result->first == NULL;
}

static gboolean
work (GemmclContext *context, json_t *entry, gpointer data)
{
  const ToolSearch *asked = data;
  const gdouble start = tool_get_seconds ();
  const gsize n = json_array_size (asked->entries);
  Search self = {.asked = asked, .context = context, .entry = entry, .gemm = tool_gemm};
  g_autofree gchar *name = tool_json_get_problem (entry), *step = NULL;
  g_autoptr (GPtrArray) names = NULL;
  gsize i = 0;

  if (!is_open (entry))
    return FALSE;
  while (json_array_get (asked->entries, i) != entry)
    i++;
  step = g_strdup_printf ("%s %s", name, tool_json_get_string (entry, "precision"));
  tool_worker_step (step, asked->end - start);
  /* Up to twice its equal share of the remaining time, since most kernels are built for the first
   * problem. */
  self.seconds = MAX ((asked->end - start) * 2.0 / (gdouble)(n - i + 1), LEAST_SECONDS);
  tool_set_choice ("--precision", tool_json_get_string (entry, "precision"), NULL, NULL);
  self.gemm.precision = tool_gemm.precision;
  tool_json_get_sizes (entry, &self.gemm);
  names = list_names (entry);
  /* A kernel that spills is used only if no other works; the library then chooses by its rules. */
  if (search (&self, names))
    search (&self, NULL);
  json_object_set_new (entry, "seconds", json_real (tool_get_seconds () - start));
  return TRUE;
}

gboolean
tool_search_run (const ToolSearch *self, gdouble deadline, GError **error)
{
  const ToolWork functions = {work, lose, self->done};

  return tool_worker_run (self->entries, &functions, (gpointer)self, deadline, error);
}
