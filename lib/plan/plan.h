/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Declarations that the files of a plan share. The caller owns returned objects. Functions with a
 * #GError return %FALSE or %NULL if they set it.
 */
#pragma once

#include "gemmcl-opencl.h"
#include "gemmcl-plan.h"
#include "kernels/kernels.h"

/* chain.c */

/** Commands in one or more queues, each waiting for the one before. If one fails, all later ones
 * fail; when the last one is done, all are. Do not move a chain: @wait may point into it. */
typedef struct {
  cl_command_queue queue; /* of the next command */
  /* One for each command. Keep them until the last one is done: when an event fails, PoCL 3 also
   * fails the commands that wait for it, and accesses that event once more. */
  GPtrArray *events;
  guint n_wait; /* events that the next command waits for */
  const cl_event *wait;
  cl_event first, kernel, last; /* the first and the last kernel, the last command */
  /* Work-items that are launched at once, along a kernel's first dimension. The queue is finished
   * between slices, so that other queues get their turn. 0: all at once. */
  gsize slice;
  gboolean warm_up; /* launch only as much of each kernel as makes PoCL compile it */
} GemmclChain;

/** An array that releases its events when they are removed. */
GPtrArray *gemmcl_events_new (void);

/** Returns: an OpenCL status. @ns: (out): nanoseconds from the start of @first to the end of @last
 * by the device's clock; 0 if the queue does not report them */
cl_int gemmcl_events_get_duration (cl_event first, cl_event last, guint64 *ns);

/** The wait-list arguments of clEnqueue functions, which require NULL for an empty list. */
#define CHAIN_WAIT(chain) (chain)->n_wait, (chain)->n_wait > 0 ? (chain)->wait : NULL

/** Adds a command to the chain, unless it failed: @status is the result of a clEnqueue function
 * that was called with CHAIN_WAIT() and @done (transfer full). @what: the command, in a message */
gboolean gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                           GError **error);

/** Work-items of a group, side by side in a row, if they share nothing. */
#define GROUP 64

#define ROUND_UP(n, group) (((n) + (group)-1) / (group) * (group))

/** Sets the arguments of @kernel, each as ARGUMENT(), then a size of 0, and adds a launch to the
 * chain. @name: for the message; @global: a multiple of @local, the work-group, which is never left
 * to the driver: PoCL would compile again for each */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name,
                              const gsize global[3], const gsize local[3], GError **error, ...);

/** A work-group of @n work-items along the first dimension. */
#define IN_A_ROW(n) ((const gsize[3]){n, 1, 1})

#define ARGUMENT(value) sizeof (value), &(value)

/** gemmcl_chain_launch() with the final size of 0. */
#define LAUNCH(...) gemmcl_chain_launch (__VA_ARGS__, (gsize)0)

#define GEMMCL_N_PLAN_OPERANDS (GEMMCL_PLAN_C + 1)

/** An operand on the device. */
typedef struct {
  GemmclWeights *weights; /* of B: those that have the buffer, too; else NULL */
  cl_mem buffer;          /* B as the kernel reads it, packed or k x n; C in the problem's layout */
  GemmclMatrix *matrix;   /* its source, for the tuner; may be NULL */
} GemmclHeld;

/** A problem made ready for one kernel: everything in a plan that depends on the kernel. Setting
 * arguments, enqueuing commands and changing the fields after @level need the plan's lock. A kernel
 * or buffer is NULL if it is not needed. */
