/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-hold.h"
#include "plan-private.h"

/* What runs on host memory have: buffers that later runs take over, and what is of one only. */

/** GemmclPinned: Memory of the host that the device copies from and to by itself. */
typedef struct {
  cl_mem buffer;
  guchar *data; /* NULL: there is none */
} GemmclPinned;

struct _GemmclPendingRun {
  gboolean busy;
  cl_mem a, d, rows;
  GemmclPinned pinned_a, pinned_d, pinned_rows;

  /* Of this run. */
  gsize m, batch;
  const GemmclHostData *host_a, *host_d; /* NULL: on the device */
  gfloat *const *host_rows;
  GemmclChain chain;
  cl_event before[2]; /* what the first kernel waits for: commands of its own queue, and A */
  cl_event done, rows_done;
  cl_mem shared_a, shared_d; /* the caller's memory, in place of a and d */
  GemmclHold hold;           /* of objects that others use, too */
};

/** gemmcl_plan_has_own_memory: Returns: whether the device has memory that is not the host's. */
gboolean gemmcl_plan_has_own_memory (GemmclPlan *self);

/** gemmcl_plan_take_run: Returns: one that is not busy, or a new one; the plan's. */
GemmclPendingRun *gemmcl_plan_take_run (GemmclPlan *self);

/**
 * gemmcl_pending_run_make_room:
 * @which: A or D
 * @host: whether that is copied from the host, or to it
 *
 * Makes the run's own buffer, and what the copies take; nothing where it has them.
 */
gboolean gemmcl_pending_run_make_room (GemmclPlan *self, GemmclPendingRun *run, GemmclOperand which,
                                       gboolean host, GError **error);

/** gemmcl_pending_run_make_room_for_rows: The same for the row outputs, if the plan has any. */
gboolean gemmcl_pending_run_make_room_for_rows (GemmclPlan *self, GemmclPendingRun *run,
                                                GError **error);

/** gemmcl_pending_run_wait: Until all is done that uses the caller's memory. */
cl_int gemmcl_pending_run_wait (const GemmclPendingRun *run);

/** gemmcl_pending_run_release: Gives back what is of this run only. */
void gemmcl_pending_run_release (GemmclPendingRun *run);
