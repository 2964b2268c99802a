/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * PeersProblem:
 * @m, @n, @k: D is m x n, A m x k, B k x n, all row-major without gaps
 * @layer: D = max (A B + bias, 0); else D = A B
 * @bytes: A and D are u8; else all is f32. B and the bias are f32 in any case
 * @threads: the number of CPUs
 * @variant: the contender of those in one program, and how it is timed; "" if there is one only
 * @kernel: (nullable): the kernel of gemmcl
 * @platform: (nullable): OpenCL's platform
 * @a, @b, @bias: the operands, on pages' boundaries
 * @d: where the result goes
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
 * @open: packs the weights and does all that is done once; appends its name and choices to @about.
 *   %NULL with an error whose code is %PEERS_ERROR_MISSING where the contender cannot do this here
 * @run: the problem once, until D is there; this is timed
 * @read: (nullable): brings the last run's result to the problem's d, unless @run left it there
 * @close: frees what @open returned
 * @drain: (nullable): of the variant "stream", where @run returns before D is there: waits for the
 *   runs under way. A turn is then timed as a whole, and each of its runs counts its share
 * @clock: (nullable): of the variant "clock": the seconds that the last run took by its device's
 *   clock
 *
 * What a program in this folder implements.
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

/** peers_is: Returns: whether the problem is for that variant. */
gboolean peers_is (const PeersProblem *problem, const gchar *variant);

/**
 * peers_process_main:
 *
 * A contender's main(): reads the matrices, opens the contender, runs it once, writes D, prints a
 * line that says what it is, and then answers each number on standard input with the seconds of so
 * many runs, in a line, until there are no more. contenders.py is the other side.
 *
 * Returns: the exit status: 0, 1 with a message, or 77 with one where the contender is missing.
 */
gint peers_process_main (const PeersContender *contender, gint argc, gchar **argv);
