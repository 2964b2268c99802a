/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

#include <string.h>
#include <va/va_vpp.h>

static const gchar source[] =
    "constant sampler_t nearest =\n"
    "    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "kernel void read (read_only image2d_t from, global float2 *to)\n"
    "{\n"
    "  const int2 at = (int2)(get_global_id (0), get_global_id (1));\n"
    "  to[at.y * get_global_size (0) + at.x] = read_imagef (from, nearest, at).xy;\n"
    "}\n"
    "kernel void copy (global const uchar *from, global uchar *to)\n"
    "{\n"
    "  to[get_global_id (0)] = from[get_global_id (0)];\n"
    "}\n";

static const gchar *const kernel_names[N_KERNELS] = {"read", "copy"};

static void
build_kernels (Rig *self)
{
  const char *text = source;
  cl_int status;
  cl_program program = clCreateProgramWithSource (self->context, 1, &text, NULL, &status);

  ASSERT_GOOD (clBuildProgram (program, 1, &self->device, "", NULL, NULL));
  for (guint i = 0; i < N_KERNELS; i++) {
    self->kernels[i] = clCreateKernel (program, kernel_names[i], &status);
    ASSERT_GOOD (status);
  }
  clReleaseProgram (program);
}

static void
find_function (Rig *self, const gchar *name, gpointer function)
{
  void *found = clGetExtensionFunctionAddressForPlatform (self->platform, name);

  /* An older driver may lack these functions. */
  if (strstr (name, "ExternalMemObjectsKHR") == NULL)
    g_assert_nonnull (found);
  memcpy (function, &found, sizeof found);
}

Rig *
rig_new (gboolean user_sync)
{
  Rig *self = g_new0 (Rig, 1);
  clGetDeviceIDsFromVA_APIMediaAdapterINTEL_fn get_devices;
  cl_int status;

  ASSERT_GOOD (clGetPlatformIDs (1, &self->platform, NULL));
  self->display = va_display_new ();
  g_assert_nonnull (self->display);
  find_function (self, "clCreateFromVA_APIMediaSurfaceINTEL", &self->create);
  find_function (self, "clEnqueueAcquireVA_APIMediaSurfacesINTEL", &self->acquire);
  find_function (self, "clEnqueueReleaseVA_APIMediaSurfacesINTEL", &self->release);
  find_function (self, "clEnqueueAcquireExternalMemObjectsKHR", &self->acquire_external);
  find_function (self, "clEnqueueReleaseExternalMemObjectsKHR", &self->release_external);
  find_function (self, "clGetDeviceIDsFromVA_APIMediaAdapterINTEL", &get_devices);
  status = get_devices (self->platform, CL_VA_API_DISPLAY_INTEL, self->display,
                        CL_PREFERRED_DEVICES_FOR_VA_API_INTEL, 1, &self->device, NULL);
  ASSERT_GOOD (status);
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM,
      (cl_context_properties)self->platform,
      CL_CONTEXT_VA_API_DISPLAY_INTEL,
      (cl_context_properties)self->display,
      CL_CONTEXT_INTEROP_USER_SYNC,
      user_sync,
      0,
  };
  self->context = clCreateContext (properties, 1, &self->device, NULL, NULL, &status);
  ASSERT_GOOD (status);
  self->queue = clCreateCommandQueueWithProperties (self->context, self->device, NULL, &status);
  ASSERT_GOOD (status);
  build_kernels (self);
  return self;
}

void
rig_free (Rig *self)
{
  clFinish (self->queue);
  for (guint i = 0; i < N_KERNELS; i++)
    clReleaseKernel (self->kernels[i]);
  clReleaseCommandQueue (self->queue);
  clReleaseContext (self->context);
  vaTerminate (self->display);
  g_free (self);
  doubles_assert_right ();
}

guint8
rig_expected (guint plane, guint x, guint y, guint channel)
{
  return (guint8)(1 + plane * 50 + channel * 20 + x * 3 + y * 5);
}

