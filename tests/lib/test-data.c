/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "../kernels/problem.h"

/* Runs of which A or D, or both, are on the device, or some of their problems. */

#define MAX_BATCH 3

static void
run_and_wait (GemmclPlan *plan, const GemmclData *a, const GemmclData *d)
{
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = a, .d = d};
  g_autoptr (GError) error = NULL;

  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
}

static gsize
count_host (guint sides, gsize batch)
{
  gsize n = 0;

  for (gsize i = 0; i < batch; i++)
    n += !(sides >> i & 1);
  return n;
}

/* Returns: the copies of a run, as the plan explains them. */
static guint
count_copies (GemmclPlan *plan, const GemmclData *a, const GemmclData *d, gsize batch)
{
  const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = a, .d = d};
  GemmclCopyReason why_a, why_d;

  gemmcl_plan_explain_copies (plan, &run, &why_a, &why_d);
  g_assert_cmpint (why_a == GEMMCL_COPY_REASON_BATCH, ==, batch > 1);
  g_assert_cmpint (why_d == GEMMCL_COPY_REASON_BATCH, ==, batch > 1);
  return batch * ((why_a != GEMMCL_COPY_REASON_NONE) + (why_d != GEMMCL_COPY_REASON_NONE));
}

/* @gemm with A and D of problem i on the device where bit i of @a_sides and @d_sides is set. */
static void
check_sides (const GemmclGemm *gemm, guint a_sides, guint d_sides, const gchar *what)
{
  const gsize batch = MAX (gemm->batch, 1);
  g_auto (Problem) problem = {.gemm = GEMMCL_GEMM_INIT};
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (cl_mem) a = NULL, d = NULL;
  g_autofree gfloat *all = NULL;
  GemmclData data_a[MAX_BATCH], data_d[MAX_BATCH];
  GemmclPlanStats stats;
  gsize d_size;

  problem_init (&problem, gemm, 1);
  plan = test_make_plan (gemm, NULL, problem.b);
  a = test_create_buffer (problem.n_a * sizeof (gfloat), problem.a);
  /* No byte longer than D, so that the last row's gap is not there. */
  d_size = (problem_d_index (&problem, batch - 1, gemm->m - 1, gemm->n - 1) + 1) * sizeof (gfloat);
  d = test_create_buffer (d_size, problem.d);
  for (gsize i = 0; i < batch; i++) {
    const gsize from = problem_a_index (&problem, i, 0, 0),
                to = problem_d_index (&problem, i, 0, 0);

    data_a[i] = (GemmclData){.kind = a_sides >> i & 1 ? GEMMCL_DATA_BUFFER : GEMMCL_DATA_HOST,
                             .host = {(gfloat *)problem.a + from},
                             .objects = {a},
                             .offset = {from * sizeof (gfloat)}};
    data_d[i] = (GemmclData){.kind = d_sides >> i & 1 ? GEMMCL_DATA_BUFFER : GEMMCL_DATA_HOST,
                             .host = {(gfloat *)problem.d + to},
                             .objects = {d},
                             .offset = {to * sizeof (gfloat)}};
  }
  for (guint i = 0; i < 3; i++)
    run_and_wait (plan, data_a, data_d);
  all = g_memdup2 (problem.d, problem.n_d * sizeof (gfloat));
  test_read_buffer (d, d_size, all);
  for (gsize i = 0; i < batch; i++)
    for (gsize at = 0; d_sides >> i & 1 && at < gemm->m * gemm->n; at++) {
      const gsize index = problem_d_index (&problem, i, at / gemm->n, at % gemm->n);

      ((gfloat *)problem.d)[index] = all[index];
    }
  g_assert_true (problem_check (&problem, what));
  gemmcl_plan_get_stats (plan, &stats);
  g_assert_cmpuint (stats.runs, ==, 3);
  g_assert_cmpuint (stats.copies, ==, 3 * count_copies (plan, data_a, data_d, batch));
  g_assert_cmpuint (stats.bytes_in, ==,
                    3 * count_host (a_sides, batch) * gemm->m * gemm->k * sizeof (gfloat));
  g_assert_cmpuint (stats.bytes_out, ==,
                    3 * count_host (d_sides, batch) * gemm->m * gemm->n * sizeof (gfloat));
}

/* All on one side or the other; and, of batches, some here and some there. */
static void
check_all_sides (const GemmclGemm *gemm, const gchar *what)
{
  static const guint sides[] = {0, 7, 2, 5};

  for (guint i = 0; i < (gemm->batch > 1 ? 16 : 4); i++)
    check_sides (gemm, sides[gemm->batch > 1 ? i % 4 : i % 2],
                 sides[gemm->batch > 1 ? i / 4 : i / 2], what);
}

static GemmclGemm
make_gemm (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = 37;
  gemm.n = 21;
  gemm.k = 19;
  return gemm;
}

static void
test_sides (void)
{
  GemmclGemm gemm = make_gemm ();

  if (test_get_context () != NULL)
    check_all_sides (&gemm, "without gaps");
}

/* Which are not touched, and make copies on the device. */
static void
test_gaps (void)
{
  GemmclGemm gemm = make_gemm ();

  gemm.lda = 23;
  gemm.ldd = 30;
  check_all_sides (&gemm, "rows with gaps");
  gemm.a_offset = 5;
  gemm.d_offset = 7;
  check_all_sides (&gemm, "rows with gaps, behind others");
  gemm.lda = gemm.ldd = 0;
  check_all_sides (&gemm, "behind others");
  gemm = make_gemm ();
  gemm.trans_a = TRUE;
  gemm.lda = 40;
  check_all_sides (&gemm, "columns with gaps");
}

