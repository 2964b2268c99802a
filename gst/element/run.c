/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#include "memory/memory.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

/* One of this number of runs is timed where timing costs time. */
#define TIMED 16

struct _GstGemmclRuns {
  /* The description of the run that is being submitted. */
  GemmclData *a;
  GemmclData *d;             /* of all outputs, then of all row outputs */
  GstGemmclMapping *outputs; /* of d */
  cl_event *wait;

  GstGemmclInflight *latest; /* of the last run; not referenced */
  cl_command_queue queue;    /* of that run, compared only; NULL: the context's */
  guint untimed;             /* runs since the last one in a queue with profiling */

  /* The pool of the last input, and the largest number of its buffers to hold. */
  gconstpointer pool; /* compared only */
  guint limit;

  /* Previous outputs. */
  gboolean feedback; /* beta was not 0: the plan keeps the previous output */
  GstBuffer *last;   /* otherwise, the last output, in case beta is set */
  gsize last_m;
};

void
gst_gemmcl_runs_start (GstGemmcl *self)
{
  const guint batch = self->stream.settings.batch_size;
  GstGemmclRuns *runs = g_new0 (GstGemmclRuns, 1);

  runs->untimed = TIMED - 1;
  runs->a = g_new0 (GemmclData, batch);
  runs->d = g_new0 (GemmclData, 2 * batch);
  runs->outputs = g_new0 (GstGemmclMapping, 2 * batch);
  runs->wait = g_new0 (cl_event, (3 * batch + 1) * GST_GEMMCL_MAX_EVENTS + 1);
  self->runs = runs;
}

void
gst_gemmcl_runs_stop (GstGemmcl *self)
{
  GstGemmclRuns *runs = self->runs;

  gst_clear_buffer (&runs->last);
  g_free (runs->a);
  g_free (runs->d);
  g_free (runs->outputs);
  g_free (runs->wait);
  g_clear_pointer (&self->runs, g_free);
}

gboolean
gst_gemmcl_run_finish (GstGemmcl *self, GstGemmclLane *lane, GstGemmclInflight *inflight,
                       GError **error)
{
  GstClockTime time;
  const cl_int status = gst_gemmcl_inflight_finish (inflight, &time);

  if (GST_CLOCK_TIME_IS_VALID (time) && gst_gemmcl_stats_add_time (self, time))
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  if (status == CL_SUCCESS)
    return TRUE;
  if (error && !*error)
    gst_gemmcl_fail (
        error, GEMMCL_ERROR_OPENCL,
        "A run on %s failed with OpenCL error %d after it was submitted; its output cannot be "
        "mapped.",
        gemmcl_context_get_device_info (lane->context)->name, status);
  return FALSE;
}

guint
gst_gemmcl_runs_get_limit (GstGemmcl *self, GstBuffer *input)
{
  GstGemmclRuns *runs = self->runs;
  GstStructure *config;
  guint max = 0;

  if (input->pool == runs->pool && runs->limit > 0)
    return runs->limit;
  runs->pool = input->pool;
  if (input->pool) {
    config = gst_buffer_pool_get_config (input->pool);
    gst_buffer_pool_config_get_params (config, NULL, NULL, NULL, &max);
    gst_structure_free (config);
  }
  runs->limit = max > 0 ? MAX (max, 2) - 1 : G_MAXUINT;
  return runs->limit;
}

void
gst_gemmcl_runs_forget (GstGemmcl *self)
{
  if (self->lane->plan)
    gemmcl_plan_reset_previous (self->lane->plan);
  if (self->runs)
    gst_clear_buffer (&self->runs->last);
}

gboolean
gst_gemmcl_runs_want_feedback (GstGemmcl *self)
{
  g_autoptr (GstControlBinding) binding = NULL;

  if (self->stream.settings.batch_size > 1 || self->n_lanes > 1)
    return FALSE;
  if (!self->runs->feedback && self->scalars.beta == 0.0)
    binding = gst_object_get_control_binding (GST_OBJECT (self), "beta");
  self->runs->feedback |= self->scalars.beta != 0.0 || binding;
  return self->runs->feedback;
}

/* Makes a plan with C if the present one has none and beta is not 0. Resets the previous output if
 * M changes. */
static gboolean
check_beta (GstGemmcl *self, gsize m, GError **error)
{
  if (m != self->runs->last_m)
    gst_gemmcl_runs_forget (self);
  self->runs->last_m = m;
  if (self->scalars.beta == 0.0 || self->slot.problem.gemm.addend != GEMMCL_ADDEND_NONE)
    return TRUE;
  if (gst_gemmcl_runs_want_feedback (self))
    return gst_gemmcl_make_plan (self, self->slot.problem.gemm.m, error);
  if (self->n_lanes > 1)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_INVALID,
        "beta is %g, devices selects %u devices and there is no addend. Devices multiply at the "
        "same time, so there is no previous output to add. Expected beta=0, one device or an "
        "addend.",
        self->scalars.beta, self->n_lanes);
  return gst_gemmcl_fail (
      error, GEMMCL_ERROR_INVALID,
      "beta is %g, batch-size is %u and there is no addend. The buffers of a batch are multiplied "
      "at once, so there is no previous output to add. Expected beta=0, batch-size=1 or an "
      "addend.",
      self->scalars.beta, self->stream.settings.batch_size);
}

