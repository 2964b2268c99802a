/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which rows of the table are native on a device, and that no other is chosen: of devices that
 * need not be here, each the same but for one thing that it lacks.
 */
#include "kernels/kernels.h"

/* Features that devices may lack and rows need. */
typedef enum {
  NOTHING,
  SUBGROUPS,
  SIZES,
  SHORTS,
  ENGINES,
  TF32_ENGINES,
  DOT_PRODUCTS,
  FP16,
  IMAGES,
  N_LACKS,
} Lack;

static const gchar *const lack_names[N_LACKS] = {
    [NOTHING] = "nothing",  [SUBGROUPS] = "subgroups", [SIZES] = "sizes",
    [SHORTS] = "shorts",    [ENGINES] = "engines",     [TF32_ENGINES] = "tf32-engines",
    [DOT_PRODUCTS] = "dot", [FP16] = "fp16",           [IMAGES] = "images",
};

/* Those that are extensions. */
static const gchar *const extensions[N_LACKS] = {
    [SUBGROUPS] = "cl_intel_subgroups",
    [SHORTS] = "cl_intel_subgroups_short",
    [ENGINES] = "cl_intel_subgroup_matrix_multiply_accumulate",
    [TF32_ENGINES] = "cl_intel_subgroup_matrix_multiply_accumulate_tf32",
    [DOT_PRODUCTS] = "cl_khr_integer_dot_product",
};

/* Subgroups as narrow as this are the smallest: dg2 has 8, pvc has 16. */
static const guint smallest_sizes[] = {8, 16};

static void
device_clear (GemmclDeviceInfo *self)
{
  g_free (self->extensions);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GemmclDeviceInfo, device_clear)

static gchar *
list_extensions (Lack lack)
{
  g_autoptr (GString) list = g_string_new ("cl_khr_icd");

  for (guint i = 0; i < N_LACKS; i++)
    if (extensions[i] != NULL && i != lack)
      g_string_append_printf (list, " %s", extensions[i]);
  return g_string_free (g_steal_pointer (&list), FALSE);
}

/* One of Intel's GPUs with matrix engines of each kind, but for what it lacks. */
static GemmclDeviceInfo
make_device (guint smallest, Lack lack)
{
  GemmclDeviceInfo device = {
      .platform = (gchar *)"Imagined",
      .name = (gchar *)"GPU",
      .version = (gchar *)"OpenCL 3.0 imagined",
      .driver = (gchar *)"1",
      .extensions = list_extensions (lack),
      .type = GEMMCL_DEVICE_TYPE_GPU,
      .intel = TRUE,
      .compute_units = 128,
      .float_width = 1,
      .max_work_group = 1024,
      .max_work_item_sizes = {1024, 1024, 1024},
      .local_bytes = 65536,
      .fp16 = lack != FP16,
  };

  if (lack != IMAGES)
    device.max_image_width = device.max_image_height = 16384;
  for (guint size = smallest; lack != SIZES && size <= 32; size *= 2)
    device.subgroup_sizes[device.n_subgroup_sizes++] = size;
  return device;
}

static gboolean
needs (const GemmclKernel *row, Lack what)
{
  const gboolean is_f16 = row->precision == GEMMCL_PRECISION_F16;
  const gboolean is_tf32 = row->precision == GEMMCL_PRECISION_TF32;

  switch (what) {
  case SUBGROUPS:
  case SIZES:
    return row->subgroup > 0;
  case SHORTS:
    return row->subgroup > 0 && (row->dpas || is_f16);
  case ENGINES:
    return row->dpas && !is_tf32;
  case TF32_ENGINES:
    return row->dpas && is_tf32;
  case DOT_PRODUCTS:
    return row->subgroup == 0 && row->precision == GEMMCL_PRECISION_I8;
  case FP16:
    return row->subgroup > 0 && is_f16;
  case IMAGES:
    return row->images;
  default:
    return FALSE;
  }
}

/* Engines work in the smallest subgroups alone, others in all. */
static gboolean
has_size (const GemmclKernel *row, guint smallest)
{
  return row->subgroup == 0 || (row->dpas ? row->subgroup == smallest : row->subgroup >= smallest);
}

/* Follows the comments of lib/kernels/table.h, not the code that is tested. No device of Intel has
 * NVIDIA's engines. */
static gboolean
should_be_native (const GemmclKernel *row, guint smallest, Lack lack)
{
  return row->capability == 0 && has_size (row, smallest) && !needs (row, lack);
}

static void
assert_level (const GemmclKernel *row, const GemmclDeviceInfo *device, GemmclKernelLevel expected)
{
  const GemmclKernelLevel level = gemmcl_subgroups_get_level (row, device);

  if (level != expected)
    g_test_message ("%s", row->name);
  g_assert_cmpuint (level, ==, expected);
}

