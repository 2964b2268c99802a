/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Libraries for CPUs, loaded at run time, so that no headers are needed. The variants:
 *
 *   openblas     packs B in each call; it has no function for packed weights
 *   mkl          packs B in each call
 *   mkl-packed   packs B once, as gemmcl does
 *
 * For M = 1 sgemv is called, which their sgemm does not use by itself.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "process.h"

/* Constants of cblas.h and MKL's headers. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, PACKED = 151, B_MATRIX = 162 };

typedef struct {
  const PeersProblem *problem;
  void (*sgemm) (int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                 float *, int);
  void (*sgemv) (int, int, int, int, float, const float *, int, const float *, int, float, float *,
                 int);

  gfloat *packed; /* MKL's own memory */
  void (*compute) (int, int, int, int, int, int, const float *, int, const float *, int, float,
                   float *, int);
  void (*release) (void *);
} Self;

static gchar **arguments;

static void
self_close (gpointer data)
{
  Self *self = data;

  if (self->packed)
    self->release (self->packed);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Self, self_close)

#define FIND(library, name, function) (*(gpointer *)&(function) = dlsym (library, name))

/* Returns: the library, if it has the functions of CBLAS. */
static gpointer
load (Self *self, const gchar *const *names, GError **error)
{
  gpointer library = NULL;

  for (; !library && *names; names++)
    library = dlopen (*names, RTLD_NOW | RTLD_GLOBAL);
  if (library && FIND (library, "cblas_sgemm", self->sgemm) &&
      FIND (library, "cblas_sgemv", self->sgemv))
    return library;
  peers_fail (error, PEERS_ERROR_MISSING, "%s", dlerror ());
  return NULL;
}

/* Chooses the core for OpenBLAS, which reads it once, when it is loaded. An OpenBLAS that does not
 * know the CPU would use its oldest core, at a quarter of the speed. */
static void
help_openblas (const gchar *core)
{
#ifdef __x86_64__
  const gchar *better =
      __builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl") ? "SkylakeX"
      : __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma")        ? "Haswell"
                                                                                 : NULL;

  if (!better || g_getenv ("OPENBLAS_CORETYPE") || !g_str_equal (core, "Prescott"))
    return;
  g_setenv ("OPENBLAS_CORETYPE", better, TRUE);
  execv ("/proc/self/exe", arguments);
#else
  (void)core;
#endif
}

static gboolean
open_openblas (Self *self, GString *about, GError **error)
{
  static const gchar *const names[] = {"libopenblas.so.0", NULL};
  gpointer library = load (self, names, error);
  void (*set_threads) (int);
  int (*get_threads) (void);
  char *(*get_config) (void), *(*get_core) (void);

  if (!library)
    return FALSE;
  if (!FIND (library, "openblas_set_num_threads", set_threads) ||
      !FIND (library, "openblas_get_num_threads", get_threads) ||
      !FIND (library, "openblas_get_config", get_config) ||
      !FIND (library, "openblas_get_corename", get_core))
    return peers_fail (error, PEERS_ERROR_MISSING, "%s", dlerror ());
  help_openblas (get_core ());
  set_threads ((int)self->problem->threads);
  g_string_append_printf (about, "%s, kernels for %s, threads: %d", get_config (), get_core (),
                          get_threads ());
  return TRUE;
}

static gboolean
open_mkl (Self *self, GString *about, GError **error)
{
  static const gchar *const names[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1", NULL};
  const int m = self->problem->m, n = self->problem->n, k = self->problem->k;
  gpointer library = load (self, names, error);
  void (*pack) (int, int, int, int, int, int, float, const float *, int, float *);
  size_t (*get_packed_size) (int, int, int, int);
  void *(*allocate) (size_t, int);
  void (*get_version) (char *, int);
  int (*get_threads) (void);
  char version[198] = "";

  if (!library)
    return FALSE;
  if (!FIND (library, "cblas_sgemm_compute", self->compute) ||
      !FIND (library, "cblas_sgemm_pack", pack) ||
      !FIND (library, "cblas_sgemm_pack_get_size", get_packed_size) ||
      !FIND (library, "MKL_malloc", allocate) || !FIND (library, "MKL_free", self->release) ||
      !FIND (library, "MKL_Get_Version_String", get_version) ||
      !FIND (library, "MKL_Get_Max_Threads", get_threads))
    return peers_fail (error, PEERS_ERROR_MISSING, "%s", dlerror ());
  if (peers_is (self->problem, "mkl-packed")) {
    self->packed = allocate (get_packed_size (B_MATRIX, m, n, k), 64);
    pack (ROW_MAJOR, B_MATRIX, NO_TRANS, m, n, k, 1.0f, self->problem->b, n, self->packed);
  }
  get_version (version, sizeof version - 1);
  g_string_append_printf (about, "%s, threads: %d", g_strchomp (version), get_threads ());
  return TRUE;
}

static gpointer
self_open (const PeersProblem *problem, GString *about, GError **error)
{
  g_autoptr (Self) self = g_new0 (Self, 1);

  self->problem = problem;
  return (peers_is (problem, "openblas") ? open_openblas (self, about, error)
                                         : open_mkl (self, about, error))
             ? g_steal_pointer (&self)
             : NULL;
}

static gboolean
self_run (gpointer data, GError **error G_GNUC_UNUSED)
{
  const Self *self = data;
  const PeersProblem *problem = self->problem;
  const int m = problem->m, n = problem->n, k = problem->k;

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
  const PeersContender self = {.open = self_open, .run = self_run, .close = self_close};

  arguments = argv;
  return peers_process_main (&self, argc, argv);
}
