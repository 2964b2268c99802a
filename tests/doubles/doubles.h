/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* The record of this process, for programs that run under the doubles (run.sh). */

/**
 * DoublesRecord:
 * @count: returns the count @name (record.c lists the names)
 * @misused: returns the number of misuses of the kind @name; %NULL: of any kind
 * @forgive: forgets intended misuse of the kind @name, so that run.sh succeeds. Returns how many
 *   there were
 * @fail: makes the @n-th call (1 is the next) of an OpenCL function from now on return @error
 *
 * The first three wait for the module's threads.
 */
typedef struct {
  gint64 (*count) (const gchar *name);
  guint (*misused) (const gchar *name);
  guint (*forgive) (const gchar *name);
  void (*fail) (const gchar *function, guint n, gint error);
} DoublesRecord;

/** Returns: the record; NULL if the program does not run under the doubles. */
const DoublesRecord *doubles_record (void);

#define doubles_count(name)   (doubles_record ()->count (name))
#define doubles_misused(name) (doubles_record ()->misused (name))
#define doubles_forgive(name) (doubles_record ()->forgive (name))

#define doubles_fail(function, n, error) (doubles_record ()->fail (function, n, error))

/** Returns: (nullable): the reason why the program does not run under the doubles, or why they
 * cannot run on this device; NULL if it runs. */
const gchar *doubles_missing (void);

/** Waits until the count is @n, at most 5 s: OpenCL's threads may hold objects for a moment after
 * the last command. Returns: TRUE if the count is @n. */
gboolean doubles_wait_for (const gchar *name, gint64 n);

/** Asserts that there was no misuse. Misuse is printed on the standard error. */
void doubles_assert_right (void);
