/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgemmcl.h"

/* The system's memory on the element's pads: where it comes from, so that as little as can be of it
 * is copied. */

G_BEGIN_DECLS

/**
 * gst_gemmcl_system_propose:
 * @query: an allocation query for caps in the system's memory; for those in any other there is no
 *   more to offer than that a GstVideoMeta is understood
 * @min: buffers that the element holds
 *
 * Offers upstream memory that the device reads with the fewest copies: where it shares the host's,
 * pages of the system's, for it reads them in place; else, in a pool, OpenCL memory with a pinned
 * side, which the device fetches while it computes. Whatever else comes is right, too.
 */
void gst_gemmcl_system_propose (GstGemmcl *self, GstQuery *query, guint min);

/**
 * gst_gemmcl_system_decide:
 * @query: an allocation query that downstream has answered, or not
 * @caps: what goes out, in the system's memory
 * @held: buffers that the element holds
 *
 * Video goes into downstream's pool if that has enough, all else into one of the element's own. Of
 * a device that shares the host's memory, pages of it.
 *
 * Returns: %FALSE if that cannot be, and an error is posted.
 */
gboolean gst_gemmcl_system_decide (GstGemmcl *self, GstQuery *query, GstCaps *caps, guint held);

/**
 * gst_gemmcl_get_pool_size:
 *
 * Returns: bytes that a buffer of a pool needs for what goes out: a picture, the samples that the
 *   plan has room for, or the one tensor of a buffer that is made anew; 0 if that is too much.
 */
guint gst_gemmcl_get_pool_size (GstGemmcl *self);

G_END_DECLS
