/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Tests every row of the table of kernels with an Intel GPU's driver: that the driver builds and
 * launches it, its registers and memory, and the choice of the rules.
 *
 * Results are not checked, so that this also runs without a GPU (tools/intel-driver.sh).
 */
#include <CL/cl_ext.h>
#include <string.h>

#include "gemmcl-opencl.h"
#include "gemmcl.h"
#include "kernels/table.h"

static const GemmclKernel rows[] = {
#define GEMMCL_KERNEL(name_, source_, ...) {.name = name_, .source = source_, __VA_ARGS__},
#define GEMMCL_HELPER(name, source)
#include "kernels.def"
};

static GemmclContext *context; /* on what its driver reports as an Intel GPU; NULL: no such GPU */

static void
test_nothing (void)
{
  g_test_skip ("no Intel GPU: tools/intel-driver.sh runs its driver without one");
}

/* TRUE if the rules may choose the row: it is for these GPUs, and its subgroups have the smallest
 * size of the device. */
static gboolean
is_meant_for (const GemmclKernel *row, const GemmclDeviceInfo *device)
{
  return row->devices & (GEMMCL_ON_INTEL_GPU | 1u << GEMMCL_DEVICE_TYPE_GPU) &&
         (row->subgroup == 0 || row->subgroup == device->subgroup_sizes[0]);
}

static gboolean
has_subgroup_size (const GemmclDeviceInfo *device, guint size)
{
  for (guint i = 0; i < device->n_subgroup_sizes; i++)
    if (device->subgroup_sizes[i] == size)
      return TRUE;
  return FALSE;
}

/* TRUE if only rows that the rules may choose are tested, with full tiles. */
static gboolean
is_brief (void)
{
  return g_getenv ("GEMMCL_TEST_BRIEF") != NULL;
}

/* Checks that the build matches the row and the device. If the rules chose the row, it must neither
 * spill nor use private memory. */
static void
check_build (const GemmclKernel *row, GemmclPlan *plan, gboolean chosen, const gchar *what)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);
  GemmclBuildInfo build;

  gemmcl_plan_get_build_info (plan, &build);
  g_test_message ("%s, %s: %s, SIMD%u, groups of up to %" G_GSIZE_FORMAT
                  ", bytes: %" G_GUINT64_FORMAT " local, %" G_GUINT64_FORMAT
                  " private, %" G_GUINT64_FORMAT " spilled",
                  row->name, what, gemmcl_kernel_level_get_name (build.level), build.subgroup_size,
                  build.max_work_group, build.local_bytes, build.private_bytes, build.spill_bytes);
  g_assert_cmpint (build.level, ==, GEMMCL_KERNEL_LEVEL_NATIVE);
  g_assert_cmpuint (build.max_work_group, >=, row->group_m * row->group_n);
  g_assert_cmpuint (build.local_bytes, <=, device->local_bytes);
  if (row->subgroup)
    g_assert_cmpuint (build.subgroup_size, ==, row->subgroup);
  else
    g_assert_true (has_subgroup_size (device, build.subgroup_size));
  if (chosen) {
    g_assert_cmpuint (build.spill_bytes, ==, 0);
    g_assert_cmpuint (build.private_bytes, ==, 0);
  }
}

/* Sets the row's precision, and the sizes up to the row's limits. */
static void
set_problem (GemmclGemm *gemm, const GemmclKernel *row, gsize m, gsize n, gsize k)
{
  gemm->precision = row->precision;
  gemm->m = row->max_m ? MIN (m, row->max_m) : m;
  gemm->n = row->max_n ? MIN (n, row->max_n) : n;
  gemm->k = row->max_k ? MIN (k, row->max_k) : k;
}

