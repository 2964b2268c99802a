/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of a plan know of each other. Functions that return objects give them away.
 */
#pragma once

#include "gemmcl-opencl.h"
#include "gemmcl-plan.h"
#include "kernels/kernels.h"
#include "plan/chain.h"

/**
 * GemmclBody:
 *
 * A problem made ready for one kernel: all of a plan that depends on the kernel. The plan's lock is
 * held while arguments are set and commands enqueued, and while what follows @level changes. A
 * kernel or a buffer that is not needed is NULL.
 */
typedef struct {
  /* What it is for; constant once made. */
  GemmclContext *context;
  const GemmclDeviceInfo *device; /* the context's */
  GemmclGemm problem;             /* its frames, if any, are the next two */
  GemmclImage images[2];
  GemmclGemm gemm; /* what the kernels compute: gemmcl_gemm_get_computed () */
  const GemmclKernel *kernel;
  guint split;               /* parts of K */
  GemmclChoiceSource source; /* of the choice of both */
  const gchar *name;         /* of both; static */
  GemmclKernelLevel level;   /* at which multiply was built */

  /* The steps of a run, one after another. */
  cl_kernel gather;      /* frames in images into bytes */
  cl_kernel pack;        /* B that came with this run, into panels or an image */
  cl_kernel im2col;      /* frames into rows of A, where multiply does not read pixels itself */
  cl_kernel quantize;    /* A into bytes, where multiply wants those */
  cl_kernel pack_a;      /* A into an image, likewise */
  cl_kernel load;        /* a previous result that came with this run, into the plan's */
  cl_kernel multiply;    /* with the epilogue; or parts of K, each as a batch of its own */
  cl_kernel reduce;      /* adds up those parts, with the epilogue */
  cl_kernel softmax;     /* over whole rows, where multiply's work-groups do not own them */
  cl_kernel store;       /* D from the result that the plan keeps */
  cl_kernel row_outputs; /* of the rows of D; multiply itself where its work-groups own them */
  /* Work-items that share a row in steps that go through rows, and what each reads at a time. */
  guint row_group, row_width;

  cl_mem features;           /* what im2col makes: batch x m x k, tight */
  cl_mem int8_a;             /* what quantize makes */
  cl_mem image_a;            /* what pack_a makes */
  cl_mem run_b;              /* what pack makes */
  cl_mem workspace, no_bias; /* what reduce adds up, and the bias of those: zeros */
  cl_mem logits;             /* what softmax reads when it cannot work in D: batch x m x n, tight */
  cl_mem state;              /* the previous result: gemm's D, for all batches */
  gboolean state_is_void;    /* it counts as zeros, whatever it holds; TRUE at first */
  GemmclBlocks a_blocks, b_blocks; /* how A and B lie in images */

  GemmclWeights *weights; /* B, packed as the kernel wants it or k x n; NULL: unset */
  cl_mem c, bias;         /* c in the problem's layout; NULL: unset */

  GPtrArray *slots; /* run.c's, as many as runs were under way; owned */
} GemmclBody;

/** GemmclTuner: The search of a plan for a faster kernel. */
typedef struct _GemmclTuner GemmclTuner;

#define GEMMCL_N_PLAN_OPERANDS (GEMMCL_PLAN_C + 1)

struct _GemmclPlan {
  GObject parent;

  GemmclTuner *tuner; /* NULL: no search; constant when the plan is used */

  GMutex lock;                                    /* guards what follows */
  GemmclBody *body;                               /* constant without a tuner */
  gboolean keeps_matrices;                        /* while the tuner may need the next */
  GemmclMatrix *matrices[GEMMCL_N_PLAN_OPERANDS]; /* that the operands were made of; NULL: unset */
  cl_command_queue upload, download; /* of a device with memory of its own; NULL: not needed yet */
  GemmclPlanStats stats;
};

/** GemmclOperands: what a run computes, and the buffers of it. */
typedef struct {
  gsize m, batch;
  cl_mem a, d, row_outputs;
  cl_mem b, c;     /* NULL: the plan's own */
  cl_mem weights;  /* the plan's own B; NULL: unset */
  cl_mem previous; /* what takes the place of the plan's, laid out as d; NULL: nothing */
  gboolean tight;  /* a, d and previous have no gaps, but those of a smaller m */
  float alpha, beta;
} GemmclOperands;

/* plan.c */

/** gemmcl_plan_copy_problem: @to gets copies of @from's frames in @images. */
void gemmcl_plan_copy_problem (GemmclGemm *to, GemmclImage images[2], const GemmclGemm *from);

/** gemmcl_body_new: Returns: a body; %NULL with any #GemmclError. @kernel: as for gemmcl_plan_new()
 */
