/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "tool.h"

/* The longest time between two looks at the clock and the user. */
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

/* Limit for opening a device, and between a report and the next announcement. */
#define START_SECONDS 60.0

/* Prefix of reports; other lines come from a driver or a compiler. */
#define REPORT "gemmcl-report "

#define DEFAULT_WIDTH 80

/* ECMA-48: back to the first column, and erase to the end of the line. */
#define ERASE_LINE "\r\033[K"

typedef struct {
  json_t *state;
  ToolWorkerNotify notify;
  gpointer data;
  GPid pid; /* 0: there is no process */
  gint output;
  GString *text;   /* read but not used yet */
  GString *said;   /* the other lines since the last report */
  json_t *at;      /* (nullable): the object that gets the blame for a loss */
  json_t *if_lost; /* its members then */
  gdouble seconds; /* the limit for the next report, and its end */
  gint64 limit;
  gboolean has_begun; /* a worker has reported something */
  guint losses;       /* in a row */
} Worker;

static struct {
  gchar *step;
  gint64 start;
  gint64 shown; /* seconds since the start */
} progress;

void
tool_worker_clear_progress (void)
{
  if (progress.step != NULL && isatty (STDERR_FILENO))
    fputs (ERASE_LINE, stderr);
  progress.shown = -1;
}

/* Shows the step and its seconds on a terminal. */
static void
show_progress (void)
{
  const gint64 seconds = (g_get_monotonic_time () - progress.start) / G_USEC_PER_SEC;
  g_autofree gchar *line = g_strdup_printf ("%s, %" G_GINT64_FORMAT " s", progress.step, seconds);
  struct winsize size = {0};

  if (progress.step == NULL || seconds == progress.shown || !isatty (STDERR_FILENO))
    return;
  progress.shown = seconds;
  ioctl (STDERR_FILENO, TIOCGWINSZ, &size);
  /* A line that wraps could not be erased. */
  fprintf (stderr, ERASE_LINE "%.*s", (size.ws_col > 0 ? size.ws_col : DEFAULT_WIDTH) - 1, line);
  fflush (stderr);
}

static void
begin_progress (const gchar *step)
{
  g_free (progress.step);
  progress.step = g_strdup (step);
  progress.start = g_get_monotonic_time ();
  progress.shown = -1;
  if (!isatty (STDERR_FILENO))
    g_printerr ("%s\n", step);
}

/* Waits only a moment, since a process that hangs in its driver may never end. @status: NULL: it is
 * not needed. Returns: FALSE if the process has not ended. */
static gboolean
wait_for_end (Worker *self, gint *status)
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
end (Worker *self)
{
  if (self->pid == 0)
    return;
  kill (-self->pid, SIGKILL);
  wait_for_end (self, NULL);
  close (self->output);
  self->pid = 0;
}

static void
worker_clear (Worker *self)
{
  end (self);
  g_string_free (self->text, TRUE);
  g_string_free (self->said, TRUE);
  json_decref (self->at);
  json_decref (self->if_lost);
  tool_worker_clear_progress ();
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Worker, worker_clear)

void
tool_worker_set_up (G_GNUC_UNUSED gpointer unused)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  dup2 (STDOUT_FILENO, STDERR_FILENO);
}

static void
set_up_worker (G_GNUC_UNUSED gpointer unused)
{
  setpgid (0, 0);
  tool_worker_set_up (NULL);
}

/* Returns: the command line of this process with one more option. */
static gchar **
make_command (const gchar *option)
{
  g_autoptr (GStrvBuilder) command = g_strv_builder_new ();
  g_autofree gchar *executable = g_file_read_link (EXECUTABLE, NULL);

  g_strv_builder_add_many (command, executable != NULL ? executable : EXECUTABLE, tool_arguments[1],
                           option, NULL);
  g_strv_builder_addv (command, (const gchar **)tool_arguments + 2);
  return g_strv_builder_end (command);
}

GPid
tool_worker_start_helper (const gchar *option)
{
  g_auto (GStrv) command = make_command (option);
  GPid pid = 0;

  g_spawn_async (NULL, command, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                 tool_worker_set_up, NULL, &pid, NULL);
  return pid;
}

