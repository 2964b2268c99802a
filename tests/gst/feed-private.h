/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed.h"

/* What feed.c and feed-buffer.c share. */

#define FEED_FRAME     (10 * GST_MSECOND)
#define FEED_MAX_STEPS 80
#define FEED_MAX_N     3

/**
 * Family: streams that one weight suits
 * @caps: theirs
 * @k: their K
 * @n: choices of N
 * @unit: what their samples are about
 */
typedef struct {
  const gchar *caps[4];
  guint k, n[FEED_MAX_N];
  gdouble unit;
} Family;

/**
 * Feed:
 * @items: what was pushed
 * @script: a word for each step
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
struct _Feed {
  Stream *stream;
  GPtrArray *items;
  GRand *rand;
  GString *script;
  gchar *failure;

  const Family *family;
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
};

/** feed_is_true: Returns: TRUE @percent times in a hundred. */
gboolean feed_is_true (Feed *self, guint percent);

/** feed_pick_float: Returns: a number that f32 holds. */
gdouble feed_pick_float (Feed *self, gdouble least, gdouble most);

/** feed_refuse: Notes that the element refused @what, and its error on the bus. */
void feed_refuse (Feed *self, const gchar *what);

/** feed_push_buffer: Makes a buffer as the caps say, and pushes it. */
void feed_push_buffer (Feed *self);
