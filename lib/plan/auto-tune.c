/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search for a faster kernel while a plan is in use. A thread of low priority searches, creates
 * a kernel plan with the new kernel and the plan's operands, and exchanges the plan's present one
 * for it between two runs:
 *
 *   waiting -> searching -> next made -> operands -> claim -> changed operands -> exchange -> free
 *
 * Runs take only the plan's lock. A prepared operand that was not used yet belongs to the present
 * kernel plan. The thread therefore claims the plan only when there is no such operand, and none is
 * prepared during the claim.
 */
#include "plan/plan.h"

#include "plan/choose.h"
#include "plan/kept.h"

#ifdef __linux__
  #include <sys/resource.h>
#endif

/* The nice value of the thread; the lowest priority has 19. */
#define NICENESS 10

/* A search. Its thread never ends if a compiler hangs. It therefore holds references to everything
 * that it uses, but keeps the plan alive only while it changes the plan. */
typedef struct {
  GWeakRef plan;
  GemmclContext *context;
  GemmclGemm problem;
  GemmclFrame frames[2];
  const gchar *kernel; /* the choice of the rules; static */
  GCancellable *cancellable;
} Search;

static Search *
search_new (GemmclPlan *plan)
{
  Search *self = g_new0 (Search, 1);

  g_weak_ref_init (&self->plan, plan);
  self->context = g_object_ref (plan->current->context);
  self->kernel = plan->current->name;
  gemmcl_copy_problem (&self->problem, self->frames, &plan->current->problem);
  self->cancellable = g_object_ref (plan->cancellable);
  return self;
}

static void
search_free (Search *self)
{
  g_weak_ref_clear (&self->plan);
  g_object_unref (self->context);
  g_object_unref (self->cancellable);
  g_free (self);
}

/* Returns: (nullable) (transfer full): the plan, locked; %NULL if it is gone. */
static GemmclPlan *
lock (Search *self)
{
  GemmclPlan *plan = g_weak_ref_get (&self->plan);

  if (plan != NULL)
    g_mutex_lock (&plan->lock);
  return plan;
}

/* Takes @plan. */
static void
unlock (GemmclPlan *plan)
{
  g_cond_broadcast (&plan->changed);
  g_mutex_unlock (&plan->lock);
  g_object_unref (plan);
}

/* Searches run one at a time: concurrent ones would distort each other's times and take too much of
 * the device. */
static GMutex turn_lock;
static GCond turn_over;
static gboolean is_searching;

static void
wake (void)
{
  g_mutex_lock (&turn_lock);
  g_cond_broadcast (&turn_over);
  g_mutex_unlock (&turn_lock);
}

/* Waits until no other search runs. @waited: (out): TRUE if another one ran. Returns: %FALSE if the
 * search was cancelled meanwhile. */
static gboolean
begin_turn (Search *self, gboolean *waited)
{
  const gulong id = g_cancellable_connect (self->cancellable, wake, NULL, NULL);
  gboolean begun;

  g_mutex_lock (&turn_lock);
  *waited = is_searching;
  while (is_searching && !g_cancellable_is_cancelled (self->cancellable))
    g_cond_wait (&turn_over, &turn_lock);
  begun = !is_searching;
  is_searching = TRUE;
  g_mutex_unlock (&turn_lock);
  g_cancellable_disconnect (self->cancellable, id);
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

/* Returns: (nullable): a kernel plan with the fastest kernel; %NULL without an error if that is the
 *   choice of the rules. */
static GemmclKernelPlan *
make_fastest (Search *self, GError **error)
{
  g_autoptr (GemmclTuningResult) result =
      gemmcl_tuning_search (self->context, &self->problem, NULL, self->cancellable, error);
  GemmclKernelPlan *next;
  GemmclPlan *plan;

  if (result == NULL)
    return NULL;
  plan = lock (self);
  if (plan != NULL) {
    plan->result = g_atomic_rc_box_acquire (result);
    unlock (plan);
  }
  if (result->best == NULL) {
    gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                 "There was no time to compare other kernels with the choice of the rules.");
    return NULL;
  }
  if (g_str_equal (result->best->kernel, self->kernel))
    return NULL;
  next = gemmcl_kernel_plan_new (self->context, &self->problem, result->best->kernel, error);
  if (next != NULL)
    next->source = GEMMCL_CHOICE_TUNED;
  return next;
}

