/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/**
 * bench_replay_read:
 * @path: text with lines of GEMMCL_VERBOSE=1; others are skipped
 * @kernels: (element-type utf8): gets the kernel of each problem
 *
 * Says on the standard error what bench cannot repeat, such as a bias. Equal lines count once.
 *
 * Returns: (transfer full) (element-type GemmclGemm): the problems, one at least; %NULL with
 *   %TOOL_ERROR_USAGE or a #GFileError.
 */
GArray *bench_replay_read (const gchar *path, GPtrArray *kernels, GError **error);
