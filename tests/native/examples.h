/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdio.h>

/** native_has_engines: Returns: TRUE if the device has matrix engines; otherwise the test is
 * skipped. */
gboolean native_has_engines (void);

/** native_get_subgroup: Returns: the size of the device's smallest subgroups: 8 or 16. */
guint native_get_subgroup (void);

/**
 * native_begin_output: Redirects the output of kernels and the library's log to @file until
 * native_end_output(). Returns: the value to pass to that.
 */
int native_begin_output (FILE *file);

/** native_end_output: Ends the redirection and closes @file. Returns: (transfer full): the first
 * line about a breach of an extension's rules; "" without one. */
gchar *native_end_output (FILE *file, int saved);

/** native_add_examples: Registers the tests of the functions themselves. */
void native_add_examples (void);
