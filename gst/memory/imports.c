/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/foreign.h"

#include <string.h>

/* The OpenCL objects that an element made from a memory. Elements do not share objects: their runs
 * would acquire an object twice. The memory has the list of its imports as qdata. */
typedef struct Import {
  struct Import *next;
  GWeakRef element;
  GemmclContext *context;
  guintptr id; /* the content from which objects were made; NO_ID: none */
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

/* Guards the lists of all memories, which several threads use. An import belongs to the streaming
 * thread of its element, which uses it without the lock. */
static GMutex lock;

#define NO_ID ((guintptr)-1)

/* Returns: (transfer none): the import of @owner for the element and context of @device; a new one
 * if there is none. Frees the imports of elements that are gone. */
static Import *
get_import (GstMiniObject *owner, const GstGemmclDevice *device)
{
  const GQuark quark = g_quark_from_static_string ("gst-gemmcl-imports");
  Import *first, *before, *found = NULL, *gone = NULL;

  g_mutex_lock (&lock);
  first = before = gst_mini_object_get_qdata (owner, quark);
  for (Import **link = &first, *import; (import = *link);) {
    g_autoptr (GstElement) element = g_weak_ref_get (&import->element);

    if (element) {
      if (element == device->element && import->context == device->context)
        found = import;
      link = &import->next;
    } else {
      *link = import->next;
      import->next = gone;
      gone = import;
    }
  }
  if (!found) {
    found = g_new0 (Import, 1);
    g_weak_ref_init (&found->element, device->element);
    found->context = g_object_ref (device->context);
    found->id = NO_ID;
    found->next = first;
    first = found;
  }
  if (first != before) {
    (void)!gst_mini_object_steal_qdata (owner, quark);
    gst_mini_object_set_qdata (owner, quark, first, free_imports);
  }
  g_mutex_unlock (&lock);
  free_imports (gone);
  return found;
}

gboolean
gst_gemmcl_import (GstGemmclDevice *device, GstMemory *memory, guintptr id, GstGemmclImporter make,
                   cl_mem objects[GEMMCL_MAX_PLANES], GError **error)
{
  Import *import = get_import (GST_MINI_OBJECT (memory), device);

  if (import->id != id) {
    memset (objects, 0, GEMMCL_MAX_PLANES * sizeof *objects);
    if (!make (device, memory, id, objects, error))
      return FALSE;
    release_objects (import);
    import->id = id;
    memcpy (import->objects, objects, sizeof import->objects);
  }
  memcpy (objects, import->objects, sizeof import->objects);
  return TRUE;
}
