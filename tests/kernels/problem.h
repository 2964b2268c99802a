/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-opencl.h"
#include "gemmcl.h"

/*
 * A problem with its matrices, for tests: random elements; NaN, or the largest number of an integer
 * type, everywhere else, so that what is read from a gap shows; and a guard behind each matrix.
 *
 * c, bias and rows are NULL where the problem has none; rows are filled by problem_run_device ().
 */
typedef struct {
  GemmclGemm gemm;
  gsize n_a, n_b, n_c, n_d; /* elements, with offset, gaps and guard */
  gpointer a;
  gfloat *b;
  gfloat *c;
  gfloat *bias;
  gpointer d_before;
  gpointer d;
  gfloat *rows; /* the row outputs of all batches */
} Problem;

void problem_init (Problem *problem, const GemmclGemm *gemm, guint32 seed);
void problem_clear (Problem *problem);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Problem, problem_clear)

/* Where an element lies: of op(A), op(B), C or D. */
gsize problem_a_index (const Problem *problem, gsize batch, gsize i, gsize k);
gsize problem_b_index (const Problem *problem, gsize batch, gsize k, gsize j);
gsize problem_c_index (const Problem *problem, gsize batch, gsize i, gsize j);
gsize problem_d_index (const Problem *problem, gsize batch, gsize i, gsize j);

/* Returns: how many row outputs there are, of all batches. */
gsize problem_count_rows (const GemmclGemm *gemm);

/* Fills problem->d by gemmcl_gemm_run(). */
gboolean problem_run_host (Problem *problem, GemmclContext *context, const gchar *kernel,
                           GError **error);

/* The same by gemmcl_plan_submit() on device buffers that are exactly as large as the arrays. */
gboolean problem_run_device (Problem *problem, GemmclContext *context, const gchar *kernel,
                             GError **error);

/* The same by gemmcl_plan_run(), for a problem that needs no B or C of its own for each batch. */
gboolean problem_run_plan (Problem *problem, GemmclContext *context, const gchar *kernel,
                           GError **error);

/*
 * Whether problem->d is right, by a reference that shares no code with the library, and untouched
 * between its elements. If not, fails the test with a message that says where, once.
 */
gboolean problem_check (const Problem *problem, const gchar *what);

/* Whether problem->rows are right, by what problem->d holds. If not, as above. */
gboolean problem_check_rows (const Problem *problem, const gchar *what);

/* The same of the first @m rows of the first @batch problems. */
gboolean problem_check_some_rows (const Problem *problem, gsize m, gsize batch, const gchar *what);

/* The library's own check, for f32 D. Fails the test if it says no. */
gboolean problem_verify (const Problem *problem, const gchar *what);

/* Returns: (transfer full): what the problem is, for messages. */
gchar *problem_describe (const GemmclGemm *gemm);

/* The context that all tests of a program share; %NULL, with the test skipped, without a device. */
GemmclContext *test_get_context (void);

/* g_test_init() for a program that needs a device: ends it, skipped, where there is none. */
void test_init_device (int *argc, char ***argv);

/* Memory of the device with a copy of @data (nullable). */
cl_mem test_create_buffer (gsize size, gconstpointer data);

/* Waits for what is enqueued in the context's queue, and copies. */
void test_read_buffer (cl_mem buffer, gsize size, gpointer data);

/* A plan with a B that lies row by row, as large as op(B) or its transpose; none if %NULL. */
GemmclPlan *test_make_plan (const GemmclGemm *gemm, const gchar *kernel, const gfloat *b);

/* A matrix of f32 with the same number everywhere. */
GemmclMatrix *test_make_filled (gsize rows, gsize cols, gfloat value);

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)

/* The reference of all activations but softmax, by their formulas in gemmcl-gemm.h. */
gdouble test_activate (GemmclActivation activation, gdouble x);
