/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gemmcl.h>
#include <glib.h>
#include <jansson.h>

/* Two contestants take turns, so that other load of the machine affects both alike. Also the parts
 * that programs which compare them share. */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

enum { PASSED = 0, FAILED = 1, USAGE = 2, SKIPPED = 77 };

/** Contestant: @run processes @n buffers. It may set @end, by g_get_monotonic_time(), to the end of
 * the last buffer, if that is not when it returns. */
typedef struct _Contestant Contestant;
struct _Contestant {
  gboolean (*run) (Contestant *self, guint n, GError **error);
  void (*free) (Contestant *self);
  gint64 end;
};

void contestant_free (Contestant *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Contestant, contestant_free)

/**
 * contestant_new_plan:
 * @kernel: (nullable): the kernel's name for gemmcl_plan_new()
 * @b: the weight
 * @a: (nullable): A of each run in host memory; %NULL: device buffers, which measures the kernels
 *   without copies
 *
 * Runs the library alone, always with the same output.
 */
Contestant *contestant_new_plan (GemmclContext *context, const GemmclGemm *gemm,
                                 const gchar *kernel, GemmclMatrix *b, gpointer a, GError **error);

/** contestant_get_kernel: Returns: the kernel of a contestant_new_plan(). */
const gchar *contestant_get_kernel (Contestant *self);

/** contestant_new_memcpy: copies @size bytes of @data. */
Contestant *contestant_new_memcpy (gpointer data, gsize size);

/** Turns: the results: medians of the microseconds per buffer, and quartiles over the rounds of the
 * ratios (theirs / ours) or of the differences in microseconds (ours - theirs). */
typedef struct {
  guint rounds;
  gdouble theirs, ours;
  gdouble low, middle, high;
} Turns;

/**
 * turns_play:
 * @turn: buffers of a turn; 0: as many as take about 40 ms
 * @seconds: the time for all rounds; there are at least five
 */
gboolean turns_play (Turns *self, Contestant *theirs, Contestant *ours, guint turn, gdouble seconds,
                     gboolean differences, GError **error);

/** turns_quantile: Sorts the numbers. Returns: the quantile @share, from 0 to 1. */
gdouble turns_quantile (gdouble *numbers, guint n, gdouble share);

/** Bench: options that programs share, and the results for --json. */
typedef struct {
  gchar *json_path, *part;
  gdouble seconds;
  json_t *list;
} Bench;

/** bench_init: Parses the command line. @more: further options of the program.
 * Returns: %FALSE after a message about wrong usage. */
gboolean bench_init (Bench *self, const gchar *summary, const GOptionEntry *more, gint *argc,
                     gchar ***argv);

/** bench_wants: Returns: %TRUE if the user chose the case. */
gboolean bench_wants (const Bench *self, const gchar *name);

/** bench_end: Writes the results if @status is PASSED. Returns: the exit status. */
gint bench_end (Bench *self, gint status);
