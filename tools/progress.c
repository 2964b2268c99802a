/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Seconds between two updates. */
#define LEAST_SECONDS 0.1

#define BAR_WIDTH     20
#define DEFAULT_WIDTH 80

/* ECMA-48: back to the first column, and erase to the end of the line. */
#define ERASE_LINE "\r\033[K"

struct _ToolProgress {
  gboolean terminal;
  guint n_problems;
  guint n_begun;
  gdouble seconds;
  gint64 start;
  gchar *problem;
  gdouble problem_seconds;
  gint64 problem_start;
  gint64 drawn;
  gchar *best;
};

static gdouble
get_seconds_since (gint64 start)
{
  return (gdouble)(g_get_monotonic_time () - start) / G_USEC_PER_SEC;
}

ToolProgress *
tool_progress_new (gdouble seconds)
{
  ToolProgress *self = g_new0 (ToolProgress, 1);

  self->terminal = isatty (STDERR_FILENO);
  self->seconds = seconds;
  self->start = g_get_monotonic_time ();
  return self;
}

void
tool_progress_free (ToolProgress *self)
{
  tool_progress_clear (self);
  g_free (self->problem);
  g_free (self->best);
  g_free (self);
}

void
tool_progress_begin (ToolProgress *self, guint n_problems, const gchar *problem, gdouble seconds)
{
  self->n_problems = n_problems;
  g_free (self->problem);
  self->problem = g_strdup (problem);
  self->problem_seconds = seconds;
  self->problem_start = g_get_monotonic_time ();
  self->n_begun++;
  g_clear_pointer (&self->best, g_free);
  if (!self->terminal)
    g_printerr ("%u/%u %s\n", self->n_begun, self->n_problems, problem);
  tool_progress_tick (self);
}

void
tool_progress_set_best (ToolProgress *self, const gchar *kernel, gdouble gflops)
{
  g_free (self->best);
  self->best = g_strdup_printf (", best %s %.1f GFLOPS", kernel, gflops);
}

/* Returns: the share of the work that is done. */
static gdouble
get_share (const ToolProgress *self)
{
  const gdouble share = get_seconds_since (self->problem_start) / self->problem_seconds;

  return (self->n_begun - 1 + MIN (share, 1.0)) / self->n_problems;
}

/* Returns: the remaining time, extrapolated from the time so far and limited by the total. */
static gdouble
get_seconds_left (const ToolProgress *self, gdouble share)
{
  const gdouble elapsed = get_seconds_since (self->start);
  const gdouble most = MAX (self->seconds - elapsed, 0.0);

  return share > 0.0 ? MIN (elapsed * (1.0 - share) / share, most) : most;
}

static guint
get_width (void)
{
  struct winsize size = {0};

  return ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                          : DEFAULT_WIDTH;
}

void
tool_progress_tick (ToolProgress *self)
{
  const gdouble share = self->n_begun > 0 ? get_share (self) : 0.0;
  const guint left = (guint)ceil (get_seconds_left (self, share));
  const guint full = (guint)(share * BAR_WIDTH);
  g_autofree gchar *line = NULL;
  gchar bar[BAR_WIDTH + 1];

  if (!self->terminal || self->n_begun == 0 || get_seconds_since (self->drawn) < LEAST_SECONDS)
    return;
  self->drawn = g_get_monotonic_time ();
  memset (bar, '-', BAR_WIDTH);
  memset (bar, '#', MIN (full, BAR_WIDTH));
  bar[BAR_WIDTH] = '\0';
  line =
      g_strdup_printf ("[%s] %u/%u, %u:%02u left, %s%s", bar, self->n_begun, self->n_problems,
                       left / 60, left % 60, self->problem, self->best != NULL ? self->best : "");
  /* A line that wraps could not be erased. */
  fprintf (stderr, ERASE_LINE "%.*s", (gint)get_width () - 1, line);
  fflush (stderr);
}

void
tool_progress_clear (ToolProgress *self)
{
  if (self->terminal)
    fputs (ERASE_LINE, stderr);
}
