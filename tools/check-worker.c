/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check-worker.h"

#include <stdlib.h>

#include "check-child.h"
#include "check-serve.h"
#include "tool.h"
#include "options.h"

/* Where Linux tells which program this process runs. */
#define EXECUTABLE "/proc/self/exe"

/* So many losses with no kernel that ran between, and the device needs a rest. */
#define MOST_LOSSES 4

/* What a driver or a compiler said last, in characters. */
#define MOST_SAID 1000

struct _CheckWorker {
  void (*tick) (gpointer data);
  gpointer data;
  gchar **command;
  CheckChild *child;
  GString *said; /* of the request under way: lines that are no answers */
  guint generation;
  guint losses;
};

G_DEFINE_QUARK (gemmcl - check - error - quark, check_error)

CheckWorker *
check_worker_new (void (*tick) (gpointer data), gpointer data)
{
  CheckWorker *self = g_new0 (CheckWorker, 1);
  GPtrArray *command = tool_list_device_options ();
  gchar *executable = g_file_read_link (EXECUTABLE, NULL);

  self->tick = tick;
  self->data = data;
  self->generation = 1;
  g_ptr_array_insert (command, 0, executable != NULL ? executable : g_strdup (EXECUTABLE));
  g_ptr_array_insert (command, 1, g_strdup ("check"));
  g_ptr_array_insert (command, 2, g_strdup ("--worker"));
  g_ptr_array_add (command, NULL);
  self->command = (gchar **)g_ptr_array_free (command, FALSE);
  self->said = g_string_new (NULL);
  return self;
}

void
check_worker_free (CheckWorker *self)
{
  g_clear_pointer (&self->child, check_child_free);
  g_string_free (self->said, TRUE);
  g_strfreev (self->command);
  g_free (self);
}

guint
check_worker_get_generation (const CheckWorker *self)
{
  return self->generation;
}

static gboolean
ensure (CheckWorker *self, GError **error)
{
  if (self->child != NULL)
    return TRUE;
  if (self->losses >= MOST_LOSSES) {
    g_set_error (error, CHECK_ERROR, CHECK_ERROR_GIVEN_UP,
                 "The process that runs the kernels was lost %u times in a row: the device, or its "
                 "driver, may need a rest.",
                 self->losses);
    return FALSE;
  }
  self->child =
      check_child_new ((const gchar *const *)self->command, self->tick, self->data, error);
  return self->child != NULL;
}

/* Ends the process and says why. */
static void
lose (CheckWorker *self, CheckError code, const gchar *why, GError **error)
{
  const gchar *said = g_strstrip (self->said->str);

  g_clear_pointer (&self->child, check_child_free);
  self->losses++;
  self->generation++;
  g_set_error (error, CHECK_ERROR, code, "%s%s%s", why, *said ? " It said last: " : "", said);
}

static void
keep (CheckWorker *self, const gchar *line)
{
  g_autofree gchar *valid = g_utf8_make_valid (line, -1);

  g_string_append_printf (self->said, "%s\n", valid);
  if (self->said->len > MOST_SAID)
    g_string_erase (self->said, 0, self->said->len - MOST_SAID);
}

/* The next answer; other lines are kept, for what may follow. */
static json_t *
read_answer (CheckWorker *self, gdouble seconds, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);

  g_string_truncate (self->said, 0);
  while (TRUE) {
    g_autofree gchar *line = NULL, *why = NULL;

    switch (check_child_read (self->child, deadline, &line)) {
    case CHECK_READ_LINE:
      if (g_str_has_prefix (line, CHECK_ANSWER))
        return json_loads (line + strlen (CHECK_ANSWER), 0, NULL);
      keep (self, line);
      break;
    case CHECK_READ_END:
      check_child_finish (self->child, &why);
      lose (self, CHECK_ERROR_LOST, why, error);
      return NULL;
    case CHECK_READ_LATE:
      why = g_strdup_printf ("There was no answer in %.0f seconds.", seconds);
      lose (self, CHECK_ERROR_LATE, why, error);
      return NULL;
    case CHECK_READ_INTERRUPTED:
      g_clear_pointer (&self->child, check_child_free);
      tool_check_interrupt (error);
      return NULL;
    }
  }
}

/* Whether a kernel was run. */
static gboolean
is_good (const json_t *answer)
{
  return g_strcmp0 (tool_json_get_string (answer, "result"), "ok") == 0 ||
         json_array_size (json_object_get (answer, "times")) > 0;
}

gboolean
check_worker_send (CheckWorker *self, json_t *request, GError **error)
{
  g_autoptr (json_t) owned G_GNUC_UNUSED = request;
  char *line;

  if (!ensure (self, error))
    return FALSE;
  line = json_dumps (request, JSON_COMPACT);
  check_child_write (self->child, line);
  free (line);
  return TRUE;
}

json_t *
check_worker_ask (CheckWorker *self, json_t *request, gdouble seconds, GError **error)
{
  g_autoptr (json_t) answer = NULL;

  if (!check_worker_send (self, request, error))
    return NULL;
  answer = read_answer (self, seconds, error);
  if (answer == NULL)
    return NULL;
  if (json_is_true (json_object_get (answer, "lost"))) {
    lose (self, CHECK_ERROR_LOST, tool_json_get_string (answer, "why"), error);
    return NULL;
  }
  if (is_good (answer))
    self->losses = 0;
  return g_steal_pointer (&answer);
}
