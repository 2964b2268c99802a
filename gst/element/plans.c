/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/plans.h"

#include "element/element.h"

/* M of the first plan for audio, in samples. Buffers of most sources have no more. */
#define FIRST_M 1024
/* Time in us before the progress of a new plan is posted, and between two checks if the element
 * stops. A plan from the cache takes less. */
#define SILENCE (50 * G_TIME_SPAN_MILLISECOND)
/* Time in us that a stopping element waits for the compiler. */
#define GRACE (1 * G_TIME_SPAN_SECOND)

/* A thread that makes a plan for each device. The compiler may never return, so the job holds
 * references to everything that the thread uses; the thread does not use the element. */
typedef struct {
  GemmclContext *contexts[GST_GEMMCL_MAX_DEVICES]; /* NULL: needs no plan */
  GstGemmclSettings settings;
  GstGemmclOperands operands;
  GstGemmclProblem problem;

  GAsyncQueue *done; /* gets one element at the end, for the streaming thread */

  /* The results, valid once @done has its element: a plan or an error for each context. An error of
   * the operands is in errors[0]. */
  GemmclPlan *plans[GST_GEMMCL_MAX_DEVICES];
  GError *errors[GST_GEMMCL_MAX_DEVICES];
  guint64 compile_us[GST_GEMMCL_MAX_DEVICES];
} Job;

static void
job_clear (gpointer data)
{
  Job *self = data;

  for (guint i = 0; i < GST_GEMMCL_MAX_DEVICES; i++) {
    g_clear_object (&self->contexts[i]);
    g_clear_object (&self->plans[i]);
    g_clear_error (&self->errors[i]);
  }
  gst_gemmcl_operands_clear (&self->operands);
  g_async_queue_unref (self->done);
}

static void
job_unref (Job *self)
{
  g_atomic_rc_box_release_full (self, job_clear);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Job, job_unref)

/* Copies the formats and operands of the element. */
static Job *
job_new (GstGemmcl *self, gsize min_m, GError **error)
{
  g_autoptr (Job) job = g_atomic_rc_box_new0 (Job);

  job->done = g_async_queue_new ();
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->n_devices; i++)
    if (!self->devices[i].failed)
      job->contexts[i] = g_object_ref (self->devices[i].context);
  job->settings = self->stream.settings;
  gst_gemmcl_operands_copy (&job->operands, &self->operands.current);
  g_mutex_unlock (&self->lock);
  if (!gst_gemmcl_problem_init (&job->problem, &self->stream.input, &self->stream.output,
                                &job->operands, &job->settings, min_m,
                                gst_gemmcl_run_wants_feedback (self), error))
    return NULL;
  return g_steal_pointer (&job);
}

/* @us: (out): the time that the kernels took to compile, or to read from the cache */
static GemmclPlan *
create_plan (const Job *job, GemmclContext *context, guint64 *us, GError **error)
{
  const gint64 begin = g_get_monotonic_time ();
  g_autoptr (GemmclPlan) plan =
      gemmcl_plan_new (context, &job->problem.gemm, job->settings.kernel, error);

  *us = g_get_monotonic_time () - begin;
  if (!plan)
    return NULL;
  gemmcl_plan_auto_tune (plan, job->settings.auto_tune);
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    if (job->operands.matrix[i] && !gemmcl_plan_set (plan, i, job->operands.matrix[i], error))
      return NULL;
  return g_steal_pointer (&plan);
}

static gpointer
job_run (gpointer data)
{
  Job *job = data;
  const gboolean is_folded =
      gst_gemmcl_problem_fold (&job->problem, &job->settings, &job->operands, &job->errors[0]);

  for (guint i = 0; i < GST_GEMMCL_MAX_DEVICES; i++) {
    if (is_folded && job->contexts[i])
      job->plans[i] = create_plan (job, job->contexts[i], &job->compile_us[i], &job->errors[i]);
    /* The thread may end long after the element has stopped: it must not keep the context. */
    g_clear_object (&job->contexts[i]);
  }
  g_async_queue_push (job->done, job);
  job_unref (job);
  return NULL;
}

