/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/sharing.h"

#include "memory/error.h"
#include "memory/va.h"

#define GST_CAT_DEFAULT gst_gemmcl_debug

static GstContext *
wrap (GemmclContext *context)
{
  GstContext *shared = gst_context_new (GST_GEMMCL_CONTEXT_TYPE, TRUE);

  gst_structure_set (gst_context_writable_structure (shared), GST_GEMMCL_CONTEXT_FIELD_CONTEXT,
                     G_TYPE_POINTER, gemmcl_context_get_cl_context (context),
                     GST_GEMMCL_CONTEXT_FIELD_DEVICE, G_TYPE_POINTER,
                     gemmcl_context_get_cl_device (context), GST_GEMMCL_CONTEXT_FIELD_GEMMCL,
                     G_TYPE_OBJECT, context, NULL);
  return shared;
}

/* Returns: the pointer in @field; %NULL if it is missing. */
static gpointer
get_pointer (GstContext *shared, const gchar *field)
{
  const GValue *value = gst_structure_get_value (gst_context_get_structure (shared), field);

  return value && G_VALUE_HOLDS_POINTER (value) ? g_value_get_pointer (value) : NULL;
}

static GemmclContext *
unwrap (GstContext *shared, GError **error)
{
  const GValue *value =
      gst_structure_get_value (gst_context_get_structure (shared), GST_GEMMCL_CONTEXT_FIELD_GEMMCL);
  cl_context context = get_pointer (shared, GST_GEMMCL_CONTEXT_FIELD_CONTEXT);

  if (value && G_VALUE_HOLDS_OBJECT (value) && GEMMCL_IS_CONTEXT (g_value_get_object (value)))
    return g_value_dup_object (value);
  if (context)
    return gemmcl_context_get_wrapped (
        context, get_pointer (shared, GST_GEMMCL_CONTEXT_FIELD_DEVICE), error);
  gst_gemmcl_fail (error, GEMMCL_ERROR_INVALID,
                   "it has no pointer \"" GST_GEMMCL_CONTEXT_FIELD_CONTEXT "\"");
  return NULL;
}

/* @shared: (transfer full) (nullable): from @giver. Returns: (transfer full) (nullable): the OpenCL
 * context in @shared, if it fits. */
static GemmclContext *
take (GstGemmclSharing *self, const GemmclDeviceQuery *query, GstContext *shared,
      const gchar *giver)
{
  g_autoptr (GstContext) owned = shared;
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GError) error = NULL;
  const gchar *reason = NULL;

  if (!owned)
    return NULL;
  context = unwrap (owned, &error);
  if (!context)
    reason = error->message;
  else if (!gemmcl_context_fits (context, query))
    reason = "its device is not one that platform, device-type and device select";
  else if (!gst_gemmcl_va_fits (self, context))
    reason = "it lacks the VADisplay";
  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, error ? GST_LEVEL_WARNING : GST_LEVEL_INFO, self->element,
                     "the OpenCL context of %s is %s%s", giver, reason ? "not taken: " : "taken",
                     reason ? reason : "");
  return reason ? NULL : g_steal_pointer (&context);
}

static GemmclContext *
take_own (GstGemmclSharing *self, const GemmclDeviceQuery *query)
{
  return take (self, query, gst_element_get_context (self->element, GST_GEMMCL_CONTEXT_TYPE),
               "the application or a bin");
}

static GemmclContext *
take_of_peer (GstGemmclSharing *self, const GemmclDeviceQuery *query, const gchar *pad_name,
              const gchar *giver)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (self->element, pad_name);
  g_autoptr (GstQuery) asked = gst_query_new_context (GST_GEMMCL_CONTEXT_TYPE);
  GstContext *shared = NULL;

  if (!gst_pad_peer_query (pad, asked))
    return NULL;
  gst_query_parse_context (asked, &shared);
  return shared ? take (self, query, gst_context_ref (shared), giver) : NULL;
}

