/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream.h"

/* Elements in a row, for tests of the memory between them. */

#define RGB          "video/x-raw,format=RGB,width=53,height=9,framerate=10/1"
#define PIXELS       (53 * 9)
#define STEREO       "audio/x-raw,format=S16LE,rate=8000,channels=2,layout=interleaved"
#define OPENCL       "(memory:OpenCL)"
#define OPENCL_RGB   "video/x-raw" OPENCL ",format=RGB,width=53,height=9,framerate=10/1"
#define FORCE(media) "! capsfilter caps=\"" media "\" "
#define WEIGHT       "gemmcl weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "

/** Line: elements in a row, and what came out of them. */
typedef struct {
  GstHarness *harness;
  GstBus *bus;
  GByteArray *bytes;
  guint n;
} Line;

void line_clear (Line *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Line, line_clear)

/** Elements as gst-launch-1.0 has them, which run; @caps come in. */
void line_init (Line *self, const gchar *text, const gchar *caps);

/** Returns: (transfer full): @size bytes, always the same for a seed. */
GstBuffer *noise_bytes (gsize size, guint seed);

/** Pushes @buffer (transfer full). */
void line_push (Line *self, GstBuffer *buffer);

/** Takes what has come out. */
void line_collect (Line *self);

/** Ends the stream, takes all that comes out; asserts that nothing was wrong. */
void line_end (Line *self);

/** @n buffers of @size bytes of noise through @text. */
void line_run (Line *self, const gchar *text, const gchar *caps, gsize size, guint n);

/** The same of RGB pictures, whose rows GStreamer pads. */
void line_run_pictures (Line *self, const gchar *text, guint n);

void line_assert_same (const Line *one, const Line *other);

/** Where A and D of an element were, and what it moved through the host. */
void line_assert_memory (Line *self, const gchar *name, const gchar *memory, guint64 bytes);

/** Whether a pad of an element has caps of OpenCL memory. */
void line_assert_feature (Line *self, const gchar *name, const gchar *pad_name, gboolean opencl);

/** gst_init() and g_test_init(), and the elements that GStreamer itself has. */
void line_test_init (int *argc, char ***argv);
