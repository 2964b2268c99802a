/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-tuning.h"
#include "kernels.h"
#include "plan-chain.h"
#include "weights.h"

/**
 * A plan is up to ten kernels that run one after another, most often one:
 *
 *     [pack]     B that came with this run, into panels or an image
 *     [ingest]   pictures into the rows of A, where the gemm does not read pixels itself
 *     [quantize] A into bytes, where the gemm multiplies those
 *     [pack_a]   A into an image, where the gemm reads images
 *     [load]     a previous result that came with this run, into the plan's
 *     multiply   the gemm with its epilogue; or parts of K, each as a batch of its own
 *     [reduce]   adds up those parts, with the epilogue
 *     [softmax]  over whole rows, where the gemm's work-items do not own them
 *     [store]    D from the result that the plan keeps
 *     [rows]     sum, max and arg-max of the rows of D
 *
 * A kernel that is not needed is NULL, and so is a buffer.
 */
struct _GemmclPlan {
  GObject parent;

  /* What it is for; constant once made. */
  GemmclContext *context;
  GemmclGemm stated; /* its pictures, if any, are the next two */
  GemmclImage a_image, d_image;
  GemmclGemm gemm; /* what the kernels compute: gemmcl_gemm_get_computed () */
  const GemmclKernel *row;
  guint split;               /* parts of K */
  GemmclChoiceSource source; /* of the choice of both */
  const gchar *name;         /* of row and split; static */
  GemmclKernelLevel level;   /* at which multiply was built */

  /* Held while arguments are set and commands enqueued, and while any of what follows changes. */
  GMutex lock;
  cl_kernel pack, ingest, quantize, pack_a, load, multiply, reduce, softmax, store, rows;
  guint quantize_group, softmax_group, rows_group;
  cl_mem features;        /* what ingest makes: batch x m x k, tight */
  cl_mem bytes;           /* what quantize makes */
  cl_mem logits;          /* what softmax reads when it cannot work in D: batch x m x n, tight */
  GemmclWeights *weights; /* B, packed as the row wants it or k x n; NULL: unset */
  cl_mem c, bias;         /* c in the problem's layout; NULL: unset */
  cl_mem run_b;           /* what pack makes of a run's own B */
  cl_mem image_a;
  cl_mem parts, no_bias;           /* what reduce adds up, and the bias of those: zeros */
  GemmclBlocks a_blocks, b_blocks; /* how A and B lie in images */
  cl_mem state;                    /* the previous result: gemm's D, for all batches */
  gboolean state_is_void;          /* it counts as zeros, whatever it holds; TRUE at first */

  /* For gemmcl_plan_submit(). */
  GPtrArray *slots;                  /* plan-run.c's, as many as runs were under way; owned */
  cl_command_queue upload, download; /* of a device with memory of its own; NULL: not needed yet */
  cl_kernel gather;                  /* before all else: frames in images into bytes */
  GemmclPlanStats stats;
};

/** GemmclOperands: the buffers of a run, how they are laid out and scaled. */
typedef struct {
  cl_mem a, d, rows;
  cl_mem b, c;     /* NULL: the plan's own */
  cl_mem weights;  /* the plan's own B; NULL: unset */
  cl_mem previous; /* what takes the place of the plan's, laid out as d; NULL: nothing */
  gboolean tight;  /* a, d and previous have no gaps, but those of a smaller m */
  float alpha, beta;
} GemmclOperands;

/** gemmcl_plan_enqueue_locked: the steps of a run of @m rows and @batch problems; with the plan's
 * lock held. */
gboolean gemmcl_plan_enqueue_locked (GemmclPlan *self, const GemmclOperands *operands, gsize m,
                                     gsize batch, GemmclChain *chain, GError **error);

/** gemmcl_plan_is_cpu: Returns: whether the plan's device is a CPU. */
gboolean gemmcl_plan_is_cpu (GemmclPlan *self);

