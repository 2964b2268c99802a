/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "gemmcl-plan.h"

GEMMCL_BEGIN_DECLS

/**
 * Which kernel is fastest depends on the device, and who wants to know times them. What was found
 * is remembered in a file, $XDG_CACHE_HOME/gemmcl/tuning.json, an entry for each device, driver,
 * precision, layout and shape; gemmcl_plan_new() looks there before it asks its rules. An entry
 * also speaks for shapes near its own: none of M, N, K further than a factor of sqrt (2) from it,
 * and no more of the kernel's tiles padding.
 *
 * Nothing in the file is trusted: an entry of another device or driver, for a kernel that is not
 * there or cannot do the problem, counts for nothing; so does a file that is damaged, or of a
 * version that this library does not know.
 *
 * The library brings entries of its own for devices that its makers measured; those of the file
 * come first.
 *
 * All functions may be called from any thread, and processes may share the file.
 */

/**
 * gemmcl_tuning_list_candidates:
 * @gemm: a valid problem
 *
 * What is worth timing: each kernel that can do @gemm on the device natively, whole and with K cut
 * into parts where few tiles leave units without work. The one that the rules choose is the first,
 * the others follow in the order in which the rules hold them for fast.
 *
 * Returns: (transfer full): names for gemmcl_plan_new(), at least one.
 */
gchar **gemmcl_tuning_list_candidates (GemmclContext *context, const GemmclGemm *gemm);

/**
 * GemmclTuningCandidate:
 * @kernel: as gemmcl_plan_get_kernel() names it; owned
 * @seconds: the median of its last runs, by the device's clock; 0 if it was not timed
 * @why: (nullable): why it left; %NULL for one that was timed to the end
 * @faulty: it left because it does not build natively, fails or computes something wrong
 * @lost: it left because OpenCL failed; the device may be lost for this process
 */
typedef struct {
  gchar *kernel;
  gdouble seconds;
  gchar *why;
  gboolean faulty;
  gboolean lost;
} GemmclTuningCandidate;

/**
 * GemmclTuningStep:
 * @GEMMCL_TUNING_STEP_TRY: the candidate is compiled and run once next; the rules' choice is called
 *   "rules" until its name is known
 * @GEMMCL_TUNING_STEP_TRIED: it was, or it left
 * @GEMMCL_TUNING_STEP_TURN: it takes a turn next
 */
typedef enum {
  GEMMCL_TUNING_STEP_TRY,
  GEMMCL_TUNING_STEP_TRIED,
  GEMMCL_TUNING_STEP_TURN,
} GemmclTuningStep;

/**
 * GemmclTuningNotify:
 * @candidate: borrowed
 *
 * Follows a search, in the thread of the search. A process that a kernel ends can so have said
 * which one it was.
 */
typedef void (*GemmclTuningNotify) (GemmclTuningStep step, const GemmclTuningCandidate *candidate,
                                    gpointer data);

/**
 * GemmclTuningOptions:
 * @size: sizeof (GemmclTuningOptions), by which the library knows the fields that the caller has
 * @candidates: kernels that are timed at most, 2 or more
 * @seconds: time on the device for all of them
 * @share: the part of the device's time that the search takes, more than 0; 1: all. After each run
 *   the search sleeps until the run was no more than this part of the time since
 * @names: (nullable) (array zero-terminated=1): the kernels, as gemmcl_plan_new() takes them; the
 *   first is what others have to beat. %NULL: the rules' choice, and then the first ones of
 *   gemmcl_tuning_list_candidates()
 * @dry_run: nothing is remembered
 * @try_seconds: time by the wall clock, that of compilers included, after which no other candidate
 *   is tried; 0: no limit
 * @runs: runs of a turn at most
 * @notify: (nullable): follows the search
 * @data: for @notify
 *
 * How a search goes. Start from GEMMCL_TUNING_OPTIONS_INIT; later versions may add fields at the
 * end.
 */
typedef struct {
  gsize size;
  guint candidates;
  gdouble seconds;
  gdouble share;
  const gchar *const *names;
  gboolean dry_run;
  gdouble try_seconds;
  guint runs;
  GemmclTuningNotify notify;
  gpointer data;
} GemmclTuningOptions;

#define GEMMCL_TUNING_OPTIONS_INIT                                                                 \
  {                                                                                                \
    .size = sizeof (GemmclTuningOptions), .candidates = 5, .seconds = 0.25, .share = 0.02,         \
    .runs = 9                                                                                      \
  }

