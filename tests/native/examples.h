/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdio.h>

/** native_has_engines: Returns: whether the device has them; else the test is skipped. */
gboolean native_has_engines (void);

/** native_get_subgroup: Returns: lanes of the device's smallest subgroups: 8 or 16. */
guint native_get_subgroup (void);

/**
 * native_begin_output: What kernels print, and the library's log, goes into @file until
 * native_end_output(). Returns: what that takes.
 */
int native_begin_output (FILE *file);

/** native_end_output: Closes @file. Returns: (transfer full): the first line that tells of a breach
 * of what an extension says; "" if none does. */
gchar *native_end_output (FILE *file, int saved);

/** native_add_examples: Registers the tests of the functions themselves. */
void native_add_examples (void);
