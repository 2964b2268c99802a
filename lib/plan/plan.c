/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Creating plans: the kernel, the steps of a run and their memory.
 */
#include <CL/cl_ext.h>
#include <string.h>

#include "kernels/choice.h"
#include "plan/plan.h"

/* From cl_intel_required_subgroup_size; older headers lack it. */
#ifndef CL_KERNEL_SPILL_MEM_SIZE_INTEL
  #define CL_KERNEL_SPILL_MEM_SIZE_INTEL 0x4109
#endif

#define MAX_BUILT 16 /* kernels that are built in search of one that does not spill */

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

  g_clear_pointer (&self->tuner, gemmcl_tuner_leave);
  if (self->body != NULL)
    gemmcl_body_wait (self->body);
  g_clear_pointer (&self->body, gemmcl_body_free);
  g_clear_pointer (&self->upload, clReleaseCommandQueue);
  g_clear_pointer (&self->download, clReleaseCommandQueue);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gemmcl_plan_parent_class)->finalize (object);
}

static void
gemmcl_plan_class_init (GemmclPlanClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gemmcl_plan_finalize;
}

void
gemmcl_body_free (GemmclBody *self)
{
  cl_kernel *const kernels[] = {&self->gather,  &self->pack,  &self->im2col,     &self->quantize,
                                &self->pack_a,  &self->load,  &self->multiply,   &self->reduce,
                                &self->softmax, &self->store, &self->row_outputs};
  cl_mem *const buffers[] = {&self->features,  &self->int8_a,  &self->image_a, &self->run_b,
                             &self->workspace, &self->no_bias, &self->logits,  &self->state};

  g_ptr_array_unref (self->slots);
  for (gsize i = 0; i < G_N_ELEMENTS (kernels); i++)
    g_clear_pointer (kernels[i], clReleaseKernel);
  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    g_clear_pointer (buffers[i], clReleaseMemObject);
  for (guint i = 0; i < GEMMCL_N_PLAN_OPERANDS; i++)
    gemmcl_held_clear (&self->operands[i]);
  g_clear_object (&self->context);
  g_free (self);
}

void
gemmcl_plan_copy_problem (GemmclGemm *to, GemmclImage images[2], const GemmclGemm *from)
{
  *to = *from;
  to->batch = gemmcl_gemm_get_batch (from);
  if (from->a_image) {
    images[0] = *from->a_image;
    to->a_image = &images[0];
  }
  if (from->d_image) {
    images[1] = *from->d_image;
    to->d_image = &images[1];
  }
}

/* TRUE if the built kernel allows work-groups of its row's size, and the device has enough local
 * memory. */
static gboolean
check_room (GemmclBody *self, cl_kernel kernel, GError **error)
{
  const cl_device_id id = gemmcl_context_get_cl_device (self->context);
  const gsize group = self->kernel->group_m * self->kernel->group_n;
  gsize max = 0;
  cl_ulong local = 0;

  if (!gemmcl_cl_check (clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_WORK_GROUP_SIZE,
                                                  sizeof (max), &max, NULL) |
                            clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_LOCAL_MEM_SIZE,
                                                      sizeof (local), &local, NULL),
                        error, "clGetKernelWorkGroupInfo for %s", self->kernel->name))
    return FALSE;
  if (group > max)
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "Kernel %s needs work-groups of %zu, but as built for this device it can have %zu.",
        self->kernel->name, group, max);
  if (local > self->device->local_bytes)
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Kernel %s needs %" G_GUINT64_FORMAT
                        " bytes of local memory, but %s has %" G_GUINT64_FORMAT ".",
                        self->kernel->name, (guint64)local, self->device->name,
                        self->device->local_bytes);
  return TRUE;
}

/* The problem that multiply computes: the whole, or a part of a split K whose sums reduce adds
 * up. */
static GemmclGemm
get_multiplied (GemmclBody *self)
{
  GemmclGemm gemm = self->gemm;

  if (self->split > 1) {
    gemm.lda = gemmcl_gemm_get_layout (&gemm, GEMMCL_OPERAND_A, FALSE).ld;
    gemm.k /= self->split;
    gemm.d_type = GEMMCL_TYPE_F32;
    gemm.addend = GEMMCL_ADDEND_NONE;
    gemm.activation = GEMMCL_ACTIVATION_NONE;
    gemm.row_outputs = 0;
    gemm.ldd = gemm.d_offset = gemm.d_stride = 0;
  }
  return gemm;
}

