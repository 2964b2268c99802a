/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/imports.h"

#include <string.h>

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
