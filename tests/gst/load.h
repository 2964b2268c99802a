/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>

/* Elements under load: a thread of its own pushes numbered buffers as fast as they are taken, and
 * each that comes out is checked: once, in order, unharmed, and none of before a flush. */

/** Caps */
#define TENSORS(dims)                                                                              \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)" dims                             \
  ",types=(string)float32,framerate=1000/1"

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

/** LoadLine: elements, of which "a" may have other weights, and what comes out of 1 */
typedef struct {
  const gchar *text;
  gfloat factor;
} LoadLine;

/** Doubles small tensors of four columns, which are the default source. */
#define LOAD_WEIGHT "[[2,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,0,2]]"

/**
 * Load:
 * @element: (nullable): that of the name "a"
 * @total: buffers to be taken
 * @caps_period: buffers after which caps change; 0: neither they nor weights change
 * @taken, @next: buffers that were taken, and the number of the next one
 * @seen, @last: buffers that came out, and the number of the last one
 * @floor: numbers below it must not come out any more
 */
struct _Load {
  GstHarness *harness;
  GstElement *element;
  GstBus *bus;
  const LoadSource *source;
  const LoadLine *line;
  guint total, caps_period;

  GThread *pusher;
  GMutex lock;
  GCond changed;
  guint taken, next;
  guint seen, floor;
  gint64 last;
  gboolean parked, done;
};

/** Initialises GLib's tests and GStreamer, and loads its core elements.
 * Returns: the number of OpenCL devices; without one all tests are skipped. */
guint load_test_init (int *argc, char ***argv);

/** Runs the tests, once all plugins are loaded. None of GStreamer's objects may be left behind
 * them. */
int load_test_run (void);

/** @source: (nullable): small tensors if %NULL */
void load_init (Load *self, const LoadLine *line, const LoadSource *source, guint total);

/** Ends the stream. Asserts that nothing was wrong, and that all came out unless it flushed. */
void load_clear (Load *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Load, load_clear)

/** Pushes one buffer. Returns: what the element says. */
GstFlowReturn load_push (Load *self);

/** Returns: (nullable) (transfer full): the next error or warning that was posted. */
GError *load_pop_message (Load *self);

/** LoadFlow: what happens to elements meanwhile, again and again. @caps_period: as #Load's */
typedef struct {
  const gchar *name;
  void (*run) (Load *load);
  guint caps_period;
} LoadFlow;

#define LOAD_N_FLOWS 3
extern const LoadFlow load_flows[LOAD_N_FLOWS];

/** Runs a flow of @n buffers, and says how long that took. */
void load_run (const LoadFlow *flow, const LoadLine *line, const LoadSource *source, guint n);

/**
 * Runs @n buffers through one element, of which another thread sets alpha, beta, bias and addend,
 * reads the stats, asks for the latency and sends QoS events.
 * @element: it, of the name "a" and with LOAD_WEIGHT, and its other settings
 */
void load_run_controlled (const gchar *element, guint n);
