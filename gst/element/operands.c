/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/operands.h"

#include "element/element.h"

static const gchar *const names[GST_GEMMCL_N_OPERANDS] = {"weight", "bias", "addend"};

/* @array: a GstValueArray, whose types GObject has checked: of doubles if @is_vector, otherwise of
 * rows, which are arrays of doubles. Returns: (transfer full) (nullable): a matrix of f64; NULL
 * without @error for an empty array; NULL with GEMMCL_ERROR_SHAPE for empty or unequal rows. */
static GemmclMatrix *
matrix_from_array (const GValue *array, gboolean is_vector, GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gdouble));
  const guint size = gst_value_array_get_size (array), rows = is_vector ? 1 : size;
  guint cols = 0;

  if (size == 0)
    return NULL;
  for (guint i = 0; i < rows; i++) {
    const GValue *row = is_vector ? array : gst_value_array_get_value (array, i);
    const guint n = gst_value_array_get_size (row);

    cols = i == 0 ? n : cols;
    if (n == 0 || n != cols) {
      gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                       "Row %u of weight-matrix, counted from 0, has %u numbers. Expected the "
                       "same number in each row, at least one.",
                       i, n);
      return NULL;
    }
    for (guint j = 0; j < n; j++) {
      const gdouble number = g_value_get_double (gst_value_array_get_value (row, j));

      g_array_append_val (numbers, number);
    }
  }
  return gemmcl_matrix_new (GEMMCL_TYPE_F64, rows, cols, numbers->data, error);
}

static void
append_numbers (GValue *array, const GemmclMatrix *matrix, gsize first, gsize n)
{
  const gboolean is_double = matrix->type == GEMMCL_TYPE_F64;
  gconstpointer data = matrix->data;

  for (gsize i = first; i < first + n; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number,
                        is_double ? ((const gdouble *)data)[i] : ((const gfloat *)data)[i]);
    gst_value_array_append_and_take_value (array, &number);
  }
}

/* Appends the elements of @matrix, if @is_vector, or its rows to @array, an empty GstValueArray.
 * Elements are rounded to f32 unless @matrix is row-major f64. */
static void
matrix_to_array (GemmclMatrix *matrix, gboolean is_vector, GValue *array)
{
  g_autoptr (GemmclMatrix) plain = NULL;
  gsize rows, cols;

  if (matrix->type == GEMMCL_TYPE_F64 && !matrix->column_major)
    plain = gemmcl_matrix_ref (matrix);
  else if (!(plain = gemmcl_matrix_to_f32 (matrix, FALSE, NULL)))
    return;
  rows = plain->rows;
  cols = plain->cols;
  if (is_vector) {
    append_numbers (array, plain, 0, rows * cols);
    return;
  }
  for (gsize i = 0; i < rows; i++) {
    GValue row = G_VALUE_INIT;

    gst_value_array_init (&row, cols);
    append_numbers (&row, plain, i * cols, cols);
    gst_value_array_append_and_take_value (array, &row);
  }
}

GstGemmclProperties
gst_gemmcl_get_properties (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (GST_OBJECT_GET_LOCK (self));

  return self->properties;
}

/* Returns: a copy of the operand's source, a string or a matrix. */
static GValue
get_source (GstGemmcl *self, GemmclPlanOperand operand)
{
  const GValue *source = &self->properties.source[operand];
  GValue copy = G_VALUE_INIT;

  GST_OBJECT_LOCK (self);
  g_value_init (&copy, G_VALUE_TYPE (source));
  g_value_copy (source, &copy);
  GST_OBJECT_UNLOCK (self);
  return copy;
}

/* FALSE if the string is empty, or the string or matrix is NULL. */
static gboolean
is_set (const GValue *source)
{
  const gchar *text = g_value_peek_pointer (source);

  return text && (!G_VALUE_HOLDS_STRING (source) || *text);
}

static void
set_source (GstGemmcl *self, GemmclPlanOperand operand, const GValue *source)
{
  GValue *place = &self->properties.source[operand], old, copy = G_VALUE_INIT;

  g_value_init (&copy, G_VALUE_TYPE (source));
  g_value_copy (source, &copy);
  GST_OBJECT_LOCK (self);
  old = *place;
  *place = copy;
  if (operand == GEMMCL_PLAN_C && !self->properties.factors.has_beta)
    self->properties.factors.beta = is_set (source);
  GST_OBJECT_UNLOCK (self);
  g_value_unset (&old);
}

/* No lock is held while an array is made: it may be large. */
void
gst_gemmcl_operand_get (GstGemmcl *self, GemmclPlanOperand operand, GValue *value)
{
  g_auto (GValue) source = get_source (self, operand);

  if (G_VALUE_HOLDS (&source, G_VALUE_TYPE (value)))
    g_value_copy (&source, value);
  else if (GST_VALUE_HOLDS_ARRAY (value) && !G_VALUE_HOLDS_STRING (&source) && is_set (&source))
    matrix_to_array (g_value_get_boxed (&source), operand == GEMMCL_PLAN_BIAS, value);
}

