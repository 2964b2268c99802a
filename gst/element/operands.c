/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/operands.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

static const gchar *const names[GST_GEMMCL_N_OPERANDS] = {"weight", "bias", "addend"};

static gboolean
load (GstGemmclOperand operand, const gchar *where, GemmclMatrix **matrix, GError **error)
{
  *matrix = NULL;
  if (!where || !*where)
    return TRUE;
  *matrix = gemmcl_matrix_load (where, error);
  if (!*matrix)
    g_prefix_error (error, "Cannot load %s=%s: ", names[operand], where);
  return *matrix != NULL;
}

static void
store_where (GstGemmcl *self, GstGemmclOperand operand, const gchar *where)
{
  GST_OBJECT_LOCK (self);
  g_free (self->where[operand]);
  self->where[operand] = g_strdup (where);
  GST_OBJECT_UNLOCK (self);
}

gboolean
gst_gemmcl_operands_open (GstGemmcl *self, GError **error)
{
  g_auto (GstGemmclOperands) loaded = {{NULL}};

  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++) {
    g_autofree gchar *where = NULL;

    GST_OBJECT_LOCK (self);
    where = g_strdup (self->where[i]);
    GST_OBJECT_UNLOCK (self);
    if (!load (i, where, &loaded.matrix[i], error))
      return FALSE;
  }
  g_mutex_lock (&self->lock);
  gst_gemmcl_operands_copy (&self->operands, &loaded);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

static void
clear_prepared_locked (GstGemmcl *self)
{
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    g_clear_pointer (&self->prepared[i], gemmcl_prepared_free);
}

static void
clear_next_locked (GstGemmcl *self)
{
  gst_gemmcl_operands_clear (&self->next);
  clear_prepared_locked (self);
  self->has_next = self->next_replans = FALSE;
}

void
gst_gemmcl_operands_close (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  gst_gemmcl_operands_clear (&self->operands);
  clear_next_locked (self);
  g_mutex_unlock (&self->lock);
}

/* A change on its way: from the operands that the element has, or will have next, to those with one
 * other. */
typedef struct {
  GstGemmclOperand operand;
  GstGemmclOperands operands;
  GstGemmclProblem problem;
  gboolean flowing; /* caps are known: it must fit them */
  gboolean new_n;
  GemmclPlan *plan; /* which serves it, too, once it has the operand; NULL: there is none */
  GemmclPrepared *prepared;
} Change;

static void
change_clear (Change *self)
{
  gst_gemmcl_operands_clear (&self->operands);
  g_clear_pointer (&self->prepared, gemmcl_prepared_free);
  g_clear_object (&self->plan);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Change, change_clear)

static gboolean
has_operand (GstGemmcl *self, GstGemmclOperand operand)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return (self->has_next ? &self->next : &self->operands)->matrix[operand] != NULL;
}

/* Takes @matrix. With the lock held. */
static gboolean
change_init (Change *change, GstGemmcl *self, GstGemmclOperand operand, GemmclMatrix *matrix,
             GError **error)
{
  const GstGemmclOperands *present = self->has_next ? &self->next : &self->operands;
  const GstGemmclSettings *settings = &self->settings;
  GemmclMatrix **slot = &change->operands.matrix[operand];
  gsize k, n;

  gst_gemmcl_operands_copy (&change->operands, present);
  g_clear_pointer (slot, gemmcl_matrix_unref);
  *slot = matrix;
  change->operand = operand;
  change->flowing = self->configured;
  if (!change->flowing)
    return TRUE;
  if (!change->operands.weight)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "There must be a weight while data flows; expected a file or numbers, found nothing.");
  if (!gst_gemmcl_problem_init (&change->problem, &self->input, NULL, &change->operands, settings,
                                self->problem.gemm.m,
                                self->problem.gemm.addend == GEMMCL_ADDEND_PREVIOUS, error))
    return FALSE;
  gst_gemmcl_weight_get_shape (settings, present->weight, &k, &n);
  change->new_n = n != change->problem.gemm.n;
  if (self->plan && !self->next_replans && !self->negotiating && *slot &&
      gst_gemmcl_problem_is_swap (&self->problem, &change->problem))
    change->plan = g_object_ref (self->plan);
  return TRUE;
}

