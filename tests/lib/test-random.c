/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Random problems against what NumPy finds for them, through the blocking call and through plans.
 *
 *     test-random PYTHON random_problems.py
 */

#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "../kernels/problem.h"
#include "files.h"

#define COUNT    "200"
#define N_FIELDS 28

typedef struct {
  const gchar *at, *end;
} Reader;

typedef struct {
  Problem problem;
  gboolean naive;
  const gdouble *expected, *off;
} Random;

static gconstpointer
take (Reader *self, gsize n, gsize size)
{
  const gchar *at = self->at;

  g_assert_cmpuint (n, <=, (gsize)(self->end - at) / size);
  self->at += n * size;
  return at;
}

/* Arrays are copied, since a file's bytes may lie at any address. */
static gpointer
take_copy (Reader *self, gsize n, gsize size)
{
  return g_memdup2 (take (self, n, size), n * size);
}

static void
read_problem (Reader *reader, Random *random)
{
  Problem *problem = &random->problem;
  GemmclGemm init = GEMMCL_GEMM_INIT, *g = &problem->gemm;
  g_autofree gint64 *f = take_copy (reader, N_FIELDS, sizeof (gint64));
  g_autofree gdouble *scalars = take_copy (reader, 2, sizeof (gdouble));
  gsize n;

  *problem = (Problem){.gemm = init, .n_a = f[23], .n_b = f[24], .n_c = f[25], .n_d = f[27]};
  g->m = f[0];
  g->n = f[1];
  g->k = f[2];
  g->layout = f[3];
  g->trans_a = f[4];
  g->trans_b = f[5];
  g->lda = f[6];
  g->ldb = f[7];
  g->ldc = f[8];
  g->ldd = f[9];
  g->a_offset = f[10];
  g->b_offset = f[11];
  g->c_offset = f[12];
  g->d_offset = f[13];
  g->batch = f[14];
  g->a_stride = f[15];
  g->b_stride = f[16];
  g->c_stride = f[17];
  g->d_stride = f[18];
  g->addend = f[19];
  g->bias = f[20];
  g->activation = f[21];
  random->naive = f[22];
  g->alpha = scalars[0];
  g->beta = scalars[1];
  problem->a = take_copy (reader, problem->n_a, sizeof (gfloat));
  problem->b = take_copy (reader, problem->n_b, sizeof (gfloat));
  problem->c = take_copy (reader, problem->n_c, sizeof (gfloat));
  problem->bias = take_copy (reader, f[26], sizeof (gfloat));
  problem->d_before = take_copy (reader, problem->n_d, sizeof (gfloat));
  problem->d = g_memdup2 (problem->d_before, problem->n_d * sizeof (gfloat));
  n = MAX (g->batch, 1) * g->m * g->n;
  random->expected = take_copy (reader, n, sizeof (gdouble));
  random->off = take_copy (reader, n, sizeof (gdouble));
  if (g->addend != GEMMCL_ADDEND_MATRIX && g->addend != GEMMCL_ADDEND_ROW)
    g_clear_pointer (&problem->c, g_free);
  if (!g->bias)
    g_clear_pointer (&problem->bias, g_free);
}

static void
random_clear (gpointer data)
{
  Random *random = data;

  problem_clear (&random->problem);
  g_free ((gpointer)random->expected);
  g_free ((gpointer)random->off);
  g_free (random);
}

/* Returns: (transfer full): the problems; %NULL, with the test skipped, where NumPy is missing. */
static GPtrArray *
make_problems (gchar **python)
{
  GPtrArray *problems = g_ptr_array_new_with_free_func (random_clear);
  g_auto (Files) files = {0};
  g_autofree gchar *path = NULL, *content = NULL;
  g_autoptr (GError) error = NULL;
  gint status;
  gsize length;
  Reader reader;

  files_init (&files);
  path = files_path (&files, "problems");
  {
    const gchar *const argv[] = {python[0], python[1], path, COUNT, NULL};
    g_assert_true (g_spawn_sync (NULL, (gchar **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                                 NULL, &status, &error));
  }
  if (WIFEXITED (status) && WEXITSTATUS (status) == 77) {
    g_test_skip ("Python has no NumPy");
    return problems;
  }
  g_assert_true (g_spawn_check_wait_status (status, &error));
  g_assert_true (g_file_get_contents (path, &content, &length, &error));
  reader = (Reader){content, content + length};
  while (reader.at < reader.end) {
    Random *random = g_new0 (Random, 1);
    read_problem (&reader, random);
    g_ptr_array_add (problems, random);
  }
  g_assert_cmpuint (problems->len, ==, 200);
  return problems;
}

/* The one that the rules choose, or the fallback. */
static const gchar *
get_kernel (const Random *random)
{
  return random->naive ? gemmcl_get_kernel (0)->name : NULL;
}

static gboolean
check (const Random *random, guint index)
{
  const Problem *problem = &random->problem;
  const GemmclGemm *gemm = &problem->gemm;

  for (gsize at = 0; at < MAX (gemm->batch, 1) * gemm->m * gemm->n; at++) {
    const gsize batch = at / (gemm->m * gemm->n), i = at / gemm->n % gemm->m, j = at % gemm->n;
    const gdouble found = ((gfloat *)problem->d)[problem_d_index (problem, batch, i, j)];

    if (!(fabs (found - random->expected[at]) <= random->off[at])) {
      g_autofree gchar *what = problem_describe (gemm);
      g_test_message ("problem %u, %s: D(%zu, %zu) of batch %zu is %.9g, expected %.9g +- %.3g",
                      index, what, i, j, batch, found, random->expected[at], random->off[at]);
      g_test_fail ();
      return FALSE;
    }
  }
  return TRUE;
}

static void
test_host (gconstpointer data)
{
  g_autoptr (GPtrArray) problems = NULL;

  if (test_get_context () == NULL)
    return;
  problems = make_problems ((gchar **)data);
  for (guint i = 0; i < problems->len; i++) {
    Random *random = problems->pdata[i];
    g_autoptr (GError) error = NULL;

    problem_run_host (&random->problem, test_get_context (), get_kernel (random), &error);
    g_assert_no_error (error);
    if (check (random, i))
      problem_verify (&random->problem, "random");
  }
}

/* Problems whose batches have no B and C of their own, and that need nothing of D. */
static void
test_plans (gconstpointer data)
{
  g_autoptr (GPtrArray) problems = NULL;
  guint tested = 0;

  if (test_get_context () == NULL)
    return;
  problems = make_problems ((gchar **)data);
  for (guint i = 0; i < problems->len; i++) {
    Random *random = problems->pdata[i];
    const GemmclGemm *gemm = &random->problem.gemm;
    g_autoptr (GError) error = NULL;

    if ((gemm->batch > 1 && (gemm->b_stride || gemm->c_stride)) ||
        (gemm->addend == GEMMCL_ADDEND_OUTPUT && gemm->beta != 0))
      continue;
    problem_run_plan (&random->problem, test_get_context (), get_kernel (random), &error);
    g_assert_no_error (error);
    check (random, i);
    tested++;
  }
  g_test_message ("%u problems", tested);
  g_assert_true (problems->len == 0 || tested > 80);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 3);
  g_test_add_data_func ("/random/host", argv + 1, test_host);
  g_test_add_data_func ("/random/plans", argv + 1, test_plans);
  return g_test_run ();
}
