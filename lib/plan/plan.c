/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plans: creation, operands and the entry points of runs. A new operand is prepared beside the old
 * one, without the plan's lock, and then exchanged for it. No run waits for the preparation, and no
 * run sees half of an operand.
 */
#include "plan/plan.h"

#include "plan/choose.h"
#include "plan/data.h"
#include "plan/kept.h"
#include "problem/pool.h"

G_DEFINE_FINAL_TYPE (GemmclPlan, gemmcl_plan, G_TYPE_OBJECT)

static void
gemmcl_plan_init (GemmclPlan *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
}

void
gemmcl_plan_wait (GemmclPlan *self)
{
  g_autoptr (GPtrArray) events = NULL;

  g_mutex_lock (&self->lock);
  events = gemmcl_runs_get_events (&self->runs);
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < events->len; i++)
    gemmcl_context_wait (self->context, events->pdata[i]);
}

static void
gemmcl_plan_finalize (GObject *object)
{
  GemmclPlan *self = GEMMCL_PLAN (object);

  g_cancellable_cancel (self->cancellable);
  gemmcl_plan_wait (self);
  gemmcl_runs_clear (&self->runs);
  gemmcl_runs_clear (&self->inline_runs);
  g_clear_pointer (&self->inlined, gemmcl_kernel_plan_free);
  g_clear_pointer (&self->inline_queue, clReleaseCommandQueue);
  g_clear_pointer (&self->current, gemmcl_kernel_plan_free);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->context);
  g_clear_pointer (&self->result, gemmcl_tuning_result_free);
  g_free (self->why);
  g_cond_clear (&self->changed);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gemmcl_plan_parent_class)->finalize (object);
}

static void
gemmcl_plan_class_init (GemmclPlanClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gemmcl_plan_finalize;
}

static void
result_clear (gpointer data)
{
  GemmclTuningResult *result = data;

  g_ptr_array_unref (result->candidates);
  g_free (result->why_not_stored);
}

void
gemmcl_tuning_result_free (GemmclTuningResult *result)
{
  g_atomic_rc_box_release_full (result, result_clear);
}

G_DEFINE_BOXED_TYPE (GemmclTuningResult, gemmcl_tuning_result, g_atomic_rc_box_acquire,
                     gemmcl_tuning_result_free)

/* Held while commands enter the queue of an inline context. The inline device of PoCL 6 computes
 * wrong numbers if a command has to wait, so it must not find another thread's unfinished. */
static GMutex inline_lock;

/* Makes the plan's counterpart on the inline device, if that is the faster one for @gemm. */
static void
add_inline (GemmclPlan *self, const GemmclGemm *gemm, const gchar *kernel)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&inline_lock);
  GemmclContext *context = gemmcl_context_find_inline (self->context, gemm);

  if (context != NULL &&
      (self->inline_queue = gemmcl_context_create_queue (context, CL_QUEUE_PROFILING_ENABLE, NULL)))
    self->inlined = gemmcl_kernel_plan_new (context, gemm, kernel, NULL);
}

GemmclPlan *
gemmcl_plan_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 GError **error)
{
  g_autoptr (GemmclPlan) self = NULL;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), NULL);
  g_return_val_if_fail (gemm != NULL, NULL);

  if (!gemmcl_gemm_validate (gemm, error))
    return NULL;
  self = g_object_new (GEMMCL_TYPE_PLAN, NULL);
  self->context = g_object_ref (context);
  self->current = gemmcl_kernel_plan_new (context, gemm, kernel, error);
  if (self->current == NULL)
    return NULL;
  add_inline (self, gemm, kernel);
  gemmcl_plan_print (self, gemm);
  return g_steal_pointer (&self);
}

const gchar *
gemmcl_plan_get_kernel (GemmclPlan *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  locker = g_mutex_locker_new (&self->lock);
  return self->current->name;
}

void
gemmcl_plan_get_info (GemmclPlan *self, GemmclPlanInfo *info)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (info != NULL);

  locker = g_mutex_locker_new (&self->lock);
  *info = gemmcl_kernel_plan_get_info (self->current);
}

struct _GemmclPrepared {
  GemmclPlan *plan; /* keeps its kernel until the operand is used; NULL afterwards */
  GemmclPlanOperand operand;
  GemmclKept kept;
  GemmclKept inlined; /* for the inline device, if the plan uses it */
};

