/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel that the rules choose on devices as which this program shows whatever device there is:
 * Intel's GPUs, any GPU, CPUs with vectors of some width. Nothing is compiled or run. With --table
 * it prints the table of docs/internals/intel.md instead. */

#ifndef _GNU_SOURCE
  #define _GNU_SOURCE
#endif
#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>

#include "../kernels/problem.h"
#include "../next.h"

/* As the drivers answer (tools/intel-driver.sh TARGET clinfo), with the numbers of the product. */
#define SUBGROUPS                                                                                  \
  "cl_khr_fp16 cl_intel_subgroups cl_intel_subgroups_short cl_intel_required_subgroup_size "       \
  "cl_intel_device_attribute_query"
#define ENGINES " cl_intel_subgroup_matrix_multiply_accumulate"
#define XE2     " cl_intel_subgroup_matrix_multiply_accumulate_tf32 cl_intel_subgroup_2d_block_io"

/**
 * Device: @slices with @cores each, which have @eus of @threads
 * @extensions: (nullable): the device is not Intel's if %NULL, and a CPU if it has a @width
 * @subgroup: the smallest
 * @width: floats of a vector
 */
typedef struct {
  const gchar *name, *extensions;
  guint slices, cores, eus, threads;
  gsize subgroup;
  guint width;
} Device;

/* The Max 1550 is one of its two stacks, Panther Lake the one of 12 cores. */
static const Device gpus[] = {
    {"UHD 770", SUBGROUPS, 1, 2, 16, 7, 8},
    {"Arc A380", SUBGROUPS ENGINES, 2, 4, 16, 8, 8},
    {"Arc A770", SUBGROUPS ENGINES, 8, 4, 16, 8, 8},
    {"Max 1550", SUBGROUPS ENGINES XE2, 8, 8, 8, 8, 16},
    {"Arc 140V", SUBGROUPS ENGINES XE2, 2, 4, 8, 8, 16},
    {"Arc B580", SUBGROUPS ENGINES XE2, 5, 4, 8, 8, 16},
    {"Panther Lake", SUBGROUPS ENGINES XE2, 2, 6, 8, 10, 16},
};
static const Device any_gpu = {.slices = 1, .cores = 1, .eus = 64, .subgroup = 16};
static const Device *current = &gpus[0];

static gboolean
answer (gconstpointer from, gsize size, gsize room, gpointer to, gsize *size_ret)
{
  if (size_ret)
    *size_ret = size;
  if (to && room >= size)
    memcpy (to, from, size);
  return CL_SUCCESS;
}

static gboolean
get_number (cl_device_info name, cl_uint *number)
{
  const struct {
    cl_device_info name;
    cl_uint value;
  } numbers[] = {
      {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, current->width},
      {CL_DEVICE_MAX_COMPUTE_UNITS, current->slices * current->cores * current->eus},
      {CL_DEVICE_VENDOR_ID, 0x8086},
      {CL_DEVICE_NUM_SLICES_INTEL, current->slices},
      {CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL, current->cores},
      {CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL, current->eus},
      {CL_DEVICE_NUM_THREADS_PER_EU_INTEL, current->threads},
  };

  const guint n = current->extensions ? G_N_ELEMENTS (numbers) : 2;

  for (guint i = 0; i < n; i++)
    if (numbers[i].name == name && numbers[i].value > 0) {
      *number = numbers[i].value;
      return TRUE;
    }
  return FALSE;
}

/* Stands before OpenCL's: the library takes it for that. */
cl_int CL_API_CALL
clGetDeviceInfo (cl_device_id id, cl_device_info name, size_t size, void *value, size_t *size_ret)
{
  const cl_device_type type = current->width ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
  const gsize sizes[] = {current->subgroup, 2 * current->subgroup};
  cl_uint number;

  if (get_number (name, &number))
    return answer (&number, sizeof number, size, value, size_ret);
  if (name == CL_DEVICE_TYPE)
    return answer (&type, sizeof type, size, value, size_ret);
  switch (current->extensions ? name : 0) {
  case CL_DEVICE_NAME:
    return answer (current->name, strlen (current->name) + 1, size, value, size_ret);
  case CL_DEVICE_EXTENSIONS:
    return answer (current->extensions, strlen (current->extensions) + 1, size, value, size_ret);
  case CL_DEVICE_SUB_GROUP_SIZES_INTEL:
    return answer (sizes, sizeof sizes, size, value, size_ret);
  case 0x4000: /* NVIDIA's compute capability, if the tests run on such a GPU */
  case 0x4001:
    return CL_INVALID_VALUE;
  default:
    return NEXT (clGetDeviceInfo) (id, name, size, value, size_ret);
  }
}