/* Returns: (nullable): a kernel plan with a faster kernel than the choice of the rules. */
static GemmclKernelPlan *
make_faster (Search *self, GError **error)
{
  g_autoptr (GemmclKernelPlan) next = NULL;
  GemmclPlan *plan;
  gboolean waited;

  if (!begin_turn (self, &waited))
    return NULL;
  plan = lock (self);
  if (plan != NULL) {
    if (!g_cancellable_is_cancelled (self->cancellable))
      plan->tuning = GEMMCL_TUNING_STATE_SEARCHING;
    unlock (plan);
  }
  if (waited) /* another search may have stored the kernel */
    next = gemmcl_kernel_plan_new (self->context, &self->problem, NULL, NULL);
  if (next == NULL || next->source == GEMMCL_CHOICE_RULES) {
    g_clear_pointer (&next, gemmcl_kernel_plan_free);
    if (gemmcl_cl_begin_work (self->cancellable, error)) {
      next = make_fastest (self, error);
      gemmcl_cl_end_work ();
    }
  }
  end_turn ();
  return next != NULL && !g_str_equal (next->name, self->kernel) ? g_steal_pointer (&next) : NULL;
}

/* Prepares for @next the plan's operands that it does not have yet. */
static gboolean
give_operands (GemmclPlan *plan, GemmclKernelPlan *next, GError **error)
{
  for (guint i = 0; i < GEMMCL_N_KEPT; i++) {
    g_autoptr (GemmclMatrix) matrix = NULL;

    g_mutex_lock (&plan->lock);
    if (plan->current->kept[i].matrix != NULL)
      matrix = gemmcl_matrix_ref (plan->current->kept[i].matrix);
    g_mutex_unlock (&plan->lock);
    if (matrix != NULL && matrix != next->kept[i].matrix &&
        !gemmcl_kept_prepare (next, i, matrix, &next->kept[i], error))
      return FALSE;
  }
  return TRUE;
}

/* Waits until no operand is prepared for the present kernel, then claims the plan. Returns: %FALSE
 * if the search was cancelled. */
static gboolean
claim (Search *self, GemmclPlan *plan)
{
  gboolean wanted;

  g_mutex_lock (&plan->lock);
  while (plan->n_prepared > 0 && !g_cancellable_is_cancelled (self->cancellable))
    g_cond_wait (&plan->changed, &plan->lock);
  wanted = plan->claimed = !g_cancellable_is_cancelled (self->cancellable);
  g_mutex_unlock (&plan->lock);
  return wanted;
}

/* Ends the claim. If @next is @ready, that is, has all operands, it becomes the plan's current
 * kernel plan. Returns: the kernel plan to free: the old one, or @next. */
static GemmclKernelPlan *
exchange (GemmclPlan *plan, GemmclKernelPlan *next, gboolean ready)
{
  GemmclKernelPlan *rest = next;

  g_mutex_lock (&plan->lock);
  if (ready && plan->claimed) {
    rest = plan->current;
    gemmcl_kernel_plan_adopt_previous (next, rest);
    plan->current = next;
    plan->tuning = GEMMCL_TUNING_STATE_SWAPPED;
  }
  plan->claimed = FALSE;
  g_cond_broadcast (&plan->changed);
  g_mutex_unlock (&plan->lock);
  return rest;
}

/* Takes @next. */
static void
take_over (Search *self, GemmclKernelPlan *next, GError **error)
{
  g_autoptr (GemmclPlan) plan = g_weak_ref_get (&self->plan);

  if (plan != NULL && give_operands (plan, next, error) && claim (self, plan)) {
    next = exchange (plan, next, give_operands (plan, next, error));
    gemmcl_plan_wait (plan); /* for runs of the old kernel */
  }
  gemmcl_kernel_plan_free (next);
}

