/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <string.h>

/* Files for tests, in a directory of their own that disappears with its Files. */
typedef struct {
  gchar *dir;
} Files;

void files_init (Files *files);
void files_clear (Files *files);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Files, files_clear)

/* Makes the directory the XDG_CACHE_HOME; the driver's cache of kernels stays where it was. */
void files_enter_cache (const Files *files);

/* Returns: (transfer full): the path of a file of that name, which need not exist. */
gchar *files_path (const Files *files, const gchar *name);

/* As files_path(), after writing the file. */
gchar *files_write (const Files *files, const gchar *name, gconstpointer data, gsize n);

/* Removes a file, or a directory with everything in it. */
void files_remove_all (const gchar *path);

/* Fails the test unless @error is of this code and its message has @part in it; clears it. */
#define files_assert_error(error, code, part)                                                      \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_assert_error ((error), GEMMCL_ERROR, (gint)(code));                                          \
    if (strstr ((error)->message, (part)) == NULL) {                                               \
      g_test_message ("expected “%s” in: %s", (part), (error)->message);                           \
      g_test_fail ();                                                                              \
    }                                                                                              \
    g_assert_true (g_utf8_validate ((error)->message, -1, NULL));                                  \
    g_clear_error (&(error));                                                                      \
  }                                                                                                \
  G_STMT_END
