/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gemmcl-opencl.h>
#include <gst/gst.h>

/* What takes part in the benchmark of pipelines: something that does a number of buffers when it is
 * told to, and says how long that took. */

/** Contestant: @run takes @self and a number of buffers; the seconds that took, or < 0. */
typedef struct _Contestant Contestant;
struct _Contestant {
  gdouble (*run) (Contestant *self, guint n, GError **error);
  void (*free) (Contestant *self);
};

void contestant_free (Contestant *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Contestant, contestant_free)

/**
 * contestant_new_pipeline:
 * @line: what gst-launch-1.0 takes, between a source and a sink
 * @caps: what the source sends
 * @data: (array length=size): the source's buffers, all the same; used as they are
 *
 * `appsrc ! @caps ! @line ! queue ! fakesink sync=false`, PLAYING. The source makes buffers in its
 * own streaming thread as they are wanted, so that there is no queue between it and @line. Behind
 * the queue, which has two buffers, each buffer is mapped: the element waits for no result, so that
 * a sink that maps none would count runs that are still under way.
 *
 * Returns: (transfer full): %NULL with what the pipeline's first message or the parser says.
 */
Contestant *contestant_new_pipeline (const gchar *line, const gchar *caps, gpointer data,
                                     gsize size, GError **error);

/**
 * contestant_new_plan:
 * @a: what each run multiplies
 * @b: the weight
 *
 * The library alone: gemmcl_plan_run() on the same memory, into one output.
 */
Contestant *contestant_new_plan (GemmclContext *context, const GemmclGemm *gemm, GemmclMatrix *b,
                                 gpointer a, GError **error);

/** contestant_new_device: The same on device buffers: what multiplying takes without copies. */
Contestant *contestant_new_device (GemmclContext *context, const GemmclGemm *gemm, GemmclMatrix *b,
                                   GError **error);

/** contestant_new_memcpy: copies @size bytes of @data. */
Contestant *contestant_new_memcpy (gpointer data, gsize size);
