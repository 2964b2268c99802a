/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cl-layer.h"

#include <CL/cl_va_api_media_sharing_intel.h>
#include <sys/mman.h>

/* The contexts with a VADisplay, and the shared memory objects; by their handles. */
static GHashTable *contexts, *objects;

static void
context_free (SharedContext *self)
{
  g_free (self->properties);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SharedContext, context_free)

SharedContext *
shared_context_find (cl_context context)
{
  return contexts ? g_hash_table_lookup (contexts, context) : NULL;
}

/*
 * @all: the properties of the program's call
 * @rest: (out): an array of the same size, for the properties that are not the layer's
 * Returns: (transfer full) (nullable): the entry of the context; NULL without a VADisplay
 */
static SharedContext *
parse_properties (const cl_context_properties *all, cl_context_properties *rest)
{
  g_autoptr (SharedContext) self = g_new0 (SharedContext, 1);
  gboolean user_sync = FALSE;
  gsize n = 0;

  for (; all && all[n]; n += 2)
    if (all[n] == CL_CONTEXT_VA_API_DISPLAY_INTEL)
      self->display = (VADisplay)all[n + 1];
    else if (all[n] == CL_CONTEXT_INTEROP_USER_SYNC)
      user_sync = all[n + 1] != CL_FALSE;
    else {
      *rest++ = all[n];
      *rest++ = all[n + 1];
    }
  *rest = 0;
  if (!self->display)
    return NULL;
  if (!user_sync)
    record_misuse ("wrong-argument",
                   "A context has a VADisplay without CL_CONTEXT_INTEROP_USER_SYNC.");
  self->n_properties = n + 1;
  self->properties = g_memdup2 (all, self->n_properties * sizeof *all);
  return g_steal_pointer (&self);
}

static void CL_CALLBACK
forget_context (cl_context context, void *data G_GNUC_UNUSED)
{
  RECORD_LOCK ();
  g_hash_table_remove (contexts, context);
  record_count ("live-contexts", -1);
}

/* @self: (transfer full). Returns: its context */
static cl_context
add_context (SharedContext *self)
{
  {
    RECORD_LOCK ();
    if (!contexts)
      contexts = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)context_free);
    g_hash_table_insert (contexts, self->context, self);
    record_count ("live-contexts", 1);
  }
  cl_next->clSetContextDestructorCallback (self->context, forget_context, NULL);
  return self->context;
}

static cl_context CL_API_CALL
create_context (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                void (CL_CALLBACK *notify) (const char *, const void *, size_t, void *), void *data,
                cl_int *status)
{
  cl_context_properties rest[32];
  g_autoptr (SharedContext) self = cl_offers ("va") ? parse_properties (properties, rest) : NULL;

  if (!self)
    return cl_next->clCreateContext (properties, n, devices, notify, data, status);
  *status = display_is_intel (self->display)
                ? record_fault ("clCreateContext")
                : RECORD_REFUSAL (CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL, "foreign-display",
                                  "A context was asked for with the VADisplay %p, which is not "
                                  "Intel's or is terminated.",
                                  self->display);
  if (*status == CL_SUCCESS)
    self->context =
        cl_next->clCreateContext (rest[0] ? rest : NULL, n, devices, notify, data, status);
  return self->context ? add_context (g_steal_pointer (&self)) : NULL;
}

static cl_int CL_API_CALL
get_context_info (cl_context context, cl_context_info name, size_t room, void *value, size_t *n)
{
  if (name == CL_CONTEXT_PROPERTIES) {
    RECORD_LOCK ();
    const SharedContext *self = shared_context_find (context);

    if (self)
      return cl_answer (self->properties, self->n_properties * sizeof *self->properties, room,
                        value, n);
  }
  return cl_next->clGetContextInfo (context, name, room, value, n);
}

static void
clear (gpointer data)
{
  SharedObject *self = data;

  if (self->map)
    munmap (self->map, self->size);
  g_clear_pointer (&self->surface, surface_unref);
}

void
shared_object_unref (SharedObject *self)
{
  g_atomic_rc_box_release_full (self, clear);
}

