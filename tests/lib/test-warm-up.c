/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A new plan has compiled all that its first run needs. PoCL, which compiles at a kernel's first
 * launch, tells: its cache, empty at first, has a library of each kernel and size of work-groups.
 */

#include <gio/gio.h>
#include <string.h>

#include "../kernels/problem.h"
#include "files.h"

#define SIDE 20 /* of a frame */

/**
 * Case: a plan and its runs
 * @kernel: (nullable): the rules choose if %NULL
 * @images: A of one more run are frames in images
 */
typedef struct {
  const gchar *name, *kernel;
  GemmclGemm gemm;
  gboolean images;
} Case;

static const GemmclImage rgb = {
    .format = GEMMCL_PIXEL_RGB, .width = SIDE, .height = SIDE, .features = GEMMCL_FEATURE_PIXEL};
static const GemmclImage gray = {.format = GEMMCL_PIXEL_GRAY8,
                                 .width = SIDE,
                                 .height = SIDE,
                                 .features = GEMMCL_FEATURE_PATCH,
                                 .patch_width = 4,
                                 .patch_height = 4};

#define GEMM(M, N, K, ...)                                                                         \
  {                                                                                                \
    .m = M, .n = N, .k = K, .alpha = 1, .a_scale = 1, ##__VA_ARGS__                                \
  }

static const Case cases[] = {
    {"epilogue", "gemm_naive",
     GEMM (33, 17, 40, .bias = TRUE, .addend = GEMMCL_ADDEND_OUTPUT, .beta = 1,
           .activation = GEMMCL_ACTIVATION_RELU)},
    {"bytes", "gemm_naive", GEMM (33, 17, 40, .a_type = GEMMCL_TYPE_U8, .d_type = GEMMCL_TYPE_U8)},
    {"columns", "vector_4x8_1x1",
     GEMM (33, 17, 40, .layout = GEMMCL_LAYOUT_COLUMN_MAJOR, .trans_b = TRUE, .ldb = 50)},
    {"batch", "gemm_naive", GEMM (33, 17, 40, .batch = 3, .b_stride = 40 * 17)},
    {"tall", "gemm_naive", GEMM (9000, 2, 3)},
    {"tall batches", "gemm_naive", GEMM (3000, 2, 3, .batch = 3, .a_type = GEMMCL_TYPE_I8)},
    {"large B", "vector_4x8_1x1", GEMM (4, 1000, 600)},
    {"split", "gemm_naive/2",
     GEMM (33, 17, 64, .addend = GEMMCL_ADDEND_ROW, .activation = GEMMCL_ACTIVATION_TANH)},
    {"split of packed B", "vector_4x8_1x1/2", GEMM (33, 17, 64)},
    {"softmax", "gemm_naive",
     GEMM (33, 17, 40, .d_type = GEMMCL_TYPE_U8, .activation = GEMMCL_ACTIVATION_SOFTMAX)},
    {"rows of the kernel", "vector_4x8_1x1", GEMM (33, 7, 40, .row_outputs = GEMMCL_ROW_SUM)},
    {"normalized", "gemm_naive",
     GEMM (33, 17, 40, .a_type = GEMMCL_TYPE_U8, .d_type = GEMMCL_TYPE_U8,
           .normalize = GEMMCL_NORMALIZE_A | GEMMCL_NORMALIZE_D)},
    {"rows", "gemm_naive", GEMM (33, 17, 40, .row_outputs = GEMMCL_ROW_MAX)},
    {"previous", "gemm_naive",
     GEMM (33, 17, 40, .d_type = GEMMCL_TYPE_I16, .addend = GEMMCL_ADDEND_PREVIOUS, .beta = 1)},
    {"a scale of D", "gemm_naive", GEMM (33, 17, 40, .d_type = GEMMCL_TYPE_I8, .d_scale = 0.5)},
    {"images", "block_read_4x1_1x8", GEMM (33, 17, 40)},
    {"images of halves", "block_read_f16_4x1_1x16",
     GEMM (33, 17, 40, .precision = GEMMCL_PRECISION_F16)},
    {"engines", "xmx_bf16_8x1_1x16", GEMM (33, 17, 40, .precision = GEMMCL_PRECISION_BF16)},
    {"dot", "dot_1x1_1x64", GEMM (33, 17, 40, .precision = GEMMCL_PRECISION_I8)},
    {"int8", NULL, GEMM (33, 17, 40, .precision = GEMMCL_PRECISION_I8)},
    {"pixels", NULL, GEMM (SIDE *SIDE, 3, 3, .a_image = &rgb, .d_image = &rgb)},
    {"patches", NULL, GEMM (25, 3, 16, .a_image = &gray), .images = TRUE},
};

/* Libraries below @folder. */
static guint
count_compiled (const gchar *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  guint n = 0;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);

    if (g_file_test (path, G_FILE_TEST_IS_DIR))
      n += count_compiled (path);
    else if (g_str_has_suffix (name, ".so"))
      n++;
  }
  return n;
}

static guint
count_all_compiled (void)
{
  return count_compiled (g_getenv ("POCL_CACHE_DIR"));
}

/* Returns: %FALSE, with the test skipped, where it has nothing to count. */
static gboolean
can_count (void)
{
  GemmclContext *context = test_get_context ();

  if (strstr (gemmcl_context_get_device_info (context)->platform, "Portable Computing") != NULL &&
      gemmcl_context_get_device_info (context)->type == GEMMCL_DEVICE_TYPE_CPU)
    return TRUE;
  g_test_skip ("Only PoCL on a CPU compiles when a kernel is launched.");
  return FALSE;
}

