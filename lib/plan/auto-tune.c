/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search for a faster kernel while a plan is in use. A thread of low priority searches, creates
 * a body with the new kernel and the plan's operands, and replaces the plan's body between two
 * runs:
 *
 *   waiting -> searching -> body made -> operands -> claim -> changed operands -> exchange -> free
 *
 * Runs take only the plan's lock. A prepared operand that was not used yet belongs to the present
 * body. The thread therefore claims the plan only when there is no such operand, and none is
 * prepared during the claim.
 */
#include "gemmcl-tuning.h"
#include "plan/plan.h"

#ifdef __linux__
  #include <sys/resource.h>
  #include <sys/syscall.h>
  #include <unistd.h>
#endif

/* The nice value of the thread; the lowest priority has 19. */
#define NICENESS 10

/** GemmclTuner: A plan's search. Its thread may never end, so it holds references to everything
 * that it uses, and none to the plan. */
struct _GemmclTuner {
  GemmclContext *context;
  GemmclGemm problem;
  GemmclImage images[2];
  const gchar *kernel; /* the choice of the rules; static */
  GCancellable *cancellable;

  GMutex lock; /* guards the following fields; taken before the plan's lock */
  GCond changed;
  GemmclPlan *plan; /* NULL: the plan was finalized */
  GemmclTuningState state;
  GemmclTuningResult *result; /* constant once set, like why */
  gchar *why;
  guint n_prepared;  /* operands that are being prepared, or are neither used nor freed */
  gboolean claimed;  /* no operand may be prepared */
  gboolean draining; /* runs of the old body may be in flight */
  gboolean ended;
};

static void
tuner_clear (gpointer data)
{
  GemmclTuner *self = data;

  g_clear_object (&self->context);
  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->result, gemmcl_tuning_result_free);
  g_free (self->why);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
}

static void
tuner_unref (GemmclTuner *self)
{
  g_atomic_rc_box_release_full (self, tuner_clear);
}

/* Locks the tuner and its plan. Returns: (nullable): the plan. */
static GemmclPlan *
lock (GemmclTuner *self)
{
  g_mutex_lock (&self->lock);
  if (self->plan != NULL)
    g_mutex_lock (&self->plan->lock);
  return self->plan;
}