/* alpha does not scale the bias, and offsets that are a part of the bias belong to A. */
static gboolean
check_alpha (GstGemmcl *self, GError **error)
{
  if (self->scalars.alpha == 1.0 || !self->slot.problem.folds_offset)
    return TRUE;
  return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                          "alpha is %g, but with a list as input-scale or input-offset the offset "
                          "is a part of the bias, which alpha does not scale. Expected alpha=1, "
                          "input-offset=0, or a number for each.",
                          self->scalars.alpha);
}

static gboolean
open_buffers (GstGemmcl *self, GemmclRun *run, GstGemmclInflight *inflight,
              GstBuffer *const *inputs, GstBuffer *const *outputs, GError **error)
{
  GstGemmclMapping *mappings = self->runs->outputs;
  GemmclData *a = self->runs->a, *d = self->runs->d;
  const guint n = run->batch;

  for (guint i = 0; i < n; i++)
    if (!gst_gemmcl_open_input (self, inputs[i], gst_gemmcl_inflight_get_mapping (inflight, i),
                                &a[i], run, error) ||
        !gst_gemmcl_map_output (self, &mappings[i], outputs[i], GST_MAP_WRITE, &d[i], error) ||
        (run->rows &&
         !gst_gemmcl_mapping_open_memory (
             &mappings[n + i], self->lane->context, gst_gemmcl_get_rows_memory (outputs[i]),
             gst_gemmcl_get_header_size (self), GST_MAP_WRITE, sizeof (gfloat), &d[n + i], error)))
      return FALSE;
  return TRUE;
}

/* Returns: the number of elements of d that the run uses: those of D and of row outputs. */
static guint
count_places (const GemmclRun *run)
{
  return run->rows ? 2 * run->batch : run->batch;
}

/* TRUE if the memory carries the events of the commands that use it. */
static gboolean
has_events (const GemmclData *data)
{
  return data->kind == GEMMCL_DATA_BUFFER && !data->acquired;
}

/* Returns: the queue for the kernels: the context's, which times them, or one without profiling,
 * for runs that copy nothing between host and device. */
static cl_command_queue
choose_queue (GstGemmclRuns *runs, const GemmclRun *run)
{
  GstMemory *output = runs->outputs[0].memory;

  if (!has_events (&runs->d[0]) || !gst_is_gemmcl_memory (output) || runs->untimed == TIMED - 1)
    return NULL;
  for (guint i = 0; i < run->batch; i++)
    if (runs->a[i].kind == GEMMCL_DATA_HOST)
      return NULL;
  return gst_gemmcl_memory_get_sides (output)->transfers->kernels;
}

/* Adds the event of the last run if that was in another queue: runs follow one another. */
static void
follow_last (GstGemmclRuns *runs, GemmclRun *run)
{
  cl_event last;

  if (run->queue == runs->queue || !runs->latest)
    return;
  last = gst_gemmcl_inflight_get_event (runs->latest);
  if (last)
    runs->wait[run->n_wait++] = last;
}

static void
collect_events (GstGemmclRuns *runs, GemmclRun *run, GstGemmclInflight *inflight,
                GstMemory *previous)
{
  guint n = 0;

  if (previous)
    n = gst_gemmcl_memory_get_events (previous, GST_MAP_READ, runs->wait);
  for (guint i = 0; i < run->batch; i++)
    if (has_events (&runs->a[i]))
      n += gst_gemmcl_memory_get_events (gst_gemmcl_inflight_get_mapping (inflight, i)->memory,
                                         GST_MAP_READ, runs->wait + n);
  for (guint i = 0; i < count_places (run); i++)
    if (has_events (&runs->d[i]))
      n += gst_gemmcl_memory_get_events (runs->outputs[i].memory, GST_MAP_WRITE, runs->wait + n);
  run->n_wait = n;
  run->wait = runs->wait;
}

/* Makes @done the event of the last write to @memory. */
static void
leave_event (GstGemmcl *self, GstMemory *memory, cl_event done, GstGemmclInflight *inflight,
             guint64 number)
{
  GstGemmclSides *sides;

  gst_gemmcl_memory_add_event (memory, GST_MAP_WRITE, done);
  if (!gst_is_gemmcl_memory (memory))
    return;
  sides = gst_gemmcl_memory_get_sides (memory);
  if (self->stream.output.memory != GST_GEMMCL_MEMORY_OPENCL)
    gst_gemmcl_sides_fetch (sides);
  gst_gemmcl_sides_set_run (sides, inflight, number);
}

