/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "gemmcl.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Spilled bytes of a kernel that spills. */
#define SPILLED 128

/* The run in which a kernel crashes or hangs. */
#define LAST_RUN 20

static guint runs;

/* Returns: the function @name of the library, which this file replaces. */
static void
find_next (const gchar *name, gpointer function)
{
  void *symbol = dlsym (RTLD_NEXT, name);

  memcpy (function, &symbol, sizeof symbol);
}

/* TRUE if the pattern in the environment variable @variable matches @kernel. */
static gboolean
is_named (const gchar *variable, const gchar *kernel)
{
  const gchar *pattern = g_getenv (variable);

  return pattern != NULL && kernel != NULL && g_pattern_match_simple (pattern, kernel);
}

/*
 * A preloaded library that breaks the kernels that environment variables name. Some do not build,
 * and some crash the compiler or make it hang.
 */
GemmclPlan *
gemmcl_plan_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 GError **error)
{
  GemmclPlan *(*next) (GemmclContext *, const GemmclGemm *, const gchar *, GError **);

  find_next ("gemmcl_plan_new", &next);
  if (is_named ("GEMMCL_CRASHING_KERNEL", kernel))
    raise (SIGKILL);
  while (is_named ("GEMMCL_HANGING_KERNEL", kernel))
    pause ();
  if (is_named ("GEMMCL_UNBUILT_KERNEL", kernel)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD, "Kernel %s is too much.", kernel);
    return NULL;
  }
  return next (context, gemm, kernel, error);
}

/* Other kernels compute twice the result, or crash or hang in their 20th run. */
gboolean
gemmcl_plan_submit (GemmclPlan *plan, const GemmclRun *run, struct _cl_event **first,
                    struct _cl_event **done, GError **error)
{
  gboolean (*next) (GemmclPlan *, const GemmclRun *, struct _cl_event **, struct _cl_event **,
                    GError **);
  const gchar *kernel = gemmcl_plan_get_kernel (plan);
  GemmclRun given = *run;

  find_next ("gemmcl_plan_submit", &next);
  if (is_named ("GEMMCL_CRASHING_RUN", kernel) && ++runs == LAST_RUN)
    raise (SIGKILL);
  while (is_named ("GEMMCL_HANGING_RUN", kernel) && runs++ >= LAST_RUN)
    pause ();
  if (is_named ("GEMMCL_WRONG_KERNEL", kernel))
    given.alpha *= 2;
  return next (plan, &given, first, done, error);
}

/* Other kernels spill, or are not native. */
void
gemmcl_plan_get_build_info (GemmclPlan *plan, GemmclBuildInfo *info)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan);
  void (*next) (GemmclPlan *, GemmclBuildInfo *);

  find_next ("gemmcl_plan_get_build_info", &next);
  next (plan, info);
  if (is_named ("GEMMCL_SPILLING_KERNEL", kernel))
    info->spill_bytes = SPILLED;
  if (is_named ("GEMMCL_EMULATED_KERNEL", kernel))
    info->level = GEMMCL_KERNEL_LEVEL_EMULATED;
}
