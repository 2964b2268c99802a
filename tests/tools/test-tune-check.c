/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * By what `gemmcl tune` knows a wrong result.
 */
#include <math.h>
#include <string.h>

#include "tool.h"
#include "tune-check.h"

/* The rest of the tool is in main.c. */
G_DEFINE_QUARK (gemmcl - tool - error, tool_error)

#define M 70
#define N 90
#define K 50

static GemmclContext *context;

/* A problem, with the right result in its D. */
typedef struct {
  BenchProblem *problem;
  TuneCheck *check;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  const GemmclGemm *given = data;
  GError *error = NULL;

  self->problem = bench_problem_new (context, given, &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_gemm_run (context, given, "gemm_naive", self->problem->a, self->problem->b,
                                  NULL, NULL, self->problem->d, &error));
  g_assert_no_error (error);
  self->check = tune_check_new (self->problem, &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  tune_check_free (self->check);
  bench_problem_free (self->problem);
}

static void
assert_wrong (const Fixture *self)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (tune_check_output (self->check, &error));
  g_assert_error (error, TOOL_ERROR, TOOL_ERROR_FAILED);
}

static void
test_right (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (tune_check_output (self->check, &error));
  g_assert_no_error (error);
}

/* Wherever it is, a single element that is wrong, or was never written, shows. */
static void
test_one_element (Fixture *self, gconstpointer data)
{
  const GemmclPrecision precision = ((const GemmclGemm *)data)->precision;
  const gboolean coarse = precision == GEMMCL_PRECISION_BF16 || precision == GEMMCL_PRECISION_I8;
  const gfloat off = coarse ? 10 : 1;
  gfloat *d = self->problem->d;

  for (gsize at = 0; at < (gsize)M * N; at += 7) {
    const gfloat right = d[at];

    d[at] = right + off;
    assert_wrong (self);
    d[at] = NAN;
    assert_wrong (self);
    d[at] = right;
  }
  test_right (self, NULL);
}

/* The first row and the last are looked at closely: twice the bound, which is no more than
 * 2 g(K) K, of f32, is too much. */
static void
test_small_errors (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  const gsize last = (gsize)M * N - 1;
  const gfloat off = 2 * (K + 4) * 0x1p-24F * K;

  self->problem->d[0] += off;
  assert_wrong (self);
  self->problem->d[0] -= off;
  self->problem->d[last] -= off;
  assert_wrong (self);
}

/* One result looks like another's, moved by a row. */
static void
test_moved (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  gfloat *d = self->problem->d;

  memmove (d, d + 1, ((gsize)M * N - 1) * sizeof *d);
  assert_wrong (self);
}

int
main (int argc, char *argv[])
{
  static const struct {
    const gchar *name;
    void (*run) (Fixture *self, gconstpointer data);
    gboolean only_f32; /* the others round by more */
  } tests[] = {{"right", test_right, FALSE},
               {"one-element", test_one_element, FALSE},
               {"small-errors", test_small_errors, TRUE},
               {"moved", test_moved, FALSE}};
  static GemmclGemm gemms[GEMMCL_N_PRECISIONS][GEMMCL_LAYOUT_COLUMN_MAJOR + 1];
  g_autoptr (GError) error = NULL;
  gint status;

  g_test_init (&argc, &argv, NULL);
  context = gemmcl_context_new (NULL, &error);
  if (context == NULL) {
    g_print ("1..0 # SKIP %s\n", error->message);
    return 0;
  }
  for (guint p = 0; p < GEMMCL_N_PRECISIONS; p++)
    for (guint l = 0; l <= GEMMCL_LAYOUT_COLUMN_MAJOR; l++) {
      GemmclGemm *gemm = &gemms[p][l];
      *gemm = (GemmclGemm)GEMMCL_GEMM_INIT;
      gemm->m = M;
      gemm->n = N;
      gemm->k = K;
      gemm->precision = p;
      gemm->layout = l;
      for (guint i = 0; i < G_N_ELEMENTS (tests); i++) {
        g_autofree gchar *path =
            g_strdup_printf ("/tune-check/%s/%s/%s", gemmcl_precision_get_name (p),
                             l == GEMMCL_LAYOUT_ROW_MAJOR ? "row" : "col", tests[i].name);
        if (p == GEMMCL_PRECISION_F32 || !tests[i].only_f32)
          g_test_add (path, Fixture, gemm, set_up, tests[i].run, tear_down);
      }
    }
  status = g_test_run ();
  g_object_unref (context);
  return status;
}
