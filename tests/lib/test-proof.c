/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The proof of kernels for sm_90a (lib/plan/choose.c). The tests' device pretends to be a GPU of
 * that target. In place of such a kernel it runs one that writes a right or a wrong D. */
#include <string.h>

#include "device/program.h"
#include "plan/choose.h"

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

/* Makes the plan of a product of bf16 whose M, N and K are @size. @element: the value of `wrong` */
static GemmclKernelPlan *
make_plan (GemmclContext *context, const gchar *element, gsize size, const gchar *kernel,
           GError **error)
{
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  wrong = element;
  n_built = 0;
  gemm.m = gemm.n = gemm.k = size;
  gemm.precision = GEMMCL_PRECISION_BF16;
  return gemmcl_kernel_plan_new (context, &gemm, kernel, error);
}

/* The rules choose a kernel of sm_90a if such kernels are right. */
static void
test_choice (gconstpointer element)
{
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GemmclKernelPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return;
  plan = make_plan (context, element, 1024, "rules", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_built, >, 0);
  g_assert_true ((plan->kernel->family == GEMMCL_FAMILY_WGMMA) == (*wrong == '\0'));
}

/* A caller who names a kernel of sm_90a gets it only if it is right. */
static void
test_named (gconstpointer element)
{
  g_autoptr (GemmclContext) context = make_context ();
  g_autoptr (GemmclKernelPlan) plan = NULL;
  g_autoptr (GError) error = NULL;

  if (context == NULL)
    return;
  plan = make_plan (context, element, 64, "wgmma_bf16_2x32_32x4", &error);
  if (*wrong == '\0')
    g_assert_no_error (error);
  else
    g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_BUILD);
  g_assert_true ((plan != NULL) == (*wrong == '\0'));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/proof/right", "", test_choice);
  g_test_add_data_func ("/proof/number", WRONG ("sum + 1"), test_choice);
  g_test_add_data_func ("/proof/nan", WRONG ("NAN"), test_choice);
  g_test_add_data_func ("/proof/infinity", WRONG ("INFINITY"), test_choice);
  g_test_add_data_func ("/proof/named/right", "", test_named);
  g_test_add_data_func ("/proof/named/wrong", WRONG ("sum + 1"), test_named);
  return g_test_run ();
}
