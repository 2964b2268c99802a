/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

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

/* Removes a file, or a directory with everything in it. */
void files_remove_all (const gchar *path);
