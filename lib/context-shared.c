/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The contexts that this process shares, so that those who ask for one device do not each make
 * their own.
 */
#include "context.h"
#include "device.h"

static GMutex lock;       /* held while one is made, so that two who ask at once get the same */
static GPtrArray *shared; /* of GWeakRef: contexts that somebody was given and that may be gone */

/* The one of @device that is around @wrapped, or that was made here, with all of @properties, if
 * that is NULL. With the lock held. */
static GemmclContext *
find (cl_device_id device, cl_context wrapped, const cl_context_properties *properties)
{
  for (guint i = 0; shared != NULL && i < shared->len; i++) {
    g_autoptr (GemmclContext) context = g_weak_ref_get (g_ptr_array_index (shared, i));

    if (context != NULL && gemmcl_context_get_cl_device (context) == device &&
        (wrapped != NULL ? gemmcl_context_get_cl_context (context) == wrapped
                         : !gemmcl_context_is_wrapped (context) &&
                               gemmcl_context_has_properties (context, properties)))
      return g_steal_pointer (&context);
  }
  return NULL;
}

/* A place that no context has any more, or a new one. With the lock held. */
static GWeakRef *
get_place (void)
{
  GWeakRef *place;

  if (shared == NULL)
    shared = g_ptr_array_new ();
  for (guint i = 0; i < shared->len; i++) {
    g_autoptr (GemmclContext) context = NULL;

    place = g_ptr_array_index (shared, i);
    context = g_weak_ref_get (place);
    if (context == NULL)
      return place;
  }
  place = g_new0 (GWeakRef, 1);
  g_weak_ref_init (place, NULL);
  g_ptr_array_add (shared, place);
  return place;
}

/* Remembers @context, which may be NULL, and returns it. With the lock held. */
static GemmclContext *
add (GemmclContext *context)
{
  if (context != NULL)
    g_weak_ref_set (get_place (), context);
  return context;
}

GemmclContext *
gemmcl_context_get_shared_with (const GemmclDeviceQuery *query,
                                const cl_context_properties *properties, GError **error)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (query, error);
  g_autoptr (GMutexLocker) locker = NULL;
  GemmclContext *context;
  GemmclDevice *first;

  if (devices == NULL)
    return NULL;
  first = g_ptr_array_index (devices, 0);
  locker = g_mutex_locker_new (&lock);
  context = find (first->id, NULL, properties);
  return context != NULL ? context : add (gemmcl_context_new_with (query, properties, error));
}

GemmclContext *
gemmcl_context_get_shared (const GemmclDeviceQuery *query, GError **error)
{
  return gemmcl_context_get_shared_with (query, NULL, error);
}

GemmclContext *
gemmcl_context_get_wrapped (cl_context wrapped, cl_device_id device, GError **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  GemmclContext *context;

  g_return_val_if_fail (wrapped != NULL, NULL);

  if (!gemmcl_context_find_device (wrapped, &device, error))
    return NULL;
  locker = g_mutex_locker_new (&lock);
  context = find (device, wrapped, NULL);
  return context != NULL ? context : add (gemmcl_context_new_wrapped (wrapped, device, error));
}

/* Whether @device is @other or a part of it. */
static gboolean
is_part_of (cl_device_id device, cl_device_id other)
{
  while (device != NULL && device != other)
    if (clGetDeviceInfo (device, CL_DEVICE_PARENT_DEVICE, sizeof (device), &device, NULL) !=
        CL_SUCCESS)
      return FALSE;
  return device != NULL;
}

gboolean
gemmcl_context_fits (GemmclContext *self, const GemmclDeviceQuery *query)
{
  g_autoptr (GPtrArray) devices = NULL;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), FALSE);

  devices = gemmcl_list_devices (query, NULL);
  for (guint i = 0; devices != NULL && i < devices->len; i++) {
    const GemmclDevice *device = g_ptr_array_index (devices, i);

    if (is_part_of (gemmcl_context_get_cl_device (self), device->id))
      return TRUE;
  }
  return FALSE;
}
