/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/kernel-plan.h"

#include <CL/cl_ext.h>

#include "kernels/options.h"
#include "kernels/subgroups.h"

/* From cl_intel_required_subgroup_size; older headers lack it. */
#ifndef CL_KERNEL_SPILL_MEM_SIZE_INTEL
  #define CL_KERNEL_SPILL_MEM_SIZE_INTEL 0x4109
#endif

void
gemmcl_kept_clear (GemmclKept *self)
{
  g_clear_pointer (&self->weights, gemmcl_weights_unref);
  g_clear_pointer (&self->buffer, clReleaseMemObject);
  g_clear_pointer (&self->matrix, gemmcl_matrix_unref);
}

void
gemmcl_copy_problem (GemmclGemm *to, GemmclFrame frames[2], const GemmclGemm *from)
{
  *to = *from;
  to->batch = gemmcl_gemm_get_batch (from);
  if (from->a_frame) {
    frames[0] = *from->a_frame;
    to->a_frame = &frames[0];
  }
  if (from->d_frame) {
    frames[1] = *from->d_frame;
    to->d_frame = &frames[1];
  }
}

GemmclKernelPlan *
gemmcl_kernel_plan_alloc (GemmclContext *context, const GemmclGemm *gemm)
{
  GemmclKernelPlan *self = g_new0 (GemmclKernelPlan, 1);

  self->context = g_object_ref (context);
  self->device = gemmcl_context_get_device_info (context);
  gemmcl_copy_problem (&self->problem, self->frames, gemm);
  if (gemm->omit_d)
    self->problem.ldd = self->problem.d_start = self->problem.d_stride = 0;
  self->computed = gemmcl_gemm_get_computed (&self->problem);
  return self;
}

void
gemmcl_kernel_plan_free (GemmclKernelPlan *self)
{
  cl_mem *const buffers[] = {&self->zeros, &self->image, &self->parts,  &self->logits,
                             &self->state, &self->tops,  &self->omitted};

  g_clear_pointer (&self->parts_cleared, clReleaseEvent);
  g_clear_pointer (&self->gather, clReleaseKernel);
  g_clear_pointer (&self->multiply, clReleaseKernel);
  for (guint i = 0; i < self->n_steps; i++) {
    g_clear_pointer (&self->steps[i].kernel, clReleaseKernel);
    g_clear_pointer (&self->steps[i].output, clReleaseMemObject);
  }
  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    g_clear_pointer (buffers[i], clReleaseMemObject);
  g_clear_pointer (&self->state_written, clReleaseEvent);
  for (guint i = 0; i < GEMMCL_N_KEPT; i++)
    gemmcl_kept_clear (&self->kept[i]);
  g_clear_object (&self->context);
  g_free (self);
}

cl_mem
gemmcl_kernel_plan_create_memory (GemmclKernelPlan *self, gsize rows, gsize row_bytes,
                                  const gchar *what, GError **error)
{
  gsize size;

  if (!g_size_checked_mul (&size, rows, row_bytes) ||
      !g_size_checked_mul (&size, size, self->computed.batch))
    size = G_MAXSIZE;
  return gemmcl_context_create_buffer (self->context, size, what, error);
}

gsize
gemmcl_kernel_plan_fit_group (GemmclKernelPlan *self, gsize size)
{
  return size <= MIN (self->device->max_work_group, self->device->max_work_item_sizes[0]) ? size
                                                                                          : 1;
}

/* The status of a query about the kernel */
#define ASK(NAME, value)                                                                           \
  clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_##NAME, sizeof (value), &(value), NULL)

/* TRUE if the built kernel allows work-groups of its row's size, and the device has enough local
 * memory. NVIDIA's driver reports 48 KiB, although arrays of a kernel may have more: its compiler
 * knows the limit. */
static gboolean
check_room (GemmclKernelPlan *self, cl_kernel kernel, GemmclKernelLevel level, GError **error)
{
  const cl_device_id id = gemmcl_context_get_cl_device (self->context);
  const gsize group = self->kernel->group_m * self->kernel->group_n;
  /* Some drivers compile for the size that a kernel requires, but report a smaller limit: NVIDIA's
   * reports 256 for each kernel, Rusticl of Mesa 22.3 reports 32. */
  const gboolean understates =
      self->device->nvidia_capability > 0 || gemmcl_device_is_rusticl (self->device);
  gsize max = 0, required[3] = {0};
  cl_ulong local = 0;
  cl_int status;

  status = ASK (WORK_GROUP_SIZE, max) ?: ASK (COMPILE_WORK_GROUP_SIZE, required)
           ?: ASK (LOCAL_MEM_SIZE, local);
  if (!gemmcl_cl_check (status, error, "clGetKernelWorkGroupInfo for %s", self->kernel->name))
    return FALSE;
  if (group > max && (!understates || required[0] != group))
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "Kernel %s needs work-groups of %zu, but as built for this device it can have %zu.",
        self->kernel->name, group, max);
  if (local > self->device->local_bytes &&
      (gemmcl_kernel_get_capability (self->kernel) == 0 || level != GEMMCL_KERNEL_LEVEL_NATIVE))
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Kernel %s needs %" G_GUINT64_FORMAT
                        " bytes of local memory, but %s has %" G_GUINT64_FORMAT ".",
                        self->kernel->name, (guint64)local, self->device->name,
                        self->device->local_bytes);
  return TRUE;
}

