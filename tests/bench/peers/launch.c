/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a launch costs: a kernel that does nothing, from its enqueueing until it is done, with more
 * and more work-groups of one work-item. A line for each number of groups: the number, and the
 * microseconds of many launches' lower quartile, median and upper quartile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gemmcl-opencl.h"
#include "process.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_program, clReleaseProgram, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_kernel, clReleaseKernel, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

enum { LAUNCHES = 501, PASSED = 0, FAILED = 1, SKIPPED = 77 };

/* The condition never holds, which the compiler does not know. */
static const char *const source = "kernel void nothing (global int *x)\n"
                                  "{\n"
                                  "  if (get_global_id (0) == 0x7fffffff)\n"
                                  "    x[0] = 1;\n"
                                  "}\n";

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

static gboolean
time_launches (cl_command_queue queue, cl_kernel kernel, gsize groups)
{
  const gsize local = 1;
  g_autofree gdouble *times = g_new (gdouble, LAUNCHES);

  for (guint i = 0; i < LAUNCHES; i++) {
    const gdouble start = peers_get_seconds ();

    if (clEnqueueNDRangeKernel (queue, kernel, 1, NULL, &groups, &local, 0, NULL, NULL) !=
            CL_SUCCESS ||
        clFinish (queue) != CL_SUCCESS)
      return FALSE;
    times[i] = (peers_get_seconds () - start) * 1e6;
  }
  qsort (times, LAUNCHES, sizeof *times, compare_doubles);
  printf ("%zu %.2f %.2f %.2f\n", groups, times[LAUNCHES / 4], times[LAUNCHES / 2],
          times[LAUNCHES * 3 / 4]);
  return TRUE;
}

static gboolean
time_all (GemmclContext *self)
{
  static const gsize groups[] = {1, 2, 16, 256, 4096};
  cl_context context = gemmcl_context_get_cl_context (self);
  cl_command_queue queue = gemmcl_context_get_cl_queue (self);
  g_auto (cl_program) program =
      clCreateProgramWithSource (context, 1, (const char **)&source, NULL, NULL);
  g_auto (cl_mem) x = clCreateBuffer (context, CL_MEM_READ_WRITE, sizeof (cl_int), NULL, NULL);
  g_auto (cl_kernel) kernel = NULL;

  if (!program || !x || clBuildProgram (program, 0, NULL, NULL, NULL, NULL) != CL_SUCCESS)
    return FALSE;
  kernel = clCreateKernel (program, "nothing", NULL);
  if (!kernel || clSetKernelArg (kernel, 0, sizeof (x), &x) != CL_SUCCESS)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    if (!time_launches (queue, kernel, groups[i]))
      return FALSE;
  return TRUE;
}

gint
main (gint argc, gchar **argv)
{
  const GemmclDeviceQuery query = {.platform = argc > 1 ? argv[1] : NULL,
                                   .type = GEMMCL_DEVICE_TYPE_CPU};
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = gemmcl_context_new (&query, &error);

  if (!context) {
    g_printerr ("%s\n", error->message);
    return SKIPPED;
  }
  printf ("%s, %s\n", gemmcl_context_get_device_info (context)->name,
          gemmcl_context_get_device_info (context)->driver);
  if (time_all (context))
    return PASSED;
  g_printerr ("A kernel that does nothing cannot be launched.\n");
  return FAILED;
}
