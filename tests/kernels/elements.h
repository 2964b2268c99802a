/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"

/*
 * Elements of every type, converted apart from the library's own code, so that the two can be held
 * against each other.
 */

/* Returns: the value of element @index behind @data, exact but for 64-bit integers. */
gdouble element_get (GemmclType type, gconstpointer data, gsize index);

/* The nearest of @type to @value, which is in its range, or NaN or infinite where there are such.
 */
void element_set (GemmclType type, gpointer data, gsize index, gdouble value);

gboolean element_is_integer (GemmclType type);

/* The smallest and the largest number of an integer type. */
void element_get_range (GemmclType type, gdouble *low, gdouble *high);

/*
 * Whether @found is what @expected, known to within @off, may become when it is stored as @type:
 * rounded to nearest, integers saturated, NaN as 0 in integers and as NaN elsewhere.
 */
gboolean element_is_near (GemmclType type, gdouble expected, gdouble off, gdouble found);
