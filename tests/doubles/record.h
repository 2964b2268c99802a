/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "doubles.h"

/*
 * The record of both doubles in this process. gemmcl_doubles is the interface for programs under
 * test.
 *
 * Misuse ends the program at once with a message (g_error()), so that a debugger shows who did it.
 *
 * One recursive lock, RECORD_LOCK, guards everything in the module. It is never held around a call
 * into the OpenCL implementation, which calls back from its own threads.
 */

extern GRecMutex record_lock;

/** Holds the module's lock until the end of the block. */
#define RECORD_LOCK()                                                                              \
  g_autoptr (GRecMutexLocker) record_locker G_GNUC_UNUSED = g_rec_mutex_locker_new (&record_lock)

/** Adds @n to the count @name. */
void record_count (const gchar *name, gint64 n);

/** Called first by functions that can be made to fail. Returns: the error to return, or
 * CL_SUCCESS. */
gint record_fault (const gchar *function);