/** gemmcl_plan_get_packed_size: Returns: elements of one B as the kernel wants it, in panels. */
gsize gemmcl_plan_get_packed_size (GemmclPlan *self);

/**
 * GemmclByteScales:
 * @scales: f32 for each column of B, @zeros: i32
 *
 * What a B that was quantised before states of its columns; %NULL where it does not.
 */
typedef struct {
  cl_mem scales, zeros;
} GemmclByteScales;

/** gemmcl_plan_launch_pack: enqueues that @pack reads @b, laid out as @strides, into @packed. */
gboolean gemmcl_plan_launch_pack (GemmclPlan *self, cl_kernel pack, cl_mem b,
                                  const GemmclStrides *strides, const GemmclByteScales *scales,
                                  cl_mem packed, gsize batch, GemmclChain *chain, GError **error);

/** gemmcl_plan_create_pack: Returns: (transfer full): a kernel for the function above. */
cl_kernel gemmcl_plan_create_pack (GemmclPlan *self, GError **error);

/** gemmcl_plan_create_packed: Returns: (transfer full): memory for the B of @batches, packed. */
cl_mem gemmcl_plan_create_packed (GemmclPlan *self, gsize batches, GError **error);

/** gemmcl_plan_create_pack_image: Returns: (transfer full): a kernel for the function below. */
cl_kernel gemmcl_plan_create_pack_image (GemmclPlan *self, GemmclOperand which, GError **error);

/** gemmcl_plan_create_image: Returns: (transfer full): an image of @blocks, or the buffer in its
 * place; @what as for buffers. */
cl_mem gemmcl_plan_create_image (GemmclPlan *self, const GemmclBlocks *blocks, const gchar *what,
                                 GError **error);

/** GemmclImagePack: @rows x @cols elements of @from, laid out as @strides, into @image. */
typedef struct {
  cl_kernel kernel;
  cl_mem from, image;
  GemmclStrides strides;
  gsize rows, cols, batches;
  const GemmclBlocks *blocks;
} GemmclImagePack;

/** gemmcl_plan_launch_pack_image: enqueues that. */
gboolean gemmcl_plan_launch_pack_image (const GemmclImagePack *pack, GemmclChain *chain,
                                        GError **error);

/** gemmcl_plan_check_run: Returns: whether @run of @m rows and @batch problems can be one of the
 * plan; else %FALSE with #GEMMCL_ERROR_INVALID. */
gboolean gemmcl_plan_check_run (GemmclPlan *self, const GemmclRun *run, gsize m, gsize batch,
                                GError **error);

void gemmcl_plan_init_runs (GemmclPlan *self);

/** gemmcl_plan_clear_runs: waits for what was submitted and drops what runs use. */
void gemmcl_plan_clear_runs (GemmclPlan *self);

/** gemmcl_plan_create_memory: Returns: (transfer full): a buffer for a matrix of @rows for each
 * batch; @what as for gemmcl_context_create_buffer(). */
cl_mem gemmcl_plan_create_memory (GemmclPlan *self, gsize rows, gsize row_bytes, const gchar *what,
                                  GError **error);

/**
 * gemmcl_plan_warm_up:
 *
 * Makes PoCL compile what it would compile at the plan's first run. It does nothing on GPUs, whose
 * drivers compile when a program is built.
 */
gboolean gemmcl_plan_warm_up (GemmclPlan *self, GError **error);

/** gemmcl_plan_warm_up_b: Returns: (transfer full): memory of B as multiply reads it, not filled
 * but by so much of its packing as @chain's warm_up lets through. */
cl_mem gemmcl_plan_warm_up_b (GemmclPlan *self, cl_command_queue queue, GError **error);

/** gemmcl_plan_create_bias: Returns: (transfer full): zeros with room for a panel's padding. */
cl_mem gemmcl_plan_create_bias (GemmclPlan *self, GError **error);
