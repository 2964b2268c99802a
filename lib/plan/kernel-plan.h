/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The half of a plan that depends on the kernel. In the headers of this folder the caller owns
 * returned objects, and functions with a #GError return %FALSE or %NULL if they set it.
 */
#pragma once

#include "device/commands.h"
#include "device/context.h"
#include "gemmcl-plan.h"
#include "kernels/choice.h"
#include "problem/frame.h"

#define GEMMCL_N_KEPT    (GEMMCL_PLAN_C + 1)
#define GEMMCL_MAX_STEPS 16

/** An operand that the plan keeps on the device between runs. */
typedef struct {
  GemmclWeights *weights; /* B's buffer, shared with other plans; NULL for other operands */
  cl_mem buffer;          /* B as the kernel reads it, packed or k x n; C in the problem's layout */
  GemmclMatrix *matrix;   /* its source, which auto-tune needs; may be NULL */
} GemmclKept;

void gemmcl_kept_clear (GemmclKept *self);

typedef struct _GemmclKernelPlan GemmclKernelPlan;
typedef struct _GemmclKernelRun GemmclKernelRun; /* in steps.h */
typedef struct _GemmclStep GemmclStep;

/** Enqueues a step, and replaces the operand of the run that it converts. */
typedef gboolean (*GemmclStepLaunch) (GemmclKernelPlan *self, GemmclStep *step,
                                      GemmclKernelRun *run, GError **error);

/** A step of a run: a row of the table in steps.c, made ready. */
struct _GemmclStep {
  const gchar *name;
  cl_kernel kernel; /* NULL: multiply */
  cl_mem output;    /* memory of its own; NULL: none, or none yet */
  GemmclStepLaunch launch;
};

/** A problem made ready for one kernel. Setting arguments, enqueuing commands and changing the
 * fields after @level need the plan's lock. A kernel or buffer is NULL if it is not needed. */
struct _GemmclKernelPlan {
  /* Constant after creation. */
  GemmclContext *context;
  const GemmclDeviceInfo *device;
  GemmclGemm problem; /* a_frame and d_frame point into frames */
  GemmclFrame frames[2];
  GemmclGemm computed; /* the problem of the kernels: gemmcl_gemm_get_computed () */
  const GemmclKernel *kernel;
  guint split;               /* parts of K; 1: not split */
  GemmclChoiceSource source; /* origin of kernel and split */
  const gchar *name;         /* name of kernel and split; static */
  GemmclKernelLevel level;   /* level of multiply */

  cl_kernel gather;                   /* copies frames in images to a buffer */
  cl_kernel multiply;                 /* the gemm; with a split K, its parts as a batch */
  GemmclStep steps[GEMMCL_MAX_STEPS]; /* those of each run, in order */
  guint n_steps;
  gboolean makes_row_outputs; /* multiply computes the row outputs; FALSE: a step does */
  gsize n_tops;               /* elements of a row of tops; 0: none */
  gsize n_row_parts; /* parts of a row that row_outputs reduces and merge_rows merges; or 1 */
  /* In steps that process rows: the fewest work-items per row (some steps have more for long rows),
   * and elements that each reads at a time. */
  guint row_group, row_width;

  cl_mem zeros;   /* the first bias; also in place of the bias of parts of K */
  cl_mem image;   /* A, if multiply reads images */
  cl_mem parts;   /* sums of the parts of a split K, if multiply adds them (mma_tile.clh) */
  cl_mem logits;  /* input of softmax and normalize_rows if they cannot work in D, tight:
                  * batch x m x n */
  cl_mem state;   /* D of computed, all problems: the previous result, or D before it is pooled or
                   * scaled */
  cl_mem tops;    /* the largest elements of each tile's rows and their columns, in place of D, if
                   * multiply leaves those */
  cl_mem omitted; /* D of the problem, all problems, if runs have none but a step reads it */
  gboolean parts_are_void;         /* parts may hold counts of groups; TRUE at first */
  cl_event parts_cleared;          /* of the last command that cleared them, or NULL */
  gboolean state_is_void;          /* state means zeros, whatever it holds; TRUE at first */
  cl_event state_written;          /* of the last run, if state is the previous result; or NULL */
  GemmclBlocks a_blocks, b_blocks; /* blocks of A and B in images */

  GemmclKept kept[GEMMCL_N_KEPT]; /* indexed by GemmclPlanOperand */
};

/** Copies @from to @to and its frames to @frames. */
void gemmcl_copy_problem (GemmclGemm *to, GemmclFrame frames[2], const GemmclGemm *from);

/** A kernel plan for @gemm, without a kernel. */
GemmclKernelPlan *gemmcl_kernel_plan_alloc (GemmclContext *context, const GemmclGemm *gemm);

/** All of its runs must be done. */
void gemmcl_kernel_plan_free (GemmclKernelPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclKernelPlan, gemmcl_kernel_plan_free)

/** A buffer of @rows x @row_bytes for each problem of the batch. @what: see
 * gemmcl_context_create_buffer() */
cl_mem gemmcl_kernel_plan_create_memory (GemmclKernelPlan *self, gsize rows, gsize row_bytes,
                                         const gchar *what, GError **error);

/** The size of the work-groups of a step whose work-items share nothing: @size, or 1 on a device
 * that does not allow as many. */
gsize gemmcl_kernel_plan_fit_group (GemmclKernelPlan *self, gsize size);

/** Builds multiply at the first level that this driver can build: the one that the device promises,
 * or a lower one down to @worst. Fails if the device promises less than @worst. Replaces an earlier
 * multiply. */
gboolean gemmcl_kernel_plan_build_multiply (GemmclKernelPlan *self, const GemmclChoice *choice,
                                            GemmclKernelLevel worst, GError **error);

/** Does gemmcl_plan_adopt_previous(). Needs the locks of both plans. */
void gemmcl_kernel_plan_adopt_previous (GemmclKernelPlan *self, GemmclKernelPlan *from);

/** Describes multiply. */
GemmclPlanInfo gemmcl_kernel_plan_get_info (GemmclKernelPlan *self);
