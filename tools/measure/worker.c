/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared-options.h"

/* Interval in which the time limits and Ctrl-C are checked. */
#define TICK_MS 200

/* Number of checks for the end of a process, spread over one tick. */
#define END_TICKS 10

/* Consecutive losses after which no new worker is started. */
#define MOST_LOSSES 4

/* Number of bytes at the end of a worker's output that an error quotes. */
#define MOST_SAID 2000

/* Time limit for opening a device, and from a report to the next announcement. */
#define START_SECONDS 60.0

typedef struct {
  json_t *items;
  const ToolWork *work;
  gpointer data;
  GPid pid; /* 0: there is no process */
  GIOChannel *reports;
  FILE *output;    /* of drivers and compilers */
  json_t *at;      /* (nullable): the item that gets the blame for a loss */
  gchar *what;     /* (nullable): as announced */
  gdouble seconds; /* the time within which the next report must come, and its end */
  gdouble limit;
  gboolean has_begun; /* a worker has opened the device */
  guint losses;       /* in a row */
} Worker;

/* In a worker: the pipe for its reports, and the index of its item. */
static struct {
  FILE *reports;
  gsize index;
} own;

gdouble
tool_get_seconds (void)
{
  return (gdouble)g_get_monotonic_time () / G_USEC_PER_SEC;
}

/* @message: (transfer full) */
static void
report (json_t *message)
{
  g_autoptr (json_t) owned = message;

  json_dumpf (owned, own.reports, JSON_COMPACT);
  fputc ('\n', own.reports);
  fflush (own.reports);
}

static gboolean
is_terminal (void)
{
  const gchar *kind = g_getenv ("TERM");

  return isatty (STDERR_FILENO) && kind != NULL && !g_str_equal (kind, "dumb");
}

void
tool_progress_clear (void)
{
  /* ECMA-48: back to the first column, and erase to the end of the line. */
  if (is_terminal ())
    g_printerr ("\r\033[K");
}

void
tool_progress_show (gsize i, gsize n, const gchar *what, gdouble left)
{
  const gboolean minutes = left >= 100;
  g_autofree gchar *time =
      left > 0 ? g_strdup_printf (", %.0f %s left", ceil (minutes ? left / 60 : left),
                                  minutes ? "min" : "s")
               : g_strdup ("");

  tool_progress_clear ();
  g_printerr ("%zu of %zu: %s%s%s", i, n, what, time, is_terminal () ? "" : "\n");
}

void
tool_worker_step (const gchar *what, gdouble left)
{
  report (json_pack ("{s:s, s:I, s:f}", "step", what, "at", (json_int_t)own.index, "left", left));
}

/* Waits for the process to end, but only a moment, since a process that hangs in its driver may
 * never end. @status: (out) (nullable). Returns: FALSE if it still runs. */
static gboolean
wait_for_end (const Worker *self, gint *status)
{
  for (guint i = 0; i < END_TICKS; i++) {
    const gint pid = waitpid (self->pid, status, WNOHANG);

    if (pid == self->pid || (pid < 0 && errno != EINTR))
      return TRUE;
    g_usleep (TICK_MS * 1000 / END_TICKS);
  }
  return FALSE;
}

/* Ends the process, if there is one, and its progress. */
static void
end (Worker *self)
{
  tool_progress_clear ();
  if (self->pid > 0) {
    kill (-self->pid, SIGKILL);
    wait_for_end (self, NULL);
  }
  self->pid = 0;
  g_clear_pointer (&self->reports, g_io_channel_unref);
  g_clear_pointer (&self->output, fclose);
}

static void
worker_clear (Worker *self)
{
  end (self);
  g_free (self->what);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Worker, worker_clear)

GPid
tool_worker_fork (gint output)
{
  GPid pid;

  /* Otherwise the child would write the buffered output, too. */
  fflush (NULL);
  pid = fork ();
  /* Both processes set it, so that neither goes on before it holds. */
  if (pid >= 0)
    setpgid (pid, pid);
  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    dup2 (output, STDOUT_FILENO);
    dup2 (output, STDERR_FILENO);
  }
  return pid;
}

