/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib-object.h>

#include "gemmcl-kernels.h"

GEMMCL_BEGIN_DECLS

/* OpenCL's handles by the names of their structs: struct _cl_mem * is cl_mem, and so on. Programs
 * that have none need not include OpenCL's headers. */
struct _cl_mem;
struct _cl_event;
struct _cl_command_queue;

/**
 * GemmclPlan:
 *
 * A problem made ready for a device: kernels chosen and built, memory allocated. Running it sets
 * arguments and enqueues. Its functions may be called from any thread; a plan's runs are executed
 * one after another.
 */
#define GEMMCL_TYPE_PLAN (gemmcl_plan_get_type ())
G_DECLARE_FINAL_TYPE (GemmclPlan, gemmcl_plan, GEMMCL, PLAN, GObject)

/**
 * gemmcl_plan_new:
 * @context: the device it runs on; the plan holds a reference
 * @gemm: the problem; copied
 * @kernel: (nullable): a name from gemmcl_get_kernel(), as it is or with a split: "/4" behind it
 *   cuts K into four parts, which are multiplied side by side and then added up, so that few rows
 *   and columns with a long K make work for all of a GPU. K must be a multiple of 16 times the
 *   split, and there may be no batches. %NULL or "auto" takes the result of tuning
 *   (gemmcl-tuning.h), and where there is none, the rules' choice; "rules" asks only those
 *
 * Compiles all that a run of the plan's size needs. PoCL compiles a kernel at its first launch;
 * therefore on CPUs a few work-groups of each kernel are run, in memory as large as a run's, which
 * is freed again. If there is no such memory, or this fails otherwise, the first run compiles.
 * A run that is smaller than the plan may compile a kernel once more, if its grid has fewer than
 * 65535 work-items in each dimension and the plan's has not.
 *
 * Returns: (transfer full): a plan, or %NULL with any #GemmclError. The message for an unknown
 *   kernel lists similar names.
 */
GemmclPlan *gemmcl_plan_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                             GError **error);

/** gemmcl_plan_get_kernel: Returns: the kernel that is in use, with its split; static. Only
 * gemmcl_plan_auto_tune() changes it, and with it what the next two and
 * gemmcl_plan_get_build_info() return. */
const gchar *gemmcl_plan_get_kernel (GemmclPlan *self);

/** gemmcl_plan_get_precision: Returns: the precision of that kernel: the problem's, or more. */
GemmclPrecision gemmcl_plan_get_precision (GemmclPlan *self);

/** gemmcl_plan_get_choice_source: Returns: where the choice of the plan's kernel comes from. */
GemmclChoiceSource gemmcl_plan_get_choice_source (GemmclPlan *self);

/**
 * GemmclPlanOperand:
 * @GEMMCL_PLAN_B: the weights, k x n; n x k with trans_b. Used for all batches
 * @GEMMCL_PLAN_BIAS: n elements in a row or a column, of a problem that has a bias; zeros at first
 * @GEMMCL_PLAN_C: C, m x n with GEMMCL_ADDEND_MATRIX, n elements with GEMMCL_ADDEND_ROW; used for
 *   all batches; zeros at first
 *
 * The matrices that a plan keeps on the device. Each may be of any type and order.
 */
typedef enum {
  GEMMCL_PLAN_B,
  GEMMCL_PLAN_BIAS,
  GEMMCL_PLAN_C,
} GemmclPlanOperand;

/** GemmclPrepared: An operand of a plan, ready on the device. Opaque. */
typedef struct _GemmclPrepared GemmclPrepared;

/**
 * gemmcl_plan_prepare:
 * @matrix: the operand; kept only for gemmcl_plan_auto_tune()
 *
 * Converts @matrix to f32, packs it as the kernel wants and puts it on the device. B of a kernel
 * that multiplies int8 becomes int8 with one scale for each column or for all
 * (gemmcl_matrix_get_scales()); int8 without scales is used as it is. Takes no lock that a run
 * takes, and returns when the device has it.
 *
 * Returns: (transfer full): for gemmcl_plan_use() of the same plan; %NULL with #GEMMCL_ERROR_SHAPE
 *   or #GEMMCL_ERROR_OPENCL, or with #GEMMCL_ERROR_INVALID for an element that the kernel's
 *   precision does not hold, or an operand that the problem does not have.
 */
GemmclPrepared *gemmcl_plan_prepare (GemmclPlan *self, GemmclPlanOperand operand,
                                     GemmclMatrix *matrix, GError **error);

/** gemmcl_prepared_free: Drops an operand that is not used, or not any more. */
void gemmcl_prepared_free (GemmclPrepared *prepared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclPrepared, gemmcl_prepared_free)

/**
 * gemmcl_plan_use:
 * @prepared: by gemmcl_plan_prepare(), not used before; afterwards it holds the operand that was
 *   used before, to be freed when there is time
 *
 * Makes @prepared the operand of the runs that are submitted from now on; those before keep the old
 * one. No more than a pointer is exchanged.
 */
