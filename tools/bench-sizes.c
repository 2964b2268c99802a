/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include "tool.h"

/* Sizes of a sweep at most. */
#define MOST_SIZES 256

static gboolean
fail_sweep (const gchar *part, GError **error)
{
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
               "--sweep takes sizes from 1 to %d, separated by commas, or FROM:TO, where each size "
               "is twice the one before, or FROM:TO:STEP; not \"%s\".",
               G_MAXINT, part);
  return FALSE;
}

static gboolean
add_range (GArray *sizes, const gchar *part, GError **error)
{
  g_auto (GStrv) words = g_strsplit (part, ":", -1);
  guint n = g_strv_length (words);
  guint64 numbers[3] = {0};

  for (guint i = 0; i < n && i < G_N_ELEMENTS (numbers); i++)
    if (!g_ascii_string_to_unsigned (words[i], 10, 1, G_MAXINT, &numbers[i], NULL))
      return fail_sweep (part, error);
  if (n == 0 || n > G_N_ELEMENTS (numbers) || (n > 1 && numbers[1] < numbers[0]))
    return fail_sweep (part, error);
  if (n == 1)
    numbers[1] = numbers[0];
  for (guint64 i = numbers[0]; i <= numbers[1]; i += n == 3 ? numbers[2] : i) {
    guint size = (guint)i;
    if (sizes->len == MOST_SIZES) {
      g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                   "--sweep takes %d sizes at most, and \"%s\" makes them more.", MOST_SIZES, part);
      return FALSE;
    }
    g_array_append_val (sizes, size);
  }
  return TRUE;
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  guint x = *(const guint *)a, y = *(const guint *)b;

  return (x > y) - (x < y);
}

static gboolean
parse_sweep (BenchSizes *self, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (self->sweep, ",", -1);

  if (parts[0] == NULL)
    return fail_sweep (self->sweep, error);
  for (guint i = 0; parts[i] != NULL; i++)
    if (!add_range (self->sizes, parts[i], error))
      return FALSE;
  g_array_sort (self->sizes, compare_sizes);
  for (guint i = self->sizes->len - 1; i > 0; i--)
    if (g_array_index (self->sizes, guint, i) == g_array_index (self->sizes, guint, i - 1))
      g_array_remove_index (self->sizes, i);
  return TRUE;
}

static gboolean
check_size (const gchar *option, gint size, GError **error)
{
  if (size >= 1 || size == BENCH_SIZE_UNSTATED)
    return TRUE;
  g_set_error (error, TOOL_ERROR, TOOL_ERROR_USAGE, "%s takes 1 or more, not %d.", option, size);
  return FALSE;
}

static gboolean
varies (const BenchSizes *self)
{
  return self->m == BENCH_SIZE_UNSTATED || self->n == BENCH_SIZE_UNSTATED ||
         self->k == BENCH_SIZE_UNSTATED;
}

BenchSizes *
bench_sizes_new (gint m, gint n, gint k, const gchar *sweep, GError **error)
{
  g_autoptr (BenchSizes) self = g_new0 (BenchSizes, 1);
  const guint size = BENCH_SIZE_DEFAULT;

  *self = (BenchSizes){.m = m, .n = n, .k = k, .sweep = sweep};
  self->sizes = g_array_new (FALSE, FALSE, sizeof (guint));
  if (!check_size ("-M, --size1", m, error) || !check_size ("-K, --size2", k, error) ||
      !check_size ("-N, --size3", n, error))
    return NULL;
  if (sweep == NULL) {
    g_array_append_val (self->sizes, size);
    return g_steal_pointer (&self);
  }
  if (!varies (self)) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_USAGE,
                         "--sweep varies those of M, N and K that are not given, but -M, -N and -K "
                         "are all given. Leave at least one out.");
    return NULL;
  }
  return parse_sweep (self, error) ? g_steal_pointer (&self) : NULL;
}

void
bench_sizes_free (BenchSizes *self)
{
  g_array_unref (self->sizes);
  g_free (self);
}

void
bench_sizes_apply (const BenchSizes *self, guint index, GemmclGemm *gemm)
{
  guint size = g_array_index (self->sizes, guint, index);

  gemm->m = self->m != BENCH_SIZE_UNSTATED ? (guint)self->m : size;
  gemm->n = self->n != BENCH_SIZE_UNSTATED ? (guint)self->n : size;
  gemm->k = self->k != BENCH_SIZE_UNSTATED ? (guint)self->k : size;
}

gchar *
bench_sizes_describe (const BenchSizes *self)
{
  const gint sizes[] = {self->m, self->n, self->k};
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    if (i > 0)
      g_string_append (text, " x ");
    if (sizes[i] != BENCH_SIZE_UNSTATED)
      g_string_append_printf (text, "%d", sizes[i]);
    else if (self->sizes->len > 1)
      g_string_append_c (text, 's');
    else
      g_string_append_printf (text, "%u", g_array_index (self->sizes, guint, 0));
  }
  return g_string_free (text, FALSE);
}
