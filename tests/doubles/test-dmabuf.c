/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "rig.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

/* Memory of a file descriptor is imported without a copy; its use is checked like a surface's. */

#define SIZE 4096

static cl_mem
import (Rig *rig, int fd, gsize size, cl_int *status)
{
  const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
                                          (cl_mem_properties)fd, 0};

  return clCreateBufferWithProperties (rig->context, properties, CL_MEM_READ_ONLY, size, NULL,
                                       status);
}

static cl_int
acquire (Rig *rig, cl_mem buffer)
{
  return rig->acquire_external (rig->queue, 1, &buffer, 0, NULL, NULL);
}

static cl_int
release (Rig *rig, cl_mem buffer)
{
  return rig->release_external (rig->queue, 1, &buffer, 0, NULL, NULL);
}

/* Returns: a file of SIZE increasing bytes, mapped at @data. */
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
  guint8 *data, copied[SIZE];
  const int fd = new_file (&data);
  cl_int status;
  cl_mem from = import (rig, fd, SIZE, &status), to = rig_new_buffer (rig, SIZE);

  ASSERT_GOOD (status);
  /* The file descriptor now belongs to the driver. */
  g_assert_cmpint (fcntl (fd, F_GETFD), ==, -1);
  ASSERT_GOOD (acquire (rig, from));
  ASSERT_GOOD (rig_enqueue (rig, KERNEL_COPY, from, to, SIZE, 1));
  ASSERT_GOOD (release (rig, from));
  ASSERT_GOOD (rig_read (rig, to, 0, copied, SIZE));
  g_assert_cmpmem (data, SIZE, copied, SIZE);
  g_assert_cmpint (doubles_count ("own-copies"), ==, 0);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
  clReleaseMemObject (from);
  clReleaseMemObject (to);
  munmap (data, SIZE);
}

static void
test_misuse (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  guint8 *data, bytes[SIZE];
  const int fd = new_file (&data);
  cl_int status;
  cl_mem buffer = import (rig, fd, SIZE, &status);

  ASSERT_GOOD (status);
  ASSERT_REFUSED (rig_read (rig, buffer, 0, bytes, SIZE), CL_INVALID_OPERATION, "unacquired-use");
  ASSERT_REFUSED (rig_enqueue (rig, KERNEL_COPY, buffer, buffer, 1, 1), CL_INVALID_OPERATION,
                  "unacquired-use");
  ASSERT_REFUSED (rig_acquire (rig, buffer), CL_INVALID_MEM_OBJECT, "wrong-argument");
  ASSERT_REFUSED (release (rig, buffer), CL_INVALID_OPERATION, "unacquired-release");
  /* The CPU writes while the buffer is acquired. */
  ASSERT_GOOD (acquire (rig, buffer));
  clFinish (rig->queue);
  data[0]++;
  ASSERT_GOOD (release (rig, buffer));
  clFinish (rig->queue);
  rig_assert_misuse ("written-in-use");
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

  g_assert_null (import (rig, fd, SIZE + 1, &status));
  ASSERT_REFUSED (status, CL_INVALID_BUFFER_SIZE, "wrong-argument");
  munmap (data, SIZE);
  close (fd);
  g_assert_null (import (rig, fd, SIZE, &status));
  ASSERT_REFUSED (status, CL_INVALID_VALUE, "wrong-argument");
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

/* An exported surface can be read, and its lifetime is checked. */
static void
test_exported (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, 32, 16);
  VADRMPRIMESurfaceDescriptor exported;
  guint8 bytes[32];
  cl_int status;
  cl_mem buffer;

  export_surface (rig, surface, &exported);
  g_assert_true (exported.objects[0].drm_format_modifier == 0);
  buffer = import (rig, exported.objects[0].fd, exported.objects[0].size, &status);
  ASSERT_GOOD (status);
  ASSERT_GOOD (acquire (rig, buffer));
  ASSERT_GOOD (rig_read (rig, buffer, exported.layers[1].offset[0] + exported.layers[1].pitch[0],
                         bytes, sizeof bytes));
  for (guint i = 0; i < sizeof bytes; i++)
    g_assert_cmpuint (bytes[i], ==, rig_expected (1, i / 2, 1, i % 2));
  ASSERT_GOOD (release (rig, buffer));
  vaDestroySurfaces (rig->display, &surface, 1);
  rig_assert_misuse ("destroyed-in-use");
  clFinish (rig->queue);
  clReleaseMemObject (buffer);
}

/* A tiled surface must not be imported; its file has no pixels. */
static void
test_tiled (void)
{
  const guint64 modifier = G_GUINT64_CONSTANT (0x0100000000000002);
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, 32, 16);
  VADRMPRIMESurfaceDescriptor exported;
  guint8 byte = 1;
  cl_int status;
  cl_mem buffer;

  g_setenv ("GEMMCL_DOUBLES_MODIFIER", "0x0100000000000002", TRUE);
  export_surface (rig, surface, &exported);
  g_unsetenv ("GEMMCL_DOUBLES_MODIFIER");
  g_assert_true (exported.objects[0].drm_format_modifier == modifier);
  g_assert_cmpint (pread (exported.objects[0].fd, &byte, 1, 0), ==, 1);
  g_assert_cmpuint (byte, ==, 0);
  buffer = import (rig, exported.objects[0].fd, exported.objects[0].size, &status);
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
