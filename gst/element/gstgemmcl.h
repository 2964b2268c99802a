/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/caps.h"
#include "element/plan.h"
#include "element/run.h"
#include "element/turns.h"
#include "memory/device.h"
#include "memory/error.h"

#define GST_TYPE_GEMMCL (gst_gemmcl_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST, GEMMCL, GstBaseTransform)

/** GstGemmclStream: The formats of the stream, and the memory of its buffers. The streaming thread
 * writes it, under the lock of the element, and is the only one that may read it without the lock.
 */
typedef struct {
  GstGemmclSettings settings; /* the properties when streaming started */
  GstGemmclFormat input;
  GstGemmclFormat output;
  GstClockTime frame_duration;
  gboolean started;
  gboolean configured;     /* caps were accepted */
  guint warnings;          /* those of negotiate.c that were posted; any thread */
  GstGemmclTensor learned; /* learn.c: A of the last buffer that said it; rank 0: none */

  /* The streaming thread's own, without the lock. */
  gboolean has_room;     /* learn.c: only M has changed, and the plan can stay */
  gboolean error_posted; /* since caps were last accepted */
  guint pool_size;       /* bytes of a buffer of the output's pool; 0: no pool */
  guint noted_copies;    /* copies.c: bits of those in the log since caps were last accepted */
} GstGemmclStream;

/**
 * GstGemmcl:
 *
 * Each field belongs to the file that is named beside it. Other files may read it, but change it
 * only through the functions of its header.
 *
 * Locks, in the order in which they are taken: operands.change_lock; @lock, for fields that both
 * the streaming thread and the application use; the lock of the device; the lock of the object.
 * While any but the first is held, do not post messages, call other elements, compile, pack or
 * wait. A thread may read a field without a lock if it is the only one that writes it.
 */
struct _GstGemmcl {
  GstBaseTransform parent;

  GstGemmclProperties properties; /* properties.c; under the object's lock */
  GstGemmclDevice device;         /* memory/device.c; has its own lock */

  GMutex lock;
  GstGemmclOperandSlot operands;               /* operands.c */
  GstGemmclLane lanes[GST_GEMMCL_MAX_DEVICES]; /* lanes.c, plan.c, operands.c, stats.c */
  guint n_lanes;                               /* at least 1 */
  GstGemmclStream stream;                      /* negotiate.c */
  GstGemmclPlanSlot slot;                      /* plan.c */
  GstGemmclStats stats;                        /* stats.c */

  /* The streaming thread's own. */
  GstGemmclLane *lane;      /* the current device: of the run that is being prepared */
  GQueue waiting;           /* learn.c: events that wait for the first buffer */
  GstGemmclInput input;     /* learn.c: the next buffer of the batch */
  GstGemmclScalars scalars; /* of the batch or run that is being prepared */
  GstGemmclTurns *turns;    /* turns.c, run.c; NULL unless streaming */
};

/** gst_gemmcl_is_meta: Returns: %TRUE if results leave in the metadata of inputs. */
static inline gboolean
gst_gemmcl_is_meta (GstGemmcl *self)
{
  return self->stream.settings.output == GST_GEMMCL_OUTPUT_META;
}

/** gst_gemmcl_get_terms: Returns: the settings in use, or the properties unless streaming, and the
 * present weight's shape. Any thread. */
GstGemmclTerms gst_gemmcl_get_terms (GstGemmcl *self);

/* Parts of the class: caps; memory on both pads; output buffers. */
void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);
void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);
void gst_gemmcl_output_install (GstBaseTransformClass *klass);

/** gst_gemmcl_explain_failure: Posts an error that says why @input, (nullable), caps of the sink
 * pad, could not be negotiated, unless one was posted since caps were last accepted or the element
 * is being shut down. */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);
