/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A problem made ready for one kernel: the choice of the kernel, which builds on this driver.
 */
#include <CL/cl_ext.h>
#include <string.h>

#include "plan/body.h"

/* From cl_intel_required_subgroup_size; older headers lack it. */
#ifndef CL_KERNEL_SPILL_MEM_SIZE_INTEL
  #define CL_KERNEL_SPILL_MEM_SIZE_INTEL 0x4109
#endif

#define MAX_BUILT 16 /* kernels that are built in search of one that does not spill */

void
gemmcl_body_free (GemmclBody *self)
{
  cl_kernel *const kernels[] = {
      &self->gather,      &self->pack,  &self->im2col,     &self->normalize_a, &self->quantize,
      &self->pack_a,      &self->load,  &self->multiply,   &self->reduce,      &self->softmax,
      &self->normalize_d, &self->store, &self->row_outputs};
  cl_mem *const buffers[] = {&self->features,  &self->int8_a,  &self->image_a, &self->run_b,
                             &self->workspace, &self->no_bias, &self->logits,  &self->state};

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
gemmcl_copy_problem (GemmclGemm *to, GemmclImage images[2], const GemmclGemm *from)
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

  if (!gemmcl_cl_check (clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_WORK_GROUP_SIZE,
                                                  sizeof (max), &max, NULL) |
                            clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                                      sizeof (required), required, NULL) |
                            clGetKernelWorkGroupInfo (kernel, id, CL_KERNEL_LOCAL_MEM_SIZE,
                                                      sizeof (local), &local, NULL),
                        error, "clGetKernelWorkGroupInfo for %s", self->kernel->name))
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

/* Builds multiply at the best level that this driver can build, at worst at @worst. */
static gboolean
build_multiply (GemmclBody *self, const GemmclChoice *choice, GemmclKernelLevel worst,
                GError **error)
{
  const GemmclKernel *kernel = choice->kernel;
  GemmclKernelLevel level = gemmcl_subgroups_get_level (kernel, self->device,
                                                        GEMMCL_KERNEL_LEVEL_NATIVE),
                    next;
  g_autoptr (GError) failure = NULL;

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

GemmclBuildInfo
gemmcl_body_get_build_info (GemmclBody *self)
{
  return (GemmclBuildInfo){
      .level = self->level,
      .subgroup_size = gemmcl_subgroups_get_size (self->kernel, self->multiply, self->context),
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
  build = gemmcl_body_get_build_info (self);
  return MAX (build.spill_bytes, build.private_bytes);
}

/* Builds the first choice that this driver can build without spilling: spilling costs more than
 * choices differ by. If all of the first MAX_BUILT spill, takes the one that spills least. */
static gboolean
try_choices (GemmclBody *self, GArray *ranked, GError **error)
{
  GemmclChoice *best = NULL;
  guint64 spilled, least = G_MAXUINT64;
  g_autoptr (GError) failure = NULL;
  guint built = 0;

  for (guint i = 0; i < ranked->len && built < MAX_BUILT && least > 0; i++) {
    GemmclChoice *choice = &g_array_index (ranked, GemmclChoice, i);

    g_clear_error (&failure);
    g_clear_pointer (&self->multiply, clReleaseKernel);
    if (!gemmcl_kernel_is_proven (self->context, choice->kernel, &failure) ||
        !build_multiply (self, choice, GEMMCL_KERNEL_LEVEL_NATIVE, &failure)) {
      g_debug ("%s", failure->message);
      continue;
    }
    built++;
    spilled = count_spilled (self);
    if (spilled < least) {
      least = spilled;
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
  if (!gemmcl_kernel_is_proven (self->context, tuned.choice.kernel, &failure) ||
      !build_multiply (self, &tuned.choice, GEMMCL_KERNEL_LEVEL_NATIVE, &failure)) {
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
  ranked = gemmcl_choice_rank (self->device, &as_run, self->gemm.batch > 1 ? 1 : GEMMCL_MAX_SPLIT,
                               FALSE);
  if (ranked->len == 0)
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "No kernel writes frames from %zu features a pixel; write a matrix instead.", self->gemm.k);
  return try_choices (self, ranked, error);
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
         gemmcl_body_enqueue_locked (self, &operands, chain, error);
}

/* Makes PoCL, which compiles a kernel at its first launch, compile those of a run: launches a part
 * of each grid (see GemmclChain.warm_up), in memory as large as a run's. A failure is only logged:
 * smaller runs may have enough memory, and a lasting error fails the runs. */
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

GemmclBody *
gemmcl_body_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                 GError **error)
{
  g_autoptr (GemmclBody) self = g_new0 (GemmclBody, 1);

  self->context = g_object_ref (context);
  self->device = gemmcl_context_get_device_info (context);
  gemmcl_copy_problem (&self->problem, self->images, gemm);
  self->gemm = gemmcl_gemm_get_computed (&self->problem);
  if (!choose_kernel (self, kernel, error) || !gemmcl_body_build_steps (self, error))
    return NULL;
  warm_up (self);
  self->state_is_void = TRUE; /* the launches of the warm-up need no zeros */
  self->name = gemmcl_choice_get_name (&(GemmclChoice){self->kernel, self->split, 0});
  return g_steal_pointer (&self);
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
