/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The result of a search. A plan with auto-tune keeps one, too.
 */
#include "gemmcl-search.h"

static void
result_clear (gpointer data)
{
  GemmclTuningResult *result = data;

  g_ptr_array_unref (result->candidates);
  g_free (result->why_not_stored);
}

void
gemmcl_tuning_result_free (GemmclTuningResult *result)
{
  g_atomic_rc_box_release_full (result, result_clear);
}

G_DEFINE_BOXED_TYPE (GemmclTuningResult, gemmcl_tuning_result, g_atomic_rc_box_acquire,
                     gemmcl_tuning_result_free)
