/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "gemmcl.h"

#include <signal.h>
#include <unistd.h>

#include "../next.h"

/* Spilled bytes of a kernel that spills. */
#define SPILLED 128

/* The run in which a kernel crashes or hangs. */
#define LAST_RUN 20

static guint runs;

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
  if (is_named ("GEMMCL_CRASHING_KERNEL", kernel))
    raise (SIGKILL);
  while (is_named ("GEMMCL_HANGING_KERNEL", kernel))
    pause ();
  if (is_named ("GEMMCL_UNBUILT_KERNEL", kernel)) {
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD, "Kernel %s is too much.", kernel);
    return NULL;
  }
  return NEXT (gemmcl_plan_new) (context, gemm, kernel, error);
}

/* Other kernels compute twice the result, or crash or hang in their 20th run. */
gboolean
gemmcl_plan_submit (GemmclPlan *plan, const GemmclRun *run, struct _cl_event **first,
                    struct _cl_event **done, GError **error)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan);
  GemmclRun given = *run;

  if (is_named ("GEMMCL_CRASHING_RUN", kernel) && ++runs == LAST_RUN)
    raise (SIGKILL);
  while (is_named ("GEMMCL_HANGING_RUN", kernel) && runs++ >= LAST_RUN)
    pause ();
  if (is_named ("GEMMCL_WRONG_KERNEL", kernel))
    given.alpha *= 2;
  return NEXT (gemmcl_plan_submit) (plan, &given, first, done, error);
}

/* Other kernels spill, or are not native. */
void
gemmcl_plan_get_build_info (GemmclPlan *plan, GemmclBuildInfo *info)
{
  const gchar *kernel = gemmcl_plan_get_kernel (plan);

  NEXT (gemmcl_plan_get_build_info) (plan, info);
  if (is_named ("GEMMCL_SPILLING_KERNEL", kernel))
    info->spill_bytes = SPILLED;
  if (is_named ("GEMMCL_EMULATED_KERNEL", kernel))
    info->level = GEMMCL_KERNEL_LEVEL_EMULATED;
}
