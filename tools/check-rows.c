/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "check.h"

/* Rows that fewer devices can run are checked earlier, since the time may not suffice for all. */
#define N_RANKS 3

/* Processes that compile. Each uses a core; compiling takes most of the time. */
#define MOST_BUILDERS 6

static guint
get_rank (const json_t *row)
{
  const gchar *needs = tool_json_get_string (row, "needs");

  return strstr (needs, "matrix engines") != NULL ? 0 : strstr (needs, "subgroups") != NULL ? 1 : 2;
}

static gboolean
is_native (const json_t *row)
{
  return g_strcmp0 (tool_json_get_string (row, "level"), "native") == 0;
}

static gboolean
check_row (Check *self, json_t *row, gint64 deadline, GError **error)
{
  const gdouble left = check_get_left (deadline);
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (json_t) answer = NULL;
  GError *why = NULL;

  if (left <= 0.0) {
    check_set_result (row, "not reached", NULL);
    return TRUE;
  }
  answer = tool_child_ask (
      self->worker,
      json_pack ("{s:s, s:O}", "do", "row", "kernel", json_object_get (row, "kernel")),
      MIN (left, self->patience), &why);
  json_object_set_new (row, "seconds",
                       json_real ((g_get_monotonic_time () - start) / (gdouble)G_USEC_PER_SEC));
  if (answer == NULL)
    return check_explain (row, left < self->patience, why, error);
  /* An earlier turn that did not reach the row may have set it. */
  json_object_set_new (row, "why", json_null ());
  json_object_update (row, answer);
  return TRUE;
}

static gboolean
is_due (const json_t *row)
{
  const gchar *result = tool_json_get_string (row, "result");

  return is_native (row) && (result == NULL || g_str_equal (result, "not reached"));
}

/* Returns: references to the rows that are due, in the order in which they are checked. */
static json_t *
order_rows (const json_t *rows)
{
  json_t *ordered = json_array ();

  for (guint rank = 0; rank < N_RANKS; rank++)
    for (gsize i = 0; i < json_array_size (rows); i++) {
      json_t *row = json_array_get (rows, i);

      if (is_due (row) && get_rank (row) == rank)
        json_array_append (ordered, row);
    }
  return ordered;
}

/* Starts a process that compiles every @n-th row from @first on, ahead of the one that runs them.
 * Its result does not matter. */
static ToolChild *
start_builder (const Check *self, const json_t *rows, guint first, guint n)
{
  ToolChild *builder = tool_child_new (tool_progress_tick, self->progress);
  json_t *names = json_array ();

  for (gsize i = first; i < json_array_size (rows); i += n)
    json_array_append (names, json_object_get (json_array_get (rows, i), "kernel"));
  tool_child_send (builder, json_pack ("{s:s, s:o}", "do", "build", "kernels", names), NULL);
  return builder;
}

static GPtrArray *
start_builders (const Check *self, const json_t *rows, gdouble seconds)
{
  const guint n = CLAMP (g_get_num_processors () - 1, 1, MOST_BUILDERS);
  GPtrArray *builders = g_ptr_array_new_with_free_func ((GDestroyNotify)tool_child_free);

  /* The first row is checked at once, so that compiling it ahead gains nothing. */
  for (guint i = 0; i < n && i + 1 < json_array_size (rows) && seconds > 0.0; i++)
    g_ptr_array_add (builders, start_builder (self, rows, i + 1, n));
  return builders;
}

gboolean
check_rows (Check *self, gdouble seconds, GError **error)
{
  const gint64 deadline =
      MIN (self->deadline, g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC));
  g_autoptr (json_t) rows = order_rows (json_object_get (self->report, "rows"));
  g_autoptr (GPtrArray) builders G_GNUC_UNUSED = start_builders (self, rows, seconds);

  tool_progress_begin (self->progress, "kernels on exact problems", MAX (seconds, 1e-3));
  for (gsize i = 0; i < json_array_size (rows); i++)
    if (!check_row (self, json_array_get (rows, i), deadline, error))
      return FALSE;
  return TRUE;
}

guint
check_count_rows (const json_t *report, const gchar *result)
{
  const json_t *row;
  guint n = 0;
  gsize i;

  json_array_foreach (json_object_get (report, "rows"), i, row)
  {
    const gchar *found = tool_json_get_string (row, "result");
    n += found != NULL && (result == NULL || g_str_equal (found, result));
  }
  return n;
}
