/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "element/devices.h"

#include "element/element.h"
#include "memory/allocator.h"

static gboolean
has_device (const GPtrArray *contexts, GemmclContext *context)
{
  for (guint i = 0; i < contexts->len; i++)
    if (gemmcl_context_get_cl_device (contexts->pdata[i]) == gemmcl_context_get_cl_device (context))
      return TRUE;
  return FALSE;
}

/* Adds contexts of the devices that @query selects and that @contexts lack. */
static gboolean
add_contexts (GPtrArray *contexts, const GemmclDeviceQuery *query, GError **error)
{
  g_autoptr (GPtrArray) found = gemmcl_context_list_shared (query, error);

  for (guint i = 0; found && i < found->len; i++)
    if (!has_device (contexts, found->pdata[i]))
      g_ptr_array_add (contexts, g_object_ref (found->pdata[i]));
  return found != NULL;
}

/* Posts a warning for each device of @query on which OpenCL could not make a context. */
static void
warn_of_skipped (GstGemmcl *self, const GemmclDeviceQuery *query)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (query, NULL);

  for (guint i = 0; devices && i < devices->len; i++) {
    const GemmclDeviceInfo *info = g_ptr_array_index (devices, i);
    g_autoptr (GError) problem = NULL;

    if (!info->problem)
      continue;
    gst_gemmcl_fail (&problem, GEMMCL_ERROR_OPENCL, "%s", info->problem);
    gst_gemmcl_post (GST_ELEMENT (self), GST_MESSAGE_WARNING, "A device was skipped.", problem);
  }
}

/* Makes @query select the devices of @entry, a part of the property devices. */
static gboolean
set_name (GemmclDeviceQuery *query, const gchar *entry, GError **error)
{
  g_autofree gchar *name = g_strstrip (g_strdup (entry));

  if (!*name)
    return gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                            "The property devices has an empty entry. Expected numbers or parts "
                            "of names, separated by commas, or all.");
  query->device = g_ascii_strcasecmp (name, "all") == 0 ? GST_GEMMCL_AUTO : g_intern_string (name);
  return TRUE;
}

/* Returns: contexts of the devices that the properties name. Other elements share the first. If it
 * is new, a warning is posted for each device that was skipped. */
static GPtrArray *
open_contexts (GstGemmcl *self, GError **error)
{
  g_autoptr (GPtrArray) contexts = g_ptr_array_new_with_free_func (g_object_unref);
  const GstGemmclProperties properties = gst_gemmcl_get_properties (self);
  GemmclDeviceQuery query = properties.query;
  g_auto (GStrv) entries = properties.devices ? g_strsplit (properties.devices, ",", -1) : NULL;
  gboolean is_new;

  if ((entries && !set_name (&query, entries[0], error)) ||
      !gst_gemmcl_sharing_open (&self->sharing, query, error))
    return NULL;
  g_ptr_array_add (contexts, g_object_ref (self->sharing.context));
  is_new = self->sharing.context != self->devices[0].context;
  for (guint i = 0; entries && entries[i]; i++) {
    if (!set_name (&query, entries[i], error) || !add_contexts (contexts, &query, error))
      return NULL;
    if (is_new)
      warn_of_skipped (self, &query);
  }
  if (is_new && !entries)
    warn_of_skipped (self, &query);
  if (contexts->len <= GST_GEMMCL_MAX_DEVICES)
    return g_steal_pointer (&contexts);
  gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID, "devices selects %u devices; expected at most %u.",
                   contexts->len, GST_GEMMCL_MAX_DEVICES);
  return NULL;
}

gboolean
gst_gemmcl_devices_open (GstGemmcl *self, GError **error)
{
  const gchar *kernel = gst_gemmcl_get_properties (self).settings.kernel;
  g_autoptr (GPtrArray) contexts = open_contexts (self, error);

  if (!contexts)
    return FALSE;
  for (guint i = 0; i < contexts->len; i++)
    if (!g_str_equal (kernel, GST_GEMMCL_AUTO) &&
        !gemmcl_kernel_fits (contexts->pdata[i], kernel, NULL, error))
      return FALSE;
  gst_gemmcl_devices_close (self);
  g_mutex_lock (&self->lock);
  self->n_devices = contexts->len;
  for (guint i = 0; i < contexts->len; i++) {
    self->devices[i].context = g_object_ref (contexts->pdata[i]);
    self->devices[i].failed = FALSE;
  }
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < contexts->len; i++)
    if (!(self->devices[i].allocator = gst_gemmcl_allocator_new (contexts->pdata[i], error)))
      return FALSE;
  return TRUE;
}

static void
drop_pool (GstGemmclDevice *device)
{
  if (device->pool)
    gst_buffer_pool_set_active (device->pool, FALSE);
  gst_clear_object (&device->pool);
}

void
gst_gemmcl_devices_close (GstGemmcl *self)
{
  for (guint i = 0; i < self->n_devices; i++) {
    GstGemmclDevice *device = &self->devices[i];
    g_autoptr (GemmclContext) context G_GNUC_UNUSED = NULL;

    drop_pool (device);
    gst_clear_object (&device->allocator);
    g_mutex_lock (&self->lock);
    context = g_steal_pointer (&device->context);
    g_mutex_unlock (&self->lock);
  }
}

gboolean
gst_gemmcl_devices_set_pools (GstGemmclDevice *devices, guint n, GstBufferPool *pool,
                              GError **error)
{
  for (guint i = 1; i < n; i++) {
    GstGemmclDevice *device = &devices[i];

    drop_pool (device);
    if (!pool)
      continue;
    device->pool = gst_gemmcl_pool_new (device->allocator);
    if (!gst_buffer_pool_set_config (device->pool, gst_buffer_pool_get_config (pool)) ||
        !gst_buffer_pool_set_active (device->pool, TRUE))
      return gst_gemmcl_fail (error, GEMMCL_ERROR_TOO_LARGE,
                              "A pool of outputs cannot be made on %s.",
                              gemmcl_context_get_device_info (device->context)->name);
  }
  return TRUE;
}

/* Returns: (nullable): the first device that is used and is not @device, (nullable). */
static GstGemmclDevice *
find_other (GstGemmcl *self, const GstGemmclDevice *device)
{
  for (guint i = 0; i < self->n_devices; i++)
    if (&self->devices[i] != device && !self->devices[i].failed)
      return &self->devices[i];
  return NULL;
}

GemmclPlan *
gst_gemmcl_devices_get_plan (GstGemmcl *self)
{
  const GstGemmclDevice *first = find_other (self, NULL);

  return first ? first->plan : NULL;
}

GstGemmclDevice *
gst_gemmcl_devices_drop (GstGemmcl *self, GstGemmclDevice *device, GError **error)
{
  GstGemmclDevice *other = find_other (self, device);
  const gboolean is_first = !device->failed;
  g_autofree gchar *consequence = NULL;
  g_autoptr (GemmclPlan) plan = NULL;

  if (!other)
    return NULL;
  g_mutex_lock (&self->lock);
  device->failed = TRUE;
  plan = g_steal_pointer (&device->plan);
  gst_gemmcl_stats_add_plan (&device->past, plan);
  g_mutex_unlock (&self->lock);
  if (plan)
    gemmcl_plan_cancel_tuning (plan, 0);
  g_clear_object (&plan);
  consequence = g_strdup_printf ("%s is not used any more; other devices take over its runs.",
                                 gemmcl_context_get_device_info (device->context)->name);
  if (is_first)
    gst_gemmcl_post (self, GST_MESSAGE_WARNING, consequence, *error);
  g_clear_error (error);
  return other;
}
