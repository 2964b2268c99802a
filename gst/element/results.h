/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "element/run.h"

/* Results as labels: the best elements of each row of D, for element messages and for metadata.
 *
 * A message is posted by a thread of GStreamer's pool, which maps the row outputs, and so waits
 * until they are complete. The streaming thread does not wait for messages, unless very many are
 * due. Messages are in the order of the buffers. */

/** GstGemmclResults: The property labels, and the messages that are due. */
typedef struct {
  /* Under the lock of the object */
  gchar *source;     /* the value of the property; NULL: none */
  GPtrArray *labels; /* (nullable): as loaded from it, from READY on */

  /* For the streaming thread */
  GstClockTime last; /* the time of the last message; GST_CLOCK_TIME_NONE: none since the start */
  gboolean warned;   /* of a result that is too large for a message */

  /* Under @lock, which no other lock is taken with */
  GMutex lock;
  GCond changed;
  GQueue due;
  gboolean is_posting; /* a thread posts the messages that are due */
} GstGemmclResults;

void gst_gemmcl_results_init (GstGemmclResults *self);
void gst_gemmcl_results_clear (GstGemmclResults *self);

/** gst_gemmcl_results_set_labels: Sets the property labels to @text, (nullable). Any thread. In the
 * state NULL it only stores @text. In other states it loads the labels, which the next batch uses.
 * Labels that cannot be loaded, or do not fit what is streaming, are refused with a warning. */
void gst_gemmcl_results_set_labels (GstGemmcl *self, const gchar *text);

/** gst_gemmcl_results_get_source: Returns: (transfer full) (nullable): the property. Any thread. */
gchar *gst_gemmcl_results_get_source (GstGemmcl *self);

/** gst_gemmcl_results_get_labels: Returns: (transfer full) (nullable): the labels. Any thread. */
GPtrArray *gst_gemmcl_results_get_labels (GstGemmcl *self);

/** gst_gemmcl_results_open_labels: Loads the labels that the property names, for NULL to READY. */
gboolean gst_gemmcl_results_open_labels (GstGemmcl *self, GError **error);

/** gst_gemmcl_results_close_labels: Releases the labels; the property stays. */
void gst_gemmcl_results_close_labels (GstGemmcl *self);

/** gst_gemmcl_results_check: @n: N. Returns: %FALSE with @error if @settings lack the row outputs
 * that messages or @labels (nullable) need, or if the number of labels is not N. */
gboolean gst_gemmcl_results_check (const GstGemmclSettings *settings, const GPtrArray *labels,
                                   gsize n, GError **error);

/** gst_gemmcl_results_get_fitting_labels: Returns: (transfer none) (nullable): the labels of @run;
 * %NULL if there are none or not N, after a weight of another N. */
GPtrArray *gst_gemmcl_results_get_fitting_labels (const GstGemmclRun *run);

/** gst_gemmcl_results_count_rows: @rows: the memory of row outputs of @run. Returns: their rows. */
gsize gst_gemmcl_results_count_rows (const GstGemmclRun *run, GstMemory *rows);

/** gst_gemmcl_results_add: @output: the output of an input of @run, which was submitted. @pushed:
 * the buffer that leaves for it. If messages are on, posts one once the result is complete. For the
 * streaming thread, before @pushed is pushed. */
void gst_gemmcl_results_add (GstGemmcl *self, const GstGemmclRun *run, GstBuffer *output,
                             GstBuffer *pushed);

/** gst_gemmcl_results_finish: Waits until no message is due; their runs must be finished. The next
 * result has a message, whatever the interval is. */
void gst_gemmcl_results_finish (GstGemmcl *self);

/** GstGemmclBest: Where the best elements of a row of D are among its row outputs. */
typedef struct {
  guint n;       /* the number of elements; 0: row outputs have no columns */
  guint stride;  /* the number of row outputs */
  guint columns; /* the first column */
  gint values;   /* the first value; -1: row outputs have no values */
} GstGemmclBest;

/** gst_gemmcl_best_find: Returns: the place of top-k or else of arg-max, in the settings @gemm. */
GstGemmclBest gst_gemmcl_best_find (const GemmclGemm *gemm);