/* Starts a process, whose input is a file with the state. */
static gboolean
start (Worker *self, GError **error)
{
  g_auto (GStrv) command = make_command ("--worker");
  FILE *input = tmpfile ();
  gboolean ok;

  if (input == NULL || json_dumpf (self->state, input, JSON_COMPACT) != 0 ||
      fseek (input, 0, SEEK_SET) != 0) {
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "No temporary file can be written: %s",
                 g_strerror (errno));
    ok = FALSE;
  } else {
    ok = g_spawn_async_with_pipes_and_fds (
        NULL, (const gchar *const *)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, set_up_worker, NULL,
        fileno (input), -1, -1, NULL, NULL, 0, &self->pid, NULL, &self->output, NULL, error);
  }
  g_clear_pointer (&input, fclose);
  g_string_truncate (self->text, 0);
  g_string_truncate (self->said, 0);
  return ok;
}

static gchar *
take_line (Worker *self)
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
read_more (Worker *self)
{
  GPollFD poll = {.fd = self->output, .events = G_IO_IN};
  gchar chunk[CHUNK];
  gssize n;

  if (g_poll (&poll, 1, TICK_MS) <= 0)
    return TRUE;
  n = read (self->output, chunk, sizeof chunk);
  if (n > 0)
    /* Drops the rest of a chunk after a NUL, which a report never has. */
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
tool_worker_describe_end (gint status)
{
  if (WIFSIGNALED (status))
    return g_strdup_printf ("The process died of signal %d, \"%s\".", WTERMSIG (status),
                            strsignal (WTERMSIG (status)));
  return g_strdup_printf ("The process ended with exit status %d.", WEXITSTATUS (status));
}

/* Returns: the object at @path. */
static json_t *
find (json_t *state, const json_t *path)
{
  for (gsize i = 0; i < json_array_size (path); i++) {
    const json_t *place = json_array_get (path, i);

    state = json_is_string (place) ? json_object_get (state, json_string_value (place))
                                   : json_array_get (state, json_integer_value (place));
  }
  return state;
}

static void
set_limit (Worker *self, gdouble seconds)
{
  self->seconds = seconds;
  self->limit = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
}

static void
set_blame (Worker *self, json_t *at, json_t *if_lost)
{
  json_decref (self->at);
  json_decref (self->if_lost);
  self->at = json_incref (at);
  self->if_lost = json_incref (if_lost);
}

typedef enum {
  GOES_ON,
  IS_DONE,
  HAS_FAILED,
  IS_LOST,
} Outcome;

/* @why: (out): the reason of a loss. */
static Outcome
take_report (Worker *self, const json_t *report, gchar **why, GError **error)
{
  json_t *at = find (self->state, json_object_get (report, "at"));
  json_t *change = json_object_get (report, "change");
  const gchar *kind = tool_json_get_string (report, "report");

  self->has_begun = TRUE;
  set_limit (self, START_SECONDS);
  if (g_strcmp0 (kind, "begin") == 0) {
    set_limit (self, json_number_value (json_object_get (report, "seconds")));
    set_blame (self, at, change);
  } else if (g_strcmp0 (kind, "set") == 0) {
    json_object_update (at, change);
    set_blame (self, NULL, NULL);
    if (tool_json_get_string (change, "why") == NULL)
      self->losses = 0;
    if (self->notify != NULL && !self->notify (self->data, at, change, error))
      return HAS_FAILED;
  } else if (g_strcmp0 (kind, "step") == 0) {
    begin_progress (tool_json_get_string (report, "text"));
  } else if (g_strcmp0 (kind, "lost") == 0) {
    *why = g_strdup (tool_json_get_string (report, "text"));
    return IS_LOST;
  } else if (g_strcmp0 (kind, "error") == 0) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                         tool_json_get_string (report, "text"));
    return HAS_FAILED;
  } else {
    return IS_DONE;
  }
  return GOES_ON;
}

/* Takes the reports that were read. Other lines are kept for the message of a loss. */
static Outcome
take_reports (Worker *self, gchar **why, GError **error)
{
  Outcome outcome = GOES_ON;

  while (outcome == GOES_ON) {
    g_autofree gchar *line = take_line (self);
    g_autoptr (json_t) report = NULL;

    if (line == NULL)
      break;
    if (g_str_has_prefix (line, REPORT))
      report = json_loads (line + strlen (REPORT), 0, NULL);
    if (report == NULL) {
      keep_line (self->said, line);
      continue;
    }
    outcome = take_report (self, report, why, error);
    if (outcome == GOES_ON)
      g_string_truncate (self->said, 0);
  }
  return outcome;
}

