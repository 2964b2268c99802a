/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../doubles/cl-layer-entry.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/*
 * An OpenCL layer that changes devices for benchmarks. Environment variables:
 *
 * PEERS_FLOATS     the floats in a vector of the devices. PoCL and Intel's runtime can compile for
 *                  a lesser CPU, but still report the vector width of this one
 * CLBLAST_DEVICE   the name of an Intel GPU that the devices report, for which CLBlast chooses its
 *                  parameters and extensions
 * CLBLAST_CAPTURE  the folder for program.cl and build-options, which CLBlast would build. They are
 *                  not built, since they are for another device
 */

#define VENDOR     "Intel(R) Corporation"
#define EXTENSIONS "cl_khr_fp16 cl_intel_subgroups cl_intel_required_subgroup_size"

static cl_int CL_API_CALL
get_device_info (cl_device_id device, cl_device_info name, size_t room, void *value, size_t *n)
{
  static const cl_device_type type = CL_DEVICE_TYPE_GPU;
  const char *gpu = getenv ("CLBLAST_DEVICE"), *floats = getenv ("PEERS_FLOATS");
  const cl_uint width = floats ? (cl_uint)atoi (floats) : 0;

  if (gpu && name == CL_DEVICE_NAME)
    return cl_answer (gpu, strlen (gpu) + 1, room, value, n);
  if (gpu && name == CL_DEVICE_VENDOR)
    return cl_answer (VENDOR, sizeof VENDOR, room, value, n);
  if (gpu && name == CL_DEVICE_EXTENSIONS)
    return cl_answer (EXTENSIONS, sizeof EXTENSIONS, room, value, n);
  if (gpu && name == CL_DEVICE_TYPE)
    return cl_answer (&type, sizeof type, room, value, n);
  if (floats && (name == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT ||
                 name == CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT))
    return cl_answer (&width, sizeof width, room, value, n);
  return cl_next->clGetDeviceInfo (device, name, room, value, n);
}

static void
capture (const gchar *name, const gchar *text)
{
  g_autofree gchar *path = g_build_filename (g_getenv ("CLBLAST_CAPTURE"), name, NULL);

  g_file_set_contents (path, text ? text : "", -1, NULL);
}

static cl_program CL_API_CALL
create_program (cl_context context, cl_uint n, const char **strings, const size_t *lengths,
                cl_int *status)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (cl_uint i = 0; i < n; i++)
    g_string_append_len (text, strings[i], lengths && lengths[i] ? (gssize)lengths[i] : -1);
  capture ("program.cl", text->str);
  return cl_next->clCreateProgramWithSource (context, n, strings, lengths, status);
}

static cl_int CL_API_CALL
build_program (cl_program program G_GNUC_UNUSED, cl_uint n G_GNUC_UNUSED,
               const cl_device_id *devices G_GNUC_UNUSED, const char *options,
               void (CL_CALLBACK *notify) (cl_program, void *) G_GNUC_UNUSED,
               void *data G_GNUC_UNUSED)
{
  capture ("build-options", options);
  return CL_BUILD_PROGRAM_FAILURE;
}

void
cl_layer_install (cl_icd_dispatch *table)
{
  table->clGetDeviceInfo = get_device_info;
  if (getenv ("CLBLAST_CAPTURE")) {
    table->clCreateProgramWithSource = create_program;
    table->clBuildProgram = build_program;
  }
}