static void
unlock (GemmclTuner *self)
{
  if (self->plan != NULL)
    g_mutex_unlock (&self->plan->lock);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

/* Needs the lock, like the next function. */
static void
set_state (GemmclTuner *self, GemmclTuningState state)
{
  if (!g_cancellable_is_cancelled (self->cancellable))
    self->state = state;
}

static gboolean
is_wanted (const GemmclTuner *self)
{
  return self->plan != NULL && !g_cancellable_is_cancelled (self->cancellable);
}

static void
lower_priority (void)
{
#ifdef __linux__
  /* On Linux each thread has a priority, in POSIX only the process. */
  setpriority (PRIO_PROCESS, (id_t)syscall (SYS_gettid), NICENESS);
#endif
}

/* Searches run one at a time: concurrent ones would distort each other's times and take too much of
 * the device. */
static GMutex turn_lock;
static GCond turn_over;
static gboolean is_searching;

/* @waited: (out): TRUE if it waited for another search. Returns: %FALSE if it was cancelled. */
static gboolean
begin_turn (GemmclTuner *self, gboolean *waited)
{
  gboolean begun;

  g_mutex_lock (&turn_lock);
  *waited = is_searching;
  while (is_searching && !g_cancellable_is_cancelled (self->cancellable))
    g_cond_wait (&turn_over, &turn_lock);
  begun = !is_searching;
  is_searching = TRUE;
  g_mutex_unlock (&turn_lock);
  if (!begun)
    return FALSE;
  g_mutex_lock (&self->lock);
  set_state (self, GEMMCL_TUNING_STATE_SEARCHING);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

static void
end_turn (void)
{
  g_mutex_lock (&turn_lock);
  is_searching = FALSE;
  g_cond_broadcast (&turn_over);
  g_mutex_unlock (&turn_lock);
}

/* Returns: (nullable): a body with the fastest kernel; %NULL without an error if that is the choice
 *   of the rules. */
static GemmclBody *
make_fastest (GemmclTuner *self, GError **error)
{
  GemmclTuningResult *result =
      gemmcl_tuning_search (self->context, &self->problem, NULL, self->cancellable, error);
  GemmclBody *body;

  if (result == NULL)
    return NULL;
  g_mutex_lock (&self->lock);
  self->result = result;
  g_mutex_unlock (&self->lock);
  if (result->best == NULL) {
    gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                 "There was no time to compare other kernels with the choice of the rules.");
    return NULL;
  }
  if (g_str_equal (result->best->kernel, self->kernel))
    return NULL;
  body = gemmcl_body_new (self->context, &self->problem, result->best->kernel, error);
  if (body != NULL)
    body->source = GEMMCL_CHOICE_TUNED;
  return body;
}

/* Returns: (nullable): a body with a faster kernel than the choice of the rules. */
static GemmclBody *
make_faster (GemmclTuner *self, GError **error)
{
  g_autoptr (GemmclBody) body = NULL;
  gboolean waited;

  if (!begin_turn (self, &waited))
    return NULL;
  if (waited) /* another search may have stored the kernel */
    body = gemmcl_body_new (self->context, &self->problem, NULL, NULL);
  if (body == NULL || body->source == GEMMCL_CHOICE_RULES) {
    g_clear_pointer (&body, gemmcl_body_free);
    body = make_fastest (self, error);
  }
  end_turn ();
  return body != NULL && !g_str_equal (body->name, self->kernel) ? g_steal_pointer (&body) : NULL;
}

/* Returns: (nullable) (transfer full): the source of the operand that the plan uses. */
static GemmclMatrix *
get_matrix (GemmclTuner *self, GemmclPlanOperand operand)
{
  const GemmclPlan *plan = lock (self);
  GemmclMatrix *matrix = plan ? plan->body->operands[operand].matrix : NULL;

  if (matrix != NULL)
    gemmcl_matrix_ref (matrix);
  unlock (self);
  return matrix;
}

/* Gives @body those operands of the plan that it does not have. */
static gboolean
give_operands (GemmclTuner *self, GemmclBody *body, GError **error)
{
  for (guint i = 0; i < GEMMCL_N_PLAN_OPERANDS; i++) {
    g_autoptr (GemmclMatrix) matrix = get_matrix (self, i);

    if (matrix != NULL && matrix != body->operands[i].matrix &&
        !gemmcl_body_prepare (body, i, matrix, &body->operands[i], error))
      return FALSE;
  }
  return TRUE;
}

/* Waits until no operand is prepared for the present body, then claims the plan. Returns: %FALSE if
 * the search is no longer wanted. */
static gboolean
claim (GemmclTuner *self)
{
  gboolean wanted;

  g_mutex_lock (&self->lock);
  while (self->n_prepared > 0 && is_wanted (self))
    g_cond_wait (&self->changed, &self->lock);
  wanted = self->claimed = is_wanted (self);
  g_mutex_unlock (&self->lock);
  return wanted;
}

/* Ends the claim. If @body is @ready, with all operands, it becomes the plan's body. Returns: the
 * body to free: the plan's old one, or @body. */
static GemmclBody *
exchange (GemmclTuner *self, GemmclBody *body, gboolean ready)
{
  GemmclPlan *plan = lock (self);
  GemmclBody *rest = body;

  if (ready && is_wanted (self)) {
    rest = plan->body;
    gemmcl_body_adopt_previous (body, rest);
    plan->body = body;
    self->state = GEMMCL_TUNING_STATE_SWAPPED;
    self->draining = TRUE;
  }
  self->claimed = FALSE;
  unlock (self);
  return rest;
}

/* Waits for the runs of @body, the plan's old body, and counts them. */
static void
drain (GemmclTuner *self, GemmclBody *body)
{
  GemmclPlan *plan;

  gemmcl_body_wait (body);
  plan = lock (self);
  if (plan != NULL)
    gemmcl_plan_reap_locked (plan, body);
  self->draining = FALSE;
  unlock (self);
}

/* Takes @body. */
static void
take_over (GemmclTuner *self, GemmclBody *body, GError **error)
{
  if (give_operands (self, body, error) && claim (self)) {
    body = exchange (self, body, give_operands (self, body, error));
    drain (self, body);
  }
  gemmcl_body_free (body);
}

/* @why: (nullable): the reason if the search failed */
static void
end (GemmclTuner *self, const GError *why)
{
  GemmclMatrix *matrices[GEMMCL_N_PLAN_OPERANDS] = {NULL};
  GemmclPlan *plan = lock (self);

  if (why != NULL && !g_cancellable_is_cancelled (self->cancellable))
    self->why = g_strdup (why->message);
  if (why != NULL || self->state == GEMMCL_TUNING_STATE_SEARCHING)
    set_state (self, why != NULL ? GEMMCL_TUNING_STATE_FAILED : GEMMCL_TUNING_STATE_KEPT);
  if (plan != NULL)
    plan->keeps_matrices = FALSE;
  for (guint i = 0; plan != NULL && i < GEMMCL_N_PLAN_OPERANDS; i++)
    matrices[i] = g_steal_pointer (&plan->body->operands[i].matrix);
  self->ended = TRUE;
  unlock (self);
  for (guint i = 0; i < GEMMCL_N_PLAN_OPERANDS; i++)
    g_clear_pointer (&matrices[i], gemmcl_matrix_unref);
}

static gpointer
tuner_run (gpointer data)
{
  GemmclTuner *self = data;
  g_autoptr (GError) error = NULL;
  GemmclBody *body;

  lower_priority ();
  body = make_faster (self, &error);
  if (body != NULL)
    take_over (self, body, &error);
  end (self, error);
  tuner_unref (self);
  return NULL;
}

static GemmclTuner *
tuner_new (GemmclPlan *plan)
{
  GemmclTuner *self = g_atomic_rc_box_new0 (GemmclTuner);

  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  self->cancellable = g_cancellable_new ();
  self->context = g_object_ref (plan->body->context);
  self->kernel = plan->body->name;
  gemmcl_plan_copy_problem (&self->problem, self->images, &plan->body->problem);
  self->plan = plan;
  self->state = GEMMCL_TUNING_STATE_WAITING;
  return self;
}

void
gemmcl_plan_auto_tune (GemmclPlan *self, GemmclAutoTune mode)
{
  g_autoptr (GError) error = NULL;
  GThread *thread;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (self->tuner == NULL && self->body->operands[GEMMCL_PLAN_B].buffer == NULL &&
                    self->body->operands[GEMMCL_PLAN_C].buffer == NULL);

  if (self->body->source != GEMMCL_CHOICE_RULES || mode == GEMMCL_AUTO_TUNE_OFF ||
      (mode == GEMMCL_AUTO_TUNE_AUTO && self->body->device->type != GEMMCL_DEVICE_TYPE_GPU))
    return;
  self->tuner = tuner_new (self);
  self->keeps_matrices = TRUE;
  thread =
      g_thread_try_new ("gemmcl-tune", tuner_run, g_atomic_rc_box_acquire (self->tuner), &error);
  if (thread != NULL) {
    g_thread_unref (thread);
    return;
  }
  end (self->tuner, error);
  tuner_unref (self->tuner);
}

static void
cancel (GemmclTuner *self)
{
  g_cancellable_cancel (self->cancellable);
  g_mutex_lock (&self->lock);
  if (self->state < GEMMCL_TUNING_STATE_KEPT) /* it may have ended already */
    self->state = GEMMCL_TUNING_STATE_OFF;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  g_mutex_lock (&turn_lock);
  g_cond_broadcast (&turn_over);
  g_mutex_unlock (&turn_lock);
}

gboolean
gemmcl_plan_cancel_tuning (GemmclPlan *self, gint64 timeout)
{
  const gint64 until = g_get_monotonic_time () + timeout;
  GemmclTuner *tuner;
  gboolean ended;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), TRUE);
  g_return_val_if_fail (timeout >= 0, TRUE);

  tuner = self->tuner;
  if (tuner == NULL)
    return TRUE;
  cancel (tuner);
  g_mutex_lock (&tuner->lock);
  while (!tuner->ended && g_cond_wait_until (&tuner->changed, &tuner->lock, until))
    ;
  ended = tuner->ended;
  g_mutex_unlock (&tuner->lock);
  return ended;
}

