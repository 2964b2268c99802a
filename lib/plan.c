/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-private.h"

#include <string.h>

#include "context.h"
#include "image-private.h"
#include "kernels.h"
#include "subgroups.h"

#define SOFTMAX_GROUP 64 /* work-items that share a row on a GPU; a CPU gives it to one */

G_DEFINE_FINAL_TYPE (GemmclPlan, gemmcl_plan, G_TYPE_OBJECT)

static void
gemmcl_plan_init (GemmclPlan *self)
{
  g_mutex_init (&self->lock);
}

static void
gemmcl_plan_finalize (GObject *object)
{
  GemmclPlan *self = GEMMCL_PLAN (object);
  cl_kernel *const kernels[] = {&self->pack, &self->ingest, &self->multiply, &self->softmax};
  cl_mem *const buffers[] = {&self->features, &self->logits, &self->b,      &self->c,
                             &self->bias,     &self->run_b,  &self->host_a, &self->host_d};

  for (gsize i = 0; i < G_N_ELEMENTS (kernels); i++)
    g_clear_pointer (kernels[i], clReleaseKernel);
  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    g_clear_pointer (buffers[i], clReleaseMemObject);
  g_clear_object (&self->context);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gemmcl_plan_parent_class)->finalize (object);
}

static void
gemmcl_plan_class_init (GemmclPlanClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gemmcl_plan_finalize;
}

static void
copy_problem (GemmclPlan *self, const GemmclGemm *gemm)
{
  self->gemm = *gemm;
  self->gemm.batch = gemmcl_gemm_get_batch (gemm);
  self->alpha = gemm->alpha;
  self->beta = gemm->beta;
  if (gemm->a_image) {
    self->a_image = *gemm->a_image;
    self->gemm.a_image = &self->a_image;
  }
  if (gemm->d_image) {
    self->d_image = *gemm->d_image;
    self->gemm.d_image = &self->d_image;
  }
}

static gboolean
reads_pixels (GemmclPlan *self)
{
  return self->gemm.a_image != NULL && self->row->pictures &&
         self->gemm.a_image->features == GEMMCL_FEATURE_PIXEL;
}

static gboolean
needs_softmax (GemmclPlan *self)
{
  return self->gemm.activation == GEMMCL_ACTIVATION_SOFTMAX && self->gemm.n > self->row->softmax_n;
}

/* Logits go where D goes when that holds floats; the pass then works in place. */
static gboolean
needs_logits (GemmclPlan *self)
{
  return needs_softmax (self) && self->gemm.d_type != GEMMCL_TYPE_F32;
}

/* Integers that are stored are converted and scaled as A is loaded. */
static GemmclType
get_a_type (GemmclPlan *self)
{
  if (self->gemm.a_image == NULL)
    return self->gemm.a_type;
  return reads_pixels (self) ? GEMMCL_TYPE_U8 : GEMMCL_TYPE_F32;
}

/* A picture's bytes, whatever d_type says; before a pass of softmax logits, which are floats. */
static GemmclType
get_d_type (GemmclPlan *self)
{
  if (self->gemm.d_image)
    return GEMMCL_TYPE_U8;
  return needs_logits (self) ? GEMMCL_TYPE_F32 : self->gemm.d_type;
}

static void
append_image (GString *options, const GemmclImage *image, const gchar *prefix)
{
  g_autofree gchar *defines = gemmcl_image_get_defines (image, prefix);
  g_string_append_printf (options, " %s", defines);
}

/* What a kernel may do with rows of A or D: X_UNIT_COL, elements of a row lie together; X_FLOAT4,
 * each row starts where a float4 may, on the device and in gemmcl_plan_run()'s tight copies. What
 * subgroups may do with columns: X_UNIT_ROW. */
static void
append_access (GString *options, const gchar *name, GemmclPlan *self, GemmclOperand which,
               GemmclType type)
{
  const GemmclStored stored = gemmcl_gemm_get_stored (&self->gemm, which, FALSE);

  if (stored.by_column) {
    if (self->row->subgroup)
      g_string_append_printf (options, " -D%s_UNIT_ROW", name);
    return;
  }
  g_string_append_printf (options, " -D%s_UNIT_COL", name);
  if (self->row->float4 && type == GEMMCL_TYPE_F32 &&
      (stored.length | stored.ld | stored.offset | stored.stride) % 4 == 0)
    g_string_append_printf (options, " -D%s_FLOAT4", name);
}

