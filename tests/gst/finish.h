/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* Pipelines that run to their end, and what is left of them. */

/**
 * Finish:
 * @bytes: of all buffers that came out, one after another
 * @n: how many they were
 * @failure: (nullable): the first error's text, and then @warning the first warning's
 * @memory: (nullable): what the stats of the element "g" say of where A and D were
 */
typedef struct {
  GByteArray *bytes;
  guint n;
  gchar *failure, *warning, *memory;
} Finish;

void finish_clear (Finish *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Finish, finish_clear)

/** Runs elements as gst-launch-1.0 has them, whose last one's buffers are taken. */
void finish_run (Finish *self, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

/** As finish_run(); @set_up is called before the pipeline starts. */
void finish_run_with (Finish *self, void (*set_up) (GstElement *pipeline, gpointer data),
                      gpointer data, const gchar *line);

/** Returns: whether there is vapostproc; if not, the test is skipped. */
gboolean finish_has_vapostproc (void);

/** Asserts that @n buffers came out and nothing was complained of. */
void finish_assert_well (const Finish *self, guint n);

/** Asserts that both gave the same bytes. */
void finish_assert_same (const Finish *one, const Finish *other);

/** Asserts that there was an error in which all @words (up to NULL) stand. */
void finish_assert_failed (const Finish *self, ...) G_GNUC_NULL_TERMINATED;
