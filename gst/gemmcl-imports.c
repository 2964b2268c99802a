/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-imports.h"

struct _GstGemmclImports {
  gint references; /* its user's, and those of the memories that it knows */
  GMutex lock;
  GHashTable *imports; /* GstMemory to Import */
  guint most;
  guint kept; /* imports that have objects */
  guint64 uses;
};

/* Stays until the memory is gone, with or without objects. */
typedef struct {
  GstGemmclImports *imports;
  guintptr id;
  guint64 last_use; /* 0: no objects */
  cl_mem objects[GEMMCL_MAX_PLANES];
} Import;

GstGemmclImports *
gst_gemmcl_imports_new (guint most)
{
  GstGemmclImports *self = g_new0 (GstGemmclImports, 1);

  self->references = 1;
  self->most = most;
  g_mutex_init (&self->lock);
  self->imports = g_hash_table_new (NULL, NULL);
  return self;
}

static void
unref (GstGemmclImports *self)
{
  if (!g_atomic_int_dec_and_test (&self->references))
    return;
  g_hash_table_unref (self->imports);
  g_mutex_clear (&self->lock);
  g_free (self);
}

/* With the lock held. */
static void
release (Import *import)
{
  if (import->last_use == 0)
    return;
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
    g_clear_pointer (&import->objects[i], clReleaseMemObject);
  import->last_use = 0;
  import->imports->kept--;
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
  unref (self);
}

static Import *
get_import_locked (GstGemmclImports *self, GstMemory *memory)
{
  Import *import = g_hash_table_lookup (self->imports, memory);

  if (import)
    return import;
  import = g_new0 (Import, 1);
  import->imports = self;
  g_atomic_int_inc (&self->references);
  g_hash_table_insert (self->imports, memory, import);
  gst_mini_object_weak_ref (GST_MINI_OBJECT (memory), forget_memory, import);
  return import;
}

static void
release_oldest_locked (GstGemmclImports *self)
{
  Import *oldest = NULL;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->imports);
  while (g_hash_table_iter_next (&iter, NULL, &value)) {
    Import *import = value;

    if (import->last_use > 0 && (!oldest || import->last_use < oldest->last_use))
      oldest = import;
  }
  release (oldest);
}

gboolean
gst_gemmcl_imports_find (GstGemmclImports *self, GstMemory *memory, guintptr id,
                         cl_mem objects[GEMMCL_MAX_PLANES])
{
  gboolean found;
  Import *import;

  g_mutex_lock (&self->lock);
  import = g_hash_table_lookup (self->imports, memory);
  found = import && import->last_use > 0 && import->id == id;
  if (found) {
    import->last_use = ++self->uses;
    for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
      objects[i] = import->objects[i];
  }
  g_mutex_unlock (&self->lock);
  return found;
}

void
gst_gemmcl_imports_add (GstGemmclImports *self, GstMemory *memory, guintptr id,
                        const cl_mem objects[GEMMCL_MAX_PLANES])
{
  Import *import;

  g_mutex_lock (&self->lock);
  import = get_import_locked (self, memory);
  release (import);
  if (self->kept == self->most)
    release_oldest_locked (self);
  import->id = id;
  import->last_use = ++self->uses;
  for (guint i = 0; i < GEMMCL_MAX_PLANES; i++)
    import->objects[i] = objects[i];
  self->kept++;
  g_mutex_unlock (&self->lock);
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
  unref (self);
}