static gchar *
make_multiply_options (GemmclPlan *self, GemmclKernelLevel level)
{
  const GemmclKernel *row = self->row;
  const GemmclGemm *gemm = &self->gemm;
  g_autoptr (GString) options = g_string_new (NULL);

  g_string_printf (options,
                   "-DTILE_M=%u -DTILE_N=%u -DGROUP_M=%u -DGROUP_N=%u -DA_TYPE=%d -DD_TYPE=%d "
                   "-DACTIVATION=%d",
                   row->tile_m, row->tile_n, row->group_m, row->group_n, get_a_type (self),
                   get_d_type (self), gemm->activation);
  if (row->defines)
    g_string_append_printf (options, " %s", row->defines);
  gemmcl_subgroups_append_options (options, row, gemmcl_context_get_device_info (self->context),
                                   level);
  if (row->packed)
    g_string_append_printf (options, " -DPANEL=%u", gemmcl_kernel_get_panel (row));
  if (row->fixed_n_k)
    g_string_append_printf (options, " -DN=%" G_GSIZE_FORMAT " -DK=%" G_GSIZE_FORMAT, gemm->n,
                            gemm->k);
  if (gemm->a_scale != 1.0 || gemm->a_shift != 0.0)
    g_string_append (options, " -DA_SCALED");
  append_access (options, "A", self, GEMMCL_OPERAND_A, get_a_type (self));
  append_access (options, "D", self, GEMMCL_OPERAND_D, get_d_type (self));
  if (gemm->addend == GEMMCL_ADDEND_OUTPUT)
    g_string_append_printf (options, " -DC_IS_D -DC_TYPE=%d",
                            gemm->d_image ? GEMMCL_TYPE_U8 : gemm->d_type);
  if (reads_pixels (self))
    append_image (options, gemm->a_image, "A_");
  if (gemm->d_image)
    append_image (options, gemm->d_image, "D_");
  return g_string_free (g_steal_pointer (&options), FALSE);
}

/* Whether the built kernel finds room for groups as large as its row says. */
static gboolean
check_group (GemmclPlan *self, cl_kernel kernel, GError **error)
{
  const gsize group = self->row->group_m * self->row->group_n;
  gsize max = 0;

  if (!gemmcl_cl_check (
          clGetKernelWorkGroupInfo (kernel, gemmcl_context_get_cl_device (self->context),
                                    CL_KERNEL_WORK_GROUP_SIZE, sizeof (max), &max, NULL),
          error, "clGetKernelWorkGroupInfo for %s", self->row->name))
    return FALSE;
  if (group <= max)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL,
               "Kernel %s needs work-groups of %" G_GSIZE_FORMAT
               ", but as built for this device it can have %" G_GSIZE_FORMAT ".",
               self->row->name, group, max);
  return FALSE;
}

static gboolean
build_at_level (GemmclPlan *self, GemmclKernelLevel level, GError **error)
{
  g_autofree gchar *options = make_multiply_options (self, level);
  g_auto (cl_kernel) kernel =
      gemmcl_context_create_kernel (self->context, self->row->source, options, "gemm", error);

  if (kernel == NULL || !check_group (self, kernel, error) ||
      !gemmcl_subgroups_check (self->row, kernel, gemmcl_context_get_cl_device (self->context),
                               level, error))
    return FALSE;
  self->multiply = g_steal_pointer (&kernel);
  return TRUE;
}

/* At the best level that this driver can build, @worst at worst. */
static gboolean
build_multiply (GemmclPlan *self, const GemmclKernel *row, GemmclKernelLevel worst, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (self->context);
  GemmclKernelLevel level = gemmcl_subgroups_get_level (row, device);
  g_autoptr (GError) failure = NULL;

  self->row = row;
  while (!build_at_level (self, level, &failure)) {
    if (row->subgroup == 0 || level >= worst) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    g_debug ("%s", failure->message);
    g_clear_error (&failure);
    level = gemmcl_subgroups_get_next (level, device);
  }
  return TRUE;
}

/* Batches that share all but A and D most often run as one tall problem; choose for that. */
static GemmclGemm
get_problem_as_run (GemmclPlan *self)
{
  GemmclGemm gemm = self->gemm;

  if (gemm.b_stride == 0 && gemm.a_image == NULL && gemm.d_image == NULL &&
      gemm.layout == GEMMCL_LAYOUT_ROW_MAJOR && !gemm.trans_a &&
      gemm.addend != GEMMCL_ADDEND_MATRIX && gemm.m <= G_MAXINT32 / gemm.batch) {
    gemm.m *= gemm.batch;
    gemm.batch = 1;
  }
  return gemm;
}

