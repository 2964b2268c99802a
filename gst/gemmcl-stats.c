/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-stats.h"

static void
add (GemmclPlanStats *sum, GemmclPlan *plan)
{
  GemmclPlanStats stats = {0};

  gemmcl_plan_get_stats (plan, &stats);
  sum->runs += stats.runs;
  sum->kernel_ns += stats.kernel_ns;
  sum->flops += stats.flops;
  sum->bytes_in += stats.bytes_in;
  sum->bytes_out += stats.bytes_out;
}

void
gst_gemmcl_stats_retire (GstGemmcl *self, GemmclPlan *plan)
{
  add (&self->past, plan);
}

void
gst_gemmcl_stats_reset (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  self->past = (GemmclPlanStats){0};
  self->buffers = 0;
  self->read_memory = "system";
  self->bytes_out = 0;
  g_mutex_unlock (&self->lock);
}

/* Where A of the last run was, and D. With the lock held. */
static gchar *
print_memory (GstGemmcl *self)
{
  const gchar *from = self->read_memory ? self->read_memory : "system";
  const gchar *to = self->output_opencl ? "OpenCL" : "system";

  return g_str_equal (from, to) ? g_strdup (from) : g_strdup_printf ("%s to %s", from, to);
}

GstStructure *
gst_gemmcl_stats_new (GstGemmcl *self)
{
  const gchar *kernel = "", *source = "", *level = "", *precision = "", *device = "";
  g_autofree gchar *memory = NULL;
  gdouble gflops, efficiency, peak = 0.0;
  GemmclBuildInfo build;
  GemmclPlanStats sum;
  guint64 buffers;
  GstStructure *structure;

  g_mutex_lock (&self->lock);
  sum = self->past;
  memory = print_memory (self);
  buffers = self->buffers;
  if (self->plan) {
    add (&sum, self->plan);
    kernel = gemmcl_plan_get_kernel (self->plan);
    source = gemmcl_choice_source_get_name (gemmcl_plan_get_choice_source (self->plan));
    gemmcl_plan_get_build_info (self->plan, &build);
    level = gemmcl_kernel_level_get_name (build.level);
    precision = gemmcl_precision_get_name (gemmcl_plan_get_precision (self->plan));
  }
  if (self->context) {
    device = gemmcl_context_get_device_info (self->context)->name;
    peak = gemmcl_context_get_device_info (self->context)->peak_gflops;
  }
  /* One operation in a nanosecond is one GFLOPS. */
  gflops = sum.kernel_ns > 0 ? sum.flops / sum.kernel_ns : 0.0;
  efficiency = peak > 0.0 ? gflops / peak : 0.0;
  structure = gst_structure_new (
      "application/x-gemmcl-stats", "buffers", G_TYPE_UINT64, buffers, "bytes", G_TYPE_UINT64,
      sum.bytes_in + sum.bytes_out + self->bytes_out, "kernel", G_TYPE_STRING, kernel,
      "kernel-source", G_TYPE_STRING, source, "kernel-level", G_TYPE_STRING, level, "precision",
      G_TYPE_STRING, precision, "device", G_TYPE_STRING, device, "memory", G_TYPE_STRING, memory,
      "kernel-time", G_TYPE_UINT64, sum.kernel_ns, "gflops", G_TYPE_DOUBLE, gflops, "efficiency",
      G_TYPE_DOUBLE, efficiency, NULL);
  g_mutex_unlock (&self->lock);
  return structure;
}