static gboolean
build_at_level (GemmclBody *self, GemmclKernelLevel level, GError **error)
{
  const GemmclGemm gemm = get_multiplied (self);
  g_autofree gchar *options = gemmcl_kernel_make_options (self->kernel, &gemm, self->device, level);
  g_auto (cl_kernel) kernel =
      gemmcl_context_create_kernel (self->context, self->kernel->source, options, "gemm", error);

  if (kernel == NULL || !check_room (self, kernel, error) ||
      !gemmcl_subgroups_check (self->kernel, kernel, gemmcl_context_get_cl_device (self->context),
                               level, error))
    return FALSE;
  self->multiply = g_steal_pointer (&kernel);
  self->level = level;
  return TRUE;
}

/* Builds multiply at the best level that this driver can build, at worst at @worst. */
static gboolean
build_multiply (GemmclBody *self, const GemmclChoice *choice, GemmclKernelLevel worst,
                GError **error)
{
  const GemmclKernel *kernel = choice->kernel;
  GemmclKernelLevel level = gemmcl_subgroups_get_level (kernel, self->device);
  g_autoptr (GError) failure = NULL;

  self->kernel = kernel;
  self->split = choice->split;
  while (!build_at_level (self, level, &failure)) {
    if ((kernel->subgroup == 0 && kernel->precision != GEMMCL_PRECISION_I8) || level >= worst) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    g_debug ("%s", failure->message);
    g_clear_error (&failure);
    level = kernel->subgroup > 0 ? gemmcl_subgroups_get_next (level, self->device)
                                 : GEMMCL_KERNEL_LEVEL_EMULATED;
  }
  return TRUE;
}

/* A number of up to 64 bits that a driver may report for a kernel; 0 if it does not. */
static guint64
get_number (GemmclBody *self, cl_kernel_work_group_info which)
{
  guint64 number = 0;

  if (clGetKernelWorkGroupInfo (self->multiply, gemmcl_context_get_cl_device (self->context), which,
                                sizeof (number), &number, NULL) != CL_SUCCESS)
    return 0;
  return number;
}

static guint
get_subgroup_size (GemmclBody *self)
{
  const gsize group[3] = {self->kernel->group_m * self->kernel->group_n, 1, 1};
  gsize size = 0;

  /* An older driver lacks the function that the loader would call. */
  if (gemmcl_cl_get_version (gemmcl_context_get_device_info (self->context)->version) < 21 ||
      clGetKernelSubGroupInfo (self->multiply, gemmcl_context_get_cl_device (self->context),
                               CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof (group), group,
                               sizeof (size), &size, NULL) != CL_SUCCESS)
    return 0;
  return size;
}

static GemmclBuildInfo
get_build_info (GemmclBody *self)
{
  return (GemmclBuildInfo){
      .level = self->level,
      .subgroup_size = get_subgroup_size (self),
      .max_work_group = get_number (self, CL_KERNEL_WORK_GROUP_SIZE),
      .local_bytes = get_number (self, CL_KERNEL_LOCAL_MEM_SIZE),
      .private_bytes = get_number (self, CL_KERNEL_PRIVATE_MEM_SIZE),
      .spill_bytes = get_number (self, CL_KERNEL_SPILL_MEM_SIZE_INTEL),
  };
}

/* Bytes per work-item that Intel's compiler spilled. */
static guint64
count_spilled (GemmclBody *self)
{
  GemmclBuildInfo build;

  if (!self->device->intel || self->device->type != GEMMCL_DEVICE_TYPE_GPU)
    return 0;
  build = get_build_info (self);
  return MAX (build.spill_bytes, build.private_bytes);
}

/* Builds the first choice that this driver can build without spilling: spilling costs more than
 * choices differ by. If all of the first MAX_BUILT spill, takes the one that spills least. */
