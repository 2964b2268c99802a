/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures the gain of computing softmax and row outputs in the kernel. The plan takes turns with
 * the same plan under GEMMCL_ROWS=apart, which computes them in separate steps.
 *
 *     bench-rows [OPTION...] [KERNEL]     KERNEL: as for gemmcl bench; default: auto
 */
#include "turns.h"

#define ALL (GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX)

typedef struct {
  gsize m, n, k;
  GemmclActivation activation;
  guint outputs;
} Case;

static const Case cases[] = {
    {4096, 64, 256, GEMMCL_ACTIVATION_SOFTMAX, 0},
    {4096, 64, 256, GEMMCL_ACTIVATION_NONE, ALL},
    {4096, 64, 256, GEMMCL_ACTIVATION_SOFTMAX, ALL},
    {4096, 10, 64, GEMMCL_ACTIVATION_SOFTMAX, GEMMCL_ROW_ARG_MAX},
    {65536, 32, 32, GEMMCL_ACTIVATION_SOFTMAX, 0},
    {64, 64, 1024, GEMMCL_ACTIVATION_SOFTMAX, 0},
};

static Contestant *
make_contestant (GemmclContext *context, const Case *what, const gchar *kernel, gboolean apart,
                 GError **error)
{
  g_autofree gfloat *weights = g_new (gfloat, what->k * what->n);
  g_autoptr (GemmclMatrix) b = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  Contestant *self;

  gemm.m = what->m;
  gemm.n = what->n;
  gemm.k = what->k;
  gemm.activation = what->activation;
  gemm.row_outputs = what->outputs;
  for (gsize i = 0; i < what->k * what->n; i++)
    weights[i] = (gfloat)(i * 7 % 19) / 190;
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, what->k, what->n, weights, error);
  if (!b)
    return NULL;
  if (apart)
    g_setenv ("GEMMCL_ROWS", "apart", TRUE);
  self = contestant_new_plan (context, &gemm, kernel, b, NULL, error);
  g_unsetenv ("GEMMCL_ROWS");
  return self;
}

static gboolean
run_case (Bench *bench, GemmclContext *context, const Case *what, const gchar *name,
          const gchar *kernel, GError **error)
{
  g_autoptr (Contestant) apart = make_contestant (context, what, kernel, TRUE, error);
  g_autoptr (Contestant) whole =
      apart ? make_contestant (context, what, kernel, FALSE, error) : NULL;
  const gchar *chosen;
  Turns turns;

  if (!whole || !turns_play (&turns, apart, whole, 1, bench->seconds, FALSE, error))
    return FALSE;
  chosen = contestant_get_kernel (whole);
  g_print ("%-32s %-18s %10.1f %10.1f %6.2f\n", name, chosen, turns.theirs, turns.ours,
           turns.middle);
  json_array_append_new (bench->list,
                         json_pack ("{s:s, s:s, s:i, s:f, s:f, s:f}", "case", name, "kernel",
                                    chosen, "rounds", (int)turns.rounds, "apart_us", turns.theirs,
                                    "whole_us", turns.ours, "ratio", turns.middle));
  return TRUE;
}

static gchar *
print_name (const Case *what)
{
  return g_strdup_printf ("%zux%zux%zu%s%s%s", what->m, what->n, what->k,
                          what->activation ? " " : "",
                          what->activation ? gemmcl_activation_get_name (what->activation) : "",
                          what->outputs ? " row outputs" : "");
}

int
main (int argc, char **argv)
{
  static const GOptionEntry none[] = {{NULL}};
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = NULL;
  Bench bench;

  if (!bench_init (&bench, "[KERNEL] - rows in the kernel", none, &argc, &argv))
    return USAGE;
  context = gemmcl_context_new (NULL, &error);
  if (!context) {
    g_printerr ("%s\n", error->message);
    return SKIPPED;
  }
  g_print ("%-32s %-18s %10s %10s %6s\n", "M x N x K", "kernel", "apart, us", "whole, us", "ratio");
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *name = print_name (&cases[i]);

    if (bench_wants (&bench, name) &&
        !run_case (&bench, context, &cases[i], name, argc > 1 ? argv[1] : NULL, &error)) {
      g_printerr ("%s: %s\n", name, error->message);
      return FAILED;
    }
  }
  return bench_end (&bench, PASSED);
}