/* Returns: (transfer full): a context from the places that gst_gemmcl_sharing_open() lists. */
static GemmclContext *
find (GstGemmclSharing *self, const GemmclDeviceQuery *query, GError **error)
{
  GemmclContext *context = NULL;

  if ((context = take_own (self, query)) ||
      (context = take_of_peer (self, query, "src", "an element downstream")) ||
      (context = take_of_peer (self, query, "sink", "an element upstream")))
    return context;
  gst_element_post_message (self->element, gst_message_new_need_context (GST_OBJECT (self->element),
                                                                         GST_GEMMCL_CONTEXT_TYPE));
  if ((context = take_own (self, query)))
    return context;
  context = gst_gemmcl_va_add_display (self, query, gemmcl_context_get_shared (query, error));
  if (context)
    gst_element_post_message (
        self->element, gst_message_new_have_context (GST_OBJECT (self->element), wrap (context)));
  return context;
}

void
gst_gemmcl_sharing_init (GstGemmclSharing *self, GstElement *element)
{
  *self = (GstGemmclSharing){.element = element};
  g_mutex_init (&self->lock);
}

void
gst_gemmcl_sharing_close (GstGemmclSharing *self)
{
  g_mutex_lock (&self->lock);
  g_clear_object (&self->context);
  gst_clear_object (&self->display);
  g_mutex_unlock (&self->lock);
}

void
gst_gemmcl_sharing_clear (GstGemmclSharing *self)
{
  gst_gemmcl_sharing_close (self);
  g_mutex_clear (&self->lock);
}

/* TRUE if the present context may stay. */
static gboolean
is_fresh (GstGemmclSharing *self, const GemmclDeviceQuery *query)
{
  g_autoptr (GstContext) own = NULL;
  cl_device_id device;

  if (!self->context || query->type != self->query.type ||
      query->platform != self->query.platform || query->device != self->query.device)
    return FALSE;
  own = gst_element_get_context (self->element, GST_GEMMCL_CONTEXT_TYPE);
  device = own ? get_pointer (own, GST_GEMMCL_CONTEXT_FIELD_DEVICE) : NULL;
  if (own && (get_pointer (own, GST_GEMMCL_CONTEXT_FIELD_CONTEXT) !=
                  gemmcl_context_get_cl_context (self->context) ||
              (device && device != gemmcl_context_get_cl_device (self->context))))
    return FALSE;
  gst_gemmcl_va_ask_for_display (self, gemmcl_context_get_device_info (self->context));
  return gst_gemmcl_va_fits (self, self->context);
}

gboolean
gst_gemmcl_sharing_open (GstGemmclSharing *self, GemmclDeviceQuery query, GError **error)
{
  g_autoptr (GPtrArray) devices = NULL;
  g_autoptr (GemmclContext) context = NULL;

  if (is_fresh (self, &query))
    return TRUE;
  /* The display must be known before a context is made. */
  devices = gemmcl_list_devices (&query, NULL);
  if (devices)
    gst_gemmcl_va_ask_for_display (self, g_ptr_array_index (devices, 0));
  context = find (self, &query, error);
  if (!context)
    return FALSE;
  gst_gemmcl_va_bind (self, context);
  GST_INFO_OBJECT (self->element, "the OpenCL device is %s",
                   gemmcl_context_get_device_info (context)->name);
  self->query = query;
  g_mutex_lock (&self->lock);
  g_set_object (&self->context, context);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

GemmclContext *
gst_gemmcl_sharing_get_context (GstGemmclSharing *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  return self->context ? g_object_ref (self->context) : NULL;
}

gboolean
gst_gemmcl_sharing_answer (GstGemmclSharing *self, GstQuery *query)
{
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GstContext) shared = NULL;
  const gchar *type;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CONTEXT || !gst_query_parse_context_type (query, &type) ||
      !g_str_equal (type, GST_GEMMCL_CONTEXT_TYPE))
    return FALSE;
  context = gst_gemmcl_sharing_get_context (self);
  if (!context)
    return FALSE;
  shared = wrap (context);
  gst_query_set_context (query, shared);
  return TRUE;
}
