/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"
#include "gemmcl.h"

/*
 * A problem with its matrices, for tests. Elements are random. Gaps and a guard after each matrix
 * are NaN, or the largest number of an integer type, so that reading them gives a wrong result.
 *
 * c and bias are NULL if the problem has none.
 */
typedef struct {
  GemmclGemm gemm;
  gsize n_a, n_b, n_c, n_d; /* number of elements, with offset, gaps and guard */
  gpointer a;
  gfloat *b;
  gfloat *c;
  gfloat *bias;
  gpointer d_before;
  gpointer d;
  gboolean emulates; /* subgroups, in the last run by a plan */
} Problem;

void problem_init (Problem *problem, const GemmclGemm *gemm, guint32 seed);
void problem_clear (Problem *problem);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Problem, problem_clear)

/* Fills problem->d by gemmcl_gemm_run(). */
gboolean problem_run_host (Problem *problem, GemmclContext *context, const gchar *kernel,
                           GError **error);

/* Fills it by gemmcl_plan_submit() on device buffers that are exactly as large as the arrays. */
gboolean problem_run_device (Problem *problem, GemmclContext *context, const gchar *kernel,
                             GError **error);

/*
 * Compares problem->d with a reference that shares no code with the library, for problems without
 * C, bias and activation, and checks that nothing was written between its elements. Returns: FALSE
 * after failing the test with a message that names the first wrong element.
 */
gboolean problem_check (const Problem *problem, const gchar *what);

/* Returns: TRUE on PoCL 6.0, which compiles some kernels with barriers in loops to wrong code, at
 * random (of xmx_i8_16x4_4x16 4 compilations of 16), or ends the process over them. Emulated
 * subgroups have such loops: their rows are not tested there, and a wrong result of theirs skips
 * the test. */
gboolean test_miscompiles_barriers (void);

#define TEST_MISCOMPILED "PoCL 6.0 compiles barriers in loops to wrong code, at random"

/* The context that all tests of a program share; %NULL, with the test skipped, without a device. */
GemmclContext *test_get_context (void);

/* Calls g_test_init() for a program that needs a device. Without one the program ends, skipped. */
void test_init_device (int *argc, char ***argv);

/* Returns: (transfer full): memory of the device with a copy of @data (nullable). */
cl_mem test_create_buffer (gsize size, gconstpointer data);

/* Waits for all commands in the context's queue, and copies @buffer to @data. */
void test_read_buffer (cl_mem buffer, gsize size, gpointer data);

/* Returns: (transfer full): a plan. @b: (nullable): its B, without gaps, row by row. */
GemmclPlan *test_make_plan (const GemmclGemm *gemm, const gchar *kernel, const gfloat *b);

/* Returns: (transfer full): a matrix of f32 whose elements are all @value. */
GemmclMatrix *test_make_filled (gsize rows, gsize cols, gfloat value);

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)
