/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "examples.h"

#include <string.h>
#include <unistd.h>

#include "../kernels/elements.h"
#include "../kernels/problem.h"

/* Compares the functions of engines.cl with examples in the extensions' texts. */

gboolean
native_has_engines (void)
{
  GemmclContext *context = test_get_context ();

  if (context == NULL)
    return FALSE;
  if (gemmcl_device_info_has_extension (gemmcl_context_get_device_info (context),
                                        "cl_intel_subgroup_matrix_multiply_accumulate"))
    return TRUE;
  g_test_skip ("this is not Intel's OpenCL runtime for CPUs: tools/intel-runtime.sh runs it");
  return FALSE;
}

guint
native_get_subgroup (void)
{
  return g_strcmp0 (g_getenv ("GEMMCL_NATIVE"), "8") == 0 ? 8 : 16;
}

int
native_begin_output (FILE *file)
{
  const int saved = dup (STDOUT_FILENO);

  fflush (stdout);
  dup2 (fileno (file), STDOUT_FILENO);
  return saved;
}

gchar *
native_end_output (FILE *file, int saved)
{
  gchar text[1 << 16] = "", *at;

  fflush (stdout);
  dup2 (saved, STDOUT_FILENO);
  close (saved);
  rewind (file);
  text[fread (text, 1, sizeof text - 1, file)] = '\0';
  fclose (file);
  at = strstr (text, "BREACH");
  return at ? g_strndup (at, strcspn (at, "\n")) : g_strdup ("");
}

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_program, clReleaseProgram, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_kernel, clReleaseKernel, NULL)

