/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory of another owner under the names of gemmcl's, for foreign.py. It is made like DL
 * Streamer's: a map with GST_GEMMCL_MAP_OPENCL's value gives a handle instead of bytes, memories
 * cannot be shared, and the allocator does not allocate.
 */
#include <gmodule.h>
#include <gst/gst.h>

#include "memory/gstgemmclmemory.h"

G_DECLARE_FINAL_TYPE (ForeignAllocator, foreign_allocator, FOREIGN, ALLOCATOR, GstAllocator)

struct _ForeignAllocator {
  GstAllocator parent;
  gboolean is_mappable;
};

typedef struct {
  GstMemory parent;
  guchar *bytes;
} ForeignMemory;

/** Memories, maps for a handle, and current maps. */
G_MODULE_EXPORT gint foreign_alive, foreign_handles, foreign_mapped;

G_MODULE_EXPORT GType foreign_allocator_get_type (void);
G_DEFINE_TYPE (ForeignAllocator, foreign_allocator, GST_TYPE_ALLOCATOR)

static gpointer
foreign_map (GstMemory *memory, gsize maxsize G_GNUC_UNUSED, GstMapFlags flags)
{
  if (flags & GST_GEMMCL_MAP_OPENCL)
    g_atomic_int_inc (&foreign_handles);
  if (flags & ~GST_MAP_READWRITE || !FOREIGN_ALLOCATOR (memory->allocator)->is_mappable)
    return NULL;
  g_atomic_int_inc (&foreign_mapped);
  return ((ForeignMemory *)memory)->bytes;
}

static void
foreign_unmap (GstMemory *memory G_GNUC_UNUSED)
{
  g_atomic_int_add (&foreign_mapped, -1);
}

static GstMemory *
foreign_share (GstMemory *memory G_GNUC_UNUSED, gssize offset G_GNUC_UNUSED,
               gssize size G_GNUC_UNUSED)
{
  return NULL;
}

static void
foreign_free (GstAllocator *allocator G_GNUC_UNUSED, GstMemory *memory)
{
  g_free (((ForeignMemory *)memory)->bytes);
  g_free (memory);
  g_atomic_int_add (&foreign_alive, -1);
}

static void
foreign_allocator_class_init (ForeignAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->free = foreign_free;
}

static void
foreign_allocator_init (ForeignAllocator *self)
{
  self->parent.mem_map = foreign_map;
  self->parent.mem_unmap = foreign_unmap;
  self->parent.mem_share = foreign_share;
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

/** Names the type of memory of a new allocator. @is_mappable: by the host */
G_MODULE_EXPORT void foreign_allocator_set (ForeignAllocator *self, const gchar *type,
                                            gboolean is_mappable);

void
foreign_allocator_set (ForeignAllocator *self, const gchar *type, gboolean is_mappable)
{
  self->parent.mem_type = g_intern_string (type);
  self->is_mappable = is_mappable;
}

/** Appends a memory with these bytes. */
G_MODULE_EXPORT void foreign_append (GstBuffer *buffer, GstAllocator *allocator,
                                     gconstpointer bytes, gsize size);

void
foreign_append (GstBuffer *buffer, GstAllocator *allocator, gconstpointer bytes, gsize size)
{
  ForeignMemory *self = g_new0 (ForeignMemory, 1);

  self->bytes = g_memdup2 (bytes, size);
  gst_memory_init (&self->parent, 0, allocator, NULL, size, 0, 0, size);
  g_atomic_int_inc (&foreign_alive);
  gst_buffer_append_memory (buffer, &self->parent);
}
