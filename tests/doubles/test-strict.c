/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* cl-strict-layer.c refuses calls that it should refuse, and no others. */

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <glib.h>

#define ROWS   3
#define LENGTH 5
#define PITCH  8
#define OFFSET 2
#define WHOLE  (OFFSET + ROWS * PITCH)

#define EXPECT(call) g_assert_cmpint (call, ==, expected)

static const size_t origin[3] = {OFFSET, 0, 0}, start[3] = {0, 0, 0};
static const size_t region[3] = {LENGTH, ROWS, 1};
static cl_context context;
static cl_command_queue queue;

static cl_mem
new_buffer (gsize bytes)
{
  guint8 data[WHOLE];
  cl_mem mem;

  for (guint i = 0; i < sizeof data; i++)
    data[i] = (guint8)i;
  mem = clCreateBuffer (context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, NULL);
  g_assert_nonnull (mem);
  return mem;
}

/* Reads, writes and copies rows of a buffer of @bytes. */
static void
check (gsize bytes, cl_int expected)
{
  guint8 rows[ROWS * LENGTH] = {0};
  cl_mem mem = new_buffer (bytes), other = new_buffer (WHOLE);

  EXPECT (clEnqueueReadBufferRect (queue, mem, CL_TRUE, origin, start, region, PITCH, 0, LENGTH, 0,
                                   rows, 0, NULL, NULL));
  for (guint i = 0; i < sizeof rows; i++)
    g_assert_cmpuint (rows[i], ==,
                      expected == CL_SUCCESS ? OFFSET + i / LENGTH * PITCH + i % LENGTH : 0);
  EXPECT (clEnqueueWriteBufferRect (queue, mem, CL_TRUE, origin, start, region, PITCH, 0, LENGTH, 0,
                                    rows, 0, NULL, NULL));
  EXPECT (clEnqueueCopyBufferRect (queue, mem, other, origin, start, region, PITCH, 0, LENGTH, 0, 0,
                                   NULL, NULL));
  EXPECT (clEnqueueCopyBufferRect (queue, other, mem, start, origin, region, LENGTH, 0, PITCH, 0, 0,
                                   NULL, NULL));
  g_assert_cmpint (clFinish (queue), ==, CL_SUCCESS);
  clReleaseMemObject (mem);
  clReleaseMemObject (other);
}

/* A buffer with the last element, but not the gap after it, is refused. */
static void
test_rows (void)
{
  check (WHOLE, CL_SUCCESS);
  check (WHOLE - 1, CL_INVALID_VALUE);
  check (WHOLE - (PITCH - LENGTH), CL_INVALID_VALUE);
}

/* A buffer may be NULL, an image may not. */
static void
test_arguments (void)
{
  static const char *text = "kernel void k (read_only image2d_t image, global float *buffer)\n"
                            "{ if (buffer) buffer[0] = get_image_width (image); }\n";
  const cl_mem none = NULL;
  cl_program program = clCreateProgramWithSource (context, 1, &text, NULL, NULL);
  cl_kernel kernel;

  g_assert_cmpint (clBuildProgram (program, 0, NULL, NULL, NULL, NULL), ==, CL_SUCCESS);
  kernel = clCreateKernel (program, "k", NULL);
  g_assert_cmpint (clSetKernelArg (kernel, 0, sizeof none, &none), ==, CL_INVALID_ARG_VALUE);
  g_assert_cmpint (clSetKernelArg (kernel, 1, sizeof none, &none), ==, CL_SUCCESS);
  clReleaseKernel (kernel);
  clReleaseProgram (program);
}

/* A command that waits for one of another queue needs that queue to be flushed. */
static void
test_flush (void)
{
  cl_device_id device;
  cl_command_queue other;
  cl_event gate = clCreateUserEvent (context, NULL), first, second, third;

  clGetCommandQueueInfo (queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  other = clCreateCommandQueue (context, device, 0, NULL);
  g_assert_cmpint (clEnqueueMarkerWithWaitList (queue, 1, &gate, &first), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueMarkerWithWaitList (queue, 1, &first, &second), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueMarkerWithWaitList (other, 1, &second, NULL), ==,
                   CL_INVALID_EVENT_WAIT_LIST);
  g_assert_cmpint (clFlush (other), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueMarkerWithWaitList (other, 1, &second, NULL), ==,
                   CL_INVALID_EVENT_WAIT_LIST);
  g_assert_cmpint (clFlush (queue), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueMarkerWithWaitList (other, 1, &second, &third), ==, CL_SUCCESS);
  g_assert_cmpint (clSetUserEventStatus (gate, CL_COMPLETE), ==, CL_SUCCESS);
  g_assert_cmpint (clWaitForEvents (1, &third), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueMarkerWithWaitList (queue, 1, &third, NULL), ==, CL_SUCCESS);
  g_assert_cmpint (clFinish (queue), ==, CL_SUCCESS);
  clReleaseEvent (gate);
  clReleaseEvent (first);
  clReleaseEvent (second);
  clReleaseEvent (third);
  clReleaseCommandQueue (other);
}

static void
skip (void)
{
  g_test_skip ("there is no OpenCL device");
}

int
main (int argc, char **argv)
{
  cl_platform_id platform;
  cl_device_id device;
  const gboolean any =
      clGetPlatformIDs (1, &platform, NULL) == CL_SUCCESS &&
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS;
  int status;

  g_test_init (&argc, &argv, NULL);
  if (any) {
    context = clCreateContext (NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue (context, device, 0, NULL);
    g_assert_nonnull (queue);
  }
  g_test_add_func ("/strict/rows", any ? test_rows : skip);
  g_test_add_func ("/strict/arguments", any ? test_arguments : skip);
  g_test_add_func ("/strict/flush", any ? test_flush : skip);
  status = g_test_run ();
  if (any) {
    clReleaseCommandQueue (queue);
    clReleaseContext (context);
  }
  return status;
}
