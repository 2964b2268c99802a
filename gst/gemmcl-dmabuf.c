/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-dmabuf.h"

#include <CL/cl_ext.h>
#include <fcntl.h>
#include <gst/allocators/gstdmabuf.h>
#include <poll.h>
#include <unistd.h>

#include "gemmcl-device.h"
#include "gemmcl-imports.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

#define MAX_WAIT 1000 /* milliseconds until a dma-buf is written */

/* Intel's driver imports them without listing cl_khr_external_memory_dma_buf. */
gboolean
gst_gemmcl_dmabuf_can_import (GemmclContext *context)
{
  const cl_device_id device = gemmcl_context_get_cl_device (context);
  g_autofree cl_external_memory_handle_type_khr *types = NULL;
  gsize size = 0;

  if (clGetDeviceInfo (device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, 0, NULL, &size) !=
      CL_SUCCESS)
    return FALSE;
  types = g_malloc0 (size);
  if (clGetDeviceInfo (device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, size, types,
                       NULL) != CL_SUCCESS)
    return FALSE;
  for (gsize i = 0; i < size / sizeof *types; i++)
    if (types[i] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)
      return TRUE;
  return FALSE;
}

static gpointer
find_function (GemmclContext *context, const gchar *name)
{
  cl_platform_id platform = NULL;

  clGetDeviceInfo (gemmcl_context_get_cl_device (context), CL_DEVICE_PLATFORM, sizeof platform,
                   &platform, NULL);
  return clGetExtensionFunctionAddressForPlatform (platform, name);
}

/* The whole of what @memory may be a part of. */
static GstMemory *
get_root (GstMemory *memory)
{
  while (memory->parent)
    memory = memory->parent;
  return memory;
}

/* A file descriptor that was imported is OpenCL's, which closes it with the buffer: the memory's
 * own one stays what it is. */
static cl_mem
create_buffer (GstGemmcl *self, GstMemory *root, cl_int *status)
{
  const int fd = fcntl (gst_dmabuf_memory_get_fd (root), F_DUPFD_CLOEXEC, 0);
  const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
                                          (cl_mem_properties)fd, 0};
  cl_mem buffer = NULL;

  *status = CL_OUT_OF_HOST_MEMORY;
  if (fd < 0)
    return NULL;
  buffer = clCreateBufferWithProperties (gemmcl_context_get_cl_context (self->context), properties,
                                         CL_MEM_READ_ONLY, root->maxsize, NULL, status);
  if (*status != CL_SUCCESS)
    close (fd);
  return buffer;
}

/* The buffer that is the dma-buf; NULL if the driver refuses it. */
static cl_mem
import (GstGemmcl *self, GstMemory *root)
{
  const guintptr id = gst_dmabuf_memory_get_fd (root);
  cl_mem objects[GEMMCL_MAX_PLANES] = {NULL};
  cl_int status;

  if (gst_gemmcl_imports_find (self->imports, root, id, objects))
    return objects[0];
  objects[0] = create_buffer (self, root, &status);
  if (status != CL_SUCCESS) {
    GST_WARNING_OBJECT (self,
                        "a dma-buf of %" G_GSIZE_FORMAT " bytes cannot be imported (OpenCL error "
                        "%d): it is copied",
                        root->maxsize, status);
    return NULL;
  }
  gst_gemmcl_imports_add (self->imports, root, id, objects);
  return objects[0];
}

/* OpenCL does not wait for what other devices have yet to write; the file descriptor tells. */
static gboolean
wait_until_written (GstGemmcl *self, GstMemory *root)
{
  struct pollfd written = {.fd = gst_dmabuf_memory_get_fd (root), .events = POLLIN};

  if (poll (&written, 1, MAX_WAIT) == 1 && written.revents & POLLIN)
    return TRUE;
  GST_WARNING_OBJECT (self, "a dma-buf was not written within %d ms", MAX_WAIT);
  return FALSE;
}

gboolean
gst_gemmcl_dmabuf_open (GstGemmcl *self, GstBuffer *buffer, GemmclDeviceData *data,
                        GemmclHandover *acquire, GemmclHandover *release)
{
  GstMemory *memory;
  gsize size;

  if (gst_buffer_n_memory (buffer) != 1)
    return FALSE;
  memory = gst_buffer_peek_memory (buffer, 0);
  if (!gst_is_dmabuf_memory (memory) || !gst_gemmcl_dmabuf_can_import (self->context))
    return FALSE;
  *acquire = (GemmclHandover)find_function (self->context, "clEnqueueAcquireExternalMemObjectsKHR");
  *release = (GemmclHandover)find_function (self->context, "clEnqueueReleaseExternalMemObjectsKHR");
  if (!*acquire || !*release)
    return FALSE;
  memset (data, 0, sizeof *data);
  size = gst_memory_get_sizes (memory, &data->offset[0], NULL);
  for (guint i = 1; i < GEMMCL_MAX_PLANES; i++)
    data->offset[i] = data->offset[0];
  if (!gst_gemmcl_device_find_planes (&self->problem.a_image, &self->input.video, buffer, size,
                                      data)) {
    GST_LOG_OBJECT (self, "a dma-buf of %" G_GSIZE_FORMAT " bytes is not the caps' picture", size);
    return FALSE;
  }
  data->buffer = import (self, get_root (memory));
  return data->buffer && wait_until_written (self, get_root (memory));
}
