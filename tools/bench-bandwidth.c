/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <math.h>

#define COPIES 5
/* A nanosecond: the time of a copy that the clock cannot resolve. */
#define LEAST_MS 1e-6
/* Size of a buffer, larger than any cache, and its largest share of the device's memory. */
#define BYTES        ((guint64)1 << 30)
#define MEMORY_SHARE 8

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

static cl_mem
make_buffer (GemmclContext *context, gsize bytes, GError **error)
{
  const cl_uint pattern = 0x3f800000;
  cl_int status;
  g_auto (cl_mem) buffer = clCreateBuffer (gemmcl_context_get_cl_context (context),
                                           CL_MEM_READ_WRITE, bytes, NULL, &status);

  /* Filled, since memory may be allocated only when it is first written. */
  if (!bench_check_cl (status, "clCreateBuffer", error) ||
      !bench_check_cl (clEnqueueFillBuffer (gemmcl_context_get_cl_queue (context), buffer, &pattern,
                                            sizeof pattern, 0, bytes, 0, NULL, NULL),
                       "clEnqueueFillBuffer", error))
    return NULL;
  return g_steal_pointer (&buffer);
}

static gboolean
time_copy (GemmclContext *context, cl_mem from, cl_mem to, gsize bytes, gdouble *ms, GError **error)
{
  cl_event event = NULL;
  gboolean ok;

  if (!bench_check_cl (clEnqueueCopyBuffer (gemmcl_context_get_cl_queue (context), from, to, 0, 0,
                                            bytes, 0, NULL, &event),
                       "clEnqueueCopyBuffer", error))
    return FALSE;
  ok = bench_get_duration (event, event, ms, error);
  clReleaseEvent (event);
  return ok;
}

gboolean
bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source, GError **error)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const guint64 most = MIN (info->max_alloc_bytes, info->global_bytes / MEMORY_SHARE);
  const gsize bytes = MIN (BYTES, most) / sizeof (cl_uint) * sizeof (cl_uint);
  g_autofree gchar *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_auto (cl_mem) from = make_buffer (context, bytes, error);
  g_auto (cl_mem) to = from != NULL ? make_buffer (context, bytes, error) : NULL;
  gdouble least = G_MAXDOUBLE;

  for (guint i = 0; i < COPIES; i++) {
    gdouble ms;

    if (to == NULL || !time_copy (context, from, to, bytes, &ms, error)) {
      g_prefix_error (error, "The memory bandwidth could not be measured; --bandwidth sets it. ");
      return FALSE;
    }
    least = MIN (least, isnan (ms) ? LEAST_MS : ms);
  }
  *gbs = 2.0 * bytes / (least * 1e6);
  *source = g_strdup_printf ("bytes read and written by clEnqueueCopyBuffer of %s, the fastest of "
                             "%d copies",
                             size, COPIES);
  return TRUE;
}
