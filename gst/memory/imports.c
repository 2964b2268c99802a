/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/imports.h"

#include <CL/cl_ext.h>
#include <errno.h>
#include <fcntl.h>
#include <gst/allocators/gstdmabuf.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/error.h"
#include "memory/inflight.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

#define ACQUIRE  "clEnqueueAcquireExternalMemObjectsKHR"
#define RELEASE  "clEnqueueReleaseExternalMemObjectsKHR"
#define MAX_WAIT 1000 /* ms to wait for writes to a dma-buf */

/* The OpenCL objects that an element made from a memory. Elements do not share objects: their runs
 * would acquire an object twice. The memory has an array of its imports as qdata. */
typedef struct {
  GWeakRef element;
  GemmclContext *context;
  guintptr id; /* the content from which objects were made; NO_ID: none */
  cl_mem objects[GEMMCL_MAX_PLANES];
} Import;

#define NO_ID ((guintptr)-1)

cl_platform_id
gst_gemmcl_get_platform (GemmclContext *context)
{
  cl_platform_id platform = NULL;

  clGetDeviceInfo (gemmcl_context_get_cl_device (context), CL_DEVICE_PLATFORM, sizeof platform,
                   &platform, NULL);
  return platform;
}

GstMemory *
gst_gemmcl_get_root (GstMemory *memory)
{
  while (memory->parent)
    memory = memory->parent;
  return memory;
}

static void
release_objects (Import *self)
{
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
    g_clear_pointer (&self->objects[i], clReleaseMemObject);
}

static void
free_import (gpointer data)
{
  Import *self = data;

  release_objects (self);
  g_weak_ref_clear (&self->element);
  g_object_unref (self->context);
  g_free (self);
}

/* Returns: (transfer none): the import of @owner for the element and context of @sharing; a new one
 * if there is none. Frees the imports of elements that are gone. The streaming thread of the
 * element uses its import without the lock. */
static Import *
get_import (GstMiniObject *owner, const GstGemmclSharing *sharing)
{
  const GQuark quark = g_quark_from_static_string ("gst-gemmcl-imports");
  static GMutex lock; /* guards the arrays of all memories, which several threads use */
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  GPtrArray *imports = gst_mini_object_get_qdata (owner, quark);
  Import *found = NULL;

  if (!imports) {
    imports = g_ptr_array_new_with_free_func (free_import);
    gst_mini_object_set_qdata (owner, quark, imports, (GDestroyNotify)g_ptr_array_unref);
  }
  for (guint i = imports->len; i > 0; i--) {
    Import *import = imports->pdata[i - 1];
    g_autoptr (GstElement) element = g_weak_ref_get (&import->element);

    if (!element)
      g_ptr_array_remove_index_fast (imports, i - 1);
    else if (element == sharing->element && import->context == sharing->context)
      found = import;
  }
  if (found)
    return found;
  found = g_new0 (Import, 1);
  g_weak_ref_init (&found->element, sharing->element);
  found->context = g_object_ref (sharing->context);
  found->id = NO_ID;
  g_ptr_array_add (imports, found);
  return found;
}

gboolean
gst_gemmcl_import (GstGemmclSharing *sharing, GstMemory *memory, guintptr id,
                   GstGemmclImporter make, cl_mem objects[GEMMCL_MAX_PLANES], GError **error)
{
  Import *import = get_import (GST_MINI_OBJECT (memory), sharing);

  if (import->id != id) {
    memset (objects, 0, GEMMCL_MAX_PLANES * sizeof *objects);
    if (!make (sharing, memory, id, objects, error))
      return FALSE;
    release_objects (import);
    import->id = id;
    memcpy (import->objects, objects, sizeof import->objects);
  }
  memcpy (objects, import->objects, sizeof import->objects);
  return TRUE;
}

/* TRUE if @device lists dma-bufs among the handles that it imports. Intel's driver does so, but
 * does not list the extension cl_khr_external_memory_dma_buf. */
static gboolean
lists_dmabufs (cl_device_id device)
{
  cl_external_memory_handle_type_khr types[16];
  gsize size = 0;

  if (clGetDeviceInfo (device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, sizeof types,
                       types, &size) != CL_SUCCESS)
    return FALSE;
  for (gsize i = 0; i < size / sizeof *types; i++)
    if (types[i] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR)
      return TRUE;
  return FALSE;
}

static GCallback
look_up (GemmclContext *context, const gchar *name)
{
  return (GCallback)clGetExtensionFunctionAddressForPlatform (gst_gemmcl_get_platform (context),
                                                              name);
}

gboolean
gst_gemmcl_dmabuf_can_import (GemmclContext *context)
{
  return look_up (context, ACQUIRE) && look_up (context, RELEASE) &&
         lists_dmabufs (gemmcl_context_get_cl_device (context));
}

/* TRUE if @memory comes from a media driver, whose dma-bufs may be tiled even if caps say
 * otherwise. The type is registered only if libgstva is loaded. A part of a memory has the
 * allocator of the whole memory. */
static gboolean
is_of_media_driver (GstMemory *memory)
{
  const GType type = g_type_from_name ("GstVaDmabufAllocator");

  return type != 0 && memory->allocator && g_type_is_a (G_OBJECT_TYPE (memory->allocator), type);
}

gboolean
gst_gemmcl_dmabuf_is_shared (GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (is_of_media_driver (memory) && memory->parent)
      return TRUE;
  }
  return FALSE;
}