/** Choice: a kernel, its parts of K, and how many threads each execution unit gets. */
typedef struct {
  gchar *name;
  gdouble threads;
} Choice;

static void
choice_clear (Choice *self)
{
  g_free (self->name);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Choice, choice_clear)

static gsize
divide_up (gsize a, gsize b)
{
  return (a + b - 1) / b;
}

/* By the row's name, method_1x2_3x4/5: tiles of 1 x 2, groups of 3 x 4, K in 5 parts. Where
 * matrix engines multiply, a subgroup has the tile. */
static gdouble
count_threads (const gchar *name, gsize m, gsize n)
{
  const gchar *sizes = g_strrstr (name, "_") - 1;
  guint tile_m, tile_n, group_m, group_n, parts = 1;
  gsize groups, rows;

  while (*sizes != '_')
    sizes--;
  g_assert_cmpint (sscanf (sizes, "_%ux%u_%ux%u/%u", &tile_m, &tile_n, &group_m, &group_n, &parts),
                   >=, 4);
  /* The work-items of a column share K there. */
  rows = g_str_has_prefix (name, "gemv") ? tile_m : tile_m * group_m;
  groups = divide_up (m, rows) * (tile_n > 0 ? divide_up (n, tile_n * group_n) : 1) * parts;
  return (gdouble)groups * divide_up (group_m * group_n, current->subgroup) /
         (current->slices * current->cores * current->eus);
}

/* Returns: (transfer full): the first of the candidates, which is what the rules choose. */
static gchar *
choose_kernel (const GemmclGemm *gemm)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, &error);
  g_auto (GStrv) names = NULL;

  g_assert_no_error (error);
  names = gemmcl_tuning_list_candidates (context, gemm);
  return g_strdup (names[0]);
}

static void
choose (Choice *self, GemmclPrecision precision, gsize m, gsize n, gsize k)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.precision = precision;
  self->name = choose_kernel (&gemm);
  self->threads = count_threads (self->name, m, n);
}

static const gsize shapes[][3] = {
    {4096, 4096, 4096}, {1024, 1024, 1024}, {256, 4096, 4096}, {64, 4096, 4096},
    {64, 1024, 1024},   {16, 1024, 1024},   {3600, 96, 147},   {1, 4096, 4096},
};
static const GemmclPrecision precisions[] = {GEMMCL_PRECISION_F32, GEMMCL_PRECISION_BF16,
                                             GEMMCL_PRECISION_I8};

static void
print_precision (GemmclPrecision precision)
{
  g_print ("| %s |", gemmcl_precision_get_name (precision));
  for (guint g = 0; g < G_N_ELEMENTS (gpus); g++)
    g_print (" %s |", gpus[g].name);
  g_print ("\n|---|---|---|---|---|---|---|---|\n");
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    g_print ("| %zux%zux%zu |", shapes[i][0], shapes[i][1], shapes[i][2]);
    for (guint g = 0; g < G_N_ELEMENTS (gpus); g++) {
      g_auto (Choice) choice = {NULL};

      current = &gpus[g];
      choose (&choice, precision, shapes[i][0], shapes[i][1], shapes[i][2]);
      g_print (" `%s` %.1f |", choice.name, choice.threads);
    }
    g_print ("\n");
  }
  g_print ("\n");
}

static void
choose_on (Choice *self, const gchar *gpu, GemmclPrecision precision, gsize m, gsize n, gsize k)
{
  for (current = gpus; !g_str_equal (current->name, gpu); current++)
    ;
  choose (self, precision, m, n, k);
  g_test_message ("%s: %s, %.1f threads", gpu, self->name, self->threads);
}

static void
assert_kernel (const gchar *gpu, GemmclPrecision precision, gsize m, const gchar *kernel)
{
  g_auto (Choice) choice = {NULL};

  choose_on (&choice, gpu, precision, m, m, m);
  g_assert_cmpstr (choice.name, ==, kernel);
}

/* The largest tiles where they leave an execution unit four threads, and not where they do not. */
static void
test_tiles (void)
{
  assert_kernel ("Arc A770", GEMMCL_PRECISION_BF16, 4096, "xmx_bf16_16x8_8x32");
  assert_kernel ("Arc A770", GEMMCL_PRECISION_BF16, 1024, "xmx_bf16_16x4_4x16");
  assert_kernel ("Arc A380", GEMMCL_PRECISION_BF16, 1024, "xmx_bf16_16x8_8x32");
  assert_kernel ("Arc B580", GEMMCL_PRECISION_BF16, 4096, "xmx_bf16_32x4_8x64");
  assert_kernel ("Max 1550", GEMMCL_PRECISION_BF16, 1024, "xmx_bf16_16x2_4x32");
}