/* The problem that multiply computes: the whole, or a part of a split K. If reduce adds the parts
 * up, they have no epilogue. */
static GemmclGemm
get_multiplied (GemmclKernelPlan *self)
{
  GemmclGemm gemm = self->computed;

  if (self->split > 1) {
    gemm.lda = gemmcl_gemm_get_layout (&gemm, GEMMCL_OPERAND_A, FALSE).ld;
    gemm.k /= self->split;
  }
  if (self->split > 1 && !gemmcl_kernel_adds_parts (self->kernel, self->split)) {
    gemm.d_type = GEMMCL_TYPE_F32;
    gemm.addend = GEMMCL_ADDEND_NONE;
    gemm.activation = GEMMCL_ACTIVATION_NONE;
    gemm.row_outputs = 0;
    gemm.ldd = gemm.d_start = gemm.d_stride = 0;
  }
  return gemm;
}

static gboolean
build_at_level (GemmclKernelPlan *self, GemmclKernelLevel level, GError **error)
{
  const GemmclGemm gemm = get_multiplied (self);
  const guint split = gemmcl_kernel_adds_parts (self->kernel, self->split) ? self->split : 1;
  g_autofree gchar *options =
      gemmcl_kernel_make_options (self->kernel, &gemm, split, self->device, level);
  g_auto (cl_kernel) kernel =
      gemmcl_context_create_kernel (self->context, self->kernel->source, options, "gemm", error);

  if (kernel == NULL || !check_room (self, kernel, level, error) ||
      !gemmcl_subgroups_check (self->kernel, kernel, self->context, level, error))
    return FALSE;
  self->multiply = g_steal_pointer (&kernel);
  self->level = level;
  return TRUE;
}

gboolean
gemmcl_kernel_plan_build_multiply (GemmclKernelPlan *self, const GemmclChoice *choice,
                                   GemmclKernelLevel worst, GError **error)
{
  const GemmclKernel *kernel = choice->kernel;
  GemmclKernelLevel level =
      gemmcl_subgroups_get_level (kernel, self->device, GEMMCL_KERNEL_LEVEL_NATIVE);
  g_autoptr (GError) failure = NULL;

  if (level > worst)
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Kernel %s is %s on %s, and only the caller can choose such a kernel.",
                        kernel->name, gemmcl_kernel_level_get_name (level), self->device->name);
  g_clear_pointer (&self->multiply, clReleaseKernel);
  self->kernel = kernel;
  self->split = choice->split;
  while (!build_at_level (self, level, &failure)) {
    const GemmclKernelLevel next = gemmcl_subgroups_get_level (kernel, self->device, level + 1);

    if (next == level || level >= worst) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    g_debug ("%s", failure->message);
    g_clear_error (&failure);
    level = next;
  }
  return TRUE;
}

/* Exchanges the memory of both, so that neither has to allocate. */
void
gemmcl_kernel_plan_adopt_previous (GemmclKernelPlan *self, GemmclKernelPlan *from)
{
  const GemmclGemm *a = &self->computed, *b = &from->computed;
  cl_mem own = self->state;

  self->state_is_void = TRUE;
  if (self->context != from->context || self->problem.addend != GEMMCL_ADDEND_PREVIOUS ||
      from->problem.addend != GEMMCL_ADDEND_PREVIOUS || a->m != b->m || a->n != b->n ||
      a->batch != b->batch || a->layout != b->layout)
    return;
  self->state = from->state;
  self->state_is_void = from->state_is_void;
  g_clear_pointer (&self->state_written, clReleaseEvent);
  self->state_written = g_steal_pointer (&from->state_written);
  from->state = own;
  from->state_is_void = TRUE;
}

/* A number of up to 64 bits that a driver may report for a kernel; 0 if it does not. */
static guint64
get_number (GemmclKernelPlan *self, cl_kernel_work_group_info which)
{
  guint64 number = 0;

  if (clGetKernelWorkGroupInfo (self->multiply, gemmcl_context_get_cl_device (self->context), which,
                                sizeof (number), &number, NULL) != CL_SUCCESS)
    return 0;
  return number;
}

GemmclPlanInfo
gemmcl_kernel_plan_get_info (GemmclKernelPlan *self)
{
  const GemmclKernel *kernel = self->kernel;
  const GemmclTiles groups = gemmcl_kernel_get_groups (kernel, self->device, &self->computed,
                                                       self->computed.m, self->split);

  return (GemmclPlanInfo){
      .precision = kernel->precision,
      .source = self->source,
      .level = self->level,
      .global_size = {groups.m * kernel->group_m, groups.n * kernel->group_n, self->split},
      .local_size = {kernel->group_m, kernel->group_n, 1},
      .subgroup_size = gemmcl_subgroups_get_size (kernel, self->multiply, self->context),
      .max_work_group = get_number (self, CL_KERNEL_WORK_GROUP_SIZE),
      .local_bytes = get_number (self, CL_KERNEL_LOCAL_MEM_SIZE),
      .private_bytes = get_number (self, CL_KERNEL_PRIVATE_MEM_SIZE),
      /* Mesa's Rusticl on llvmpipe counts all private memory. */
      .spill_bytes = self->device->intel ? get_number (self, CL_KERNEL_SPILL_MEM_SIZE_INTEL) : 0,
      .rounds_a = gemmcl_kernel_has_engines (kernel) || gemmcl_kernel_multiplies_bytes (kernel),
  };
}
