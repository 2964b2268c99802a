/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>

/* Plays elements under load. A thread pushes numbered buffers as fast as the element accepts them.
 * Each output must come once, in order and intact, and not after a flush that followed its input.
 */

/** The limit of a wait for threads that hold objects */
#define LOAD_SECONDS 600

/** Caps of float32 tensors of these dimensions. */
#define TENSORS(dims)                                                                              \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)" dims                             \
  ",types=(string)float32,framerate=1000/1"

typedef struct _Load Load;

/** LoadSource: the inputs
 * @caps: at first, and with buffers twice as long
 * @weights: two or three weights that element "a" gets by turns
 * @make: returns (transfer full) buffer @n, without times
 * @check: asserts that the output of buffer @n is intact */
typedef struct {
  const gchar *caps[2];
  const gchar *weights[3];
  GstBuffer *(*make) (gpointer data, guint n, gboolean is_long);
  void (*check) (const Load *load, GstPad *pad, GstBuffer *buffer, guint n);
  gpointer data;
} LoadSource;

/** LoadLine: elements, and the factor by which they multiply. The weight of "a" may change. */
typedef struct {
  const gchar *text;
  gfloat factor;
} LoadLine;

/** A weight that doubles small tensors of four columns, the default source. */
#define LOAD_WEIGHT "[[2,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,0,2]]"

/** Load:
 * @element: (nullable): the element "a"
 * @total: number of buffers to push
 * @caps_period: number of buffers after which caps change; 0: neither caps nor weights change
 * @taken: number of buffers that the element accepted; @next: the number of the next buffer
 * @seen: number of outputs; @last: the number of the last output
 * @floor: the lowest number that a further output may have */
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
  gint asked; /* atomic: TRUE ends the thread that asks */
};

/** Initialises GLib's tests and GStreamer, and loads GStreamer's core elements. Returns: the number
 * of OpenCL devices; without a device, skips all tests. */
guint load_test_init (int *argc, char ***argv);

/** Runs the tests, after all plugins were loaded. Fails if they leave objects of GStreamer. */
int load_test_run (void);

/** @source: (nullable): small tensors if %NULL */
void load_init (Load *self, const LoadLine *line, const LoadSource *source, guint total);

/** Ends the stream. Asserts that there was no error, and all outputs came, unless it flushed. */
void load_clear (Load *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Load, load_clear)

/** Pushes one buffer. Returns: the flow of the element. */
GstFlowReturn load_push (Load *self);

/** Returns: (nullable) (transfer full): the next error or warning that was posted. */
GError *load_pop_message (Load *self);

/** LoadFlow: actions that are repeated while buffers flow. @caps_period: as in #Load */
typedef struct {
  const gchar *name;
  void (*run) (Load *load);
  guint caps_period;
} LoadFlow;

#define LOAD_N_FLOWS 3
extern const LoadFlow load_flows[LOAD_N_FLOWS];

/** Runs a flow of @n buffers, and prints its time. */
void load_run (const LoadFlow *flow, const LoadLine *line, const LoadSource *source, guint n);

/** Runs @n buffers through one element. Meanwhile another thread sets alpha, beta, bias and addend,
 * reads the stats, queries the latency and sends QoS events.
 * @element: the element "a" with LOAD_WEIGHT, and its other settings */
void load_run_controlled (const gchar *element, guint n);
