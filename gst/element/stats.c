/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

/* Runs after which the latency may fall. */
#define LATENCY_RUNS 128

void
gst_gemmcl_stats_add_plan (GemmclPlanStats *sum, GemmclPlan *plan)
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
gst_gemmcl_stats_add_run (GstGemmcl *self, guint n, gsize bytes, const gchar *memory)
{
  g_mutex_lock (&self->lock);
  self->stats.buffers += n;
  self->stats.bytes_out += bytes;
  self->stats.read_memory = memory;
  g_mutex_unlock (&self->lock);
}

void
gst_gemmcl_stats_add_drop (GstGemmcl *self, GstMessage *message)
{
  guint64 dropped;

  gst_message_parse_qos_stats (message, NULL, NULL, &dropped);
  g_mutex_lock (&self->lock);
  self->stats.dropped++;
  gst_message_set_qos_stats (message, GST_FORMAT_BUFFERS, self->stats.buffers - self->stats.flushed,
                             dropped);
  g_mutex_unlock (&self->lock);
}

static GstClockTime
round_up (GstClockTime time)
{
  GstClockTime rounded = GST_MSECOND;

  if (time < GST_MSECOND)
    return 0;
  while (rounded < time)
    rounded *= 2;
  return rounded;
}

gboolean
gst_gemmcl_stats_add_time (GstGemmcl *self, GstClockTime time)
{
  GstGemmclStats *stats = &self->stats;
  gboolean changed = FALSE;
  GstClockTime rounded;

  g_mutex_lock (&self->lock);
  rounded = round_up (MIN (time, stats->last));
  stats->last = time;
  stats->longest = MAX (stats->longest, rounded);
  if (rounded > stats->latency || ++stats->n_times == LATENCY_RUNS) {
    changed = stats->longest != stats->latency;
    stats->latency = stats->longest;
    stats->longest = 0;
    stats->n_times = 0;
  }
  g_mutex_unlock (&self->lock);
  return changed;
}

GstClockTime
gst_gemmcl_stats_get_latency (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return self->stats.latency;
}

void
gst_gemmcl_stats_flush (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  self->stats.flushed = self->stats.buffers;
  g_mutex_unlock (&self->lock);
}

/* Returns: (transfer full): "MEMORY" or "MEMORY to MEMORY", of A and of D in the last run. */
static gchar *
print_memory (GstGemmcl *self)
{
  const gchar *from = self->stats.read_memory ? self->stats.read_memory : "system";
  const gchar *to = self->stream.output.memory == GST_GEMMCL_MEMORY_OPENCL ? "OpenCL" : "system";

  return g_str_equal (from, to) ? g_strdup (from) : g_strdup_printf ("%s to %s", from, to);
}

/* With the lock held. */
static void
set_counts (GstGemmcl *self, GstStructure *structure, gdouble peak)
{
  GemmclPlanStats sum = self->stats.past;
  gdouble gflops;

  if (self->slot.plan)
    gst_gemmcl_stats_add_plan (&sum, self->slot.plan);
  /* One operation in a nanosecond is one GFLOPS. */
  gflops = sum.kernel_ns > 0 ? sum.flops / sum.kernel_ns : 0.0;
  gst_structure_set (structure, "buffers", G_TYPE_UINT64, self->stats.buffers, "dropped",
                     G_TYPE_UINT64, self->stats.dropped, "bytes", G_TYPE_UINT64,
                     sum.bytes_in + sum.bytes_out + self->stats.bytes_out, "kernel-time",
                     G_TYPE_UINT64, sum.kernel_ns, "gflops", G_TYPE_DOUBLE, gflops, "efficiency",
                     G_TYPE_DOUBLE, peak > 0.0 ? gflops / peak : 0.0, NULL);
}

/* Returns: (transfer full): the state of the search of @plan (nullable). */
static gchar *
describe_tuning (GemmclPlan *plan)
{
  GemmclTuningState state = GEMMCL_TUNING_STATE_OFF;
  const gchar *why = NULL;

  if (plan)
    state = gemmcl_plan_get_tuning (plan, NULL, &why);
  return g_strconcat (gemmcl_tuning_state_get_name (state), why ? ": " : NULL, why, NULL);
}

/* With the lock held. */
static void
set_kernel (GstGemmcl *self, GstStructure *structure)
{
  const gchar *kernel = "", *source = "", *level = "", *precision = "";
  GemmclPlan *plan = self->slot.plan;
  GemmclBuildInfo build;
  g_autofree gchar *tuning = describe_tuning (plan);

  if (plan) {
    kernel = gemmcl_plan_get_kernel (plan);
    source = gemmcl_choice_source_get_name (gemmcl_plan_get_choice_source (plan));
    gemmcl_plan_get_build_info (plan, &build);
    level = gemmcl_kernel_level_get_name (build.level);
    precision = gemmcl_precision_get_name (gemmcl_plan_get_precision (plan));
  }
  gst_structure_set (structure, "kernel", G_TYPE_STRING, kernel, "kernel-source", G_TYPE_STRING,
                     source, "auto-tune", G_TYPE_STRING, tuning, "kernel-level", G_TYPE_STRING,
                     level, "precision", G_TYPE_STRING, precision, NULL);
}

GstStructure *
gst_gemmcl_stats_new (GstGemmcl *self)
{
  g_autoptr (GemmclContext) context = gst_gemmcl_device_get_context (&self->device);
  const GemmclDeviceInfo *device = context ? gemmcl_context_get_device_info (context) : NULL;
  GstStructure *structure = gst_structure_new_empty ("gemmcl-stats");
  g_autofree gchar *memory = NULL;

  g_mutex_lock (&self->lock);
  memory = print_memory (self);
  set_kernel (self, structure);
  gst_structure_set (structure, "device", G_TYPE_STRING, device ? device->name : "", "memory",
                     G_TYPE_STRING, memory, NULL);
  set_counts (self, structure, device ? device->peak_gflops : 0.0);
  g_mutex_unlock (&self->lock);
  return structure;
}

void
gst_gemmcl_stats_report (GstGemmcl *self)
{
  GstStructure *stats;

  if (self->stats.buffers == self->stats.reported)
    return;
  self->stats.reported = self->stats.buffers;
  stats = gst_gemmcl_stats_new (self);
  GST_INFO_OBJECT (self, "%" GST_PTR_FORMAT, stats);
  gst_element_post_message (GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), stats));
}
