/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Problems made ready for a device, and their runs.
 */
#pragma once

#include <glib-object.h>

#include "gemmcl-kernels.h"

GEMMCL_BEGIN_DECLS

/* struct _cl_mem * is OpenCL's cl_mem, and so on, without OpenCL's headers. */
struct _cl_mem;
struct _cl_event;
struct _cl_command_queue;

/**
 * GemmclPlan:
 *
 * A problem made ready for a device: kernels built, memory allocated. A run only sets arguments and
 * enqueues commands. Any thread may call these functions; a plan's runs execute one after another.
 */
#define GEMMCL_TYPE_PLAN (gemmcl_plan_get_type ())
G_DECLARE_FINAL_TYPE (GemmclPlan, gemmcl_plan, GEMMCL, PLAN, GObject)

/**
 * gemmcl_plan_new:
 * @context: the device; the plan holds a reference
 * @gemm: the problem; copied
 * @kernel: (nullable): %NULL or "auto": the kernel that tuning found (gemmcl-tuning.h), or else the
 *   rules' choice; "rules": the rules' choice; or the name of a kernel (gemmcl_get_kernel()). "/4"
 *   after a name cuts K into four parallel parts, for small M and N and a large K on a GPU. K must
 *   be a multiple of 16 times the split, the batch 1, and D a matrix; the kernel must read buffers,
 *   not images or pixels. With int8 it must be one of NVIDIA's kernels
 *
 * Compiles everything that a run of the plan's size needs. On a CPU, where PoCL compiles at the
 * first launch, a few work-groups run in temporary memory as large as a run's. Two kinds of runs
 * may compile once more: the first run of frames in images, and the first smaller run whose grid,
 * unlike the plan's, has fewer than 65535 work-items in a dimension.
 *
 * PoCL's worker threads take 20 to 40 us to start. PoCL has a second CPU device, which runs a
 * command in the thread that enqueues it: the inline device. PoCL lists it if the environment
 * variable POCL_DEVICES is "pthread basic" before the process uses OpenCL. From PoCL 5 on, contexts
 * that the library makes then have both devices; gemmcl_list_devices() hides the inline one. A run
 * of a small plan uses it if the run waits for nothing and its queue is NULL, and is done when
 * gemmcl_plan_submit() returns. Such a run does not follow commands in the context's queue: if it
 * uses memory that an earlier command writes or reads, name that command's event or the queue in
 * the run. All other runs use the threads.
 *
 * With GEMMCL_VERBOSE=1 in the environment, each new plan prints a line about its problem and its
 * kernel on the standard error. docs/tuning.md describes it; gemmcl bench --replay measures the
 * same again.
 *
 * Returns: (transfer full): a plan, or %NULL with any #GemmclError.
 */
GemmclPlan *gemmcl_plan_new (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                             GError **error);

/**
 * gemmcl_plan_get_kernel:
 *
 * Returns: the name of the kernel in use, with its split; static. Only gemmcl_plan_auto_tune()
 *   changes the kernel.
 */
const gchar *gemmcl_plan_get_kernel (GemmclPlan *self);

/**
 * GemmclPlanOperand:
 * @GEMMCL_PLAN_B: the weights, k x n; n x k with trans_b; shared by all problems of the batch
 * @GEMMCL_PLAN_BIAS: the bias, 1 x n or n x 1, if the problem has one; zeros at first
 * @GEMMCL_PLAN_C: C, m x n with GEMMCL_ADDEND_MATRIX, 1 x n or n x 1 with GEMMCL_ADDEND_ROW; shared
 *   by all problems of the batch; zeros at first
 *
 * A matrix that a plan keeps on the device, made from a host matrix of any type and order.
 */
typedef enum {
  GEMMCL_PLAN_B,
  GEMMCL_PLAN_BIAS,
  GEMMCL_PLAN_C,
} GemmclPlanOperand;

/**
 * GemmclPrepared:
 *
 * An operand on the device, ready for a plan. Opaque. A copy as a boxed type is a reference.
 */
typedef struct _GemmclPrepared GemmclPrepared;

#define GEMMCL_TYPE_PREPARED (gemmcl_prepared_get_type ())
GType gemmcl_prepared_get_type (void);

