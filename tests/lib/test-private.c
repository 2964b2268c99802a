/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tests of internal functions, for features that the device of the tests lacks: subgroups of the
 * KHR extension, PTX for sm_90a, and the proof of kernels for sm_90a (lib/plan/choose.c). For the
 * proof the device reports itself as such a GPU, and runs a kernel that writes a right or a wrong
 * D. */
#include <string.h>

#include "device/program.h"
#include "kernels/subgroups.h"
#include "plan/choose.h"

/* On a device that can shuffle, kernels with subgroups have the level khr. */
static void
test_khr (void)
{
  const GemmclDeviceInfo device = {
      .platform = (gchar *)"Imagined",
      .version = (gchar *)"OpenCL 3.0 imagined",
      .extensions = (gchar *)"cl_khr_integer_dot_product cl_khr_subgroup_shuffle",
      .type = GEMMCL_DEVICE_TYPE_GPU};

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *row = gemmcl_kernel_get (i);

    g_assert_cmpuint (gemmcl_subgroups_get_level (row, &device, GEMMCL_KERNEL_LEVEL_NATIVE), ==,
                      row->family >= GEMMCL_FAMILY_ASYNC_COPY ? GEMMCL_KERNEL_LEVEL_EMULATED
                      : row->subgroup > 0                     ? GEMMCL_KERNEL_LEVEL_KHR
                                                              : GEMMCL_KERNEL_LEVEL_NATIVE);
  }
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
      "//\n.version 9.0\n.target sm_90, x\n.target sm_90, x\n//@wgmma.a;\n"};
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

/* OpenCL C: the sum of an element of D, for the matrices of the proof, and a wrong last element. */
#define SUM                                                                                        \
  "float sum = 0;"                                                                                 \
  "for (int k = 0; k < K; k++)"                                                                    \
  "  sum += (i == k ? 255 : (i * K + k) * 7919 % 1009 % 17 + 1) *"                                 \
  "         (k == j ? 127 : (k * N + j) * 7919 % 1009 % 17 - 8);"
#define WRONG(value) "sum = i == 129 && j == 261 ? " value " : sum;"

static const gchar *wrong; /* "" for a right D */
static guint n_built;      /* the number of pretended kernels */

cl_kernel __real_gemmcl_context_create_kernel (GemmclContext *self, const gchar *source,
                                               const gchar *options, const gchar *function,
                                               GError **error);
cl_kernel __wrap_gemmcl_context_create_kernel (GemmclContext *self, const gchar *source,
                                               const gchar *options, const gchar *function,
                                               GError **error);

/* Builds the kernel that stands for one of sm_90a. */
static cl_kernel
build_pretended (GemmclContext *context)
{
  g_autofree gchar *text = g_strconcat (
      "typedef struct { long strides[16]; int M, N, K; int others[6]; } Problem;"
      "kernel void gemm (global float *a, global float *b, global float *c, global float *bias,"
      "                  global float *d, Problem p)"
      "{"
      "  const int id = get_group_id (0) + get_group_id (1) * get_num_groups (0);"
      "  const int n = get_num_groups (0) * get_num_groups (1), N = p.N, K = p.K;"
      "  for (int at = id; get_local_id (0) == 0 && at < p.M * N; at += n) {"
      "    const int i = at / N, j = at % N;",
      SUM, wrong, "    d[at] = sum; } }", NULL);
  const gchar *texts[] = {text};
  g_auto (cl_program) program =
      clCreateProgramWithSource (gemmcl_context_get_cl_context (context), 1, texts, NULL, NULL);

  g_assert_cmpint (clBuildProgram (program, 0, NULL, "", NULL, NULL), ==, CL_SUCCESS);
  n_built++;
  return clCreateKernel (program, "gemm", NULL);
}

/* The linker calls this in place of gemmcl_context_create_kernel(). */
cl_kernel
__wrap_gemmcl_context_create_kernel (GemmclContext *self, const gchar *source, const gchar *options,
                                     const gchar *function, GError **error)
{
  if (strstr (options, "-DMMA_PTX") == NULL)
    return __real_gemmcl_context_create_kernel (self, source, options, function, error);
  if (strstr (options, GEMMCL_SM_90A) != NULL)
    return build_pretended (self);
  gemmcl_fail (error, GEMMCL_ERROR_BUILD, "This device has no PTX.");
  return NULL;
}

static GemmclContext *
make_context (void)
{
  g_autoptr (GError) error = NULL;
  GemmclContext *context = gemmcl_context_new (NULL, &error);
  GemmclDeviceInfo *info;

  if (context == NULL) {
    g_test_skip (error->message);
    return NULL;
  }
  info = (GemmclDeviceInfo *)gemmcl_context_get_device_info (context);
  g_free (info->platform);
  info->platform = g_strdup ("NVIDIA CUDA");
  /* The outcomes of proofs are cached for each driver, and each test needs its own. */
  g_free (info->driver);
  info->driver = g_uuid_string_random ();
  info->type = GEMMCL_DEVICE_TYPE_GPU;
  info->intel = FALSE;
  info->nvidia_capability = 90;
  return context;
}

typedef struct {
  const gchar *path, *wrong, *kernel;
} Proof;

/* The rules choose a kernel of sm_90a if such kernels are right. A caller who names one gets it
 * only then. */
static void
test_proof (gconstpointer data)
{
  const Proof *self = data;
  const gboolean is_right = *self->wrong == '\0', by_rules = g_str_equal (self->kernel, "rules");
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GemmclKernelPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return;
  wrong = self->wrong;
  n_built = 0;
  gemm.m = gemm.n = gemm.k = by_rules ? 1024 : 64;
  gemm.precision = GEMMCL_PRECISION_BF16;
  plan = gemmcl_kernel_plan_new (context, &gemm, self->kernel, &error);
  g_assert_cmpuint (n_built, >, 0);
  if (is_right || by_rules) {
    g_assert_no_error (error);
    g_assert_true ((plan->kernel->family == GEMMCL_FAMILY_WGMMA) == is_right);
  } else {
    g_assert_null (plan);
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD);
  }
}

int
main (int argc, char **argv)
{
  static const Proof proofs[] = {{"/proof/right", "", "rules"},
                                 {"/proof/number", WRONG ("sum + 1"), "rules"},
                                 {"/proof/nan", WRONG ("NAN"), "rules"},
                                 {"/proof/infinity", WRONG ("INFINITY"), "rules"},
                                 {"/proof/named/right", "", "wgmma_bf16_2x32_32x4"},
                                 {"/proof/named/wrong", WRONG ("sum + 1"), "wgmma_bf16_2x32_32x4"}};

  g_test_init (&argc, &argv, NULL);
  /* The user's GEMMCL_SUBGROUPS does not apply to these tests. */
  g_unsetenv ("GEMMCL_SUBGROUPS");
  g_test_add_func ("/subgroups/khr", test_khr);
  g_test_add_func ("/subgroups/retarget", test_retarget);
  for (guint i = 0; i < G_N_ELEMENTS (proofs); i++)
    g_test_add_data_func (proofs[i].path, &proofs[i], test_proof);
  return g_test_run ();
}
