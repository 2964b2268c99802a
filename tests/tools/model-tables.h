/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "isa-model.h"

/**
 * The model of tools/isa-model.h against what others have measured, from figures of the kernels
 * that are kept in tests/data/isa/, and what it says of large problems: the tables of
 * docs/model.md.
 */

/**
 * ModelComparison:
 * @file: figures of the kernels
 * @size: of M, N and K
 * @names: (array length=n): of kernels
 * @measured: (array length=n): share of the peak
 * @megabytes: (array length=n) (nullable): measured traffic behind the large cache
 */
typedef struct {
  const gchar *file;
  guint n;
  gdouble size;
  const gchar *const *names;
  const gdouble *measured;
  const gdouble *megabytes;
} ModelComparison;

/** model_article, model_hd4400, model_dg1: the two sets of measurements there are; the first with
 * loops as the article has them and with ours. */
extern const ModelComparison model_article, model_hd4400, model_dg1;

/**
 * ModelResult:
 * @predicted: share of the peak of each kernel
 * @correlation: Spearman's, of ranks
 * @mean_error, @largest_error: of shares of the peak, in percent of it
 * @worst: the kernel of the largest error
 */
typedef struct {
  IsaPrediction predicted[16];
  gdouble correlation;
  gdouble mean_error, largest_error;
  guint worst;
} ModelResult;

/** model_compare: @device: (nullable): another than the target's. Aborts where the file is not what
 * it should be. */
void model_compare (const ModelComparison *comparison, const gchar *folder, const IsaDevice *device,
                    ModelResult *result);

/** model_correlate: Returns: Spearman's rank correlation of @n pairs; equals share their rank. */
gdouble model_correlate (const gdouble *a, const gdouble *b, guint n);

/** model_tables: Returns: (transfer full): all tables, in Markdown. */
gchar *model_tables (const gchar *folder);
