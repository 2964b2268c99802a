/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What cl-strict-layer.c refuses, and that it lets through all else. */

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <glib.h>

#define ROWS   3
#define LENGTH 5
#define PITCH  8
#define OFFSET 2
#define WHOLE  (OFFSET + ROWS * PITCH)

static const size_t origin[3] = {OFFSET, 0, 0}, start[3] = {0, 0, 0};
static const size_t region[3] = {LENGTH, ROWS, 1};

typedef struct {
  cl_context context;
  cl_command_queue queue;
} Device;

static void
device_clear (Device *self)
{
  if (self->queue)
    clReleaseCommandQueue (self->queue);
  if (self->context)
    clReleaseContext (self->context);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Device, device_clear)

/* FALSE, with the test skipped, without a device. */
static gboolean
device_init (Device *self)
{
  cl_platform_id platform;
  cl_device_id device;

  *self = (Device){NULL};
  if (clGetPlatformIDs (1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
    g_test_skip ("there is no OpenCL device");
    return FALSE;
  }
  self->context = clCreateContext (NULL, 1, &device, NULL, NULL, NULL);
  g_assert_nonnull (self->context);
  self->queue = clCreateCommandQueue (self->context, device, 0, NULL);
  g_assert_nonnull (self->queue);
  return TRUE;
}

static cl_mem
new_buffer (Device *self, gsize bytes)
{
  guint8 data[WHOLE];
  cl_mem mem;

  for (guint i = 0; i < sizeof data; i++)
    data[i] = (guint8)i;
  mem = clCreateBuffer (self->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, NULL);
  g_assert_nonnull (mem);
  return mem;
}

/* Rows of a buffer of @bytes that are read, written and copied. */
static void
check (gsize bytes, cl_int expected)
{
  g_auto (Device) self;
  guint8 rows[ROWS * LENGTH] = {0};
  cl_mem mem, other;

  if (!device_init (&self))
    return;
  mem = new_buffer (&self, bytes);
  other = new_buffer (&self, WHOLE);
  g_assert_cmpint (clEnqueueReadBufferRect (self.queue, mem, CL_TRUE, origin, start, region, PITCH,
                                            0, LENGTH, 0, rows, 0, NULL, NULL),
                   ==, expected);
  for (guint i = 0; i < sizeof rows; i++)
    g_assert_cmpuint (rows[i], ==,
                      expected == CL_SUCCESS ? OFFSET + i / LENGTH * PITCH + i % LENGTH : 0);
  g_assert_cmpint (clEnqueueWriteBufferRect (self.queue, mem, CL_TRUE, origin, start, region, PITCH,
                                             0, LENGTH, 0, rows, 0, NULL, NULL),
                   ==, expected);
  g_assert_cmpint (clEnqueueCopyBufferRect (self.queue, mem, other, origin, start, region, PITCH, 0,
                                            LENGTH, 0, 0, NULL, NULL),
                   ==, expected);
  g_assert_cmpint (clEnqueueCopyBufferRect (self.queue, other, mem, start, origin, region, LENGTH,
                                            0, PITCH, 0, 0, NULL, NULL),
                   ==, expected);
  g_assert_cmpint (clFinish (self.queue), ==, CL_SUCCESS);
  clReleaseMemObject (mem);
  clReleaseMemObject (other);
}

static void
test_whole_rows (void)
{
  check (WHOLE, CL_SUCCESS);
}

/* The last element is there, the gap behind it is not. */
static void
test_last_gap (void)
{
  check (WHOLE - 1, CL_INVALID_VALUE);
  check (WHOLE - (PITCH - LENGTH), CL_INVALID_VALUE);
}

/* A buffer may be NULL, an image may not. */
static void
test_arguments (void)
{
  static const char *text = "kernel void k (read_only image2d_t image, global float *buffer)\n"
                            "{ if (buffer) buffer[0] = get_image_width (image); }\n";
  g_auto (Device) self = {NULL};
  const cl_mem none = NULL;
  cl_program program;
  cl_kernel kernel;

  if (!device_init (&self))
    return;
  program = clCreateProgramWithSource (self.context, 1, &text, NULL, NULL);
  g_assert_cmpint (clBuildProgram (program, 0, NULL, NULL, NULL, NULL), ==, CL_SUCCESS);
  kernel = clCreateKernel (program, "k", NULL);
  g_assert_cmpint (clSetKernelArg (kernel, 0, sizeof none, &none), ==, CL_INVALID_ARG_VALUE);
  g_assert_cmpint (clSetKernelArg (kernel, 1, sizeof none, &none), ==, CL_SUCCESS);
  clReleaseKernel (kernel);
  clReleaseProgram (program);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/strict/whole-rows", test_whole_rows);
  g_test_add_func ("/strict/last-gap", test_last_gap);
  g_test_add_func ("/strict/arguments", test_arguments);
  return g_test_run ();
}
