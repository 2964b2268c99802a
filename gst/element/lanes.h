/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/properties.h"

/* The devices of an element: one, or those of the property devices, to which runs go by turns. */

#define GST_GEMMCL_MAX_DEVICES 16

/** GstGemmclLane: A device of the element, with its plan. The lock of the element guards the
 * fields; the streaming thread alone writes them, and may read them without the lock. */
typedef struct {
  GemmclContext *context;  /* NULL in the state NULL */
  GemmclPlan *plan;        /* NULL before the first plan, after a failed creation, and if @failed */
  GstAllocator *allocator; /* of OpenCL memory in context; made at its first use */
  gboolean failed;         /* not used any more until the next start */
  GemmclPlanStats past;    /* of replaced plans */
  guint64 compile_ns;      /* that plans took to compile */
  guint64 buffers;         /* their results are from this device */

  /* The streaming thread's own, without the lock. */
  const gchar *kernel; /* the plan's kernel at its creation; static */
  gboolean is_logged;  /* the end of the search for a faster kernel was logged */
  GstBufferPool *pool; /* of outputs; NULL: that of the base class, for the first device */
} GstGemmclLane;

/** gst_gemmcl_lanes_open: Opens the devices that the properties name, if they all can run the
 * kernel that the properties name. For NULL to READY and for the streaming thread, without a plan.
 */
gboolean gst_gemmcl_lanes_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_lanes_close: Releases the devices; their counts stay. */
void gst_gemmcl_lanes_close (GstGemmcl *self);

/** gst_gemmcl_lane_get_allocator: Returns: (transfer full) (nullable): the allocator of OpenCL
 * memory of the device; %NULL in the state NULL, or with @error. Any thread. */
GstAllocator *gst_gemmcl_lane_get_allocator (GstGemmcl *self, GstGemmclLane *lane, GError **error);

/* The following functions are for the streaming thread. */

/** gst_gemmcl_lanes_print: Returns: (transfer full): the name of the device, or how many there are.
 */
gchar *gst_gemmcl_lanes_print (GstGemmcl *self);

/** gst_gemmcl_lanes_set_pools: Gives all devices but the first pools like @pool, (nullable), which
 * is that of the first. */
gboolean gst_gemmcl_lanes_set_pools (GstGemmcl *self, GstBufferPool *pool, GError **error);

/** gst_gemmcl_lane_fail: Drops the device of @lane, of which a run or a plan failed with @error,
 * unless no other one is left: posts a warning, clears @error and makes another device the current
 * one. Returns: %FALSE if the device stays. */
gboolean gst_gemmcl_lane_fail (GstGemmcl *self, GstGemmclLane *lane, GError **error);
