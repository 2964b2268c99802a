/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-transfers.h"

static const Count read_bytes = COUNT_READ_BYTES;
static const Count written_bytes = COUNT_WRITTEN_BYTES;
static const Count copied_bytes = COUNT_COPIED_BYTES;
static const Count mapped_bytes = COUNT_MAPPED_BYTES;

static cl_int
check_shared (const gchar *function, cl_mem mem, gsize n)
{
  g_autoptr (SharedObject) object = mem ? shared_object_get (mem) : NULL;
  cl_int status;

  if (!object)
    return CL_SUCCESS;
  record_count (COUNT_SHARED_TRANSFERS, 1);
  record_count (COUNT_SHARED_BYTES, (gint64)n);
  status = shared_object_check_use (mem, function);
  if (status == CL_SUCCESS && object->is_plane) {
    record_misuse (MISUSE_IMAGE_TRANSFER,
                   "%s moves plane %u of surface %#x: a double's image has other elements than a "
                   "driver's, so only kernels can read it; and it is a copy.",
                   function, object->plane, object->id);
    status = CL_INVALID_OPERATION;
  }
  return status;
}

cl_int
cl_check_transfer (const gchar *function, Count count, const Count *bytes, cl_mem mem, cl_mem other,
                   gsize n)
{
  cl_int status = cl_fault (function);

  record_count (count, 1);
  if (bytes)
    record_count (*bytes, (gint64)n);
  if (status == CL_SUCCESS)
    status = check_shared (function, mem, n);
  return status == CL_SUCCESS ? check_shared (function, other, n) : status;
}

static gsize
count_region (const size_t *region)
{
  return region ? region[0] * region[1] * region[2] : 0;
}

static cl_int CL_API_CALL
read_buffer (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t n,
             void *data, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
  const cl_int status =
      cl_check_transfer ("clEnqueueReadBuffer", COUNT_READS, &read_bytes, mem, NULL, n);

  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueReadBuffer (queue, mem, blocking, offset, n, data,
                                                              n_waits, waits, event);
}

static cl_int CL_API_CALL
write_buffer (cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t n,
              const void *data, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
  const cl_int status =
      cl_check_transfer ("clEnqueueWriteBuffer", COUNT_WRITES, &written_bytes, mem, NULL, n);

  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueWriteBuffer (queue, mem, blocking, offset, n,
                                                               data, n_waits, waits, event);
}

static cl_int CL_API_CALL
read_buffer_rect (cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
                  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                  size_t host_row, size_t host_slice, void *data, cl_uint n_waits,
                  const cl_event *waits, cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueReadBufferRect", COUNT_READS, &read_bytes, mem,
                                           NULL, count_region (region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueReadBufferRect (queue, mem, blocking, origin, host_origin, region,
                                                 row, slice, host_row, host_slice, data, n_waits,
                                                 waits, event);
}

static cl_int CL_API_CALL
write_buffer_rect (cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *origin,
                   const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                   size_t host_row, size_t host_slice, const void *data, cl_uint n_waits,
                   const cl_event *waits, cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueWriteBufferRect", COUNT_WRITES, &written_bytes,
                                           mem, NULL, count_region (region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueWriteBufferRect (queue, mem, blocking, origin, host_origin, region,
                                                  row, slice, host_row, host_slice, data, n_waits,
                                                  waits, event);
}

static cl_int CL_API_CALL
copy_buffer (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
             size_t n, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
  const cl_int status =
      cl_check_transfer ("clEnqueueCopyBuffer", COUNT_COPIES, &copied_bytes, from, to, n);

  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueCopyBuffer (queue, from, to, from_offset,
                                                              to_offset, n, n_waits, waits, event);
}

static cl_int CL_API_CALL
copy_buffer_rect (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                  const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
                  size_t to_row, size_t to_slice, cl_uint n_waits, const cl_event *waits,
                  cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueCopyBufferRect", COUNT_COPIES, &copied_bytes,
                                           from, to, count_region (region));

  return status != CL_SUCCESS
             ? status
             : cl_next->clEnqueueCopyBufferRect (queue, from, to, from_origin, to_origin, region,
                                                 from_row, from_slice, to_row, to_slice, n_waits,
                                                 waits, event);
}

static cl_int CL_API_CALL
fill_buffer (cl_command_queue queue, cl_mem mem, const void *pattern, size_t pattern_size,
             size_t offset, size_t n, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
  const cl_int status = cl_check_transfer ("clEnqueueFillBuffer", COUNT_FILLS, NULL, mem, NULL, n);

  return status != CL_SUCCESS ? status
                              : cl_next->clEnqueueFillBuffer (queue, mem, pattern, pattern_size,
                                                              offset, n, n_waits, waits, event);
}

static void *CL_API_CALL
map_buffer (cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t offset,
            size_t n, cl_uint n_waits, const cl_event *waits, cl_event *event, cl_int *status)
{
  const cl_int refused =
      cl_check_transfer ("clEnqueueMapBuffer", COUNT_MAPS, &mapped_bytes, mem, NULL, n);

  if (refused == CL_SUCCESS)
    return cl_next->clEnqueueMapBuffer (queue, mem, blocking, flags, offset, n, n_waits, waits,
                                        event, status);
  if (status)
    *status = refused;
  return NULL;
}

void
cl_transfers_install (cl_icd_dispatch *table)
{
  table->clEnqueueReadBuffer = read_buffer;
  table->clEnqueueWriteBuffer = write_buffer;
  table->clEnqueueReadBufferRect = read_buffer_rect;
  table->clEnqueueWriteBufferRect = write_buffer_rect;
  table->clEnqueueCopyBuffer = copy_buffer;
  table->clEnqueueCopyBufferRect = copy_buffer_rect;
  table->clEnqueueFillBuffer = fill_buffer;
  table->clEnqueueMapBuffer = map_buffer;
}
