/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-objects.h"

#include "record.h"

#include <CL/cl_va_api_media_sharing_intel.h>
#include <sys/mman.h>

/* By memory object; parts of an object (sub-buffers, images over buffers) lead to the whole. */
static GHashTable *objects;

static void
object_free (SharedObject *self)
{
  if (self->map)
    munmap (self->map, self->size);
  g_clear_pointer (&self->surface, surface_unref);
  g_free (self->properties);
  g_free (self);
}

SharedObject *
shared_object_ref (SharedObject *self)
{
  g_atomic_int_inc (&self->references);
  return self;
}

void
shared_object_unref (SharedObject *self)
{
  if (g_atomic_int_dec_and_test (&self->references))
    object_free (self);
}

SharedObject *
shared_object_get (cl_mem mem)
{
  RECORD_LOCK ();
  SharedObject *self = objects ? g_hash_table_lookup (objects, mem) : NULL;

  return self ? shared_object_ref (self) : NULL;
}

gchar *
shared_object_name (const SharedObject *self)
{
  return self->is_plane ? g_strdup_printf ("plane %u of surface %#x", self->plane, self->id)
                        : g_strdup_printf ("the dma-buf of %" G_GSIZE_FORMAT " bytes", self->size);
}

gboolean
shared_object_is_written (const SharedObject *self)
{
  return !(self->flags & CL_MEM_READ_ONLY);
}

static void
note_left (const SharedObject *self)
{
  g_autofree gchar *name = shared_object_name (self);

  record_misuse (MISUSE_LEFT_ACQUIRED,
                 "%s was acquired and never released: enqueue the release before the object or the "
                 "program ends.",
                 name);
}

static void
end_use (SharedObject *self)
{
  if (!self->acquired)
    return;
  self->acquired = FALSE;
  if (self->surface && shared_object_is_written (self))
    self->surface->writers--;
  else if (self->surface)
    self->surface->readers--;
}

/* OpenCL has freed it; it calls from whichever thread was the last user. */
static void CL_CALLBACK
forget_object (cl_mem mem, void *data)
{
  g_autoptr (SharedObject) self = data;
  RECORD_LOCK ();

  g_hash_table_remove (objects, mem);
  cl_kernels_forget (mem);
  if (mem != self->mem)
    return;
  record_count (COUNT_LIVE_OBJECTS, -1);
  if (self->acquired)
    note_left (self);
  end_use (self);
}

static void
note_all_left (void)
{
  GHashTableIter iter;
  gpointer mem, object;

  RECORD_LOCK ();
  g_hash_table_iter_init (&iter, objects);
  while (g_hash_table_iter_next (&iter, &mem, &object))
    if (((SharedObject *)object)->mem == mem && ((SharedObject *)object)->acquired)
      note_left (object);
}

/* @self: (transfer full) */
static void
add (cl_mem mem, SharedObject *self)
{
  {
    RECORD_LOCK ();
    if (!objects) {
      objects = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)shared_object_unref);
      record_set_final_check (note_all_left);
    }
    g_hash_table_insert (objects, mem, shared_object_ref (self));
  }
  cl_next->clSetMemObjectDestructorCallback (mem, forget_object, self);
}

void
shared_object_add (SharedObject *self)
{
  record_count (COUNT_LIVE_OBJECTS, 1);
  add (self->mem, self);
}

cl_int
shared_object_check_use (cl_mem mem, const gchar *who)
{
  RECORD_LOCK ();
  g_autoptr (SharedObject) self = shared_object_get (mem);
  g_autofree gchar *name = self ? shared_object_name (self) : NULL;

  if (!self)
    return CL_SUCCESS;
  if (self->surface && self->surface->destroyed) {
    record_misuse (MISUSE_STALE_SURFACE, "%s uses %s, which was destroyed before.", who, name);
    return CL_INVALID_MEM_OBJECT;
  }
  if (self->acquired)
    return CL_SUCCESS;
  record_misuse (MISUSE_UNACQUIRED_USE,
                 "%s uses %s, which is not acquired: enqueue the acquire before, and the release "
                 "after.",
                 who, name);
  return self->is_plane ? CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL : CL_INVALID_OPERATION;
}

static guint64
sum_bytes (guint64 sum, const guint8 *data, gsize n)
{
  for (gsize i = 0; i < n; i++)
    sum = (sum ^ data[i]) * G_GUINT64_CONSTANT (0x100000001b3);
  return sum;
}

