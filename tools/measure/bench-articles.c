/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/bench-articles.h"

#include <math.h>

static ToolColumn launch_columns[] = {
    {"M x N x K"},
    {"kernel", .key = "kernel"},
    {"level", .key = "level"},
    {"work-items", .key = "global_size"},
    {"in groups of", .key = "local_size"},
    {"SIMD", .numbers = TRUE, .key = "simd_width", .format = "%.0f"},
    {"threads", .numbers = TRUE, .key = "hardware_threads", .format = "%.0f"},
    {"local bytes", .numbers = TRUE, .key = "local_bytes", .format = "%.0f"},
    {"private bytes", .numbers = TRUE, .key = "private_bytes", .format = "%.0f"},
    {"spilled", .numbers = TRUE, .key = "spill_bytes", .format = "%.0f"},
    {NULL}};

static json_t *
make_sizes (const gsize sizes[3])
{
  return json_pack ("[I, I, I]", (json_int_t)sizes[0], (json_int_t)sizes[1], (json_int_t)sizes[2]);
}

static json_t *
make_number (guint64 number, gboolean known)
{
  return known ? json_integer ((json_int_t)number) : json_null ();
}

void
bench_add_launch (json_t *row, GemmclPlan *plan)
{
  GemmclPlanInfo info;
  gsize group, groups, threads = 0;

  gemmcl_plan_get_info (plan, &info);
  group = info.local_size[0] * info.local_size[1] * info.local_size[2];
  groups = info.global_size[0] * info.global_size[1] * info.global_size[2] / group;
  if (info.subgroup_size > 0)
    threads = groups * ((group + info.subgroup_size - 1) / info.subgroup_size);
  json_object_set_new (row, "level", json_string (gemmcl_kernel_level_get_name (info.level)));
  json_object_set_new (row, "global_size", make_sizes (info.global_size));
  json_object_set_new (row, "local_size", make_sizes (info.local_size));
  json_object_set_new (row, "simd_width", make_number (info.subgroup_size, threads > 0));
  json_object_set_new (row, "hardware_threads", make_number (threads, threads > 0));
  json_object_set_new (row, "local_bytes", make_number (info.local_bytes, TRUE));
  json_object_set_new (row, "private_bytes", make_number (info.private_bytes, TRUE));
  json_object_set_new (row, "spill_bytes", make_number (info.spill_bytes, TRUE));
}

void
bench_print_launches (FILE *out, const json_t *rows, gboolean one_size)
{
  json_t *row;
  gsize i;

  if (json_array_size (rows) == 0)
    return;
  launch_columns[0].hidden = one_size;
  fputc ('\n', out);
  tool_table_titles (out, launch_columns, rows);
  json_array_foreach (rows, i, row)
    tool_table_print (out, launch_columns, row);
}

void
bench_add_step (BenchLadder *self, json_t *row)
{
  const gdouble ms = tool_json_get_number (json_object_get (row, "time_ms"), "median");

  if (self->first == 0)
    self->first = self->last = ms;
  json_object_set_new (row, "step_speedup", tool_json_number (self->last / ms));
  json_object_set_new (row, "cumulative_speedup", tool_json_number (self->first / ms));
  self->last = ms;
}

void
bench_print_peak (FILE *out, const ToolColumn *columns, const json_t *rows)
{
  const json_t *last = json_array_get (rows, json_array_size (rows) - 1);
  const gdouble gflops = tool_json_get_number (last, "peak_gflops");
  g_autoptr (json_t) peak = NULL;
  GemmclGemm gemm;

  if (isnan (gflops))
    return;
  tool_json_get_sizes (last, &gemm);
  peak = json_pack ("{s:I, s:I, s:I, s:s, s:{s:f}, s:f}", "m", (json_int_t)gemm.m, "n",
                    (json_int_t)gemm.n, "k", (json_int_t)gemm.k, "kernel", "peak", "time_ms",
                    "median", 2.0 * gemm.m * gemm.n * gemm.k / (gflops * 1e6), "gflops", gflops);
  tool_table_print (out, columns, peak);
}
