/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * PeersProblem:
 * @m, @n, @k: D is m x n, A m x k, B k x n, all row-major without gaps
 * @layer: D = max (A B + bias, 0); otherwise D = A B
 * @bytes: A and D are u8; otherwise f32. B and the bias are always f32
 * @threads: the number of CPUs
 * @variant: the contender, if a program has several, and its timing; "" otherwise
 * @kernel: (nullable): the kernel of gemmcl
 * @platform: (nullable): OpenCL's platform
 * @a, @b, @bias: the operands, aligned to pages
 * @d: memory for the result
 */
typedef struct {
  gsize m, n, k;
  gboolean layer, bytes;
  guint threads;
  gchar *variant, *kernel, *platform;
  gpointer a;
  gfloat *b, *bias;
  gpointer d;
} PeersProblem;

/**
 * PeersContender:
 * @open: packs the weights and does all other work that is done once; appends its name and choices
 *   to @about. Returns %NULL with %PEERS_ERROR_MISSING if the contender is not available
 * @run: runs the problem once, until D is complete; this is timed
 * @read: (nullable): copies the result of the last run to the problem's d, unless @run writes there
 * @close: frees the result of @open
 * @drain: (nullable): for the variant "stream", whose @run returns before D is complete: waits for
 *   the in-flight runs. A turn is then timed as a whole, and each run counts as an equal share
 * @clock: (nullable): for the variant "clock": returns the seconds of the last run by the device's
 *   clock
 *
 * The interface that a program in this folder implements.
 */
typedef struct {
  gpointer (*open) (const PeersProblem *problem, GString *about, GError **error);
  gboolean (*run) (gpointer self, GError **error);
  gboolean (*read) (gpointer self, GError **error);
  void (*close) (gpointer self);
  gboolean (*drain) (gpointer self, GError **error);
  gdouble (*clock) (gpointer self);
} PeersContender;

typedef enum {
  PEERS_ERROR_FAILED,
  PEERS_ERROR_MISSING,
} PeersError;

#define PEERS_ERROR (g_quark_from_static_string ("peers-error"))

/** peers_fail: Sets @error. Returns: %FALSE. */
gboolean peers_fail (GError **error, PeersError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/** peers_is: Returns: %TRUE if the problem is for that variant. */
gboolean peers_is (const PeersProblem *problem, const gchar *variant);

/**
 * peers_process_main:
 *
 * A contender's main(): reads the matrices, opens the contender, runs it once, writes D and prints
 * a line that describes it. Then it answers each number on the standard input with a line of the
 * seconds of that many runs, until the end of the input. contenders.py is the other side.
 *
 * Returns: the exit status: 0, 1 with a message, or 77 with one if the contender is missing.
 */
gint peers_process_main (const PeersContender *contender, gint argc, gchar **argv);
