/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#ifdef __linux__
  #include <sys/resource.h>
  #include <sys/syscall.h>
  #include <unistd.h>
#endif

#define GST_CAT_DEFAULT gst_gemmcl_debug

/* Time in us that the search has to end when the element stops. */
#define GRACE (1 * G_TIME_SPAN_SECOND)

/* The nice value of the thread, of 19. */
#define NICENESS 10

typedef enum {
  WAITING,   /* for its turn */
  SEARCHING, /* or making a plan with the kernel that was found */
  OFFERED,   /* the plan is there */
  TAKEN,     /* the streaming thread took it, and has not left the old one yet */
  SWAPPED,
  KEPT,
  FAILED,
} State;

/** GstGemmclTuner: A search in a thread of its own. The thread may never end, so it has references
 * to all that it uses, and does not use the element. */
struct _GstGemmclTuner {
  gchar *name; /* the element's, for the log */
  GemmclContext *context;
  GstGemmclProblem problem;
  GCancellable *cancellable;
  GstGemmclTuner *before; /* (nullable): a cancelled search that may not have ended */
  const gchar *kernel;    /* of the element's plan */

  GMutex lock; /* guards what follows */
  GCond changed;
  gboolean ended;
  State state;
  gchar *why;                 /* the reason, if it failed */
  GstGemmclOperands operands; /* of plan, or wanted for the next one */
  GemmclPlan *plan;
  GemmclPlan *old;
};

static void tuner_unref (GstGemmclTuner *self);

static void
tuner_clear (gpointer data)
{
  GstGemmclTuner *self = data;

  g_clear_pointer (&self->before, tuner_unref);
  g_clear_object (&self->context);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->plan);
  g_clear_object (&self->old);
  gst_gemmcl_operands_clear (&self->operands);
  g_free (self->name);
  g_free (self->why);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
}

static void
tuner_unref (GstGemmclTuner *self)
{
  g_atomic_rc_box_release_full (self, tuner_clear);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstGemmclTuner, tuner_unref)

static void
set_state (GstGemmclTuner *self, State state)
{
  g_mutex_lock (&self->lock);
  self->state = state;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

static void
fail (GstGemmclTuner *self, const GError *why)
{
  if (!g_cancellable_is_cancelled (self->cancellable))
    GST_INFO ("%s: auto-tune failed: %s", self->name, why->message);
  g_mutex_lock (&self->lock);
  g_free (self->why);
  self->why = g_strdup (why->message);
  g_mutex_unlock (&self->lock);
  set_state (self, FAILED);
}

/* @until: 0: no limit. Returns: whether the search has ended. */
static gboolean
wait_for_end (GstGemmclTuner *self, gint64 until)
{
  gboolean ended;

  g_mutex_lock (&self->lock);
  while (!self->ended)
    if (until == 0)
      g_cond_wait (&self->changed, &self->lock);
    else if (!g_cond_wait_until (&self->changed, &self->lock, until))
      break;
  ended = self->ended;
  g_mutex_unlock (&self->lock);
  return ended;
}

static void
lower_priority (void)
{
#ifdef __linux__
  /* Linux has a priority for each thread, POSIX only one for the process. */
  setpriority (PRIO_PROCESS, (id_t)syscall (SYS_gettid), NICENESS);
#endif
}

static void
log_result (const GstGemmclTuner *self, const GemmclTuningResult *result)
{
  const GemmclGemm *gemm = &self->problem.gemm;

  for (guint i = 0; i < result->candidates->len; i++) {
    const GemmclTuningCandidate *candidate = g_ptr_array_index (result->candidates, i);

    GST_INFO ("%s: %s: %.1f us%s%s", self->name, candidate->kernel, candidate->seconds * 1e6,
              candidate->why ? "; " : "", candidate->why ? candidate->why : "");
  }
  GST_INFO ("%s: m=%zu n=%zu k=%zu by %s, %.2f times as fast as by %s; %.1f ms of the device; %s",
            self->name, gemm->m, gemm->n, gemm->k, result->best ? result->best->kernel : "nothing",
            result->gain, self->kernel, result->device_seconds * 1e3,
            result->stored           ? "remembered"
            : result->why_not_stored ? result->why_not_stored
                                     : "not remembered");
}

/* Searches take turns: they would disturb each other's times and take too much of the device. */
static GMutex turn_lock;
static GCond turn_over;
static gboolean is_searching;

/* @waited: (out): whether it waited for another search. Returns: %FALSE if it was cancelled. */
static gboolean
begin_turn (GstGemmclTuner *self, gboolean *waited)
{
  gboolean begun;

  g_mutex_lock (&turn_lock);
  *waited = is_searching;
  while (is_searching && !g_cancellable_is_cancelled (self->cancellable))
    g_cond_wait (&turn_over, &turn_lock);
  begun = !is_searching;
  is_searching = TRUE;
  g_mutex_unlock (&turn_lock);
  return begun;
}

static void
end_turn (void)
{
  g_mutex_lock (&turn_lock);
  is_searching = FALSE;
  g_cond_broadcast (&turn_over);
  g_mutex_unlock (&turn_lock);
}

/* Returns: (transfer full) (nullable): the kernel that an earlier search found for the problem. */
static gchar *
find_known (GstGemmclTuner *self)
{
  g_autoptr (GemmclPlan) plan =
      gemmcl_plan_new (self->context, &self->problem.gemm, GST_GEMMCL_AUTO, NULL);

  if (!plan || gemmcl_plan_get_choice_source (plan) == GEMMCL_CHOICE_RULES)
    return NULL;
  return g_strdup (gemmcl_plan_get_kernel (plan));
}

/* Returns: (transfer full) (nullable): the fastest kernel. */
static gchar *
search (GstGemmclTuner *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclTuningResult) result =
      gemmcl_tuning_search (self->context, &self->problem.gemm, NULL, self->cancellable, &error);

  if (!result) {
    fail (self, error);
    return NULL;
  }
  log_result (self, result);
  if (result->best)
    return g_strdup (result->best->kernel);
  gst_gemmcl_fail (&error, GEMMCL_ERROR_KERNEL,
                   "There was no time to compare other kernels with the choice of the rules.");
  fail (self, error);
  return NULL;
}