void gemmcl_plan_use (GemmclPlan *self, GemmclPrepared *prepared);

/** gemmcl_plan_set_b: gemmcl_plan_prepare() and gemmcl_plan_use(); on failure the old B stays. */
gboolean gemmcl_plan_set_b (GemmclPlan *self, GemmclMatrix *b, GError **error);

/** gemmcl_plan_set_bias: Likewise the bias. */
gboolean gemmcl_plan_set_bias (GemmclPlan *self, GemmclMatrix *bias, GError **error);

/** gemmcl_plan_set_c: Likewise C. */
gboolean gemmcl_plan_set_c (GemmclPlan *self, GemmclMatrix *c, GError **error);

/**
 * GemmclDataKind:
 * @GEMMCL_DATA_HOST: memory of the host
 * @GEMMCL_DATA_BUFFER: a buffer of the plan's OpenCL context
 * @GEMMCL_DATA_IMAGES: two-dimensional images of that context, one for each plane of a frame of
 *   GRAY8, GRAY16_LE, NV12, I420 or P010_10LE, of the plane's size or larger, with the plane's
 *   samples in the first channel (CL_R), or in the first two (CL_RG) where there are two at each
 *   place; CL_UNORM_INT8, or CL_UNORM_INT16 where samples have two bytes. Only for A
 */
typedef enum {
  GEMMCL_DATA_HOST,
  GEMMCL_DATA_BUFFER,
  GEMMCL_DATA_IMAGES,
} GemmclDataKind;

/**
 * GemmclData:
 * @kind: which of the following fields count
 * @host: for a matrix [0] is the address of element (0, 0), aligned as its type wants; for a frame
 *   the address of the first row of each plane
 * @objects: the buffer in [0]; or an image for each plane
 * @offset: bytes of the buffer before a matrix, in [0], or before the first row of each plane
 * @stride: bytes from one row to the next of each plane, on the host also negative; a matrix has ld
 * @acquired: the objects are acquired and released by the functions of the run
 *
 * The place of the A, the D or the row outputs of one problem.
 */
typedef struct {
  GemmclDataKind kind;
  gpointer host[GEMMCL_MAX_PLANES];
  struct _cl_mem *objects[GEMMCL_MAX_PLANES];
  gsize offset[GEMMCL_MAX_PLANES];
  gssize stride[GEMMCL_MAX_PLANES];
  gboolean acquired;
} GemmclData;

/**
 * GemmclRun:
 * @size: sizeof (GemmclRun), by which the library knows the fields that the caller has
 * @m: rows of A and D, 1 to the plan's m; 0: the plan's. A frame has all its rows
 * @batch: problems, 1 to the plan's batch; 0: the plan's
 * @alpha, @beta: scale A B and C
 * @a: (array length=batch): the A of each problem; not written. %NULL only with alpha 0
 * @d: (array length=batch): the D of each problem; host or buffer. Only its elements are written,
 *   not what lies between its rows
 * @rows: (nullable) (array length=batch): the row outputs of each problem, m x Q f32; host or
 *   buffer. %NULL if the problem has none
 * @strided: @a, @d and @rows are one buffer each with all problems in it, laid out by the problem's
 *   offsets, leading dimensions and strides (frames one after another, the row outputs of each
 *   problem m of the plan behind those before). FALSE: an element for each problem, for which the
 *   problem's offsets and strides mean nothing
 * @b: (nullable): a buffer with B, laid out as the problem says and packed for this run if the
 *   kernel wants that; %NULL for the plan's own
 * @c: (nullable): likewise C
 * @previous: (nullable) (array length=batch): with #GEMMCL_ADDEND_PREVIOUS: takes the place of the
 *   previous result that the plan has; in D's type and layout
 * @acquire, @release: (nullable): functions of the type GemmclHandover (gemmcl-opencl.h) that take
 *   A's data with @acquired from whoever shares them, and give them back. Each is called once, from
 *   gemmcl_plan_submit(), with each object once, if A is read at all. After a failure, too,
 * acquired objects are released before the run is done
 * @queue: (nullable): a queue of the plan's context and device; %NULL: the context's own. A plan's
 *   runs must follow one another: in an in-order queue, or by their events
 * @n_wait, @wait: events that must be complete before data of the device are read or written
 *
 * One run of a plan. Start from GEMMCL_RUN_INIT; later versions may add fields at the end.
 */
typedef struct {
  gsize size;
  gsize m;
  gsize batch;
  gdouble alpha;
  gdouble beta;
  const GemmclData *a;
  const GemmclData *d;
  const GemmclData *rows;
  gboolean strided;
  struct _cl_mem *b;
  struct _cl_mem *c;
  const GemmclData *previous;
  GCallback acquire;
  GCallback release;
  struct _cl_command_queue *queue;
  guint n_wait;
  struct _cl_event *const *wait;
} GemmclRun;