/* Without the lock: asks downstream. */
static gboolean
check_downstream (GstGemmcl *self, const Change *change, GError **error)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  const GstGemmclSettings *settings = &self->settings;
  const GemmclGemm *gemm = &change->problem.gemm;
  g_autoptr (GstCaps) input = NULL, output = NULL, accepted = NULL;
  g_autofree gchar *text = NULL;

  if (!change->flowing || !change->new_n)
    return TRUE;
  input = gst_pad_get_current_caps (trans->sinkpad);
  if (!input)
    return TRUE;
  output = gst_gemmcl_caps_transform (GST_PAD_SINK, input, NULL, settings, gemm->k, gemm->n);
  accepted = gst_pad_peer_query_caps (trans->srcpad, output);
  if (gst_caps_can_intersect (accepted, output))
    return TRUE;
  text = gst_caps_to_string (output);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Downstream cannot take its N = %zu, which makes %s.", gemm->n, text);
}

/* Without the lock: packs @change's operand for the plan. */
static gboolean
prepare (Change *change, GError **error)
{
  static const GemmclPlanOperand operands[GST_GEMMCL_N_OPERANDS] = {GEMMCL_PLAN_B, GEMMCL_PLAN_BIAS,
                                                                    GEMMCL_PLAN_C};

  if (!change->plan)
    return TRUE;
  change->prepared = gemmcl_plan_prepare (change->plan, operands[change->operand],
                                          change->operands.matrix[change->operand], error);
  return change->prepared != NULL;
}

/* Operands are exchanged between two buffers, by the streaming thread; before there are caps at
 * once. */
static void
change_apply (Change *change, GstGemmcl *self, const gchar *where)
{
  g_mutex_lock (&self->lock);
  if (!self->configured && !self->negotiating) {
    gst_gemmcl_operands_copy (&self->operands, &change->operands);
    clear_next_locked (self);
  } else {
    gst_gemmcl_operands_copy (&self->next, &change->operands);
    self->has_next = TRUE;
    if (change->prepared && change->plan == self->plan && !self->next_replans) {
      g_clear_pointer (&self->prepared[change->operand], gemmcl_prepared_free);
      self->prepared[change->operand] = g_steal_pointer (&change->prepared);
    } else {
      clear_prepared_locked (self);
      self->next_replans = TRUE;
    }
  }
  store_where (self, change->operand, where);
  g_mutex_unlock (&self->lock);
}

static gboolean
set_loaded (GstGemmcl *self, GstGemmclOperand operand, const gchar *where, GError **error)
{
  GemmclMatrix *matrix;
  g_auto (Change) change = {0};
  gboolean ok;

  if (!load (operand, where, &matrix, error))
    return FALSE;
  if (!matrix && !has_operand (self, operand)) {
    store_where (self, operand, where);
    return TRUE;
  }
  g_mutex_lock (&self->lock);
  ok = change_init (&change, self, operand, matrix, error);
  g_mutex_unlock (&self->lock);
  if (!ok || !check_downstream (self, &change, error) || !prepare (&change, error))
    return FALSE;
  change_apply (&change, self, where);
  return TRUE;
}

void
gst_gemmcl_operand_set (GstGemmcl *self, GstGemmclOperand operand, const gchar *where)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *consequence = NULL;
  gboolean is_open;

  g_mutex_lock (&self->change_lock);
  g_mutex_lock (&self->lock);
  is_open = self->context != NULL;
  g_mutex_unlock (&self->lock);
  if (is_open)
    set_loaded (self, operand, where, &error);
  else
    store_where (self, operand, where);
  g_mutex_unlock (&self->change_lock);
  if (!error)
    return;
  consequence = g_strdup_printf ("The new %s is refused and the old one stays.", names[operand]);
  gst_gemmcl_post (self, GST_MESSAGE_WARNING, consequence, error);
}

/* Not in the streaming thread: to free a large weight takes as long as a frame. */
static void
free_old (GstElement *element G_GNUC_UNUSED, gpointer prepared)
{
  gemmcl_prepared_free (prepared);
}

gboolean
gst_gemmcl_operands_hold (GstGemmcl *self)
{
  gboolean replan;

  g_mutex_lock (&self->lock);
  self->negotiating = TRUE;
  replan = self->next_replans;
  if (self->has_next) {
    gst_gemmcl_operands_copy (&self->operands, &self->next);
    for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
      if (self->prepared[i]) {
        gemmcl_plan_use (self->plan, self->prepared[i]);
        gst_element_call_async (GST_ELEMENT (self), free_old, g_steal_pointer (&self->prepared[i]),
                                NULL);
      }
    clear_next_locked (self);
  }
  g_mutex_unlock (&self->lock);
  return replan;
}

gboolean
gst_gemmcl_operands_have_next (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return self->has_next;
}

void
gst_gemmcl_operands_release (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  self->negotiating = FALSE;
  g_mutex_unlock (&self->lock);
}