/* Each row of the table is native exactly where the device has all that it needs. */
static void
test_level (gconstpointer data)
{
  const Lack lack = GPOINTER_TO_UINT (data);
  guint n_lost = 0;

  for (guint s = 0; s < G_N_ELEMENTS (smallest_sizes); s++) {
    const guint smallest = smallest_sizes[s];
    g_auto (GemmclDeviceInfo) device = make_device (smallest, lack);

    for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
      const GemmclKernel *row = gemmcl_kernel_get (i);

      assert_level (row, &device,
                    should_be_native (row, smallest, lack) ? GEMMCL_KERNEL_LEVEL_NATIVE
                                                           : GEMMCL_KERNEL_LEVEL_EMULATED);
      n_lost += has_size (row, smallest) && needs (row, lack);
    }
  }
  /* There are rows that need it. */
  g_assert_cmpuint (n_lost > 0, ==, lack != NOTHING);
}

/* A device that can shuffle uses at least that. */
static void
test_khr (void)
{
  g_auto (GemmclDeviceInfo) device = make_device (16, SUBGROUPS);
  g_autofree gchar *before = device.extensions;

  device.extensions = g_strconcat (before, " cl_khr_subgroup_shuffle", NULL);
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *row = gemmcl_kernel_get (i);

    assert_level (row, &device,
                  row->capability > 0 ? GEMMCL_KERNEL_LEVEL_EMULATED
                  : row->subgroup > 0 ? GEMMCL_KERNEL_LEVEL_KHR
                                      : GEMMCL_KERNEL_LEVEL_NATIVE);
  }
}

/* GEMMCL_SUBGROUPS lowers the level. */
static void
test_asked (void)
{
  g_auto (GemmclDeviceInfo) device = make_device (16, NOTHING);

  g_setenv ("GEMMCL_SUBGROUPS", "emulated", TRUE);
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *row = gemmcl_kernel_get (i);

    assert_level (row, &device,
                  row->subgroup > 0 || row->capability > 0 || row->precision == GEMMCL_PRECISION_I8
                      ? GEMMCL_KERNEL_LEVEL_EMULATED
                      : GEMMCL_KERNEL_LEVEL_NATIVE);
  }
  g_unsetenv ("GEMMCL_SUBGROUPS");
}

/* Rows with NVIDIA's instructions are native with NVIDIA's driver, from their capability on.
 * The rules choose one of them there, for large problems of its precision. */
static void
check_nvidia (guint capability, const gchar *platform)
{
  const gboolean nvidia = strcmp (platform, "NVIDIA CUDA") == 0;
  g_auto (GemmclDeviceInfo) device = make_device (8, SUBGROUPS);

  device.platform = (gchar *)platform;
  device.nvidia_capability = capability;
  device.intel = FALSE;
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *row = gemmcl_kernel_get (i);

    if (row->capability > 0)
      assert_level (row, &device,
                    nvidia && (row->wgmma ? capability == 90 : capability >= row->capability)
                        ? GEMMCL_KERNEL_LEVEL_NATIVE
                        : GEMMCL_KERNEL_LEVEL_EMULATED);
  }
  for (guint precision = 0; precision < GEMMCL_N_PRECISIONS; precision++) {
    const GemmclGemm gemm = {.m = 4096, .n = 4096, .k = 4096, .precision = precision, .alpha = 1};
    g_autoptr (GArray) ranked = gemmcl_choice_rank (&device, &gemm, GEMMCL_MAX_SPLIT);
    const GemmclKernel *first = g_array_index (ranked, GemmclChoice, 0).kernel;

    g_assert_cmpint (first->capability > 0, ==, nvidia && capability >= 80);
    g_assert_cmpuint (first->capability, <=, capability);
  }
}

static void
test_nvidia (void)
{
  check_nvidia (75, "NVIDIA CUDA");
  check_nvidia (80, "NVIDIA CUDA");
  check_nvidia (89, "NVIDIA CUDA");
  check_nvidia (90, "NVIDIA CUDA");
  check_nvidia (100, "NVIDIA CUDA");
  check_nvidia (90, "Portable Computing Language");
}

/* PTX is retargeted if it is as NVIDIA's compiler writes it for sm_90, and else refused. */
static void
test_retarget (void)
{
  static const gchar *const refused[] = {
      "",
      "\177ELF\n.version 9.0\n.target sm_90, x\n",
      ".version 9.0\n.target sm_90, x\n//@wgmma.a;\n",
      "//\n.version 9.0\n.target sm_90, x\nmma.a;\n",
      "//\n.version 9.0\n.target sm_80, x\n//@wgmma.a;\n",
      "//\n.version 9.0\n.target sm_90a, x\n//@wgmma.a;\n",
      "//\n.version 9.0\n.target sm_90, x\n.target sm_90, x\n//@wgmma.a;\n",
  };
  g_autoptr (GError) error = NULL;
  g_autofree gchar *made = gemmcl_ptx_retarget (
      "//\n.version 9.0\n.target sm_90, x\n//@wgmma.a;\n// x\n//@wgmma.b;\n", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (made, ==,
                   "//\n.version 9.0\n.target sm_90a, x\n   wgmma.a;\n// x\n   wgmma.b;\n");
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autofree gchar *none = gemmcl_ptx_retarget (refused[i], &error);

    g_assert_null (none);
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD);
    g_clear_error (&error);
  }
}

