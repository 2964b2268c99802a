/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/cl.h"

/**
 * B on the device, as a kernel wants it, counted by reference. Plans of one context that have the
 * same numbers, packed the same way, share one; the last to let go of it frees it. Never written
 * again.
 */
typedef struct _GemmclWeights GemmclWeights;

/** Those of a context that are alive. Any thread. */
typedef struct {
  GMutex lock;
  GHashTable *alive; /* GemmclWeights.key -> GemmclWeights, which are not owned */
  guint64 bytes;     /* of all of them */
} GemmclWeightsTable;

void gemmcl_weights_table_init (GemmclWeightsTable *self);

/** Clears a table of which none is alive any more. */
void gemmcl_weights_table_clear (GemmclWeightsTable *self);

/** Returns: (transfer full): what two can share by: @layout, which says how they are packed, and a
 * hash of 128 bits of the @n numbers, since a file's name and times do not tell whether it was
 * written anew. */
gchar *gemmcl_weights_make_key (const gfloat *data, gsize n, const gchar *layout);

/** Returns: (transfer full) (nullable): those of @key, if they are alive. */
GemmclWeights *gemmcl_weights_find (GemmclWeightsTable *table, const gchar *key);

/** Returns: (transfer full): @buffer (transfer full), which no command writes any more, for all who
 * ask for @key from now on; or what somebody else was quicker to share, and releases @buffer. */
GemmclWeights *gemmcl_weights_share (GemmclWeightsTable *table, const gchar *key, cl_mem buffer);

/** Returns: (transfer none): a buffer or an image. */
cl_mem gemmcl_weights_get_buffer (const GemmclWeights *self);

/** Commands that are enqueued keep the buffer until they are done. */
void gemmcl_weights_unref (GemmclWeights *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclWeights, gemmcl_weights_unref)