/* Adds @by to n_prepared: while it is not 0, the kernel does not change. Needs the lock. */
static void
count_prepared (GemmclPlan *self, gint by)
{
  self->n_prepared += by;
  g_cond_broadcast (&self->changed);
}

static void
prepared_clear (gpointer prepared)
{
  GemmclPrepared *self = prepared;

  if (self->plan != NULL) {
    g_mutex_lock (&self->plan->lock);
    count_prepared (self->plan, -1);
    g_mutex_unlock (&self->plan->lock);
  }
  g_clear_object (&self->plan);
  gemmcl_kept_clear (&self->kept);
  gemmcl_kept_clear (&self->inlined);
}

void
gemmcl_prepared_free (GemmclPrepared *self)
{
  g_atomic_rc_box_release_full (self, prepared_clear);
}

G_DEFINE_BOXED_TYPE (GemmclPrepared, gemmcl_prepared, g_atomic_rc_box_acquire, gemmcl_prepared_free)

static gboolean
prepare_inline (GemmclPlan *self, GemmclPrepared *prepared, GemmclMatrix *matrix, GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&inline_lock);

  if (!gemmcl_kept_prepare (self->inlined, prepared->operand, matrix, &prepared->inlined, error))
    return FALSE;
  /* No search replaces the kernel of the inline device. */
  g_clear_pointer (&prepared->inlined.matrix, gemmcl_matrix_unref);
  return TRUE;
}

GemmclPrepared *
gemmcl_plan_prepare (GemmclPlan *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                     GError **error)
{
  g_autoptr (GemmclPrepared) prepared = NULL;
  GemmclKernelPlan *current;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  g_return_val_if_fail ((guint)operand < GEMMCL_N_KEPT, NULL);
  g_return_val_if_fail (matrix != NULL, NULL);

  prepared = g_atomic_rc_box_new0 (GemmclPrepared);
  prepared->plan = g_object_ref (self);
  prepared->operand = operand;
  g_mutex_lock (&self->lock);
  while (self->claimed)
    g_cond_wait (&self->changed, &self->lock);
  count_prepared (self, 1);
  current = self->current;
  g_mutex_unlock (&self->lock);
  return gemmcl_kept_prepare (current, operand, matrix, &prepared->kept, error) &&
                 (self->inlined == NULL || prepare_inline (self, prepared, matrix, error))
             ? g_steal_pointer (&prepared)
             : NULL;
}

static void
exchange (GemmclKept *a, GemmclKept *b)
{
  const GemmclKept old = *a;

  *a = *b;
  *b = old;
}

void
gemmcl_plan_use (GemmclPlan *self, GemmclPrepared *prepared)
{
  GemmclKept *kept;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (prepared != NULL && prepared->plan == self);

  g_mutex_lock (&self->lock);
  kept = &self->current->kept[prepared->operand];
  exchange (kept, &prepared->kept);
  if (self->inlined != NULL)
    exchange (&self->inlined->kept[prepared->operand], &prepared->inlined);
  if (!self->searches)
    prepared->kept.matrix = g_steal_pointer (&kept->matrix);
  count_prepared (self, -1);
  g_mutex_unlock (&self->lock);
  g_clear_object (&prepared->plan);
}

gboolean
gemmcl_plan_set (GemmclPlan *self, GemmclPlanOperand operand, GemmclMatrix *matrix, GError **error)
{
  g_autoptr (GemmclPrepared) prepared = gemmcl_plan_prepare (self, operand, matrix, error);

  if (prepared != NULL)
    gemmcl_plan_use (self, prepared);
  return prepared != NULL;
}

void
gemmcl_plan_reset_previous (GemmclPlan *self)
{
  g_return_if_fail (GEMMCL_IS_PLAN (self));

  g_mutex_lock (&self->lock);
  self->current->state_is_void = TRUE;
  g_mutex_unlock (&self->lock);
}

void
gemmcl_plan_adopt_previous (GemmclPlan *self, GemmclPlan *from)
{
  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (GEMMCL_IS_PLAN (from));
  g_return_if_fail (self != from);

  g_mutex_lock (&MIN (self, from)->lock);
  g_mutex_lock (&MAX (self, from)->lock);
  gemmcl_kernel_plan_adopt_previous (self->current, from->current);
  g_mutex_unlock (&self->lock);
  g_mutex_unlock (&from->lock);
}