typedef struct {
  /* Constant after creation. */
  GemmclContext *context;
  const GemmclDeviceInfo *device;
  GemmclGemm problem; /* a_image and d_image point into images */
  GemmclImage images[2];
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
  cl_kernel multiply; /* the gemm with its epilogue; with a split K, each part as a batch entry */
  cl_kernel reduce;   /* adds up the parts and applies the epilogue */
  cl_kernel softmax;  /* softmax, unless multiply computes it */
  cl_kernel normalize_d; /* divides rows of D by their norms */
  cl_kernel store;       /* converts state to D */
  cl_kernel row_outputs; /* row outputs, unless multiply computes them */
  /* In steps that process rows: work-items per row, and elements that each reads at a time. */
  guint row_group, row_width;

  cl_mem features;           /* output of im2col and normalize_a: batch x m x k, tight */
  cl_mem int8_a;             /* output of quantize */
  cl_mem image_a;            /* output of pack_a */
  cl_mem run_b;              /* output of pack */
  cl_mem workspace, no_bias; /* split-K workspace, and the zeros that are its bias */
  cl_mem logits;             /* input of softmax and normalize_d if they cannot work in D: batch x m
                              * x n, tight */
  cl_mem state;              /* the previous result: D of gemm, all batches */
  gboolean state_is_void;    /* state means zeros, whatever it holds; TRUE at first */
  GemmclBlocks a_blocks, b_blocks; /* blocks of A and B in images */

  GemmclHeld operands[GEMMCL_N_PLAN_OPERANDS]; /* indexed by GemmclPlanOperand */

  GPtrArray *slots; /* slots of run.c, as many as there were runs in flight at once; owned */
  guint oldest;     /* index of the slot whose run is the oldest */
} GemmclBody;

struct _GemmclPlan {
  GObject parent;

  GCancellable *cancellable; /* of the search; NULL: none; set before the plan is used */

  GMutex lock;                       /* guards the following fields */
  GCond changed;                     /* of the fields of the search */
  GemmclBody *body;                  /* constant if there is no search */
  cl_command_queue upload, download; /* for a device with memory of its own; NULL: not needed yet */
  GemmclPlanStats stats;
  gdouble ns_per_flop; /* of the last run with a time; 0 before it */

  /* The search for a faster kernel: auto-tune.c */
  GemmclTuningState tuning;
  GemmclTuningResult *result; /* constant once set, like why */
  gchar *why;
  gboolean searches; /* its thread has not ended; the operands' sources are kept for it */
  gboolean claimed;  /* no operand may be prepared */
  guint n_prepared;  /* operands that are being prepared, or are neither used nor freed */
};

/** The arguments and buffers of a run. */
typedef struct {
  gsize m, batch;
  cl_mem a, d, row_outputs;
  cl_mem b, c;     /* NULL: the plan's own */
  cl_mem previous; /* replaces the plan's previous result, laid out as d; NULL: keep it */
  gboolean tight;  /* a, d and previous have no gaps, except those of a smaller m */
  float alpha, beta;
} GemmclOperands;

/* chain.c */

/** A buffer of @rows x @row_bytes for each batch. @what: see gemmcl_context_create_buffer() */
cl_mem gemmcl_body_create_memory (GemmclBody *self, gsize rows, gsize row_bytes, const gchar *what,
                                  GError **error);

/** Builds @step from the kernel function @name in @source. Takes @options. */
gboolean gemmcl_body_build_step (GemmclBody *self, cl_kernel *step, const gchar *source,
                                 const gchar *name, gchar *options, GError **error);

/* plan.c */

/** Copies @from to @to and its frames to @images. */
void gemmcl_plan_copy_problem (GemmclGemm *to, GemmclImage images[2], const GemmclGemm *from);

/** @kernel: as for gemmcl_plan_new() */
GemmclBody *gemmcl_body_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                             GError **error);

/** All of its runs must be done. */
void gemmcl_body_free (GemmclBody *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclBody, gemmcl_body_free)

/* proof.c */

/** TRUE if @kernel needs no proof or was right. One that depends on more than the driver promises
 * multiplies small integers first. The result is cached for each driver, and logged at level INFO.
 */
gboolean gemmcl_kernel_is_proven (GemmclContext *context, const GemmclKernel *kernel,
                                  GError **error);

/* enqueue.c */

/** Builds the steps besides multiply, and allocates their memory. */
gboolean gemmcl_body_build_steps (GemmclBody *self, GError **error);

/** Enqueues the steps of a run. Needs the plan's lock. */
gboolean gemmcl_body_enqueue_locked (GemmclBody *self, const GemmclOperands *operands,
                                     GemmclChain *chain, GError **error);

/* pack.c: A and B in the form that multiply reads */

gboolean gemmcl_body_is_int8 (GemmclBody *self);

/** N rounded up to whole panels. */
gsize gemmcl_body_get_padded_n (GemmclBody *self);

/** Elements of one packed B, or of its part of a split K. */
gsize gemmcl_body_get_packed_size (GemmclBody *self);