/* Returns: (transfer full): the name of the device, or the number of devices. */
static gchar *
print_devices (const GstGemmclDevice *devices, guint n)
{
  return n == 1 ? g_strdup (gemmcl_context_get_device_info (devices->context)->name)
                : g_strdup_printf ("%u devices", n);
}

static void
post_progress (GstGemmcl *self, GstProgressType type, const Job *job)
{
  const GemmclGemm *gemm = &job->problem.gemm;
  g_autofree gchar *devices = print_devices (self->devices, self->n_devices);
  g_autofree gchar *text =
      g_strdup_printf ("%s kernels for M=%zu, N=%zu, K=%zu on %s",
                       type == GST_PROGRESS_TYPE_START ? "Compiling" : "Compiled", gemm->m, gemm->n,
                       gemm->k, devices);

  gst_element_post_message (GST_ELEMENT (self),
                            gst_message_new_progress (GST_OBJECT (self), type, "compile", text));
}

/* Waits for @job; no longer than GRACE once the element stops. */
static gboolean
wait_for_plans (GstGemmcl *self, Job *job, GError **error)
{
  g_autofree gchar *devices = print_devices (self->devices, self->n_devices);
  const gint64 begin = g_get_monotonic_time ();
  gboolean done = g_async_queue_timeout_pop (job->done, SILENCE) != NULL;

  if (done)
    return TRUE;
  post_progress (self, GST_PROGRESS_TYPE_START, job);
  for (guint stopped = 0; !done && stopped < GRACE / SILENCE;
       stopped += !gst_pad_is_active (GST_BASE_TRANSFORM_SINK_PAD (self)))
    done = g_async_queue_timeout_pop (job->done, SILENCE) != NULL;
  post_progress (self, done ? GST_PROGRESS_TYPE_COMPLETE : GST_PROGRESS_TYPE_CANCELED, job);
  return done ||
         gst_gemmcl_fail (error, GEMMCL_ERROR_BUILD,
                          "The OpenCL compiler of %s had not returned after %.1f s, when the "
                          "element stopped; its thread is left running.",
                          devices, (g_get_monotonic_time () - begin) / 1e6);
}

/* @job: (nullable). Replaces the plans of all devices by those of @job; NULL: only drops them. */
static void
replace_plans (GstGemmcl *self, Job *job)
{
  GemmclPlan *old[GST_GEMMCL_MAX_DEVICES];

  gst_gemmcl_runs_finish (self);
  /* C of another size or type begins as zeros again. */
  if (job && self->runs &&
      (job->problem.gemm.n != self->problem.gemm.n ||
       job->problem.gemm.d_type != self->problem.gemm.d_type))
    gst_clear_buffer (&self->runs->last.output);
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->n_devices; i++) {
    old[i] = self->devices[i].plan;
    self->devices[i].plan = job ? g_steal_pointer (&job->plans[i]) : NULL;
    gst_gemmcl_stats_add_plan (&self->devices[i].past, old[i]);
    if (self->devices[i].plan)
      self->devices[i].compile_ns += job->compile_us[i] * 1000;
  }
  if (job)
    gst_gemmcl_problem_copy (&self->problem, &job->problem);
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < self->n_devices; i++) {
    if (old[i] && self->devices[i].plan)
      gemmcl_plan_adopt_previous (self->devices[i].plan, old[i]);
    g_clear_object (&old[i]);
  }
}

/* Returns: (transfer full): the other kernels that are worth measuring on the device of @device, in
 * the order that the rules expect, fastest first. */
static gchar *
list_others (const GstGemmclDevice *device, const GemmclGemm *gemm)
{
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (device->context, gemm);
  g_autoptr (GString) others = g_string_new (NULL);

  for (guint i = 0; names[i]; i++)
    if (!g_str_equal (names[i], device->kernel) &&
        gemmcl_kernel_fits (device->context, names[i], gemm, NULL))
      g_string_append_printf (others, "%s%s", others->len > 0 ? ", " : "", names[i]);
  return g_string_free (g_steal_pointer (&others), FALSE);
}

