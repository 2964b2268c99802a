/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/stats.h"

#include <math.h>

#include "element/element.h"
#include "memory/gstgemmclmemory.h"

GST_DEBUG_CATEGORY_STATIC (performance);

/* Number of runs after which the latency may decrease. */
#define LATENCY_RUNS 128

static void
add_stats (GemmclPlanStats *sum, const GemmclPlanStats *stats)
{
  sum->runs += stats->runs;
  sum->kernel_ns += stats->kernel_ns;
  sum->inline_runs += stats->inline_runs;
  sum->flops += stats->flops;
  sum->bytes_in += stats->bytes_in;
  sum->bytes_out += stats->bytes_out;
  sum->copies += stats->copies;
}

void
gst_gemmcl_stats_reset (GstGemmcl *self)
{
  self->stats = (GstGemmclStats){.element = GST_ELEMENT (self), .lock = &self->lock};
  for (guint i = 0; i < self->n_devices; i++) {
    self->devices[i].past = (GemmclPlanStats){0};
    self->devices[i].compile_ns = self->devices[i].buffers = 0;
  }
}

void
gst_gemmcl_stats_add_plan (GemmclPlanStats *sum, GemmclPlan *plan)
{
  GemmclPlanStats stats = {0};

  if (plan)
    gemmcl_plan_get_stats (plan, &stats);
  add_stats (sum, &stats);
}

void
gst_gemmcl_stats_add_run (GstGemmclStats *self, GstGemmclDevice *device, guint n, gsize bytes,
                          const gchar *memory)
{
  g_mutex_lock (self->lock);
  self->buffers += n;
  device->buffers += n;
  self->bytes_out += bytes;
  self->read_memory = memory;
  g_mutex_unlock (self->lock);
}

void
gst_gemmcl_stats_undo_run (GstGemmclStats *self, GstGemmclDevice *device, guint n)
{
  g_mutex_lock (self->lock);
  self->buffers -= n;
  device->buffers -= n;
  g_mutex_unlock (self->lock);
}