/* Makes a plan and launches it on operands of zeros. */
static void
check_problem (const GemmclKernel *row, const GemmclGemm *gemm, const gchar *what)
{
  const gsize d_size = gemm->m * gemm->n * sizeof (gfloat);
  g_autofree gpointer a = g_malloc0 (gemm->m * gemm->k * sizeof (gfloat)), d = g_malloc0 (d_size);
  g_autofree gpointer b = g_malloc0 (gemm->k * gemm->n * sizeof (gfloat));
  const GemmclData data_a = {.host = {a}}, data_d = {.host = {d}};
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclPlan) plan = gemmcl_plan_new (context, gemm, row->name, &error);
  g_autoptr (GemmclMatrix) matrix =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, gemm->trans_b ? gemm->n : gemm->k,
                         gemm->trans_b ? gemm->k : gemm->n, b, NULL);
  GemmclRun run = GEMMCL_RUN_INIT;

  g_assert_no_error (error);
  if (plan == NULL)
    return;
  check_build (row, plan, FALSE, what);
  run.a = &data_a;
  run.d = &data_d;
  run.beta = gemm->beta;
  (void)(gemmcl_plan_set_b (plan, matrix, &error) && gemmcl_plan_run (plan, &run, &error));
  g_assert_no_error (error);
}

/* TRUE if the driver has the instructions of the row: 22.43 has no int8 dot product, and not every
 * GPU has matrix engines. */
static gboolean
has_instructions (const GemmclKernel *row, const GemmclDeviceInfo *device)
{
  if (row->dpas && row->precision == GEMMCL_PRECISION_TF32)
    return gemmcl_device_info_has_extension (device,
                                             "cl_intel_subgroup_matrix_multiply_accumulate_tf32");
  if (row->dpas)
    return gemmcl_device_info_has_extension (device,
                                             "cl_intel_subgroup_matrix_multiply_accumulate");
  if (row->capability > 0) /* of NVIDIA's GPUs */
    return FALSE;
  return row->precision != GEMMCL_PRECISION_I8 ||
         gemmcl_device_info_has_extension (device, "cl_khr_integer_dot_product");
}

static void
test_row (gconstpointer data)
{
  const GemmclKernel *row = data;
  GemmclGemm full = GEMMCL_GEMM_INIT, edges = GEMMCL_GEMM_INIT, columns = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;
  GemmclKernelLevel level;

  gemmcl_kernel_get_level (context, row->name, &level, &error);
  g_assert_no_error (error);
  if (!has_instructions (row, gemmcl_context_get_device_info (context))) {
    g_assert_cmpint (level, !=, GEMMCL_KERNEL_LEVEL_NATIVE);
    g_test_skip ("this GPU or its driver lacks the instructions");
    return;
  }
  g_assert_cmpint (level, ==, GEMMCL_KERNEL_LEVEL_NATIVE);
  set_problem (&full, row, 256, 256, 256);
  check_problem (row, &full, "full tiles");
  if (is_brief () || !is_meant_for (row, gemmcl_context_get_device_info (context)))
    return;

  set_problem (&edges, row, 67, 45, 33);
  edges.trans_b = TRUE;
  edges.a_type = GEMMCL_TYPE_U8;
  edges.a_scale = 1 / 255.0;
  edges.d_type = GEMMCL_TYPE_F16;
  edges.addend = GEMMCL_ADDEND_ROW;
  edges.beta = 0.5;
  edges.bias = TRUE;
  edges.activation = GEMMCL_ACTIVATION_GELU;
  check_problem (row, &edges, "edges");

  set_problem (&columns, row, 67, 45, 33);
  columns.layout = GEMMCL_LAYOUT_COLUMN_MAJOR;
  columns.addend = GEMMCL_ADDEND_OUTPUT;
  columns.beta = 1;
  check_problem (row, &columns, "by column");
}

/* Returns: the row of a chosen kernel, whose name may end with a split of K. */
static const GemmclKernel *
find_row (const gchar *chosen)
{
  const gsize length = strcspn (chosen, "/");

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strlen (rows[i].name) == length && strncmp (rows[i].name, chosen, length) == 0)
      return &rows[i];
  g_assert_not_reached ();
}

