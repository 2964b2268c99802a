/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* The record of this process, for programs that run under the doubles (run.sh). */

/**
 * DoublesRecord:
 * @count: returns the count @name (record.c lists the names)
 * @fail: makes the @n-th call (1 is the next) of an OpenCL function from now on return @error
 */
typedef struct {
  gint64 (*count) (const gchar *name);
  void (*fail) (const gchar *function, guint n, gint error);
} DoublesRecord;

/** Returns: the record; NULL if the program does not run under the doubles. */
const DoublesRecord *doubles_record (void);

#define doubles_count(name) (doubles_record ()->count (name))

/** Returns: (nullable): the reason why the program does not run under the doubles, or why they
 * cannot run on this device; NULL if it runs. */
const gchar *doubles_missing (void);

/** Asserts that no object and no context is left. Waits for at most 5 s: OpenCL's threads may hold
 * objects for a moment after the last command. */
void doubles_assert_clean (void);