void
gemmcl_plan_get_stats (GemmclPlan *self, GemmclPlanStats *stats)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;
  GemmclPlanStats inlined;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (stats != NULL);

  locker = g_mutex_locker_new (&self->lock);
  *stats = gemmcl_runs_get_stats (&self->runs);
  inlined = gemmcl_runs_get_stats (&self->inline_runs);
  stats->runs += inlined.runs;
  stats->inline_runs = inlined.runs;
  stats->kernel_ns += inlined.kernel_ns;
  stats->flops += inlined.flops;
  stats->bytes_in += inlined.bytes_in;
  stats->bytes_out += inlined.bytes_out;
  stats->copies += inlined.copies;
}

/* A caller's struct may have the size of an earlier version. */
static gpointer
run_copy (gpointer run)
{
  return g_memdup2 (run, ((const GemmclRun *)run)->size);
}

G_DEFINE_BOXED_TYPE (GemmclRun, gemmcl_run, run_copy, g_free)

GemmclRun *
gemmcl_run_new (void)
{
  GemmclRun run = GEMMCL_RUN_INIT;

  return run_copy (&run);
}

/* TRUE if the inline device may do @run: the plan uses it, and the run waits for nothing, so that
 * its commands run at once. */
static gboolean
is_inline (GemmclPlan *self, const GemmclRun *run)
{
  if (self->inlined == NULL || run->queue != NULL || run->acquire != NULL)
    return FALSE;
  for (guint i = 0; i < run->n_wait; i++)
    if (gemmcl_event_get_status (run->wait[i]) != CL_COMPLETE)
      return FALSE;
  return gemmcl_runs_are_done (&self->runs);
}

gboolean
gemmcl_plan_submit (GemmclPlan *self, const GemmclRun *run, cl_event *first, cl_event *done,
                    GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;
  const GemmclGemm *problem;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_return_val_if_fail (run != NULL, FALSE);
  if (run->size < sizeof (GemmclRun))
    return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                        "A GemmclRun of %zu bytes is shorter than the %zu of this library; "
                        "start from GEMMCL_RUN_INIT.",
                        run->size, sizeof (GemmclRun));
  g_return_val_if_fail (run->a != NULL || run->alpha == 0.0, FALSE);
  g_return_val_if_fail (!run->acquire == !run->release, FALSE);
  g_return_val_if_fail (run->wait != NULL || run->n_wait == 0, FALSE);

  locker = g_mutex_locker_new (&self->lock);
  problem = &self->current->problem;
  g_return_val_if_fail (!run->d == !!problem->omit_d, FALSE);
  g_return_val_if_fail (!run->row_outputs == !problem->row_outputs, FALSE);
  g_return_val_if_fail (!run->previous || problem->addend == GEMMCL_ADDEND_PREVIOUS, FALSE);
  if (!gemmcl_data_check_run (self->current, run, error))
    return FALSE;
  if (is_inline (self, run)) {
    GemmclRun inlined = *run;

    inlined.queue = self->inline_queue;
    return gemmcl_runs_submit (&self->inline_runs, self->inlined, &inlined, first, done, error);
  }
  return gemmcl_runs_submit (&self->runs, self->current, run, first, done, error);
}

void
gemmcl_plan_explain_copies (GemmclPlan *self, const GemmclRun *run, GemmclCopyReason *a,
                            GemmclCopyReason *d)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (run != NULL && a != NULL && d != NULL);

  locker = g_mutex_locker_new (&self->lock);
  *a = gemmcl_data_explain_copy (self->current, run, GEMMCL_OPERAND_A,
                                 run->alpha != 0.0 ? run->a : NULL);
  *d = gemmcl_data_explain_copy (self->current, run, GEMMCL_OPERAND_D, run->d);
}

gboolean
gemmcl_plan_run (GemmclPlan *self, const GemmclRun *run, GError **error)
{
  g_auto (cl_event) done = NULL;

  return gemmcl_plan_submit (self, run, NULL, &done, error) &&
         gemmcl_cl_check (gemmcl_context_wait (self->context, done), error,
                          "clWaitForEvents after %s", gemmcl_plan_get_kernel (self));
}

/* Returns: the places of A or D of each problem. */
static GemmclData *
find_problems (const GemmclGemm *gemm, GemmclOperand which, gconstpointer data)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, which, FALSE);
  const gsize size = gemmcl_gemm_get_element_size (gemm, which);
  const gsize batch = gemmcl_gemm_get_batch (gemm);
  GemmclData *found = g_new0 (GemmclData, batch);

  for (gsize i = 0; i < batch; i++)
    found[i].host[0] = (guchar *)data + (layout.offset + i * layout.stride) * size;
  return found;
}

