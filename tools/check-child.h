/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * CheckChild:
 *
 * A program that may crash or hang, in a process group of its own, so that it is ended with all
 * that it started and Ctrl-C does not reach it. It ends with the tool at the latest.
 */
typedef struct _CheckChild CheckChild;

/**
 * check_child_new:
 * @arguments: the program, looked for in PATH, and its arguments
 * @tick: called several times a second while something is awaited
 * @data: for @tick
 *
 * Returns: (transfer full): the child, or %NULL with a #GSpawnError.
 */
CheckChild *check_child_new (const gchar *const *arguments, void (*tick) (gpointer data),
                             gpointer data, GError **error);

/** check_child_free: Ends the program with SIGKILL, unless it has ended. */
void check_child_free (CheckChild *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckChild, check_child_free)

/** check_child_write: Writes @line and a line feed to the standard input; a failure shows when the
 * answer is read. */
void check_child_write (CheckChild *self, const gchar *line);

/** CheckRead: what check_child_read() found: a line, the end of the output, no line in time, or a
 * Ctrl-C. */
typedef enum {
  CHECK_READ_LINE,
  CHECK_READ_END,
  CHECK_READ_LATE,
  CHECK_READ_INTERRUPTED,
} CheckRead;

/**
 * check_child_read:
 * @deadline: of the monotonic clock, in microseconds
 * @line: (out) (transfer full): the next line of the standard output or the standard error, without
 *   its line feed; %NULL unless %CHECK_READ_LINE
 */
CheckRead check_child_read (CheckChild *self, gint64 deadline, gchar **line);

/**
 * check_child_finish:
 * @why: (out) (transfer full): how it ended, as a sentence
 *
 * Waits a moment for the program to end, after %CHECK_READ_END.
 *
 * Returns: whether its exit status was 0.
 */
gboolean check_child_finish (CheckChild *self, gchar **why);