static gboolean
load (GemmclPlanOperand operand, const GValue *source, GemmclMatrix **matrix, GError **error)
{
  g_autofree gchar *quoted = NULL;

  *matrix = NULL;
  if (!is_set (source))
    return TRUE;
  if (!G_VALUE_HOLDS_STRING (source)) {
    *matrix = g_value_dup_boxed (source);
  } else if (!(*matrix = gemmcl_matrix_load (g_value_get_string (source), error))) {
    quoted = gemmcl_quote (g_value_get_string (source));
    g_prefix_error (error, "Cannot load %s=%s: ", names[operand], quoted);
  }
  return *matrix != NULL;
}

gboolean
gst_gemmcl_operands_open (GstGemmcl *self, GError **error)
{
  g_auto (GstGemmclOperands) loaded = {{NULL}};

  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++) {
    g_auto (GValue) source = get_source (self, i);

    if (!load (i, &source, &loaded.matrix[i], error))
      return FALSE;
  }
  g_mutex_lock (&self->lock);
  gst_gemmcl_operands_copy (&self->operands.current, &loaded);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* @operands are the current operands with all changes that wait. */
struct _GstGemmclChange {
  GstGemmclOperands operands;
  GstGemmclSettings settings; /* of the stream; copied, since a restart changes them */
  GstGemmclProblem problem;
  gboolean changed[GST_GEMMCL_N_OPERANDS]; /* since the current operands */

  /* The plans that can use the new operands, if any, and the operands prepared for them. */
  GemmclPlan *plans[GST_GEMMCL_MAX_DEVICES];
  GemmclPrepared *prepared[GST_GEMMCL_MAX_DEVICES][GST_GEMMCL_N_OPERANDS];
};