static void work (const Worker *self, gint reports) G_GNUC_NORETURN;

static gboolean
start (Worker *self, GError **error)
{
  gint ends[2] = {-1, -1};

  self->output = tmpfile ();
  if (self->output == NULL || !g_unix_open_pipe (ends, FD_CLOEXEC, NULL) ||
      (self->pid = tool_worker_fork (fileno (self->output))) < 0)
    return tool_fail (error, "No process can be started: %s", g_strerror (errno));
  if (self->pid == 0)
    work (self, ends[1]);
  close (ends[1]);
  self->reports = g_io_channel_unix_new (ends[0]);
  g_io_channel_set_close_on_unref (self->reports, TRUE);
  g_io_channel_set_encoding (self->reports, NULL, NULL);
  g_io_channel_set_flags (self->reports, G_IO_FLAG_NONBLOCK, NULL);
  return TRUE;
}

/* Returns: the end of what the process printed since it began something. */
static gchar *
read_output (const Worker *self)
{
  gchar said[MOST_SAID + 1] = "";

  if (fseek (self->output, -MOST_SAID, SEEK_END) != 0)
    rewind (self->output);
  said[fread (said, 1, MOST_SAID, self->output)] = '\0';
  return g_utf8_make_valid (g_strstrip (said), -1);
}

/* @at: (nullable): the item that gets the blame for a loss from now on */
static void
set_blame (Worker *self, json_t *at, const gchar *what, gdouble seconds)
{
  self->at = at;
  g_free (self->what);
  self->what = g_strdup (what);
  self->seconds = seconds;
  self->limit = tool_get_seconds () + seconds;
}

typedef enum {
  GOES_ON,
  IS_DONE,
  HAS_FAILED,
  IS_LOST,
} Outcome;

/* @why: (out): the reason for a loss */
static Outcome
take_report (Worker *self, const json_t *report, gchar **why, GError **error)
{
  const json_t *index = json_object_get (report, "item");
  json_t *item = index != NULL ? json_array_get (self->items, json_integer_value (index)) : NULL;
  json_t *content = json_object_get (report, "content");
  const gchar *step = tool_json_get_string (report, "step");
  const gdouble seconds = tool_json_get_number (report, "seconds");

  *why = g_strdup (tool_json_get_string (report, "why"));
  if (*why != NULL)
    return IS_LOST;
  /* The worker survived the step that it announced before. */
  if (self->at != NULL)
    self->losses = 0;
  self->has_begun = TRUE;
  set_blame (self, content == NULL ? item : NULL, tool_json_get_string (report, "what"),
             isnan (seconds) ? START_SECONDS : seconds);
  if (step != NULL)
    tool_progress_show (json_integer_value (json_object_get (report, "at")) + 1,
                        json_array_size (self->items), step, tool_json_get_number (report, "left"));
  if (content == NULL)
    return GOES_ON;
  json_object_update (item, content);
  if (self->work->done == NULL)
    return GOES_ON;
  tool_progress_clear ();
  return self->work->done (item, self->data, error) ? GOES_ON : HAS_FAILED;
}

