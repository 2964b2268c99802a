/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/gstgemmcl.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

static const gchar *const names[GST_GEMMCL_N_OPERANDS] = {"weight", "bias", "addend"};

void
gst_gemmcl_source_clear (GstGemmclSource *self)
{
  g_clear_pointer (&self->where, g_free);
  g_clear_pointer (&self->matrix, gemmcl_matrix_unref);
}

static GstGemmclSource
copy_source (const GstGemmclSource *self)
{
  return (GstGemmclSource){
      .where = g_strdup (self->where),
      .matrix = self->matrix ? gemmcl_matrix_ref (self->matrix) : NULL,
  };
}

GstGemmclSource
gst_gemmcl_get_source (GstGemmcl *self, GemmclPlanOperand operand)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  return copy_source (&self->properties.source[operand]);
}

static void
set_source (GstGemmcl *self, GemmclPlanOperand operand, const GstGemmclSource *source)
{
  GstGemmclSource old;

  GST_OBJECT_LOCK (self);
  old = self->properties.source[operand];
  self->properties.source[operand] = copy_source (source);
  if (operand == GEMMCL_PLAN_C && !self->properties.scalars.has_beta)
    self->properties.scalars.beta = source->matrix || (source->where && *source->where);
  GST_OBJECT_UNLOCK (self);
  gst_gemmcl_source_clear (&old);
}

static gboolean
load (GemmclPlanOperand operand, const GstGemmclSource *source, GemmclMatrix **matrix,
      GError **error)
{
  const gchar *where = source->where;

  *matrix = source->matrix ? gemmcl_matrix_ref (source->matrix) : NULL;
  if (!where || !*where)
    return TRUE;
  *matrix = gemmcl_matrix_load (where, error);
  if (!*matrix)
    g_prefix_error (error, "Cannot load %s=%s: ", names[operand], where);
  return *matrix != NULL;
}

gboolean
gst_gemmcl_operands_open (GstGemmcl *self, GError **error)
{
  g_auto (GstGemmclOperands) loaded = {{NULL}};

  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++) {
    g_auto (GstGemmclSource) source = gst_gemmcl_get_source (self, i);

    if (!load (i, &source, &loaded.matrix[i], error))
      return FALSE;
  }
  g_mutex_lock (&self->lock);
  gst_gemmcl_operands_copy (&self->operands.current, &loaded);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* A change of one operand. @operands are the latest ones with the change. */
struct _GstGemmclChange {
  GemmclPlanOperand operand;
  GstGemmclOperands operands;
  GstGemmclProblem problem;
  gboolean changed[GST_GEMMCL_N_OPERANDS]; /* compared with the current operands */

  /* Plans that can use the new operands, if there are, and the changed ones, prepared for them. */
  GemmclPlan *plans[GST_GEMMCL_MAX_DEVICES];
  GemmclPrepared *prepared[GST_GEMMCL_MAX_DEVICES][GST_GEMMCL_N_OPERANDS];
};

static void
change_free (GstGemmclChange *self)
{
  gst_gemmcl_operands_clear (&self->operands);
  for (guint lane = 0; lane < GST_GEMMCL_MAX_DEVICES; lane++) {
    for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
      g_clear_pointer (&self->prepared[lane][i], gemmcl_prepared_free);
    g_clear_object (&self->plans[lane]);
  }
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstGemmclChange, change_free)

void
gst_gemmcl_operands_close (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  gst_gemmcl_operands_clear (&self->operands.current);
  g_clear_pointer (&self->operands.next, change_free);
  g_mutex_unlock (&self->lock);
}

/* Takes @matrix. Needs the lock. */
static gboolean
change_init (GstGemmclChange *change, GstGemmcl *self, GemmclPlanOperand operand,
             GemmclMatrix *matrix, GError **error)
{
  const GstGemmclOperands *current = &self->operands.current;
  const GstGemmclOperands *present = self->operands.next ? &self->operands.next->operands : current;
  const GstGemmclSettings *settings = &self->stream.settings;
  GemmclMatrix **slot = &change->operands.matrix[operand];

  gst_gemmcl_operands_copy (&change->operands, present);
  g_clear_pointer (slot, gemmcl_matrix_unref);
  *slot = matrix;
  change->operand = operand;
  if (!self->stream.configured)
    return TRUE;
  if (!change->operands.weight)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "The weight cannot be removed while playing; expected a file or numbers, found nothing.");
  if (!gst_gemmcl_problem_init (&change->problem, &self->stream.input, NULL, &change->operands,
                                settings, self->slot.problem.gemm.m,
                                self->slot.problem.gemm.addend == GEMMCL_ADDEND_PREVIOUS, error))
    return FALSE;
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    change->changed[i] = i == operand || change->operands.matrix[i] != current->matrix[i];
  change->changed[GEMMCL_PLAN_BIAS] |=
      change->changed[GEMMCL_PLAN_B] && change->problem.folds_offset;
  if (self->operands.held || !gst_gemmcl_problem_is_swap (&self->slot.problem, &change->problem))
    return TRUE;
  for (guint i = 0; i < self->n_lanes; i++)
    g_set_object (&change->plans[i], self->lanes[i].plan);
  return TRUE;
}