void
gst_gemmcl_stats_add_drop (GstGemmclStats *self, GstMessage *message)
{
  guint64 dropped;

  gst_message_parse_qos_stats (message, NULL, NULL, &dropped);
  g_mutex_lock (self->lock);
  self->dropped++;
  gst_message_set_qos_stats (message, GST_FORMAT_BUFFERS, self->buffers - self->flushed, dropped);
  g_mutex_unlock (self->lock);
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

/* Returns: the time that @percent of the runs did not exceed, at most 5 % too long; 0 if there
 * were no runs. Needs the lock. */
static GstClockTime
get_percentile (const GstGemmclStats *stats, guint percent)
{
  const guint64 wanted = (stats->n_timed * percent + 99) / 100;
  guint64 n = 0;

  for (guint i = 0; i < GST_GEMMCL_N_BINS && wanted > 0; i++) {
    n += stats->times[i];
    if (n >= wanted)
      return MIN ((GstClockTime)exp2 ((i + 1.0) / GST_GEMMCL_TIME_BINS), stats->max);
  }
  return 0;
}

void
gst_gemmcl_stats_add_time (GstGemmclStats *self, GstClockTime time)
{
  gboolean changed = FALSE;
  GstClockTime rounded;

  g_mutex_lock (self->lock);
  self->n_timed++;
  self->times[(guint)(log2 (MAX (time, 1)) * GST_GEMMCL_TIME_BINS)]++;
  self->max = MAX (self->max, time);
  rounded = round_up (MIN (time, self->last));
  self->last = time;
  self->longest = MAX (self->longest, rounded);
  if (rounded > self->latency || ++self->n_times == LATENCY_RUNS) {
    changed = self->longest != self->latency;
    self->latency = self->longest;
    self->longest = 0;
    self->n_times = 0;
  }
  g_mutex_unlock (self->lock);
  if (changed)
    gst_element_post_message (self->element, gst_message_new_latency (GST_OBJECT (self->element)));
}

GstClockTime
gst_gemmcl_stats_get_latency (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  const GstGemmclSettings *settings = &self->stream.settings;
  GstClockTime latency = 0;

  if (self->stream.started && settings->batch_size > 1) {
    latency = gst_gemmcl_stream_get_duration (&self->stream, settings->batch_size - 1);
    /* 0: the duration of buffers is not known, so the timeout alone limits the wait. */
    if (settings->batch_timeout > 0 &&
        (latency == 0 || latency > (GstClockTime)settings->batch_timeout))
      latency = settings->batch_timeout;
  }
  return latency + self->stats.latency;
}

void
gst_gemmcl_stats_flush (GstGemmclStats *self)
{
  g_mutex_lock (self->lock);
  self->flushed = self->buffers;
  g_mutex_unlock (self->lock);
}

/* Adds the kernel and the device of @device. Needs the lock of the element. */
static void
set_kernel (const GstGemmclDevice *device, GstStructure *structure)
{
  const gchar *kernel = "", *source = "", *level = "", *precision = "", *why = NULL;
  GemmclTuningState state = GEMMCL_TUNING_STATE_OFF;
  g_autofree gchar *tuning = NULL;
  GemmclPlanInfo info;

  if (device->plan) {
    state = gemmcl_plan_get_tuning (device->plan, NULL, &why);
    kernel = gemmcl_plan_get_kernel (device->plan);
    gemmcl_plan_get_info (device->plan, &info);
    source = gemmcl_choice_source_get_name (info.source);
    level = gemmcl_kernel_level_get_name (info.level);
    precision = gemmcl_precision_get_name (info.precision);
  }
  tuning = g_strconcat (gemmcl_tuning_state_get_name (state), why ? ": " : NULL, why, NULL);
  gst_structure_set (structure, "kernel", G_TYPE_STRING, kernel, "kernel-source", G_TYPE_STRING,
                     source, "auto-tune", G_TYPE_STRING, tuning, "kernel-level", G_TYPE_STRING,
                     level, "precision", G_TYPE_STRING, precision, "device", G_TYPE_STRING,
                     device->context ? gemmcl_context_get_device_info (device->context)->name : "",
                     NULL);
}

/* Adds the times and rates of @n devices to @structure. Returns: their counts. Needs the lock. */
static GemmclPlanStats
set_rates (const GstGemmclDevice *devices, guint n, GstStructure *structure)
{
  GemmclPlanStats sum = {0};
  guint64 compile_ns = 0;
  gdouble possible = 0; /* operations at the peak rate in the time of the kernels; NAN: unknown */

  for (guint i = 0; i < n; i++) {
    const GstGemmclDevice *device = &devices[i];
    const gdouble peak =
        device->context ? gemmcl_context_get_device_info (device->context)->peak_gflops : 0.0;
    GemmclPlanStats stats = device->past;

    gst_gemmcl_stats_add_plan (&stats, device->plan);
    add_stats (&sum, &stats);
    compile_ns += device->compile_ns;
    /* One operation in a nanosecond is one GFLOPS. */
    possible += peak > 0.0 ? peak * stats.kernel_ns : NAN;
  }
  gst_structure_set (structure, "compile-time", G_TYPE_UINT64, compile_ns, "kernel-time",
                     G_TYPE_UINT64, sum.kernel_ns, "gflops", G_TYPE_DOUBLE,
                     sum.kernel_ns > 0 ? sum.flops / sum.kernel_ns : 0.0, "efficiency",
                     G_TYPE_DOUBLE, possible > 0.0 ? sum.flops / possible : 0.0, NULL);
  return sum;
}

/* Adds a structure for each of @n devices. Needs the lock of the element. */
static void
set_devices (const GstGemmclDevice *devices, guint n, GstStructure *structure)
{
  g_auto (GValue) all = G_VALUE_INIT;

  gst_value_array_init (&all, n);
  for (guint i = 0; i < n; i++) {
    GstStructure *one = gst_structure_new_empty ("gemmcl-device");
    GValue value = G_VALUE_INIT;

    set_kernel (&devices[i], one);
    gst_structure_set (one, "failed", G_TYPE_BOOLEAN, devices[i].failed, "buffers", G_TYPE_UINT64,
                       devices[i].buffers, NULL);
    set_rates (&devices[i], 1, one);
    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, one);
    gst_value_array_append_and_take_value (&all, &value);
  }
  gst_structure_take_value (structure, "devices", &all);
}