/**
 * GemmclTuningResult:
 * @candidates: (element-type GemmclTuningCandidate): in the order in which they were tried
 * @first: (nullable): the first of these that works, which the others had to beat; %NULL: none
 *   works
 * @best: (nullable): the fastest, which is @first unless another is faster by more than the noise;
 *   %NULL: none works, or there was no time to compare
 * @gain: the median of how many times as fast as @first @best is; 1 where they are the same
 * @device_seconds: time on the device that the search took
 * @stored: @best was remembered
 * @why_not_stored: (nullable): a sentence, where it should have been and was not
 *
 * What a search found. @first and @best belong to @candidates.
 */
typedef struct {
  GPtrArray *candidates;
  const GemmclTuningCandidate *first;
  const GemmclTuningCandidate *best;
  gdouble gain;
  gdouble device_seconds;
  gboolean stored;
  gchar *why_not_stored;
} GemmclTuningResult;

void gemmcl_tuning_result_free (GemmclTuningResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclTuningResult, gemmcl_tuning_result_free)

/**
 * gemmcl_tuning_search:
 * @gemm: a valid problem
 * @options: (nullable): %NULL for GEMMCL_TUNING_OPTIONS_INIT
 * @cancellable: (nullable): ends the search, at the latest when what is compiled or run is done
 *
 * Finds the fastest kernel for @gemm on the device of @context, in this thread, while other threads
 * may use the device. Matrices are the search's own, random, in its own memory of the device, of
 * which they take half at most; runs are in a queue of its own, one at a time.
 *
 * Each candidate is built and run once. One that does not build natively, spills registers, fails,
 * or has a result that is further from the first one's than both may be from the
 * exact one (gemmcl_gemm_verify()), leaves, and so does one that takes four times as long as the
 * best, or whose run on a sixteenth of the rows does. Of more than 12 the fastest 12 and the first
 * stay. These take turns, forwards and backwards; a turn is the median of a few runs. One that is
 * slower than the best by a quarter leaves. Another takes the first one's place only if it was
 * faster in three of four turns beside it, and by 2 % or more in half of them. Fewer than five
 * turns count for nothing.
 *
 * What is best is remembered as by gemmcl_tuning_store(), also where that is the first. Pictures
 * whose pixels are rows, D that is a picture, and batches that do not run as one tall problem have
 * no entries, so that nothing is remembered.
 *
 * Returns: (transfer full): what was found, or %NULL with #G_IO_ERROR_CANCELLED, or with the errors
 *   of gemmcl_gemm_validate() and #GEMMCL_ERROR_TOO_LARGE or #GEMMCL_ERROR_OPENCL for its memory.
 */
GemmclTuningResult *gemmcl_tuning_search (GemmclContext *context, const GemmclGemm *gemm,
                                          const GemmclTuningOptions *options,
                                          GCancellable *cancellable, GError **error);

/**
 * GemmclAutoTune:
 * @GEMMCL_AUTO_TUNE_AUTO: on GPUs
 * @GEMMCL_AUTO_TUNE_ON: on any device
 * @GEMMCL_AUTO_TUNE_OFF: never
 *
 * Devices on which a plan searches for a faster kernel.
 */
typedef enum {
  GEMMCL_AUTO_TUNE_AUTO,
  GEMMCL_AUTO_TUNE_ON,
  GEMMCL_AUTO_TUNE_OFF,
} GemmclAutoTune;

/**
 * gemmcl_plan_auto_tune:
 * @self: a new plan without operands, which no other thread has yet
 *
 * Lets the plan search for a faster kernel while it is used, if the rules chose its kernel
 * (gemmcl_plan_get_choice_source()); otherwise does nothing. To be called once at most.
 *
 * A thread of low priority searches by gemmcl_tuning_search() with GEMMCL_TUNING_OPTIONS_INIT;
 * searches of a process take turns, and one that waited looks first for what the others found. If
 * another kernel is faster, the thread builds it, prepares the operands of the plan for it and puts
 * it in the place of the first. Runs that were submitted before go on with the first kernel; later
 * ones use the other, with the same operands and previous result. gemmcl_plan_submit() waits for no
 * more than the exchange of pointers.
 *
 * The kernel does not change while an operand is prepared that was neither used nor freed; a
 * program that keeps one keeps the first kernel. gemmcl_plan_prepare() may wait once, for operands
 * that changed during the search and that the thread prepares. Until the search ends the plan keeps
 * references to the matrices of its operands.
 *
 * The last reference to the plan may be dropped at any time. The search is then cancelled and not
 * waited for: a compiler that does not return keeps its thread, and what the thread needs.
 */
