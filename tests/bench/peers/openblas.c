/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenBLAS, which has no packed weights: it packs them in each call. For M = 1 it is asked for
 * sgemv, which its sgemm does not turn to by itself.
 */
#include <cblas.h>
#include <unistd.h>

#include "process.h"

/* An OpenBLAS older than the CPU takes it for the oldest there is and runs at a quarter of its
 * speed, which would be no comparison. It reads its choice once, when it is loaded. */
static void
help_openblas (gchar **argv)
{
#ifdef __x86_64__
  const gchar *core =
      __builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl") ? "SkylakeX"
      : __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma")        ? "Haswell"
                                                                                 : NULL;

  if (!core || g_getenv ("OPENBLAS_CORETYPE") || g_strcmp0 (openblas_get_corename (), "Prescott"))
    return;
  g_setenv ("OPENBLAS_CORETYPE", core, TRUE);
  execv ("/proc/self/exe", argv);
#else
  (void)argv;
#endif
}

static gpointer
openblas_open (const PeersProblem *problem, GString *about, GError **error)
{
  (void)error;
  openblas_set_num_threads ((int)problem->threads);
  g_string_append_printf (about, "%s, kernels for %s, threads: %d", openblas_get_config (),
                          openblas_get_corename (), openblas_get_num_threads ());
  return (gpointer)problem;
}

static gboolean
openblas_run (gpointer self, GError **error)
{
  const PeersProblem *problem = self;
  const blasint m = problem->m, n = problem->n, k = problem->k;

  (void)error;
  if (m == 1)
    cblas_sgemv (CblasRowMajor, CblasTrans, k, n, 1.0f, problem->b, n, problem->a, 1, 0.0f,
                 problem->d, 1);
  else
    cblas_sgemm (CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, problem->a, k,
                 problem->b, n, 0.0f, problem->d, n);
  return TRUE;
}

static void
openblas_close (gpointer self)
{
  (void)self;
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender openblas = {openblas_open, openblas_run, NULL, openblas_close, NULL};

  help_openblas (argv);
  return peers_process_main (&openblas, argc, argv);
}
