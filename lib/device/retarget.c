/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Programs for sm_90a, the target of NVIDIA's compiler that has wgmma (kernels/wgmma.clh).
 */
#include <string.h>

#include "device/device.h"

#define TARGET  "\n.target sm_90,"
#define HIDDEN  "//@"
#define VERSION "\n.version "

gchar *
gemmcl_ptx_retarget (const gchar *ptx, GError **error)
{
  g_autoptr (GString) made = g_string_new (ptx);

  /* A replacement returns the number of places. */
  if (g_string_replace (made, VERSION, VERSION, 0) == 1 &&
      g_string_replace (made, ".target", ".target", 0) == 1 &&
      g_string_replace (made, TARGET, "\n.target sm_90a,", 0) == 1 &&
      g_string_replace (made, HIDDEN, "   ", 0) > 0)
    return g_string_free (g_steal_pointer (&made), FALSE);
  gemmcl_fail (error, GEMMCL_ERROR_BUILD,
               "The compiler's binary should be PTX with one line \".target sm_90,\" and hidden "
               "instructions, and is not; kernels without wgmma are used.");
  return NULL;
}

cl_program
gemmcl_program_retarget (cl_context context, const GemmclDevice *device, cl_program program,
                         GError **error)
{
  gsize size = 0;
  g_autofree guchar *binary = gemmcl_program_get_binary (program, device->id, &size);
  g_autofree gchar *ptx = gemmcl_ptx_retarget (binary ? (const gchar *)binary : "", error);
  g_auto (cl_program) made = NULL;
  cl_int status;

  if (ptx == NULL)
    return NULL;
  size = strlen (ptx) + 1;
  made = clCreateProgramWithBinary (context, 1, &device->id, &size,
                                    (const guchar **)(const gchar **)&ptx, NULL, &status);
  if (status == CL_SUCCESS)
    status = clBuildProgram (made, 1, &device->id, "", NULL, NULL);
  if (status != CL_SUCCESS) {
    g_autofree gchar *log = made ? gemmcl_program_get_log (made, device->id) : g_strdup ("");
    gemmcl_fail (error, GEMMCL_ERROR_BUILD,
                 "The program for sm_90a could not be built on %s: %s (%d). The compiler says: %s",
                 device->info.name, gemmcl_cl_error_name (status), status, log);
    return NULL;
  }
  return g_steal_pointer (&made);
}
