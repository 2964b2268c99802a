/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PASSED = 0, FAILED = 1, MISSING = 77 };

gboolean
peers_fail (GError **error, PeersError code, const gchar *format, ...)
{
  g_autofree gchar *message = NULL;
  va_list arguments;

  va_start (arguments, format);
  message = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, PEERS_ERROR, code, message);
  return FALSE;
}

gboolean
peers_is (const PeersProblem *problem, const gchar *variant)
{
  return g_str_equal (problem->variant, variant);
}

/* Returns: the time in seconds, with a finer resolution than GLib's microseconds. */
static gdouble
get_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gdouble)now.tv_sec + (gdouble)now.tv_nsec * 1e-9;
}

static void
problem_clear (PeersProblem *self)
{
  g_free (self->variant);
  g_free (self->kernel);
  g_free (self->platform);
  g_aligned_free (self->a);
  g_aligned_free (self->b);
  g_aligned_free (self->bias);
  g_aligned_free (self->d);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PeersProblem, problem_clear)

/* Reads a matrix into aligned memory. A mapped file would not get large pages. */
static gpointer
read_matrix (const gchar *folder, const gchar *name, gsize bytes, GError **error)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, error);
  gpointer data = NULL;

  if (!file)
    return NULL;
  if (g_mapped_file_get_length (file) != bytes) {
    peers_fail (error, PEERS_ERROR_FAILED, "%s has %zu bytes; expected are %zu.", path,
                g_mapped_file_get_length (file), bytes);
    return NULL;
  }
  data = g_aligned_alloc (bytes, 1, 4096);
  memcpy (data, g_mapped_file_get_contents (file), bytes);
  return data;
}

static gboolean
read_problem (PeersProblem *self, const gchar *shape, const gchar *folder, GError **error)
{
  const gsize item = self->bytes ? sizeof (guint8) : sizeof (gfloat);

  if (sscanf (shape, "%zux%zux%zu", &self->m, &self->n, &self->k) != 3)
    return peers_fail (error, PEERS_ERROR_FAILED, "%s: a shape is MxNxK, as in 64x1024x1024.",
                       shape);
  self->a = read_matrix (folder, "a", self->m * self->k * item, error);
  if (self->a)
    self->b = read_matrix (folder, "b", self->k * self->n * sizeof (gfloat), error);
  if (self->b)
    self->bias = read_matrix (folder, "bias", self->n * sizeof (gfloat), error);
  if (!self->bias)
    return FALSE;
  self->d = g_aligned_alloc0 (self->m * self->n, item, 4096);
  return TRUE;
}

static gboolean
parse (PeersProblem *self, gchar **folder, gchar **result, gint argc, gchar **argv, GError **error)
{
  g_autofree gchar *shape = NULL;
  gint threads = 1;
  const GOptionEntry entries[] = {
      {"shape", 0, 0, G_OPTION_ARG_STRING, &shape, "M x N x K", "MxNxK"},
      {"folder", 0, 0, G_OPTION_ARG_FILENAME, folder, "Where a, b and bias are", "FOLDER"},
      {"result", 0, 0, G_OPTION_ARG_FILENAME, result, "Where D goes", "FILE"},
      {"layer", 0, 0, G_OPTION_ARG_NONE, &self->layer, "With bias and ReLU", NULL},
      {"bytes", 0, 0, G_OPTION_ARG_NONE, &self->bytes, "A and D are u8", NULL},
      {"threads", 0, 0, G_OPTION_ARG_INT, &threads, "How many threads", "N"},
      {"variant", 0, 0, G_OPTION_ARG_STRING, &self->variant, "Which way", "NAME"},
      {"kernel", 0, 0, G_OPTION_ARG_STRING, &self->kernel, "Of ours", "NAME"},
      {"platform", 0, 0, G_OPTION_ARG_STRING, &self->platform, "Of OpenCL", "NAME"},
      {NULL},
  };
  g_autoptr (GOptionContext) options = g_option_context_new ("- a contender of peers.py");

  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, error))
    return FALSE;
  if (!shape || !*folder || !*result || threads < 1)
    return peers_fail (error, PEERS_ERROR_FAILED,
                       "--shape, --folder and --result are needed, and --threads of 1 or more.");
  self->threads = (guint)threads;
  if (!self->variant)
    self->variant = g_strdup ("");
  return read_problem (self, shape, *folder, error);
}

/* Runs once and writes the result, which main.py checks before the timed runs. */
static gboolean
run_first (const PeersContender *contender, gpointer self, const PeersProblem *problem,
           const gchar *result, GError **error)
{
  const gsize item = problem->bytes ? sizeof (guint8) : sizeof (gfloat);

  return contender->run (self, error) && (!contender->read || contender->read (self, error)) &&
         g_file_set_contents_full (result, problem->d, (gssize)(problem->m * problem->n * item),
                                   G_FILE_SET_CONTENTS_NONE, 0600, error);
}

/* Times @runs runs and appends the seconds of each to @line. */
static gboolean
time_runs (const PeersContender *contender, gpointer self, const PeersProblem *problem, guint runs,
           GString *line, GError **error)
{
  const gboolean streams = contender->drain && peers_is (problem, "stream");
  const gboolean clocks = contender->clock && peers_is (problem, "clock");
  g_autofree gdouble *seconds = g_new (gdouble, runs);
  const gdouble begin = get_seconds ();
  gdouble share;

  for (guint i = 0; i < runs; i++) {
    const gdouble start = get_seconds ();

    if (!contender->run (self, error))
      return FALSE;
    seconds[i] = clocks ? contender->clock (self) : get_seconds () - start;
  }
  if (streams && !contender->drain (self, error))
    return FALSE;
  share = (get_seconds () - begin) / runs;
  for (guint i = 0; i < runs; i++)
    g_string_append_printf (line, "%.9f ", streams ? share : seconds[i]);
  return TRUE;
}

static gboolean
serve (const PeersContender *contender, gpointer self, const PeersProblem *problem, GError **error)
{
  guint runs = 0;

  while (scanf ("%u", &runs) == 1) {
    g_autoptr (GString) line = g_string_new (NULL);

    if (!time_runs (contender, self, problem, runs, line, error))
      return FALSE;
    puts (line->str);
    fflush (stdout);
  }
  return TRUE;
}

static gboolean
take_part (const PeersContender *contender, const PeersProblem *problem, const gchar *result,
           GError **error)
{
  g_autoptr (GString) about = g_string_new (NULL);
  gpointer self = contender->open (problem, about, error);
  gboolean good = FALSE;

  if (!self)
    return FALSE;
  good = run_first (contender, self, problem, result, error);
  if (good) {
    puts (about->str);
    fflush (stdout);
    good = serve (contender, self, problem, error);
  }
  contender->close (self);
  return good;
}

gint
peers_process_main (const PeersContender *contender, gint argc, gchar **argv)
{
  g_auto (PeersProblem) problem = {0};
  g_autofree gchar *folder = NULL, *result = NULL;
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "C");
  if (parse (&problem, &folder, &result, argc, argv, &error) &&
      take_part (contender, &problem, result, &error))
    return PASSED;
  g_printerr ("%s\n", error->message);
  return g_error_matches (error, PEERS_ERROR, PEERS_ERROR_MISSING) ? MISSING : FAILED;
}
