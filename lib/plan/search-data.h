/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The matrices of a search for the fastest kernel, timed runs, and the check of results.
 */
#pragma once

#include "gemmcl-plan.h"

/** The matrices of a search, in a queue of its own: pseudo-random, the same in each search. B is
 * scaled so that D is neither saturated nor tiny; C and bias are zeros. */
typedef struct _GemmclSearchData GemmclSearchData;

/** %NULL with #GEMMCL_ERROR_TOO_LARGE if it needs more than half of the device's memory. @gemm: a
 * valid problem; @n_plans: the number of plans that have a B at once */
GemmclSearchData *gemmcl_search_data_new (GemmclContext *context, const GemmclGemm *gemm,
                                          guint n_plans, GError **error);

void gemmcl_search_data_free (GemmclSearchData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclSearchData, gemmcl_search_data_free)

/** A plan for the problem, with B set. @kernel: as for gemmcl_plan_new() */
GemmclPlan *gemmcl_search_data_make_plan (GemmclSearchData *self, const gchar *kernel,
                                          GError **error);

/** Runs @plan once and waits. @rows: rows of A and D of a problem without frames and batch; 0: all.
 * @seconds: (out): the device's time for it, more than 0 */
gboolean gemmcl_search_data_run (GemmclSearchData *self, GemmclPlan *plan, gsize rows,
                                 gdouble *seconds, GError **error);

/** Does the first run of @plan and checks D, with #GEMMCL_ERROR_KERNEL if it is wrong. The first D
 * that passes is the reference for all others: no element may differ from it by more than both may
 * differ from the exact one, by gemmcl_gemm_verify()'s formula with the largest |A| and |B|. If A
 * is a matrix and D is f32, gemmcl_gemm_verify() also checks a few rows. */
gboolean gemmcl_search_data_check (GemmclSearchData *self, GemmclPlan *plan, gdouble *seconds,
                                   GError **error);
