/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/foreign.h"

#include <string.h>

/* The OpenCL objects of a memory for an element: the runs of several would acquire the same object
 * twice. The memory has a list of them as qdata. */
typedef struct Import {
  struct Import *next;
  GWeakRef element;
  GemmclContext *context;
  guintptr id;
  cl_mem objects[GEMMCL_MAX_PLANES];
} Import;

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
free_imports (gpointer data)
{
  for (Import *import = data, *next; import; import = next) {
    next = import->next;
    release_objects (import);
    g_weak_ref_clear (&import->element);
    g_object_unref (import->context);
    g_free (import);
  }
}

static gboolean
is_of (Import *import, const GstGemmclDevice *device)
{
  g_autoptr (GstElement) element = g_weak_ref_get (&import->element);

  return element == device->element && import->context == device->context;
}

/* Guards the lists of all memories, which elements in several threads read. An import belongs to
 * the streaming thread of its element, which uses it without the lock. */
static GMutex lock;

static Import *
find_import (GstMiniObject *owner, GQuark quark, const GstGemmclDevice *device)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  Import *import = gst_mini_object_get_qdata (owner, quark);

  while (import && !is_of (import, device))
    import = import->next;
  return import;
}

/* Adds an import without objects, and frees those of elements that are gone. */
static Import *
add_import (GstMiniObject *owner, GQuark quark, const GstGemmclDevice *device)
{
  Import *import = g_new0 (Import, 1), *gone = NULL;

  g_weak_ref_init (&import->element, device->element);
  import->context = g_object_ref (device->context);
  g_mutex_lock (&lock);
  import->next = gst_mini_object_steal_qdata (owner, quark);
  for (Import **link = &import->next; *link;) {
    g_autoptr (GstElement) element = g_weak_ref_get (&(*link)->element);
    Import *each = *link;

    if (element) {
      link = &each->next;
      continue;
    }
    *link = each->next;
    each->next = gone;
    gone = each;
  }
  gst_mini_object_set_qdata (owner, quark, import, free_imports);
  g_mutex_unlock (&lock);
  free_imports (gone);
  return import;
}

gboolean
gst_gemmcl_import (GstGemmclDevice *device, GstMemory *memory, guintptr id, GstGemmclImporter make,
                   cl_mem objects[GEMMCL_MAX_PLANES], GError **error)
{
  const GQuark quark = g_quark_from_static_string ("gst-gemmcl-imports");
  GstMiniObject *owner = GST_MINI_OBJECT (memory);
  Import *import = find_import (owner, quark, device);

  if (!import || import->id != id) {
    memset (objects, 0, GEMMCL_MAX_PLANES * sizeof *objects);
    if (!make (device, memory, id, objects, error))
      return FALSE;
    if (!import)
      import = add_import (owner, quark, device);
    release_objects (import);
    import->id = id;
    memcpy (import->objects, objects, sizeof import->objects);
  }
  memcpy (objects, import->objects, sizeof import->objects);
  return TRUE;
}