/* Returns: (transfer full) (nullable): a kernel that is faster than the plan's. */
static gchar *
find_faster (GstGemmclTuner *self)
{
  g_autofree gchar *kernel = NULL;
  gboolean waited;

  if (!begin_turn (self, &waited))
    return NULL;
  set_state (self, SEARCHING);
  if (waited)
    kernel = find_known (self);
  if (!kernel)
    kernel = search (self);
  end_turn ();
  if (g_strcmp0 (kernel, self->kernel) != 0)
    return g_steal_pointer (&kernel);
  set_state (self, KEPT);
  return NULL;
}

/* Offers @plan until it is taken or the search is cancelled. Returns: whether it is wanted with
 * other operands. */
static gboolean
offer (GstGemmclTuner *self, GemmclPlan *plan)
{
  g_autoptr (GemmclPlan) unused = NULL;
  g_autoptr (GemmclPlan) old = NULL;
  gboolean again;

  g_mutex_lock (&self->lock);
  self->plan = g_object_ref (plan);
  self->state = OFFERED;
  while ((self->state == OFFERED || self->state == TAKEN) &&
         !g_cancellable_is_cancelled (self->cancellable))
    g_cond_wait (&self->changed, &self->lock);
  again = self->state == SEARCHING && !g_cancellable_is_cancelled (self->cancellable);
  /* Freed after the lock is released, since that may wait for the device. */
  unused = g_steal_pointer (&self->plan);
  old = g_steal_pointer (&self->old);
  g_mutex_unlock (&self->lock);
  return again;
}

/* Makes a plan with @kernel for the streaming thread. */
static void
offer_plan (GstGemmclTuner *self, const gchar *kernel)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan =
      gemmcl_plan_new (self->context, &self->problem.gemm, kernel, &error);
  gboolean again = TRUE;

  while (plan && again) {
    g_auto (GstGemmclOperands) operands = {{NULL}};

    g_mutex_lock (&self->lock);
    gst_gemmcl_operands_copy (&operands, &self->operands);
    g_mutex_unlock (&self->lock);
    again = gst_gemmcl_plan_set_operands (plan, &operands, &error) && offer (self, plan);
  }
  if (error)
    fail (self, error);
}

static gpointer
tuner_run (gpointer data)
{
  GstGemmclTuner *self = data;
  g_autofree gchar *kernel = NULL;

  lower_priority ();
  if (self->before)
    wait_for_end (self->before, 0);
  g_clear_pointer (&self->before, tuner_unref);
  kernel = find_faster (self);
  if (kernel)
    offer_plan (self, kernel);
  g_mutex_lock (&self->lock);
  self->ended = TRUE;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  tuner_unref (self);
  return NULL;
}

static GstGemmclTuner *
tuner_new (GstGemmcl *self)
{
  GstGemmclTuner *tuner = g_atomic_rc_box_new0 (GstGemmclTuner);

  g_mutex_init (&tuner->lock);
  g_cond_init (&tuner->changed);
  tuner->name = gst_object_get_name (GST_OBJECT (self));
  tuner->cancellable = g_cancellable_new ();
  g_mutex_lock (&self->lock);
  tuner->context = g_object_ref (self->device.context);
  tuner->before = self->tuner ? g_atomic_rc_box_acquire (self->tuner) : NULL;
  tuner->kernel = gemmcl_plan_get_kernel (self->slot.plan);
  gst_gemmcl_problem_copy (&tuner->problem, &self->slot.problem);
  gst_gemmcl_operands_copy (&tuner->operands, &self->operands.current);
  g_mutex_unlock (&self->lock);
  return tuner;
}