/* Reads the reports of the process to its end, or to the deadline. */
static Outcome
follow (Worker *self, gint64 deadline, gchar **why, GError **error)
{
  gint status = 0;

  set_limit (self, START_SECONDS);
  do {
    const Outcome outcome = take_reports (self, why, error);

    if (outcome != GOES_ON)
      return outcome;
    show_progress ();
    if (!tool_check_interrupt (error))
      return HAS_FAILED;
    if (self->has_begun && g_get_monotonic_time () >= deadline)
      return IS_DONE;
    if (g_get_monotonic_time () >= self->limit) {
      *why = g_strdup_printf ("There was no answer in %.0f seconds.", self->seconds);
      return IS_LOST;
    }
  } while (read_more (self));
  *why = wait_for_end (self, &status) ? tool_worker_describe_end (status)
                                      : g_strdup ("The process fell silent.");
  return IS_LOST;
}

/* Blames the object that was under way. Returns: FALSE with an error after too many losses, or if
 * the device could not even be opened. */
static gboolean
note_loss (Worker *self, const gchar *why, GError **error)
{
  const gchar *said = g_strstrip (self->said->str);
  g_autofree gchar *text = g_strconcat (why, *said ? " It said last: " : NULL, said, NULL);

  if (self->at != NULL) {
    json_object_update (self->at, self->if_lost);
    json_object_set_new (self->at, "why", tool_json_string (text));
    json_array_append (json_object_get (self->state, "lost"), self->at);
    set_blame (self, NULL, NULL);
  }
  if (!self->has_begun)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "The device cannot be opened. %s", text);
  else if (++self->losses == MOST_LOSSES)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED,
                 "The process that runs the kernels was lost %u times in a row, so the device, or "
                 "its driver, may need a rest. The last time: %s",
                 self->losses, text);
  return self->has_begun && self->losses < MOST_LOSSES;
}

gboolean
tool_worker_run (json_t *state, gint64 deadline, ToolWorkerNotify notify, gpointer data,
                 GError **error)
{
  g_auto (Worker) self = {.state = state,
                          .notify = notify,
                          .data = data,
                          .text = g_string_new (NULL),
                          .said = g_string_new (NULL)};
  Outcome outcome;

  json_object_set_new (state, "lost", json_array ());
  do {
    g_autofree gchar *why = NULL;

    if (!start (&self, error))
      return FALSE;
    outcome = follow (&self, deadline, &why, error);
    end (&self);
    if (outcome == IS_LOST && !note_loss (&self, why, error))
      return FALSE;
  } while (outcome == IS_LOST);
  return outcome == IS_DONE;
}

/* The state of this process, if it is a worker. */
static json_t *own_state;

/* Begins a new line, since a driver may have printed an incomplete one. */
static void
report (json_t *message)
{
  g_autoptr (json_t) owned G_GNUC_UNUSED = message;

  fputs ("\n" REPORT, stdout);
  json_dumpf (message, stdout, JSON_COMPACT);
  fputc ('\n', stdout);
  fflush (stdout);
}

static void
report_text (const gchar *kind, const gchar *text)
{
  report (json_pack ("{s:s, s:o}", "report", kind, "text", tool_json_string (text)));
}

void
tool_worker_step (const gchar *step)
{
  report_text ("step", step);
}

/* Returns: (nullable): the keys and indices that lead from @from to @object. */
static json_t *
find_path (json_t *from, const json_t *object)
{
  json_t *path = NULL, *inner;
  const gchar *key;
  gsize i;

  if (from == object)
    return json_array ();
  json_object_foreach (from, key, inner)
  {
    if ((path = find_path (inner, object)) != NULL) {
      json_array_insert_new (path, 0, json_string (key));
      return path;
    }
  }
  json_array_foreach (from, i, inner)
  {
    if ((path = find_path (inner, object)) != NULL) {
      json_array_insert_new (path, 0, json_integer ((json_int_t)i));
      return path;
    }
  }
  return NULL;
}

void
tool_worker_begin (const json_t *object, gdouble seconds, json_t *if_lost)
{
  report (json_pack ("{s:s, s:o, s:f, s:o}", "report", "begin", "at", find_path (own_state, object),
                     "seconds", seconds, "change", if_lost));
}

void
tool_worker_set (json_t *object, json_t *change)
{
  json_object_update (object, change);
  report (json_pack ("{s:s, s:o, s:o}", "report", "set", "at", find_path (own_state, object),
                     "change", change));
}

void
tool_worker_lose (const gchar *why)
{
  report_text ("lost", why);
  _exit (EXIT_FAILURE);
}

gboolean
tool_worker_serve (ToolWork work, gpointer data, GError **error)
{
  g_autoptr (GemmclContext) context = NULL;

  own_state = json_loadf (stdin, 0, NULL);
  context = tool_open_context (error);
  if (context == NULL) {
    report_text ("error", (*error)->message);
    return FALSE;
  }
  work (context, own_state, data);
  report_text ("done", NULL);
  return TRUE;
}