/* A GstGemmclImporter for a dma-buf of @size bytes. Imports a duplicate of the file descriptor,
 * since OpenCL closes the descriptor with the buffer. */
static gboolean
create_buffer (GstGemmclSharing *self, GstMemory *root, guintptr size,
               cl_mem objects[GEMMCL_MAX_PLANES], GError **error G_GNUC_UNUSED)
{
  const int fd = fcntl (gst_dmabuf_memory_get_fd (root), F_DUPFD_CLOEXEC, 0);
  const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
                                          (cl_mem_properties)fd, 0};
  cl_int status = CL_OUT_OF_HOST_MEMORY;

  if (fd >= 0)
    objects[0] = clCreateBufferWithProperties (gemmcl_context_get_cl_context (self->context),
                                               properties, CL_MEM_READ_ONLY, size, NULL, &status);
  if (status == CL_SUCCESS)
    return TRUE;
  if (fd >= 0)
    close (fd);
  GST_WARNING_OBJECT (self->element,
                      "a dma-buf of %zu bytes cannot be imported (OpenCL error %d), so it is "
                      "copied",
                      (gsize)size, status);
  objects[0] = NULL;
  return TRUE;
}

static gboolean
wait_for_file (int fd)
{
  struct pollfd written = {.fd = fd, .events = POLLIN};

  return poll (&written, 1, MAX_WAIT) == 1 && written.revents & POLLIN;
}

/* Returns: a file that becomes readable when the fences are signalled for which a reader of the
 * dma-buf has to wait; -1 if the kernel cannot make it, as before Linux 6.0. */
static int
export_fences (int fd)
{
#ifdef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
  struct dma_buf_export_sync_file fences = {.flags = DMA_BUF_SYNC_READ, .fd = -1};

  if (ioctl (fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &fences) == 0)
    return fences.fd;
#endif
  return -1;
}

/* Lets the driver that made the dma-buf finish its writes, as for a map of the host. FALSE if that
 * fails; a file without such a driver, or a kernel without the call, has nothing to finish. */
static gboolean
finish_writes (int fd)
{
  static const guint64 steps[] = {DMA_BUF_SYNC_START, DMA_BUF_SYNC_END};

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++) {
    struct dma_buf_sync sync = {.flags = steps[i] | DMA_BUF_SYNC_READ};
    int status;

    do
      status = ioctl (fd, DMA_BUF_IOCTL_SYNC, &sync);
    while (status < 0 && (errno == EINTR || errno == EAGAIN));
    if (status < 0 && errno != ENOTTY)
      return FALSE;
  }
  return TRUE;
}

/* Waits until other devices have written the dma-buf, since OpenCL does not wait for them. */
static gboolean
wait_until_written (GstGemmclSharing *self, GstMemory *root)
{
  const int fd = gst_dmabuf_memory_get_fd (root), fences = export_fences (fd);
  const gboolean is_written =
      wait_for_file (fd) && (fences < 0 || wait_for_file (fences)) && finish_writes (fd);

  if (fences >= 0)
    close (fences);
  if (is_written)
    return TRUE;
  GST_WARNING_OBJECT (self->element,
                      "a dma-buf was not written within %d ms, or its driver did not finish the "
                      "writes, so it is copied",
                      MAX_WAIT);
  return FALSE;
}

/* TRUE if both are of the same dma-buf. Before Linux 5.3 all have one inode and no size. */
static gboolean
is_same_file (GstMemory *one, GstMemory *other)
{
  struct stat a, b;

  return one == other || (fstat (gst_dmabuf_memory_get_fd (one), &a) == 0 &&
                          fstat (gst_dmabuf_memory_get_fd (other), &b) == 0 && a.st_size > 0 &&
                          a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

/* Finds the dma-buf that all memories of @buffer belong to; each plane may have its own memory.
 * @size: (out): the bytes to import. Returns: (transfer none) (nullable): the root of the first
 * memory; NULL if there is no such dma-buf. */
static GstMemory *
find_file (GstBuffer *buffer, gsize *size)
{
  GstMemory *first = NULL;

  *size = 0;
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i), *root = gst_gemmcl_get_root (memory);

    if (!gst_is_dmabuf_memory (memory) || !gst_is_dmabuf_memory (root) ||
        is_of_media_driver (memory) || (first && !is_same_file (first, root)))
      return NULL;
    first = first ? first : root;
    *size = MAX (*size, root->maxsize);
  }
  return first;
}

gboolean
gst_gemmcl_dmabuf_open (GstGemmclSharing *self, const GemmclFrame *frame, const GstVideoInfo *info,
                        GstBuffer *buffer, GemmclData *data, GemmclRun *run)
{
  gsize size;
  GstMemory *file = find_file (buffer, &size);

  if (!file || !gst_gemmcl_dmabuf_can_import (self->context))
    return FALSE;
  run->acquire = look_up (self->context, ACQUIRE);
  run->release = look_up (self->context, RELEASE);
  *data = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .acquired = TRUE};
  if (!gst_gemmcl_find_planes (frame, info, buffer, data)) {
    GST_LOG_OBJECT (self->element,
                    "dma-bufs of %zu bytes do not hold a frame of the caps, and are mapped",
                    gst_buffer_get_size (buffer));
    return FALSE;
  }
  return gst_gemmcl_import (self, file, size, create_buffer, data->objects, NULL) &&
         data->objects[0] && wait_until_written (self, file);
}
