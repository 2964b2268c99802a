/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/device.h"
#include "gemmcl-plan.h"

/**
 * GemmclSearchData:
 *
 * The numbers that a search for the fastest kernel multiplies, and the place of the results:
 * random, the same in each search, in device memory and a queue of the search's own. A is of the
 * problem's type or a frame of its format, B is such that D is neither saturated nor tiny, and C
 * and bias are zeros.
 */
typedef struct _GemmclSearchData GemmclSearchData;

/**
 * gemmcl_search_data_new:
 * @gemm: a valid problem
 * @n_plans: plans that will have its B at once
 *
 * Returns: (transfer full): the data; %NULL with #GEMMCL_ERROR_TOO_LARGE where that would be more
 *   than half of the device's memory, or with #GEMMCL_ERROR_OPENCL.
 */
GemmclSearchData *gemmcl_search_data_new (GemmclContext *context, const GemmclGemm *gemm,
                                          guint n_plans, GError **error);

void gemmcl_search_data_free (GemmclSearchData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclSearchData, gemmcl_search_data_free)

/** gemmcl_search_data_make_plan: Returns: (transfer full): a plan for the problem that has B; %NULL
 * with any #GemmclError. @kernel: as for gemmcl_plan_new() */
GemmclPlan *gemmcl_search_data_make_plan (GemmclSearchData *self, const gchar *kernel,
                                          GError **error);

/**
 * gemmcl_search_data_run:
 * @rows: of A and D; 0: all; else the problem has neither images nor a batch
 * @seconds: (out): from the start of the run's first kernel to the end of its last, by the device's
 *   clock; more than 0
 *
 * One run of @plan, which is waited for.
 */
gboolean gemmcl_search_data_run (GemmclSearchData *self, GemmclPlan *plan, gsize rows,
                                 gdouble *seconds, GError **error);

/**
 * gemmcl_search_data_check:
 *
 * gemmcl_search_data_run(), the first of @plan, and a look at D, which was filled with NaN before.
 * The first D that passes is what all others are compared with: no element may be further from it
 * than both may be from the exact one by gemmcl_gemm_verify()'s formula, with the largest |A| and
 * |B| in the place of each. Where A is a matrix and D holds f32, a few rows of each D are also
 * given to gemmcl_gemm_verify() itself.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL if D is wrong, or with #GEMMCL_ERROR_OPENCL.
 */
gboolean gemmcl_search_data_check (GemmclSearchData *self, GemmclPlan *plan, gdouble *seconds,
                                   GError **error);
