/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gemmcl.h>
#include <glib.h>
#include <jansson.h>

/* Two contestants that take turns, so that other load of the machine hits both alike; and what
 * programs that compare them have in common. */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

enum { PASSED = 0, FAILED = 1, USAGE = 2, SKIPPED = 77 };

/** Contestant: @run processes @n buffers; it may set @end, by g_get_monotonic_time(), to the time
 * when the last was done, unless that is when it returns. */
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
 * @kernel: (nullable): as gemmcl_plan_new() takes it
 * @b: the weight
 * @a: (nullable): the memory that each run multiplies; %NULL for device buffers, which measures the
 *   kernels without copies
 *
 * The library alone, into one output.
 */
Contestant *contestant_new_plan (GemmclContext *context, const GemmclGemm *gemm,
                                 const gchar *kernel, GemmclMatrix *b, gpointer a, GError **error);

/** contestant_get_kernel: Returns: the kernel of a contestant_new_plan(). */
const gchar *contestant_get_kernel (Contestant *self);

/** contestant_new_memcpy: copies @size bytes of @data. */
Contestant *contestant_new_memcpy (gpointer data, gsize size);

/** Turns: the result: medians of the microseconds of a buffer, and quartiles over the rounds of
 * the ratios, theirs to ours, or of the differences in microseconds, ours less theirs. */
typedef struct {
  guint rounds;
  gdouble theirs, ours;
  gdouble low, middle, high;
} Turns;

/**
 * turns_play:
 * @turn: buffers of a turn; 0 for as many as take about 40 ms
 * @seconds: the time for all rounds, of which there are at least five
 */
gboolean turns_play (Turns *self, Contestant *theirs, Contestant *ours, guint turn, gdouble seconds,
                     gboolean differences, GError **error);

/** turns_quantile: Sorts the numbers. Returns: the one below which @share of them lie. */
gdouble turns_quantile (gdouble *numbers, guint n, gdouble share);

/** Bench: options that programs share, and the results for --json. */
typedef struct {
  gchar *json_path, *part;
  gdouble seconds;
  json_t *list;
} Bench;

/** bench_init: Parses the command line; @more are a program's own options.
 * Returns: %FALSE for wrong usage, which has been said. */
gboolean bench_init (Bench *self, const gchar *summary, const GOptionEntry *more, gint *argc,
                     gchar ***argv);

/** bench_wants: Returns: whether the case is to be measured. */
gboolean bench_wants (const Bench *self, const gchar *name);

/** bench_end: Writes the results if @status is PASSED. Returns: the exit status. */
gint bench_end (Bench *self, gint status);
