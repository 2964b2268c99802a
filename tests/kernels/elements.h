/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * Converts elements of every type. Shares no code with the library, so that tests can compare the
 * two.
 */

/* Returns: the value of element @index of @data, exact except for 64-bit integers. */
gdouble element_get (GemmclType type, gconstpointer data, gsize index);

/* Stores the nearest element of @type to @value. @value: in the range of @type; also NaN or
 * infinite if @type has them. */
void element_set (GemmclType type, gpointer data, gsize index, gdouble value);

gboolean element_is_integer (GemmclType type);

/* Gets the smallest and the largest number of an integer type. */
void element_get_range (GemmclType type, gdouble *low, gdouble *high);

/*
 * Returns: TRUE if @found may be @expected +- @off after it is stored as @type: rounded to nearest;
 * in integers saturated, and NaN as 0.
 */
gboolean element_is_near (GemmclType type, gdouble expected, gdouble off, gdouble found);

/* Returns: @x, rounded to a 16-bit type, or to the 11 binary digits of tf32, ties to even. */
gdouble element_round (GemmclType type, gdouble x);
gdouble element_round_tf32 (gdouble x);