/* TRUE if the device has images, from which kernels read blocks. */
static gboolean
has_images (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);

  return context && gemmcl_context_get_device_info (context)->max_image_width > 0;
}

/* On Xe-HPG reads of buffers are best, whatever integers cost beside floats; elsewhere images. */
static void
test_hpg (void)
{
  g_auto (Choice) narrow = {NULL};

  assert_kernel ("Arc A770", GEMMCL_PRECISION_F32, 4096, "buffer_read_16x2_4x8");
  assert_kernel ("Arc A380", GEMMCL_PRECISION_F32, 1024, "buffer_read_16x2_4x8");
  if (has_images ())
    assert_kernel ("UHD 770", GEMMCL_PRECISION_F32, 1024, "block_read_32x2_8x8");
  /* A product of few columns does not pay for an image of A. */
  choose_on (&narrow, "UHD 770", GEMMCL_PRECISION_F32, 3600, 96, 147);
  g_assert_cmpstr (narrow.name, ==, "buffer_read_16x2_4x8");
}

/* Few rows: K is cut until there are threads. */
static void
test_few_rows (void)
{
  static const struct {
    const gchar *gpu;
    GemmclPrecision precision;
    gsize n;
  } cases[] = {
      {"Arc A770", GEMMCL_PRECISION_F32, 1024},  {"Arc A770", GEMMCL_PRECISION_BF16, 4096},
      {"Arc B580", GEMMCL_PRECISION_BF16, 4096}, {"Max 1550", GEMMCL_PRECISION_BF16, 4096},
      {"Arc 140V", GEMMCL_PRECISION_BF16, 1024}, {"Panther Lake", GEMMCL_PRECISION_BF16, 1024},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Choice) choice = {NULL};

    choose_on (&choice, cases[i].gpu, cases[i].precision, 64, cases[i].n, cases[i].n);
    g_assert_cmpfloat (choice.threads, >=, 4);
  }
}

/* Batches run as one tall problem, but cannot have K cut; the tall problem can, and of a K that is
 * 16 more it cannot, since no part would be a multiple of 16. So that is what batches should get.
 */
static void
test_batches (void)
{
  static const gsize sizes[][3] = {{16, 256, 2048}, {32, 128, 4096}, {64, 256, 1024}};
  guint better_cut = 0;

  current = &any_gpu;
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    g_autofree gchar *batches = NULL, *tall = NULL, *whole = NULL;
    const gchar *slash;

    gemm.m = sizes[i][0];
    gemm.n = sizes[i][1];
    gemm.k = sizes[i][2];
    gemm.batch = 4;
    batches = choose_kernel (&gemm);
    gemm.m *= gemm.batch;
    gemm.batch = 1;
    tall = choose_kernel (&gemm);
    gemm.k += 16;
    whole = choose_kernel (&gemm);
    g_test_message ("tall %s, whole %s, in batches %s", tall, whole, batches);
    g_assert_null (strchr (whole, '/'));
    g_assert_cmpstr (batches, ==, whole);
    slash = strchr (tall, '/');
    better_cut += slash != NULL && strncmp (tall, whole, slash - tall) != 0;
  }
  if (better_cut == 0)
    g_test_skip ("no kernel of this device would be better for one of these if K were cut");
}

/* Kernels have vectors as wide as the device's, and no wider ones. */
static void
test_width (void)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = gemm.n = gemm.k = 512;
  for (guint width = 4; width <= 16; width *= 2) {
    const Device cpu = {.slices = 1, .cores = 1, .eus = 8, .width = width};
    g_autofree gchar *options = NULL, *define = g_strdup_printf ("-DWIDTH=%u ", width);
    g_autofree gchar *name = NULL;

    current = &cpu;
    name = choose_kernel (&gemm);
    current = &any_gpu;
    g_assert_nonnull (gemmcl_kernel_get_source (name, &gemm, &options, NULL));
    g_test_message ("%u floats: %s", width, name);
    g_assert_nonnull (strstr (options, define));
  }
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "--table") == 0) {
    for (guint i = 0; i < G_N_ELEMENTS (precisions); i++)
      print_precision (precisions[i]);
    return 0;
  }
  test_init_device (&argc, &argv);
  g_test_add_func ("/choice/intel-tiles", test_tiles);
  g_test_add_func ("/choice/intel-hpg", test_hpg);
  g_test_add_func ("/choice/intel-few-rows", test_few_rows);
  g_test_add_func ("/choice/batches", test_batches);
  g_test_add_func ("/choice/width", test_width);
  return g_test_run ();
}
