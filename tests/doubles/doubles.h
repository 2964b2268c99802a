/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* The record of this process, for programs that run under the doubles (run.sh). */

/** Returns: (nullable): the reason why the doubles cannot run on this device; NULL if they can. */
const gchar *doubles_unfit (void);

/** Returns: (nullable): the reason why the program does not run under the doubles; NULL if it does.
 */
const gchar *doubles_missing (void);

/** Returns: the count @name (record.h lists the names). */
gint64 doubles_count (const gchar *name);

/** Waits until the count is @n, at most 5 s: OpenCL's threads may hold objects for a moment after
 * the last command. Returns: TRUE if the count is @n. */
gboolean doubles_wait_for (const gchar *name, gint64 n);

/** Returns: the number of misuses of the kind @name; NULL: of any kind. */
guint doubles_misused (const gchar *name);

/** Forgets intended misuse of the kind @name, so that run.sh succeeds.
 * Returns: the number of misuses that it forgot. */
guint doubles_forgive (const gchar *name);

/** Makes the @n-th call (1 is the next) of an OpenCL function from now on return @error. */
void doubles_fail (const gchar *function, guint n, gint error);

/** Asserts that there was no misuse. Misuse is printed on the standard error. */
void doubles_assert_right (void);
