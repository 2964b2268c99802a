/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/stream.h"

/* The element's devices. With several (property `devices`), runs are spread over them. */

#define GST_GEMMCL_MAX_DEVICES 16

/** GstGemmclDevice: A device of the element, with its plan (plans.c). The element's lock guards the
 * fields. Only the streaming thread writes them, and it may read them without the lock. */
typedef struct {
  /* devices.c */
  GemmclContext *context;  /* NULL in the state NULL, as is allocator */
  GstAllocator *allocator; /* of OpenCL memory in context; for the streaming thread only */
  gboolean failed;         /* the device is not used until the next start */
  GstBufferPool *pool;     /* of outputs; NULL for the first device: the base class has it; for the
                            * streaming thread only, without the lock */

  /* plans.c; devices.c drops the plan of a failed device, stats.c sets the counts to 0 */
  GemmclPlan *plan;     /* NULL before the first plan, after a failed creation, and if @failed */
  GemmclPlanStats past; /* counts of replaced plans */
  guint64 compile_ns;   /* time that its plans took to compile */
  /* For the streaming thread only, without the lock. */
  const gchar *kernel; /* the plan's kernel at its creation; static */
  gboolean is_logged;  /* the end of the search for a faster kernel was logged */

  guint64 buffers; /* stats.c: number of buffers whose results the device made */
} GstGemmclDevice;

/** gst_gemmcl_devices_open: Opens the devices that the properties name. Fails if one of them cannot
 * run the kernel that the properties name. For NULL to READY, and while there is no plan. */
gboolean gst_gemmcl_devices_open (GstGemmcl *self, GError **error);

/** gst_gemmcl_devices_close: Releases the devices; their counts stay. */
void gst_gemmcl_devices_close (GstGemmcl *self);

/* The following functions are for the streaming thread. */

/** gst_gemmcl_devices_set_pools: @pool: (nullable): the pool of the first of @n devices. Gives each
 * other device a pool with the same configuration; %NULL: none. */
gboolean gst_gemmcl_devices_set_pools (GstGemmclDevice *devices, guint n, GstBufferPool *pool,
                                       GError **error);

/** gst_gemmcl_devices_get_plan: Returns: (transfer none) (nullable): the plan of the first device
 * that is used. Plans are made together, so it stands for all. */
GemmclPlan *gst_gemmcl_devices_get_plan (GstGemmcl *self);

/** gst_gemmcl_devices_drop: Drops @device, where a run or a plan failed with @error: posts a
 * warning and clears @error. Returns: (nullable): another device; %NULL, and nothing is done, if no
 * other device is left. */
GstGemmclDevice *gst_gemmcl_devices_drop (GstGemmcl *self, GstGemmclDevice *device, GError **error);
