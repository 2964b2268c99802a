/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"

/**
 * GemmclHold: objects that a run has acquired from whoever shares them, until it releases them. All
 * zero: none.
 */
typedef struct {
  cl_mem *objects; /* owned; each once */
  guint n_objects;
  GemmclHandover release; /* NULL: nothing is held */
  cl_event released;      /* owned; NULL: nothing was */
} GemmclHold;

void gemmcl_hold_clear (GemmclHold *self);

/**
 * gemmcl_hold_acquire:
 * @run: whose A's objects are acquired; nothing is done if it does not say how
 * @n_planes: objects of each of its @batch pictures, if they are in images
 * @queue: an in-order one, in which the run's commands follow
 */
gboolean gemmcl_hold_acquire (GemmclHold *self, const GemmclMixedRun *run, gsize batch,
                              guint n_planes, cl_command_queue queue, GError **error);

/** gemmcl_hold_release: after the last command that uses the objects; nothing if none is held. */
gboolean gemmcl_hold_release (GemmclHold *self, cl_command_queue queue, GError **error);
