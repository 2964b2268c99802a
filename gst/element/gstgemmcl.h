/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/base/gstbasetransform.h>

#include "element/caps.h"
#include "memory/fail.h"
#include "element/problem.h"

#define GST_TYPE_GEMMCL (gst_gemmcl_get_type ())
G_DECLARE_FINAL_TYPE (GstGemmcl, gst_gemmcl, GST, GEMMCL, GstBaseTransform)

GST_DEBUG_CATEGORY_EXTERN (gst_gemmcl_debug);

typedef struct _GstGemmclImports GstGemmclImports;
typedef struct _GstGemmclBatch GstGemmclBatch;
typedef struct _GstGemmclPlanJob GstGemmclPlanJob;
typedef struct _GstGemmclRuns GstGemmclRuns;
typedef struct _GstGemmclTuner GstGemmclTuner;

/**
 * GstGemmcl:
 *
 * Locks, taken in this order: @change_lock holds changes of operands apart from each other;
 * @lock guards what both the streaming thread and the application touch; the object's own lock
 * guards what properties say. Nothing is posted on the bus, no other element is called and nothing
 * is compiled, packed or waited for with @lock or the object's lock held. What only the streaming
 * thread writes it may read without.
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
  gboolean next_replans;                           /* it needs another plan */
  GemmclPrepared *prepared[GST_GEMMCL_N_OPERANDS]; /* else what plan has to use */
  gboolean negotiating; /* the streaming thread holds the operands as they are */
  GemmclPlan *plan;
  GstGemmclProblem problem; /* the plan's */
  GstGemmclPlanJob *job;    /* a plan that is being made */
  gboolean stopping;        /* no plan is waited for */
  GstGemmclTuner *tuner;    /* the search for a faster one than plan; NULL: there was none */
  GemmclPlanStats past;     /* of plans that are gone */
  guint64 buffers;
  guint64 bytes_out;        /* written for the host to OpenCL memory */
  const gchar *read_memory; /* where the last run had A, in a word; static */
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
  gboolean addend_warned;
  guint64 reported; /* buffers when the stats were last reported */
  gdouble next_alpha;
  gdouble next_beta;
  gdouble run_alpha;
  gdouble run_beta;
  GstGemmclImports *imports; /* memory of others, as the device has it */
  guint pool_size;           /* bytes that buffers of the output's pool have; 0: there is none */
  GstGemmclRuns *runs;
  GstGemmclBatch *batch;
};

/** GST_GEMMCL_AUTO: the default of kernel, platform and device, which leaves the choice open. */
#define GST_GEMMCL_AUTO "auto"

/* Parts of the class: properties, with their defaults and what they own; caps; memory on both pads;
 * output buffers. */
void gst_gemmcl_properties_install (GObjectClass *klass);
void gst_gemmcl_properties_init (GstGemmcl *self);
void gst_gemmcl_properties_clear (GstGemmcl *self);
void gst_gemmcl_negotiate_install (GstBaseTransformClass *klass);
void gst_gemmcl_allocation_install (GstBaseTransformClass *klass);
void gst_gemmcl_output_install (GstBaseTransformClass *klass);

/**
 * gst_gemmcl_explain_failure:
 * @input: (nullable): caps of the sink pad that could not be negotiated
 *
 * Posts an error that says why, unless one was posted since caps were last accepted or the
 * element is being shut down.
 */
void gst_gemmcl_explain_failure (GstGemmcl *self, GstCaps *input);

/**
 * gst_gemmcl_post:
 * @type: GST_MESSAGE_ERROR or GST_MESSAGE_WARNING
 * @consequence: (nullable): a sentence for what follows from it, to stand first
 *
 * Posts @error on the bus with the #GStreamer domain and code that its code stands for.
 */
void gst_gemmcl_post (GstGemmcl *self, GstMessageType type, const gchar *consequence,
                      const GError *error);
