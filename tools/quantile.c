/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "quantile.h"

#include <math.h>

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

gdouble
tool_quantile (const GArray *numbers, gdouble share)
{
  g_autoptr (GArray) sorted = g_array_copy ((GArray *)numbers);
  const gdouble *at = (const gdouble *)sorted->data;
  gdouble place;
  guint below;

  if (sorted->len == 0)
    return NAN;
  g_array_sort (sorted, compare);
  place = share * (sorted->len - 1);
  below = (guint)place;
  return below + 1 < sorted->len ? at[below] + (place - below) * (at[below + 1] - at[below])
                                 : at[below];
}