static gboolean
try_choices (GemmclBody *self, GArray *ranked, GError **error)
{
  GemmclChoice *best = NULL;
  guint64 least = G_MAXUINT64;
  g_autoptr (GError) failure = NULL;
  guint built = 0;

  for (guint i = 0; i < ranked->len && built < MAX_BUILT && least > 0; i++) {
    GemmclChoice *choice = &g_array_index (ranked, GemmclChoice, i);

    g_clear_error (&failure);
    g_clear_pointer (&self->multiply, clReleaseKernel);
    if (!build_multiply (self, choice, GEMMCL_KERNEL_LEVEL_NATIVE, &failure)) {
      g_debug ("%s", failure->message);
      continue;
    }
    built++;
    if (count_spilled (self) < least) {
      least = count_spilled (self);
      best = choice;
    }
  }
  if (least == 0)
    return TRUE;
  g_clear_pointer (&self->multiply, clReleaseKernel);
  if (best != NULL)
    return build_multiply (self, best, GEMMCL_KERNEL_LEVEL_NATIVE, error);
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* Builds the kernel of a tuning entry, if there is one and it builds. */
static gboolean
try_tuned (GemmclBody *self, const GemmclGemm *gemm)
{
  g_autoptr (GError) failure = NULL;
  GemmclTuned tuned;

  if (!gemmcl_tuning_find (self->device, gemm, &tuned) ||
      !gemmcl_choice_check (&tuned.choice, self->device, &self->gemm, NULL))
    return FALSE;
  if (!build_multiply (self, &tuned.choice, GEMMCL_KERNEL_LEVEL_NATIVE, &failure)) {
    g_debug ("%s", failure->message);
    return FALSE;
  }
  self->source = tuned.source;
  return TRUE;
}

/* Builds the kernel that the user named, or else the best one that this driver can build. */
static gboolean
choose_kernel (GemmclBody *self, const gchar *name, GError **error)
{
  g_autoptr (GArray) ranked = NULL;
  GemmclGemm as_run;
  const gboolean rules = g_strcmp0 (name, "rules") == 0;

  if (name != NULL && !rules && strcmp (name, "auto") != 0) {
    GemmclChoice choice;
    self->source = GEMMCL_CHOICE_NAMED;
    return gemmcl_choice_find (&choice, name, error) &&
           gemmcl_choice_check (&choice, self->device, &self->gemm, error) &&
           build_multiply (self, &choice, GEMMCL_KERNEL_LEVEL_EMULATED, error);
  }
  as_run = gemmcl_gemm_get_as_run (&self->gemm);
  if (!rules && try_tuned (self, &as_run))
    return TRUE;
  self->source = GEMMCL_CHOICE_RULES;
  ranked = gemmcl_choice_rank (self->device, &as_run, self->gemm.batch > 1 ? 1 : GEMMCL_MAX_SPLIT);
  if (ranked->len == 0)
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "No kernel writes frames from %zu features a pixel; write a matrix instead.", self->gemm.k);
  return try_choices (self, ranked, error);
}

gboolean
gemmcl_body_build_step (GemmclBody *self, cl_kernel *step, const gchar *source, const gchar *name,
                        gchar *options, GError **error)
{
  g_autofree gchar *owned = options;

  *step = gemmcl_context_create_kernel (self->context, source, owned, name, error);
  return *step != NULL;
}

cl_mem
gemmcl_body_create_memory (GemmclBody *self, gsize rows, gsize row_bytes, const gchar *what,
                           GError **error)
{
  gsize size;

  if (!g_size_checked_mul (&size, rows, row_bytes) ||
      !g_size_checked_mul (&size, size, self->gemm.batch))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, what, error);
}

/* A tight f32 matrix with @cols elements for each row of D. */
static cl_mem
create_floats (GemmclBody *self, gsize cols, const gchar *what, GError **error)
{
  return gemmcl_body_create_memory (self, self->gemm.m, cols * sizeof (gfloat), what, error);
}

static gboolean
build_im2col (GemmclBody *self, GError **error)
{
  if (self->gemm.a_image == NULL || gemmcl_kernel_takes_pixels (self->kernel, &self->gemm))
    return TRUE;
  return gemmcl_body_build_step (self, &self->im2col, "im2col.cl", "im2col",
                                 gemmcl_image_get_defines (self->gemm.a_image, "A_"), error) &&
         (self->features = create_floats (self, self->gemm.k, "A, from frames,", error)) != NULL;
}

static gboolean
build_reduce (GemmclBody *self, GError **error)
{
  if (self->split == 1)
    return TRUE;
  return gemmcl_body_build_step (
             self, &self->reduce, "reduce.cl", "reduce",
             gemmcl_kernel_make_reduce_options (self->kernel, &self->gemm, self->split), error) &&
         (self->no_bias = gemmcl_body_create_bias (self, error)) != NULL &&
         (self->workspace = create_floats (self, self->gemm.n * self->split,
                                           "The split-K workspace", error)) != NULL;
}

