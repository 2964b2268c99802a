/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A problem made ready for one kernel, the steps of its runs, and the runs. The caller owns
 * returned objects. Functions with a #GError return %FALSE or %NULL if they set it. The files are
 * listed in the order of their layers: each calls only functions of files above it.
 */
#pragma once

#include "device/commands.h"
#include "device/context.h"
#include "gemmcl-plan.h"
#include "kernels/choice.h"
#include "problem/frame.h"

#define GEMMCL_N_PLAN_OPERANDS (GEMMCL_PLAN_C + 1)

/** An operand on the device. */
typedef struct {
  GemmclWeights *weights; /* B's buffer, shared with other plans; NULL for other operands */
  cl_mem buffer;          /* B as the kernel reads it, packed or k x n; C in the problem's layout */
  GemmclMatrix *matrix;   /* its source, which auto-tune needs; may be NULL */
} GemmclHeld;

/** A problem made ready for one kernel: everything in a plan that depends on the kernel. Setting
 * arguments, enqueuing commands and changing the fields after @level need the plan's lock. A kernel
 * or buffer is NULL if it is not needed. */
typedef struct {
  /* Constant after creation. */
  GemmclContext *context;
  const GemmclDeviceInfo *device;
  GemmclGemm problem; /* a_frame and d_frame point into frames */
  GemmclFrame frames[2];
  GemmclGemm gemm; /* the problem of the kernels: gemmcl_gemm_get_computed () */
  const GemmclKernel *kernel;
  guint split;               /* parts of K; 1: not split */
  GemmclChoiceSource source; /* origin of kernel and split */
  const gchar *name;         /* name of kernel and split; static */
  GemmclKernelLevel level;   /* level of multiply */

  /* The steps of a run, in order. */
  cl_kernel gather;      /* copies frames in images to a buffer */
  cl_kernel pack;        /* packs a run's own B into panels or an image */
  cl_kernel im2col;      /* converts frames to rows of A, unless multiply reads pixels itself */
  cl_kernel normalize_a; /* divides rows of A by their norms */
  cl_kernel quantize;    /* quantizes A, if multiply is int8 */
  cl_kernel pack_a;      /* packs A into an image, if multiply reads images */
  cl_kernel load;        /* copies a run's own previous result to state */
  cl_kernel multiply;    /* the gemm with its epilogue; with a split K, its parts as a batch */
  cl_kernel reduce;      /* adds up the parts and applies the epilogue */
  cl_kernel softmax;     /* softmax, unless multiply computes it */
  cl_kernel normalize_d; /* divides rows of D by their norms */
  cl_kernel store;       /* converts state to D */
  cl_kernel row_outputs; /* row outputs, unless multiply computes them */
  /* In steps that process rows: work-items per row, and elements that each reads at a time. */
  guint row_group, row_width;

  cl_mem features;           /* output of im2col and normalize_a: batch x m x k, tight */
  cl_mem int8_a;             /* output of quantize */
  cl_mem image_a;            /* output of pack_a */
  cl_mem run_b;              /* output of pack */
  cl_mem workspace, no_bias; /* split-K workspace, and zeros in place of the bias */
  cl_mem logits;             /* input of softmax and normalize_d if they cannot work in D, tight:
                              * batch x m x n */
  cl_mem state;              /* D of gemm, all problems: the previous result, or D to be scaled */
  gboolean state_is_void;    /* state means zeros, whatever it holds; TRUE at first */
  cl_event state_written;    /* of the last run, if state is the previous result; or NULL */
  GemmclBlocks a_blocks, b_blocks; /* blocks of A and B in images */

  GemmclHeld operands[GEMMCL_N_PLAN_OPERANDS]; /* indexed by GemmclPlanOperand */
} GemmclBody;

/** The arguments and buffers of a run. */
typedef struct {
  gsize m, batch;
  cl_mem a, d, row_outputs;
  cl_mem b, c;     /* NULL: the plan's own */
  cl_mem previous; /* replaces the plan's previous result, laid out as d; NULL: keep it */
  gboolean tight;  /* a, d and previous have no gaps if m is the plan's */
  float alpha, beta;
  cl_int progressive; /* interlaced frames are not interlaced in this run */
} GemmclOperands;

/* body.c: life, kernels and memory */

