/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa-model.h"

#include <string.h>

/* Numbers of the types of kernels/types.clh. */
#define TYPE_F16  2
#define TYPE_BF16 3
#define TYPE_I8   4

/* The value of "-DNAME=VALUE" in @options, 1 of "-DNAME"; FALSE where there is none. */
static gboolean
get_define (const gchar *options, const gchar *name, guint *value)
{
  const gsize length = strlen (name);

  for (const gchar *at = strstr (options, "-D"); at != NULL; at = strstr (at + 2, "-D")) {
    const gchar *end = at + 2 + length;
    if (strncmp (at + 2, name, length) != 0 || (*end != '=' && *end != ' ' && *end != '\0'))
      continue;
    *value = *end == '=' ? (guint)g_ascii_strtoull (end + 1, NULL, 10) : 1;
    return TRUE;
  }
  return FALSE;
}

static guint
get_bytes (const gchar *options, const gchar *name)
{
  guint type = 0;

  get_define (options, name, &type);
  return type == 1 ? 8 : type == TYPE_F16 || type == TYPE_BF16 ? 2 : type >= TYPE_I8 ? 1 : 4;
}

/* Of the methods that load one element after the other, from memory or local memory, neighbouring
 * work-items' columns are as far apart as a work-item has columns. */
static void
read_distances (const gchar *options, IsaShape *shape)
{
  guint tile_k, width = 0, other;
  const gboolean by_step = get_define (options, "TILE_K", &tile_k);
  const gboolean has_width = get_define (options, "WIDTH", &width);

  if (by_step && has_width && width == 1) {
    shape->slm_apart = shape->tile_n;
    get_define (options, "PAD", &shape->slm_pad);
  } else if (!by_step && !has_width && !get_define (options, "SUBGROUP_SIZE", &other) &&
             !get_define (options, "AHEAD", &other)) {
    shape->apart = get_define (options, "APART", &other) ? 1 : shape->tile_n;
  }
}

gboolean
isa_shape_read (const gchar *options, IsaShape *shape)
{
  guint depth = 1, subgroup = 0;

  *shape = (IsaShape){.sides = 1};
  if (options == NULL || !get_define (options, "TILE_M", &shape->tile_m) ||
      !get_define (options, "TILE_N", &shape->tile_n) ||
      !get_define (options, "GROUP_M", &shape->group_m) ||
      !get_define (options, "GROUP_N", &shape->group_n) || shape->tile_m == 0 ||
      shape->tile_n == 0 || shape->group_m == 0 || shape->group_n == 0)
    return FALSE;
  get_define (options, "SIDES", &shape->sides);
  get_define (options, "DEPTH", &depth);
  if (!get_define (options, "TILE_K", &shape->step) &&
      get_define (options, "SUBGROUP_SIZE", &subgroup))
    shape->step = depth * subgroup;
  shape->a_bytes = get_bytes (options, "A_TYPE");
  shape->b_bytes = get_bytes (options, "B_TYPE");
  read_distances (options, shape);
  return TRUE;
}
