/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream.h"

#include <gst/analytics/analytics.h>

/* Frames with tensors in their metadata, as elements with input=meta get them, and what a weight of
 * K x N makes of them. */

#define FRAME  VIDEO ("RGB", "width=4,height=4")
#define WEIGHT "weight=[[1,2],[3,4],[-5,6]] "
#define K      3
#define N      2

/** Spec: A tensor. @id: (nullable): none. @values: the numbers in its data; a test may choose them
 * otherwise than @dims. */
typedef struct {
  const gchar *id;
  GstTensorDataType type;
  gsize rank, dims[4];
  gsize values;
} Spec;

/** "a" of 2 x K in float32. */
extern const Spec plain;

/** Returns: number @i of the tensors of @seed, a small integer. */
gdouble carrier_get_value (gsize i, guint seed);

/** Returns: (transfer full): the data of a tensor. Types that the element cannot read are written
 * as bytes. */
GstBuffer *carrier_make_data (const Spec *spec, guint seed);

/** Returns: (transfer full): a tensor of @data (transfer full) (nullable). */
GstTensor *carrier_make_tensor (const Spec *spec, GstBuffer *data);

/** Attaches @tensor (transfer full) in a meta of its own. */
void carrier_attach (GstBuffer *buffer, GstTensor *tensor);

/** Returns: (transfer full): a frame with a tensor. */
GstBuffer *carrier_new (const Spec *spec, guint seed);

/** Returns: the tensor of @buffer that was attached last. */
const GstTensor *carrier_get_last (GstBuffer *buffer);

/** Asserts that @result is a tensor of @seed, of @m rows, times WEIGHT. */
void carrier_check (GstBuffer *result, gsize m, guint seed);
