/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/*
 * OpenCL that fails on request. layer.c is an OpenCL layer, which the loader puts between the
 * program and the driver if OPENCL_LAYERS names it. The functions below control it. Call
 * faults_init () first; the others may be called from any thread.
 *
 * The layer counts the calls that calls.def lists, in all threads, except retains and releases. A
 * failing call has no other effect, with two exceptions: clWaitForEvents() and clFinish() wait
 * before they fail, since a lost device no longer uses memory. While calls are counted, a kernel
 * takes at least two milliseconds, so that code that does not wait for it comes too early.
 */

/**
 * FaultsMode:
 * @FAULTS_NONE: no call fails, and none is counted
 * @FAULTS_ONE: one call fails; none if that is call 0
 * @FAULTS_REST: one call and all later ones fail, as when the device is lost
 * @FAULTS_LATE: one launch of a kernel succeeds, but its command ends with an error; only launches
 *   are counted
 */
typedef enum {
  FAULTS_NONE,
  FAULTS_ONE,
  FAULTS_REST,
  FAULTS_LATE,
} FaultsMode;

/** faults_init: Returns: %FALSE, with the test skipped, without a device, or if the loader does not
 * load the layer. */
gboolean faults_init (void);

/** faults_count_devices: Returns: the number of OpenCL devices. */
guint faults_count_devices (void);

/** FaultsKind: the kinds of objects that are counted, by the names of their types */
typedef enum {
  FAULTS_cl_context,
  FAULTS_cl_command_queue,
  FAULTS_cl_mem,
  FAULTS_cl_program,
  FAULTS_cl_kernel,
  FAULTS_cl_event,
  FAULTS_KINDS,
} FaultsKind;

/**
 * FaultsState:
 * @is_loaded: the loader has loaded the layer
 * @calls: the number of calls that the last mode counted
 * @strikes: the number of those calls that failed
 * @held: the number of threads in a held clBuildProgram()
 * @failed: (nullable): the first function that failed in the last mode; static
 * @objects: references to objects that the program holds, by kind
 */
typedef struct {
  gboolean is_loaded;
  guint calls, strikes, held;
  const gchar *failed;
  gint objects[FAULTS_KINDS];
} FaultsState;

/**
 * FaultsLayer:
 * @get_state: returns the state; signal handlers may call it
 * @set: starts a new count. Call @n (1 is the next) fails by @mode. #FAULTS_NONE stops counting and
 *   keeps the counts
 * @hold_builds: while @hold, clBuildProgram() does not return
 * @hold_kernels: while @hold and calls are counted, no kernel starts
 *
 * The interface that the layer exports as gemmcl_faults.
 */
typedef struct {
  FaultsState (*get_state) (void);
  void (*set) (FaultsMode mode, guint n);
  void (*hold_builds) (gboolean hold);
  void (*hold_kernels) (gboolean hold);
} FaultsLayer;

/** The layer, after faults_init(). */
extern const FaultsLayer *faults_layer;

#define faults_set(mode, n)       (faults_layer->set (mode, n))
#define faults_get_calls()        (faults_layer->get_state ().calls)
#define faults_get_strikes()      (faults_layer->get_state ().strikes)
#define faults_count_held()       (faults_layer->get_state ().held)
#define faults_hold_builds(hold)  (faults_layer->hold_builds (hold))
#define faults_hold_kernels(hold) (faults_layer->hold_kernels (hold))

/** faults_assert_no_objects: Asserts that the program holds no context, queue, memory object,
 * program, kernel or event. Waits at most a minute for threads that release theirs. */
void faults_assert_no_objects (void);

/**
 * faults_start_case:
 * @name: a description of the test
 *
 * Names the case, so that the log of a program that crashes ends with it, and calls faults_set ().
 * If faults_end_case () does not follow in time, SIGALRM ends the program.
 */
void faults_start_case (const gchar *name, FaultsMode mode, guint n);
void faults_end_case (void);