/* The rules choose rows for these GPUs, with the smallest subgroup size. */
static void
test_choice (void)
{
  static const gsize sizes[][3] = {
      {1024, 1024, 1024}, {4096, 512, 256}, {257, 1000, 300}, {123, 77, 45},
      {7, 13, 5},         {921600, 3, 3},   {1, 1000, 2048},  {1, 1, 1},
  };
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autofree gchar *what =
        g_strdup_printf ("%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT,
                         sizes[i][0], sizes[i][1], sizes[i][2]);
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GemmclPlan) plan = NULL;
    g_autoptr (GError) error = NULL;
    const GemmclKernel *row;

    gemm.m = sizes[i][0];
    gemm.n = sizes[i][1];
    gemm.k = sizes[i][2];
    plan = gemmcl_plan_new (context, &gemm, NULL, &error);
    g_assert_no_error (error);
    if (plan == NULL)
      continue;
    row = find_row (gemmcl_plan_get_kernel (plan));
    check_build (row, plan, TRUE, what);
    g_assert_true (is_meant_for (row, device));
    if (gemm.m * gemm.n >= 1024 * 1024 && gemm.k >= 256)
      g_assert_cmpuint (row->subgroup, !=, 0);
  }
}

/* TRUE if the device has matrix engines for @precision and the table has a row for them. */
static gboolean
has_engines (GemmclPrecision precision)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].dpas && rows[i].precision == precision && is_meant_for (&rows[i], device) &&
        has_instructions (&rows[i], device))
      return TRUE;
  return FALSE;
}

/* A precision with matrix engines gets a row for them, without spilling. */
static void
test_engines (void)
{
  guint tested = 0;

  for (GemmclPrecision precision = 0; precision < GEMMCL_N_PRECISIONS; precision++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GemmclPlan) plan = NULL;
    g_autoptr (GError) error = NULL;
    const GemmclKernel *row;

    if (!has_engines (precision))
      continue;
    gemm.m = gemm.n = gemm.k = 1024;
    gemm.precision = precision;
    plan = gemmcl_plan_new (context, &gemm, NULL, &error);
    g_assert_no_error (error);
    if (plan == NULL)
      continue;
    row = find_row (gemmcl_plan_get_kernel (plan));
    check_build (row, plan, TRUE, gemmcl_precision_get_name (precision));
    g_assert_true (row->dpas);
    g_assert_cmpint (row->precision, ==, precision);
    tested++;
  }
  if (tested == 0)
    g_test_skip ("this GPU has no matrix engines");
}

/* Tuning results for this GPU that the library ships are used for their problems, without spilling.
 */
static void
test_shipped (void)
{
  g_autoptr (GPtrArray) known = gemmcl_tuning_list (context);

  for (guint i = 0; i < known->len; i++) {
    const GemmclTuningEntry *entry = known->pdata[i];
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autoptr (GemmclPlan) plan = NULL;
    g_autoptr (GError) error = NULL;

    gemm.m = entry->m;
    gemm.n = entry->n;
    gemm.k = entry->k;
    gemm.layout = entry->layout;
    gemm.precision = entry->precision;
    plan = gemmcl_plan_new (context, &gemm, NULL, &error);
    g_assert_no_error (error);
    if (plan == NULL)
      continue;
    g_test_message ("%" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
                    ": %s is %s, %s was taken",
                    gemm.m, gemm.n, gemm.k, entry->kernel,
                    gemmcl_choice_source_get_name (entry->source), gemmcl_plan_get_kernel (plan));
    g_assert_cmpstr (gemmcl_plan_get_kernel (plan), ==, entry->kernel);
    g_assert_cmpint (gemmcl_plan_get_choice_source (plan), ==, entry->source);
    check_build (find_row (entry->kernel), plan, TRUE, "shipped");
  }
  if (known->len == 0)
    g_test_skip ("the library ships no tuning results for this GPU");
}

/* Gets the private and spilled bytes of the kernel in @source. Fails if the driver does not report
 * them. */