#define GEMMCL_RUN_INIT                                                                            \
  {                                                                                                \
    .size = sizeof (GemmclRun), .alpha = 1.0                                                       \
  }

/**
 * gemmcl_plan_submit:
 * @run: the data; the struct and its arrays are not used after the call
 * @first: (out) (optional) (transfer full): the first kernel of the run, whose profile tells when
 * it started
 * @done: (out) (optional) (transfer full): complete when D and the row outputs are there and A is
 *   not needed any more; its status is negative if the run failed
 *
 * Enqueues a run and returns. Memory of the host is in use until @done is complete; objects of the
 * device may be released at once. A device that shares the host's memory works in it where it is
 * laid out without gaps; a device with memory of its own copies A of one run and D of another while
 * it computes. Everything is flushed. The plan keeps the memory that runs need, for as many runs as
 * were under way at once.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_OPENCL, or with #GEMMCL_ERROR_INVALID for a plan without B, a
 *   size out of range, data of a kind that does not fit, or an event in @wait that failed; then
 *   nothing of the caller's is in use, and D is undefined.
 */
gboolean gemmcl_plan_submit (GemmclPlan *self, const GemmclRun *run, struct _cl_event **first,
                             struct _cl_event **done, GError **error);

/**
 * gemmcl_plan_run:
 *
 * gemmcl_plan_submit(), and waits until the run is done.
 *
 * Returns: %FALSE with the errors of gemmcl_plan_submit(), and #GEMMCL_ERROR_OPENCL when the run
 *   failed on the device.
 */
gboolean gemmcl_plan_run (GemmclPlan *self, const GemmclRun *run, GError **error);

/**
 * gemmcl_plan_reset_previous:
 *
 * With #GEMMCL_ADDEND_PREVIOUS: the next run finds zeros as the previous result.
 */
void gemmcl_plan_reset_previous (GemmclPlan *self);

/**
 * gemmcl_plan_adopt_previous:
 * @from: a plan of the same context; its runs are all submitted before those of @self
 *
 * With #GEMMCL_ADDEND_PREVIOUS: takes over the previous result of @from, if both have one, of the
 * same m, n, batch and layout; zeros otherwise. That of @from is zeros then.
 */
void gemmcl_plan_adopt_previous (GemmclPlan *self, GemmclPlan *from);

/**
 * GemmclPlanStats:
 * @runs: how many are done
 * @kernel_ns: time in kernels, by the device's own clock
 * @flops: 2 m n k batch, summed over the runs
 * @bytes_in, @bytes_out: of A and of D on the host, copied or, where the device shares its memory,
 *   used in place
 */
typedef struct {
  guint64 runs;
  guint64 kernel_ns;
  gdouble flops;
  guint64 bytes_in;
  guint64 bytes_out;
} GemmclPlanStats;

/** gemmcl_plan_get_stats: @stats: (out): of the runs that are done, since the plan was made. */
void gemmcl_plan_get_stats (GemmclPlan *self, GemmclPlanStats *stats);

/**
 * GemmclBuildInfo:
 * @level: how the kernel was built
 * @subgroup_size: work-items of a subgroup, as compiled; on Intel's GPUs that is the SIMD width,
 *   also of kernels that use no subgroups
 * @max_work_group: work-items that a work-group may have, as compiled
 * @local_bytes: local memory of a work-group
 * @private_bytes: memory of a work-item for what did not fit into registers, or is indexed by what
 *   the compiler does not know; some drivers count registers
 * @spill_bytes: of that, what Intel's compiler spilled
 *
 * What the driver tells of a plan's gemm kernel; 0 where it does not.
 */
typedef struct {
  GemmclKernelLevel level;
  guint subgroup_size;
  gsize max_work_group;
  guint64 local_bytes;
  guint64 private_bytes;
  guint64 spill_bytes;
} GemmclBuildInfo;

/** gemmcl_plan_get_build_info: @info: (out): what the driver made of the plan's gemm kernel. */
void gemmcl_plan_get_build_info (GemmclPlan *self, GemmclBuildInfo *info);

/**
 * gemmcl_gemm_run:
 * @gemm: the problem, of matrices, not pictures, without row outputs
 * @kernel: (nullable): as for gemmcl_plan_new()
 * @a, @b: A (of a_type) and B (f32); b may not be %NULL, nor @a, unless alpha is 0
 * @c: (nullable): C; %NULL unless addend is MATRIX or ROW
 * @bias: (nullable): %NULL unless the problem has a bias
 * @d: D; with GEMMCL_ADDEND_OUTPUT also C
 *
 * The one blocking call for those who want no plan: makes one, runs it once and drops it. Offsets
 * and batch strides are applied to the pointers.
 *
 * Returns: %FALSE with any #GemmclError; D is then undefined.
 */
gboolean gemmcl_gemm_run (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                          gconstpointer a, const gfloat *b, const gfloat *c, const gfloat *bias,
                          gpointer d, GError **error);

GEMMCL_END_DECLS
