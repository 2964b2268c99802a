/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Makes a problem ready for the kernel that was chosen: builds it with this driver and warms it up.
 */
#include <CL/cl_ext.h>

#include "plan/body.h"

/* From cl_intel_required_subgroup_size; older headers lack it. */
#ifndef CL_KERNEL_SPILL_MEM_SIZE_INTEL
  #define CL_KERNEL_SPILL_MEM_SIZE_INTEL 0x4109
#endif

/* The status of a query about the kernel */
#define ASK(NAME, value)                                                                           \
  clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_##NAME, sizeof (value), &(value), NULL)

/* TRUE if the built kernel allows work-groups of its row's size, and the device has enough local
 * memory. NVIDIA's driver reports 48 KiB, although arrays of a kernel may have more: its compiler
 * knows the limit. It also reports work-groups of 256 for each kernel, although it compiles for the
 * size that the kernel requires. */
static gboolean
check_room (GemmclBody *self, cl_kernel kernel, GemmclKernelLevel level, GError **error)
{
  const cl_device_id id = gemmcl_context_get_cl_device (self->context);
  const gsize group = self->kernel->group_m * self->kernel->group_n;
  gsize max = 0, required[3] = {0};
  cl_ulong local = 0;
  cl_int status;

  status = ASK (WORK_GROUP_SIZE, max) ?: ASK (COMPILE_WORK_GROUP_SIZE, required)
           ?: ASK (LOCAL_MEM_SIZE, local);
  if (!gemmcl_cl_check (status, error, "clGetKernelWorkGroupInfo for %s", self->kernel->name))
    return FALSE;
  if (group > max && (self->device->nvidia_capability == 0 || required[0] != group))
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "Kernel %s needs work-groups of %zu, but as built for this device it can have %zu.",
        self->kernel->name, group, max);
  if (local > self->device->local_bytes &&
      (self->kernel->capability == 0 || level != GEMMCL_KERNEL_LEVEL_NATIVE))
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

  if (kernel == NULL || !check_room (self, kernel, level, error) ||
      !gemmcl_subgroups_check (self->kernel, kernel, self->context, level, error))
    return FALSE;
  self->multiply = g_steal_pointer (&kernel);
  self->level = level;
  return TRUE;
}

gboolean
gemmcl_body_build_multiply (GemmclBody *self, const GemmclChoice *choice, GemmclKernelLevel worst,
                            GError **error)
{
  const GemmclKernel *kernel = choice->kernel;
  GemmclKernelLevel level = gemmcl_subgroups_get_level (kernel, self->device,
                                                        GEMMCL_KERNEL_LEVEL_NATIVE),
                    next;
  g_autoptr (GError) failure = NULL;

  g_clear_pointer (&self->multiply, clReleaseKernel);
  self->kernel = kernel;
  self->split = choice->split;
  while (!build_at_level (self, level, &failure)) {
    next = gemmcl_subgroups_get_level (kernel, self->device, level + 1);
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

GemmclPlanInfo
gemmcl_body_get_info (GemmclBody *self)
{
  return (GemmclPlanInfo){
      .precision = self->kernel->precision,
      .source = self->source,
      .level = self->level,
      .subgroup_size = gemmcl_subgroups_get_size (self->kernel, self->multiply, self->context),
      .max_work_group = get_number (self, CL_KERNEL_WORK_GROUP_SIZE),
      .local_bytes = get_number (self, CL_KERNEL_LOCAL_MEM_SIZE),
      .private_bytes = get_number (self, CL_KERNEL_PRIVATE_MEM_SIZE),
      .spill_bytes = get_number (self, CL_KERNEL_SPILL_MEM_SIZE_INTEL),
  };
}

static gboolean
enqueue_warm_up (GemmclBody *self, GemmclChain *chain, GError **error)
{
  g_auto (cl_mem) a = gemmcl_body_create_copy (self, GEMMCL_OPERAND_A, error);
  g_auto (cl_mem) d = a ? gemmcl_body_create_copy (self, GEMMCL_OPERAND_D, error) : NULL;
  g_auto (cl_mem) row_outputs =
      d && self->problem.row_outputs
          ? gemmcl_body_create_copy (self, GEMMCL_OPERAND_ROW_OUTPUTS, error)
          : NULL;
  const GemmclOperands operands = {
      .m = self->gemm.m,
      .batch = self->gemm.batch,
      .a = a,
      .d = d,
      .row_outputs = row_outputs,
      .previous = d,
      .tight = TRUE,
      .alpha = 1,
  };

  return d != NULL && (!self->problem.row_outputs || row_outputs != NULL) &&
         gemmcl_body_warm_up_b (self, chain->queue, error) &&
         gemmcl_body_enqueue (self, &operands, chain, error);
}

/* Makes PoCL, which compiles a kernel at its first launch, compile the kernels of a run: launches a
 * part of each grid (see GemmclChain.warm_up), in memory as large as a run's. A failure is only
 * logged: smaller runs may have enough memory, and a lasting error fails the runs. */
static void
warm_up (GemmclBody *self)
{
  g_autoptr (GPtrArray) events = gemmcl_events_new ();
  g_autoptr (GError) failure = NULL;
  g_auto (cl_command_queue) queue = NULL;
  GemmclChain chain = {.events = events, .warm_up = TRUE};

  if (self->device->type != GEMMCL_DEVICE_TYPE_CPU)
    return;
  chain.queue = queue = gemmcl_context_create_queue (self->context, 0, &failure);
  if (queue != NULL) {
    const gboolean enqueued = enqueue_warm_up (self, &chain, &failure);

    gemmcl_cl_check (clFinish (queue), enqueued ? &failure : NULL, "clFinish after warming up");
  }
  gemmcl_held_clear (&self->operands[GEMMCL_PLAN_B]);
  if (failure != NULL)
    g_debug ("The first run compiles instead: %s", failure->message);
}

gboolean
gemmcl_body_complete (GemmclBody *self, GError **error)
{
  if (!gemmcl_body_build_steps (self, error))
    return FALSE;
  warm_up (self);
  self->state_is_void = TRUE; /* set late: the warm-up needs no zeros */
  self->name = gemmcl_choice_get_name (&(GemmclChoice){self->kernel, self->split, 0});
  return TRUE;
}
