/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/bench-sizes.h"

#include "shared-options.h"

/* Maximum number of sizes of a sweep. */
#define MOST_SIZES 256

/* Appends the sizes of a number or range of a sweep. Returns: FALSE if @part is neither. */
static gboolean
add_range (GArray *sizes, const gchar *part)
{
  g_auto (GStrv) words = g_strsplit (part, ":", -1);
  const guint n = g_strv_length (words);
  gsize numbers[3] = {0};

  if (n == 0 || n > G_N_ELEMENTS (numbers))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!tool_parse_size (words[i], &numbers[i]))
      return FALSE;
  if (n == 1)
    numbers[1] = numbers[0];
  for (gsize size = numbers[0]; size <= numbers[1] && sizes->len <= MOST_SIZES;
       size += n == 3 ? numbers[2] : size)
    g_array_append_val (sizes, size);
  return numbers[0] <= numbers[1];
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  const gsize x = *(const gsize *)a, y = *(const gsize *)b;

  return (x > y) - (x < y);
}

/* Returns: (element-type gsize): the sizes, ascending. */
static GArray *
parse_sweep (const gchar *sweep, GError **error)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  g_auto (GStrv) parts = g_strsplit (sweep, ",", -1);
  const gchar *wrong = *sweep == '\0' ? sweep : NULL;

  for (guint i = 0; parts[i] != NULL && wrong == NULL; i++)
    if (!add_range (sizes, parts[i]))
      wrong = parts[i];
  if (wrong != NULL)
    tool_refuse (error,
                 "--sweep takes sizes from 1 to %d, separated by commas, or FROM:TO, where each "
                 "size is twice the one before, or FROM:TO:STEP; not \"%s\".",
                 G_MAXINT32, wrong);
  else if (sizes->len > MOST_SIZES)
    tool_refuse (error, "--sweep takes %d sizes at most, and \"%s\" has more.", MOST_SIZES, sweep);
  if (wrong != NULL || sizes->len > MOST_SIZES)
    return NULL;
  g_array_sort (sizes, compare_sizes);
  for (guint i = sizes->len - 1; i > 0; i--)
    if (g_array_index (sizes, gsize, i) == g_array_index (sizes, gsize, i - 1))
      g_array_remove_index (sizes, i);
  return g_steal_pointer (&sizes);
}

GArray *
bench_list_problems (const gchar *sweep, const GemmclGemm *gemm, GError **error)
{
  g_autoptr (GArray) sizes = NULL, problems = g_array_new (FALSE, FALSE, sizeof (GemmclGemm));
  GemmclGemm problem = *gemm;

  if (sweep != NULL && gemm->m > 0 && gemm->n > 0 && gemm->k > 0) {
    tool_refuse (error, "--sweep varies those of M, N and K that are not given, but -M, -N and -K "
                        "are all given. Leave at least one out.");
    return NULL;
  }
  sizes = parse_sweep (sweep != NULL ? sweep : G_STRINGIFY (TOOL_DEFAULT_SIZE), error);
  if (sizes == NULL)
    return NULL;
  for (guint i = 0; i < sizes->len; i++) {
    const gsize size = g_array_index (sizes, gsize, i);

    problem.m = gemm->m > 0 ? gemm->m : size;
    problem.n = gemm->n > 0 ? gemm->n : size;
    problem.k = gemm->k > 0 ? gemm->k : size;
    g_array_append_val (problems, problem);
  }
  return g_steal_pointer (&problems);
}
