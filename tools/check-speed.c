/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"
#include "options.h"
#include "tool.h"

/* Seconds after the deadline in which a candidate may still end. */
#define LAST_SECONDS 3.0

/* Limit for the turns of all candidates of a problem, in seconds. After HANG_SECONDS more the
 * worker is taken to hang. */
#define MOST_TURN_SECONDS 1.5
#define HANG_SECONDS      15.0

/* A shape, and the end of its share of the time. */
typedef struct {
  Check *check;
  const json_t *shape;
  gint64 deadline;
} Shape;

/* Builds and tries @candidate and sets its result, or that of @entry if there is no memory for the
 * matrices. Returns: FALSE if the check cannot go on. */
static gboolean
prepare (const Check *check, json_t *entry, json_t *candidate, GError **error)
{
  const gdouble limit = MIN (check_get_left (check->deadline) + LAST_SECONDS, check->patience);
  json_t *request = json_pack (
      "{s:s, s:O, s:O, s:O, s:O, s:O}", "do", "prepare", "m", json_object_get (entry, "m"), "n",
      json_object_get (entry, "n"), "k", json_object_get (entry, "k"), "precision",
      json_object_get (entry, "precision"), "kernel", json_object_get (candidate, "kernel"));
  GError *why = NULL;
  g_autoptr (json_t) answer = tool_child_ask (check->worker, request, limit, &why);

  if (answer == NULL)
    return check_explain (candidate, limit < check->patience, why, error);
  if (json_is_true (json_object_get (answer, "error")))
    check_set_result (entry, "not reached", tool_json_get_string (answer, "why"));
  else
    json_object_update (candidate, answer);
  return TRUE;
}

/* Prepares all candidates. After a loss the ones with the result "ok" are prepared again. */
static gboolean
prepare_all (const Check *check, json_t *entry, gint64 deadline, GError **error)
{
  json_t *candidates = json_object_get (entry, "candidates");
  gsize i = 0;

  while (i < json_array_size (candidates) && tool_json_get_string (entry, "result") == NULL) {
    json_t *candidate = json_array_get (candidates, i);
    const gchar *result = tool_json_get_string (candidate, "result");

    if (result != NULL && !g_str_equal (result, "ok"))
      i++;
    else if (check_get_left (i > 0 ? deadline : check->deadline) <= 0.0)
      check_set_result (candidate, "not reached", NULL);
    else if (!prepare (check, entry, candidate, error))
      return FALSE;
    else
      i = g_strcmp0 (tool_json_get_string (candidate, "result"), "lost") == 0 ? 0 : i + 1;
  }
  return TRUE;
}

static void
set_time (const Shape *self, json_t *candidate, const json_t *time)
{
  const gdouble peak =
      tool_json_get_number (json_object_get (self->check->report, "device"), "peak_gflops");
  const gdouble ms = tool_json_get_number (time, "ms");
  const gdouble gflops = 2.0 * tool_json_get_number (self->shape, "m") *
                         tool_json_get_number (self->shape, "n") *
                         tool_json_get_number (self->shape, "k") / (ms * 1e6);

  json_object_update (candidate, (json_t *)time);
  json_object_set_new (candidate, "gflops", tool_json_number (gflops));
  json_object_set_new (candidate, "efficiency", tool_json_number (gflops / peak));
}

/* Sets the times, the fastest candidate, and its gain over the rules' choice. */
static void
conclude (Shape *self, json_t *entry, const json_t *times)
{
  const json_t *time, *fastest = NULL, *rules;
  gsize i;

  json_array_foreach (times, i, time)
  {
    set_time (self, tool_json_find_candidate (entry, tool_json_get_string (time, "kernel")), time);
    if (fastest == NULL || tool_json_get_number (time, "ms") < tool_json_get_number (fastest, "ms"))
      fastest = time;
  }
  if (fastest == NULL)
    return;
  json_object_set (entry, "fastest", json_object_get (fastest, "kernel"));
  rules = tool_json_find_candidate (entry, tool_json_get_string (entry, "rules"));
  json_object_set_new (
      entry, "gain",
      tool_json_number (tool_json_get_number (rules, "ms") / tool_json_get_number (fastest, "ms")));
  tool_progress_set_best (
      self->check->progress, tool_json_get_string (fastest, "kernel"),
      tool_json_get_number (
          tool_json_find_candidate (entry, tool_json_get_string (fastest, "kernel")), "gflops"));
}

static json_t *
make_entry (const Shape *self, const json_t *precision)
{
  const json_t *names = json_object_get (precision, "candidates"), *name;
  json_t *candidates = json_array ();
  gsize i;

  json_array_foreach (names, i, name)
  {
    json_array_append_new (candidates, json_pack ("{s:O}", "kernel", name));
  }
  return json_pack ("{s:O, s:s, s:s, s:O, s:O, s:O, s:O, s:o}", "precision",
                    json_object_get (precision, "precision"), "layout", "row", "transposed", "",
                    "m", json_object_get (self->shape, "m"), "n",
                    json_object_get (self->shape, "n"), "k", json_object_get (self->shape, "k"),
                    "rules", json_array_get (names, 0), "candidates", candidates);
}

static gboolean
measure (Shape *self, json_t *entry, gdouble seconds, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  g_autoptr (json_t) answer = NULL;
  GError *why = NULL;
  gdouble turns;

  if (!prepare_all (self->check, entry, deadline, error))
    return FALSE;
  if (tool_json_get_string (entry, "result") != NULL)
    return TRUE;
  turns = CLAMP (check_get_left (deadline), 0.0, MOST_TURN_SECONDS);
  answer =
      tool_child_ask (self->check->worker, json_pack ("{s:s, s:f}", "do", "time", "seconds", turns),
                      turns + HANG_SECONDS, &why);
  if (answer == NULL)
    return check_explain (entry, FALSE, why, error);
  conclude (self, entry, json_object_get (answer, "times"));
  return TRUE;
}

static gboolean
check_shape (Shape *self, GError **error)
{
  const json_t *precisions = json_object_get (self->shape, "precisions"), *precision;
  gsize i;

  json_array_foreach (precisions, i, precision)
  {
    const gdouble share = check_get_left (self->deadline) / (json_array_size (precisions) - i);
    json_t *entry = make_entry (self, precision);

    json_array_append_new (json_object_get (self->check->report, "speed"), entry);
    if (check_get_left (self->check->deadline) <= 0.0)
      check_set_result (entry, "not reached", NULL);
    else if (!measure (self, entry, share, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
check_speed (Check *self, const json_t *shapes, GError **error)
{
  const json_t *shape;
  gsize i;

  json_object_set_new (self->report, "speed", json_array ());
  json_array_foreach (shapes, i, shape)
  {
    const gdouble share = check_get_left (self->deadline) / (json_array_size (shapes) - i);
    g_autofree gchar *name = tool_json_get_problem (shape);
    Shape one = {.check = self, .shape = shape};

    one.deadline = g_get_monotonic_time () + (gint64)(share * G_USEC_PER_SEC);
    tool_progress_begin (self->progress, name, MAX (share, 1e-3));
    if (!check_shape (&one, error))
      return FALSE;
  }
  return TRUE;
}