/** Copies @from to @to and its frames to @frames. */
void gemmcl_copy_problem (GemmclGemm *to, GemmclFrame frames[2], const GemmclGemm *from);

void gemmcl_held_clear (GemmclHeld *self);

/** A body for @gemm, without a kernel. */
GemmclBody *gemmcl_body_alloc (GemmclContext *context, const GemmclGemm *gemm);

/** All of its runs must be done. */
void gemmcl_body_free (GemmclBody *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclBody, gemmcl_body_free)

/** A buffer of @rows x @row_bytes for each problem of the batch. @what: see
 * gemmcl_context_create_buffer() */
cl_mem gemmcl_body_create_memory (GemmclBody *self, gsize rows, gsize row_bytes, const gchar *what,
                                  GError **error);

/** The size of the work-groups of a step whose work-items share nothing: @size, or 1 on a device
 * that does not allow as many. */
gsize gemmcl_body_fit_group (GemmclBody *self, gsize size);

/** Builds @step from the kernel function @name in @source. Takes @options. */
gboolean gemmcl_body_build_step (GemmclBody *self, cl_kernel *step, const gchar *source,
                                 const gchar *name, gchar *options, GError **error);

/** Builds multiply at the first level that this driver can build: the one that the device promises,
 * or a lower one down to @worst. Fails if the device promises less than @worst. Replaces an earlier
 * multiply. */
gboolean gemmcl_body_build_multiply (GemmclBody *self, const GemmclChoice *choice,
                                     GemmclKernelLevel worst, GError **error);

/** Describes multiply. */
GemmclPlanInfo gemmcl_body_get_info (GemmclBody *self);

/* pack.c: A and B in the form that multiply reads */

gboolean gemmcl_body_is_int8 (GemmclBody *self);

/** N rounded up to whole panels. */
gsize gemmcl_body_get_padded_n (GemmclBody *self);

/** Elements of one packed B, or of its part of a split K. */
gsize gemmcl_body_get_packed_size (GemmclBody *self);

/** The compiler's options for the program that packs B in panels. */
gchar *gemmcl_body_get_pack_options (GemmclBody *self);

/** Memory for @n packed B. */
cl_mem gemmcl_body_create_packed (GemmclBody *self, gsize n, GError **error);

/** Builds the kernel for gemmcl_body_launch_pack(). */
gboolean gemmcl_body_build_pack (GemmclBody *self, cl_kernel *pack, GError **error);

/** Enqueues packing @b, laid out as @strides, into @packed. @scales: (nullable): for a B that was
 * int8: N scales of its columns, then N zero points, all f32 */
gboolean gemmcl_body_launch_pack (GemmclBody *self, cl_kernel pack, cl_mem b,
                                  const GemmclStrides *strides, cl_mem scales, cl_mem packed,
                                  gsize batch, GemmclChain *chain, GError **error);

/** Builds the step and allocates its image, if the kernel reads images. */
gboolean gemmcl_body_build_pack_a (GemmclBody *self, GError **error);

/** Packs A of @p, in @from, into the image. Changes the strides of A and B in @p to its own. */
gboolean gemmcl_body_launch_pack_a (GemmclBody *self, cl_mem from, GemmclProblem *p, gsize batch,
                                    GemmclChain *chain, GError **error);

/* operands.c */

/** Converts, packs and uploads @matrix. @held: replaced; not in use */
gboolean gemmcl_body_prepare (GemmclBody *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                              GemmclHeld *held, GError **error);

/** Zeros, with room for a panel's padding. */
cl_mem gemmcl_body_create_bias (GemmclBody *self, GError **error);

/** Warms up the packing, and sets the body's B to memory with undefined content. */
gboolean gemmcl_body_warm_up_b (GemmclBody *self, cl_command_queue queue, GError **error);

/* The state: the result in f32 that a last step converts to the caller's D. It exists with
 * GEMMCL_ADDEND_PREVIOUS, where the kernels also use it as their C, and if D is scaled. Without it
 * these functions do nothing. */

gboolean gemmcl_body_build_state (GemmclBody *self, GError **error);

/** Enqueues, before the kernels, filling the previous result with zeros or with the run's own. */
gboolean gemmcl_body_launch_load (GemmclBody *self, const GemmclOperands *operands,
                                  GemmclChain *chain, GError **error);