/* Reads the reports of the process to its end, or to the deadline. */
static Outcome
follow (Worker *self, gdouble deadline, gchar **why, GError **error)
{
  GPollFD poll = {.fd = g_io_channel_unix_get_fd (self->reports), .events = G_IO_IN};
  g_autoptr (GError) ended = NULL;
  gint status = 0;

  set_blame (self, NULL, NULL, START_SECONDS);
  for (;;) {
    g_autofree gchar *line = NULL;
    const GIOStatus read = g_io_channel_read_line (self->reports, &line, NULL, NULL, NULL);
    /* The process may have died while it wrote. */
    g_autoptr (json_t) report = line != NULL ? json_loads (line, 0, NULL) : NULL;
    const Outcome outcome = report != NULL ? take_report (self, report, why, error) : GOES_ON;

    if (outcome != GOES_ON)
      return outcome;
    if (read != G_IO_STATUS_NORMAL && read != G_IO_STATUS_AGAIN)
      break;
    if (!tool_check_interrupt (error))
      return HAS_FAILED;
    if (self->has_begun && tool_get_seconds () >= deadline)
      return IS_DONE;
    if (tool_get_seconds () >= self->limit) {
      *why = g_strdup_printf ("There was no answer in %.0f seconds.", self->seconds);
      return IS_LOST;
    }
    if (read == G_IO_STATUS_AGAIN)
      g_poll (&poll, 1, TICK_MS);
  }
  if (wait_for_end (self, &status) && g_spawn_check_wait_status (status, &ended))
    return IS_DONE;
  *why = g_strdup (ended != NULL ? ended->message : "The process fell silent.");
  return IS_LOST;
}

/* Blames the item that was under way. Returns: FALSE with an error after too many losses, or if the
 * device could not even be opened. */
static gboolean
note_loss (Worker *self, const gchar *why, GError **error)
{
  g_autofree gchar *said = read_output (self);
  g_autofree gchar *text = g_strconcat (why, *said ? " It said last: " : NULL, said, NULL);

  if (self->at != NULL)
    self->work->lose (self->at, self->what, text, self->data);
  if (!self->has_begun)
    return tool_fail (error, "The device cannot be opened. %s", text);
  return ++self->losses < MOST_LOSSES ||
         tool_fail (error,
                    "The process that runs the kernels was lost %u times in a row, so the device, "
                    "or its driver, may need a rest. The last time: %s",
                    self->losses, text);
}

gboolean
tool_worker_run (json_t *items, const ToolWork *work, gpointer data, gdouble deadline,
                 GError **error)
{
  g_auto (Worker) self = {.items = items, .work = work, .data = data};
  Outcome outcome;

  do {
    g_autofree gchar *why = NULL;

    if (!start (&self, error))
      return FALSE;
    outcome = follow (&self, deadline, &why, error);
    if (outcome == IS_LOST && !note_loss (&self, why, error))
      return FALSE;
    end (&self);
  } while (outcome == IS_LOST);
  return outcome == IS_DONE;
}

gboolean
tool_worker_ask (json_t *object, gboolean (*fill) (GemmclContext *, json_t *, gpointer),
                 gpointer data, GError **error)
{
  const ToolWork work = {.work = fill};
  g_autoptr (json_t) items = json_pack ("[O]", object);

  return tool_worker_run (items, &work, data, INFINITY, error);
}

void
tool_worker_begin (const gchar *what, gdouble seconds)
{
  /* Drops earlier output, which does not belong to this step. */
  fflush (stdout);
  if (ftruncate (STDOUT_FILENO, 0) == 0)
    lseek (STDOUT_FILENO, 0, SEEK_SET);
  report (json_pack ("{s:I, s:s?, s:f}", "item", (json_int_t)own.index, "what", what, "seconds",
                     seconds));
}

void
tool_worker_lose (const gchar *why)
{
  report (json_pack ("{s:o}", "why", tool_json_string (why)));
  _exit (EXIT_FAILURE);
}

static void
work (const Worker *self, gint reports)
{
  g_autoptr (GError) error = NULL;
  GemmclContext *context;

  own.reports = fdopen (reports, "w");
  context = tool_open_context (&error);
  if (context == NULL)
    tool_worker_lose (error->message);
  report (json_object ());
  for (own.index = 0; own.index < json_array_size (self->items); own.index++) {
    json_t *item = json_array_get (self->items, own.index);

    if (self->work->work (context, item, self->data))
      report (json_pack ("{s:I, s:O}", "item", (json_int_t)own.index, "content", item));
  }
  _exit (EXIT_SUCCESS);
}
