/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>

/* Elements that run between two pads of a test, and what the tests of the element share. */

/* Caps. @rate is a fraction, as in "10/1". */
#define TENSORS(n, dimensions, types, rate)                                                        \
  "other/tensors,format=static,num_tensors=" n ",dimensions=(string)\"" dimensions                 \
  "\",types=(string)\"" types "\",framerate=" rate
#define TENSOR(dimensions)  TENSORS ("1", dimensions, "float32", "10/1")
#define VIDEO(format, size) "video/x-raw,format=" format "," size ",framerate=10/1"
#define OPENCL              "(memory:OpenCL)"
#define FORCE(media)        "! capsfilter caps=\"" media "\" "

/**
 * Stream:
 * @element: as gst-launch-1.0 makes it: a bin, if there are several
 */
typedef struct {
  GstHarness *harness;
  GstElement *element;
  GstBus *bus;
} Stream;

/** Initialises GLib's tests and GStreamer, and loads GStreamer's core elements. */
void stream_test_init (int *argc, char ***argv);

/** Registers @func if there is a device to run it on; otherwise a test that is skipped. */
void stream_add_test (const gchar *path, void (*func) (void));
void stream_add_data_test (const gchar *path, gconstpointer data, GTestDataFunc func);

/** Returns: elements in NULL, with a bus; see stream_play(). */
Stream *stream_new (const gchar *format, ...) G_GNUC_PRINTF (1, 2);

/**
 * Puts the elements between the pads and sets them PLAYING; sends caps.
 * @input: caps that come in
 * @output: (nullable): what downstream takes; NULL for anything
 * Returns: whether caps were accepted.
 */
gboolean stream_play (Stream *self, const gchar *input, const gchar *output);

/** Both; asserts that @caps were accepted. */
Stream *stream_start (const gchar *caps, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

void stream_free (Stream *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Stream, stream_free)

/** Returns: (transfer none): the element of that name; the only one, if it is not a bin. */
GstElement *stream_get (Stream *self, const gchar *name);

/** Sets a state; asserts that this succeeds. */
void stream_set_state (Stream *self, GstState state);

/** Pushes an event; asserts that it was handled. */
void stream_push_event (Stream *self, GstEvent *event);

/** Begins a stream again after READY, with @caps. */
void stream_begin (Stream *self, const gchar *caps);

/** Pushes @buffer (transfer full); asserts that the flow is OK. */
void stream_push (Stream *self, GstBuffer *buffer);

/** Pushes @input (transfer full) and returns what comes out. */
GstBuffer *stream_run (Stream *self, GstBuffer *input);

/** Returns: (transfer full): the property "stats" of the element @name. */
GstStructure *stream_get_stats (Stream *self, const gchar *name);

/** Asserts that an error, or a warning, was posted in which all words stand; @words has a '|'
 * between them. */
void stream_assert_message (Stream *self, GstMessageType type, const gchar *words);

/** Asserts that neither an error nor a warning was posted. */
void stream_assert_quiet (Stream *self);

/** Returns: (transfer full) (nullable): GStreamer's plugin of that name ("coreelements"), loaded
 * from $GEMMCL_TEST_PLUGINS, or where it was when this was built. */
GstPlugin *plugins_load (const gchar *name);
