/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "cl-names.h"
#include "doubles.h"
#include "rig.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

/* Memory behind a file descriptor is imported without a copy, and watched like surfaces. */

#define SIZE 4096

static cl_mem
import (Rig *rig, int fd, cl_mem_flags flags, gsize size, cl_int *status)
{
  const cl_mem_properties properties[] = {
      CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, (cl_mem_properties)fd,
      CL_MEM_DEVICE_HANDLE_LIST_KHR,         (cl_mem_properties)(guintptr)rig->device,
      CL_MEM_DEVICE_HANDLE_LIST_END_KHR,     0,
  };

  return clCreateBufferWithProperties (rig->context, properties, flags, size, NULL, status);
}

/* Returns: a file of SIZE bytes that count up, mapped at @data. */
static int
new_file (guint8 **data)
{
  const int fd = memfd_create ("dmabuf", MFD_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (ftruncate (fd, SIZE), ==, 0);
  *data = mmap (NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  g_assert_true (*data != MAP_FAILED);
  for (guint i = 0; i < SIZE; i++)
    (*data)[i] = (guint8)(i * 7);
  return fd;
}

static void
test_copy (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  guint8 *from, *to;
  const int fds[2] = {new_file (&from), new_file (&to)};
  cl_int status;
  cl_mem buffers[2];
  cl_mem_flags flags;

  memset (to, 0, SIZE);
  buffers[0] = import (rig, fds[0], CL_MEM_READ_ONLY, SIZE, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  buffers[1] = import (rig, fds[1], CL_MEM_WRITE_ONLY, SIZE, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  /* They were the program's and are the driver's. */
  g_assert_cmpint (fcntl (fds[0], F_GETFD), ==, -1);
  g_assert_cmpint (fcntl (fds[1], F_GETFD), ==, -1);
  clGetMemObjectInfo (buffers[0], CL_MEM_FLAGS, sizeof flags, &flags, NULL);
  g_assert_cmpuint (flags, ==, CL_MEM_READ_ONLY);
  g_assert_cmpint (rig->acquire_external (rig->queue, 2, buffers, 0, NULL, NULL), ==, CL_SUCCESS);
  g_assert_cmpint (rig_enqueue (rig, KERNEL_COPY, buffers[0], buffers[1], SIZE, 1), ==, CL_SUCCESS);
  g_assert_cmpint (rig->release_external (rig->queue, 2, buffers, 0, NULL, NULL), ==, CL_SUCCESS);
  clFinish (rig->queue);
  g_assert_cmpmem (from, SIZE, to, SIZE);
  g_assert_cmpint (doubles_count ("own-copies"), ==, 0);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
  clReleaseMemObject (buffers[0]);
  clReleaseMemObject (buffers[1]);
  munmap (from, SIZE);
  munmap (to, SIZE);
}

static void
test_misuse (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  guint8 *data, bytes[SIZE];
  const int fd = new_file (&data);
  const cl_buffer_region part = {0, 256};
  cl_int status;
  cl_mem buffer = import (rig, fd, CL_MEM_READ_ONLY, SIZE, &status), sub_buffer;

  g_assert_cmpint (status, ==, CL_SUCCESS);
  sub_buffer =
      clCreateSubBuffer (buffer, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &part, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueReadBuffer (rig->queue, buffer, CL_TRUE, 0, SIZE, bytes, 0, NULL, NULL),
                   ==, CL_INVALID_OPERATION);
  rig_assert_misuse ("unacquired-use");
  g_assert_cmpint (rig_enqueue (rig, KERNEL_COPY, sub_buffer, sub_buffer, 1, 1), ==,
                   CL_INVALID_OPERATION);
  rig_assert_misuse ("unacquired-use");
  g_assert_cmpint (rig_acquire (rig, buffer), ==, CL_INVALID_MEM_OBJECT);
  rig_assert_misuse ("wrong-argument");
  g_assert_cmpint (rig->release_external (rig->queue, 1, &buffer, 0, NULL, NULL), ==,
                   CL_INVALID_OPERATION);
  rig_assert_misuse ("unacquired-release");
  /* Somebody else writes while it is acquired. */
  g_assert_cmpint (rig->acquire_external (rig->queue, 1, &buffer, 0, NULL, NULL), ==, CL_SUCCESS);
  clFinish (rig->queue);
  data[0]++;
  g_assert_cmpint (rig->release_external (rig->queue, 1, &buffer, 0, NULL, NULL), ==, CL_SUCCESS);
  clFinish (rig->queue);
  rig_assert_misuse ("written-in-use");
  clReleaseMemObject (sub_buffer);
  clReleaseMemObject (buffer);
  munmap (data, SIZE);
}

static void
test_wrong_import (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  guint8 *data;
  const int fd = new_file (&data);
  cl_int status;

  g_assert_null (import (rig, fd, CL_MEM_READ_ONLY, SIZE + 1, &status));
  g_assert_cmpint (status, ==, CL_INVALID_BUFFER_SIZE);
  rig_assert_misuse ("wrong-argument");
  munmap (data, SIZE);
  close (fd);
  g_assert_null (import (rig, fd, CL_MEM_READ_ONLY, SIZE, &status));
  g_assert_cmpint (status, ==, CL_INVALID_VALUE);
  rig_assert_misuse ("wrong-argument");
}

static void
export_surface (Rig *rig, VASurfaceID surface, VADRMPRIMESurfaceDescriptor *exported)
{
  g_assert_cmpint (vaExportSurfaceHandle (
                       rig->display, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                       VA_EXPORT_SURFACE_READ_ONLY | VA_EXPORT_SURFACE_SEPARATE_LAYERS, exported),
                   ==, VA_STATUS_SUCCESS);
  g_assert_cmpuint (exported->num_layers, ==, 2);
}

/* A surface that was exported: its bytes are there, and its life is watched. */
static void
test_exported (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_NV12, 32, 16);
  VADRMPRIMESurfaceDescriptor exported;
  guint8 bytes[32];
  cl_int status;
  cl_mem buffer;

  export_surface (rig, surface, &exported);
  g_assert_true (exported.objects[0].drm_format_modifier == 0);
  buffer =
      import (rig, exported.objects[0].fd, CL_MEM_READ_ONLY, exported.objects[0].size, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  g_assert_cmpint (rig->acquire_external (rig->queue, 1, &buffer, 0, NULL, NULL), ==, CL_SUCCESS);
  clEnqueueReadBuffer (rig->queue, buffer, CL_TRUE,
                       exported.layers[1].offset[0] + exported.layers[1].pitch[0], sizeof bytes,
                       bytes, 0, NULL, NULL);
  for (guint i = 0; i < sizeof bytes; i++)
    g_assert_cmpuint (bytes[i], ==, rig_expected (VA_FOURCC_NV12, 1, i / 2, 1, i % 2));
  g_assert_cmpint (rig->release_external (rig->queue, 1, &buffer, 0, NULL, NULL), ==, CL_SUCCESS);
  vaDestroySurfaces (rig->display, &surface, 1);
  rig_assert_misuse ("destroyed-in-use");
  clFinish (rig->queue);
  clReleaseMemObject (buffer);
}

/* One that is tiled has no bytes that anybody finds, and must not be imported. */
static void
test_tiled (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_NV12, 32, 16);
  VADRMPRIMESurfaceDescriptor exported;
  guint8 byte = 1;
  cl_int status;
  cl_mem buffer;

  g_setenv ("GEMMCL_DOUBLES_MODIFIER", "0x0100000000000002", TRUE);
  export_surface (rig, surface, &exported);
  g_unsetenv ("GEMMCL_DOUBLES_MODIFIER");
  g_assert_true (exported.objects[0].drm_format_modifier ==
                 G_GUINT64_CONSTANT (0x0100000000000002));
  g_assert_cmpint (pread (exported.objects[0].fd, &byte, 1, 0), ==, 1);
  g_assert_cmpuint (byte, ==, 0);
  buffer =
      import (rig, exported.objects[0].fd, CL_MEM_READ_ONLY, exported.objects[0].size, &status);
  rig_assert_misuse ("wrong-argument");
  clReleaseMemObject (buffer);
  vaDestroySurfaces (rig->display, &surface, 1);
}

int
main (int argc, char **argv)
{
  g_setenv ("GEMMCL_DOUBLES_LATENCY_MS", "20", TRUE);
  g_test_init (&argc, &argv, NULL);
  rig_add_test ("/doubles/dmabuf/copy", test_copy);
  rig_add_test ("/doubles/dmabuf/misuse", test_misuse);
  rig_add_test ("/doubles/dmabuf/wrong-import", test_wrong_import);
  rig_add_test ("/doubles/dmabuf/exported", test_exported);
  rig_add_test ("/doubles/dmabuf/tiled", test_tiled);
  return g_test_run ();
}
