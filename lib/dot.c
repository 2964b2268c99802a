/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dot.h"

#include <string.h>

#define FIRST_DP4A 61 /* NVIDIA's compute capability 6.1: PTX ISA, dp4a */

#define LAST_POCL 3

/* Ints that an instruction of this process' own CPU takes; 0 if it has none. */
static guint
get_vnni_width (void)
{
#if defined(__x86_64__)
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512vnni"))
    return 16;
#endif
  return 0;
}

/* PoCL's devices for CPUs are the CPU that we run on. Version 3 takes an instruction as it is
 * spelled; 6.0 ends the process with an assertion of its own when it is to make a binary of it. */
static gboolean
is_own_cpu (const GemmclDeviceInfo *device)
{
  return device->type == GEMMCL_DEVICE_TYPE_CPU && device->float_width >= 16 &&
         strcmp (device->platform, "Portable Computing Language") == 0 &&
         g_ascii_strtoull (device->driver, NULL, 10) <= LAST_POCL;
}

/* Without a platform there is no device, but a compiler for one that is taken to have all. */
static gboolean
has_khr (const GemmclDeviceInfo *device)
{
  return device->platform == NULL ||
         (device->type != GEMMCL_DEVICE_TYPE_CPU &&
          gemmcl_device_info_has_extension (device, "cl_khr_integer_dot_product"));
}

static gboolean
has_ptx (const GemmclDeviceInfo *device)
{
  return device->nvidia_capability >= FIRST_DP4A && strcmp (device->platform, "NVIDIA CUDA") == 0;
}

gboolean
gemmcl_dot_is_native (const GemmclDeviceInfo *device)
{
  return has_khr (device) || has_ptx (device) || (is_own_cpu (device) && get_vnni_width () > 0);
}

void
gemmcl_dot_append_options (GString *options, const GemmclDeviceInfo *device)
{
  if (has_khr (device))
    g_string_append (options, " -DDOT_KHR -cl-std=CL3.0");
  else if (has_ptx (device))
    g_string_append (options, " -DDOT_PTX");
  else if (is_own_cpu (device))
    g_string_append_printf (options, " -DDOT_VNNI=%u", get_vnni_width ());
}
