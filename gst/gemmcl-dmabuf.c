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

/* What a context can do with dma-bufs, found once. */
typedef struct {
  gboolean can_import;
  GemmclHandover acquire, release;
  gint refused; /* atomic: it was said that one was */
} Importer;

/* Intel's driver imports them without listing cl_khr_external_memory_dma_buf. */
static gboolean
lists_dmabufs (cl_device_id device)
{
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

static Importer *
importer_new (GemmclContext *context)
{
  const cl_device_id device = gemmcl_context_get_cl_device (context);
  Importer *self = g_new0 (Importer, 1);
  cl_platform_id platform = NULL;

  clGetDeviceInfo (device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  self->acquire = (GemmclHandover)clGetExtensionFunctionAddressForPlatform (
      platform, "clEnqueueAcquireExternalMemObjectsKHR");
  self->release = (GemmclHandover)clGetExtensionFunctionAddressForPlatform (
      platform, "clEnqueueReleaseExternalMemObjectsKHR");
  self->can_import = self->acquire && self->release && lists_dmabufs (device);
  return self;
}

/* (transfer none): lives as long as @context. */
static Importer *
get_importer (GemmclContext *context)
{
  static const gchar key[] = "gst-gemmcl-dmabuf-importer";
  static GMutex lock; /* elements share contexts, and ask in threads of their own */
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  Importer *self = g_object_get_data (G_OBJECT (context), key);

  if (!self) {
    self = importer_new (context);
    g_object_set_data_full (G_OBJECT (context), key, self, g_free);
  }
  return self;
}

gboolean
gst_gemmcl_dmabuf_can_import (GemmclContext *context)
{
  return get_importer (context)->can_import;
}

/* The whole of what @memory may be a part of. */
static GstMemory *
get_root (GstMemory *memory)
{
  while (memory->parent)
    memory = memory->parent;
  return memory;
}

/* Those of media drivers may be tiled, whatever caps say. The type is known if libgstva is there,
 * and parts have the allocator of their whole. */
static gboolean
is_of_media_driver (GstMemory *memory)
{
  const GType type = g_type_from_name ("GstVaDmabufAllocator");

  return type != 0 && g_type_is_a (G_OBJECT_TYPE (memory->allocator), type);
}

gboolean
gst_gemmcl_dmabuf_is_torn (GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);
    const GstMemory *root = get_root (memory);

    if (is_of_media_driver (memory) &&
        (memory->offset != root->offset || memory->size != root->size))
      return TRUE;
  }
  return FALSE;
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

static void
note_refusal (GstGemmcl *self, GstMemory *root, cl_int status)
{
  Importer *importer = get_importer (self->context);

  if (g_atomic_int_compare_and_exchange (&importer->refused, FALSE, TRUE))
    GST_WARNING_OBJECT (self,
                        "a dma-buf of %" G_GSIZE_FORMAT " bytes cannot be imported (OpenCL error "
                        "%d): it is copied, as all that are refused",
                        root->maxsize, status);
  else
    GST_INFO_OBJECT (self, "a dma-buf cannot be imported (OpenCL error %d), either", status);
}

/* The buffer that is the dma-buf; NULL if the driver refuses it, which it is asked for once. */
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
    note_refusal (self, root, status);
    objects[0] = NULL;
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
  const Importer *importer = get_importer (self->context);
  GstMemory *memory;
  gsize size;

  if (!importer->can_import || gst_buffer_n_memory (buffer) != 1)
    return FALSE;
  memory = gst_buffer_peek_memory (buffer, 0);
  if (!gst_is_dmabuf_memory (memory) || is_of_media_driver (memory))
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
  *acquire = importer->acquire;
  *release = importer->release;
  data->buffer = import (self, get_root (memory));
  return data->buffer && wait_until_written (self, get_root (memory));
}