/**
 * gemmcl_plan_prepare:
 * @operand: the operand to prepare
 * @matrix: its values; the plan keeps a reference only for gemmcl_plan_auto_tune()
 *
 * Converts, packs and uploads @matrix, and waits for the upload. No run waits for it. An int8
 * kernel uses a B of i8 or u8 unchanged if it has no scales, a single scale, or a scale per column
 * of op(B) (@scales of #GemmclMatrix). It quantizes any other B per column.
 *
 * Returns: (transfer full): the operand, for gemmcl_plan_use() of the same plan. It holds a
 *   reference to the plan until it is used. %NULL with %GEMMCL_ERROR_SHAPE,
 *   %GEMMCL_ERROR_TOO_LARGE, %GEMMCL_ERROR_BUILD, %GEMMCL_ERROR_OPENCL, or %GEMMCL_ERROR_INVALID if
 *   the kernel's precision cannot represent an element, the problem has no such operand, or a
 *   @b_stride or @c_stride gives each problem of the batch one of its own.
 */
GemmclPrepared *gemmcl_plan_prepare (GemmclPlan *self, GemmclPlanOperand operand,
                                     GemmclMatrix *matrix, GError **error);

/**
 * gemmcl_prepared_free:
 *
 * Frees an operand that was not used, or that gemmcl_plan_use() replaced.
 */
void gemmcl_prepared_free (GemmclPrepared *prepared);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclPrepared, gemmcl_prepared_free)

/**
 * gemmcl_plan_use:
 * @prepared: not used before. Afterwards it holds the operand that it replaced; free it at any time
 *
 * Makes @prepared the operand of all runs that are submitted from now on. Only exchanges pointers.
 */
void gemmcl_plan_use (GemmclPlan *self, GemmclPrepared *prepared);

/**
 * gemmcl_plan_set:
 *
 * Calls gemmcl_plan_prepare() and gemmcl_plan_use(). On failure the old operand stays.
 */
gboolean gemmcl_plan_set (GemmclPlan *self, GemmclPlanOperand operand, GemmclMatrix *matrix,
                          GError **error);

/**
 * GemmclDataKind:
 * @GEMMCL_DATA_HOST: host memory
 * @GEMMCL_DATA_BUFFER: a buffer of the plan's OpenCL context
 * @GEMMCL_DATA_IMAGES: 2D images of that context, one for each plane of a frame of GRAY8,
 *   GRAY16_LE, NV12, I420 or P010_10LE, each at least as large as its plane. Samples are in the
 *   first channel (CL_R), Cb and Cr in the first two (CL_RG), as CL_UNORM_INT8, or as
 *   CL_UNORM_INT16 if they have two bytes. Only for A
 *
 * The kind of memory that holds a matrix or a frame.
 */
typedef enum {
  GEMMCL_DATA_HOST,
  GEMMCL_DATA_BUFFER,
  GEMMCL_DATA_IMAGES,
} GemmclDataKind;

/**
 * GemmclData:
 * @kind: selects the fields that follow
 * @host: GEMMCL_DATA_HOST: for a matrix [0] is the address of element (0, 0), aligned for its type;
 *   for a frame the address of the first row of each plane
 * @objects: GEMMCL_DATA_BUFFER: the buffer in [0]; GEMMCL_DATA_IMAGES: an image for each plane
 * @offset: GEMMCL_DATA_BUFFER: bytes before a matrix, in [0], or before the first row of each plane
 * @stride: bytes from a row to the next in each plane of a frame; may be negative in host memory. A
 *   matrix uses the problem's leading dimension
 * @x: GEMMCL_DATA_IMAGES: the column of the images that is the first of the frame. In chroma it is
 *   the column of that pixel's sample, so that left of #GemmclFrame is x % 2
 * @y: the same for rows; top of #GemmclFrame is y % 2, or y % 4 in interlaced frames
 * @acquired: the run acquires and releases the objects
 *
 * The place of A, D or the row outputs of one problem.
 */