/* @why: (nullable): the reason if the search failed */
static void
end (Search *self, const GError *why)
{
  GemmclMatrix *matrices[GEMMCL_N_KEPT];
  GemmclPlan *plan = lock (self);

  if (plan == NULL)
    return;
  if (!g_cancellable_is_cancelled (self->cancellable) &&
      (why != NULL || plan->tuning == GEMMCL_TUNING_STATE_SEARCHING)) {
    plan->tuning = why != NULL ? GEMMCL_TUNING_STATE_FAILED : GEMMCL_TUNING_STATE_KEPT;
    plan->why = why != NULL ? g_strdup (why->message) : NULL;
  }
  plan->searches = FALSE;
  for (guint i = 0; i < GEMMCL_N_KEPT; i++)
    matrices[i] = g_steal_pointer (&plan->current->kept[i].matrix);
  unlock (plan);
  for (guint i = 0; i < GEMMCL_N_KEPT; i++)
    g_clear_pointer (&matrices[i], gemmcl_matrix_unref);
}

static gpointer
search_run (gpointer data)
{
  Search *self = data;
  g_autoptr (GError) error = NULL;
  GemmclKernelPlan *next;

#ifdef __linux__
  /* On Linux 0 is the calling thread, in POSIX the process. */
  setpriority (PRIO_PROCESS, 0, NICENESS);
#endif
  next = make_faster (self, &error);
  if (next != NULL)
    take_over (self, next, &error);
  end (self, error);
  search_free (self);
  return NULL;
}

void
gemmcl_plan_auto_tune (GemmclPlan *self, GemmclAutoTune mode)
{
  g_autoptr (GError) error = NULL;
  GThread *thread;
  Search *search;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (self->cancellable == NULL &&
                    self->current->kept[GEMMCL_PLAN_B].buffer == NULL &&
                    self->current->kept[GEMMCL_PLAN_BIAS].buffer == self->current->zeros &&
                    self->current->kept[GEMMCL_PLAN_C].buffer == NULL);

  if (self->current->source != GEMMCL_CHOICE_RULES || mode == GEMMCL_AUTO_TUNE_OFF ||
      (mode == GEMMCL_AUTO_TUNE_AUTO && self->current->device->type != GEMMCL_DEVICE_TYPE_GPU))
    return;
  self->cancellable = g_cancellable_new ();
  self->tuning = GEMMCL_TUNING_STATE_WAITING;
  self->searches = TRUE;
  search = search_new (self);
  thread = g_thread_try_new ("gemmcl-tune", search_run, search, &error);
  if (thread != NULL) {
    g_thread_unref (thread);
    return;
  }
  end (search, error);
  search_free (search);
}

gboolean
gemmcl_plan_cancel_tuning (GemmclPlan *self, gint64 timeout)
{
  const gint64 now = g_get_monotonic_time ();
  const gint64 until = now + MIN (timeout, G_MAXINT64 - now);
  gboolean ended;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), TRUE);
  g_return_val_if_fail (timeout >= 0, TRUE);

  if (self->cancellable == NULL)
    return TRUE;
  g_cancellable_cancel (self->cancellable);
  g_mutex_lock (&self->lock);
  if (self->tuning < GEMMCL_TUNING_STATE_KEPT) /* it may have ended already */
    self->tuning = GEMMCL_TUNING_STATE_OFF;
  self->claimed = FALSE;
  g_cond_broadcast (&self->changed);
  while (self->searches && g_cond_wait_until (&self->changed, &self->lock, until))
    ;
  ended = !self->searches;
  g_mutex_unlock (&self->lock);
  return ended;
}

GemmclTuningState
gemmcl_plan_get_tuning (GemmclPlan *self, const GemmclTuningResult **result, const gchar **why)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), GEMMCL_TUNING_STATE_OFF);

  locker = g_mutex_locker_new (&self->lock);
  if (result != NULL)
    *result = self->result;
  if (why != NULL)
    *why = self->why;
  return self->cancellable == NULL && (self->current->source == GEMMCL_CHOICE_TUNED ||
                                       self->current->source == GEMMCL_CHOICE_SHIPPED)
             ? GEMMCL_TUNING_STATE_KNOWN
             : self->tuning;
}

const gchar *
gemmcl_tuning_state_get_name (GemmclTuningState state)
{
  static const gchar *const names[] = {"off",  "known",   "waiting", "searching",
                                       "kept", "swapped", "failed"};

  g_return_val_if_fail ((guint)state < G_N_ELEMENTS (names), NULL);
  return names[state];
}
