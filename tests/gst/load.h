/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "line.h"

/* Elements under load: a thread of its own pushes numbered buffers as fast as they are taken, and
 * whatever comes out is checked: once each, in order, unharmed, and nothing of before a flush. */

/** What comes in: small tensors. LOAD_LONGER is twice as long. */
#define LOAD_CAPS(dimensions)                                                                      \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)" dimensions                       \
  ",types=(string)float32,framerate=1000/1"
#define LOAD_SHORT      LOAD_CAPS ("4:4")
#define LOAD_LONG       LOAD_CAPS ("4:8")
#define LOAD_FRAME      (GST_SECOND / 1000)
#define LOAD_SHORT_SIZE (4 * 4 * sizeof (gfloat))

/** Doubles what comes in; the second one has a column more. */
#define LOAD_WEIGHT   "[[2,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,0,2]]"
#define LOAD_WEIGHT_5 "[[2,0,0,0,0],[0,2,0,0,0],[0,0,2,0,0],[0,0,0,2,0]]"

/**
 * LoadSource: what comes in
 * @caps: as it begins, and twice as long
 * @weights: for an element "a", by turns, that change what comes out but not the numbers; NULL if
 *   it has to stay
 * @make: (transfer full): the buffer of that number, without times
 * @check: asserts that what came out of it is unharmed
 */
typedef struct _Load Load;
typedef struct {
  const gchar *caps[2];
  const gchar *weights[2];
  GstBuffer *(*make) (gpointer data, guint n, gboolean is_long);
  void (*check) (Load *load, GstPad *pad, GstBuffer *buffer, guint n);
  gpointer data;
} LoadSource;

/**
 * Load:
 * @source: the small tensors, unless load_init_with() says otherwise
 * @total: for flows (flows.h)
 * @wanted: buffers to be taken
 * @caps_period: buffers after which caps change; 0: never
 * @factor: what comes out of 1
 * @taken, @next: buffers that were taken, and the number of the next one
 * @seen, @last: buffers that came out, and the number of the last one
 * @floor: numbers below it must not come out any more
 */
struct _Load {
  Line line;
  const LoadSource *source;
  guint total, wanted, caps_period;
  gfloat factor;

  GThread *pusher;
  GMutex lock;
  GCond changed;
  guint taken, next;
  guint seen, floor;
  gint64 last;
  gboolean parked, done;
};

/** Elements as gst-launch-1.0 has them, which run. */
void load_init (Load *self, const gchar *text, gfloat factor);

/** The same of other buffers. */
void load_init_with (Load *self, const gchar *text, gfloat factor, const LoadSource *source);

void load_clear (Load *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Load, load_clear)

/** Pushes one buffer. Returns: what the element says. */
GstFlowReturn load_push (Load *self);

/** Starts to push until @wanted buffers were taken, with changes of caps in between. */
void load_start (Load *self, guint wanted, guint caps_period);

/** Waits until @n more buffers came out. Returns: whether the pushing thread is still at it. */
gboolean load_wait (Load *self, guint n);

/** Waits until the pushing thread is told that the element flushes. Returns: whether it is; else it
 * is done. */
gboolean load_wait_parked (Load *self);

/** Sends what a stream starts with, if asked also that it starts; the thread goes on. */
void load_resume (Load *self, gboolean anew);

/** Waits until all is pushed, and sends EOS; asserts that nothing was wrong. */
void load_end (Load *self);
