/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Contexts on the devices that a query selects, and the contexts that a process shares.
 */
#include "device/context.h"
#include "device/query.h"

static gsize
count_properties (const cl_context_properties *properties)
{
  gsize n = 0;

  while (properties != NULL && properties[n] != 0)
    n += 2;
  return n;
}

static GemmclContext *
context_on (GemmclDevice *device, const cl_context_properties *properties, GError **error)
{
  const gsize n = count_properties (properties);
  g_autofree cl_context_properties *all = g_new0 (cl_context_properties, n + 3);
  const cl_device_id ids[] = {device->id, device->inline_id};
  GemmclContext *self;
  cl_context context;
  cl_int status;

  all[0] = CL_CONTEXT_PLATFORM;
  all[1] = (cl_context_properties)device->platform;
  for (gsize i = 0; i < n; i++)
    all[2 + i] = properties[i];
  g_mutex_lock (&gemmcl_driver_lock);
  context = clCreateContext (all, ids[1] != NULL ? 2 : 1, ids, NULL, NULL, &status);
  g_mutex_unlock (&gemmcl_driver_lock);
  if (!gemmcl_cl_check (status, error, "clCreateContext on %s", device->info.name))
    return NULL;
  self = gemmcl_context_around (context, FALSE, device, error);
  if (self != NULL && device->inline_id != NULL)
    gemmcl_context_add_inline (self, device->inline_id);
  else if (gemmcl_device_may_use_inline (&device->info))
    g_info ("The environment variable POCL_DEVICES=\"pthread basic\" lets small products run "
            "without the start of threads.");
  return self;
}

/* TRUE if the OpenCL context was made with all of @properties. */
static gboolean
has_properties (GemmclContext *self, const cl_context_properties *properties)
{
  cl_context_properties all[128] = {0}; /* several times as many as OpenCL defines */

  clGetContextInfo (gemmcl_context_get_cl_context (self), CL_CONTEXT_PROPERTIES, sizeof (all), all,
                    NULL);
  for (gsize i = 0; i < count_properties (properties); i += 2) {
    gsize at = 0;

    while (all[at] != 0 && all[at] != properties[i])
      at += 2;
    if (all[at] == 0 || all[at + 1] != properties[i + 1])
      return FALSE;
  }
  return TRUE;
}

/* TRUE if @device belongs to @context. Replaces a @device that is NULL by the context's first. */
static gboolean
find_device (cl_context context, cl_device_id *device, GError **error)
{
  cl_device_id ids[GEMMCL_MAX_DEVICES];
  gsize bytes = 0;

  if (!gemmcl_cl_check (clGetContextInfo (context, CL_CONTEXT_DEVICES, sizeof (ids), ids, &bytes),
                        error, "clGetContextInfo"))
    return FALSE;
  for (gsize i = 0; i < bytes / sizeof (*ids); i++)
    if (*device == NULL || *device == ids[i]) {
      *device = ids[i];
      return TRUE;
    }
  return gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                      "The OpenCL device is not one of the OpenCL context's.");
}

/* The contexts that this process shares. The lock is held while a context is made, so that
 * concurrent callers get the same one. */
static GMutex shared_lock;
static GPtrArray *shared; /* of GWeakRef, to contexts that may be gone */

/* Returns the shared context of @device around @wrapped or, if @wrapped is NULL, one that the
 * library made with all of @properties. Makes it if there is none. */
