/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tune-worker.h"

#include <gio/gio.h>
#include <signal.h>
#include <string.h>

#include "tool.h"
#include "options.h"

/* How often one looks up from waiting. */
#define TICK_MS 200

/* Opening a device and filling matrices takes no longer than this. */
#define START_SECONDS 60.0

/* A process whose pipe is closed is as good as ended. */
#define END_SECONDS 2.0

/* So many losses with nothing answered between, and the device is not worth more. */
#define MOST_LOSSES 4

/* Where Linux tells which program this process runs. */
#define EXECUTABLE "/proc/self/exe"

struct _TuneWorker {
  void (*tick) (gpointer data);
  gpointer data;
  gchar **command;
  gchar *problem; /* the request that makes it */
  GSubprocess *process;
  GDataInputStream *answers;
  guint generation;
  guint losses;
};

G_DEFINE_QUARK (gemmcl - tune - error - quark, tune_error)

/* Something that goes on in the background, until it is done, late, or the user is tired of it. */
typedef struct {
  TuneWorker *worker;
  gint64 deadline;
  GCancellable *cancellable;
  GAsyncResult *result;
} Wait;

static void
wait_clear (Wait *self)
{
  g_clear_object (&self->cancellable);
  g_clear_object (&self->result);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Wait, wait_clear)

static void
on_done (G_GNUC_UNUSED GObject *source, GAsyncResult *result, gpointer data)
{
  Wait *self = data;

  self->result = g_object_ref (result);
}

static gboolean
on_tick (gpointer data)
{
  Wait *self = data;

  self->worker->tick (self->worker->data);
  if (g_get_monotonic_time () >= self->deadline || !tool_check_interrupt (NULL))
    g_cancellable_cancel (self->cancellable);
  return G_SOURCE_CONTINUE;
}

static void
wait_start (Wait *self, TuneWorker *worker, gdouble seconds)
{
  self->worker = worker;
  self->deadline = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  self->cancellable = g_cancellable_new ();
}

