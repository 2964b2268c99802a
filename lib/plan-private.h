/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "blocks.h"
#include "cl.h"
#include "gemmcl-tuning.h"
#include "kernel-table.h"
#include "weights.h"

/**
 * A plan is up to eight kernels that run one after another, most often one:
 *
 *     [pack]     B that came with this run, into panels or an image
 *     [ingest]   pictures into the rows of A, where the gemm does not read pixels itself
 *     [quantize] A into bytes, where the gemm multiplies those
 *     [pack_a]   A into an image, where the gemm reads images
 *     multiply   the gemm with its epilogue; or parts of K, each as a batch of its own
 *     [reduce]   adds up those parts, with the epilogue
 *     [softmax]  over whole rows, where the gemm's work-items do not own them
 *     [rows]     sum, max and arg-max of the rows of D
 *
 * A kernel that is not needed is NULL, and so is a buffer.
 */
struct _GemmclPlan {
  GObject parent;

  /* What it is for; constant once made. */
  GemmclContext *context;
  GemmclGemm gemm; /* its pictures, if any, are these two */
  GemmclImage a_image, d_image;
  const GemmclKernel *row;
  guint split;               /* parts of K */
  GemmclChoiceSource source; /* of the choice of both */
  const gchar *name;         /* of row and split; static */
  GemmclKernelLevel level;   /* at which multiply was built */

  /* Held while arguments are set and commands enqueued, and while any of what follows changes. */
  GMutex lock;
  cl_kernel pack, ingest, quantize, pack_a, multiply, reduce, softmax, rows;
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
  float alpha, beta;

  /* For gemmcl_plan_submit(). */
  GPtrArray *host_runs;              /* of all that were ever under way at once; owned */
  GemmclPendingRun *last_run;        /* whose D is the previous output; NULL: zeros */
  cl_command_queue upload, download; /* of a device with memory of its own */
  cl_command_queue beside;           /* plan-queues.c's: besides the context's */
  cl_event ends[2];                  /* of the last run in the context's queue, and beside */
  gboolean takes_turns, is_beside;   /* how the last run was enqueued */
  cl_kernel gather;                  /* before all else: pictures in images into bytes */
  GemmclPlanStats stats;
  cl_ulong counted_until; /* by the device's clock: the kernels that stats have */
};

/**
 * GemmclOperands: the buffers of a run and how they are laid out. b and c may be NULL for the
 * plan's own.
 */
typedef struct {
  cl_mem a, b, c, d, rows;
  gboolean tight; /* a and d are gemmcl_plan_submit()'s */
} GemmclOperands;

/**
 * GemmclChain: commands that follow one another in a queue of any kind, each waiting for the one
 * before.
 */
typedef struct {
  cl_command_queue queue;
  guint n_wait;
  const cl_event *wait;
  cl_event first, last; /* of kernels; owned */
} GemmclChain;

void gemmcl_chain_clear (GemmclChain *chain);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclChain, gemmcl_chain_clear)

/**
 * gemmcl_chain_launch:
 * @local: (nullable): the driver's choice if %NULL
 * @name: for the message
 */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gsize global[3],
                              const gsize local[3], const gchar *name, GError **error);

/** GemmclArguments: sets arguments one after the other; a status that is not CL_SUCCESS stays. */
typedef struct {
  cl_kernel kernel;
  cl_uint next;
  cl_int status;
} GemmclArguments;

void gemmcl_arguments_add (GemmclArguments *self, gsize size, gconstpointer value);

#define ADD_ARGUMENT(self, value) gemmcl_arguments_add (self, sizeof (value), &(value))

/** gemmcl_plan_enqueue_locked: the steps of a run of @m rows and @batch problems. */
gboolean gemmcl_plan_enqueue_locked (GemmclPlan *self, const GemmclOperands *operands, gsize m,
                                     gsize batch, GemmclChain *chain, GError **error);

/**
 * gemmcl_plan_check_run:
 * @m, @batch: (inout): 0 becomes the plan's
 *
 * Returns: %FALSE with #GEMMCL_ERROR_INVALID.
 */
gboolean gemmcl_plan_check_run (GemmclPlan *self, gsize *m, gsize *batch, GError **error);

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

/** gemmcl_plan_clear_host: waits for what was submitted and drops what runs on host memory use. */
void gemmcl_plan_clear_host (GemmclPlan *self);

/** gemmcl_plan_create_bias: Returns: (transfer full): zeros with room for a panel's padding. */
cl_mem gemmcl_plan_create_bias (GemmclPlan *self, GError **error);
