/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * MKL, found when it runs: it comes from PyPI, without headers. The variant "packed" packs B once,
 * as ours does; "plain" does not, and for M = 1 it is asked for sgemv.
 */
#include <dlfcn.h>

#include "process.h"

/* As MKL's own headers have them. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, PACKED = 151, B_MATRIX = 162 };

typedef struct {
  const PeersProblem *problem;
  gpointer library;
  gfloat *packed; /* MKL's own memory */
  void (*sgemm) (int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                 float *, int);
  void (*sgemv) (int, int, int, int, float, const float *, int, const float *, int, float, float *,
                 int);
  void (*compute) (int, int, int, int, int, int, const float *, int, const float *, int, float,
                   float *, int);
  void (*pack) (int, int, int, int, int, int, float, const float *, int, float *);
  size_t (*get_packed_size) (int, int, int, int);
  void *(*allocate) (size_t, int);
  void (*release) (void *);
  void (*get_version) (char *, int);
  int (*get_threads) (void);
} Mkl;

static void
mkl_close (gpointer data)
{
  Mkl *self = data;

  if (self->packed)
    self->release (self->packed);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Mkl, mkl_close)

static gboolean
find_functions (Mkl *self, GError **error)
{
  const struct {
    gpointer *function;
    const gchar *name;
  } functions[] = {
      {(gpointer *)&self->sgemm, "cblas_sgemm"},
      {(gpointer *)&self->sgemv, "cblas_sgemv"},
      {(gpointer *)&self->compute, "cblas_sgemm_compute"},
      {(gpointer *)&self->pack, "cblas_sgemm_pack"},
      {(gpointer *)&self->get_packed_size, "cblas_sgemm_pack_get_size"},
      {(gpointer *)&self->allocate, "MKL_malloc"},
      {(gpointer *)&self->release, "MKL_free"},
      {(gpointer *)&self->get_version, "MKL_Get_Version_String"},
      {(gpointer *)&self->get_threads, "MKL_Get_Max_Threads"},
  };

  for (gint version = 3; !self->library && version > 0; version--) {
    g_autofree gchar *name = g_strdup_printf ("libmkl_rt.so.%d", version);
    self->library = dlopen (name, RTLD_NOW | RTLD_GLOBAL);
  }
  for (guint i = 0; self->library && i < G_N_ELEMENTS (functions); i++) {
    *functions[i].function = dlsym (self->library, functions[i].name);
    if (!*functions[i].function)
      self->library = NULL;
  }
  if (!self->library)
    g_set_error (error, PEERS_ERROR, PEERS_ERROR_MISSING, "%s", dlerror ());
  return self->library != NULL;
}

static gpointer
mkl_open (const PeersProblem *problem, GString *about, GError **error)
{
  g_autoptr (Mkl) self = g_new0 (Mkl, 1);
  const int m = problem->m, n = problem->n, k = problem->k;
  char version[198] = "";

  self->problem = problem;
  if (!find_functions (self, error))
    return NULL;
  if (g_str_equal (problem->variant, "packed")) {
    self->packed = self->allocate (self->get_packed_size (B_MATRIX, m, n, k), 64);
    self->pack (ROW_MAJOR, B_MATRIX, NO_TRANS, m, n, k, 1.0f, problem->b, n, self->packed);
  }
  self->get_version (version, sizeof (version) - 1);
  g_string_append_printf (about, "%s, threads: %d", g_strchomp (version), self->get_threads ());
  return g_steal_pointer (&self);
}

static gboolean
mkl_run (gpointer data, GError **error)
{
  const Mkl *self = data;
  const PeersProblem *problem = self->problem;
  const int m = problem->m, n = problem->n, k = problem->k;

  (void)error;
  if (self->packed)
    self->compute (ROW_MAJOR, NO_TRANS, PACKED, m, n, k, problem->a, k, self->packed, n, 0.0f,
                   problem->d, n);
  else if (m == 1)
    self->sgemv (ROW_MAJOR, TRANS, k, n, 1.0f, problem->b, n, problem->a, 1, 0.0f, problem->d, 1);
  else
    self->sgemm (ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1.0f, problem->a, k, problem->b, n, 0.0f,
                 problem->d, n);
  return TRUE;
}

gint
main (gint argc, gchar **argv)
{
  const PeersContender mkl = {mkl_open, mkl_run, NULL, mkl_close, NULL};

  return peers_process_main (&mkl, argc, argv);
}