/** Enqueues, after the kernels, writing D. */
gboolean gemmcl_body_launch_store (GemmclBody *self, const GemmclOperands *operands,
                                   GemmclChain *chain, GError **error);

/** Does gemmcl_plan_adopt_previous(). Needs the locks of both plans. */
void gemmcl_body_adopt_previous (GemmclBody *self, GemmclBody *from);

/* data.c: the caller's data */

/** TRUE if the plan can do @run, whose m and batch are not 0. */
gboolean gemmcl_body_check_run (GemmclBody *self, const GemmclRun *run, GError **error);

/** Builds the step, if A may be frames in images. */
gboolean gemmcl_body_build_gather (GemmclBody *self, GError **error);

/** A copy between the caller's memory and the plan's. */
typedef struct {
  GemmclBody *body;
  GemmclOperand which;    /* A, D or the row outputs */
  gboolean to_device;     /* from the caller to the plan; FALSE: back */
  gsize m;                /* rows in this run */
  gboolean progressive;   /* see GemmclRun */
  gsize index;            /* of the problem in @buffer */
  const GemmclData *data; /* the caller's place; images only for A */
  cl_mem buffer;          /* the plan's, with problems tight, one after another */
  GemmclChain *chain;     /* receives the copies */
} GemmclTransfer;

/** Enqueues the copies. */
gboolean gemmcl_transfer (const GemmclTransfer *self, GError **error);

/** A buffer on the caller's memory itself, which needs no copy; %NULL if that is impossible (host
 * memory of a device with memory of its own, another layout or alignment), or if a copy is faster.
 * @self: a run of one problem, without buffer and chain */
cl_mem gemmcl_transfer_share (const GemmclTransfer *self);

/** A buffer for A, D or the row outputs of all problems. */
cl_mem gemmcl_body_create_copy (GemmclBody *self, GemmclOperand which, GError **error);

/** Bytes of A, D or the row outputs of one problem of @m rows, tight. */
gsize gemmcl_body_get_operand_bytes (GemmclBody *self, GemmclOperand which, gsize m);

/** The reason why @run, whose m and batch are not 0, copies @which, A or D. @data: (nullable): of
 * @run */
GemmclCopyReason gemmcl_body_explain_copy (GemmclBody *self, const GemmclRun *run,
                                           GemmclOperand which, const GemmclData *data);

/* enqueue.c */

/** Builds the steps besides multiply, and allocates their memory. */
gboolean gemmcl_body_build_steps (GemmclBody *self, GError **error);

/** Enqueues the steps of a run. Needs the plan's lock. */
gboolean gemmcl_body_enqueue (GemmclBody *self, const GemmclOperands *operands, GemmclChain *chain,
                              GError **error);

/* run.c: runs of a body */

/** Runs, their resources and statistics. Zeros at first. Use it from one thread at a time. */
typedef struct {
  GQueue slots; /* slots of run.c, oldest run first, as many as were in flight at once; owned */
  cl_command_queue queue;            /* the context's, of the last runs; NULL before the first */
  cl_command_queue upload, download; /* for a device with memory of its own; NULL: not needed yet */
  GemmclContext *context;            /* of the last runs; not owned */
  gboolean failed;                   /* a run failed; its queues may fail all later ones */
  GemmclPlanStats stats;
  gdouble ns_per_flop; /* of the last run with a time; 0 before it */
} GemmclRuns;

/** All runs must be done. */
void gemmcl_runs_clear (GemmclRuns *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclRuns, gemmcl_runs_clear)

/** Does gemmcl_plan_submit(). @run: as gemmcl_body_check_run() accepts it; @body: of the same
 * context in all runs */
gboolean gemmcl_runs_submit (GemmclRuns *self, GemmclBody *body, const GemmclRun *run,
                             cl_event *first, cl_event *done, GError **error);

/** (transfer full): the last event of each run that may not be done, to wait for. */
GPtrArray *gemmcl_runs_get_events (GemmclRuns *self);

GemmclPlanStats gemmcl_runs_get_stats (GemmclRuns *self);

/* choose.c: the choice of the kernel */

/** A body that is ready for runs. @kernel: as for gemmcl_plan_new() */
GemmclBody *gemmcl_body_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                             GError **error);
