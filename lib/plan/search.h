/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/device.h"
#include "gemmcl-plan.h"

/**
 * GemmclSearchData:
 *
 * The matrices that a search multiplies: pseudo-random, the same in each search, in device memory
 * and a queue of the search's own. A has the problem's type, or is a frame of its format. B is
 * scaled so that D is neither saturated nor tiny. C and bias are zeros.
 */
typedef struct _GemmclSearchData GemmclSearchData;

/**
 * gemmcl_search_data_new:
 * @gemm: a valid problem
 * @n_plans: the number of plans that have a B at once
 *
 * Returns: (transfer full): the data; %NULL with #GEMMCL_ERROR_TOO_LARGE if it needs more than half
 *   of the device's memory, or with #GEMMCL_ERROR_OPENCL.
 */
GemmclSearchData *gemmcl_search_data_new (GemmclContext *context, const GemmclGemm *gemm,
                                          guint n_plans, GError **error);

void gemmcl_search_data_free (GemmclSearchData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclSearchData, gemmcl_search_data_free)

/** gemmcl_search_data_make_plan: Returns: (transfer full): a plan for the problem, with B set;
 * %NULL with any #GemmclError. @kernel: as for gemmcl_plan_new() */
GemmclPlan *gemmcl_search_data_make_plan (GemmclSearchData *self, const gchar *kernel,
                                          GError **error);

/**
 * gemmcl_search_data_run:
 * @rows: rows of A and D; 0: all. Other values need a problem without frames and batch
 * @seconds: (out): from the start of the run's first kernel to the end of its last command, by the
 *   device's clock; more than 0
 *
 * Runs @plan once and waits.
 */
gboolean gemmcl_search_data_run (GemmclSearchData *self, GemmclPlan *plan, gsize rows,
                                 gdouble *seconds, GError **error);

/**
 * gemmcl_search_data_check:
 *
 * Fills D with NaN (zeros if D is C, too), does the first run of @plan and checks D. The first D
 * that passes becomes the reference for all others: no element may differ from it by more than the
 * two results may differ from the exact one together, by gemmcl_gemm_verify()'s formula with the
 * largest |A| and |B| for each element. If A is a matrix and D is f32, gemmcl_gemm_verify() also
 * checks a few rows.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL if D is wrong, or with #GEMMCL_ERROR_OPENCL.
 */
gboolean gemmcl_search_data_check (GemmclSearchData *self, GemmclPlan *plan, gdouble *seconds,
                                   GError **error);