GstStructure *
gst_gemmcl_stats_new (GstGemmcl *self)
{
  GstStructure *structure = gst_structure_new_empty ("gemmcl-stats");
  const GstGemmclDevice *shown = self->devices;
  const gchar *from, *to;
  g_autofree gchar *memory = NULL;
  GemmclPlanStats sum;

  g_mutex_lock (&self->lock);
  from = self->stats.read_memory ? self->stats.read_memory : "system";
  to = self->stream.output.memory == GST_GEMMCL_MEMORY_OPENCL ? "OpenCL" : "system";
  memory = g_str_equal (from, to) ? g_strdup (from) : g_strdup_printf ("%s to %s", from, to);
  for (guint i = 0; i < self->n_devices && shown->failed; i++)
    shown = &self->devices[i];
  set_kernel (shown, structure);
  sum = set_rates (self->devices, self->n_devices, structure);
  gst_structure_set (
      structure, "memory", G_TYPE_STRING, memory, "buffers", G_TYPE_UINT64, self->stats.buffers,
      "dropped", G_TYPE_UINT64, self->stats.dropped, "bytes", G_TYPE_UINT64,
      sum.bytes_in + sum.bytes_out + self->stats.bytes_out, "inline-runs", G_TYPE_UINT64,
      sum.inline_runs, "copies-per-buffer", G_TYPE_DOUBLE,
      (gdouble)(sum.copies + self->stats.copies) / MAX (self->stats.buffers, 1), NULL);
  gst_structure_set (structure, "run-time-p50", G_TYPE_UINT64, get_percentile (&self->stats, 50),
                     "run-time-p90", G_TYPE_UINT64, get_percentile (&self->stats, 90),
                     "run-time-p99", G_TYPE_UINT64, get_percentile (&self->stats, 99),
                     "run-time-max", G_TYPE_UINT64, self->stats.max, NULL);
  if (self->n_devices > 1)
    set_devices (self->devices, self->n_devices, structure);
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

/* Bits of logged_copies: the copies of the element, then the reasons for A, then those for D. */
#define FIRST_OF_A 8
#define FIRST_OF_D 16

/* The text of each kind of copy. Three kinds do not depend on negotiation and have none: copies of
 * batches, of VA surfaces, and of buffers that the device reads faster after a copy. */
static const gchar *const texts[] = {
    [GST_GEMMCL_COPY_ALIGNED] = "inputs are copied because their elements are not aligned: a "
                                "memory of its own for each tensor or audio buffer",
    [GST_GEMMCL_COPY_MERGED] = "inputs are copied because A is in several memories: a single "
                               "memory",
    [GST_GEMMCL_COPY_PASSED] = "tensors that pass through are copied to OpenCL memory: inputs in "
                               "OpenCL memory, or an output in system memory,",
    [GST_GEMMCL_COPY_FOREIGN] = "inputs go through the host because they are in OpenCL memory of "
                                "another context: a GstContext that both elements share",
    [FIRST_OF_A + GEMMCL_COPY_REASON_SEPARATE] =
        "inputs are copied from pageable memory of the host: an upstream that uses the pool of "
        "pinned memory that gemmcl offers",
    [FIRST_OF_A + GEMMCL_COPY_REASON_GAPS] =
        "inputs are copied because their rows have gaps: an upstream that uses gemmcl's pool and "
        "GstVideoMeta, or uncropped rows of a multiple of 4 bytes,",
    [FIRST_OF_A + GEMMCL_COPY_REASON_OFFSET] =
        "inputs are copied because A does not begin at the start of its OpenCL memory: static "
        "tensors, each in a memory of its own,",
    [FIRST_OF_A + GEMMCL_COPY_REASON_ALIGNMENT] =
        "inputs are copied because their addresses are not aligned for the device: an upstream "
        "that uses gemmcl's pool or its allocation parameters",
    [FIRST_OF_D + GEMMCL_COPY_REASON_GAPS] =
        "outputs are copied because their rows have gaps: a downstream that accepts "
        "GstVideoMeta, or rows of a multiple of 4 bytes,",
    [FIRST_OF_D + GEMMCL_COPY_REASON_OFFSET] =
        "outputs are copied to their place behind the headers of flexible tensors: static tensors",
    [FIRST_OF_D + GEMMCL_COPY_REASON_ALIGNMENT] =
        "outputs are copied because buffers of downstream's pool are not aligned for the device: "
        "a pool of aligned buffers",
};

void
gst_gemmcl_copies_init (void)
{
  GST_DEBUG_CATEGORY_GET (performance, "GST_PERFORMANCE");
}

/* Logs the text of @bit, unless it was logged since the last new caps. */
static void
log_once (GstGemmclStats *self, guint bit)
{
  /* A later library may have more reasons. */
  if (bit >= G_N_ELEMENTS (texts) || !texts[bit] || self->logged_copies >> bit & 1)
    return;
  self->logged_copies |= 1u << bit;
  GST_CAT_INFO_OBJECT (performance, self->element, "%s would avoid that", texts[bit]);
}

void
gst_gemmcl_copies_add (GstGemmclStats *self, GstGemmclCopy copy)
{
  g_mutex_lock (self->lock);
  self->copies++;
  g_mutex_unlock (self->lock);
  log_once (self, copy);
}

void
gst_gemmcl_copies_log_run (GstGemmclStats *self, const GstGemmclDevice *device,
                           const GemmclRun *run, GstBuffer *input)
{
  /* A carrier may have no memory. */
  const cl_context context =
      gst_buffer_n_memory (input) > 0
          ? gst_gemmcl_memory_get_cl_context (gst_buffer_peek_memory (input, 0))
          : NULL;
  GemmclCopyReason a, d;

  if (gst_debug_category_get_threshold (performance) < GST_LEVEL_INFO)
    return;
  gemmcl_plan_explain_copies (device->plan, run, &a, &d);
  if (run->a->kind == GEMMCL_DATA_HOST && context &&
      context != gemmcl_context_get_cl_context (device->context))
    log_once (self, GST_GEMMCL_COPY_FOREIGN);
  else
    log_once (self, FIRST_OF_A + a);
  log_once (self, FIRST_OF_D + d);
}
