/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Searches for the fastest kernel: one that the caller waits for, and one beside a plan in use. Any
 * thread may call these functions. gemmcl-tuning.h has the file that keeps the results.
 */
#pragma once

#include <gio/gio.h>

#include "gemmcl-plan.h"

GEMMCL_BEGIN_DECLS

/**
 * GemmclTuningCandidate:
 * @kernel: the name, as gemmcl_plan_get_kernel() returns it; owned
 * @seconds: the median time of its turns; before the first turn, the shortest of its first runs; 0:
 *   not measured
 * @why: (nullable): why it dropped out; %NULL if it was measured to the end
 * @faulty: it dropped out because it does not build natively, fails or computes a wrong result
 * @lost: it dropped out because OpenCL failed; the device may be lost to this process
 *
 * A kernel in a search.
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
 * @GEMMCL_TUNING_STEP_TRY: the candidate will be compiled and run; the rules' choice is still named
 *   "rules"
 * @GEMMCL_TUNING_STEP_TRIED: the candidate was compiled and run, or dropped out
 * @GEMMCL_TUNING_STEP_TURN: the candidate will take a turn
 *
 * A candidate's step in a search.
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
 * Called at each step of a search, in the search's thread. A caller that records the steps knows
 * which candidate ran if the process crashes.
 */
typedef void (*GemmclTuningNotify) (GemmclTuningStep step, const GemmclTuningCandidate *candidate,
                                    gpointer data);

/**
 * GemmclTuningOptions:
 * @size: sizeof (GemmclTuningOptions); tells the library which fields the caller knows
 * @candidates: the largest number of kernels to try, at least 2
 * @seconds: time on the device for the whole search
 * @share: the share of time in which the search may occupy the device, above 0 and at most 1; it
 *   sleeps the rest of the time
 * @names: (nullable) (array zero-terminated=1): the kernels to try, as for gemmcl_plan_new(), first
 *   the one to beat; %NULL for the kernels of gemmcl_tuning_list_candidates()
 * @dry_run: do not store the result
 * @try_seconds: wall-clock seconds after which no more candidates are tried; 0: no limit
 * @runs: the largest number of runs per turn
 * @notify: (nullable): called at each step
 * @data: user data of @notify
 *
 * The limits of a search. Start from GEMMCL_TUNING_OPTIONS_INIT; later versions may add fields at
 * the end.
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

/**
 * GEMMCL_TUNING_OPTIONS_INIT:
 *
 * Initializes a #GemmclTuningOptions: its size, and limits for a search beside other work.
 */
#define GEMMCL_TUNING_OPTIONS_INIT                                                                 \
  {                                                                                                \
    .size = sizeof (GemmclTuningOptions), .candidates = 5, .seconds = 0.25, .share = 0.02,         \
    .runs = 9                                                                                      \
  }

#define GEMMCL_TYPE_TUNING_OPTIONS (gemmcl_tuning_options_get_type ())
GType gemmcl_tuning_options_get_type (void);

/**
 * gemmcl_tuning_options_new:
 *
 * Returns: (transfer full): GEMMCL_TUNING_OPTIONS_INIT; see gemmcl_gemm_new().
 */
GemmclTuningOptions *gemmcl_tuning_options_new (void);

/**
 * GemmclTuningResult:
 * @candidates: (element-type GemmclTuningCandidate): in the order in which they were tried
 * @first: (nullable): the first that works, which the others had to beat; %NULL: none works
 * @best: (nullable): @first, or another that is faster by more than the noise; %NULL: none works,
 *   or there was no time to compare
 * @gain: the median speed of @best relative to @first; 1 if @best is @first
 * @device_seconds: time on the device that the search took
 * @stored: @best was stored in the file
 * @why_not_stored: (nullable): a sentence with the reason if storing @best failed
 *
 * The result of a search. @first and @best point into @candidates. A copy as a boxed type is a
 * reference.
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

#define GEMMCL_TYPE_TUNING_RESULT (gemmcl_tuning_result_get_type ())
GType gemmcl_tuning_result_get_type (void);

/**
 * gemmcl_tuning_result_free:
 *
 * Frees a result of gemmcl_tuning_search().
 */
void gemmcl_tuning_result_free (GemmclTuningResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclTuningResult, gemmcl_tuning_result_free)

