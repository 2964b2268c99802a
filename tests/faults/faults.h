/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/*
 * OpenCL that fails on request. layer.c is an OpenCL layer, which the loader puts between the
 * program and the driver where OPENCL_LAYERS names it; the functions below steer it. They may be
 * called from any thread, but faults_init () first.
 *
 * The layer counts the calls that calls.def lists, of all threads, except retains and releases. A
 * call that fails does nothing else, with two exceptions: clWaitForEvents() and clFinish() wait
 * before they fail, since a device that is lost uses no memory any more. While calls are counted a
 * kernel takes two milliseconds at least, so that what does not wait for it comes too early.
 */

/**
 * FaultsMode:
 * @FAULTS_NONE: no call fails, and none is counted
 * @FAULTS_ONE: one call fails; none, where that is call 0
 * @FAULTS_REST: one call fails, and all after it, as when the device is lost
 * @FAULTS_LATE: one launch of a kernel succeeds, but the command ends with an error; launches alone
 *   are counted
 */
typedef enum {
  FAULTS_NONE,
  FAULTS_ONE,
  FAULTS_REST,
  FAULTS_LATE,
} FaultsMode;

/** faults_init: Returns: %FALSE, with the test skipped, without a device, or where the loader does
 * not load the layer. */
gboolean faults_init (void);

/** faults_set: From now on counts anew; call @n, 1 for the next, fails as @mode says. With
 * #FAULTS_NONE stops, and what was counted stays. */
void faults_set (FaultsMode mode, guint n);

/** faults_get_calls: Returns: calls that the last mode counted. */
guint faults_get_calls (void);

/** faults_get_strikes: Returns: those of them that failed. */
guint faults_get_strikes (void);

/** faults_get_failed: Returns: the function that failed first in the last mode; static; %NULL if
 * none has. */
const gchar *faults_get_failed (void);

/** faults_assert_no_objects: Asserts that the program holds no context, queue, memory object,
 * program, kernel or event, within ten seconds, the time that threads may take to drop theirs. */
void faults_assert_no_objects (void);

/**
 * faults_start_case:
 * @name: what is tested, for messages
 *
 * faults_set (), and until faults_end_case () a crash or a time of more than a minute ends the
 * program with a message that names the case.
 */
void faults_start_case (const gchar *name, FaultsMode mode, guint n);
void faults_end_case (void);

/** faults_hold_builds: While @hold, clBuildProgram() does not return. */
void faults_hold_builds (gboolean hold);

/** faults_count_held: Returns: threads that are in such a clBuildProgram(). */
guint faults_count_held (void);

/** faults_hold_kernels: While @hold and calls are counted, no kernel starts. */
void faults_hold_kernels (gboolean hold);
