/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/caps.h"
#include "memory/device.h"
#include "memory/error.h"
#include "memory/inflight.h"

/* The struct of the element. Its parts, from the lowest to the highest: counts (stats.h), operands
 * and devices (lanes.h), outputs and runs (run.h), batches and their turns (turns.h), and the plans
 * and parts of the class, which are declared here. A part calls only lower parts. */

#define GST_CAT_DEFAULT gst_gemmcl_debug
#define GST_TYPE_GEMMCL (gst_gemmcl_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST, GEMMCL, GstBaseTransform)

/** GST_GEMMCL_MAX_WAIT: A longer time to collect a batch, in ns, counts as no limit: 146 years. The
 * sum of such a time and a running time does not overflow. */
#define GST_GEMMCL_MAX_WAIT (G_MAXINT64 / 2)

/** GstGemmclStream: The formats of the stream (negotiate.c). Written under the lock of the element
 * and the stream lock of the sink pad, by the streaming thread and by start() and stop()
 * (element.c), unless a field says otherwise. A thread that has neither lock may not read it. */
typedef struct {
  GstGemmclSettings settings; /* the properties when streaming started; batch_timeout is at most
                               * GST_GEMMCL_MAX_WAIT */
  GstGemmclFormat input;      /* learn.c writes the tensor that is A, as buffers describe it */
  GstGemmclFormat output;
  GstClockTime frame_duration; /* of a buffer, from caps or (turns.c) buffers; 0: unknown */
  gboolean started;
  gboolean configured; /* caps were accepted */

  guint64 late; /* properties.c: bits of the properties that were set while streaming, too late; any
                 * thread, under the lock of the element alone */

  guint warnings;        /* bits of posted warnings; atomic, any thread, without the lock */
  gboolean error_posted; /* for the streaming thread: since caps were last accepted */
} GstGemmclStream;

#define GST_GEMMCL_MAX_DEVICES 16

/** GstGemmclLane: A device of the element (lanes.c), with its plan (plan.c). The element's lock
 * guards the fields. Except for allocator, only the streaming thread writes them, and it may read
 * them without the lock. */
typedef struct {
  /* lanes.c */
  GemmclContext *context;  /* NULL in the state NULL */
  GstAllocator *allocator; /* of OpenCL memory in context; made at its first use */
  gboolean failed;         /* the device is not used until the next start */
  GstBufferPool *pool;     /* of outputs; NULL for the first device: the base class has it; for the
                            * streaming thread only, without the lock */

  /* plan.c; lanes.c drops the plan of a failed device, stats.c sets the counts to 0 */
  GemmclPlan *plan;     /* NULL before the first plan, after a failed creation, and if @failed */
  GemmclPlanStats past; /* counts of replaced plans */
  guint64 compile_ns;   /* time that its plans took to compile */
  /* For the streaming thread only, without the lock. */
  const gchar *kernel; /* the plan's kernel at its creation; static */
  gboolean is_logged;  /* the end of the search for a faster kernel was logged */

  guint64 buffers; /* stats.c: number of buffers whose results the device made */
} GstGemmclLane;

/** GstGemmclChange: New operands, packed and uploaded for the plans that existed when they were
 * set. */
typedef struct _GstGemmclChange GstGemmclChange;

/** GstGemmclOperandSlot: The operands of the element. @change_lock serializes changes and is taken
 * before any other lock. The lock of the element guards the other fields. */
typedef struct {
  GMutex change_lock;
  GstGemmclOperands current;
  GstGemmclChange *next; /* (nullable): for the streaming thread's next buffer */
  gboolean held;         /* see gst_gemmcl_operands_hold() */
} GstGemmclOperandSlot;

/* The bins of the histogram of run times; GST_GEMMCL_TIME_BINS of them for each power of two. */
#define GST_GEMMCL_TIME_BINS 16
#define GST_GEMMCL_N_BINS    (65 * GST_GEMMCL_TIME_BINS)

/** GstGemmclStats: The counts for the property stats that lanes do not count. The lock of the
 * element guards them. */
