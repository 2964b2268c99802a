/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "row.h"

#include <stdio.h>
#include <string.h>

#include "problem.h"

static gboolean
is_asked_for (const gchar *rows)
{
  return g_strcmp0 (g_getenv ("GEMMCL_TEST_ROWS"), rows) == 0;
}

/* Parses the tile in the row's name: method_1x2_3x4 has 1 x 2 outputs for each of 3 x 4 work-items.
 */
static void
read_tile (Row *row)
{
  const gchar *name = row->info->name + strlen (row->info->method);
  guint tile_m = 1, tile_n = 1, group_m = 8, group_n = 8;

  if (*name == '_')
    g_assert_cmpint (sscanf (name, "_%ux%u_%ux%u", &tile_m, &tile_n, &group_m, &group_n), ==, 4);
  row->tile_m = MAX (tile_m, 1);
  row->tile_n = MAX (tile_n, 1);
  row->group_m = row->tile_m * group_m;
  row->group_n = row->tile_n * group_n;
  /* With matrix engines the outputs are those of a whole subgroup, if there are any. */
  row->engines = row->info->matrix_engines;
  if (row->engines && row->info->subgroup > 0)
    row->tile_n *= row->info->subgroup;
}

static gboolean
writes_frames (const GemmclKernelInfo *info)
{
  const GemmclImage image = {.format = GEMMCL_PIXEL_GRAY8, .width = 1, .height = 1};
  GemmclContext *context = test_get_context ();
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = gemm.n = gemm.k = 1;
  gemm.d_image = &image;
  return context != NULL && gemmcl_kernel_fits (context, info->name, &gemm, NULL);
}

void
row_read (Row *row, guint index)
{
  row->info = gemmcl_get_kernel (index);
  row->index = index;
  row->first = index == 0 || strcmp (row->info->method, gemmcl_get_kernel (index - 1)->method) != 0;
  row->full = index == 0 || is_asked_for ("all") || (row->first && writes_frames (row->info));
  read_tile (row);
}

/* TRUE if the next row differs only in a larger group, so that its tests cover this row. */
static gboolean
is_part_of_next (const Row *row)
{
  Row next = {.info = row->info};

  if (row->index + 1 == gemmcl_get_n_kernels ())
    return FALSE;
  next.info = gemmcl_get_kernel (row->index + 1);
  if (strcmp (next.info->method, row->info->method) != 0)
    return FALSE;
  read_tile (&next);
  return next.tile_m == row->tile_m && next.tile_n == row->tile_n && next.group_m > row->group_m &&
         next.group_n == row->group_n;
}

static gboolean
is_int8 (const Row *row)
{
  return row->info->precision == GEMMCL_PRECISION_I8;
}

/* TRUE if the row is for matrix engines, and another row has the same tile in a larger group, or an
 * earlier row has the same tile and group with another precision. Int8 has another depth in rows
 * with subgroups. */
static gboolean
is_like_another (const Row *row)
{
  for (guint i = 0; i < gemmcl_get_n_kernels () && row->engines; i++) {
    Row other = {.info = gemmcl_get_kernel (i), .index = i};

    read_tile (&other);
    if (!other.engines || other.tile_m != row->tile_m || other.tile_n != row->tile_n ||
        other.info->subgroup != row->info->subgroup ||
        (row->info->subgroup > 0 && is_int8 (&other) != is_int8 (row)))
      continue;
    if (other.group_m * other.group_n > row->group_m * row->group_n ||
        (other.group_m == row->group_m && other.group_n == row->group_n && i < row->index))
      return TRUE;
  }
  return FALSE;
}

gboolean
row_is_brief (const Row *row)
{
  return is_asked_for ("subgroups") ||
         (!is_asked_for ("all") && (!row->first || is_like_another (row)) &&
          g_getenv ("GEMMCL_TEST_BRIEF") != NULL);
}

/* TRUE if the row is the first of its method with subgroups of its size. */
static gboolean
is_first_of_subgroups (const Row *row)
{
  if (row->info->subgroup == 0)
    return FALSE;
  for (guint i = 0; i < row->index; i++) {
    const GemmclKernelInfo *other = gemmcl_get_kernel (i);
    if (strcmp (other->method, row->info->method) == 0 && other->subgroup == row->info->subgroup)
      return FALSE;
  }
  return TRUE;
}

gboolean
row_is_wanted (const Row *row)
{
  if (is_asked_for ("subgroups"))
    return is_first_of_subgroups (row);
  return row->first || !row_is_brief (row) || !(is_part_of_next (row) || is_like_another (row));
}

gboolean
row_is_miscompiled (const Row *row)
{
  GemmclKernelLevel level;

  return row->info->subgroup > 0 && test_miscompiles_barriers () &&
         gemmcl_kernel_get_level (test_get_context (), row->info->name, &level, NULL) &&
         level == GEMMCL_KERNEL_LEVEL_EMULATED;
}
