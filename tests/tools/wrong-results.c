/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-verify.h"

/*
 * A preloaded library that acts like kernels with wrong results: no result passes verification.
 */
gboolean
gemmcl_gemm_verify (G_GNUC_UNUSED const GemmclGemm *gemm, G_GNUC_UNUSED gconstpointer a,
                    G_GNUC_UNUSED const gfloat *b, G_GNUC_UNUSED const gfloat *c,
                    G_GNUC_UNUSED const gfloat *bias, G_GNUC_UNUSED const gfloat *d,
                    gdouble *max_error, gdouble *error_bound)
{
  *max_error = 0.5;
  *error_bound = 0.25;
  return FALSE;
}