/* Takes @done. Inputs that are not in OpenCL memory are held until @done. */
static void
keep_inputs (GstGemmcl *self, const GemmclRun *run, GstGemmclInflight *inflight,
             GstBuffer *const *inputs, cl_event done)
{
  GstGemmclRuns *runs = self->runs;
  guint held = 0;
  guint64 number;

  for (guint i = 0; i < run->batch; i++) {
    GstGemmclMapping *mapping = gst_gemmcl_inflight_get_mapping (inflight, i);

    if (!has_events (&runs->a[i])) {
      held = run->batch;
      continue;
    }
    gst_gemmcl_memory_add_event (mapping->memory, GST_MAP_READ, done);
    gst_gemmcl_mapping_clear (mapping);
  }
  number = gst_gemmcl_inflight_begin (inflight, held, inputs, done);
  for (guint i = 0; i < count_places (run); i++)
    if (has_events (&runs->d[i]))
      leave_event (self, runs->outputs[i].memory, done, inflight, number);
}

/* Returns: the kind of memory of an input, in a word; static. */
static const gchar *
name_memory (const GemmclData *a)
{
  switch (a->kind) {
  case GEMMCL_DATA_IMAGES:
    return "VA";
  case GEMMCL_DATA_BUFFER:
    return a->acquired ? "DMABuf" : "OpenCL";
  default:
    return "system";
  }
}

static void
note_run (GstGemmcl *self, const GemmclRun *run, GstBuffer *input, GstBuffer *output)
{
  const gboolean may_add = self->n_lanes == 1 && self->stream.settings.batch_size == 1 &&
                           !self->operands.current.addend &&
                           self->slot.problem.gemm.addend == GEMMCL_ADDEND_NONE;
  const gboolean is_mapped =
      self->stream.output.memory != GST_GEMMCL_MEMORY_OPENCL && run->d[0].kind != GEMMCL_DATA_HOST;

  gst_buffer_replace (&self->runs->last, may_add ? output : NULL);
  gst_gemmcl_stats_add_run (self, run->batch,
                            is_mapped ? run->batch * gst_gemmcl_get_output_size (self, run->m) : 0,
                            name_memory (&run->a[run->batch - 1]));
  gst_gemmcl_copies_note_run (self, run, input);
}

/* Submits @run, whose inputs and outputs are open. */
static gboolean
submit_open (GstGemmcl *self, GemmclRun *run, GstGemmclInflight *inflight, GstBuffer *const *inputs,
             GError **error)
{
  GstGemmclRuns *runs = self->runs;
  GstGemmclMapping mapping = {.is_frame = FALSE};
  GemmclData previous = {.kind = GEMMCL_DATA_HOST};
  cl_event done = NULL;
  gboolean ok = TRUE;

  if (runs->last && self->slot.problem.gemm.addend == GEMMCL_ADDEND_PREVIOUS) {
    ok = gst_gemmcl_map_output (self, &mapping, runs->last, GST_MAP_READ, &previous, error);
    run->previous = &previous;
  }
  collect_events (runs, run, inflight, has_events (&previous) ? mapping.memory : NULL);
  run->queue = self->n_lanes > 1 ? NULL : choose_queue (runs, run);
  follow_last (runs, run);
  ok = ok && gemmcl_plan_submit (self->lane->plan, run, NULL, &done, error);
  gst_gemmcl_release_events (run->n_wait, run->wait);
  if (ok) {
    runs->untimed = run->queue ? runs->untimed + 1 : 0;
    runs->queue = run->queue;
    runs->latest = inflight;
    if (has_events (&previous))
      gst_gemmcl_memory_add_event (mapping.memory, GST_MAP_READ, done);
    else if (run->previous)
      clWaitForEvents (1, &done);
    keep_inputs (self, run, inflight, inputs, done);
    /* A frame in host memory carries no event: it must be complete before it is pushed. */
    ok = runs->d[0].kind != GEMMCL_DATA_HOST ||
         gst_gemmcl_run_finish (self, self->lane, inflight, error);
  }
  gst_gemmcl_mapping_clear (&mapping);
  return ok;
}

gboolean
gst_gemmcl_run_submit (GstGemmcl *self, GstGemmclInflight *inflight, guint n,
                       GstBuffer *const *inputs, GstBuffer *const *outputs, GError **error)
{
  GstGemmclRuns *runs = self->runs;
  GemmclRun run = GEMMCL_RUN_INIT;
  gboolean ok;

  gst_gemmcl_plan_log_tuning (self);
  run.m = gst_gemmcl_get_m (self);
  if ((!self->lane->plan && !gst_gemmcl_make_plan (self, run.m, error)) ||
      !check_alpha (self, error) || !check_beta (self, run.m, error))
    return FALSE;
  run.batch = n;
  run.alpha = self->scalars.alpha;
  run.beta = self->scalars.beta;
  run.a = runs->a;
  run.d = runs->d;
  run.rows = self->slot.problem.gemm.row_outputs != 0 ? runs->d + n : NULL;
  ok = open_buffers (self, &run, inflight, inputs, outputs, error) &&
       submit_open (self, &run, inflight, inputs, error);
  for (guint i = 0; i < 2 * n; i++)
    gst_gemmcl_mapping_clear (&runs->outputs[i]);
  for (guint i = 0; !ok && i < n; i++)
    gst_gemmcl_mapping_clear (gst_gemmcl_inflight_get_mapping (inflight, i));
  if (ok)
    note_run (self, &run, inputs[0], outputs[0]);
  return ok;
}