GemmclBody *gemmcl_body_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                             GError **error);

/** gemmcl_body_free: Its runs must be done. */
void gemmcl_body_free (GemmclBody *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclBody, gemmcl_body_free)

/** gemmcl_body_create_memory: Returns: a buffer for a matrix of @rows for each batch; @what as for
 * gemmcl_context_create_buffer(). */
cl_mem gemmcl_body_create_memory (GemmclBody *self, gsize rows, gsize row_bytes, const gchar *what,
                                  GError **error);

/** gemmcl_body_build_step: Returns: whether @step is built, of @name in @source. Takes @options. */
gboolean gemmcl_body_build_step (GemmclBody *self, cl_kernel *step, const gchar *source,
                                 const gchar *name, gchar *options, GError **error);

/* warm-up.c */

/** gemmcl_body_warm_up: makes PoCL compile what it would compile at the plan's first run, if there
 * is memory for that. It does nothing on GPUs, whose drivers compile when a program is built. */
void gemmcl_body_warm_up (GemmclBody *self);

/* enqueue.c */

/** gemmcl_body_enqueue_locked: the steps of a run; with the plan's lock held. */
gboolean gemmcl_body_enqueue_locked (GemmclBody *self, const GemmclOperands *operands,
                                     GemmclChain *chain, GError **error);

/* pack.c: A and B as multiply reads them */

/** gemmcl_body_is_int8: Returns: whether the plan's kernel multiplies bytes. */
gboolean gemmcl_body_is_int8 (GemmclBody *self);

/** gemmcl_body_get_padded_n: Returns: N in whole panels. */
gsize gemmcl_body_get_padded_n (GemmclBody *self);

/** gemmcl_body_get_packed_size: Returns: elements of one B as the kernel wants it, in panels. */
gsize gemmcl_body_get_packed_size (GemmclBody *self);

/** gemmcl_body_create_packed: Returns: memory for the B of @batches, packed. */
cl_mem gemmcl_body_create_packed (GemmclBody *self, gsize batches, GError **error);

/** gemmcl_body_build_pack: the kernel for the function below. */
gboolean gemmcl_body_build_pack (GemmclBody *self, cl_kernel *pack, GError **error);

/**
 * gemmcl_body_launch_pack:
 * @scales: (nullable): f32, the N scales of the columns of a B that was int8, then N zero points
 *
 * Enqueues that @pack reads @b, laid out as @strides, into @packed.
 */
gboolean gemmcl_body_launch_pack (GemmclBody *self, cl_kernel pack, cl_mem b,
                                  const GemmclStrides *strides, cl_mem scales, cl_mem packed,
                                  gsize batch, GemmclChain *chain, GError **error);

/** gemmcl_body_build_pack_a: the step, with memory, if the kernel reads images. */
gboolean gemmcl_body_build_pack_a (GemmclBody *self, GError **error);

/** gemmcl_body_launch_pack_a: A of @p, which lies in @from; then @p tells how its image and B's
 * lie. */
gboolean gemmcl_body_launch_pack_a (GemmclBody *self, cl_mem from, GemmclProblem *p, gsize batch,
                                    GemmclChain *chain, GError **error);

/** gemmcl_body_build_quantize: the step, with memory, if the kernel takes bytes. */
gboolean gemmcl_body_build_quantize (GemmclBody *self, GError **error);

/** gemmcl_body_launch_quantize: A of @p, which lies in @from; then @p tells how its bytes lie. */
gboolean gemmcl_body_launch_quantize (GemmclBody *self, cl_mem from, GemmclProblem *p, gsize batch,
                                      GemmclChain *chain, GError **error);

/* operands.c */

/** gemmcl_body_set: Converts, packs and uploads an operand of a body that no plan has. */
gboolean gemmcl_body_set (GemmclBody *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                          GError **error);

/** gemmcl_body_create_bias: Returns: zeros with room for a panel's padding. */
cl_mem gemmcl_body_create_bias (GemmclBody *self, GError **error);

/** gemmcl_body_warm_up_b: Returns: memory of B as multiply reads it, not filled but by so much of
 * its packing as @chain's warm_up lets through. */
cl_mem gemmcl_body_warm_up_b (GemmclBody *self, cl_command_queue queue, GError **error);

/* planes.c: frames in images, which only kernels can read */

/** gemmcl_body_check_planes: Returns: whether a frame in images is what the plan can read; else
 * %FALSE with #GEMMCL_ERROR_INVALID. */
gboolean gemmcl_body_check_planes (GemmclBody *self, const GemmclData *frame, GError **error);

