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

/**
 * Feed:
 * @stream: the element that is fed
 * @items: (element-type Item): what was pushed, in order
 * @script: the settings, and a word for each step
 * @failure: (nullable): the first thing that the element refused
 * @caps, @shape, @segment: the next buffer's
 * @alpha, @beta: (nullable): what controls them; %NULL: they are set between buffers
 * @has_addend: whether there is one, from the start to the end
 * @may_feed_back: whether beta may scale the previous output
 * @terms: what the next buffer is computed with
 * @resets: whether its previous output is zeros, though it may have no DISCONT
 * @n_changed: whether N has changed since the last buffer
 * @samples: of most buffers of audio
 * @time: the next buffer's
 * @n: buffers so far
 */
typedef struct {
  Stream *stream;
  GPtrArray *items;
  GRand *rand;
  GString *script;
  gchar *failure;

  const struct _FeedFamily *family;
  const gchar *caps;
  Shape shape;
  GstSegment segment;
  GstControlSource *alpha, *beta;
  gboolean has_addend, may_feed_back;
  Terms terms;
  gboolean resets, n_changed;
  gsize samples;
  GstClockTime time;
  guint64 n;
} Feed;

/**
 * feed_new: Makes an element and its settings, and starts it; both follow from @seed.
 * Returns: a feed, of which nothing was pushed yet
 */
Feed *feed_new (guint32 seed);
void feed_free (Feed *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Feed, feed_free)

/**
 * feed_run: Pushes some dozens of buffers, and what comes between them, and EOS at last.
 * Returns: (transfer full) (nullable): what the element refused; then no more is pushed
 */
gchar *feed_run (Feed *self);