guint64
shared_object_sum (const SharedObject *self)
{
  guint64 sum = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  if (self->is_plane) {
    const SurfacePlane *plane = &self->surface->planes[self->plane];

    for (guint y = 0; y < plane->rows; y++)
      sum = sum_bytes (sum, self->surface->data + plane->offset + y * plane->pitch,
                       (gsize)plane->columns * plane->channels * plane->size);
    return sum;
  }
  return sum_bytes (sum, self->map, self->size);
}

/* What lies within a shared object is shared with it. */
static cl_mem
add_part (cl_mem whole, cl_mem part)
{
  SharedObject *self = part && whole ? shared_object_get (whole) : NULL;

  if (self)
    add (part, self);
  return part;
}

static cl_mem CL_API_CALL
create_sub_buffer (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
                   cl_int *status)
{
  return add_part (buffer, cl_next->clCreateSubBuffer (buffer, flags, type, info, status));
}

static cl_mem CL_API_CALL
create_image (cl_context context, cl_mem_flags flags, const cl_image_format *format,
              const cl_image_desc *description, void *data, cl_int *status)
{
  return add_part (description ? description->mem_object : NULL,
                   cl_next->clCreateImage (context, flags, format, description, data, status));
}

static cl_mem CL_API_CALL
create_image_with_properties (cl_context context, const cl_mem_properties *properties,
                              cl_mem_flags flags, const cl_image_format *format,
                              const cl_image_desc *description, void *data, cl_int *status)
{
  return add_part (description ? description->mem_object : NULL,
                   cl_next->clCreateImageWithProperties (context, properties, flags, format,
                                                         description, data, status));
}

/* What an imported buffer is made of below must not show. */
static cl_int
get_dmabuf_info (const SharedObject *self, cl_mem_info name, size_t room, void *value, size_t *n)
{
  const void *const nowhere = NULL;

  if (name == CL_MEM_FLAGS)
    return cl_answer (&self->flags, sizeof self->flags, room, value, n);
  if (name == CL_MEM_HOST_PTR)
    return cl_answer (&nowhere, sizeof nowhere, room, value, n);
  if (name == CL_MEM_PROPERTIES)
    return cl_answer (self->properties, self->n_properties * sizeof *self->properties, room, value,
                      n);
  return cl_next->clGetMemObjectInfo (self->mem, name, room, value, n);
}

static cl_int CL_API_CALL
get_object_info (cl_mem mem, cl_mem_info name, size_t room, void *value, size_t *n)
{
  g_autoptr (SharedObject) self = shared_object_get (mem);

  if (self && self->is_plane && name == CL_MEM_VA_API_MEDIA_SURFACE_INTEL) {
    const VASurfaceID *const id = &self->id;

    return cl_answer (&id, sizeof id, room, value, n);
  }
  if (self && self->mem == mem && !self->is_plane)
    return get_dmabuf_info (self, name, room, value, n);
  return cl_next->clGetMemObjectInfo (mem, name, room, value, n);
}

static cl_int CL_API_CALL
get_image_info (cl_mem mem, cl_image_info name, size_t room, void *value, size_t *n)
{
  g_autoptr (SharedObject) self = shared_object_get (mem);
  const SurfacePlane *plane;
  cl_image_format format;
  size_t size;

  if (!self || !self->is_plane)
    return cl_next->clGetImageInfo (mem, name, room, value, n);
  plane = &self->surface->planes[self->plane];
  format.image_channel_order = plane->channels == 2 ? CL_RG : CL_R;
  format.image_channel_data_type = plane->size == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8;
  size = plane->channels * plane->size;
  switch (name) {
  case CL_IMAGE_FORMAT:
    return cl_answer (&format, sizeof format, room, value, n);
  case CL_IMAGE_ELEMENT_SIZE:
    return cl_answer (&size, sizeof size, room, value, n);
  case CL_IMAGE_ROW_PITCH:
    return cl_answer (&plane->pitch, sizeof plane->pitch, room, value, n);
  case CL_IMAGE_VA_API_PLANE_INTEL:
    return cl_answer (&self->plane, sizeof (cl_uint), room, value, n);
  }
  return cl_next->clGetImageInfo (mem, name, room, value, n);
}

void
cl_objects_install (cl_icd_dispatch *table)
{
  table->clCreateSubBuffer = create_sub_buffer;
  table->clCreateImage = create_image;
  table->clCreateImageWithProperties = create_image_with_properties;
  table->clGetMemObjectInfo = get_object_info;
  table->clGetImageInfo = get_image_info;
}
