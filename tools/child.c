/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "tool.h"

/* The longest time between two ticks. */
#define TICK_MS 200

/* Ticks in which a process has to end after it closed its output. */
#define END_TICKS 10

/* Bytes of one read; a line may be longer. */
#define CHUNK 4096

/* The link to this process's program, on Linux. */
#define EXECUTABLE "/proc/self/exe"

/* Losses in a row after which the device needs a rest. */
#define MOST_LOSSES 4

/* Most bytes that are kept of the last output of a driver or a compiler. */
#define MOST_SAID 2000

/* Prefix of answers; other lines come from a driver or a compiler. */
#define ANSWER "gemmcl-answer "

struct _ToolChild {
  ToolProgress *progress;
  gchar **command;
  GPid pid; /* 0: there is no process */
  FILE *input;
  gint output;
  GString *text;   /* read but not used yet */
  GString *said;   /* the other lines since the last answer */
  guint losses;    /* in a row */
  gchar *why_lost; /* the reason of the last loss */
};

G_DEFINE_QUARK (gemmcl - tool - child - error - quark, tool_child_error)

ToolChild *
tool_child_new (ToolProgress *progress)
{
  ToolChild *self = g_new0 (ToolChild, 1);
  g_autoptr (GStrvBuilder) command = g_strv_builder_new ();
  g_autofree gchar *executable = g_file_read_link (EXECUTABLE, NULL);

  self->progress = progress;
  g_strv_builder_add_many (command, executable != NULL ? executable : EXECUTABLE, tool_arguments[1],
                           "--worker", NULL);
  g_strv_builder_addv (command, (const gchar **)tool_arguments + 2);
  self->command = g_strv_builder_end (command);
  self->text = g_string_new (NULL);
  self->said = g_string_new (NULL);
  return self;
}

/* Waits only a moment, since a process that hangs in its driver may never end. @status: NULL: it is
 * not needed. Returns: FALSE if the process has not ended. */
static gboolean
wait_for_end (ToolChild *self, gint *status)
{
  for (guint i = 0; i < END_TICKS; i++) {
    const gint pid = waitpid (self->pid, status, WNOHANG);

    if (pid == self->pid || (pid < 0 && errno != EINTR))
      return TRUE;
    g_usleep (TICK_MS * 1000 / END_TICKS);
  }
  return FALSE;
}

/* Ends the process, if there is one. */
static void
end (ToolChild *self)
{
  if (self->pid == 0)
    return;
  kill (-self->pid, SIGKILL);
  wait_for_end (self, NULL);
  fclose (self->input);
  close (self->output);
  g_string_truncate (self->text, 0);
  self->pid = 0;
}

void
tool_child_free (ToolChild *self)
{
  end (self);
  g_string_free (self->text, TRUE);
  g_string_free (self->said, TRUE);
  g_strfreev (self->command);
  g_free (self->why_lost);
  g_free (self);
}

void
tool_child_set_up (gpointer leads)
{
  if (leads != NULL)
    setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  dup2 (STDOUT_FILENO, STDERR_FILENO);
}

static gboolean
ensure (ToolChild *self, GError **error)
{
  gint input;

  if (self->pid != 0)
    return TRUE;
  if (self->losses >= MOST_LOSSES) {
    g_set_error (
        error, TOOL_CHILD_ERROR, TOOL_CHILD_ERROR_GIVEN_UP,
        "The process that runs the kernels was lost %u times in a row, so the device, or its "
        "driver, may need a rest. The last time: %s",
        self->losses, self->why_lost);
    return FALSE;
  }
  if (!g_spawn_async_with_pipes (NULL, self->command, NULL, G_SPAWN_DO_NOT_REAP_CHILD,
                                 tool_child_set_up, self, &self->pid, &input, &self->output, NULL,
                                 error))
    return FALSE;
  self->input = fdopen (input, "w");
  /* Writing to a child that ended must not end this process: reading its answer fails. */
  signal (SIGPIPE, SIG_IGN);
  return TRUE;
}

/* Ends the process after a loss. Sets @error to @why and the last output. */
static void
lose (ToolChild *self, ToolChildError code, const gchar *why, GError **error)
{
  const gchar *said = g_strstrip (self->said->str);

  end (self);
  self->losses++;
  g_free (self->why_lost);
  self->why_lost = g_strdup_printf ("%s%s%s", why, *said ? " It said last: " : "", said);
  g_set_error_literal (error, TOOL_CHILD_ERROR, code, self->why_lost);
}

static gchar *
take_line (ToolChild *self)
{
  const gchar *end = strchr (self->text->str, '\n');
  gchar *line;

  if (end == NULL)
    return NULL;
  line = g_strndup (self->text->str, end - self->text->str);
  g_string_erase (self->text, 0, end - self->text->str + 1);
  return line;
}

/* Returns: FALSE at the end of the output. */
static gboolean
read_more (ToolChild *self, gint64 deadline)
{
  GPollFD poll = {.fd = self->output, .events = G_IO_IN};
  const gint64 left = (deadline - g_get_monotonic_time ()) / 1000;
  gchar chunk[CHUNK];
  gssize n;

  if (g_poll (&poll, 1, (gint)CLAMP (left, 0, TICK_MS)) <= 0)
    return TRUE;
  n = read (self->output, chunk, sizeof chunk);
  if (n > 0)
    /* Drops the rest of a chunk after a NUL, which an answer never has. */
    g_string_append_len (self->text, chunk, strnlen (chunk, n));
  return n > 0 || (n < 0 && errno == EINTR);
}

