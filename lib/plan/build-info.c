/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the driver's compiler made of a plan's kernel.
 */
#include <CL/cl_ext.h>

#include "device/context.h"
#include "plan/plan.h"

/* Of cl_intel_required_subgroup_size; older headers have no name for it. */
#ifndef CL_KERNEL_SPILL_MEM_SIZE_INTEL
  #define CL_KERNEL_SPILL_MEM_SIZE_INTEL 0x4109
#endif

/* A number, of 64 bits or fewer, that a driver may tell of a kernel; 0 if it does not. */
static guint64
get_number (GemmclPlan *plan, cl_kernel_work_group_info which)
{
  guint64 number = 0;

  if (clGetKernelWorkGroupInfo (plan->multiply, gemmcl_context_get_cl_device (plan->context), which,
                                sizeof (number), &number, NULL) != CL_SUCCESS)
    return 0;
  return number;
}

static guint
get_subgroup_size (GemmclPlan *plan)
{
  const gsize group[3] = {plan->kernel->group_m * plan->kernel->group_n, 1, 1};
  gsize size = 0;

  /* An older driver has not even a function for the loader to call. */
  if (gemmcl_cl_get_version (gemmcl_context_get_device_info (plan->context)->version) < 21 ||
      clGetKernelSubGroupInfo (plan->multiply, gemmcl_context_get_cl_device (plan->context),
                               CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof (group), group,
                               sizeof (size), &size, NULL) != CL_SUCCESS)
    return 0;
  return size;
}

void
gemmcl_plan_get_build_info (GemmclPlan *self, GemmclBuildInfo *info)
{
  g_return_if_fail (GEMMCL_IS_PLAN (self));
  g_return_if_fail (info != NULL);

  *info = (GemmclBuildInfo){
      .level = self->level,
      .subgroup_size = get_subgroup_size (self),
      .max_work_group = get_number (self, CL_KERNEL_WORK_GROUP_SIZE),
      .local_bytes = get_number (self, CL_KERNEL_LOCAL_MEM_SIZE),
      .private_bytes = get_number (self, CL_KERNEL_PRIVATE_MEM_SIZE),
      .spill_bytes = get_number (self, CL_KERNEL_SPILL_MEM_SIZE_INTEL),
  };
}