static gboolean
is_wanted (GstGemmcl *self)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (self->device.context);
  const GstGemmclAutoTune wanted = self->stream.settings.auto_tune;

  return (wanted == GST_GEMMCL_AUTO_TUNE_ON ||
          (wanted == GST_GEMMCL_AUTO_TUNE_AUTO && device->type == GEMMCL_DEVICE_TYPE_GPU)) &&
         gemmcl_plan_get_choice_source (self->slot.plan) == GEMMCL_CHOICE_RULES;
}

static void
set_tuner (GstGemmcl *self, GstGemmclTuner *tuner)
{
  g_autoptr (GstGemmclTuner) old = NULL;

  g_mutex_lock (&self->lock);
  old = self->tuner;
  self->tuner = tuner;
  g_mutex_unlock (&self->lock);
}

void
gst_gemmcl_tuner_start (GstGemmcl *self)
{
  g_autoptr (GstGemmclTuner) tuner = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread;

  if (!is_wanted (self))
    return;
  tuner = tuner_new (self);
  thread = g_thread_try_new ("gemmcl-tune", tuner_run, g_atomic_rc_box_acquire (tuner), &error);
  if (thread) {
    g_thread_unref (thread);
  } else {
    tuner->ended = TRUE;
    fail (tuner, error);
    tuner_unref (tuner);
  }
  set_tuner (self, g_steal_pointer (&tuner));
}

static gboolean
are_same (const GstGemmclOperands *a, const GstGemmclOperands *b)
{
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    if (a->matrix[i] != b->matrix[i])
      return FALSE;
  return TRUE;
}

GemmclPlan *
gst_gemmcl_tuner_take (GstGemmcl *self)
{
  GstGemmclTuner *tuner = self->tuner;
  GemmclPlan *plan = NULL;

  if (!tuner)
    return NULL;
  g_mutex_lock (&self->lock);
  g_mutex_lock (&tuner->lock);
  /* Operands that wait for the next buffer are prepared for the old plan. */
  if (tuner->state == OFFERED && !g_cancellable_is_cancelled (tuner->cancellable) &&
      !self->operands.has_next) {
    if (are_same (&tuner->operands, &self->operands.current)) {
      plan = g_steal_pointer (&tuner->plan);
      tuner->state = TAKEN;
    } else {
      gst_gemmcl_operands_copy (&tuner->operands, &self->operands.current);
      tuner->state = SEARCHING;
      g_cond_broadcast (&tuner->changed);
    }
  }
  g_mutex_unlock (&tuner->lock);
  g_mutex_unlock (&self->lock);
  return plan;
}

void
gst_gemmcl_tuner_leave (GstGemmcl *self, GemmclPlan *old)
{
  GstGemmclTuner *tuner = self->tuner;

  g_mutex_lock (&tuner->lock);
  tuner->old = old;
  g_mutex_unlock (&tuner->lock);
  set_state (tuner, SWAPPED);
}

void
gst_gemmcl_tuner_cancel (GstGemmcl *self)
{
  GstGemmclTuner *tuner = self->tuner;

  if (!tuner)
    return;
  g_cancellable_cancel (tuner->cancellable);
  g_mutex_lock (&tuner->lock);
  g_cond_broadcast (&tuner->changed);
  g_mutex_unlock (&tuner->lock);
  g_mutex_lock (&turn_lock);
  g_cond_broadcast (&turn_over);
  g_mutex_unlock (&turn_lock);
}

void
gst_gemmcl_tuner_stop (GstGemmcl *self)
{
  gst_gemmcl_tuner_cancel (self);
  if (self->tuner && !wait_for_end (self->tuner, g_get_monotonic_time () + GRACE))
    GST_WARNING_OBJECT (self, "The search for a faster kernel does not end; its thread is left "
                              "running.");
  set_tuner (self, NULL);
}

gchar *
gst_gemmcl_tuner_describe (GstGemmcl *self, gboolean *swapped)
{
  static const gchar *const names[] = {
      [WAITING] = "waiting", [SEARCHING] = "searching", [OFFERED] = "searching",
      [TAKEN] = "searching", [SWAPPED] = "swapped",     [KEPT] = "kept"};
  GstGemmclTuner *tuner = self->tuner;
  GemmclChoiceSource source =
      self->slot.plan ? gemmcl_plan_get_choice_source (self->slot.plan) : GEMMCL_CHOICE_NAMED;
  gchar *text;

  *swapped = FALSE;
  if (!tuner || g_cancellable_is_cancelled (tuner->cancellable))
    return g_strdup (source == GEMMCL_CHOICE_TUNED || source == GEMMCL_CHOICE_SHIPPED ? "known"
                                                                                      : "off");
  g_mutex_lock (&tuner->lock);
  *swapped = tuner->state == SWAPPED;
  text = tuner->state == FAILED ? g_strdup_printf ("failed: %s", tuner->why)
                                : g_strdup (names[tuner->state]);
  g_mutex_unlock (&tuner->lock);
  return text;
}
