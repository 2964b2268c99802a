/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "doubles.h"

/*
 * The record of both doubles in this process: misuse, and counts of calls; record.c lists their
 * names. gemmcl_doubles is the interface for programs under test.
 *
 * One recursive lock, RECORD_LOCK, guards everything in the module. It is never held around a call
 * into the OpenCL implementation, which calls back from its own threads.
 *
 * Misuse is printed on the standard error as it happens. At exit the process writes it to a file in
 * the folder GEMMCL_DOUBLES_REPORTS; the file is empty without misuse.
 */

extern GRecMutex record_lock;

/** Holds the module's lock until the end of the block. */
#define RECORD_LOCK()                                                                              \
  g_autoptr (GRecMutexLocker) record_locker G_GNUC_UNUSED = g_rec_mutex_locker_new (&record_lock)

/**
 * Records misuse of the kind @name and prints it: unacquired-use, unacquired-release,
 * acquired-twice, left-acquired, foreign-display, foreign-context, missing-sync, stale-surface,
 * destroyed-in-use, written-in-use, mapped-in-use, dead-argument, image-transfer, wrong-argument or
 * failed-job.
 */
void record_misuse (const gchar *name, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

/** Records misuse and returns an error. */
#define RECORD_REFUSAL(error, ...) (record_misuse (__VA_ARGS__), error)

/** Adds @n to the count @name. */
void record_count (const gchar *name, gint64 n);

/** Called when a thread of the module begins (@n = 1) or ends (-1) work that reports wait for. */
void record_busy (gint n);

/** Called first by functions that doubles_fail() can make fail. Returns: the error to return, or
 * CL_SUCCESS. */
gint record_fault (const gchar *function);

/** @check: called before a report is made, to record misuse that is only known at the end. */
void record_set_final_check (void (*check) (void));