/* Builds the kernel that the user named; or the best of the rules that this driver can build. */
static gboolean
choose_kernel (GemmclPlan *self, const gchar *name, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (self->context);
  g_autoptr (GPtrArray) ranked = NULL;
  GemmclGemm as_run;

  if (name != NULL && strcmp (name, "auto") != 0) {
    const GemmclKernel *row = gemmcl_kernel_find (name, error);
    return row != NULL && gemmcl_kernel_check (row, device, &self->gemm, error) &&
           build_multiply (self, row, GEMMCL_KERNEL_LEVEL_EMULATED, error);
  }
  as_run = get_problem_as_run (self);
  ranked = gemmcl_kernel_rank (device, &as_run);
  if (ranked->len == 0)
    g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL,
                 "No kernel writes pictures from %" G_GSIZE_FORMAT
                 " features a pixel; write a matrix instead.",
                 self->gemm.k);
  for (guint i = 0; i < ranked->len; i++) {
    g_autoptr (GError) failure = NULL;
    if (build_multiply (self, ranked->pdata[i], GEMMCL_KERNEL_LEVEL_NATIVE, &failure))
      return TRUE;
    g_debug ("%s", failure->message);
    if (i + 1 == ranked->len)
      g_propagate_error (error, g_steal_pointer (&failure));
  }
  return FALSE;
}

static gboolean
build_ingest (GemmclPlan *self, GError **error)
{
  g_autofree gchar *options = gemmcl_image_get_defines (self->gemm.a_image, "A_");

  self->ingest =
      gemmcl_context_create_kernel (self->context, "ingest.cl", options, "ingest", error);
  return self->ingest != NULL;
}

static gboolean
build_softmax (GemmclPlan *self, GError **error)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (self->context);
  const guint group = device->type == GEMMCL_DEVICE_TYPE_CPU ? 1 : SOFTMAX_GROUP;
  g_autofree gchar *options = g_strdup_printf ("-DD_TYPE=%d -DGROUP=%u", self->gemm.d_type, group);

  self->softmax =
      gemmcl_context_create_kernel (self->context, "softmax.cl", options, "softmax", error);
  self->softmax_group = group;
  return self->softmax != NULL;
}

cl_kernel
gemmcl_plan_create_pack (GemmclPlan *self, GError **error)
{
  g_autofree gchar *options = g_strdup_printf ("-DPANEL=%u", gemmcl_kernel_get_panel (self->row));

  return gemmcl_context_create_kernel (self->context, "pack.cl", options, "pack", error);
}

/* A tight f32 matrix of @cols per row of D, for every batch. */
static cl_mem
create_scratch (GemmclPlan *self, gsize cols, const gchar *what, GError **error)
{
  gsize size;

  if (!g_size_checked_mul (&size, self->gemm.m, cols) ||
      !g_size_checked_mul (&size, size, self->gemm.batch) ||
      !g_size_checked_mul (&size, size, sizeof (gfloat)))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, what, error);
}

static gboolean
build_steps (GemmclPlan *self, GError **error)
{
  if (self->row->packed && !(self->pack = gemmcl_plan_create_pack (self, error)))
    return FALSE;
  if (self->gemm.a_image && !reads_pixels (self) &&
      (!build_ingest (self, error) ||
       !(self->features = create_scratch (self, self->gemm.k, "A, from pictures,", error))))
    return FALSE;
  if (needs_softmax (self) && !build_softmax (self, error))
    return FALSE;
  if (needs_logits (self) &&
      !(self->logits = create_scratch (self, self->gemm.n, "D before softmax", error)))
    return FALSE;
  return (self->bias = gemmcl_plan_create_bias (self, error)) != NULL;
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
  copy_problem (self, gemm);
  if (!choose_kernel (self, kernel, error) || !build_steps (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

const gchar *
gemmcl_plan_get_kernel (GemmclPlan *self)
{
  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  return self->row->name;
}

void
gemmcl_plan_set_scalars (GemmclPlan *self, gdouble alpha, gdouble beta)
{
  g_autoptr (GMutexLocker) locker = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  locker = g_mutex_locker_new (&self->lock);
  self->alpha = alpha;
  self->beta = beta;
}

void
gemmcl_plan_get_stats (GemmclPlan *self, GemmclPlanStats *stats)
{
  g_autoptr (GMutexLocker) locker = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  locker = g_mutex_locker_new (&self->lock);
  *stats = self->stats;
}
