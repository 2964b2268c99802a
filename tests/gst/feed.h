/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "reference.h"
#include "shape.h"
#include "stream.h"

/* A random stream into an element, fed from one thread, and a list of what it was: so it is known
 * what each buffer must be computed with, and what must arrive between which buffers. */

typedef enum {
  ITEM_BUFFER,
  ITEM_EVENT,
  ITEM_FLUSH,
} ItemKind;

/**
 * Item: what was pushed
 * @event: (nullable): a serialised event
 * @buffer: (nullable): the buffer
 * @caps: the sink pad's, of @buffer
 * @terms: what @buffer must be computed with
 * @resets: whether its previous output is zeros, whatever was before it
 */
typedef struct {
  ItemKind kind;
  GstEvent *event;
  GstBuffer *buffer;
  GstCaps *caps;
  Terms terms;
  gboolean resets;
} Item;

typedef struct _Feed Feed;

/**
 * feed_new: Makes an element and its settings, and starts it; both follow from @seed.
 * Returns: a feed, of which nothing was pushed yet
 */
Feed *feed_new (guint32 seed);
void feed_free (Feed *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Feed, feed_free)

/** feed_get_stream: Returns: (transfer none): the element that is fed */
Stream *feed_get_stream (Feed *self);

/** feed_get_items: Returns: (transfer none) (element-type Item): what was pushed, in order */
GPtrArray *feed_get_items (Feed *self);

/**
 * feed_run: Pushes some dozens of buffers, and what comes between them, and EOS at last.
 * Returns: (transfer full) (nullable): what the element refused; then no more is pushed
 */
gchar *feed_run (Feed *self);

/** feed_print: Returns: (transfer full): the settings, and what was pushed, a word for each */
gchar *feed_print (Feed *self);
