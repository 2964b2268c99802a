/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * gemmcl_gemm_run() over sizes, layouts, transposes, gaps between rows and addends, each with each,
 * by one kernel: how operands lie, and not how they are multiplied. Then random problems, half of
 * them by the kernel that the rules choose, through the blocking call and through plans.
 */
#include <math.h>

#include "../kernels/problem.h"

#define KERNEL    "gemm_naive"
#define LARGEST   33
#define N_CORNERS 8
#define GAP       3
#define N_RANDOM  200

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

typedef gboolean (*Run) (Problem *, GemmclContext *, const gchar *, GError **);

/* Fails the test unless D agrees with two references and nothing between D's rows was written.
 * Returns: TRUE if it passes. */
static gboolean
check (const GemmclGemm *gemm, const gchar *kernel, Run run, guint32 seed)
{
  g_auto (Problem) problem = {0};
  g_autoptr (GError) error = NULL;

  problem_init (&problem, gemm, seed);
  if (!run (&problem, test_get_context (), kernel, &error)) {
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

  for (guint size = 0; size < LARGEST + N_CORNERS; size++)
    for (guint gaps = 0; gaps <= ALL_GAPS; gaps++) {
      const GemmclGemm gemm = make_gemm (self, size, gaps);

      if ((gaps & GAP_C) && self->addend != GEMMCL_ADDEND_MATRIX)
        continue;
      if (!check (&gemm, KERNEL, problem_run_host, ++n))
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

/* Small sizes and large ones alike; the product is what takes time. */
static gsize
draw_size (GRand *rand)
{
  return (gsize)exp (g_rand_double_range (rand, 0, log (301)));
}

/* Where @runs of @length elements lie. An ld is odd, so that kernels do not read vectors of 4, for
 * which they are compiled once more. @shared: the probability that batches have the same ones */
static void
place (GRand *rand, gboolean by_column, gsize rows, gsize cols, gdouble shared, gsize place[3])
{
  const gsize runs = by_column ? cols : rows, length = by_column ? rows : cols;

  place[0] = g_rand_boolean (rand) ? (length + g_rand_int_range (rand, 1, 9)) | 1 : 0;
  place[1] = g_rand_boolean (rand) ? g_rand_int_range (rand, 1, 20) : 0;
  place[2] = (runs - 1) * MAX (place[0], length) + length + g_rand_int_range (rand, 0, 9);
  if (g_rand_double (rand) < shared)
    place[2] = 0;
}

/* @naive: with all that makes other programs, of which there are too many for other kernels */
static GemmclGemm
draw_problem (GRand *rand, gboolean naive)
{
  static const gdouble alphas[] = {1, 1, 0, -0.5}, betas[] = {0, 1};
  static const gsize batches[] = {0, 0, 1, 2, 5};
  const guint alpha = g_rand_int_range (rand, 0, 5), beta = g_rand_int_range (rand, 0, 3);
  const gboolean by_column = g_rand_boolean (rand), trans_b = g_rand_boolean (rand);
  const gboolean trans_a = naive && g_rand_boolean (rand);
  const gsize m = draw_size (rand), n = draw_size (rand), k = draw_size (rand);
  gsize a[3], b[3], c[3], d[3];

  place (rand, by_column != trans_a, m, k, 0.2, a);
  place (rand, by_column != trans_b, k, n, 0.6, b);
  place (rand, by_column, m, n, 0.6, c);
  place (rand, by_column, m, n, 0, d);
  return (GemmclGemm){
      .m = m,
      .n = n,
      .k = k,
      .layout = by_column ? GEMMCL_LAYOUT_COLUMN_MAJOR : GEMMCL_LAYOUT_ROW_MAJOR,
      .trans_a = trans_a,
      .trans_b = trans_b,
      .lda = a[0],
      .ldb = b[0],
      .ldc = c[0],
      .ldd = d[0],
      .a_offset = a[1],
      .b_offset = b[1],
      .c_offset = c[1],
      .d_offset = d[1],
      .batch = batches[g_rand_int_range (rand, 0, G_N_ELEMENTS (batches))],
      .a_stride = a[2],
      .b_stride = b[2],
      .c_stride = c[2],
      .d_stride = d[2],
      .a_scale = 1,
      .alpha = alpha < 4 ? alphas[alpha] : g_rand_double_range (rand, -2, 2),
      .beta = beta < 2 ? betas[beta] : g_rand_double_range (rand, -2, 2),
      .addend = g_rand_int_range (rand, 0, 4),
      .bias = g_rand_boolean (rand),
      .activation = naive && !trans_a ? g_rand_int_range (rand, 0, GEMMCL_N_ACTIVATIONS) : 0,
  };
}

/* A plan runs problems whose batches have no B and C of their own, and that need nothing of D. */
static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20240229);
  guint planned = 0;

  for (guint i = 0; i < N_RANDOM; i++) {
    const gchar *kernel = i % 2 ? KERNEL : NULL;
    const GemmclGemm gemm = draw_problem (rand, i % 2);

    if (!check (&gemm, kernel, problem_run_host, i))
      return;
    if ((gemm.batch > 1 && (gemm.b_stride || gemm.c_stride)) ||
        (gemm.addend == GEMMCL_ADDEND_OUTPUT && gemm.beta != 0))
      continue;
    planned++;
    if (!check (&gemm, kernel, problem_run_plan, i))
      return;
  }
  g_assert_cmpuint (planned, >, N_RANDOM / 3);
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  for (guint layout = GEMMCL_LAYOUT_ROW_MAJOR; layout <= GEMMCL_LAYOUT_COLUMN_MAJOR; layout++)
    for (guint transposed = 0; transposed < 4; transposed++)
      for (guint addend = GEMMCL_ADDEND_NONE; addend <= GEMMCL_ADDEND_OUTPUT; addend++)
        add_case (layout, transposed & 1, transposed >> 1, addend);
  g_test_add_func ("/sweep/random", test_random);
  return g_test_run ();
}