/** gemmcl_body_build_gather: the step, if the plan may be given frames in images. */
gboolean gemmcl_body_build_gather (GemmclBody *self, GError **error);

/** gemmcl_body_gather: enqueues that the planes of @frame are put as bytes into @to: frames one
 * after another, of which this one is @index. */
gboolean gemmcl_body_gather (GemmclBody *self, const GemmclData *frame, gsize index, cl_mem to,
                             GemmclChain *chain, GError **error);

/** gemmcl_body_warm_up_gather: the same, of a frame that does not matter. */
gboolean gemmcl_body_warm_up_gather (GemmclBody *self, cl_mem to, GemmclChain *chain,
                                     GError **error);

/* state.c: the previous result that a plan with GEMMCL_ADDEND_PREVIOUS keeps. Kernels work in
 * it, as their D and their C; of it the last step makes the D that the caller gets. These do
 * nothing without it. */

/** gemmcl_body_build_state: the steps, and memory. */
gboolean gemmcl_body_build_state (GemmclBody *self, GError **error);

/** gemmcl_body_launch_load: before the kernels: zeros, or what came with the run, if it counts. */
gboolean gemmcl_body_launch_load (GemmclBody *self, const GemmclOperands *operands,
                                  GemmclChain *chain, GError **error);

/** gemmcl_body_launch_store: behind them: D. */
gboolean gemmcl_body_launch_store (GemmclBody *self, const GemmclOperands *operands,
                                   GemmclChain *chain, GError **error);

/** gemmcl_body_adopt_previous: gemmcl_plan_adopt_previous() with the locks of both plans held. */
void gemmcl_body_adopt_previous (GemmclBody *self, GemmclBody *from);

/* check.c */

/** gemmcl_body_check_run: Returns: whether @run of @m rows and @batch problems can be one of the
 * plan; else %FALSE with #GEMMCL_ERROR_INVALID. */
gboolean gemmcl_body_check_run (GemmclBody *self, const GemmclRun *run, gsize m, gsize batch,
                                GError **error);

/* run.c */

void gemmcl_body_init_runs (GemmclBody *self);

/** gemmcl_body_wait: Waits for what was submitted. */
void gemmcl_body_wait (GemmclBody *self);

/** gemmcl_body_reap: Makes the slots of runs that are done free again, and adds those to @stats. */
void gemmcl_body_reap (GemmclBody *self, GemmclPlanStats *stats);

/* auto-tune.c: gemmcl_plan_auto_tune () */

/** gemmcl_tuner_begin: Keeps the plan's body, for an operand that is prepared for it. May wait
 * while the tuner prepares one. Returns: a reference for gemmcl_tuner_end(). */
GemmclTuner *gemmcl_tuner_begin (GemmclTuner *self);

/** gemmcl_tuner_end: The operand is used or dropped. */
void gemmcl_tuner_end (GemmclTuner *self);

/** gemmcl_tuner_leave: Takes @self from its plan, which goes. Waits for runs of a body that was the
 * plan's; a search is cancelled and not waited for. */
void gemmcl_tuner_leave (GemmclTuner *self);

/* transfer.c: between the caller's memory and the plan's */

/**
 * GemmclTransfer:
 * @which: A, D or the row outputs
 * @to_device: from the caller to the plan, not back
 * @m: rows of this run
 * @index: of the problem, in @buffer
 * @data: where the caller has it: memory of the host, or a buffer
 * @buffer: the plan's, where problems lie tight, one after another
 * @chain: where the copies are enqueued
 */
typedef struct {
  GemmclBody *body;
  GemmclOperand which;
  gboolean to_device;
  gsize m, index;
  const GemmclData *data;
  cl_mem buffer;
  GemmclChain *chain;
} GemmclTransfer;

/** gemmcl_transfer: enqueues the copies. */
gboolean gemmcl_transfer (const GemmclTransfer *self, GError **error);

/**
 * gemmcl_transfer_share:
 * @self: of a run of one problem, without buffer and chain
 *
 * Returns: a buffer that is the caller's memory itself, in place of a copy; %NULL where it cannot
 *   be one (the device has memory of its own and this is the host's, or the elements lie otherwise)
 *   or where copying is quicker.
 */
cl_mem gemmcl_transfer_share (const GemmclTransfer *self);

/** gemmcl_body_create_copy: Returns: a buffer for what can be transferred, of all problems. */
cl_mem gemmcl_body_create_copy (GemmclBody *self, GemmclOperand which, GError **error);

/** gemmcl_body_get_operand_bytes: Returns: of what can be transferred, of one problem of @m rows;
 * tight. */
gsize gemmcl_body_get_operand_bytes (GemmclBody *self, GemmclOperand which, gsize m);
