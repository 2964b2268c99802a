/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream.h"

/* Elements under load: a thread of its own pushes numbered buffers as fast as they are taken, and
 * each that comes out is checked: once, in order, unharmed, and none of before a flush. */

typedef struct _Load Load;

/**
 * LoadSource: what comes in
 * @caps: as it begins, and twice as long
 * @weights: for an element "a", by turns, that @check knows; two or three
 * @make: (transfer full): the buffer of that number, without times
 * @check: asserts that the output of the buffer @n is unharmed
 */
typedef struct {
  const gchar *caps[2];
  const gchar *weights[3];
  GstBuffer *(*make) (gpointer data, guint n, gboolean is_long);
  void (*check) (const Load *load, GstPad *pad, GstBuffer *buffer, guint n);
  gpointer data;
} LoadSource;

/** LoadLine: elements, and what comes out of 1 */
typedef struct {
  const gchar *name, *text;
  gfloat factor;
} LoadLine;

/** Doubles small tensors of four columns, which are the default source. */
#define LOAD_WEIGHT "[[2,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,0,2]]"

/**
 * Load:
 * @total: buffers to be taken
 * @caps_period: buffers after which caps change; 0: never
 * @swaps_weights: those of "a" change
 * @taken, @next: buffers that were taken, and the number of the next one
 * @seen, @last: buffers that came out, and the number of the last one
 * @floor: numbers below it must not come out any more
 */
struct _Load {
  Stream *stream;
  const LoadSource *source;
  const LoadLine *line;
  guint total, caps_period;
  gboolean swaps_weights;

  GThread *pusher;
  GMutex lock;
  GCond changed;
  guint taken, next;
  guint seen, floor;
  gint64 last;
  gboolean parked, done, ended;
};

/** @source: (nullable): small tensors if %NULL */
void load_init (Load *self, const LoadLine *line, const LoadSource *source, guint total);

/** Asserts that nothing was wrong. */
void load_clear (Load *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Load, load_clear)

/** Pushes one buffer. Returns: what the element says. */
GstFlowReturn load_push (Load *self);

/** LoadFlow: what happens to elements meanwhile, again and again */
typedef struct {
  const gchar *name;
  void (*run) (Load *load);
} LoadFlow;

#define LOAD_N_FLOWS 4
extern const LoadFlow load_flows[LOAD_N_FLOWS];

/** Runs a flow of @n buffers, and says how long that took. */
void load_run (const LoadFlow *flow, const LoadLine *line, const LoadSource *source, guint n);

/**
 * Runs @n buffers through one element, of which another thread sets alpha, beta, bias and addend,
 * reads the stats, asks for the latency and sends QoS events.
 * @element: it and its other settings, without a weight
 */
void load_run_controlled (const gchar *element, guint n);

/** Returns: (transfer full) (nullable): GStreamer's tracer of leaks; %NULL if it is not there. */
GstTracer *load_start_tracer (void);

/** A test that nothing of what the tracer saw is left; a skip for NULL. */
void load_check_leaks (gconstpointer tracer);