static void
keep_line (GString *said, const gchar *line)
{
  g_autofree gchar *valid = g_utf8_make_valid (line, -1);

  g_string_append_printf (said, "%s\n", valid);
  if (said->len > MOST_SAID)
    g_string_erase (said, 0, said->len - MOST_SAID);
}

gchar *
tool_child_describe_end (gint status)
{
  if (WIFSIGNALED (status))
    return g_strdup_printf ("The process died of signal %d, \"%s\".", WTERMSIG (status),
                            strsignal (WTERMSIG (status)));
  return g_strdup_printf ("The process ended with exit status %d.", WEXITSTATUS (status));
}

/* Returns: the next answer. Other lines are kept for the message of a loss. */
static json_t *
read_answer (ToolChild *self, gdouble seconds, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  g_autofree gchar *why = NULL;
  gint status = 0;

  g_string_truncate (self->said, 0);
  do {
    g_autofree gchar *line = NULL;

    while ((line = take_line (self)) != NULL) {
      json_t *answer =
          g_str_has_prefix (line, ANSWER) ? json_loads (line + strlen (ANSWER), 0, NULL) : NULL;

      if (answer != NULL)
        return answer;
      keep_line (self->said, line);
      g_clear_pointer (&line, g_free);
    }
    tool_progress_tick (self->progress);
    if (!tool_check_interrupt (error)) {
      end (self);
      return NULL;
    }
    if (g_get_monotonic_time () >= deadline) {
      why = g_strdup_printf ("There was no answer in %.0f seconds.", seconds);
      lose (self, TOOL_CHILD_ERROR_LATE, why, error);
      return NULL;
    }
  } while (read_more (self, deadline));
  why = wait_for_end (self, &status) ? tool_child_describe_end (status)
                                     : g_strdup ("The process fell silent.");
  lose (self, TOOL_CHILD_ERROR_LOST, why, error);
  return NULL;
}

gboolean
tool_child_send (ToolChild *self, json_t *request, GError **error)
{
  g_autoptr (json_t) owned G_GNUC_UNUSED = request;

  if (!ensure (self, error))
    return FALSE;
  json_dumpf (request, self->input, JSON_COMPACT);
  fputc ('\n', self->input);
  fflush (self->input);
  return TRUE;
}

json_t *
tool_child_read (ToolChild *self, gdouble seconds, GError **error)
{
  g_autoptr (json_t) answer = read_answer (self, seconds, error);

  if (answer == NULL)
    return NULL;
  if (json_is_true (json_object_get (answer, "lost"))) {
    lose (self, TOOL_CHILD_ERROR_LOST, tool_json_get_string (answer, "why"), error);
    return NULL;
  }
  if (g_strcmp0 (tool_json_get_string (answer, "result"), "ok") == 0)
    self->losses = 0;
  return g_steal_pointer (&answer);
}

json_t *
tool_child_ask (ToolChild *self, json_t *request, gdouble seconds, GError **error)
{
  return tool_child_send (self, request, error) ? tool_child_read (self, seconds, error) : NULL;
}

GemmclGemm
tool_child_read_problem (const json_t *request)
{
  GemmclGemm gemm = tool_gemm;

  gemm.m = (gsize)json_integer_value (json_object_get (request, "m"));
  gemm.n = (gsize)json_integer_value (json_object_get (request, "n"));
  gemm.k = (gsize)json_integer_value (json_object_get (request, "k"));
  return gemm;
}

/* Begins a new line, since a driver may have printed an incomplete one. */
void
tool_child_answer (json_t *answer)
{
  g_autoptr (json_t) owned G_GNUC_UNUSED = answer;

  fputs ("\n" ANSWER, stdout);
  json_dumpf (answer, stdout, JSON_COMPACT);
  fputc ('\n', stdout);
  fflush (stdout);
}

json_t *
tool_child_make_error (const GError *why)
{
  return json_pack ("{s:b, s:b, s:o}", "error", TRUE, "lost",
                    g_error_matches (why, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL), "why",
                    tool_json_string (why->message));
}

static void
serve_line (const gchar *line, ToolServe serve, gpointer data, GemmclContext *context)
{
  g_autoptr (json_t) request = json_loads (line, 0, NULL);
  json_t *answer = request != NULL ? serve (data, context, request) : NULL;

  if (answer == NULL)
    answer = json_pack ("{s:b, s:s}", "error", TRUE, "why", "The request makes no sense.");
  tool_child_answer (answer);
}

gboolean
tool_child_serve (ToolServe serve, gpointer data, GError **error)
{
  g_autoptr (GemmclContext) context = tool_open_context (error);
  char *line = NULL;
  size_t size = 0;

  if (context == NULL) {
    tool_child_answer (
        json_pack ("{s:b, s:o}", "error", TRUE, "why", tool_json_string ((*error)->message)));
    return FALSE;
  }
  while (getline (&line, &size, stdin) >= 0)
    serve_line (line, serve, data, context);
  free (line);
  return TRUE;
}
