/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include "options.h"
#include "tool.h"

/* Sizes of a sweep at most. */
#define MOST_SIZES 256

/* Appends the sizes of a part of a sweep. Returns: FALSE if it is not one. */
static gboolean
add_range (GArray *sizes, const gchar *part)
{
  g_auto (GStrv) words = g_strsplit (part, ":", -1);
  const guint n = g_strv_length (words);
  guint64 numbers[3] = {0};

  if (n == 0 || n > G_N_ELEMENTS (numbers))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!g_ascii_string_to_unsigned (words[i], 10, 1, G_MAXINT, &numbers[i], NULL))
      return FALSE;
  if (n == 1)
    numbers[1] = numbers[0];
  for (guint64 i = numbers[0]; i <= numbers[1] && sizes->len <= MOST_SIZES;
       i += n == 3 ? numbers[2] : i) {
    const guint size = (guint)i;

    g_array_append_val (sizes, size);
  }
  return numbers[0] <= numbers[1];
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  guint x = *(const guint *)a, y = *(const guint *)b;

  return (x > y) - (x < y);
}

/* Returns: (element-type guint): the sizes, ascending. */
static GArray *
parse_sweep (const gchar *sweep, GError **error)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (guint));
  g_auto (GStrv) parts = g_strsplit (sweep, ",", -1);
  const gchar *wrong = *sweep == '\0' ? sweep : NULL;

  for (guint i = 0; parts[i] != NULL && wrong == NULL; i++)
    if (!add_range (sizes, parts[i]))
      wrong = parts[i];
  if (wrong != NULL)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                 "--sweep takes sizes from 1 to %d, separated by commas, or FROM:TO, where each "
                 "size is twice the one before, or FROM:TO:STEP; not \"%s\".",
                 G_MAXINT, wrong);
  else if (sizes->len > MOST_SIZES)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                 "--sweep takes %d sizes at most, and \"%s\" has more.", MOST_SIZES, sweep);
  if (wrong != NULL || sizes->len > MOST_SIZES)
    return NULL;
  g_array_sort (sizes, compare_sizes);
  for (guint i = sizes->len - 1; i > 0; i--)
    if (g_array_index (sizes, guint, i) == g_array_index (sizes, guint, i - 1))
      g_array_remove_index (sizes, i);
  return g_steal_pointer (&sizes);
}

static gboolean
check_size (const gchar *option, gint size, GError **error)
{
  if (size >= 1 || size == BENCH_SIZE_UNSTATED)
    return TRUE;
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "%s takes 1 or more, not %d.", option, size);
  return FALSE;
}

/* Returns: "64 x s x s" */
static gchar *
describe (const gint stated[BENCH_N_SIZES])
{
  g_auto (GStrv) words = g_new0 (gchar *, BENCH_N_SIZES + 1);

  for (guint i = 0; i < BENCH_N_SIZES; i++)
    words[i] =
        stated[i] == BENCH_SIZE_UNSTATED ? g_strdup ("s") : g_strdup_printf ("%d", stated[i]);
  return g_strjoinv (" x ", words);
}

GArray *
bench_list_problems (const gint stated[BENCH_N_SIZES], const gchar *sweep, const GemmclGemm *gemm,
                     gchar **shape, GError **error)
{
  g_autoptr (GArray) sizes = NULL, problems = g_array_new (FALSE, FALSE, sizeof (GemmclGemm));
  const GemmclGemm *first;

  if (!check_size ("-M, --size1", stated[0], error) ||
      !check_size ("-N, --size3", stated[1], error) ||
      !check_size ("-K, --size2", stated[2], error))
    return NULL;
  if (sweep != NULL && stated[0] != BENCH_SIZE_UNSTATED && stated[1] != BENCH_SIZE_UNSTATED &&
      stated[2] != BENCH_SIZE_UNSTATED) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                         "--sweep varies those of M, N and K that are not given, but -M, -N and -K "
                         "are all given. Leave at least one out.");
    return NULL;
  }
  sizes = parse_sweep (sweep != NULL ? sweep : G_STRINGIFY (BENCH_SIZE_DEFAULT), error);
  if (sizes == NULL)
    return NULL;
  for (guint i = 0; i < sizes->len; i++) {
    const guint size = g_array_index (sizes, guint, i);
    GemmclGemm problem = *gemm;

    problem.m = stated[0] != BENCH_SIZE_UNSTATED ? (guint)stated[0] : size;
    problem.n = stated[1] != BENCH_SIZE_UNSTATED ? (guint)stated[1] : size;
    problem.k = stated[2] != BENCH_SIZE_UNSTATED ? (guint)stated[2] : size;
    g_array_append_val (problems, problem);
  }
  first = &g_array_index (problems, GemmclGemm, 0);
  *shape =
      sizes->len > 1 ? describe (stated) : tool_problem_get_name (first->m, first->n, first->k);
  return g_steal_pointer (&problems);
}