typedef struct {
  GemmclDataKind kind;
  gpointer host[GEMMCL_MAX_PLANES];
  struct _cl_mem *objects[GEMMCL_MAX_PLANES];
  gsize offset[GEMMCL_MAX_PLANES];
  gssize stride[GEMMCL_MAX_PLANES];
  gsize x;
  gsize y;
  gboolean acquired;
  /*< private >*/
  gpointer _reserved[4];
} GemmclData;

/**
 * GemmclRun:
 * @size: sizeof (GemmclRun); tells the library which fields the caller knows
 * @m: rows of A and D, at most the plan's; 0: the plan's m. A run of frames has all rows of the
 *   plan
 * @batch: the number of problems, at most the plan's; 0: the plan's
 * @alpha: the factor of A B
 * @beta: the factor of C
 * @a: (array length=batch): the A of each problem; only read. May be %NULL if alpha is 0
 * @d: (nullable) (array length=batch): the D of each problem; host memory or a buffer. Gaps between
 *   its rows are not written. %NULL if the problem omits D
 * @row_outputs: (nullable) (array length=batch): the row outputs of each problem, m x Q f32; host
 *   memory or a buffer. %NULL if the problem has none
 * @strided: %FALSE: @a, @d and @row_outputs have an element for each problem; the problem's offsets
 *   and strides are ignored. %TRUE: they are one buffer each for all problems, laid out as the
 *   problem says. Frames follow one another; row outputs are m x Q floats apart, with the plan's m
 * @b: (nullable): a buffer with B, laid out as the problem says and packed for this run if the
 *   kernel needs that; %NULL for the plan's own B
 * @c: (nullable): a buffer with C, laid out as the problem says; %NULL for the plan's own C
 * @previous: (nullable) (array length=batch): with %GEMMCL_ADDEND_PREVIOUS: replaces the plan's
 *   previous result; in D's type and layout
 * @acquire: (nullable): a GemmclHandover (gemmcl-opencl.h) that acquires the objects of A with
 *   @acquired. If A is read, gemmcl_plan_submit() calls it once, with each object once
 * @release: (nullable): a GemmclHandover that releases these objects before the run is done, also
 *   if it fails
 * @queue: (nullable): a queue of the plan's context and device; %NULL for the context's own or the
 *   inline device (gemmcl_plan_new()). The runs of a plan must follow one another, by an in-order
 *   queue or by events
 * @n_wait: the number of events in @wait
 * @wait: (array length=n_wait): events that must be complete before the run reads or writes device
 *   memory
 * @progressive: frames of A are progressive, although the problem's frame is interlaced. Their
 *   planes need only the rows of progressive frames
 *
 * A run of a plan. Start from GEMMCL_RUN_INIT; later versions may add fields at the end.
 */
typedef struct {
  gsize size;
  gsize m;
  gsize batch;
  gdouble alpha;
  gdouble beta;
  const GemmclData *a;
  const GemmclData *d;
  const GemmclData *row_outputs;
  gboolean strided;
  struct _cl_mem *b;
  struct _cl_mem *c;
  const GemmclData *previous;
  GCallback acquire;
  GCallback release;
  struct _cl_command_queue *queue;
  guint n_wait;
  struct _cl_event *const *wait;
  gboolean progressive;
} GemmclRun;

/**
 * GEMMCL_RUN_INIT:
 *
 * Initializes a #GemmclRun: its size, and an alpha of 1; all other fields are 0.
 */
#define GEMMCL_RUN_INIT                                                                            \
  {                                                                                                \
    .size = sizeof (GemmclRun), .alpha = 1.0                                                       \
  }

#define GEMMCL_TYPE_RUN (gemmcl_run_get_type ())
GType gemmcl_run_get_type (void);

/**
 * gemmcl_run_new:
 *
 * Returns: (transfer full): GEMMCL_RUN_INIT; see gemmcl_gemm_new().
 */
GemmclRun *gemmcl_run_new (void);

