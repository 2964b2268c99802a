/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "isa.h"

/** IsaCompiler: an ocloc: its file, its version, and the names of its targets among others. */
typedef struct {
  gchar *path;
  gchar *version;
  GHashTable *targets;
} IsaCompiler;

/** isa_compilers_find: Returns: (nullable): the newest that compiles for @target. */
const IsaCompiler *isa_compilers_find (const IsaCompilers *compilers, const IsaTarget *target);

/**
 * isa_ocloc_run:
 * @folder: where it runs
 * @arguments: the program and its arguments, ended by %NULL
 * @output: (out): what it wrote
 * @well: (out): whether its exit status is 0
 *
 * Waits for it, for two minutes at most; after that it is ended, and @output says so.
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED where it cannot be run.
 */
gboolean isa_ocloc_run (const gchar *folder, const gchar *const *arguments, gchar **output,
                        gboolean *well, GError **error);

/** isa_remove_folder: Removes @folder and all in it. */
void isa_remove_folder (const gchar *folder);