static void
measure (const gchar *source, cl_ulong *private_bytes, cl_ulong *spilled)
{
  const cl_device_id device = gemmcl_context_get_cl_device (context);
  cl_program program;
  cl_kernel kernel;
  cl_int status;

  program = clCreateProgramWithSource (gemmcl_context_get_cl_context (context), 1, &source, NULL,
                                       &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  g_assert_cmpint (clBuildProgram (program, 1, &device, "", NULL, NULL), ==, CL_SUCCESS);
  kernel = clCreateKernel (program, "f", &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  g_assert_cmpint (clGetKernelWorkGroupInfo (kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE,
                                             sizeof (cl_ulong), private_bytes, NULL),
                   ==, CL_SUCCESS);
  g_assert_cmpint (clGetKernelWorkGroupInfo (kernel, device, CL_KERNEL_SPILL_MEM_SIZE_INTEL,
                                             sizeof (cl_ulong), spilled, NULL),
                   ==, CL_SUCCESS);
  clReleaseKernel (kernel);
  clReleaseProgram (program);
}

/* The driver reports private memory of an array, and spilling of a tile that is too large. */
static void
test_figures (void)
{
  static const gchar array[] = "kernel void f (global int *x, int n)\n"
                               "{\n"
                               "  int a[2000];\n"
                               "  for (int i = 0; i < 2000; i++) a[i] = x[i];\n"
                               "  for (int i = 0; i < 2000; i++) a[x[i]] += a[i];\n"
                               "  x[get_global_id (0)] = a[n];\n"
                               "}\n";
  static const gchar tile[] = "#define EACH __attribute__ ((opencl_unroll_hint (16))) \\\n"
                              "  for (int j = 0; j < 16; j++)\n"
                              "__attribute__ ((intel_reqd_sub_group_size (32)))\n"
                              "kernel void f (global float16 *x, global float *y)\n"
                              "{\n"
                              "  const int i = get_global_id (0);\n"
                              "  float16 s[16];\n"
                              "  EACH s[j] = 0;\n"
                              "  for (int k = 0; k < 1000; k++)\n"
                              "    EACH s[j] = mad (x[i + k], y[k * 16 + j], s[j]);\n"
                              "  EACH x[16 * i + j] = s[j];\n"
                              "}\n";
  cl_ulong private_bytes, spilled;

  measure (array, &private_bytes, &spilled);
  g_assert_cmpuint (private_bytes + spilled, >=, 2000 * sizeof (cl_int));
  measure (tile, &private_bytes, &spilled);
  g_assert_cmpuint (spilled, >, 0);
}

/* Adds the rows that the device supports: those without subgroups, or with a size that it has. */
static void
add_rows (void)
{
  const GemmclDeviceInfo *device = gemmcl_context_get_device_info (context);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree gchar *path = g_strdup_printf ("/driver/rows/%s", rows[i].name);

    if (is_meant_for (&rows[i], device) ||
        (!is_brief () && (rows[i].subgroup == 0 || has_subgroup_size (device, rows[i].subgroup))))
      g_test_add_data_func (path, &rows[i], test_row);
  }
}

int
main (int argc, char **argv)
{
  const GemmclDeviceInfo *device;

  g_test_init (&argc, &argv, NULL);
  /* A test reports all wrong figures of a row, not only the first. */
  g_test_set_nonfatal_assertions ();
  context = gemmcl_context_new (NULL, NULL);
  device = context ? gemmcl_context_get_device_info (context) : NULL;
  if (device != NULL && device->intel && device->type == GEMMCL_DEVICE_TYPE_GPU) {
    g_test_add_func ("/driver/figures", test_figures);
    g_test_add_func ("/driver/choice", test_choice);
    g_test_add_func ("/driver/engines", test_engines);
    g_test_add_func ("/driver/shipped", test_shipped);
    add_rows ();
  } else {
    g_test_add_func ("/driver/nothing", test_nothing);
  }
  return g_test_run ();
}