gboolean
gemmcl_plan_run_host (GemmclPlan *self, gdouble alpha, gdouble beta, gconstpointer a, gpointer d,
                      gpointer row_outputs, GError **error)
{
  g_autofree GemmclData *host_a = NULL, *host_d = NULL, *host_rows = NULL;
  GemmclRun run = GEMMCL_RUN_INIT;
  GemmclGemm gemm, rows = GEMMCL_GEMM_INIT;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), FALSE);
  g_mutex_lock (&self->lock);
  gemm = self->current->problem;
  g_mutex_unlock (&self->lock);
  g_return_val_if_fail (gemm.a_frame == NULL && gemm.d_frame == NULL, FALSE);

  rows.m = gemmcl_gemm_count_rows_of_d (&gemm, gemm.m);
  rows.n = gemmcl_gemm_count_row_outputs (&gemm);
  rows.batch = gemm.batch;
  run.alpha = alpha;
  run.beta = beta;
  run.a = host_a = a ? find_problems (&gemm, GEMMCL_OPERAND_A, a) : NULL;
  run.d = host_d = d ? find_problems (&gemm, GEMMCL_OPERAND_D, d) : NULL;
  run.row_outputs = host_rows =
      row_outputs ? find_problems (&rows, GEMMCL_OPERAND_D, row_outputs) : NULL;
  return gemmcl_plan_run (self, &run, error);
}

/* Returns: a buffer with B or C of all problems of the batch, from @host. */
static cl_mem
upload (GemmclContext *context, const GemmclGemm *gemm, GemmclOperand which, const gfloat *host,
        const gchar *what, GError **error)
{
  g_autofree gchar *call = g_strdup_printf ("Writing %s to the device", what);
  g_auto (cl_mem) buffer = NULL;
  cl_event done = NULL;
  cl_int status;
  gsize size;

  if (!gemmcl_gemm_get_extent (gemm, which, &size))
    size = G_MAXSIZE;
  buffer = gemmcl_context_create_buffer (context, size, what, error);
  if (buffer == NULL)
    return NULL;
  status = clEnqueueWriteBuffer (gemmcl_context_get_cl_queue (context), buffer, CL_FALSE, 0, size,
                                 host, 0, NULL, &done);
  return gemmcl_context_finish (context, status, done, call, error) ? g_steal_pointer (&buffer)
                                                                    : NULL;
}

gboolean
gemmcl_gemm_run (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 gconstpointer a, const gfloat *b, const gfloat *c, const gfloat *bias, gpointer d,
                 GError **error)
{
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GemmclMatrix) values = NULL;
  g_autofree GemmclData *host_a = NULL, *host_d = NULL;
  g_auto (cl_mem) device_b = NULL;
  g_auto (cl_mem) device_c = NULL;
  GemmclRun run = GEMMCL_RUN_INIT;
  gboolean has_c;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (gemm != NULL && d != NULL, FALSE);
  g_return_val_if_fail (gemm->a_frame == NULL && gemm->d_frame == NULL, FALSE);
  g_return_val_if_fail (gemm->row_outputs == 0, FALSE);
  g_return_val_if_fail (gemm->alpha == 0.0 || (a != NULL && b != NULL), FALSE);
  has_c = gemm->addend == GEMMCL_ADDEND_MATRIX || gemm->addend == GEMMCL_ADDEND_ROW;
  g_return_val_if_fail ((c != NULL) == has_c && (bias != NULL) == !!gemm->bias, FALSE);

  plan = gemmcl_plan_new (context, gemm, kernel, error);
  if (plan == NULL)
    return FALSE;
  if (bias != NULL && (!(values = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, gemm->n, bias, error)) ||
                       !gemmcl_plan_set (plan, GEMMCL_PLAN_BIAS, values, error)))
    return FALSE;
  if (gemm->alpha != 0.0 && !(device_b = upload (context, gemm, GEMMCL_OPERAND_B, b, "B", error)))
    return FALSE;
  if (has_c && !(device_c = upload (context, gemm, GEMMCL_OPERAND_C, c, "C", error)))
    return FALSE;
  run.alpha = gemm->alpha;
  run.beta = gemm->beta;
  run.a = host_a = a ? find_problems (gemm, GEMMCL_OPERAND_A, a) : NULL;
  run.d = host_d = find_problems (gemm, GEMMCL_OPERAND_D, d);
  run.b = device_b;
  run.c = device_c;
  return gemmcl_plan_run (plan, &run, error);
}
