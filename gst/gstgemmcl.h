/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "gemmcl-caps.h"
#include "gemmcl-problem.h"

G_BEGIN_DECLS

#define GST_TYPE_GEMMCL (gst_gemmcl_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST, GEMMCL, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE (gemmcl)

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_debug);

/** The matrices that a user gives by name; the index into GstGemmcl.where. */
typedef enum {
  GST_GEMMCL_OPERAND_WEIGHT,
  GST_GEMMCL_OPERAND_BIAS,
  GST_GEMMCL_OPERAND_ADDEND,
} GstGemmclOperand;

#define GST_GEMMCL_N_OPERANDS (GST_GEMMCL_OPERAND_ADDEND + 1)

typedef struct _GstGemmclImports GstGemmclImports;
typedef struct _GstGemmclMapping GstGemmclMapping;
typedef struct _GstGemmclFlight GstGemmclFlight;

/**
 * GstGemmcl:
 *
 * Locks, taken in this order: @change_lock holds changes of operands apart from each other;
 * @lock guards what both the streaming thread and the application touch; the object's own lock
 * guards what properties say. Nothing is posted on the bus and no other element is called with
 * @lock or the object's lock held. What only the streaming thread writes it may read without.
 */
struct _GstGemmcl {
  GstBaseTransform parent;

  /* Under the object's lock: properties. */
  gchar *where[GST_GEMMCL_N_OPERANDS];
  GstGemmclSettings wanted;
  gchar *platform;
  gchar *device;
  GemmclDeviceType device_type;
  gdouble alpha;
  gdouble beta;
  /* And what the element was given. */
  GstObject *va_display; /* a GstVaDisplay */
  gboolean va_failed;    /* no OpenCL context could be made with it */

  GMutex change_lock;

  GMutex lock;
  GemmclContext *context;
  GstAllocator *allocator; /* of OpenCL memory of context; made when it is first needed */
  gboolean context_stale;  /* platform, device-type or device changed since it was opened */
  GstGemmclOperands operands;
  GstGemmclOperands next; /* what the streaming thread takes over before its next buffer */
  gboolean has_next;
  gboolean negotiating; /* the streaming thread holds the operands as they are */
  GemmclPlan *plan;
  GstGemmclProblem problem; /* the plan's */
  GemmclPlanStats past;     /* of plans that are gone */
  guint64 buffers;
  const gchar *read_memory; /* where the last run had A, in a word; static */
  gboolean wrote_device;    /* and D in OpenCL memory */
  gboolean va_refused;      /* it was said why surfaces are not taken */
  GstClockTime frame_duration;

  /* Written by the streaming thread under @lock. */
  GstGemmclSettings settings; /* what @wanted was when streaming started */
  GstGemmclFormat input;
  GstGemmclFormat output;
  GstGemmclMemory input_memory;
  gboolean output_opencl; /* output goes out in OpenCL memory */
  gboolean started;
  gboolean configured; /* there are caps, and they fit */

  /* The streaming thread's own. */
  gboolean replan;       /* operands were taken over, the plan is still the old one's */
  gboolean error_posted; /* since caps were last accepted */
  gdouble next_alpha;
  gdouble next_beta;
  gdouble run_alpha;
  gdouble run_beta;
  gsize last_m;
  GstGemmclImports *imports; /* memory of others, as the device has it */
  GstBuffer *last_output;    /* kept, as beta may scale it */
  GemmclHostData last_d;     /* where that is, unless in OpenCL memory */
  guint pool_size;           /* bytes that buffers of the output's pool have; 0: there is none */

  /* gemmcl-queue.c's: a ring of flights, and the thread that waits for them. */
  GMutex queue_lock; /* taken last; guards the flights' states and what follows */
  GCond queue_changed;
  GstGemmclFlight *flights;
  guint n_flights;
  guint first;     /* the oldest that was launched */
  guint launched;  /* from there on; behind them is the one that boards */
  guint under_way; /* of them, those that have not landed */
  GstFlowReturn sent_flow;
  GThread *watcher;
  gboolean stopping;
};

/**
 * gst_gemmcl_post:
 * @type: GST_MESSAGE_ERROR or GST_MESSAGE_WARNING
 * @consequence: (nullable): a sentence for what follows from it, to stand first
 *
 * Posts @error on the bus with the #GStreamer domain and code that its code stands for.
 */
void gst_gemmcl_post (GstGemmcl *self, GstMessageType type, const gchar *consequence,
                      const GError *error);

G_END_DECLS