/* @only_smallest: those of wider subgroups are not among them */
static void
assert_choices (const GArray *choices, guint smallest, Lack lack, gboolean only_smallest)
{
  g_assert_cmpuint (choices->len, >, 0);
  for (guint i = 0; i < choices->len; i++) {
    const GemmclKernel *row = g_array_index (choices, GemmclChoice, i).kernel;
    const gboolean right = should_be_native (row, smallest, lack) &&
                           (!only_smallest || row->subgroup == 0 || row->subgroup == smallest);

    if (!right)
      g_test_message ("%s", row->name);
    g_assert_true (right);
  }
}

static gboolean
has_engines (guint smallest, GemmclPrecision precision)
{
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *row = gemmcl_kernel_get (i);

    if (row->dpas && row->precision == precision && row->subgroup == smallest)
      return TRUE;
  }
  return FALSE;
}

/* The choice of the rules, and the candidates of tuning. */
static void
check_choice (guint smallest, Lack lack, const GemmclGemm *gemm)
{
  g_auto (GemmclDeviceInfo) device = make_device (smallest, lack);
  g_autoptr (GArray) ranked = gemmcl_choice_rank (&device, gemm, GEMMCL_MAX_SPLIT);
  g_autoptr (GArray) listed = gemmcl_choice_list (&device, gemm);
  const GemmclKernel *first;

  assert_choices (ranked, smallest, lack, TRUE);
  assert_choices (listed, smallest, lack, FALSE);
  first = g_array_index (ranked, GemmclChoice, 0).kernel;
  g_test_message ("%u, without %s, %s: %s", smallest, lack_names[lack],
                  gemmcl_precision_get_name (gemm->precision), first->name);
  if (lack == NOTHING && gemm->m == gemm->n)
    g_assert_cmpint (first->dpas, ==, has_engines (smallest, gemm->precision));
}

static void
test_choice (gconstpointer data)
{
  static const gsize sizes[][3] = {{1024, 1024, 1024}, {64, 1024, 1024}, {1, 1024, 1024}};
  const Lack lack = GPOINTER_TO_UINT (data);

  for (guint s = 0; s < G_N_ELEMENTS (smallest_sizes); s++)
    for (guint precision = 0; precision < GEMMCL_N_PRECISIONS; precision++)
      for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
        GemmclGemm gemm = GEMMCL_GEMM_INIT;

        gemm.precision = precision;
        gemm.m = sizes[i][0];
        gemm.n = sizes[i][1];
        gemm.k = sizes[i][2];
        check_choice (smallest_sizes[s], lack, &gemm);
      }
}

/* All but f32 have engines, of either size but for tf32: else the tests above say less. */
static void
test_table (void)
{
  for (guint s = 0; s < G_N_ELEMENTS (smallest_sizes); s++) {
    g_assert_false (has_engines (smallest_sizes[s], GEMMCL_PRECISION_F32));
    g_assert_true (has_engines (smallest_sizes[s], GEMMCL_PRECISION_F16));
    g_assert_true (has_engines (smallest_sizes[s], GEMMCL_PRECISION_BF16));
    g_assert_true (has_engines (smallest_sizes[s], GEMMCL_PRECISION_I8));
  }
  g_assert_true (has_engines (16, GEMMCL_PRECISION_TF32));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  /* The user's GEMMCL_SUBGROUPS does not apply to this test. */
  g_unsetenv ("GEMMCL_SUBGROUPS");
  g_test_add_func ("/subgroups/table", test_table);
  for (guint lack = 0; lack < N_LACKS; lack++) {
    g_autofree gchar *level = g_strdup_printf ("/subgroups/level/without-%s", lack_names[lack]);
    g_autofree gchar *choice = g_strdup_printf ("/subgroups/choice/without-%s", lack_names[lack]);

    g_test_add_data_func (level, GUINT_TO_POINTER (lack), test_level);
    g_test_add_data_func (choice, GUINT_TO_POINTER (lack), test_choice);
  }
  g_test_add_func ("/subgroups/level/khr", test_khr);
  g_test_add_func ("/subgroups/level/asked", test_asked);
  g_test_add_func ("/subgroups/level/nvidia", test_nvidia);
  g_test_add_func ("/subgroups/retarget", test_retarget);
  return g_test_run ();
}
