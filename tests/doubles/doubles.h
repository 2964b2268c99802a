/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* For programs that run under the doubles (run.sh): the record of this process so far. */

/** Returns: (nullable): why the doubles cannot run over the device that there is; NULL if they can.
 */
const gchar *doubles_unfit (void);

/** Returns: (nullable): why the program does not run under the doubles, which may be that they
 * cannot; NULL if it does. */
const gchar *doubles_missing (void);

/** Returns: the count @name (record.h lists the names). */
gint64 doubles_count (const gchar *name);

/** Waits until the count is @n, 5 s at most: OpenCL's threads may hold objects for a moment after
 * the last command is done. Returns: whether it is. */
gboolean doubles_wait_for (const gchar *name, gint64 n);

/** Returns: how often there was misuse of the kind @name; of any kind if NULL. */
guint doubles_misused (const gchar *name);

/** Forgets misuse of that kind that was meant to happen, so that run.sh succeeds.
 * Returns: how often it was. */
guint doubles_forgive (const gchar *name);

/** From now on the @n-th call (1 is the next) of the OpenCL function returns @error. */
void doubles_fail (const gchar *function, guint n, gint error);

/** Asserts that nothing was misused; the standard error says what was. */
void doubles_assert_right (void);