/**
 * gemmcl_plan_submit:
 * @run: the data; the struct and its arrays are not used after the call
 * @first: (out) (optional) (type gpointer): a reference to the event of the run's first kernel
 * @done: (out) (optional) (type gpointer): a reference to an event that is complete when all
 *   outputs are written and A is no longer needed; its status is negative if the run failed
 *
 * Enqueues a run, flushes the queues and returns. The first submission after a failed command in
 * the context's queue waits for the plan's runs in flight, since later runs are in a new queue.
 * Host memory must stay valid until @done is complete; OpenCL objects may be released at once.
 *
 * Returns: %FALSE with %GEMMCL_ERROR_OPENCL, with %GEMMCL_ERROR_TOO_LARGE if the device cannot hold
 *   a copy, or with %GEMMCL_ERROR_INVALID: the plan has no B, a size is out of range, the kind of
 *   data does not fit, or an event in @wait failed or does not tell its state. The caller's memory
 *   is then no longer in use, and D is undefined.
 */
gboolean gemmcl_plan_submit (GemmclPlan *self, const GemmclRun *run, struct _cl_event **first,
                             struct _cl_event **done, GError **error);

/**
 * gemmcl_plan_run:
 *
 * Calls gemmcl_plan_submit() and waits.
 *
 * Returns: %FALSE with an error of gemmcl_plan_submit(), or %GEMMCL_ERROR_OPENCL if the run failed.
 */
gboolean gemmcl_plan_run (GemmclPlan *self, const GemmclRun *run, GError **error);

/**
 * gemmcl_plan_run_host:
 * @a: (nullable): A, elements of a_type; %NULL only if @alpha is 0
 * @d: (nullable): D, elements of d_type; %NULL if the problem omits it
 * @row_outputs: (nullable): the row outputs, f32, of one problem after another; %NULL if the
 *   problem has none
 *
 * Calls gemmcl_plan_run() for matrices in host memory, not frames: for all problems of the plan's
 * batch. Offsets and batch strides apply to the pointers.
 *
 * Returns: %FALSE with an error of gemmcl_plan_run().
 */
gboolean gemmcl_plan_run_host (GemmclPlan *self, gdouble alpha, gdouble beta, gconstpointer a,
                               gpointer d, gpointer row_outputs, GError **error);

/**
 * gemmcl_plan_reset_previous:
 *
 * With %GEMMCL_ADDEND_PREVIOUS: sets the previous result to zeros for the next run. Call it after a
 * run that failed: the previous result is undefined then, and a run that reads it may fail, too.
 */
void gemmcl_plan_reset_previous (GemmclPlan *self);

/**
 * gemmcl_plan_adopt_previous:
 * @from: a plan of the same context; all of its runs are submitted before any run of @self
 *
 * With %GEMMCL_ADDEND_PREVIOUS: moves the previous result of @from, which keeps zeros, to @self, if
 * both have the same m, n, batch and layout. Otherwise @self starts with zeros.
 */
void gemmcl_plan_adopt_previous (GemmclPlan *self, GemmclPlan *from);

/**
 * GemmclPlanStats:
 * @runs: the number of completed runs
 * @kernel_ns: nanoseconds from the start of a run's first kernel to the end of its last, by the
 *   device's clock, summed up. Without profiling, estimated from the last run that has a time
 * @flops: 2 m n k batch, summed over the runs
 * @bytes_in: bytes of A in host memory, copied or used in place
 * @bytes_out: bytes of D in host memory, copied or used in place; of row outputs if D is omitted
 * @copies: copies of A, D and row outputs between the caller's memory and the plan's, one for each
 *   problem. In-flight runs count, too; frames in images do not
 * @inline_runs: the part of @runs that PoCL's inline device did (gemmcl_plan_new())
 */
typedef struct {
  guint64 runs;
  guint64 kernel_ns;
  gdouble flops;
  guint64 bytes_in;
  guint64 bytes_out;
  guint64 copies;
  guint64 inline_runs;
  /*< private >*/
  gpointer _reserved[4];
} GemmclPlanStats;

/**
 * gemmcl_plan_get_stats:
 * @stats: (out): statistics of the runs completed since the plan was created.
 */
void gemmcl_plan_get_stats (GemmclPlan *self, GemmclPlanStats *stats);