static void
log_choice (GstGemmcl *self, const GstGemmclDevice *device, guint64 compile_us)
{
  const GemmclGemm *gemm = &self->problem.gemm;
  g_autofree gchar *others = NULL;
  GemmclPlanInfo info;

  if (gst_debug_category_get_threshold (GST_CAT_DEFAULT) < GST_LEVEL_INFO)
    return;
  others = list_others (device, gemm);
  gemmcl_plan_get_info (device->plan, &info);
  GST_INFO_OBJECT (
      self, "m=%zu n=%zu k=%zu batch=%zu by %s, choice: %s, in %s (%s) on %s; compiled in %.1f ms",
      gemm->m, gemm->n, gemm->k, gemm->batch, device->kernel,
      gemmcl_choice_source_get_name (info.source), gemmcl_precision_get_name (info.precision),
      gemmcl_kernel_level_get_name (info.level),
      gemmcl_context_get_device_info (device->context)->name, compile_us / 1e3);
  GST_INFO_OBJECT (self, "other candidates: %s", others[0] ? others : "none");
}

/* Takes the plans of @job, which is done. A device without a plan is dropped if another has one. */
static gboolean
take_plans (GstGemmcl *self, Job *job, GError **error)
{
  gboolean any = FALSE;

  for (guint i = 0; i < self->n_devices; i++)
    any |= job->plans[i] != NULL;
  replace_plans (self, any ? job : NULL);
  for (guint i = 0; i < self->n_devices; i++) {
    GstGemmclDevice *device = &self->devices[i];

    if (job->errors[i] && !(any && gst_gemmcl_devices_drop (self, device, &job->errors[i]))) {
      g_propagate_error (error, g_steal_pointer (&job->errors[i]));
      return FALSE;
    }
    device->kernel = device->plan ? gemmcl_plan_get_kernel (device->plan) : NULL;
    device->is_logged = FALSE;
    if (device->plan)
      log_choice (self, device, job->compile_us[i]);
  }
  return TRUE;
}

static void
log_result (GstGemmcl *self, const GstGemmclDevice *device, const GemmclTuningResult *result)
{
  const GemmclGemm *gemm = &self->problem.gemm;

  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    GST_INFO_OBJECT (self, "%s: %.1f us%s%s", candidate->kernel, candidate->seconds * 1e6,
                     candidate->why ? "; " : "", candidate->why ? candidate->why : "");
  }
  if (!result->best) {
    GST_INFO_OBJECT (self, "no kernel was compared with %s: the time was too short, or none works",
                     device->kernel);
    return;
  }
  GST_INFO_OBJECT (
      self, "m=%zu n=%zu k=%zu by %s, %.2f times as fast as by %s; %.1f ms of the device; %s",
      gemm->m, gemm->n, gemm->k, result->best->kernel, result->gain, device->kernel,
      result->device_seconds * 1e3,
      result->stored           ? "remembered"
      : result->why_not_stored ? result->why_not_stored
                               : "not remembered");
}

/* Logs the result of each search for a faster kernel once. */
static void
log_tuning (GstGemmcl *self)
{
  for (guint i = 0; i < self->n_devices; i++) {
    GstGemmclDevice *device = &self->devices[i];
    const GemmclTuningResult *result;
    GemmclTuningState state;
    const gchar *why;

    if (!device->plan || device->is_logged)
      continue;
    state = gemmcl_plan_get_tuning (device->plan, &result, &why);
    device->is_logged =
        state != GEMMCL_TUNING_STATE_WAITING && state != GEMMCL_TUNING_STATE_SEARCHING;
    if (device->is_logged && result)
      log_result (self, device, result);
    if (state == GEMMCL_TUNING_STATE_SWAPPED)
      GST_INFO_OBJECT (self, "auto-tune: kernel %s replaces %s",
                       gemmcl_plan_get_kernel (device->plan), device->kernel);
    if (state == GEMMCL_TUNING_STATE_FAILED)
      GST_INFO_OBJECT (self, "auto-tune failed: %s", why);
  }
}

