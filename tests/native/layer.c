/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../doubles/cl-layer-entry.h"

#include <glib.h>
#include <string.h>

/*
 * An OpenCL layer that makes Intel's OpenCL runtime for CPUs look like an Intel GPU: with matrix
 * engines and, with subgroups of 16, 2D block reads. It puts the functions that a program needs for
 * them (engines.cl) before its source. The environment variable GEMMCL_NATIVE is the size of the
 * smallest subgroups, 8 or 16. Other platforms are not changed.
 */

#define EXTENSIONS "cl_intel_subgroup_matrix_multiply_accumulate"
#define MORE_OF_16                                                                                 \
  " cl_intel_subgroup_matrix_multiply_accumulate_tf32 cl_intel_subgroup_2d_block_io"
#define REGISTERS "-cl-intel-256-GRF-per-thread" /* an option that the CPU's compiler lacks */

static gboolean
has_small (void)
{
  return g_strcmp0 (g_getenv ("GEMMCL_NATIVE"), "8") == 0;
}

static gboolean
is_intel (cl_device_id device)
{
  cl_platform_id platform = NULL;
  char vendor[64] = "";

  cl_next->clGetDeviceInfo (device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  cl_next->clGetPlatformInfo (platform, CL_PLATFORM_VENDOR, sizeof vendor, vendor, NULL);
  return strncmp (vendor, "Intel", 5) == 0;
}

/* Returns: (transfer full): engines.cl, after the macros that it needs. */
static gchar *
read_engines (void)
{
  g_autofree gchar *engines = NULL;

  g_assert_true (g_file_get_contents (ENGINES, &engines, NULL, NULL));
  return g_strdup_printf ("#define NATIVE_SUBGROUP %d\n%s", has_small () ? 8 : 16, engines);
}

/* Appends a checksum of engines.cl to the driver's version, which the key of caches includes. */
static cl_int
get_version (cl_device_id device, size_t room, void *value, size_t *n_ret)
{
  g_autofree gchar *engines = read_engines ();
  g_autofree gchar *mark = g_strdup_printf (".%u", g_str_hash (engines));

  return cl_answer_longer (device, CL_DRIVER_VERSION, mark, room, value, n_ret);
}

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n_ret)
{
  static const size_t sizes[] = {8, 16, 32};
  static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  const int first = has_small () ? 0 : 1;

  if (!is_intel (device))
    return cl_next->clGetDeviceInfo (device, name, room, value, n_ret);
  switch (name) {
  case CL_DEVICE_TYPE:
    return cl_answer (&gpu, sizeof gpu, room, value, n_ret);
  case CL_DEVICE_SUB_GROUP_SIZES_INTEL:
    return cl_answer (sizes + first, sizeof sizes - first * sizeof *sizes, room, value, n_ret);
  case CL_DRIVER_VERSION:
    return get_version (device, room, value, n_ret);
  case CL_DEVICE_EXTENSIONS:
    return cl_answer_longer (device, name,
                             has_small () ? " " EXTENSIONS : " " EXTENSIONS MORE_OF_16, room, value,
                             n_ret);
  default:
    return cl_next->clGetDeviceInfo (device, name, room, value, n_ret);
  }
}

static gboolean
wants_engines (const char *text)
{
  return strstr (text, EXTENSIONS) || strstr (text, "cl_intel_subgroup_2d_block_io");
}

static cl_program CL_API_CALL
create_program (cl_context context, cl_uint n, const char **texts, const size_t *lengths,
                cl_int *status)
{
  g_autofree gchar *engines = n == 1 && wants_engines (texts[0]) ? read_engines () : NULL;
  const char *both[] = {engines, texts[0]};
  const size_t sizes[] = {0, lengths ? lengths[0] : 0};

  return engines ? cl_next->clCreateProgramWithSource (context, 2, both, sizes, status)
                 : cl_next->clCreateProgramWithSource (context, n, texts, lengths, status);
}

static cl_int CL_API_CALL
build_program (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
               void (CL_CALLBACK *notify) (cl_program, void *), void *data)
{
  g_auto (GStrv) parts = g_strsplit (options ? options : "", REGISTERS, -1);
  g_autofree gchar *known = g_strjoinv ("", parts);

  return cl_next->clBuildProgram (program, n, devices, known, notify, data);
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceInfo = get_device_info;
  table->clCreateProgramWithSource = create_program;
  table->clBuildProgram = build_program;
}