/**
 * GemmclCopyReason:
 * @GEMMCL_COPY_REASON_NONE: no copy: kernels use the caller's memory
 * @GEMMCL_COPY_REASON_BATCH: the problems of a batch are put side by side
 * @GEMMCL_COPY_REASON_IMAGES: the data is a frame in images
 * @GEMMCL_COPY_REASON_SEPARATE: the data is in host memory, and the device has memory of its own
 * @GEMMCL_COPY_REASON_SMALL: a copy is faster
 * @GEMMCL_COPY_REASON_GAPS: there are gaps between rows or planes
 * @GEMMCL_COPY_REASON_OFFSET: the data does not begin at the start of its buffer
 * @GEMMCL_COPY_REASON_ALIGNMENT: the address or size of host memory does not suit the device
 *
 * The reason why a run copies A or D between the caller's memory and the plan's.
 */
typedef enum {
  GEMMCL_COPY_REASON_NONE,
  GEMMCL_COPY_REASON_BATCH,
  GEMMCL_COPY_REASON_IMAGES,
  GEMMCL_COPY_REASON_SEPARATE,
  GEMMCL_COPY_REASON_SMALL,
  GEMMCL_COPY_REASON_GAPS,
  GEMMCL_COPY_REASON_OFFSET,
  GEMMCL_COPY_REASON_ALIGNMENT,
} GemmclCopyReason;

/**
 * gemmcl_plan_explain_copies:
 * @run: a run that gemmcl_plan_submit() takes
 * @a: (out): the reason why A of @run is copied
 * @d: (out): the reason why D of @run is copied
 *
 * Submits nothing and reads no data.
 */
void gemmcl_plan_explain_copies (GemmclPlan *self, const GemmclRun *run, GemmclCopyReason *a,
                                 GemmclCopyReason *d);

/**
 * GemmclPlanInfo:
 * @precision: the precision in which the kernel multiplies: the problem's or f32
 * @source: the origin of the choice of the kernel
 * @level: the level at which the kernel was built
 * @global_size: work-items of a run of one problem with all rows: rows, columns, and the parts of a
 *   split K
 * @local_size: work-items of a work-group, in the same order; 1 part
 * @subgroup_size: work-items per subgroup; on Intel GPUs the SIMD width of any kernel
 * @max_work_group: the largest work-group as compiled, in work-items
 * @local_bytes: local memory per work-group
 * @private_bytes: private memory per work-item; some drivers include registers
 * @spill_bytes: the part of @private_bytes that Intel's compiler spilled
 * @rounds_a: the kernel multiplies in @precision, and so may round or quantize A; %FALSE: A stays
 *   f32, and at most B is rounded
 *
 * A plan's gemm kernel. The numbers from @subgroup_size to @spill_bytes are from the driver; 0: it
 * does not report the number.
 */
typedef struct {
  GemmclPrecision precision;
  GemmclChoiceSource source;
  GemmclKernelLevel level;
  gsize global_size[3];
  gsize local_size[3];
  guint subgroup_size;
  gsize max_work_group;
  guint64 local_bytes;
  guint64 private_bytes;
  guint64 spill_bytes;
  gboolean rounds_a;
  /*< private >*/
  gpointer _reserved[3];
} GemmclPlanInfo;

/**
 * gemmcl_plan_get_info:
 * @info: (out): describes the kernel in use.
 */
void gemmcl_plan_get_info (GemmclPlan *self, GemmclPlanInfo *info);

/**
 * gemmcl_gemm_run:
 * @gemm: a problem of matrices, not frames, without row outputs
 * @kernel: (nullable): as for gemmcl_plan_new()
 * @a: (nullable): A, elements of a_type; %NULL only if alpha is 0
 * @b: (type gpointer) (nullable): B, f32; %NULL only if alpha is 0
 * @c: (type gpointer) (nullable): C, f32; %NULL unless addend is MATRIX or ROW
 * @bias: (type gpointer) (nullable): the bias, f32; %NULL unless the problem has one
 * @d: D; with GEMMCL_ADDEND_OUTPUT also C
 *
 * Creates a plan, runs it once, waits and frees it. Offsets and batch strides apply to the
 * pointers.
 *
 * Returns: %FALSE with any #GemmclError; D is then undefined.
 */
gboolean gemmcl_gemm_run (GemmclContext *context, const GemmclGemm *gemm, const gchar *kernel,
                          gconstpointer a, const gfloat *b, const gfloat *c, const gfloat *bias,
                          gpointer d, GError **error);

GEMMCL_END_DECLS