/** The compiler's options for the program that packs B in panels. */
gchar *gemmcl_body_get_pack_options (GemmclBody *self);

/** Memory for @batches packed B. */
cl_mem gemmcl_body_create_packed (GemmclBody *self, gsize batches, GError **error);

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

void gemmcl_held_clear (GemmclHeld *self);

/** Converts, packs and uploads @matrix. @held: replaced; not in use */
gboolean gemmcl_body_prepare (GemmclBody *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                              GemmclHeld *held, GError **error);

/** Zeros, with room for a panel's padding. */
cl_mem gemmcl_body_create_bias (GemmclBody *self, GError **error);

/** Makes the body's B memory with undefined content, after a warm-up of the packing. */
gboolean gemmcl_body_warm_up_b (GemmclBody *self, cl_command_queue queue, GError **error);

/* state.c: the result in f32, if a step converts it to the caller's D: with GEMMCL_ADDEND_PREVIOUS,
 * where the kernels also use it as their C, and if D is scaled. Otherwise these functions do
 * nothing. */

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

/** TRUE if the plan can do @run with @m rows and @batch problems. */
gboolean gemmcl_body_check_run (GemmclBody *self, const GemmclRun *run, gsize m, gsize batch,
                                GError **error);

/** Builds the step, if A may be frames in images. */
gboolean gemmcl_body_build_gather (GemmclBody *self, GError **error);

/** Enqueues gathering a placeholder frame. */
gboolean gemmcl_body_warm_up_gather (GemmclBody *self, cl_mem to, GemmclChain *chain,
                                     GError **error);

/** Enqueues copying the planes of @frame, in images, into @to as its frame @index. */
gboolean gemmcl_body_gather (GemmclBody *self, const GemmclData *frame, gsize index, cl_mem to,
                             GemmclChain *chain, GError **error);

/* run.c */

void gemmcl_body_init_runs (GemmclBody *self);

/** Waits for all submitted runs. */
void gemmcl_body_wait (GemmclBody *self);

/** Makes the slots of completed runs of @body, the plan's present or last one, free again and
 * counts the runs. Needs the plan's lock. */
void gemmcl_plan_reap_locked (GemmclPlan *self, GemmclBody *body);

/* transfer.c: copies between the caller's memory and the plan's */

typedef struct {
  GemmclBody *body;
  GemmclOperand which;    /* A, D or the row outputs */
  gboolean to_device;     /* from the caller to the plan; FALSE: back */
  gsize m;                /* rows in this run */
  gsize index;            /* the problem's in @buffer */
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

/* search-data.c */

/** The matrices of a search, in a queue of its own: pseudo-random, the same in each search. B is
 * scaled so that D is neither saturated nor tiny; C and bias are zeros. */
typedef struct _GemmclSearchData GemmclSearchData;

/** %NULL with #GEMMCL_ERROR_TOO_LARGE if it needs more than half of the device's memory. @gemm: a
 * valid problem; @n_plans: the number of plans that have a B at once */
GemmclSearchData *gemmcl_search_data_new (GemmclContext *context, const GemmclGemm *gemm,
                                          guint n_plans, GError **error);

void gemmcl_search_data_free (GemmclSearchData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclSearchData, gemmcl_search_data_free)

/** A plan for the problem, with B set. @kernel: as for gemmcl_plan_new() */
GemmclPlan *gemmcl_search_data_make_plan (GemmclSearchData *self, const gchar *kernel,
                                          GError **error);

/** Runs @plan once and waits. @rows: rows of A and D of a problem without frames and batch; 0: all.
 * @seconds: (out): the device's time for it, more than 0 */
gboolean gemmcl_search_data_run (GemmclSearchData *self, GemmclPlan *plan, gsize rows,
                                 gdouble *seconds, GError **error);

/** Does the first run of @plan and checks D, with #GEMMCL_ERROR_KERNEL if it is wrong. The first D
 * that passes is the reference for all others: no element may differ from it by more than both may
 * differ from the exact one, by gemmcl_gemm_verify()'s formula with the largest |A| and |B|. If A
 * is a matrix and D is f32, gemmcl_gemm_verify() also checks a few rows. */
gboolean gemmcl_search_data_check (GemmclSearchData *self, GemmclPlan *plan, gdouble *seconds,
                                   GError **error);