static gboolean
build_softmax (GemmclBody *self, GError **error)
{
  if (!gemmcl_kernel_needs_softmax (self->kernel, &self->gemm, self->split))
    return TRUE;
  if (gemmcl_kernel_needs_logits (self->kernel, &self->gemm, self->split) &&
      !(self->logits = create_floats (self, self->gemm.n, "D before softmax", error)))
    return FALSE;
  return gemmcl_body_build_step (
      self, &self->softmax, "softmax.cl", "softmax",
      g_strdup_printf ("-DD_TYPE=%d -DGROUP=%u", self->gemm.d_type, self->row_group), error);
}

static gboolean
build_row_outputs (GemmclBody *self, GError **error)
{
  const GemmclGemm *gemm = &self->problem;
  GString *options;

  if (gemm->row_outputs == 0)
    return TRUE;
  if (gemmcl_kernel_makes_row_outputs (self->kernel, &self->gemm, self->split)) {
    clRetainKernel (self->multiply);
    self->row_outputs = self->multiply;
    return TRUE;
  }
  options = g_string_new (NULL);
  g_string_printf (
      options, "-DD_TYPE=%d -DGROUP=%u -DWIDTH=%u%s", gemm->d_type, self->row_group,
      self->row_width,
      gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_D, FALSE).by_column ? "" : " -DD_UNIT_COL");
  gemmcl_row_outputs_append_options (options, gemm);
  return gemmcl_body_build_step (self, &self->row_outputs, "row_outputs.cl", "row_outputs",
                                 g_string_free (options, FALSE), error);
}

static gboolean
build_steps (GemmclBody *self, GError **error)
{
  const gboolean packs = self->kernel->packed || self->kernel->images;
  const gboolean cpu = self->device->type == GEMMCL_DEVICE_TYPE_CPU;

  self->row_group = cpu ? 1 : 64;
  self->row_width = cpu ? 16 : 4;
  return gemmcl_body_build_gather (self, error) && gemmcl_body_build_pack_a (self, error) &&
         (!packs || gemmcl_body_build_pack (self, &self->pack, error)) &&
         build_im2col (self, error) && gemmcl_body_build_quantize (self, error) &&
         build_reduce (self, error) && build_softmax (self, error) &&
         gemmcl_body_build_state (self, error) && build_row_outputs (self, error) &&
         (self->operands[GEMMCL_PLAN_BIAS].buffer = gemmcl_body_create_bias (self, error)) != NULL;
}

GemmclBody *
gemmcl_body_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 GError **error)
{
  g_autoptr (GemmclBody) self = g_new0 (GemmclBody, 1);

  gemmcl_body_init_runs (self);
  self->context = g_object_ref (context);
  self->device = gemmcl_context_get_device_info (context);
  gemmcl_plan_copy_problem (&self->problem, self->images, gemm);
  self->gemm = gemmcl_gemm_get_computed (&self->problem);
  if (!choose_kernel (self, kernel, error) || !build_steps (self, error))
    return NULL;
  gemmcl_body_warm_up (self);
  self->state_is_void = TRUE; /* the launches of the warm-up need no zeros */
  self->name = gemmcl_choice_get_name (&(GemmclChoice){self->kernel, self->split});
  return g_steal_pointer (&self);
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
  self->body = gemmcl_body_new (context, gemm, kernel, error);
  return self->body != NULL ? g_steal_pointer (&self) : NULL;
}

const gchar *
gemmcl_plan_get_kernel (GemmclPlan *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), NULL);
  locker = g_mutex_locker_new (&self->lock);
  return self->body->name;
}

GemmclPrecision
gemmcl_plan_get_precision (GemmclPlan *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), GEMMCL_PRECISION_F32);
  locker = g_mutex_locker_new (&self->lock);
  return self->body->kernel->precision;
}

GemmclChoiceSource
gemmcl_plan_get_choice_source (GemmclPlan *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_val_if_fail (GEMMCL_IS_PLAN (self), GEMMCL_CHOICE_RULES);
  locker = g_mutex_locker_new (&self->lock);
  return self->body->source;
}

void
gemmcl_plan_get_build_info (GemmclPlan *self, GemmclBuildInfo *info)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (info != NULL);

  locker = g_mutex_locker_new (&self->lock);
  *info = get_build_info (self->body);
}