static void
change_free (GstGemmclChange *self)
{
  gst_gemmcl_operands_clear (&self->operands);
  for (guint device = 0; device < GST_GEMMCL_MAX_DEVICES; device++) {
    for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
      g_clear_pointer (&self->prepared[device][i], gemmcl_prepared_free);
    g_clear_object (&self->plans[device]);
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

/* Takes @matrix (nullable), the new @operand. Needs the lock. */
static gboolean
change_init (GstGemmclChange *change, GstGemmcl *self, GemmclPlanOperand operand,
             GemmclMatrix *matrix, GError **error)
{
  const GstGemmclOperands *current = &self->operands.current;
  const GstGemmclOperands *present = self->operands.next ? &self->operands.next->operands : current;
  GemmclMatrix **slot = &change->operands.matrix[operand];

  change->settings = self->stream.settings;
  gst_gemmcl_operands_copy (&change->operands, present);
  g_clear_pointer (slot, gemmcl_matrix_unref);
  *slot = matrix;
  if (!self->stream.configured && !self->stream.negotiating)
    return TRUE;
  if (!change->operands.weight)
    return gst_gemmcl_fail (
        error, GEMMCL_ERROR_SHAPE,
        "The weight cannot be removed while playing. Expected a file or numbers.");
  if (!gst_gemmcl_problem_init (&change->problem, &self->stream.input, NULL, &change->operands,
                                &change->settings, MAX (self->problem.gemm.m, 1),
                                self->problem.gemm.addend == GEMMCL_ADDEND_PREVIOUS, error))
    return FALSE;
  for (guint i = 0; i < GST_GEMMCL_N_OPERANDS; i++)
    change->changed[i] = i == operand || change->operands.matrix[i] != current->matrix[i];
  change->changed[GEMMCL_PLAN_BIAS] |=
      change->changed[GEMMCL_PLAN_B] && change->problem.folds_offset;
  if (self->operands.pinned ||
      !gst_gemmcl_problem_differs_in_values_only (&self->problem, &change->problem))
    return TRUE;
  for (guint i = 0; i < self->n_devices; i++)
    g_set_object (&change->plans[i], self->devices[i].plan);
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
  text = gst_gemmcl_quote_caps (output);
  return gst_gemmcl_fail (error, GEMMCL_ERROR_SHAPE,
                          "Downstream does not accept the output of its N = %zu, which is %s.",
                          terms.n, text);
}

/* Packs and uploads the changed operands for the plans. The lock must not be held. */
static gboolean
prepare (GstGemmclChange *change, GError **error)
{
  g_auto (GstGemmclOperands) folded = {{NULL}};

  gst_gemmcl_operands_copy (&folded, &change->operands);
  if (!gst_gemmcl_problem_fold (&change->problem, &change->settings, &folded, error))
    return FALSE;
  for (guint device = 0; device < GST_GEMMCL_MAX_DEVICES; device++)
    for (guint i = 0; change->plans[device] && i < GST_GEMMCL_N_OPERANDS; i++)
      if (change->changed[i] && folded.matrix[i] &&
          !(change->prepared[device][i] =
                gemmcl_plan_prepare (change->plans[device], i, folded.matrix[i], error)))
        return FALSE;
  return TRUE;
}

/* Loads @operand from @source. Exchanges the operands at once if there are no caps yet; otherwise
 * the streaming thread exchanges them before its next buffer. */
static gboolean
set_loaded (GstGemmcl *self, GemmclPlanOperand operand, const GValue *source, GError **error)
{
  GemmclMatrix *matrix;
  g_autoptr (GstGemmclChange) change = NULL, old = NULL;
  gboolean ok;

  if (!load (operand, source, &matrix, error))
    return FALSE;
  change = g_new0 (GstGemmclChange, 1);
  g_mutex_lock (&self->lock);
  ok = change_init (change, self, operand, matrix, error);
  g_mutex_unlock (&self->lock);
  if (!ok || !check_downstream (self, change, error) || !prepare (change, error))
    return FALSE;
  g_mutex_lock (&self->lock);
  old = g_steal_pointer (&self->operands.next);
  set_source (self, operand, source);
  if (!self->stream.configured && !self->operands.pinned)
    gst_gemmcl_operands_copy (&self->operands.current, &change->operands);
  else
    self->operands.next = g_steal_pointer (&change);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

void
gst_gemmcl_operand_set (GstGemmcl *self, GemmclPlanOperand operand, const GValue *value)
{
  const gboolean is_array = GST_VALUE_HOLDS_ARRAY (value);
  g_auto (GValue) matrix = G_VALUE_INIT;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *consequence = NULL;
  g_autoptr (GemmclContext) context = NULL;

  g_value_init (&matrix, GEMMCL_TYPE_MATRIX);
  if (is_array)
    g_value_take_boxed (&matrix, matrix_from_array (value, operand == GEMMCL_PLAN_BIAS, &error));
  g_mutex_lock (&self->operands.change_lock);
  context = gst_gemmcl_sharing_get_context (&self->sharing);
  if (!error && context)
    set_loaded (self, operand, is_array ? &matrix : value, &error);
  else if (!error)
    set_source (self, operand, is_array ? &matrix : value);
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

/* Exchanges the operands and those of @change. Needs the lock. TRUE if they need new plans. */
static gboolean
use_change (GstGemmcl *self, GstGemmclChange *change)
{
  const GstGemmclOperands old = self->operands.current;
  guint first = 0;

  self->operands.current = change->operands;
  change->operands = old;
  /* Plans are made together, so the first one stands for all; failed devices have none. */
  while (first < self->n_devices && !self->devices[first].plan)
    first++;
  if (first == self->n_devices || self->devices[first].plan != change->plans[first])
    return TRUE;
  for (guint device = 0; device < self->n_devices; device++)
    for (guint i = 0; self->devices[device].plan && i < GST_GEMMCL_N_OPERANDS; i++)
      if (change->prepared[device][i])
        gemmcl_plan_use (self->devices[device].plan, change->prepared[device][i]);
  return FALSE;
}

void
gst_gemmcl_operands_pin (GstGemmcl *self, gboolean exchange)
{
  GstGemmclChange *change;
  gboolean replans;

  g_mutex_lock (&self->lock);
  self->operands.pinned = TRUE;
  change = exchange ? g_steal_pointer (&self->operands.next) : NULL;
  replans = change && use_change (self, change);
  g_mutex_unlock (&self->lock);
  if (replans) {
    change_free (change);
    self->needs_plan = TRUE;
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
gst_gemmcl_operands_unpin (GstGemmcl *self)
{
  g_mutex_lock (&self->lock);
  self->operands.pinned = FALSE;
  g_mutex_unlock (&self->lock);
}

GstGemmclTerms
gst_gemmcl_get_terms (GstGemmcl *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  GstGemmclTerms terms = {.settings = self->stream.started
                                          ? self->stream.settings
                                          : gst_gemmcl_get_properties (self).settings,
                          .several = self->n_devices > 1,
                          .described = self->described.tensor};

  gst_gemmcl_weight_get_shape (&terms.settings, self->operands.current.weight, &terms.k, &terms.n);
  return terms;
}

gsize
gst_gemmcl_operands_get_next_n (GstGemmcl *self)
{
  const GstGemmclOperands *operands =
      self->operands.next ? &self->operands.next->operands : &self->operands.current;
  gsize k, n;

  gst_gemmcl_weight_get_shape (&self->stream.settings, operands->weight, &k, &n);
  return n;
}