static void
fill_plane (guint plane, const VAImage *image, guint8 *data)
{
  const guint channels = plane > 0 ? 2 : 1;
  const guint columns = plane > 0 ? (image->width + 1u) / 2 : image->width;
  const guint rows = plane > 0 ? (image->height + 1u) / 2 : image->height;

  for (guint y = 0; y < rows; y++)
    for (guint i = 0; i < columns * channels; i++)
      data[image->offsets[plane] + y * image->pitches[plane] + i] =
          rig_expected (plane, i / channels, y, i % channels);
}

VASurfaceID
rig_new_surface (Rig *self, guint width, guint height)
{
  VASurfaceID surface;
  VAImage image;
  void *data;

  g_assert_cmpint (
      vaCreateSurfaces (self->display, VA_RT_FORMAT_YUV420, width, height, &surface, 1, NULL, 0),
      ==, VA_STATUS_SUCCESS);
  g_assert_cmpint (vaDeriveImage (self->display, surface, &image), ==, VA_STATUS_SUCCESS);
  g_assert_cmpint (vaMapBuffer (self->display, image.buf, &data), ==, VA_STATUS_SUCCESS);
  fill_plane (0, &image, data);
  fill_plane (1, &image, data);
  vaUnmapBuffer (self->display, image.buf);
  vaDestroyImage (self->display, image.image_id);
  return surface;
}

void
rig_render (Rig *self, VASurfaceID from, VASurfaceID to)
{
  VAProcPipelineParameterBuffer parameters = {.surface = from};
  VAConfigID config;
  VAContextID context;
  VABufferID buffer;

  vaCreateConfig (self->display, VAProfileNone, VAEntrypointVideoProc, NULL, 0, &config);
  vaCreateContext (self->display, config, 16, 16, 0, NULL, 0, &context);
  vaCreateBuffer (self->display, context, VAProcPipelineParameterBufferType, sizeof parameters, 1,
                  &parameters, &buffer);
  g_assert_cmpint (vaBeginPicture (self->display, context, to), ==, VA_STATUS_SUCCESS);
  g_assert_cmpint (vaRenderPicture (self->display, context, &buffer, 1), ==, VA_STATUS_SUCCESS);
  g_assert_cmpint (vaEndPicture (self->display, context), ==, VA_STATUS_SUCCESS);
  vaDestroyBuffer (self->display, buffer);
  vaDestroyContext (self->display, context);
  vaDestroyConfig (self->display, config);
}

cl_mem
rig_new_plane (Rig *self, VASurfaceID surface, guint plane)
{
  cl_int status;
  cl_mem mem = self->create (self->context, CL_MEM_READ_ONLY, &surface, plane, &status);

  ASSERT_GOOD (status);
  g_assert_nonnull (mem);
  return mem;
}

cl_mem
rig_new_buffer (Rig *self, gsize size)
{
  cl_int status;
  cl_mem mem = clCreateBuffer (self->context, CL_MEM_READ_WRITE, size, NULL, &status);

  ASSERT_GOOD (status);
  return mem;
}

cl_int
rig_enqueue (Rig *self, Kernel kernel, cl_mem a, cl_mem b, gsize columns, gsize rows)
{
  const size_t size[2] = {columns, rows};

  ASSERT_GOOD (clSetKernelArg (self->kernels[kernel], 0, sizeof a, &a));
  ASSERT_GOOD (clSetKernelArg (self->kernels[kernel], 1, sizeof b, &b));
  return clEnqueueNDRangeKernel (self->queue, self->kernels[kernel], 2, NULL, size, NULL, 0, NULL,
                                 NULL);
}

cl_int
rig_read (Rig *self, cl_mem buffer, gsize offset, gpointer data, gsize size)
{
  return clEnqueueReadBuffer (self->queue, buffer, CL_TRUE, offset, size, data, 0, NULL, NULL);
}

cl_int
rig_acquire (Rig *self, cl_mem mem)
{
  return self->acquire (self->queue, 1, &mem, 0, NULL, NULL);
}

cl_int
rig_release (Rig *self, cl_mem mem)
{
  return self->release (self->queue, 1, &mem, 0, NULL, NULL);
}

void
rig_assert_misuse (const gchar *kind)
{
  g_assert_cmpuint (doubles_misused (NULL), ==, 1);
  g_assert_cmpuint (doubles_forgive (kind), ==, 1);
}
