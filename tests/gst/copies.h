/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Stands before the OpenCL library in a program's own functions (the program exports its symbols):
 * counts copies and kernels, and can make a device look like one with memory of its own. */

/** Copies: calls since copies_reset() that move bytes between host and device, or on the device;
 * and kernels in queues with profiling and without. */
typedef struct {
  guint writes;
  guint reads;
  guint copies;
  guint timed;
  guint untimed;
} Copies;

void copies_reset (void);

Copies copies_get (void);

/** Whether devices deny, from now on, that they share the host's memory. */
void copies_pretend_discrete (gboolean discrete);
