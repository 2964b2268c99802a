/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/device.h"

/** Returns: the text of the embedded program @name; %NULL: there is none. */
const gchar *gemmcl_program_get_text (const gchar *name);

/** Returns: (transfer full): @options with those of all programs. The language is OpenCL C 1.2
 * unless they have another -cl-std. */
gchar *gemmcl_program_complete_options (const gchar *options);

/**
 * gemmcl_program_build:
 * @source: the name of an embedded program
 * @compiled: (out): the program was compiled, not found in the disk's cache
 *
 * Takes the program's binary from the disk's cache when one fits; else compiles the source, which
 * may take seconds, writes the binary there and says so in the log, at level INFO.
 *
 * Returns: (transfer full): a built program, or %NULL with #GEMMCL_ERROR_BUILD, which carries the
 *   compiler's log.
 */
cl_program gemmcl_program_build (cl_context context, const GemmclDevice *device,
                                 const gchar *source, const gchar *options, gboolean *compiled,
                                 GError **error);
