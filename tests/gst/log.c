/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "log.h"

#include <string.h>

static GMutex lock;
static GStrvBuilder *collected; /* under lock */
static gchar *collected_category;

static void
collect (GstDebugCategory *category, GstDebugLevel level G_GNUC_UNUSED,
         const gchar *file G_GNUC_UNUSED, const gchar *function G_GNUC_UNUSED,
         gint line G_GNUC_UNUSED, GObject *object G_GNUC_UNUSED, GstDebugMessage *message,
         gpointer data G_GNUC_UNUSED)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);

  if (g_str_equal (gst_debug_category_get_name (category), collected_category))
    g_strv_builder_add (collected, gst_debug_message_get (message));
}

void
log_begin (const gchar *category, GstDebugLevel level)
{
  collected = g_strv_builder_new ();
  collected_category = g_strdup (category);
  gst_debug_add_log_function (collect, NULL, NULL);
  gst_debug_set_threshold_for_name (category, level);
}

GStrv
log_end (void)
{
  GStrv lines;

  gst_debug_unset_threshold_for_name (collected_category);
  gst_debug_remove_log_function (collect);
  lines = g_strv_builder_end (collected);
  g_clear_pointer (&collected, g_strv_builder_unref);
  g_clear_pointer (&collected_category, g_free);
  return lines;
}

guint
log_count (const GStrv lines, const gchar *word)
{
  guint n = 0;

  for (guint i = 0; lines[i]; i++)
    n += strstr (lines[i], word) != NULL;
  return n;
}

void
log_assert (const gchar *marker, const gchar *words, guint n)
{
  g_auto (GStrv) lines = log_end (), expected = g_strsplit (words, "|", -1);

  for (guint i = 0; expected[i]; i++)
    g_assert_cmpuint (log_count (lines, expected[i]), ==, n);
  g_assert_cmpuint (log_count (lines, marker), ==, n * g_strv_length (expected));
}