void
gemmcl_tuner_leave (GemmclTuner *self)
{
  cancel (self);
  g_mutex_lock (&self->lock);
  self->plan = NULL;
  while (self->draining)
    g_cond_wait (&self->changed, &self->lock);
  g_mutex_unlock (&self->lock);
  tuner_unref (self);
}

GemmclTuner *
gemmcl_tuner_begin (GemmclTuner *self)
{
  g_mutex_lock (&self->lock);
  /* A cancelled claim ends without an exchange. */
  while (self->claimed && is_wanted (self))
    g_cond_wait (&self->changed, &self->lock);
  self->n_prepared++;
  g_mutex_unlock (&self->lock);
  return g_atomic_rc_box_acquire (self);
}

void
gemmcl_tuner_end (GemmclTuner *self)
{
  g_mutex_lock (&self->lock);
  self->n_prepared--;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  tuner_unref (self);
}

GemmclTuningState
gemmcl_plan_get_tuning (GemmclPlan *self, const GemmclTuningResult **result, const gchar **why)
{
  static GemmclTuner none; /* of a plan without a search */
  GemmclChoiceSource source;
  GemmclTuner *tuner;
  GemmclTuningState state;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), GEMMCL_TUNING_STATE_OFF);

  source = gemmcl_plan_get_choice_source (self);
  tuner = self->tuner ? self->tuner : &none;
  g_mutex_lock (&tuner->lock);
  state = tuner->state;
  if (tuner == &none && (source == GEMMCL_CHOICE_TUNED || source == GEMMCL_CHOICE_SHIPPED))
    state = GEMMCL_TUNING_STATE_KNOWN;
  if (result != NULL)
    *result = tuner->result;
  if (why != NULL)
    *why = tuner->why;
  g_mutex_unlock (&tuner->lock);
  return state;
}

const gchar *
gemmcl_tuning_state_get_name (GemmclTuningState state)
{
  static const gchar *const names[] = {"off",  "known",   "waiting", "searching",
                                       "kept", "swapped", "failed"};

  g_return_val_if_fail ((guint)state < G_N_ELEMENTS (names), NULL);
  return names[state];
}