typedef struct {
  guint64 buffers;          /* multiplied */
  guint64 dropped;          /* skipped by QoS */
  guint64 flushed;          /* value of buffers at the last flush */
  guint64 bytes_out;        /* written to OpenCL memory that the host maps */
  guint64 copies;           /* made by the element itself, not by its plans */
  const gchar *read_memory; /* kind of memory of A in the last run, in a word; static */
  guint64 reported;         /* value of buffers at the last report */
  guint noted_copies;       /* bits of logged copies; for the streaming thread, without the lock */

  /* Times of runs, in ns; see gst_gemmcl_stats_add_time(). */
  GstClockTime latency; /* the reported latency */
  GstClockTime longest; /* longest time since latency was set, rounded */
  GstClockTime last;    /* time of the last run */
  guint n_times;        /* number of runs since latency was set */

  /* The times of all runs since the start, in ns. */
  guint64 n_timed;
  guint64 times[GST_GEMMCL_N_BINS];
  GstClockTime max;
} GstGemmclStats;

/** GstGemmclInput: An input buffer, the place of A in it, and its output. The place is read once,
 * when the buffer arrives: another element may write the buffer later. */
typedef struct {
  GstBuffer *buffer;      /* not referenced */
  GstBuffer *data;        /* (nullable): with A, if A is in the metadata of buffer; owned */
  gsize offset;           /* of A in data or, if that is NULL, in buffer; 0 for frames */
  gsize size;             /* bytes of A */
  GstGemmclTensor a;      /* the shape of A, if that is a tensor; otherwise its rank is 0 */
  GstGemmclPlaces places; /* of the tensors in buffer; all zero for other media */
  GstBuffer *output;      /* NULL before it is prepared; owned */
} GstGemmclInput;

/** GstGemmclLearned: The buffers' description of A (learn.c). For the streaming thread, except
 * tensor, which the lock of the element guards. */
typedef struct {
  GstGemmclTensor tensor; /* A, as a buffer described it; rank 0: none did */
  gboolean has_room;      /* only M has changed, and the plan can stay */
  GQueue waiting;         /* events that wait for the first buffer */
  GstGemmclInput input;   /* the next buffer of the batch; turns.c takes it */
} GstGemmclLearned;

/** GstGemmclTurn: A batch and its run. */
typedef struct {
  GPtrArray *items; /* the inputs and the events between them, in order */
  guint n;          /* number of inputs */
  GstGemmclInput *inputs;

  GstGemmclInflight *inflight;
  guint n_held;        /* the number of inputs that inflight holds until the end of the run */
  GstGemmclLane *lane; /* the device of the run */
  GstGemmclScalars scalars;
} GstGemmclTurn;

/** GstGemmclTurns: The ring of turns, and the state that all runs share. */
typedef struct {
  GstGemmclTurn *ring;
  guint size; /* one turn for each run in flight, and one for the batch that is being collected */
  guint first, n;     /* the turns with runs in flight: index of the oldest, and their number */
  guint next;         /* index of the lane after that of the last run */
  gboolean is_late;   /* push_late() is running */
  GstFlowReturn flow; /* of outputs that other threads pushed; returned for the next buffer */
  gboolean discont;   /* QoS dropped the buffer before the next one */
  GstClockID timer;   /* (nullable): of the timeout of the batch */

  /* The pool of the last input, and the largest number of its buffers that the element may hold. */
  gconstpointer pool; /* compared only */
  guint limit;

  /* The description of the run that is being submitted (run.c). */
  GemmclData *a;
  GemmclData *d;            /* of all outputs, then of all row outputs */
  GstGemmclMapping *mapped; /* the mappings of d */
  cl_event *wait;

  GstGemmclInflight *latest; /* of the last run; not referenced */
  cl_command_queue queue;    /* of that run; compared only; NULL: the context's queue */
  guint untimed;             /* runs since the last run in a queue with profiling */

  /* Previous outputs (run.c). */
  gboolean feedback; /* beta was not 0: the plan keeps the previous output */
  GstBuffer *last;   /* otherwise, the last output, in case beta is set */
  gsize last_m;
} GstGemmclTurns;

/**
 * GstGemmcl:
 *
 * Only the files that are named beside a field, or in its struct, write it.
 *
 * Locks, in the order in which they are taken: operands.change_lock; @lock, for fields that both
 * the streaming thread and the application use; the lock of the device; the lock of the object.
 * While any lock but the first is held, do not post messages, call other elements, compile, pack or
 * wait. A thread may read a field without a lock if no other thread writes the field.
 */
