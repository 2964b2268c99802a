/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "problems.h"

#include "tool.h"

#define N_SIZES 3

/* M, N, K: a square, layers with fewer and fewer rows, the patches of pictures, a wide stream. */
static const gsize everywhere[][N_SIZES] = {
    {1024, 1024, 1024}, {64, 1024, 1024}, {16, 1024, 1024},
    {1, 1024, 1024},    {3600, 96, 147},  {230400, 64, 64},
};

/* What a CPU would need minutes for, and what is too small to fill a GPU. */
static const gsize on_gpus[][N_SIZES] = {
    {256, 256, 256},   {512, 512, 512},  {2048, 2048, 2048}, {4096, 4096, 4096},
    {128, 1024, 8192}, {64, 4096, 4096}, {16, 4096, 4096},   {1, 4096, 4096},
};

static gboolean
parse_sizes (const gchar *text, gsize *sizes, GError **error)
{
  g_auto (GStrv) words = g_strsplit_set (text, ",x", -1);
  gboolean ok = g_strv_length (words) == N_SIZES;

  for (guint i = 0; i < N_SIZES && ok; i++) {
    guint64 size = 0;
    ok = g_ascii_string_to_unsigned (words[i], 10, 1, G_MAXINT32, &size, NULL);
    sizes[i] = size;
  }
  if (!ok)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                 "A problem is three whole numbers M,N,K, each from 1 to %d, such as 64,1024,1024; "
                 "found \"%s\".",
                 G_MAXINT32, text);
  return ok;
}

static void
add_problem (GArray *problems, const GemmclGemm *gemm, const gsize *sizes)
{
  GemmclGemm problem = *gemm;

  problem.m = sizes[0];
  problem.n = sizes[1];
  problem.k = sizes[2];
  g_array_append_val (problems, problem);
}

GArray *
tool_problems_new (const gchar *const *operands, const GemmclGemm *gemm, GError **error)
{
  g_autoptr (GArray) problems = g_array_new (FALSE, FALSE, sizeof (GemmclGemm));
  gsize sizes[N_SIZES];

  for (guint i = 0; operands[i] != NULL; i++) {
    if (!parse_sizes (operands[i], sizes, error))
      return NULL;
    add_problem (problems, gemm, sizes);
  }
  return g_steal_pointer (&problems);
}

void
tool_problems_add_usual (GArray *problems, const GemmclGemm *gemm, const GemmclDeviceInfo *info)
{
  for (guint i = 0; i < G_N_ELEMENTS (everywhere); i++)
    add_problem (problems, gemm, everywhere[i]);
  for (guint i = 0; i < G_N_ELEMENTS (on_gpus) && info->type != GEMMCL_DEVICE_TYPE_CPU; i++)
    add_problem (problems, gemm, on_gpus[i]);
}

gchar *
tool_problem_get_name (gsize m, gsize n, gsize k)
{
  return g_strdup_printf ("%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT, m, n, k);
}
