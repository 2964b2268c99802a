/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * gemmcl_gemm_run() over sizes, layouts, transposes, gaps between rows and addends, each with each,
 * by one kernel: how operands lie, and not how they are multiplied.
 */

#include "../kernels/problem.h"

#define KERNEL    "gemm_naive"
#define LARGEST   33
#define N_CORNERS 8
#define GAP       3

/* Operands whose ld is larger than their rows. */
typedef enum { GAP_A = 1, GAP_B = 2, GAP_C = 4, GAP_D = 8, ALL_GAPS = 15 } Gaps;

typedef struct {
  GemmclLayout layout;
  gboolean trans_a, trans_b;
  GemmclAddend addend;
} Case;

/* Each size in each dimension, beside two others. */
static void
set_sizes (GemmclGemm *gemm, guint i)
{
  gemm->m = i + 1;
  gemm->n = i * 13 % LARGEST + 1;
  gemm->k = i * 23 % LARGEST + 1;
}

/* The corners: each dimension 1 or the largest. */
static void
set_corner (GemmclGemm *gemm, guint i)
{
  gemm->m = i & 1 ? LARGEST : 1;
  gemm->n = i & 2 ? LARGEST : 1;
  gemm->k = i & 4 ? LARGEST : 1;
}

/* How far rows of the layout lie apart, with a gap behind each. */
static gsize
get_ld (const GemmclGemm *gemm, gboolean transposed, gsize rows, gsize cols)
{
  return ((gemm->layout == GEMMCL_LAYOUT_COLUMN_MAJOR) != transposed ? rows : cols) + GAP;
}

static void
set_gaps (GemmclGemm *gemm, Gaps gaps)
{
  gemm->lda = gaps & GAP_A ? get_ld (gemm, gemm->trans_a, gemm->m, gemm->k) : 0;
  gemm->ldb = gaps & GAP_B ? get_ld (gemm, gemm->trans_b, gemm->k, gemm->n) : 0;
  gemm->ldc = gaps & GAP_C ? get_ld (gemm, FALSE, gemm->m, gemm->n) : 0;
  gemm->ldd = gaps & GAP_D ? get_ld (gemm, FALSE, gemm->m, gemm->n) : 0;
}

/* Whether the call does what two references say, and writes nothing between D's rows. If not, fails
 * the test. */
static gboolean
check (const GemmclGemm *gemm, guint32 seed)
{
  g_auto (Problem) problem = {0};
  g_autoptr (GError) error = NULL;

  problem_init (&problem, gemm, seed);
  if (!problem_run_host (&problem, test_get_context (), KERNEL, &error)) {
    g_autofree gchar *what = problem_describe (gemm);

    g_test_message ("%s (%s)", error->message, what);
    g_test_fail ();
    return FALSE;
  }
  return problem_check (&problem, "sweep") && problem_verify (&problem, "sweep");
}

static GemmclGemm
make_gemm (const Case *self, guint size, Gaps gaps)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.layout = self->layout;
  gemm.trans_a = self->trans_a;
  gemm.trans_b = self->trans_b;
  gemm.addend = self->addend;
  gemm.alpha = 1.25;
  gemm.beta = self->addend == GEMMCL_ADDEND_NONE ? 0 : -0.5;
  if (size < LARGEST)
    set_sizes (&gemm, size);
  else
    set_corner (&gemm, size - LARGEST);
  set_gaps (&gemm, gaps);
  return gemm;
}

/* All sizes and gaps of a case, up to the first that is wrong. */
static void
test_case (gconstpointer data)
{
  const Case *self = data;
  guint n = 0;

  if (test_get_context () == NULL)
    return;
  for (guint size = 0; size < LARGEST + N_CORNERS; size++)
    for (guint gaps = 0; gaps <= ALL_GAPS; gaps++) {
      const GemmclGemm gemm = make_gemm (self, size, gaps);

      if ((gaps & GAP_C) && self->addend != GEMMCL_ADDEND_MATRIX)
        continue;
      if (!check (&gemm, ++n))
        return;
    }
  g_test_message ("%u problems", n);
}

static void
add_case (GemmclLayout layout, gboolean trans_a, gboolean trans_b, GemmclAddend addend)
{
  static const gchar *const addends[] = {"none", "matrix", "row", "output"};
  const Case self = {layout, trans_a, trans_b, addend};
  g_autofree gchar *path = g_strdup_printf (
      "/sweep/%s-major/%s%s/%s", layout == GEMMCL_LAYOUT_ROW_MAJOR ? "row" : "column",
      trans_a ? "a-transposed" : "a", trans_b ? "-b-transposed" : "-b", addends[addend]);

  g_test_add_data_func_full (path, g_memdup2 (&self, sizeof self), test_case, g_free);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint layout = GEMMCL_LAYOUT_ROW_MAJOR; layout <= GEMMCL_LAYOUT_COLUMN_MAJOR; layout++)
    for (guint transposed = 0; transposed < 4; transposed++)
      for (guint addend = GEMMCL_ADDEND_NONE; addend <= GEMMCL_ADDEND_OUTPUT; addend++)
        add_case (layout, transposed & 1, transposed >> 1, addend);
  return g_test_run ();
}
