/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/audio/audio.h>
#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>

/* What the element's tests share: an element in a harness with a bus, and an independent reference
 * of what it should compute. */

/** Stream: an element that runs, between a source pad and a sink pad of the test. */
typedef struct {
  GstHarness *harness;
  GstElement *element;
  GstBus *bus;
} Stream;

/** Registers @func if there is a device to run it on; otherwise a test that is skipped. */
void stream_add_test (const gchar *path, void (*func) (void));

/** Returns: an element of its own in NULL, with a bus, with properties; see stream_play(). */
Stream *stream_new (const gchar *first_property, ...) G_GNUC_NULL_TERMINATED;

/**
 * Puts the element between the pads and sets it PLAYING; sends caps.
 * @input: caps that come in
 * @output: (nullable): what downstream takes; NULL for anything
 * Returns: whether caps were accepted.
 */
gboolean stream_play (Stream *self, const gchar *input, const gchar *output);

/** Pushes other caps. Returns: whether they were accepted. */
gboolean stream_push_caps (Stream *self, const gchar *caps);

void stream_free (Stream *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Stream, stream_free)

/** Returns: the text of the next message of @type that was posted; NULL if there is none. */
gchar *stream_pop_message (Stream *self, GstMessageType type, GQuark *domain);

/** Asserts that an error of @domain was posted in which all @words (up to NULL) stand. */
void stream_assert_error (Stream *self, GQuark domain, ...) G_GNUC_NULL_TERMINATED;

/** Asserts that a warning was posted in which all @words stand. */
void stream_assert_warning (Stream *self, ...) G_GNUC_NULL_TERMINATED;

/** Asserts that neither an error nor a warning was posted. */
void stream_assert_quiet (Stream *self);

/** Returns: (transfer full): what the source pad sends, as a string that caps can be made of. */
GstCaps *stream_get_output_caps (Stream *self);

/** Asserts that @caps intersect with what @text says. */
void assert_caps (GstCaps *caps, const gchar *text);

/** Returns: (transfer full): a buffer with a copy of @size bytes. */
GstBuffer *buffer_new (gconstpointer data, gsize size);

/** Pushes @input (transfer full) and returns what comes out; asserts that something does. */
GstBuffer *stream_run (Stream *self, GstBuffer *input);

/** Asserts that @buffer holds floats near @expected: |difference| <= @tolerance * (1 + |value|). */
void assert_floats (GstBuffer *buffer, const gdouble *expected, gsize n, gdouble tolerance);

/** Reference: D = alpha A B + beta C + bias in double precision; c and bias may be NULL. */
void reference_gemm (gsize m, gsize n, gsize k, gdouble alpha, const gdouble *a, const gdouble *b,
                     gdouble beta, const gdouble *c, const gdouble *bias, gdouble *d);

/** Returns: "[[1,2],[3,4]]" for what gemmcl's weight takes. */
gchar *literal (const gdouble *values, gsize rows, gsize cols);

/** Fills @values with multiples of 1/8 from -1 to 1, always the same for a seed. */
void fill_values (gdouble *values, gsize n, guint seed);

/**
 * The channels of a pixel as the element should see them: Y, or R, G, B, A; luma and chroma are
 * converted by BT.601 in video range.
 * Returns: how many.
 */
guint reference_pixel (GstVideoFrame *frame, guint x, guint y, gdouble channels[4]);

/** Returns: (transfer full): a buffer of @caps' default layout whose bytes are a fixed noise. */
GstBuffer *noise_buffer (const GstVideoInfo *info, guint seed);