/* Fails if N changes and downstream does not accept the new one. The lock must not be held. */
static gboolean
check_downstream (GstGemmcl *self, const GstGemmclChange *change, GError **error)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstGemmclTerms terms = gst_gemmcl_get_terms (self);
  g_autoptr (GstCaps) input = NULL, output = NULL, accepted = NULL;
  g_autofree gchar *text = NULL;

  input = gst_pad_get_current_caps (trans->sinkpad);
  if (!input || change->problem.gemm.n == 0 || change->problem.gemm.n == terms.n)
    return TRUE;
  terms.k = change->problem.gemm.k;
  terms.n = change->problem.gemm.n;
  output = gst_gemmcl_caps_transform (GST_PAD_SINK, input, NULL, &terms);
  accepted = gst_pad_peer_query_caps (trans->srcpad, output);
  if (gst_caps_can_intersect (accepted, output))
    return TRUE;
  text = gst_caps_to_string (output);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Downstream does not take its N = %zu, which makes %s.", terms.n, text);
}

/* Packs and uploads the changed operands for the plans. The lock must not be held. */
static gboolean
prepare (GstGemmclChange *change, const GstGemmclSettings *settings, GError **error)
{
  g_auto (GstGemmclOperands) folded = {{NULL}};
  gboolean is_needed = FALSE;

  for (guint lane = 0; lane < GST_GEMMCL_MAX_DEVICES; lane++)
    is_needed |= change->plans[lane] != NULL;
  if (!is_needed)
    return TRUE;
  gst_gemmcl_operands_copy (&folded, &change->operands);
  if (!gst_gemmcl_problem_fold (&change->problem, settings, &folded, error))
    return FALSE;
  for (guint lane = 0; lane < GST_GEMMCL_MAX_DEVICES; lane++)
    for (guint i = 0; change->plans[lane] && i < GST_GEMMCL_N_OPERANDS; i++) {
      if (!change->changed[i] || !folded.matrix[i])
        continue;
      change->prepared[lane][i] =
          gemmcl_plan_prepare (change->plans[lane], i, folded.matrix[i], error);
      if (!change->prepared[lane][i])
        return FALSE;
    }
  return TRUE;
}

/* Takes @change. Exchanges the operands at once if there are no caps yet; otherwise the streaming
 * thread does before its next buffer. */
static void
change_apply (GstGemmclChange *change, GstGemmcl *self, const GstGemmclSource *source)
{
  g_autoptr (GstGemmclChange) old = NULL;

  g_mutex_lock (&self->lock);
  old = g_steal_pointer (&self->operands.next);
  set_source (self, change->operand, source);
  if (!self->stream.configured && !self->operands.held) {
    gst_gemmcl_operands_copy (&self->operands.current, &change->operands);
    g_mutex_unlock (&self->lock);
    change_free (change);
    return;
  }
  self->operands.next = change;
  g_mutex_unlock (&self->lock);
}

static gboolean
set_loaded (GstGemmcl *self, GemmclPlanOperand operand, const GstGemmclSource *source,
            GError **error)
{
  GemmclMatrix *matrix;
  g_autoptr (GstGemmclChange) change = NULL;
  gboolean ok;

  if (!load (operand, source, &matrix, error))
    return FALSE;
  change = g_new0 (GstGemmclChange, 1);
  g_mutex_lock (&self->lock);
  ok = change_init (change, self, operand, matrix, error);
  g_mutex_unlock (&self->lock);
  if (!ok || !check_downstream (self, change, error) ||
      !prepare (change, &self->stream.settings, error))
    return FALSE;
  change_apply (g_steal_pointer (&change), self, source);
  return TRUE;
}

void
gst_gemmcl_operand_set (GstGemmcl *self, GemmclPlanOperand operand, const GstGemmclSource *source)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *consequence = NULL;
  g_autoptr (GemmclContext) context = NULL;

  g_mutex_lock (&self->operands.change_lock);
  context = gst_gemmcl_device_get_context (&self->device);
  if (context)
    set_loaded (self, operand, source, &error);
  else
    set_source (self, operand, source);
  g_mutex_unlock (&self->operands.change_lock);
  if (!error)
    return;
  consequence = g_strdup_printf ("The new %s is refused and the old one stays.", names[operand]);
  gst_gemmcl_post (self, GST_MESSAGE_WARNING, consequence, error);
}

/* Runs in another thread, since freeing a large weight can take as long as a frame. */
static void
free_used (GstElement *element G_GNUC_UNUSED, gpointer change)
{
  change_free (change);
}

/* Makes the operands of @change the current ones, and takes the old ones into it. Needs the lock.
 * Returns: TRUE if they need new plans. */
static gboolean
use_change (GstGemmcl *self, GstGemmclChange *change)
{
  const GstGemmclOperands old = self->operands.current;

  self->operands.current = change->operands;
  change->operands = old;
  /* All plans were made together. */
  if (!self->lane->plan || self->lane->plan != change->plans[self->lane - self->lanes])
    return TRUE;
  for (guint lane = 0; lane < self->n_lanes; lane++)
    for (guint i = 0; self->lanes[lane].plan && i < GST_GEMMCL_N_OPERANDS; i++)
      if (change->prepared[lane][i])
        gemmcl_plan_use (self->lanes[lane].plan, change->prepared[lane][i]);
  return FALSE;
}

void
gst_gemmcl_operands_hold (GstGemmcl *self)
{
  GstGemmclChange *change;
  gboolean replans;

  g_mutex_lock (&self->lock);
  self->operands.held = TRUE;
  change = g_steal_pointer (&self->operands.next);
  replans = change && use_change (self, change);
  g_mutex_unlock (&self->lock);
  if (replans) {
    change_free (change);
    self->slot.is_due = TRUE;
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  } else if (change) {
    gst_element_call_async (GST_ELEMENT (self), free_used, change, NULL);
  }
}

gboolean
gst_gemmcl_operands_have_next (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return self->operands.next != NULL;
}

void
gst_gemmcl_operands_release (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  self->operands.held = FALSE;
  g_mutex_unlock (&self->lock);
}
