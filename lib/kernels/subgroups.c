/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The features of a device that OpenCL C does not guarantee: subgroups (levels: subgroup.clh), int8
 * dot products (dot.clh), and NVIDIA's matrix engines (mma.clh).
 */
#include "kernels/subgroups.h"

#include <string.h>

#include "device/context.h"

#define FIRST_DP4A 61 /* NVIDIA's compute capability 6.1: PTX ISA, dp4a */

static const gchar *const level_names[] = {"native", "khr", "emulated"};
static const gchar *const level_macros[] = {"SG_NATIVE", "SG_KHR", "SG_EMULATED"}; /* arguments.h */

const gchar *
gemmcl_kernel_level_get_name (GemmclKernelLevel level)
{
  g_return_val_if_fail (level < G_N_ELEMENTS (level_names), NULL);
  return level_names[level];
}

/* The best level that GEMMCL_SUBGROUPS allows. */
static GemmclKernelLevel
get_asked_level (void)
{
  const gchar *asked = g_getenv ("GEMMCL_SUBGROUPS");

  for (guint i = 0; asked != NULL && i < G_N_ELEMENTS (level_names); i++)
    if (strcmp (asked, level_names[i]) == 0)
      return i;
  return GEMMCL_KERNEL_LEVEL_NATIVE;
}

static gboolean
has_native (const GemmclDeviceInfo *device, const GemmclKernel *kernel)
{
  if (!gemmcl_device_info_has_extension (device, "cl_intel_subgroups"))
    return FALSE;
  if (kernel->precision == GEMMCL_PRECISION_F16 &&
      (!device->fp16 || !gemmcl_device_info_has_extension (device, "cl_intel_subgroups_short")))
    return FALSE;
  if (kernel->images && gemmcl_blocks_are_in_buffers (device))
    return FALSE;
  /* With other subgroup sizes than the smallest, compilers silently leave dpas out (see
   * dpas.clh). */
  if (kernel->family == GEMMCL_FAMILY_DPAS)
    return gemmcl_device_info_has_extension (
               device, kernel->precision == GEMMCL_PRECISION_TF32
                           ? "cl_intel_subgroup_matrix_multiply_accumulate_tf32"
                           : "cl_intel_subgroup_matrix_multiply_accumulate") &&
           gemmcl_device_info_has_extension (device, "cl_intel_subgroups_short") &&
           device->subgroup_sizes[0] == kernel->subgroup;
  for (guint i = 0; i < device->n_subgroup_sizes; i++)
    if (device->subgroup_sizes[i] == kernel->subgroup)
      return TRUE;
  return FALSE;
}

/* A device with cl_khr_subgroup_shuffle has subgroups, although OpenCL 3.0 does not require
 * cl_khr_subgroups. OpenCL 2.1 and later can report their size. On a CPU the level must be
 * requested: each shuffle goes through memory with a barrier, which PoCL takes minutes to
 * compile. The compiler of Rusticl 25.0 and 26.1 for llvmpipe crashes at the shuffles of emulated
 * engines (LLVMBuildInsertElement). */
static gboolean
has_khr (const GemmclDeviceInfo *device, const GemmclKernel *kernel)
{
  const GemmclKernelLevel asked = get_asked_level ();

  return asked <= GEMMCL_KERNEL_LEVEL_KHR &&
         (asked == GEMMCL_KERNEL_LEVEL_KHR || device->type != GEMMCL_DEVICE_TYPE_CPU) &&
         gemmcl_cl_get_version (device->version) >= 21 &&
         gemmcl_device_info_has_extension (device, "cl_khr_subgroup_shuffle") &&
         !(kernel->family == GEMMCL_FAMILY_DPAS && gemmcl_device_is_rusticl (device));
}

/* The options for int8 dot products in the vectors of @kernel, if the device is PoCL's, which is
 * the host's CPU, and this CPU has them; else %NULL. For AVX-512 other versions of PoCL were not
 * tried. */
