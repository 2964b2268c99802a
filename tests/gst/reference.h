/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shape.h"

/* A plain reference of a stream of buffers, in double precision: D = alpha A B + beta C + bias,
 * with the error that f32 may make. C is the addend or, without one, the previous output. */

/**
 * Terms: what a buffer is computed with
 * @b: K x N
 * @bias: (nullable): N
 * @addend: (nullable): N, the same for all rows; %NULL: C is the previous output
 *
 * Matrices are arrays of gdouble whose elements f32 holds exactly.
 */
typedef struct {
  gsize k, n;
  GBytes *b, *bias, *addend;
  gdouble alpha, beta;
} Terms;

/** terms_copy: Fills @to, whatever it was, with references to what @from has. */
void terms_copy (Terms *to, const Terms *from);
void terms_clear (Terms *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Terms, terms_clear)

/**
 * History: the previous output of a stream, which beta scales
 * @values: (nullable): m x n of them; %NULL: zeros
 * @errors: how far each of @values may be from the element's
 *
 * The previous result of float output is the output as it was sent. The previous result of integer
 * output is D in f32, neither rounded nor saturated, for a buffer with a beta other than 0; for
 * another buffer it may be either.
 */
typedef struct {
  gsize m, n;
  gdouble *values, *errors;
} History;

/** history_forget: The previous output is zeros: a start, a flush, a discontinuity, new caps. */
void history_forget (History *self);
void history_clear (History *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (History, history_clear)

/**
 * history_check:
 * @type: how D is stored: integers are rounded to nearest and saturated
 * @m: rows of A and D; other than those of the previous output, that is zeros
 * @a: m x K
 * @d: m x N, which came out
 *
 * Checks the output of a buffer, and makes it the previous one.
 *
 * Returns: (transfer full) (nullable): what is wrong with it
 */
gchar *history_check (History *self, const Terms *terms, SampleType type, gsize m, const gdouble *a,
                      const gdouble *d);
