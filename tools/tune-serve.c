/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune.h"

/* Shares of the time: for trying candidates, by the wall clock; for runs, by the device's clock. */
#define TRYING_SHARE  0.55
#define RUNNING_SHARE 0.45

/* Most runs of a turn, enough to compare short runs in spite of noise. */
#define MOST_RUNS 50

static json_t *
make_ms (gdouble seconds)
{
  return seconds > 0 ? json_real (seconds * 1e3) : json_null ();
}

static void
on_step (GemmclTuningStep step, const GemmclTuningCandidate *candidate, gpointer data)
{
  static const gchar *const steps[] = {"try", "tried", "turn"};
  gboolean *begun = data;
  json_t *answer = json_pack ("{s:s, s:s, s:o}", "step", steps[step], "kernel", candidate->kernel,
                              "ms", make_ms (candidate->seconds));

  *begun = TRUE;
  if (candidate->lost) {
    json_object_set_new (answer, "lost", json_true ());
    json_object_set_new (answer, "why", tool_json_string (candidate->why));
  } else if (step == GEMMCL_TUNING_STEP_TRIED && candidate->why == NULL) {
    json_object_set_new (answer, "result", json_string ("ok"));
  }
  tool_child_answer (answer);
}

static json_t *
describe (const GemmclTuningResult *result)
{
  json_t *candidates = json_array ();

  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    json_array_append_new (
        candidates, json_pack ("{s:s, s:o, s:o, s:b}", "kernel", candidate->kernel, "ms",
                               make_ms (candidate->seconds), "why",
                               tool_json_string (candidate->why), "faulty", candidate->faulty));
  }
  return json_pack ("{s:s?, s:s?, s:f, s:o}", "first",
                    result->first != NULL ? result->first->kernel : NULL, "best",
                    result->best != NULL ? result->best->kernel : NULL, "gain", result->gain,
                    "candidates", candidates);
}

static json_t *
serve (G_GNUC_UNUSED gpointer data, GemmclContext *context, const json_t *request)
{
  const gdouble seconds = json_number_value (json_object_get (request, "seconds"));
  const json_t *kernels = json_object_get (request, "kernels"), *kernel;
  GemmclTuningOptions options = GEMMCL_TUNING_OPTIONS_INIT;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GemmclTuningResult) result = NULL;
  g_autoptr (GError) error = NULL;
  const GemmclGemm gemm = tool_child_read_problem (request);
  gboolean begun = FALSE;
  json_t *answer;
  gsize i;

  if (!(seconds > 0))
    return NULL;
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
  options.data = &begun;
  result = gemmcl_tuning_search (context, &gemm, &options, NULL, &error);
  if (result != NULL)
    return describe (result);
  answer = tool_child_make_error (error);
  /* Running out of memory for the matrices does not lose the device. */
  if (!begun)
    json_object_del (answer, "lost");
  return answer;
}

gboolean
tune_serve (GError **error)
{
  return tool_child_serve (serve, NULL, error);
}
