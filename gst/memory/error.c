/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory/error.h"

#include <string.h>

GST_DEBUG_CATEGORY (gst_gemmcl_debug);
#define GST_CAT_DEFAULT gst_gemmcl_debug

gboolean
gst_gemmcl_fail (GError **error, GemmclError code, const gchar *format, ...)
{
  g_autofree gchar *message = NULL, *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  message = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  text = gemmcl_make_printable (message);
  g_set_error_literal (error, GEMMCL_ERROR, code, text);
  return FALSE;
}

/* Longer than what gemmcl_quote() keeps, so that all fields of usual caps are seen. */
gchar *
gst_gemmcl_quote_caps (const GstCaps *caps)
{
  const gsize most = 400;
  g_autofree gchar *text = gst_caps_to_string (caps);
  g_autofree gchar *printable = gemmcl_make_printable (text);
  const gchar *end;

  if (strlen (printable) <= most)
    return g_steal_pointer (&printable);
  end = g_utf8_find_prev_char (printable, printable + most + 1);
  return g_strdup_printf ("%.*s… and %zu more bytes", (gint)(end - printable), printable,
                          strlen (end));
}

/* GStreamer's domain and code for each error of the library. */
static const struct {
  GQuark (*domain) (void);
  gint code;
} messages[] = {
    [GEMMCL_ERROR_NO_DEVICE] = {gst_resource_error_quark, GST_RESOURCE_ERROR_NOT_FOUND},
    [GEMMCL_ERROR_IO] = {gst_resource_error_quark, GST_RESOURCE_ERROR_OPEN_READ},
    [GEMMCL_ERROR_FORMAT] = {gst_resource_error_quark, GST_RESOURCE_ERROR_READ},
    [GEMMCL_ERROR_TOO_LARGE] = {gst_resource_error_quark, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
    [GEMMCL_ERROR_SHAPE] = {gst_stream_error_quark, GST_STREAM_ERROR_FORMAT},
    [GEMMCL_ERROR_INVALID] = {gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS},
    [GEMMCL_ERROR_KERNEL] = {gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS},
    [GEMMCL_ERROR_OPENCL] = {gst_library_error_quark, GST_LIBRARY_ERROR_FAILED},
    [GEMMCL_ERROR_BUILD] = {gst_library_error_quark, GST_LIBRARY_ERROR_FAILED},
};

void
gst_gemmcl_post (gpointer element, GstMessageType type, const gchar *consequence,
                 const GError *error)
{
  const gboolean known =
      error->domain == GEMMCL_ERROR && (guint)error->code < G_N_ELEMENTS (messages);
  const GQuark domain = known ? messages[error->code].domain () : GST_RESOURCE_ERROR;
  const gint code = known ? messages[error->code].code : GST_RESOURCE_ERROR_FAILED;
  gchar *text = consequence ? g_strdup_printf ("%s %s", consequence, error->message)
                            : g_strdup (error->message);

  if (type == GST_MESSAGE_ERROR)
    GST_ERROR_OBJECT (element, "%s", text);
  else
    GST_WARNING_OBJECT (element, "%s", text);
  gst_element_message_full (GST_ELEMENT (element), type, domain, code, text, NULL, __FILE__,
                            GST_FUNCTION, __LINE__);
}
