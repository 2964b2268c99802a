/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "memory/allocator.h"

/* The queues of an allocator. Some drivers, Mesa's Rusticl among them, fail all later commands of a
 * queue in which a command failed, so such a queue is left for a new one. Commands that are in
 * flight end in the old queue. Any thread. */

void gst_gemmcl_queues_init (GstGemmclAllocator *self);

/** gst_gemmcl_queues_open: Creates the queues. Returns: %FALSE with #GEMMCL_ERROR_OPENCL. */
gboolean gst_gemmcl_queues_open (GstGemmclAllocator *self, GError **error);
void gst_gemmcl_queues_clear (GstGemmclAllocator *self);

/** gst_gemmcl_queues_wait: Waits for @event, and leaves its queue if its command failed. Returns:
 * %TRUE if it is complete. */
gboolean gst_gemmcl_queues_wait (GstGemmclAllocator *self, cl_event event);

/** gst_gemmcl_queues_leave: Replaces the queue @failed, in which a command failed, if it is one of
 * @allocator. %NULL: all queues. */
void gst_gemmcl_queues_leave (GstAllocator *allocator, cl_command_queue failed);