SharedObject *
shared_object_get (cl_mem mem)
{
  RECORD_LOCK ();
  SharedObject *self = objects && mem ? g_hash_table_lookup (objects, mem) : NULL;

  return self ? g_atomic_rc_box_acquire (self) : NULL;
}

gchar *
shared_object_name (const SharedObject *self)
{
  return self->is_plane
             ? g_strdup_printf ("plane %u of surface %#x", self->plane, self->surface->id)
             : g_strdup_printf ("the dma-buf of %" G_GSIZE_FORMAT " bytes", self->size);
}

static void
note_left (const SharedObject *self)
{
  g_autofree gchar *name = shared_object_name (self);

  record_misuse ("left-acquired",
                 "%s was acquired and never released: enqueue the release before the object or the "
                 "program ends.",
                 name);
}

/* Called when OpenCL has freed the object, in any thread. */
static void CL_CALLBACK
forget_object (cl_mem mem, void *data)
{
  SharedObject *self = data;
  RECORD_LOCK ();

  cl_kernels_forget (mem);
  record_count ("live-objects", -1);
  if (self->acquired) {
    note_left (self);
    self->acquired = FALSE;
    if (self->surface)
      self->surface->readers--;
  }
  g_hash_table_remove (objects, mem);
}

static void
note_all_left (void)
{
  GHashTableIter iter;
  gpointer object;

  RECORD_LOCK ();
  g_hash_table_iter_init (&iter, objects);
  while (g_hash_table_iter_next (&iter, NULL, &object))
    if (((SharedObject *)object)->acquired)
      note_left (object);
}

void
shared_object_add (SharedObject *self)
{
  {
    RECORD_LOCK ();
    if (!objects) {
      objects = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)shared_object_unref);
      record_set_final_check (note_all_left);
    }
    g_hash_table_insert (objects, self->mem, self);
    record_count ("live-objects", 1);
  }
  cl_next->clSetMemObjectDestructorCallback (self->mem, forget_object, self);
}

cl_int
shared_object_check_use (cl_mem mem, const gchar *who)
{
  RECORD_LOCK ();
  g_autoptr (SharedObject) self = shared_object_get (mem);
  g_autofree gchar *name = self ? shared_object_name (self) : NULL;

  if (!self)
    return CL_SUCCESS;
  if (self->surface && self->surface->destroyed)
    return RECORD_REFUSAL (CL_INVALID_MEM_OBJECT, "stale-surface",
                           "%s uses %s, which was destroyed before.", who, name);
  if (self->acquired)
    return CL_SUCCESS;
  return RECORD_REFUSAL (self->is_plane ? CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL
                                        : CL_INVALID_OPERATION,
                         "unacquired-use", "%s uses %s, which is not acquired.", who, name);
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
  const SurfacePlane *plane = self->is_plane ? &self->surface->planes[self->plane] : NULL;
  guint64 sum = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  for (guint y = 0; plane && y < plane->rows; y++)
    sum = sum_bytes (sum, self->surface->data + plane->offset + y * plane->pitch,
                     (gsize)plane->columns * plane->channels * plane->size);
  return plane ? sum : sum_bytes (sum, self->map, self->size);
}

static cl_int CL_API_CALL
get_image_info (cl_mem mem, cl_image_info name, size_t room, void *value, size_t *n)
{
  g_autoptr (SharedObject) self = shared_object_get (mem);
  const SurfacePlane *plane = self && self->is_plane ? &self->surface->planes[self->plane] : NULL;
  cl_image_format format;

  if (!plane || name != CL_IMAGE_FORMAT)
    return cl_next->clGetImageInfo (mem, name, room, value, n);
  format.image_channel_order = plane->channels == 2 ? CL_RG : CL_R;
  format.image_channel_data_type = plane->size == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8;
  return cl_answer (&format, sizeof format, room, value, n);
}

void
cl_objects_install (cl_icd_dispatch *table)
{
  table->clCreateContext = create_context;
  table->clGetContextInfo = get_context_info;
  table->clGetImageInfo = get_image_info;
}