struct _GstGemmcl {
  GstBaseTransform parent;

  GstGemmclProperties properties; /* properties.c; under the object's lock */
  GstGemmclDevice device;         /* memory/device.c; has its own lock */

  GMutex lock;
  GstGemmclOperandSlot operands;               /* operands.c */
  GstGemmclLane lanes[GST_GEMMCL_MAX_DEVICES]; /* see the struct */
  guint n_lanes;                               /* lanes.c; at least 1 */
  GstGemmclStream stream;                      /* see the struct */
  GstGemmclProblem problem;                    /* plan.c: the problem of all lanes' plans */
  GstGemmclStats stats;                        /* stats.c */

  /* For the streaming thread only. */
  GstGemmclLane *lane;      /* lanes.c, turns.c: the current device, for the run being prepared */
  gboolean needs_plan;      /* set with a new context (element.c), shape (learn.c) or operand
                             * (operands.c); cleared by plan.c */
  GstGemmclLearned learned; /* learn.c */
  GstGemmclScalars scalars; /* element.c, turns.c: of the batch or run being prepared */
  GstGemmclTurns *turns;    /* turns.c, run.c; NULL unless streaming */
  guint pool_size;          /* allocation.c, element.c: bytes of a buffer of D's pool; 0: no pool */
};

/** gst_gemmcl_stream_get_duration: @n: at least 1. Returns: the duration of @n buffers, in ns; 0 if
 * it is not known or longer than GST_GEMMCL_MAX_WAIT. */
static inline GstClockTime
gst_gemmcl_stream_get_duration (const GstGemmclStream *self, guint n)
{
  return self->frame_duration > GST_GEMMCL_MAX_WAIT / n ? 0 : n * self->frame_duration;
}

/** gst_gemmcl_is_meta: Returns: %TRUE if results leave in the metadata of inputs. */
static inline gboolean
gst_gemmcl_is_meta (GstGemmcl *self)
{
  return self->stream.settings.output == GST_GEMMCL_OUTPUT_META;
}

/* The parts of the class: properties, negotiation of caps, allocation on both pads, outputs. */

void gst_gemmcl_properties_install (GObjectClass *klass);

/** gst_gemmcl_properties_init: Sets all defaults. */
void gst_gemmcl_properties_init (GstGemmcl *self);
void gst_gemmcl_properties_clear (GstGemmcl *self);

void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);
void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);
void gst_gemmcl_output_install (GstBaseTransformClass *klass);

/** gst_gemmcl_explain_failure: @input: (nullable): caps of the sink pad. Posts an error with the
 * reason why they could not be negotiated, unless an error was posted since caps were last accepted
 * or the element is shutting down. */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);

/* The plans for the current caps and operands (plan.c). For the streaming thread. */

/**
 * gst_gemmcl_make_plan:
 * @audio_m: the rows of A that fit the plan, if they differ between buffers; 0: 1024
 *
 * Makes a plan for the present formats and operands on each device, in place of the old plan. The
 * old plan's previous output is kept if it fits. The library compiles and packs in a thread.
 * Meanwhile no lock is held; progress messages are posted after 50 ms. A device on which no plan
 * can be made is dropped if another device has a plan.
 *
 * Returns: %FALSE with @error; then there is no plan. Once the sink pad is not active any more, the
 *   compiler gets one second to return.
 */
gboolean gst_gemmcl_make_plan (GstGemmcl *self, gsize audio_m, GError **error);

/** gst_gemmcl_fit_plan: Makes a plan for the next buffer, whose caps are negotiated, if a new plan
 * is due or if the present one, if any, reads another A, has too few rows, or no C where beta
 * needs the previous output. Audio and flexible tensors get more rows than they need. Returns:
 * %FALSE with @error, also if alpha or beta cannot be used. */
gboolean gst_gemmcl_fit_plan (GstGemmcl *self, GError **error);

/** gst_gemmcl_drop_plan: Waits for all runs and releases the plans. */
void gst_gemmcl_drop_plan (GstGemmcl *self);