void gemmcl_plan_auto_tune (GemmclPlan *self, GemmclAutoTune mode);

/**
 * GemmclTuningState:
 * @GEMMCL_TUNING_STATE_OFF: no search: none was asked for, the kernel was named, or the search was
 *   cancelled
 * @GEMMCL_TUNING_STATE_KNOWN: no search: an entry, tuned or shipped, chose the kernel
 * @GEMMCL_TUNING_STATE_WAITING: for its turn
 * @GEMMCL_TUNING_STATE_SEARCHING: or making the kernel that was found ready
 * @GEMMCL_TUNING_STATE_KEPT: no kernel is faster than the first
 * @GEMMCL_TUNING_STATE_SWAPPED: a faster kernel is in use
 * @GEMMCL_TUNING_STATE_FAILED: the first kernel stays
 *
 * State of the search of a plan. The last three are final.
 */
typedef enum {
  GEMMCL_TUNING_STATE_OFF,
  GEMMCL_TUNING_STATE_KNOWN,
  GEMMCL_TUNING_STATE_WAITING,
  GEMMCL_TUNING_STATE_SEARCHING,
  GEMMCL_TUNING_STATE_KEPT,
  GEMMCL_TUNING_STATE_SWAPPED,
  GEMMCL_TUNING_STATE_FAILED,
} GemmclTuningState;

/** gemmcl_tuning_state_get_name: Returns: "off", "known", "waiting", "searching", "kept", "swapped"
 * or "failed"; static. */
const gchar *gemmcl_tuning_state_get_name (GemmclTuningState state);

/**
 * gemmcl_plan_get_tuning:
 * @result: (out) (optional) (nullable) (transfer none): what the search found; %NULL before, and
 *   where another search had found it
 * @why: (out) (optional) (nullable) (transfer none): the reason, if it failed
 *
 * Both belong to the plan and do not change once they are set.
 *
 * Returns: the state of the search.
 */
GemmclTuningState gemmcl_plan_get_tuning (GemmclPlan *self, const GemmclTuningResult **result,
                                          const gchar **why);

/**
 * gemmcl_plan_cancel_tuning:
 * @timeout: microseconds to wait for the thread; 0: does not wait
 *
 * Ends the search: the kernel of the plan does not change any more.
 *
 * Returns: whether the thread has ended, or there was none.
 */
gboolean gemmcl_plan_cancel_tuning (GemmclPlan *self, gint64 timeout);

/**
 * gemmcl_tuning_store:
 * @gemm: a valid problem of matrices, not pictures
 * @kernel: the fastest, as gemmcl_plan_get_kernel() names it
 * @gflops: how fast it was, by the device's clock
 *
 * Remembers that, in place of what the file says of the same device, driver and problem. What it
 * says of others stays; what is damaged goes.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_KERNEL for a kernel that cannot do @gemm there, or
 *   #GEMMCL_ERROR_IO where the file cannot be written, comes from a newer library, or is not used
 *   because it is a symbolic link, belongs to another user or can be written to by others.
 */
gboolean gemmcl_tuning_store (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                              gdouble gflops, GError **error);

/**
 * gemmcl_tuning_forget:
 *
 * Drops what the file says of the device, of any driver.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_IO.
 */
gboolean gemmcl_tuning_forget (GemmclContext *context, GError **error);

/**
 * GemmclTuningEntry:
 * @source: tuned or shipped
 * @precision, @layout, @m, @n, @k: the problem
 * @kernel: as gemmcl_plan_new() takes it; owned
 * @gflops: how fast it was there
 */
typedef struct {
  GemmclChoiceSource source;
  GemmclPrecision precision;
  GemmclLayout layout;
  gsize m, n, k;
  gchar *kernel;
  gdouble gflops;
} GemmclTuningEntry;

/** gemmcl_tuning_list: Returns: (transfer full) (element-type GemmclTuningEntry): what is known of
 * the device of @context, those of the file first; may be empty. */
GPtrArray *gemmcl_tuning_list (GemmclContext *context);

/** gemmcl_tuning_get_path: Returns: (transfer full): where the file is, or would be. */
gchar *gemmcl_tuning_get_path (void);

GEMMCL_END_DECLS
