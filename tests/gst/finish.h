/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>
#include <gst/va/gstva.h>

/* Pipelines under the doubles that run to their end, and what is left of them. */

/**
 * Finish:
 * @bytes: of all buffers that came out, one after another
 * @n: how many they were
 * @failure, @warning: (nullable): the text of the first error, and of the first warning
 * @memory: (nullable): where A and D were, by the stats of the element "g"
 */
typedef struct {
  GByteArray *bytes;
  guint n;
  gchar *failure, *warning, *memory;
} Finish;

void finish_clear (Finish *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Finish, finish_clear)

/** FinishSetUp: called before a pipeline starts */
typedef void (*FinishSetUp) (GstElement *pipeline, gpointer data);

/** Runs elements as gst-launch-1.0 has them, and takes the last one's buffers. @set_up: (nullable)
 */
void finish_run (Finish *self, FinishSetUp set_up, gpointer data, const gchar *format, ...)
    G_GNUC_PRINTF (4, 5);

/** Asserts that @n buffers came out, that nothing was complained of, and where A and D were. */
void finish_assert_well (const Finish *self, guint n, const gchar *memory);

/** Asserts that both gave the same bytes. */
void finish_assert_same (const Finish *one, const Finish *other);

/** Asserts all of that of two pipelines, of which the first one has system memory, and that no
 * object and no context is left. */
void finish_compare (guint n, const gchar *memory, const gchar *plain, const gchar *shared);

/** Registers a test that is skipped without the doubles, or, if it @needs it, without GStreamer's
 * vapostproc. @needs: (nullable): the name of an element */
void finish_add_test (const gchar *path, void (*func) (void), const gchar *needs);
void finish_add_data_test (const gchar *path, gconstpointer data, GTestDataFunc func,
                           const gchar *needs);

/** Returns: whether caps can say how dma-bufs are tiled; if not, the test is skipped. */
gboolean finish_has_drm_formats (void);

/** finish_draw: Draws the @index-th frame, the same whatever lies between its rows. */
void finish_draw (GstBuffer *buffer, const gchar *caps, guint index);

/** Returns: (transfer full): an active pool of NV12 surfaces of @size bytes, or, with @dmabufs, of
 * a media driver's dma-bufs of them. */
GstBufferPool *finish_new_va_pool (GstVaDisplay *display, const gchar *caps, gsize size,
                                   gboolean dmabufs);