/**
 * gemmcl_tuning_search:
 * @gemm: the problem
 * @options: (nullable): %NULL for GEMMCL_TUNING_OPTIONS_INIT
 * @cancellable: (nullable): ends the search after the compilation or run in progress
 *
 * Finds the fastest kernel for @gemm in the calling thread, in a queue of its own, with random
 * matrices in at most half of the device's memory.
 *
 * A candidate drops out if it does not build natively, spills registers, fails, is much slower than
 * the best, or if its result differs from the first candidate's by more than both may differ from
 * the exact one (gemmcl_gemm_verify()). The first and the 12 fastest others then take turns of
 * a few runs: at least five turns, and more while they may change the result. A candidate wins over
 * the first if it was faster in three of four turns, and by 2 % in half of them.
 *
 * The best kernel is stored as by gemmcl_tuning_store(), even if it is the first, unless a problem
 * cannot have entries: frames whose pixels are rows, a D that is a frame, and a batch that cannot
 * run as one tall problem.
 *
 * Returns: (transfer full): the result, or %NULL with #G_IO_ERROR_CANCELLED, an error of
 *   gemmcl_gemm_validate(), %GEMMCL_ERROR_TOO_LARGE, %GEMMCL_ERROR_OPENCL, or an error of
 *   gemmcl_plan_new() for the rules' choice.
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
 * The devices on which a plan searches for a faster kernel.
 */
typedef enum {
  GEMMCL_AUTO_TUNE_AUTO,
  GEMMCL_AUTO_TUNE_ON,
  GEMMCL_AUTO_TUNE_OFF,
} GemmclAutoTune;

/**
 * gemmcl_plan_auto_tune:
 * @self: a new plan without operands, not yet shared with another thread
 *
 * Searches for a faster kernel while the plan is in use, if the rules chose its kernel; otherwise
 * does nothing. Call it at most once.
 *
 * A thread of low priority calls gemmcl_tuning_search() with GEMMCL_TUNING_OPTIONS_INIT, one search
 * of a process at a time, and prepares a faster kernel and its operands. Later runs use the new
 * kernel and operands, and continue with the same previous result. gemmcl_plan_submit() waits only
 * while pointers are exchanged. gemmcl_plan_prepare() may wait once, while the search prepares
 * operands that changed meanwhile. The kernel does not change while a prepared operand is neither
 * used nor freed. The plan keeps references to its operands' matrices until the search ends.
 * Dropping the last reference to the plan cancels the search without waiting for it; a search that
 * is preparing its result keeps the plan until that is done. gemmcl_plan_cancel_tuning() waits.
 */
void gemmcl_plan_auto_tune (GemmclPlan *self, GemmclAutoTune mode);

/**
 * GemmclTuningState:
 * @GEMMCL_TUNING_STATE_OFF: no search was requested for this device, the kernel was named, or the
 *   search was cancelled
 * @GEMMCL_TUNING_STATE_KNOWN: no search: an entry of the file or of the library chose the kernel
 * @GEMMCL_TUNING_STATE_WAITING: the search waits for another search
 * @GEMMCL_TUNING_STATE_SEARCHING: the search runs, or prepares the kernel that it found
 * @GEMMCL_TUNING_STATE_KEPT: no kernel is faster than the old one
 * @GEMMCL_TUNING_STATE_SWAPPED: a faster kernel is in use
 * @GEMMCL_TUNING_STATE_FAILED: the search failed and the old kernel stays
 *
 * The state of a plan's search. The last three are final.
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

/**
 * gemmcl_tuning_state_get_name:
 *
 * Returns: "off", "known", "waiting", "searching", "kept", "swapped" or "failed"; static.
 */
const gchar *gemmcl_tuning_state_get_name (GemmclTuningState state);

/**
 * gemmcl_plan_get_tuning:
 * @result: (out) (optional) (nullable) (transfer none): the search's result; %NULL before the
 *   search ends, and if another search stored the kernel
 * @why: (out) (optional) (nullable) (transfer none): the reason if the search failed
 *
 * Result and reason do not change once they are set.
 *
 * Returns: the state of the search.
 */
GemmclTuningState gemmcl_plan_get_tuning (GemmclPlan *self, const GemmclTuningResult **result,
                                          const gchar **why);

/**
 * gemmcl_plan_cancel_tuning:
 * @timeout: microseconds to wait for the search's thread; 0: do not wait; G_MAXINT64: no limit
 *
 * Cancels the search. The plan's kernel does not change afterwards.
 *
 * Returns: %TRUE if the thread has ended or there was none.
 */
gboolean gemmcl_plan_cancel_tuning (GemmclPlan *self, gint64 timeout);

GEMMCL_END_DECLS