/* Bytes of each matrix of test_reasons(): too few to share D. */
#define BYTES (64 * 64 * sizeof (gfloat))

/* Why A and D are copied. */
static void
test_reasons (void)
{
  static const struct {
    GemmclDataKind kind;
    gsize offset, ld;
    GemmclCopyReason a, d;
  } cases[] = {
      {GEMMCL_DATA_HOST, 0, 0, GEMMCL_COPY_REASON_NONE, GEMMCL_COPY_REASON_SMALL},
      {GEMMCL_DATA_HOST, 4, 0, GEMMCL_COPY_REASON_ALIGNMENT, GEMMCL_COPY_REASON_SMALL},
      {GEMMCL_DATA_HOST, 0, 68, GEMMCL_COPY_REASON_GAPS, GEMMCL_COPY_REASON_SMALL},
      {GEMMCL_DATA_BUFFER, 0, 0, GEMMCL_COPY_REASON_NONE, GEMMCL_COPY_REASON_NONE},
      {GEMMCL_DATA_BUFFER, 64, 0, GEMMCL_COPY_REASON_OFFSET, GEMMCL_COPY_REASON_OFFSET},
      {GEMMCL_DATA_BUFFER, 0, 68, GEMMCL_COPY_REASON_GAPS, GEMMCL_COPY_REASON_GAPS},
  };
  GemmclContext *context = test_get_context ();
  g_autofree gfloat *b = g_new0 (gfloat, 64 * 64);
  g_autofree guint8 *memory = g_malloc0 (2 * BYTES);
  guint8 *const aligned = memory + 64 - (guintptr)memory % 64;
  g_auto (cl_mem) buffer = NULL;

  if (context == NULL)
    return;
  if (!gemmcl_context_get_device_info (context)->host_unified ||
      gemmcl_context_get_device_info (context)->type != GEMMCL_DEVICE_TYPE_CPU) {
    g_test_skip ("the device is no CPU that shares the host's memory");
    return;
  }
  buffer = test_create_buffer (2 * BYTES, memory);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const GemmclData data = {.kind = cases[i].kind,
                             .host = {aligned + cases[i].offset},
                             .objects = {buffer},
                             .offset = {cases[i].offset}};
    const GemmclRun run = {.size = sizeof run, .alpha = 1, .a = &data, .d = &data};
    const GemmclRun no_a = {.size = sizeof run, .a = &data, .d = &data};
    g_autoptr (GemmclPlan) plan = NULL;
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    GemmclCopyReason a, d;

    gemm.m = gemm.n = gemm.k = 64;
    gemm.lda = gemm.ldd = cases[i].ld;
    plan = test_make_plan (&gemm, "gemm_naive", b);
    gemmcl_plan_explain_copies (plan, &run, &a, &d);
    g_assert_cmpint (a, ==, cases[i].a);
    g_assert_cmpint (d, ==, cases[i].d);
    gemmcl_plan_explain_copies (plan, &no_a, &a, &d);
    g_assert_cmpint (a, ==, GEMMCL_COPY_REASON_NONE);
  }
}

static void
test_batches (void)
{
  GemmclGemm gemm = make_gemm ();

  gemm.batch = 3;
  gemm.a_stride = 37 * 19 + 3;
  gemm.d_stride = 37 * 21 + 1;
  check_all_sides (&gemm, "batches");
}

/* Rows of frames with gaps between, and one plane far from another. */
static void
test_frames (void)
{
  const GemmclImage image = {
      .format = GEMMCL_PIXEL_NV12, .width = 6, .height = 4, .kr = 0.299, .kb = 0.114};
  const GemmclImage grey = {.format = GEMMCL_PIXEL_GRAY8, .width = 6, .height = 4};
  const gfloat luma[] = {0.299f, 0.587f, 0.114f};
  g_auto (cl_mem) a = NULL, d = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  GemmclData from = {.kind = GEMMCL_DATA_BUFFER, .offset = {3, 60}, .stride = {10, 8}},
             to = {.kind = GEMMCL_DATA_BUFFER, .offset = {1}, .stride = {7}};
  guint8 bytes[100], found[40], before[40];

  gemm.m = 24;
  gemm.n = 1;
  gemm.k = 3;
  gemm.a_image = &image;
  gemm.d_image = &grey;
  plan = test_make_plan (&gemm, NULL, luma);
  memset (bytes, 128, sizeof bytes);
  memset (before, 7, sizeof before);
  for (guint y = 0; y < 4; y++)
    for (guint x = 0; x < 6; x++)
      bytes[3 + 10 * y + x] = 16 + 9 * (6 * y + x);
  from.objects[0] = a = test_create_buffer (sizeof bytes, bytes);
  to.objects[0] = d = test_create_buffer (sizeof before, before);
  run_and_wait (plan, &from, &to);
  test_read_buffer (d, sizeof found, found);
  for (guint y = 0; y < 4; y++)
    for (guint x = 0; x < 6; x++) {
      const guint expected = MIN (255, 9 * (6 * y + x) * 255.0 / 219.0 + 0.5);

      g_assert_cmpint (ABS ((gint)found[1 + 7 * y + x] - (gint)expected), <=, 1);
      before[1 + 7 * y + x] = found[1 + 7 * y + x];
    }
  g_assert_cmpmem (found, sizeof found, before, sizeof before);
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/data/sides", test_sides);
  g_test_add_func ("/data/gaps", test_gaps);
  g_test_add_func ("/data/reasons", test_reasons);
  g_test_add_func ("/data/batches", test_batches);
  g_test_add_func ("/data/frames", test_frames);
  return g_test_run ();
}