static const gchar *
get_x86_dot (G_GNUC_UNUSED const GemmclKernel *kernel, G_GNUC_UNUSED const GemmclDeviceInfo *device)
{
#if defined(__x86_64__)
  __builtin_cpu_init ();
  if (device->type != GEMMCL_DEVICE_TYPE_CPU ||
      device->float_width < gemmcl_kernel_get_float_width (kernel) ||
      strcmp (device->platform, "Portable Computing Language") != 0)
    return NULL;
  if (kernel->family == GEMMCL_FAMILY_VECTOR_8 && __builtin_cpu_supports ("avx2"))
    return " -DDOT_AVX2";
  if (kernel->family == GEMMCL_FAMILY_VECTOR_16 && __builtin_cpu_supports ("avx512vnni"))
    switch (g_ascii_strtoull (device->driver, NULL, 10)) {
    case 3:
    case 7:
      return " -DDOT_VNNI";
    case 6: /* aborts in an assertion when it makes the binary of a program with assembly */
      return " -DDOT_VNNI -DDOT_BUILTIN";
    }
#endif
  return NULL;
}

static gboolean
has_khr_dot (const GemmclDeviceInfo *device)
{
  return device->type != GEMMCL_DEVICE_TYPE_CPU &&
         gemmcl_device_info_has_extension (device, "cl_khr_integer_dot_product");
}

/* TRUE if NVIDIA's compiler, which takes inline PTX, compiles for a GPU of at least @capability. */
static gboolean
has_ptx (const GemmclDeviceInfo *device, guint capability)
{
  return device->nvidia_capability >= capability && strcmp (device->platform, "NVIDIA CUDA") == 0;
}

/* TRUE if the device has the instructions of @kernel: for NVIDIA's matrix engines, or for int8 dot
 * products. */
static gboolean
has_instructions (const GemmclDeviceInfo *device, const GemmclKernel *kernel)
{
  const guint capability = gemmcl_kernel_get_capability (kernel);

  if (capability > 0)
    return has_ptx (device, capability) &&
           (kernel->family != GEMMCL_FAMILY_WGMMA || device->nvidia_capability == capability);
  return has_khr_dot (device) || has_ptx (device, FIRST_DP4A) ||
         get_x86_dot (kernel, device) != NULL;
}

/* TRUE if every device has all that @kernel needs, so that it is native everywhere. */
static gboolean
is_plain (const GemmclKernel *kernel)
{
  return kernel->subgroup == 0 && gemmcl_kernel_get_capability (kernel) == 0 &&
         !gemmcl_kernel_multiplies_bytes (kernel);
}

GemmclKernelLevel
gemmcl_subgroups_get_level (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                            GemmclKernelLevel best)
{
  if (is_plain (kernel) ||
      (MAX (best, get_asked_level ()) == GEMMCL_KERNEL_LEVEL_NATIVE &&
       (kernel->subgroup > 0 ? has_native (device, kernel) : has_instructions (device, kernel))))
    return GEMMCL_KERNEL_LEVEL_NATIVE;
  return kernel->subgroup > 0 && best <= GEMMCL_KERNEL_LEVEL_KHR && has_khr (device, kernel)
             ? GEMMCL_KERNEL_LEVEL_KHR
             : GEMMCL_KERNEL_LEVEL_EMULATED;
}

