/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/context.h"

#include "memory/imports.h"
#include "element/plan.h"
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

/* The pointer in a field; %NULL without it. */
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
                   "It has no pointer \"" GST_GEMMCL_CONTEXT_FIELD_CONTEXT "\".");
  return NULL;
}

/* What @giver shares, if it fits. Takes @shared, which may be NULL. */
static GemmclContext *
take (GstGemmcl *self, const GemmclDeviceQuery *query, GstContext *shared, const gchar *giver)
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
    reason = "platform, device-type and device ask for another device than its";
  else if (!gst_gemmcl_va_fits (self, context))
    reason = "it lacks the VADisplay";
  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, error ? GST_LEVEL_WARNING : GST_LEVEL_INFO, self,
                     "the OpenCL context of %s is %s%s", giver, reason ? "not taken: " : "taken",
                     reason ? reason : "");
  return reason ? NULL : g_steal_pointer (&context);
}

static GemmclContext *
take_own (GstGemmcl *self, const GemmclDeviceQuery *query)
{
  return take (self, query, gst_element_get_context (GST_ELEMENT (self), GST_GEMMCL_CONTEXT_TYPE),
               "the application or a bin");
}

static GemmclContext *
take_of_peer (GstGemmcl *self, const GemmclDeviceQuery *query, GstPad *pad, const gchar *giver)
{
  g_autoptr (GstQuery) asked = gst_query_new_context (GST_GEMMCL_CONTEXT_TYPE);
  GstContext *shared = NULL;

  if (!gst_pad_peer_query (pad, asked))
    return NULL;
  gst_query_parse_context (asked, &shared);
  return shared ? take (self, query, gst_context_ref (shared), giver) : NULL;
}

static GemmclContext *
ask_bins (GstGemmcl *self, const GemmclDeviceQuery *query)
{
  GstElement *element = GST_ELEMENT (self);

  gst_element_post_message (
      element, gst_message_new_need_context (GST_OBJECT (self), GST_GEMMCL_CONTEXT_TYPE));
  return take_own (self, query);
}

/* Takes @context, which may be NULL; one with the VADisplay in its place, if there is one. */
static GemmclContext *
add_display (GstGemmcl *self, const GemmclDeviceQuery *query, GemmclContext *context)
{
  cl_context_properties properties[GST_GEMMCL_VA_N_PROPERTIES];
  g_autoptr (GemmclContext) plain = context;
  g_autoptr (GError) error = NULL;

  if (!plain || gst_gemmcl_va_fits (self, plain) ||
      !gst_gemmcl_va_get_properties (self, plain, properties))
    return g_steal_pointer (&plain);
  context = gemmcl_context_get_shared_with (query, properties, &error);
  if (context)
    return context;
  GST_OBJECT_LOCK (self);
  self->va_failed = TRUE;
  GST_OBJECT_UNLOCK (self);
  gst_gemmcl_post (self, GST_MESSAGE_WARNING, "VA surfaces cannot be shared.", error);
  return g_steal_pointer (&plain);
}

static GemmclContext *
make (GstGemmcl *self, const GemmclDeviceQuery *query, GError **error)
{
  GemmclContext *context = add_display (self, query, gemmcl_context_get_shared (query, error));

  if (context)
    gst_element_post_message (GST_ELEMENT (self),
                              gst_message_new_have_context (GST_OBJECT (self), wrap (context)));
  return context;
}

/* (transfer full) */
static GemmclContext *
find (GstGemmcl *self, const GemmclDeviceQuery *query, GError **error)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GemmclContext *context = take_own (self, query);

  if (!context)
    context = take_of_peer (self, query, trans->srcpad, "an element downstream");
  if (!context)
    context = take_of_peer (self, query, trans->sinkpad, "an element upstream");
  if (!context)
    context = ask_bins (self, query);
  return context ? context : make (self, query, error);
}

/* Before there is a context, it must be known with which display to make it. */
static void
ask_for_display (GstGemmcl *self, const GemmclDeviceQuery *query)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (query, NULL);

  if (devices)
    gst_gemmcl_va_ask_for_display (self, g_ptr_array_index (devices, 0));
}

gboolean
gst_gemmcl_context_open (GstGemmcl *self, GError **error)
{
  g_autofree gchar *platform = NULL, *device = NULL;
  g_autoptr (GemmclContext) context = NULL;
  GemmclDeviceQuery query = {NULL};

  g_mutex_lock (&self->lock);
  GST_OBJECT_LOCK (self);
  query.platform = platform = g_strdup (self->platform);
  query.device = device = g_strdup (self->device);
  query.type = self->device_type;
  GST_OBJECT_UNLOCK (self);
  self->context_stale = FALSE;
  g_mutex_unlock (&self->lock);

  ask_for_display (self, &query);
  context = find (self, &query, error);
  if (!context)
    return FALSE;
  gst_gemmcl_va_bind (self, context);
  GST_INFO_OBJECT (self, "on %s", gemmcl_context_get_device_info (context)->name);
  g_mutex_lock (&self->lock);
  if (g_set_object (&self->context, context))
    gst_clear_object (&self->allocator);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

gboolean
gst_gemmcl_context_refresh (GstGemmcl *self, GError **error)
{
  gboolean stale;

  g_mutex_lock (&self->lock);
  stale = self->context_stale;
  g_mutex_unlock (&self->lock);
  gst_gemmcl_va_ask_for_display (self, gemmcl_context_get_device_info (self->context));
  return (!stale && gst_gemmcl_va_fits (self, self->context)) ||
         gst_gemmcl_context_open (self, error);
}

gboolean
gst_gemmcl_context_adapt (GstGemmcl *self, GstBuffer *buffer, GError **error)
{
  if (!gst_gemmcl_va_needs_context (self, buffer))
    return TRUE;
  gst_gemmcl_drop_plan (self);
  gst_gemmcl_imports_drop (self->imports);
  self->replan = TRUE;
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return gst_gemmcl_context_open (self, error);
}

void
gst_gemmcl_context_set (GstGemmcl *self, GstContext *context)
{
  gst_gemmcl_va_take_display (self, context);
  if (!context || !gst_context_has_context_type (context, GST_GEMMCL_CONTEXT_TYPE))
    return;
  g_mutex_lock (&self->lock);
  if (self->context && gemmcl_context_get_cl_context (self->context) !=
                           get_pointer (context, GST_GEMMCL_CONTEXT_FIELD_CONTEXT))
    self->context_stale = TRUE;
  g_mutex_unlock (&self->lock);
}

gboolean
gst_gemmcl_context_answer (GstGemmcl *self, GstQuery *query)
{
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GstContext) shared = NULL;
  const gchar *type;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CONTEXT || !gst_query_parse_context_type (query, &type) ||
      !g_str_equal (type, GST_GEMMCL_CONTEXT_TYPE))
    return FALSE;
  g_mutex_lock (&self->lock);
  g_set_object (&context, self->context);
  g_mutex_unlock (&self->lock);
  if (!context)
    return FALSE;
  shared = wrap (context);
  gst_query_set_context (query, shared);
  return TRUE;
}
