/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <math.h>

#include "options.h"
#include "plot.h"

#define TIMES " \u00d7 "

struct _BenchCharts {
  const BenchSetup *setup;
  PlotData *data;
  gboolean precisions[GEMMCL_N_PRECISIONS];
};

static gchar *
make_size_title (const BenchSizes *sizes)
{
  g_autofree gchar *shape = bench_sizes_describe (sizes, TIMES);

  return g_strdup_printf ("M" TIMES "N" TIMES "K = %s", shape);
}

BenchCharts *
bench_charts_new (const BenchSetup *setup)
{
  BenchCharts *self = g_new0 (BenchCharts, 1);
  PlotData *data = plot_data_new ();

  *self = (BenchCharts){.setup = setup, .data = data};
  data->title = g_strdup (setup->info->name);
  if (setup->sizes->sizes->len > 1)
    data->size_title = make_size_title (setup->sizes);
  data->peak = setup->peak;
  data->peak_source = g_strdup (setup->peak_source);
  data->peak_stated = setup->peak_stated;
  data->bandwidth = setup->bandwidth;
  data->bandwidth_source = g_strdup (setup->bandwidth_source);
  for (guint i = 0; i < setup->names->len; i++)
    g_ptr_array_add (data->names, g_strdup (g_ptr_array_index (setup->names, i)));
  return self;
}

void
bench_charts_free (BenchCharts *self)
{
  plot_data_free (self->data);
  g_free (self);
}

/* Returns: the bytes of the operands. A, C and D are f32; B has the kernel's type. */
static gdouble
get_bytes (const GemmclGemm *gemm, GemmclPrecision precision)
{
  const gdouble mn = (gdouble)gemm->m * gemm->n;
  const gdouble b = precision == GEMMCL_PRECISION_F16 ? 2 : sizeof (gfloat);

  return sizeof (gfloat) * ((gdouble)gemm->m * gemm->k + mn) + b * gemm->k * gemm->n +
         (gemm->addend == GEMMCL_ADDEND_MATRIX ? sizeof (gfloat) * mn : 0);
}

void
bench_charts_add (BenchCharts *self, guint name, guint size, const GemmclGemm *gemm,
                  const BenchResult *result)
{
  const GemmclPrecision precision = tool_get_precision (result->kernel);
  const PlotPoint point = {
      .series = name,
      .kernel = result->kernel,
      .m = gemm->m,
      .n = gemm->n,
      .k = gemm->k,
      .size = g_array_index (self->setup->sizes->sizes, guint, size),
      .gflops = result->gflops,
      .intensity = 2.0 * gemm->m * gemm->n * gemm->k / get_bytes (gemm, precision),
  };

  if (!isfinite (result->gflops))
    return;
  self->precisions[precision] = TRUE;
  g_array_append_val (self->data->points, point);
}

gboolean
bench_charts_are_empty (const BenchCharts *self)
{
  return self->data->points->len == 0;
}

/* Describes the properties that all points have in common. */
static void
describe (BenchCharts *self)
{
  const BenchSetup *setup = self->setup;
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++)
    if (self->precisions[i])
      g_string_append_printf (text, "%s%s", text->len > 0 ? " and " : "",
                              gemmcl_precision_get_name (i));
  g_string_append_printf (text, ", %s-major",
                          setup->gemm.layout == GEMMCL_LAYOUT_ROW_MAJOR ? "row" : "column");
  if (setup->sizes->sizes->len == 1) {
    g_autofree gchar *shape = bench_sizes_describe (setup->sizes, TIMES);
    g_string_append_printf (text, ", M" TIMES "N" TIMES "K = %s", shape);
  }
  g_string_append_printf (text, "%s%s%s, median of %u run%s",
                          setup->gemm.trans_a ? ", A transposed" : "",
                          setup->gemm.trans_b ? ", B transposed" : "",
                          setup->gemm.addend == GEMMCL_ADDEND_MATRIX ? ", C added" : "",
                          setup->iterations, setup->iterations == 1 ? "" : "s");
  g_free (self->data->subtitle);
  self->data->subtitle = g_string_free (text, FALSE);
}

gchar *
bench_charts_draw (BenchCharts *self)
{
  describe (self);
  return self->setup->sizes->sizes->len > 1 ? plot_lines (self->data) : plot_bars (self->data);
}

gchar *
bench_charts_draw_roofline (BenchCharts *self)
{
  describe (self);
  return plot_roofline (self->data);
}