void
gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                 const GemmclDeviceInfo *device, GemmclKernelLevel level)
{
  if (gemmcl_kernel_multiplies_bytes (kernel) && level == GEMMCL_KERNEL_LEVEL_NATIVE &&
      !gemmcl_kernel_has_engines (kernel))
    g_string_append (options, has_khr_dot (device)           ? " -DDOT_KHR -cl-std=CL3.0"
                              : has_ptx (device, FIRST_DP4A) ? " -DDOT_PTX"
                                                             : get_x86_dot (kernel, device));
  if (kernel->subgroup == 0)
    return;
  g_string_append_printf (options, " -DSUBGROUP_SIZE=%u -DSUBGROUP_LEVEL=%s -DDEPTH=%u",
                          kernel->subgroup, level_macros[level], kernel->depth);
  /* Compilers of GPUs without subgroups of 8 are newer and handle loops well (see REPEAT in
   * gemm.clh). */
  if (level == GEMMCL_KERNEL_LEVEL_EMULATED || kernel->subgroup > 8)
    g_string_append (options, " -DREPEAT_IN_LOOPS");
  if (kernel->images)
    g_string_append (options, gemmcl_blocks_get_options (device));
  if (kernel->precision == GEMMCL_PRECISION_F16)
    g_string_append (options, " -DSG_F16");
  if (kernel->registers > 0 && level == GEMMCL_KERNEL_LEVEL_NATIVE)
    g_string_append_printf (options, " -cl-intel-%u-GRF-per-thread", kernel->registers);
  if (level == GEMMCL_KERNEL_LEVEL_KHR)
    g_string_append (options, gemmcl_cl_get_version (device->version) >= 30 ? " -cl-std=CL3.0"
                                                                            : " -cl-std=CL2.0");
}

gsize
gemmcl_subgroups_get_size (const GemmclKernel *kernel, cl_kernel built, GemmclContext *context)
{
  const gsize group[3] = {kernel->group_m * kernel->group_n, 1, 1};
  gsize size = 0;

  /* An older driver lacks the function that the loader would call. */
  if (gemmcl_cl_get_version (gemmcl_context_get_device_info (context)->version) < 21 ||
      clGetKernelSubGroupInfo (built, gemmcl_context_get_cl_device (context),
                               CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof (group), group,
                               sizeof (size), &size, NULL) != CL_SUCCESS)
    return 0;
  return size;
}

gboolean
gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built, GemmclContext *context,
                        GemmclKernelLevel level, GError **error)
{
  gsize size;

  /* Native subgroups have the size that the kernel requires; emulated subgroups have any size. */
  if (kernel->subgroup == 0 || level != GEMMCL_KERNEL_LEVEL_KHR)
    return TRUE;
  size = gemmcl_subgroups_get_size (kernel, built, context);
  if (size == kernel->subgroup)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                      "Kernel %s needs subgroups of %u, but as built for this device has %zu.",
                      kernel->name, kernel->subgroup, size);
}

/* TRUE if a probe with groups and subgroups like @kernel's builds at @level. */
static gboolean
probe (GemmclContext *context, const GemmclKernel *kernel, GemmclKernelLevel level)
{
  g_autoptr (GString) options = g_string_new (NULL);
  g_autoptr (GError) failure = NULL;
  g_auto (cl_kernel) built = NULL;

  g_string_printf (options, "-DGROUP_M=%u -DGROUP_N=%u", kernel->group_m, kernel->group_n);
  gemmcl_subgroups_append_options (options, kernel, gemmcl_context_get_device_info (context),
                                   level);
  built = gemmcl_context_create_kernel (context, "shared/subgroup_probe.cl", options->str, "probe",
                                        &failure);
  if (built != NULL && gemmcl_subgroups_check (kernel, built, context, level, &failure))
    return TRUE;
  g_debug ("%s", failure->message);
  return FALSE;
}

gboolean
gemmcl_kernel_get_level (GemmclContext *context, const gchar *name, GemmclKernelLevel *level,
                         GError **error)
{
  const GemmclDeviceInfo *device;
  const GemmclKernel *kernel;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (name != NULL && level != NULL, FALSE);

  device = gemmcl_context_get_device_info (context);
  kernel = gemmcl_kernel_find (name, error);
  if (kernel == NULL || !gemmcl_kernel_check (kernel, device, NULL, error))
    return FALSE;
  *level = gemmcl_subgroups_get_level (kernel, device, GEMMCL_KERNEL_LEVEL_NATIVE);
  while (kernel->subgroup && *level != GEMMCL_KERNEL_LEVEL_EMULATED &&
         !probe (context, kernel, *level))
    *level = gemmcl_subgroups_get_level (kernel, device, *level + 1);
  return TRUE;
}