static cl_mem
make_image (void)
{
  const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  const cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, SIDE, SIDE};
  cl_int status;
  cl_mem image = clCreateImage (gemmcl_context_get_cl_context (test_get_context ()),
                                CL_MEM_READ_ONLY, &format, &desc, NULL, &status);

  g_assert_cmpint (status, ==, CL_SUCCESS);
  return image;
}

static void
set_b (GemmclPlan *plan, const GemmclGemm *gemm)
{
  g_autofree gfloat *values = g_new0 (gfloat, gemm->k * gemm->n);
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) b =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, gemm->trans_b ? gemm->n : gemm->k,
                         gemm->trans_b ? gemm->k : gemm->n, values, &error);

  g_assert_no_error (error);
  gemmcl_plan_set_b (plan, b, &error);
  g_assert_no_error (error);
}

/* Runs on host memory with the plan's B, on buffers with a B of the run, and, where possible, on
 * images and with a previous result of the run. */
static void
run_all (GemmclPlan *plan, const Case *c)
{
  const GemmclGemm *gemm = &c->gemm;
  const gsize batch = MAX (gemm->batch, 1);
  const gsize a_size = c->gemm.a_image ? SIDE * SIDE * 4 : gemm->m * gemm->k * sizeof (gfloat);
  const gsize d_size = MAX (gemm->m * gemm->n, SIDE * SIDE * 4) * sizeof (gfloat);
  g_autofree gfloat *host_a = g_aligned_alloc0 (batch, a_size, 64);
  g_autofree gfloat *host_d = g_aligned_alloc0 (batch, d_size, 64);
  g_autofree gfloat *host_rows = g_new0 (gfloat, batch * gemm->m);
  g_autofree GemmclData *a = g_new0 (GemmclData, batch), *d = g_new0 (GemmclData, batch);
  g_autofree GemmclData *rows = g_new0 (GemmclData, batch);
  g_auto (cl_mem) a_buffer = test_create_buffer (batch * a_size, NULL);
  g_auto (cl_mem) b_buffer =
      test_create_buffer (batch * MAX (gemm->k, gemm->ldb) * gemm->n * 4, NULL);
  g_auto (cl_mem) d_buffer = test_create_buffer (batch * d_size, NULL);
  g_auto (cl_mem) rows_buffer = test_create_buffer (batch * gemm->m * sizeof (gfloat), NULL);
  g_auto (cl_mem) image = make_image ();
  GemmclRun run = GEMMCL_RUN_INIT;
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < batch; i++) {
    a[i] = (GemmclData){.host = {host_a + i * a_size / sizeof (gfloat)}, .stride = {SIDE * 3}};
    d[i] = (GemmclData){.host = {host_d + i * d_size / sizeof (gfloat)}, .stride = {SIDE * 3}};
    rows[i] = (GemmclData){.host = {host_rows + i * gemm->m}};
  }
  run.beta = gemm->beta;
  run.a = a;
  run.d = d;
  run.rows = gemm->row_outputs ? rows : NULL;
  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
  run.previous = gemm->addend == GEMMCL_ADDEND_PREVIOUS ? d : NULL;
  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
  if (c->images) {
    *a = (GemmclData){.kind = GEMMCL_DATA_IMAGES, .objects = {image}};
    gemmcl_plan_run (plan, &run, &error);
    g_assert_no_error (error);
  }
  run.previous = NULL;
  run.strided = TRUE;
  run.b = b_buffer;
  *a = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {a_buffer}};
  *d = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {d_buffer}};
  *rows = (GemmclData){.kind = GEMMCL_DATA_BUFFER, .objects = {rows_buffer}};
  gemmcl_plan_run (plan, &run, &error);
  g_assert_no_error (error);
}

static void
check (const Case *c)
{
  const guint before = count_all_compiled ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (test_get_context (), &c->gemm, c->kernel, &error);
  guint made, run;
  GemmclPlanStats stats;

  if (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL)) {
    g_test_message ("%s", error->message);
    return;
  }
  g_assert_no_error (error);
  made = count_all_compiled ();
  gemmcl_plan_get_stats (plan, &stats);
  g_assert_cmpuint (stats.runs, ==, 0);
  set_b (plan, &c->gemm);
  run_all (plan, c);
  run = count_all_compiled ();
  g_test_message ("%s: %u compiled by the plan, %u by its runs", c->name, made - before,
                  run - made);
  g_assert_cmpuint (run, ==, made);
}

static void
test_cases (void)
{
  if (!can_count ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check (&cases[i]);
  g_assert_cmpuint (count_all_compiled (), >, G_N_ELEMENTS (cases));
}

/* The first of each method. */
static void
test_kernels (void)
{
  if (!can_count ())
    return;
  if (g_getenv ("GEMMCL_TEST_BRIEF") != NULL) {
    g_test_skip ("GEMMCL_TEST_BRIEF: most of a minute goes to compiling.");
    return;
  }
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *kernel = gemmcl_get_kernel (i);
    Case c = {kernel->name, kernel->name, GEMM (4, 6, 32, .precision = kernel->precision)};

    if (i == 0 || !g_str_equal (kernel->method, gemmcl_get_kernel (i - 1)->method))
      check (&c);
  }
}

int
main (int argc, char **argv)
{
  g_auto (Files) files = {NULL};

  files_init (&files);
  g_setenv ("POCL_CACHE_DIR", files.dir, TRUE); /* before OpenCL is loaded */
  test_init_device (&argc, &argv);
  g_test_add_func ("/warm-up/cases", test_cases);
  g_test_add_func ("/warm-up/kernels", test_kernels);
  return g_test_run ();
}