static void
wait_finish (Wait *self)
{
  const guint timer = g_timeout_add (TICK_MS, on_tick, self);

  /* Most answers come sooner. */
  self->worker->tick (self->worker->data);
  while (self->result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (timer);
}

TuneWorker *
tune_worker_new (void (*tick) (gpointer data), gpointer data)
{
  TuneWorker *self = g_new0 (TuneWorker, 1);
  GPtrArray *command = tool_list_device_options ();
  gchar *executable = g_file_read_link (EXECUTABLE, NULL);

  self->tick = tick;
  self->data = data;
  self->generation = 1;
  g_ptr_array_insert (command, 0, executable != NULL ? executable : g_strdup (EXECUTABLE));
  g_ptr_array_insert (command, 1, g_strdup ("tune"));
  g_ptr_array_insert (command, 2, g_strdup ("--worker"));
  g_ptr_array_add (command, NULL);
  self->command = (gchar **)g_ptr_array_free (command, FALSE);
  /* A worker that is gone shows when its answer is read. */
  signal (SIGPIPE, SIG_IGN);
  return self;
}

/* Does not wait: a process that hangs in its driver may take any time to end. */
static void
stop (TuneWorker *self)
{
  if (self->process == NULL)
    return;
  self->generation++;
  g_subprocess_force_exit (self->process);
  g_clear_object (&self->answers);
  g_clear_object (&self->process);
}

/* Whether the process ended by itself. */
static gboolean
wait_for_end (TuneWorker *self)
{
  g_auto (Wait) wait = {NULL};

  wait_start (&wait, self, END_SECONDS);
  g_subprocess_wait_async (self->process, wait.cancellable, on_done, &wait);
  wait_finish (&wait);
  return g_subprocess_wait_finish (self->process, wait.result, NULL);
}

void
tune_worker_free (TuneWorker *self)
{
  /* No more requests: it tidies up and ends. */
  if (self->process != NULL &&
      g_output_stream_close (g_subprocess_get_stdin_pipe (self->process), NULL, NULL))
    wait_for_end (self);
  stop (self);
  g_strfreev (self->command);
  g_free (self->problem);
  g_free (self);
}

/* The process closed its pipe: what it died of. */
static void
describe_end (TuneWorker *self, GError **error)
{
  if (!wait_for_end (self))
    g_set_error_literal (error, TUNE_ERROR, TUNE_ERROR_LOST, "The process fell silent.");
  else if (g_subprocess_get_if_signaled (self->process))
    g_set_error (error, TUNE_ERROR, TUNE_ERROR_LOST, "The process died of signal %d, \"%s\".",
                 g_subprocess_get_term_sig (self->process),
                 strsignal (g_subprocess_get_term_sig (self->process)));
  else
    g_set_error (error, TUNE_ERROR, TUNE_ERROR_LOST, "The process ended with exit status %d.",
                 g_subprocess_get_exit_status (self->process));
}

/* A line from the process, or %NULL. */
static gchar *
read_line (TuneWorker *self, gdouble seconds, GError **error)
{
  g_auto (Wait) wait = {NULL};
  gchar *line;

  wait_start (&wait, self, seconds);
  g_data_input_stream_read_line_async (self->answers, G_PRIORITY_DEFAULT, wait.cancellable, on_done,
                                       &wait);
  wait_finish (&wait);
  line = g_data_input_stream_read_line_finish (self->answers, wait.result, NULL, NULL);
  if (line != NULL)
    return line;
  /* Ctrl-C goes to the worker as well, before it knows that it should not mind. */
  if (tool_check_interrupt (error)) {
    if (g_cancellable_is_cancelled (wait.cancellable))
      g_set_error (error, TUNE_ERROR, TUNE_ERROR_LOST, "There was no answer in %.0f seconds.",
                   seconds);
    else
      describe_end (self, error);
  }
  stop (self);
  return NULL;
}

static gchar *
exchange (TuneWorker *self, gdouble seconds, const gchar *request, GError **error)
{
  g_autofree gchar *line = g_strconcat (request, "\n", NULL);
  g_autofree gchar *answer = NULL;

  /* If this fails, so does reading. */
  g_output_stream_write_all (g_subprocess_get_stdin_pipe (self->process), line, strlen (line), NULL,
                             NULL, NULL);
  answer = read_line (self, seconds, error);
  if (answer == NULL)
    return NULL;
  if (g_str_has_prefix (answer, "ok"))
    return g_strdup (g_strchug (answer + strlen ("ok")));
  if (g_str_has_prefix (answer, "lost ")) {
    g_set_error_literal (error, TUNE_ERROR, TUNE_ERROR_LOST, answer + strlen ("lost "));
    stop (self);
    return NULL;
  }
  g_set_error_literal (error, TUNE_ERROR, TUNE_ERROR_REFUSED,
                       g_str_has_prefix (answer, "error ") ? answer + strlen ("error ") : answer);
  return NULL;
}

static gboolean
start_process (TuneWorker *self, GError **error)
{
  self->process =
      g_subprocess_newv ((const gchar *const *)self->command,
                         G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, error);
  if (self->process == NULL)
    return FALSE;
  self->answers = g_data_input_stream_new (g_subprocess_get_stdout_pipe (self->process));
  return TRUE;
}

/* Adds to what went wrong that this is the end of it. */
static gboolean
give_up (TuneWorker *self, GError *why, GError **error)
{
  g_set_error (
      error, TUNE_ERROR, TUNE_ERROR_GIVEN_UP,
      "The process that runs the kernels was lost %u times in a row, so the device, or its "
      "driver, may need a rest. The last time: %s",
      self->losses, why->message);
  return FALSE;
}

/* A worker that knows the problem. */
static gboolean
ensure (TuneWorker *self, GError **error)
{
  while (self->process == NULL) {
    g_autoptr (GError) why = NULL;
    g_autofree gchar *answer = NULL;

    if (!start_process (self, error))
      return FALSE;
    answer = exchange (self, START_SECONDS, self->problem, &why);
    if (answer != NULL)
      return TRUE;
    /* What a worker refuses at its first start, it refuses for good. */
    if (!g_error_matches (why, TUNE_ERROR, TUNE_ERROR_LOST) &&
        (self->losses == 0 || !g_error_matches (why, TUNE_ERROR, TUNE_ERROR_REFUSED))) {
      g_propagate_error (error, g_steal_pointer (&why));
      return FALSE;
    }
    stop (self);
    if (++self->losses >= MOST_LOSSES)
      return give_up (self, why, error);
  }
  return TRUE;
}

gboolean
tune_worker_set_problem (TuneWorker *self, const GemmclGemm *gemm, GError **error)
{
  g_autoptr (GError) why = NULL;
  g_autofree gchar *answer = NULL;

  self->losses = 0;
  g_free (self->problem);
  self->problem = g_strdup_printf (
      "problem %" G_GSIZE_FORMAT " %" G_GSIZE_FORMAT " %" G_GSIZE_FORMAT " %s %s", gemm->m, gemm->n,
      gemm->k, gemmcl_precision_get_name (gemm->precision), tool_layout_get_name (gemm->layout));
  if (self->process == NULL)
    return ensure (self, error);
  self->generation++;
  answer = exchange (self, START_SECONDS, self->problem, &why);
  if (answer != NULL)
    return TRUE;
  if (g_error_matches (why, TUNE_ERROR, TUNE_ERROR_LOST)) {
    self->losses++;
    return ensure (self, error);
  }
  g_propagate_error (error, g_steal_pointer (&why));
  return FALSE;
}

guint
tune_worker_get_generation (const TuneWorker *self)
{
  return self->generation;
}

gchar *
tune_worker_ask (TuneWorker *self, gdouble seconds, GError **error, const gchar *format, ...)
{
  g_autoptr (GError) why = NULL;
  g_autofree gchar *request = NULL;
  gchar *answer;
  va_list arguments;

  va_start (arguments, format);
  request = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  if (!ensure (self, error))
    return NULL;
  answer = exchange (self, seconds, request, &why);
  if (answer != NULL)
    self->losses = 0;
  else if (g_error_matches (why, TUNE_ERROR, TUNE_ERROR_LOST) && ++self->losses >= MOST_LOSSES)
    give_up (self, why, error);
  else
    g_propagate_error (error, g_steal_pointer (&why));
  return answer;
}
