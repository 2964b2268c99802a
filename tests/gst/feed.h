/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shape.h"
#include "stream.h"

/* A random stream into an element, fed from one thread, and a list of what it was: each buffer with
 * its result, and what must arrive between which buffers. All numbers are small integers or halves,
 * so that results are exact in f32 in whatever order they are summed. */

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
 * @n: of the weight that @buffer is multiplied with
 * @keeps_gap: whether the flag GAP stays
 * @results: (element-type gdouble): D before it is rounded and saturated. Both are right: the
 *   previous output that they add to may be either once the element has stored an integer of it.
 */
typedef struct {
  ItemKind kind;
  GstEvent *event;
  GstBuffer *buffer;
  GstCaps *caps;
  gsize n;
  gboolean keeps_gap;
  GArray *results[2];
} Item;

#define FEED_MAX_K 5
#define FEED_MAX_N 17

/**
 * Feed:
 * @stream: the element that is fed
 * @items: (element-type Item): what was pushed, in order
 * @script: the settings, and a word for each step
 * @failure: (nullable): the first thing that the element refused
 * @caps, @shape, @segment: the next buffer's
 * @alpha_source, @beta_source: (nullable): what controls them; %NULL: they are set between buffers
 * @has_addend: whether there is one, from the start to the end
 * @may_feed_back: whether beta may scale the previous output
 * @alpha, @beta, @k, @n, @b, @bias, @addend: what the next buffer is computed with
 * @previous: (nullable): the results of the buffer before it; %NULL: zeros
 * @resets: whether its previous output is zeros, though it may have no DISCONT
 * @n_changed: whether N has changed since the last buffer
 * @samples: of most buffers of audio
 * @time: the next buffer's
 * @count: buffers so far
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
  GstControlSource *alpha_source, *beta_source;
  gboolean has_addend, may_feed_back, has_bias;
  gdouble alpha, beta;
  gsize k, n;
  gdouble b[FEED_MAX_K * FEED_MAX_N], bias[FEED_MAX_N], addend[FEED_MAX_N];
  GArray *previous[2];
  gboolean resets, n_changed;
  gsize samples;
  GstClockTime time;
  guint64 count;
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

/** feed_store: Returns: @value of D as a sample of @type: integers are rounded and saturated. */
gdouble feed_store (SampleType type, gdouble value);
