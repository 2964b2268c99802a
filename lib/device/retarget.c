/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Programs for sm_90a, the target of NVIDIA's compiler that has wgmma (kernels/wgmma.clh).
 */
#include <string.h>

#include "device/device.h"

#define TARGET  ".target sm_90,"
#define HIDDEN  "//@"
#define VERSION ".version "

/* The number of times that @what stands in @text. */
static guint
count (const gchar *text, const gchar *what)
{
  guint n = 0;

  for (const gchar *at = text; (at = strstr (at, what)) != NULL; at += strlen (what))
    n++;
  return n;
}

gchar *
gemmcl_ptx_retarget (const gchar *ptx, GError **error)
{
  const gchar *target = strstr (ptx, "\n" TARGET);
  g_autoptr (GString) made = NULL;

  if (count (ptx, "\n" VERSION) != 1 || count (ptx, ".target") != 1 || target == NULL ||
      count (ptx, HIDDEN) == 0) {
    gemmcl_fail (error, GEMMCL_ERROR_BUILD,
                 "The compiler's binary should be PTX with one line \"" TARGET
                 "\" and hidden instructions, and is not; kernels without wgmma are used.");
    return NULL;
  }
  made = g_string_new_len (ptx, target - ptx);
  g_string_append (made, "\n.target sm_90a,");
  g_string_append (made, target + strlen ("\n" TARGET));
  for (gchar *at = made->str; (at = strstr (at, HIDDEN)) != NULL;)
    memset (at, ' ', strlen (HIDDEN));
  return g_string_free (g_steal_pointer (&made), FALSE);
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
