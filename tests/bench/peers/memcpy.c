/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures a copy of A to D by memcpy, each thread a share. problem.py then expects D = A. It is
 * not in host.c, since MKL uses another threading library if OpenMP's is loaded.
 */
#include <string.h>

#include "process.h"

static gpointer
copy_open (const PeersProblem *problem, GString *about, GError **error)
{
  if (problem->k != problem->n) {
    peers_fail (error, PEERS_ERROR_MISSING, "A and D have not as many bytes.");
    return NULL;
  }
  g_string_append_printf (about, "memcpy of the C library, threads: %u", problem->threads);
  return (gpointer)problem;
}

static gboolean
copy_run (gpointer self, GError **error G_GNUC_UNUSED)
{
  const PeersProblem *problem = self;
  const gsize item = problem->bytes ? sizeof (guint8) : sizeof (gfloat);
  const gsize bytes = problem->m * problem->n * item;
  const gsize share = (bytes / problem->threads + 63) / 64 * 64;

#pragma omp parallel for num_threads(problem->threads) schedule(static, 1)
  for (guint i = 0; i < problem->threads; i++) {
    const gsize start = MIN (i * share, bytes);

    memcpy ((guint8 *)problem->d + start, (const guint8 *)problem->a + start,
            MIN (share, bytes - start));
  }
  return TRUE;
}

static void
copy_close (gpointer self G_GNUC_UNUSED)
{
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender copy = {.open = copy_open, .run = copy_run, .close = copy_close};

  return peers_process_main (&copy, argc, argv);
}
