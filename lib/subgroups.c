/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the kernels that use subgroups run on a device: kernels/subgroup.clh has the levels.
 */
#include "subgroups.h"

#include <stdlib.h>
#include <string.h>

static const gchar *const level_names[] = {"native", "khr", "emulated"};

const gchar *
gemmcl_kernel_level_get_name (GemmclKernelLevel level)
{
  g_return_val_if_fail (level < G_N_ELEMENTS (level_names), NULL);
  return level_names[level];
}

/* The best level that the user wants tried. */
static GemmclKernelLevel
get_asked_level (void)
{
  const gchar *asked = g_getenv ("GEMMCL_SUBGROUPS");

  for (guint i = 0; asked != NULL && i < G_N_ELEMENTS (level_names); i++)
    if (strcmp (asked, level_names[i]) == 0)
      return i;
  return GEMMCL_KERNEL_LEVEL_NATIVE;
}

/* The version of OpenCL, 30 for "OpenCL 3.0 ...". */
static guint
get_version (const GemmclDeviceInfo *device)
{
  const gsize prefix = strlen ("OpenCL ");

  return strlen (device->version) > prefix
             ? 10 * g_ascii_strtod (device->version + prefix, NULL) + 0.5
             : 0;
}

static gboolean
has_native (const GemmclDeviceInfo *device, guint size)
{
  if (!gemmcl_device_info_has_extension (device, "cl_intel_subgroups"))
    return FALSE;
  for (guint i = 0; i < device->n_subgroup_sizes; i++)
    if (device->subgroup_sizes[i] == size)
      return TRUE;
  return FALSE;
}

/* From 2.1 on the size of a kernel's subgroups can be asked for. */
static gboolean
has_khr (const GemmclDeviceInfo *device)
{
  return get_asked_level () <= GEMMCL_KERNEL_LEVEL_KHR && get_version (device) >= 21 &&
         gemmcl_device_info_has_extension (device, "cl_khr_subgroups") &&
         gemmcl_device_info_has_extension (device, "cl_khr_subgroup_shuffle");
}

GemmclKernelLevel
gemmcl_subgroups_get_level (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  if (kernel->subgroup == 0 ||
      (get_asked_level () == GEMMCL_KERNEL_LEVEL_NATIVE && has_native (device, kernel->subgroup)))
    return GEMMCL_KERNEL_LEVEL_NATIVE;
  return gemmcl_subgroups_get_next (GEMMCL_KERNEL_LEVEL_NATIVE, device);
}

GemmclKernelLevel
gemmcl_subgroups_get_next (GemmclKernelLevel level, const GemmclDeviceInfo *device)
{
  return level == GEMMCL_KERNEL_LEVEL_NATIVE && has_khr (device) ? GEMMCL_KERNEL_LEVEL_KHR
                                                                 : GEMMCL_KERNEL_LEVEL_EMULATED;
}

void
gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                 const GemmclDeviceInfo *device, GemmclKernelLevel level)
{
  if (kernel->subgroup == 0)
    return;
  g_string_append_printf (options, " -DSUBGROUP_SIZE=%u -DSUBGROUP_LEVEL=%d", kernel->subgroup,
                          level);
  if (level == GEMMCL_KERNEL_LEVEL_KHR)
    g_string_append (options, get_version (device) >= 30 ? " -cl-std=CL3.0" : " -cl-std=CL2.0");
}

gboolean
gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built, cl_device_id device,
                        GemmclKernelLevel level, GError **error)
{
  const gsize group[3] = {kernel->group_m * kernel->group_n, 1, 1};
  gsize size = 0;

  /* Native ones have the size that they require; those emulated are none. */
  if (kernel->subgroup == 0 || level != GEMMCL_KERNEL_LEVEL_KHR)
    return TRUE;
  if (!gemmcl_cl_check (clGetKernelSubGroupInfo (built, device,
                                                 CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                                                 sizeof (group), group, sizeof (size), &size, NULL),
                        error, "clGetKernelSubGroupInfo for %s", kernel->name))
    return FALSE;
  if (size == kernel->subgroup)
    return TRUE;
  g_set_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL,
               "Kernel %s needs subgroups of %u, but as built for this device has %" G_GSIZE_FORMAT
               ".",
               kernel->name, kernel->subgroup, size);
  return FALSE;
}
