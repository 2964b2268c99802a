/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "devices.h"

#define EXTENSION "cl_intel_subgroup_matrix_multiply_accumulate"
/* Rows of the result of an instruction. */
#define ROWS 8
/* Subgroup sizes, and columns of the result, of narrow and of wide engines. With narrow ones each
 * work-item holds twice as much of A. */
#define NARROW 8
#define WIDE   16

/* The products in the texts of the extensions; @wide: only on wide engines. */
static const struct {
  const gchar *type_a, *type_b, *type_sum;
  guint k;
  gboolean wide;
  gboolean used;
  const gchar *extension;
} combinations[] = {
    {"i8", "i8", "i32", 32, FALSE, FALSE, EXTENSION},
    {"i8", "u8", "i32", 32, FALSE, FALSE, EXTENSION},
    {"u8", "i8", "i32", 32, FALSE, TRUE, EXTENSION},
    {"u8", "u8", "i32", 32, FALSE, FALSE, EXTENSION},
    {"i4", "i4", "i32", 64, FALSE, FALSE, EXTENSION},
    {"i4", "u4", "i32", 64, FALSE, FALSE, EXTENSION},
    {"u4", "i4", "i32", 64, FALSE, FALSE, EXTENSION},
    {"u4", "u4", "i32", 64, FALSE, FALSE, EXTENSION},
    {"bf16", "bf16", "f32", 16, FALSE, TRUE, EXTENSION},
    {"f16", "f16", "f32", 16, FALSE, TRUE, EXTENSION},
    {"bf16", "bf16", "bf16", 16, TRUE, FALSE, EXTENSION},
    {"f16", "f16", "f16", 16, TRUE, FALSE, EXTENSION},
    {"tf32", "tf32", "f32", 8, TRUE, TRUE, EXTENSION "_tf32"},
};

GArray *
matrix_shapes_list (const GemmclDeviceInfo *info)
{
  GArray *shapes = g_array_new (FALSE, FALSE, sizeof (MatrixShape));
  const guint subgroup = info->n_subgroup_sizes > 0 ? info->subgroup_sizes[0] : 0;

  if (subgroup != NARROW && subgroup != WIDE)
    return shapes;
  for (guint i = 0; i < G_N_ELEMENTS (combinations); i++) {
    const MatrixShape shape = {combinations[i].type_a,
                               combinations[i].type_b,
                               combinations[i].type_sum,
                               ROWS,
                               subgroup,
                               combinations[i].k,
                               subgroup,
                               combinations[i].used};
    if (gemmcl_device_info_has_extension (info, combinations[i].extension) &&
        (subgroup == WIDE || !combinations[i].wide))
      g_array_append_val (shapes, shape);
  }
  return shapes;
}