static GemmclContext *
share (GemmclDevice *device, cl_context wrapped, const cl_context_properties *properties,
       GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&shared_lock);
  GemmclContext *made;
  GWeakRef *place = NULL;

  if (shared == NULL)
    shared = g_ptr_array_new ();
  for (guint i = 0; i < shared->len; i++) {
    g_autoptr (GemmclContext) context = g_weak_ref_get (shared->pdata[i]);

    if (context == NULL)
      place = shared->pdata[i];
    else if (gemmcl_context_get_cl_device (context) == device->id &&
             (wrapped != NULL
                  ? gemmcl_context_get_cl_context (context) == wrapped
                  : !gemmcl_context_is_wrapped (context) && has_properties (context, properties)))
      return g_steal_pointer (&context);
  }
  if (place == NULL) {
    place = g_new0 (GWeakRef, 1);
    g_weak_ref_init (place, NULL);
    g_ptr_array_add (shared, place);
  }
  made = wrapped != NULL ? gemmcl_context_around (wrapped, TRUE, device, error)
                         : context_on (device, properties, error);
  g_weak_ref_set (place, made);
  return made;
}

/* Makes, or shares, contexts on the first @most devices of @query that OpenCL can use. The devices
 * behind them are not tried, so a problem that they had before is forgotten. Returns: at least one
 * context. */
static GPtrArray *
open_devices (const GemmclDeviceQuery *query, gboolean shares, guint most, GError **error)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (query, error);
  g_autoptr (GPtrArray) contexts = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GError) first = NULL;

  if (devices == NULL)
    return NULL;
  for (guint i = 0; i < devices->len; i++) {
    g_autoptr (GError) why = NULL;
    GemmclContext *context;

    if (contexts->len == most) {
      gemmcl_device_set_problem (devices->pdata[i], NULL);
      continue;
    }
    context = shares ? share (devices->pdata[i], NULL, NULL, &why)
                     : context_on (devices->pdata[i], NULL, &why);
    if (context == NULL && gemmcl_device_query_is_named (query)) {
      g_propagate_error (error, g_steal_pointer (&why));
      return NULL;
    }
    gemmcl_device_set_problem (devices->pdata[i], why != NULL ? why->message : NULL);
    if (context != NULL)
      g_ptr_array_add (contexts, context);
    else if (first == NULL)
      first = g_steal_pointer (&why);
  }
  if (contexts->len > 0)
    return g_steal_pointer (&contexts);
  g_propagate_error (error, g_steal_pointer (&first));
  return NULL;
}

static GemmclContext *
open_device (const GemmclDeviceQuery *query, gboolean shares, GError **error)
{
  g_autoptr (GPtrArray) contexts = open_devices (query, shares, 1, error);

  return contexts != NULL ? g_object_ref (contexts->pdata[0]) : NULL;
}

GemmclContext *
gemmcl_context_new (const GemmclDeviceQuery *query, GError **error)
{
  return open_device (query, FALSE, error);
}

GemmclContext *
gemmcl_context_get_shared (const GemmclDeviceQuery *query, GError **error)
{
  return open_device (query, TRUE, error);
}

GPtrArray *
gemmcl_context_list_shared (const GemmclDeviceQuery *query, GError **error)
{
  return open_devices (query, TRUE, G_MAXUINT, error);
}

GemmclContext *
gemmcl_context_get_shared_with (const GemmclDeviceQuery *query,
                                const cl_context_properties *properties, GError **error)
{
  g_autoptr (GPtrArray) devices = NULL;
  guint first = 0;

  if (count_properties (properties) == 0)
    return gemmcl_context_get_shared (query, error);
  devices = gemmcl_list_devices (query, error);
  if (devices == NULL)
    return NULL;
  while (!gemmcl_device_query_is_named (query) && first + 1 < devices->len &&
         ((const GemmclDeviceInfo *)devices->pdata[first])->problem != NULL)
    first++;
  return share (devices->pdata[first], NULL, properties, error);
}

GemmclContext *
gemmcl_context_get_wrapped (cl_context wrapped, cl_device_id id, GError **error)
{
  g_autoptr (GemmclDevice) device = NULL;

  g_return_val_if_fail (wrapped != NULL, NULL);

  if (find_device (wrapped, &id, error))
    device = gemmcl_device_new (id, error);
  return device != NULL ? share (device, wrapped, NULL, error) : NULL;
}

/* TRUE if @device is @other or a sub-device of it. */
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
