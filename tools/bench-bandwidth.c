/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench.h"

#include <math.h>

#define COPIES 5
/* A nanosecond: the time of a copy that the clock cannot resolve. */
#define LEAST_MS 1e-6
/* Size of a buffer: a multiple of the cache, a minimum, and a share of the device's memory. */
#define TIMES_CACHE  4
#define LEAST_BYTES  ((guint64)256 << 20)
#define MEMORY_SHARE 8

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

static gsize
choose_bytes (GemmclContext *context)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  cl_ulong cache = 0;
  guint64 bytes;

  /* If this fails, cache stays 0, and the minimum applies. */
  clGetDeviceInfo (gemmcl_context_get_cl_device (context), CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                   sizeof cache, &cache, NULL);
  bytes = MAX (LEAST_BYTES, TIMES_CACHE * (guint64)cache);
  bytes = MIN (bytes, MIN (info->max_alloc_bytes, info->global_bytes / MEMORY_SHARE));
  return MAX (bytes / sizeof (cl_uint), 1) * sizeof (cl_uint);
}

/* Fills @buffer, since memory may be allocated only when it is first written. */
static gboolean
fill (GemmclContext *context, cl_mem buffer, gsize bytes, GError **error)
{
  const cl_uint pattern = 0x3f800000;
  cl_command_queue queue = gemmcl_context_get_cl_queue (context);

  return bench_check_cl (
             clEnqueueFillBuffer (queue, buffer, &pattern, sizeof pattern, 0, bytes, 0, NULL, NULL),
             "clEnqueueFillBuffer", error) &&
         bench_check_cl (clFinish (queue), "clFinish", error);
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

/* @least: (out): the time of the fastest copy, in ms; LEAST_MS if the clock is too coarse. */
static gboolean
time_copies (GemmclContext *context, gsize bytes, gdouble *least, GError **error)
{
  cl_context cl = gemmcl_context_get_cl_context (context);
  cl_int status = CL_SUCCESS;
  g_auto (cl_mem) from = clCreateBuffer (cl, CL_MEM_READ_WRITE, bytes, NULL, &status);
  g_auto (cl_mem) to =
      from != NULL ? clCreateBuffer (cl, CL_MEM_READ_WRITE, bytes, NULL, &status) : NULL;

  if (!bench_check_cl (status, "clCreateBuffer", error) || !fill (context, from, bytes, error) ||
      !fill (context, to, bytes, error))
    return FALSE;
  *least = G_MAXDOUBLE;
  for (guint i = 0; i < COPIES; i++) {
    gdouble ms;
    if (!time_copy (context, from, to, bytes, &ms, error))
      return FALSE;
    *least = MIN (*least, isnan (ms) ? LEAST_MS : ms);
  }
  return TRUE;
}

gboolean
bench_measure_bandwidth (GemmclContext *context, gdouble *gbs, gchar **source, GError **error)
{
  const gsize bytes = choose_bytes (context);
  g_autofree gchar *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  gdouble least;

  if (!time_copies (context, bytes, &least, error)) {
    g_prefix_error (error, "The memory bandwidth could not be measured; --bandwidth sets it. ");
    return FALSE;
  }
  *gbs = 2.0 * bytes / (least * 1e6);
  *source = g_strdup_printf ("bytes read and written by clEnqueueCopyBuffer of %s, the fastest of "
                             "%d copies",
                             size, COPIES);
  return TRUE;
}