static gboolean
cancel_tuning (const GstGemmclDevice *devices, guint n, gint64 us)
{
  gboolean ended = TRUE;

  for (guint i = 0; i < n; i++)
    if (devices[i].plan)
      ended = gemmcl_plan_cancel_tuning (devices[i].plan, us) && ended;
  return ended;
}

void
gst_gemmcl_plan_drop (GstGemmcl *self)
{
  log_tuning (self);
  if (!cancel_tuning (self->devices, self->n_devices, GRACE))
    GST_WARNING_OBJECT (self, "The search for a faster kernel still runs; its thread is left "
                              "running.");
  replace_plans (self, NULL);
}

gboolean
gst_gemmcl_plan_make (GstGemmcl *self, gsize min_m, GError **error)
{
  g_autoptr (Job) job = job_new (self, min_m > 0 ? min_m : FIRST_M, error);
  GThread *thread = NULL;
  gboolean done = FALSE;

  self->needs_plan = FALSE;
  log_tuning (self);
  cancel_tuning (self->devices, self->n_devices, 0);
  if (job)
    thread = g_thread_try_new ("gemmcl-plan", job_run, g_atomic_rc_box_acquire (job), error);
  if (job && !thread)
    job_unref (job);
  if (thread) {
    g_thread_unref (thread);
    done = wait_for_plans (self, job, error);
  }
  if (!done) {
    replace_plans (self, NULL);
    return FALSE;
  }
  return take_plans (self, job, error);
}

gboolean
gst_gemmcl_plan_fit (GstGemmcl *self, gsize m, const GstGemmclFactors *factors, GError **error)
{
  const GstGemmclFormat *input = &self->stream.input;
  const GemmclGemm *gemm = &self->problem.gemm;
  gsize room = gst_gemmcl_devices_get_plan (self) ? gemm->m : 0;

  log_tuning (self);
  /* A new weight may change K together with the input. */
  if (input->tensors.flexible &&
      !gst_gemmcl_tensor_check_k ("The tensor of a buffer", &input->tensors.tensor[input->index],
                                  gst_gemmcl_get_terms (self).k, error))
    return FALSE;
  if (room == 0 || m > room || self->needs_plan ||
      !gst_gemmcl_problem_reads (&self->problem, input) ||
      (factors->beta != 0.0 && gemm->addend == GEMMCL_ADDEND_NONE &&
       gst_gemmcl_run_wants_feedback (self))) {
    while (room > 0 && room < m)
      room *= 2;
    if (!gst_gemmcl_plan_make (self, MAX (m, MIN (room, G_MAXINT32)), error))
      return FALSE;
    /* The next buffer negotiates a pool for larger outputs, or for outputs of another N. */
    if (gst_gemmcl_output_get_size (&self->stream, &self->problem, gemm->m) > self->pool_size)
      gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  }
  /* alpha scales A, but not the bias, and so not the offsets of A that are in the bias. */
  if (factors->alpha != 1.0 && self->problem.folds_offset)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "alpha is %g, but a list as input-scale or input-offset makes the "
                            "offset a part of the bias, which alpha does not scale. Expected "
                            "alpha=1, input-offset=0, or single numbers as input-scale and "
                            "input-offset.",
                            factors->alpha);
  return factors->beta == 0.0 || gemm->addend != GEMMCL_ADDEND_NONE ||
         gst_gemmcl_fail (
             error, GEMMCL_ERROR_INVALID,
             "beta is %g, batch-size is %u, the number of devices is %u and there is no addend. "
             "There is no previous output to add %s. Expected beta=0, an addend, or %s.",
             factors->beta, self->stream.settings.batch_size, self->n_devices,
             gemm->omit_d ? "if only row outputs leave"
                          : "if several buffers are multiplied at once, in batches or on devices",
             gemm->omit_d ? "output without rows" : "batch-size=1 with one device");
}