/* Returns: (transfer full): the kernel "example" of @text. */
static cl_kernel
build_example (const gchar *text, const gchar *options)
{
  cl_device_id device = gemmcl_context_get_cl_device (test_get_context ());
  cl_int status;
  g_auto (cl_program) program = clCreateProgramWithSource (
      gemmcl_context_get_cl_context (test_get_context ()), 1, &text, NULL, &status);
  gchar log[4096] = "";
  cl_kernel kernel;

  g_assert_cmpint (status, ==, CL_SUCCESS);
  status = clBuildProgram (program, 1, &device, options, NULL, NULL);
  clGetProgramBuildInfo (program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
  if (status != CL_SUCCESS)
    g_test_message ("%s", log);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  kernel = clCreateKernel (program, "example", &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  return kernel;
}

/* Runs @kernel with one subgroup and reads @result to @data. Returns: (transfer full): the first
 * reported breach; "" without one. */
static gchar *
run_example (cl_kernel kernel, cl_mem result, gpointer data, gsize size)
{
  cl_command_queue queue = gemmcl_context_get_cl_queue (test_get_context ());
  const gsize subgroup = native_get_subgroup ();
  FILE *file = tmpfile ();
  int saved;

  g_assert_nonnull (file);
  saved = native_begin_output (file);
  g_assert_cmpint (
      clEnqueueNDRangeKernel (queue, kernel, 1, NULL, &subgroup, &subgroup, 0, NULL, NULL), ==,
      CL_SUCCESS);
  test_read_buffer (result, size, data);
  return native_end_output (file, saved);
}

/**
 * Example: a function that multiplies. By the texts, the words of row after row of A, of lane after
 * lane, are A by rows.
 * @type: the type of the elements of A and B
 * @vector: the OpenCL C type of a lane's words of A
 */
typedef struct {
  const gchar *function;
  guint subgroup, k;
  GemmclType type;
  const gchar *vector;
} Example;

#define BF16 "intel_sub_group_bf16_bf16_matrix_mad_k16"
#define F16  "intel_sub_group_f16_f16_matrix_mad_k16"
#define U8   "intel_sub_group_u8_i8_matrix_mad_k32"
#define I8   "intel_sub_group_i8_i8_matrix_mad_k32"
#define TF32 "intel_sub_group_tf32_tf32_matrix_mad_k8"

static const Example examples[] = {
    {BF16, 8, 16, GEMMCL_TYPE_BF16, "int"},    {F16, 8, 16, GEMMCL_TYPE_F16, "int"},
    {U8, 8, 32, GEMMCL_TYPE_U8, "uint"},       {I8, 8, 32, GEMMCL_TYPE_I8, "int"},
    {BF16, 16, 16, GEMMCL_TYPE_BF16, "short"}, {F16, 16, 16, GEMMCL_TYPE_F16, "short"},
    {U8, 16, 32, GEMMCL_TYPE_U8, "ushort"},    {I8, 16, 32, GEMMCL_TYPE_I8, "short"},
    {TF32, 16, 8, GEMMCL_TYPE_F32, "float"},
};

static const gchar mad_text[] =
    "/* cl_intel_subgroup_matrix_multiply_accumulate */\n"
    "#define PASTE2(a, b) a##b\n"
    "#define PASTE(a, b) PASTE2 (a, b)\n"
    "__attribute__ ((intel_reqd_sub_group_size (SUBGROUP), reqd_work_group_size (SUBGROUP, 1, "
    "1)))\n"
    "kernel void example (global const VECTOR *a, global const B_VECTOR *b, global SUM *sum)\n"
    "{\n"
    "  const int lane = get_sub_group_local_id ();\n"
    "  VECTOR rows[A_WORDS];\n"
    "  B_VECTOR column[8];\n"
    "  SUM sums[8];\n"
    "  for (int i = 0; i < A_WORDS; i++)\n"
    "    rows[i] = a[i * SUBGROUP + lane];\n"
    "  for (int i = 0; i < 8; i++) {\n"
    "    column[i] = b[i * SUBGROUP + lane];\n"
    "    sums[i] = sum[i * SUBGROUP + lane];\n"
    "  }\n"
    "  vstore8 (FUNCTION (PASTE (vload, A_WORDS) (0, rows), vload8 (0, column), vload8 (0, "
    "sums)),\n"
    "           0, sums);\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    sum[i * SUBGROUP + lane] = sums[i];\n"
    "}\n";

static gdouble
get_a (const Example *example, guint row, guint k)
{
  return k + 1 + (example->type == GEMMCL_TYPE_I8 ? -10.0 : 10.0) * row;
}

static gdouble
get_b (guint k, guint column)
{
  return (gint)(3 * k + 5 * column) % 7 - 3;
}

static gdouble
get_acc (guint row, guint column)
{
  return 100.0 * row + column;
}

static gboolean
is_integer (const Example *example)
{
  return element_is_integer (example->type);
}

static void
pack_b (const Example *example, guint32 *words)
{
  const gsize per_word = 4 / gemmcl_type_get_size (example->type);
  const GemmclType type = example->type == GEMMCL_TYPE_U8 ? GEMMCL_TYPE_I8 : example->type;

  for (guint k = 0; k < example->k; k++)
    for (guint j = 0; j < example->subgroup; j++)
      element_set (type, words + k / per_word * example->subgroup + j, k % per_word, get_b (k, j));
}

static gchar *
make_options (const Example *example)
{
  return g_strdup_printf ("-cl-std=CL2.0 -DSUBGROUP=%u -DVECTOR=%s -DB_VECTOR=%s -DSUM=%s "
                          "-DA_WORDS=%d -DFUNCTION=%s",
                          example->subgroup, example->vector,
                          example->type == GEMMCL_TYPE_F32 ? "float" : "int",
                          is_integer (example) ? "int" : "float",
                          example->type == GEMMCL_TYPE_F32 ? 4 : 8, example->function);
}

static void
check_sums (const Example *example, const guint32 *sums)
{
  for (guint i = 0; i < 8; i++)
    for (guint j = 0; j < example->subgroup; j++) {
      gdouble expected = get_acc (i, j);

      for (guint k = 0; k < example->k; k++)
        expected += get_a (example, i, k) * get_b (k, j);
      g_assert_cmpfloat (element_get (is_integer (example) ? GEMMCL_TYPE_I32 : GEMMCL_TYPE_F32,
                                      sums, i * example->subgroup + j),
                         ==, expected);
    }
}

static void
test_example (gconstpointer data)
{
  const Example *example = data;
  guchar a[8 * 16 * 4] = {0};
  guint32 b[8 * 16] = {0}, sums[8 * 16] = {0};
  g_autofree gchar *options = make_options (example), *said = NULL;
  g_auto (cl_kernel) kernel = NULL;
  g_auto (cl_mem) buffer_a = NULL, buffer_b = NULL, buffer_sum = NULL;

  if (!native_has_engines ())
    return;
  for (guint i = 0; i < 8; i++)
    for (guint k = 0; k < example->k; k++)
      element_set (example->type, a, i * example->k + k, get_a (example, i, k));
  pack_b (example, b);
  for (guint i = 0; i < 8; i++)
    for (guint j = 0; j < example->subgroup; j++)
      element_set (is_integer (example) ? GEMMCL_TYPE_I32 : GEMMCL_TYPE_F32, sums,
                   i * example->subgroup + j, get_acc (i, j));
  kernel = build_example (mad_text, options);
  buffer_a = test_create_buffer (sizeof a, a);
  buffer_b = test_create_buffer (sizeof b, b);
  buffer_sum = test_create_buffer (sizeof sums, sums);
  clSetKernelArg (kernel, 0, sizeof (cl_mem), &buffer_a);
  clSetKernelArg (kernel, 1, sizeof (cl_mem), &buffer_b);
  clSetKernelArg (kernel, 2, sizeof (cl_mem), &buffer_sum);
  said = run_example (kernel, buffer_sum, sums, sizeof sums);
  g_assert_cmpstr (said, ==, "");
  check_sums (example, sums);
}

/* A matrix of 40 x 5 elements with gaps after its rows. */
#define WIDTH  40
#define HEIGHT 5
#define PITCH  48

static const gchar read_text[] =
    "/* cl_intel_subgroup_2d_block_io */\n"
    "__attribute__ ((intel_reqd_sub_group_size (16), reqd_work_group_size (16, 1, 1)))\n"
    "kernel void example (global ELEMENT *from, const int x, const int y, global ELEMENT *to)\n"
    "{\n"
    "  ELEMENT column[8];\n"
    "  FUNCTION (from, WIDTH * sizeof (ELEMENT), HEIGHT, PITCH * sizeof (ELEMENT),\n"
    "            (int2)(x, y), column);\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    to[i * 16 + get_sub_group_local_id ()] = column[i];\n"
    "}\n";

/* A read of eight rows of 16 columns; with @halves of two blocks of 8 columns side by side. */
typedef struct {
  const gchar *function, *element;
  GemmclType type;
  gboolean halves;
} Read;

static const Read reads[] = {
    {"intel_sub_group_2d_block_read_32b_8r16x1c", "uint", GEMMCL_TYPE_U32, FALSE},
    {"intel_sub_group_2d_block_read_16b_8r16x1c", "ushort", GEMMCL_TYPE_U16, FALSE},
    {"intel_sub_group_2d_block_read_32b_8r8x2c", "uint", GEMMCL_TYPE_U32, TRUE},
};

/* Returns: (transfer full): the first reported breach; "" without one. */
static gchar *
run_read (const Read *read, gint x, gint y, guint32 found[8 * 16])
{
  guint32 matrix[PITCH * HEIGHT] = {0};
  g_autofree gchar *options =
      g_strdup_printf ("-cl-std=CL2.0 -DELEMENT=%s -DFUNCTION=%s -DWIDTH=%d -DHEIGHT=%d -DPITCH=%d",
                       read->element, read->function, WIDTH, HEIGHT, PITCH);
  g_auto (cl_kernel) kernel = build_example (read_text, options);
  g_auto (cl_mem) from = NULL, to = NULL;
  const cl_int place[] = {x, y};

  for (guint i = 0; i < PITCH * HEIGHT; i++)
    element_set (read->type, matrix, i, 1000 + i);
  from = test_create_buffer (sizeof matrix, matrix);
  to = test_create_buffer (8 * 16 * sizeof *found, found);
  clSetKernelArg (kernel, 0, sizeof (cl_mem), &from);
  clSetKernelArg (kernel, 1, sizeof (cl_int), &place[0]);
  clSetKernelArg (kernel, 2, sizeof (cl_int), &place[1]);
  clSetKernelArg (kernel, 3, sizeof (cl_mem), &to);
  return run_example (kernel, to, found, 8 * 16 * sizeof *found);
}

static void
check_read (const Read *read, gint x, gint y)
{
  guint32 found[8 * 16] = {0};
  g_autofree gchar *said = run_read (read, x, y, found);

  g_assert_cmpstr (said, ==, "");
  for (gint i = 0; i < 8; i++)
    for (gint lane = 0; lane < 16; lane++) {
      const gint column = x + (read->halves ? i / 4 * 8 + lane % 8 : lane);
      const gint row = y + (read->halves ? i % 4 * 2 + lane / 8 : i);
      const gboolean inside = column >= 0 && column < WIDTH && row >= 0 && row < HEIGHT;

      g_assert_cmpfloat (element_get (read->type, found, i * 16 + lane), ==,
                         inside ? 1000 + row * PITCH + column : 0);
    }
}

static void
test_read (gconstpointer data)
{
  if (!native_has_engines ())
    return;
  check_read (data, 0, 0);
  check_read (data, 30, 2);
  check_read (data, -2, -1);
  check_read (data, 4, 100);
}

/* A read that the extension does not define is reported. */
static void
test_breach (void)
{
  guint32 found[8 * 16] = {0};
  g_autofree gchar *said = NULL;

  if (!native_has_engines ())
    return;
  said = run_read (&reads[1], 1, 0, found);
  g_assert_cmpstr (said, ==, "BREACH: 2D block: the column's address is no multiple of 4");
}

void
native_add_examples (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++) {
    g_autofree gchar *path = g_strdup_printf ("/native/example/%s", examples[i].function);

    if (examples[i].subgroup == native_get_subgroup ())
      g_test_add_data_func (path, &examples[i], test_example);
  }
  if (native_get_subgroup () != 16)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (reads); i++) {
    g_autofree gchar *path = g_strdup_printf ("/native/read/%s", reads[i].function);

    g_test_add_data_func (path, &reads[i], test_read);
  }
  g_test_add_func ("/native/breach", test_breach);
}
