/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/*
 * The record of both doubles in this process: misuse, and counts of calls.
 *
 * One recursive lock, RECORD_LOCK, guards everything in the module. It is never held around a call
 * into the OpenCL implementation, which calls back from its own threads.
 *
 * At exit the record is written to the file that GEMMCL_DOUBLES_REPORT names ("%p" is the process
 * ID): the line "misuse N", a comment for each misuse, and a line "NAME N" for each count. Each
 * misuse is also printed on the standard error as it happens.
 */

/** The kinds of misuse: identifier, name in the report. */
#define RECORD_MISUSES(X)                                                                          \
  X (UNACQUIRED_USE, "unacquired-use")                                                             \
  X (UNACQUIRED_RELEASE, "unacquired-release")                                                     \
  X (ACQUIRED_TWICE, "acquired-twice")                                                             \
  X (LEFT_ACQUIRED, "left-acquired")                                                               \
  X (FOREIGN_DISPLAY, "foreign-display")                                                           \
  X (FOREIGN_CONTEXT, "foreign-context")                                                           \
  X (MISSING_SYNC, "missing-sync")                                                                 \
  X (STALE_SURFACE, "stale-surface")                                                               \
  X (DESTROYED_IN_USE, "destroyed-in-use")                                                         \
  X (WRITTEN_IN_USE, "written-in-use")                                                             \
  X (MAPPED_IN_USE, "mapped-in-use")                                                               \
  X (DEAD_ARGUMENT, "dead-argument")                                                               \
  X (IMAGE_TRANSFER, "image-transfer")                                                             \
  X (WRONG_ARGUMENT, "wrong-argument")                                                             \
  X (FAILED_JOB, "failed-job")

typedef enum {
#define X(id, name) MISUSE_##id,
  RECORD_MISUSES (X)
#undef X
} Misuse;

/** The counts: identifier, name in the report. Counts that begin with "live" can decrease. */
#define RECORD_COUNTS(X)                                                                           \
  X (LIVE_DISPLAYS, "live-displays")                                                               \
  X (LIVE_SURFACES, "live-surfaces")                                                               \
  X (LIVE_SURFACE_MAPS, "live-surface-maps")                                                       \
  X (LIVE_CONTEXTS, "live-contexts")                                                               \
  X (LIVE_OBJECTS, "live-objects")                                                                 \
  X (SURFACE_GETS, "surface-gets")                                                                 \
  X (SURFACE_READBACKS, "surface-readbacks")                                                       \
  X (SURFACE_EXPORTS, "surface-exports")                                                           \
  X (VA_OBJECTS, "va-objects")                                                                     \
  X (DMABUF_OBJECTS, "dmabuf-objects")                                                             \
  X (ACQUIRES, "acquires")                                                                         \
  X (OWN_COPIES, "own-copies")                                                                     \
  X (SHARED_TRANSFERS, "shared-transfers")                                                         \
  X (READS, "reads")                                                                               \
  X (WRITES, "writes")                                                                             \
  X (COPIES, "copies")                                                                             \
  X (FILLS, "fills")                                                                               \
  X (MAPS, "maps")                                                                                 \
  X (INJECTED_FAULTS, "injected-faults")

typedef enum {
#define X(id, name) COUNT_##id,
  RECORD_COUNTS (X)
#undef X
      N_COUNTS
} Count;

extern GRecMutex record_lock;

/** Holds the module's lock until the end of the block. */
#define RECORD_LOCK()                                                                              \
  g_autoptr (GRecMutexLocker) record_locker G_GNUC_UNUSED = g_rec_mutex_locker_new (&record_lock)

/** Records misuse and prints it. */
void record_misuse (Misuse kind, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

void record_count (Count count, gint64 n);

/** Called when a thread of the module begins (@n = 1) or ends (-1) work that reports wait for. */
void record_busy (gint n);

/** @check: called before a report is made, to record misuse that is only known at the end. */
void record_set_final_check (void (*check) (void));

/** The interface for programs under test, by dlsym(); doubles.h wraps and documents it. The first
 * two wait for the module's threads. An unknown count is -1. */
long long gemmcl_doubles_count (const char *name);
unsigned gemmcl_doubles_misused (const char *name);
unsigned gemmcl_doubles_forgive (const char *name);
