/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/foreign.h"

#include <string.h>

/* Referenced by its user and by each Import. */
struct _GstGemmclImports {
  GMutex lock;
  GHashTable *imports; /* from GstMemory to Import */
};

/* The objects of a memory. Lives as long as the memory. */
typedef struct {
  GstGemmclImports *imports;
  guintptr id;
  gboolean is_valid; /* it has the objects of id */
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

gpointer
gst_gemmcl_context_get_data (GemmclContext *context, const gchar *key,
                             gpointer (*create) (GemmclContext *context), GDestroyNotify destroy)
{
  static GMutex lock; /* elements in several threads share a context */
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  gpointer data = g_object_get_data (G_OBJECT (context), key);

  if (!data) {
    data = create (context);
    g_object_set_data_full (G_OBJECT (context), key, data, destroy);
  }
  return data;
}

GstMemory *
gst_gemmcl_get_root (GstMemory *memory)
{
  while (memory->parent)
    memory = memory->parent;
  return memory;
}

GstGemmclImports *
gst_gemmcl_imports_new (void)
{
  GstGemmclImports *self = g_atomic_rc_box_new0 (GstGemmclImports);

  g_mutex_init (&self->lock);
  self->imports = g_hash_table_new (NULL, NULL);
  return self;
}

static void
clear (gpointer data)
{
  GstGemmclImports *self = data;

  g_hash_table_unref (self->imports);
  g_mutex_clear (&self->lock);
}

/* Needs the lock. */
static void
release (Import *import)
{
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
    g_clear_pointer (&import->objects[i], clReleaseMemObject);
  import->is_valid = FALSE;
}

static void
forget_memory (gpointer data, GstMiniObject *memory)
{
  Import *import = data;
  GstGemmclImports *self = import->imports;

  g_mutex_lock (&self->lock);
  release (import);
  g_hash_table_remove (self->imports, memory);
  g_mutex_unlock (&self->lock);
  g_free (import);
  g_atomic_rc_box_release_full (self, clear);
}

gboolean
gst_gemmcl_imports_find (GstGemmclImports *self, GstMemory *memory, guintptr id,
                         cl_mem objects[GEMMCL_MAX_PLANES])
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  Import *import = g_hash_table_lookup (self->imports, memory);

  if (!import || !import->is_valid || import->id != id)
    return FALSE;
  memcpy (objects, import->objects, sizeof import->objects);
  return TRUE;
}

void
gst_gemmcl_imports_add (GstGemmclImports *self, GstMemory *memory, guintptr id,
                        const cl_mem objects[GEMMCL_MAX_PLANES])
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);
  Import *import = g_hash_table_lookup (self->imports, memory);

  if (!import) {
    import = g_new0 (Import, 1);
    import->imports = g_atomic_rc_box_acquire (self);
    g_hash_table_insert (self->imports, memory, import);
    gst_mini_object_weak_ref (GST_MINI_OBJECT (memory), forget_memory, import);
  }
  release (import);
  import->id = id;
  import->is_valid = TRUE;
  memcpy (import->objects, objects, sizeof import->objects);
}

void
gst_gemmcl_imports_drop (GstGemmclImports *self)
{
  GHashTableIter iter;
  gpointer import;

  if (!self)
    return;
  g_mutex_lock (&self->lock);
  g_hash_table_iter_init (&iter, self->imports);
  while (g_hash_table_iter_next (&iter, NULL, &import))
    release (import);
  g_mutex_unlock (&self->lock);
}

void
gst_gemmcl_imports_free (GstGemmclImports *self)
{
  if (!self)
    return;
  gst_gemmcl_imports_drop (self);
  g_atomic_rc_box_release_full (self, clear);
}
