/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reference.h"

#include <float.h>
#include <math.h>

/* Roundings besides those of a sum of K products: of alpha, beta, their products, and sums. */
#define MORE_ROUNDINGS 6

void
terms_copy (Terms *to, const Terms *from)
{
  *to = *from;
  g_bytes_ref (to->b);
  if (to->bias)
    g_bytes_ref (to->bias);
  if (to->addend)
    g_bytes_ref (to->addend);
}

void
terms_clear (Terms *self)
{
  g_clear_pointer (&self->b, g_bytes_unref);
  g_clear_pointer (&self->bias, g_bytes_unref);
  g_clear_pointer (&self->addend, g_bytes_unref);
}

void
history_forget (History *self)
{
  g_clear_pointer (&self->values, g_free);
  g_clear_pointer (&self->errors, g_free);
  self->m = self->n = 0;
}

void
history_clear (History *self)
{
  history_forget (self);
}

static gdouble
get (GBytes *matrix, gsize index)
{
  return ((const gdouble *)g_bytes_get_data (matrix, NULL))[index];
}

/* An element of D, and how far the element's may be from it: what rounding makes of the sum of the
 * absolute values of all that is added, and what the previous output's error becomes. */
static void
compute (const History *self, const Terms *terms, gsize i, gsize j, const gdouble *a,
         gdouble *value, gdouble *error)
{
  gdouble c = 0.0, sum = 0.0, size = 0.0, c_error = 0.0;

  for (gsize l = 0; terms->alpha != 0.0 && l < terms->k; l++) {
    const gdouble product = a[i * terms->k + l] * get (terms->b, l * terms->n + j);

    sum += product;
    size += fabs (product);
  }
  if (terms->beta != 0.0 && terms->addend) {
    c = get (terms->addend, j);
  } else if (terms->beta != 0.0 && self->values) {
    c = self->values[i * terms->n + j];
    c_error = self->errors[i * terms->n + j];
  }
  *value = terms->alpha * sum + terms->beta * c;
  size = fabs (terms->alpha) * size + fabs (terms->beta * c);
  if (terms->bias) {
    *value += get (terms->bias, j);
    size += fabs (get (terms->bias, j));
  }
  *error = (terms->k + MORE_ROUNDINGS) * (FLT_EPSILON / 2) * size + fabs (terms->beta) * c_error +
           FLT_MIN;
}

static gdouble
saturate (SampleType type, gdouble value)
{
  return type == SAMPLE_S16 ? CLAMP (value, -32768.0, 32767.0) : CLAMP (value, 0.0, 255.0);
}

static gboolean
is_near (SampleType type, gdouble found, gdouble value, gdouble error)
{
  if (type == SAMPLE_F32)
    return fabs (found - value) <= error;
  return found >= rint (saturate (type, value - error)) &&
         found <= rint (saturate (type, value + error));
}

/* Makes of an element the previous output's: see History. */
static void
remember (SampleType type, gdouble beta, gdouble found, gdouble *value, gdouble *error)
{
  if (type == SAMPLE_F32) {
    *value = found;
    *error = 0.0;
  } else if (beta == 0.0) {
    *error += MAX (0.5, fabs (*value - saturate (type, *value)));
  }
}

static gchar *
explain (const Terms *terms, gsize i, gsize j, gdouble found, gdouble value, gdouble error)
{
  return g_strdup_printf ("D[%" G_GSIZE_FORMAT "][%" G_GSIZE_FORMAT
                          "] is %.9g, expected %.9g +- %.2g: K=%" G_GSIZE_FORMAT
                          " N=%" G_GSIZE_FORMAT " alpha=%g beta=%g%s%s",
                          i, j, found, value, error, terms->k, terms->n, terms->alpha, terms->beta,
                          terms->bias ? " with bias" : "", terms->addend ? " with addend" : "");
}

gchar *
history_check (History *self, const Terms *terms, SampleType type, gsize m, const gdouble *a,
               const gdouble *d)
{
  g_autofree gdouble *values = g_new (gdouble, m * terms->n);
  g_autofree gdouble *errors = g_new (gdouble, m * terms->n);

  if (m != self->m || terms->n != self->n)
    history_forget (self);
  for (gsize i = 0; i < m; i++) {
    for (gsize j = 0; j < terms->n; j++) {
      const gsize at = i * terms->n + j;

      compute (self, terms, i, j, a, &values[at], &errors[at]);
      if (!is_near (type, d[at], values[at], errors[at]))
        return explain (terms, i, j, d[at], values[at], errors[at]);
      remember (type, terms->beta, d[at], &values[at], &errors[at]);
    }
  }
  history_forget (self);
  self->m = m;
  self->n = terms->n;
  self->values = g_steal_pointer (&values);
  self->errors = g_steal_pointer (&errors);
  return NULL;
}
