/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* OpenCL that fails on request. cl-faults.c is an OpenCL layer, which the loader puts between the
 * program and the driver if OPENCL_LAYERS names it. gemmcl_faults, a FaultsLayer that it exports,
 * controls it, from any thread; failing.py has it for scripts. For programs that do not
 * call it, the environment variable GEMMCL_LAYER_FAULT is "MODE CALL FILE": the name of a mode in
 * lower case, the call that fails, and a file that gets the number of counted calls when the
 * program ends.
 *
 * The layer counts the calls that cl-faults.def lists, in all threads, except retains and releases.
 * A failing call has no other effect, with two exceptions: clWaitForEvents() and clFinish() wait
 * before they fail, since a lost device no longer uses memory. While calls are counted, a kernel
 * takes at least two milliseconds, so code that does not wait for it reads its result too early. */

/** FaultsMode:
 * @FAULTS_NONE: no call fails, and none is counted. Queues of #FAULTS_DEAD stay dead
 * @FAULTS_ONE: one call fails; none if that is call 0
 * @FAULTS_REST: one call and all later ones fail, as when the device is lost
 * @FAULTS_LATE: one launch of a kernel succeeds, but its command and all later ones in the queue
 *   end with an error; only launches are counted
 * @FAULTS_LOST: one call of a command succeeds, a blocking one, too, but the command never runs,
 *   and its event is negative. Commands that wait for the event fail; others in the queue run. Only
 *   commands are counted
 * @FAULTS_MUTE: as #FAULTS_LOST, but nobody can ask for the state of that event: each
 *   clGetEventInfo() and clWaitForEvents() of it fails
 * @FAULTS_ASK: one clGetEventInfo() or clWaitForEvents() fails, and does not wait; only these are
 *   counted
 * @FAULTS_DEAD: as #FAULTS_LOST, but all later commands in a queue with a failed one fail, as with
 *   Mesa's Rusticl, until another mode than #FAULTS_NONE is set */
typedef enum {
  FAULTS_NONE,
  FAULTS_ONE,
  FAULTS_REST,
  FAULTS_LATE,
  FAULTS_LOST,
  FAULTS_MUTE,
  FAULTS_ASK,
  FAULTS_DEAD,
} FaultsMode;

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

/** FaultsState:
 * @is_loaded: the loader has loaded the layer
 * @calls: the number of calls that the last mode counted
 * @strikes: the number of those calls, or their commands, that failed
 * @held: the number of threads in a held clBuildProgram()
 * @failed: (nullable): the first function that failed in the last mode; static
 * @objects: references to objects that the program holds, by kind */
typedef struct {
  gboolean is_loaded;
  guint calls, strikes, held;
  const gchar *failed;
  gint objects[FAULTS_KINDS];
} FaultsState;

/** FaultsLayer:
 * @get_state: returns the state; signal handlers may call it
 * @set: starts a new count. Call @n (1 is the next) fails by @mode. #FAULTS_NONE stops counting and
 *   keeps the counts
 * @hold: while @hold, clBuildProgram() does not return, or no counted kernel starts */
typedef struct {
  FaultsState (*get_state) (void);
  void (*set) (FaultsMode mode, guint n);
  void (*hold) (gboolean builds, gboolean hold);
} FaultsLayer;
