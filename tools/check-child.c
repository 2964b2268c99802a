/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check-child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

/* How often one looks up from waiting. */
#define TICK_MS 200

/* A process whose output is closed is as good as ended. */
#define END_TICKS 10

/* Of output that is read at once; a line may be longer. */
#define CHUNK 4096

struct _CheckChild {
  void (*tick) (gpointer data);
  gpointer data;
  GPid pid; /* 0: it has ended */
  gint status;
  gint input, output;
  GString *text; /* read, and not yet returned */
};

/* Between fork and exec. */
static void
set_up (G_GNUC_UNUSED gpointer data)
{
  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  dup2 (STDOUT_FILENO, STDERR_FILENO);
}

CheckChild *
check_child_new (const gchar *const *arguments, void (*tick) (gpointer data), gpointer data,
                 GError **error)
{
  g_autofree CheckChild *self = g_new0 (CheckChild, 1);

  self->tick = tick;
  self->data = data;
  if (!g_spawn_async_with_pipes (NULL, (gchar **)arguments, NULL,
                                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, set_up, NULL,
                                 &self->pid, &self->input, &self->output, NULL, error))
    return NULL;
  self->text = g_string_new (NULL);
  /* A child that is gone shows when its answer is read. */
  signal (SIGPIPE, SIG_IGN);
  return g_steal_pointer (&self);
}

/* Does not wait for long: a process that hangs in its driver may take any time to end. */
static gboolean
wait_for_end (CheckChild *self)
{
  for (guint i = 0; i < END_TICKS && self->pid != 0; i++) {
    const gint pid = waitpid (self->pid, &self->status, WNOHANG);

    if (pid == self->pid || (pid < 0 && errno != EINTR))
      self->pid = 0;
    else
      g_usleep (TICK_MS * 1000 / END_TICKS);
  }
  return self->pid == 0;
}

void
check_child_free (CheckChild *self)
{
  if (self->pid != 0) {
    kill (-self->pid, SIGKILL);
    wait_for_end (self);
  }
  close (self->input);
  close (self->output);
  g_string_free (self->text, TRUE);
  g_free (self);
}

void
check_child_write (CheckChild *self, const gchar *line)
{
  g_autofree gchar *text = g_strconcat (line, "\n", NULL);
  const gsize length = strlen (text);

  for (gsize done = 0; done < length;) {
    const gssize n = write (self->input, text + done, length - done);

    if (n < 0 && errno != EINTR)
      return;
    done += MAX (n, 0);
  }
}

static gchar *
take_line (CheckChild *self)
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
read_more (CheckChild *self, gint64 deadline)
{
  GPollFD poll = {.fd = self->output, .events = G_IO_IN};
  const gint64 left = (deadline - g_get_monotonic_time ()) / 1000;
  gchar chunk[CHUNK];
  gssize n;

  if (g_poll (&poll, 1, (gint)CLAMP (left, 0, TICK_MS)) <= 0)
    return TRUE;
  n = read (self->output, chunk, sizeof chunk);
  if (n > 0)
    /* A string ends at a NUL, which no line that matters has. */
    g_string_append_len (self->text, chunk, strnlen (chunk, n));
  return n > 0 || (n < 0 && errno == EINTR);
}

CheckRead
check_child_read (CheckChild *self, gint64 deadline, gchar **line)
{
  *line = NULL;
  while ((*line = take_line (self)) == NULL) {
    self->tick (self->data);
    if (!tool_check_interrupt (NULL))
      return CHECK_READ_INTERRUPTED;
    if (g_get_monotonic_time () >= deadline)
      return CHECK_READ_LATE;
    if (!read_more (self, deadline))
      return CHECK_READ_END;
  }
  return CHECK_READ_LINE;
}

gboolean
check_child_finish (CheckChild *self, gchar **why)
{
  const gboolean ended = wait_for_end (self);

  if (!ended)
    *why = g_strdup ("The process fell silent.");
  else if (WIFSIGNALED (self->status))
    *why = g_strdup_printf ("The process died of signal %d, \"%s\".", WTERMSIG (self->status),
                            strsignal (WTERMSIG (self->status)));
  else
    *why = g_strdup_printf ("The process ended with exit status %d.", WEXITSTATUS (self->status));
  return ended && WIFEXITED (self->status) && WEXITSTATUS (self->status) == 0;
}
