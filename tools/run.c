/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "import/import.h"
#include "results.h"
#include "shared-options.h"

#define DEFAULT_TOP_K 5

static struct {
  gchar *output;
  gchar *addend;
  gchar *beta;
  gchar *bias;
  const gchar *kernel;
  guint top_k; /* 0: the default */
  gchar *rows;
} options = {.kernel = "auto"};

static gboolean
set_top_k (const gchar *option, const gchar *text, G_GNUC_UNUSED gpointer data, GError **error)
{
  guint64 number;

  if (!g_ascii_string_to_unsigned (text, 10, 1, GEMMCL_MAX_TOP_K, &number, NULL))
    return tool_refuse (error, "%s takes 1 to %d, not %s.", option, GEMMCL_MAX_TOP_K, text);
  options.top_k = (guint)number;
  return TRUE;
}

static const GOptionEntry entries[] = {
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
     "The file for D, f32 in NumPy's format, which is replaced; - is the standard output. With "
     "--rows it may be left out",
     "FILE.npy"},
    {"addend", 'c', 0, G_OPTION_ARG_FILENAME, &options.addend,
     "C, M x N or one row of N (default: none)", "MATRIX"},
    {"beta", 0, 0, G_OPTION_ARG_STRING, &options.beta, "Factor of C (default: 1 with a C)",
     "NUMBER"},
    {"bias", 0, 0, G_OPTION_ARG_FILENAME, &options.bias,
     "N numbers, added to each row (default: none)", "MATRIX"},
    TOOL_OPTION_ACTIVATION,
    TOOL_OPTION ("normalize", tool_set_choice,
                 "Rows that are divided by their L2 norms: those of A (input), those of D after "
                 "the activation (output), both (input+output) or none (default: none)",
                 "NAME"),
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernel,
     "The kernel; auto: the library's choice by tuning results and rules; rules: its choice by "
     "rules alone (default: auto)",
     "NAME"},
    {"rows", 'r', 0, G_OPTION_ARG_FILENAME, &options.rows,
     "The file for the row outputs, a row for each row of D; - is the standard output (default: "
     "none)",
     "FILE.npy"},
    TOOL_OPTION ("row-outputs", tool_set_choice,
                 "Row outputs for --rows: any of sum, max, arg-max and top-k, with + between, "
                 "written in this order (default: sum+max+arg-max)",
                 "NAME+..."),
    TOOL_OPTION ("top-k", set_top_k,
                 "Elements of top-k, which their columns follow (default: " G_STRINGIFY (
                     DEFAULT_TOP_K) ", or N if that is less)",
                 "INTEGER"),
    {NULL}};

static gboolean
load (const gchar *where, GemmclMatrix **matrix, GError **error)
{
  *matrix = where != NULL ? gemmcl_matrix_load (where, error) : NULL;
  return where == NULL || *matrix != NULL;
}

/* Products of int8 use the bytes of A as they are. Returns: (transfer full): A, of @gemm's type. */
static GemmclMatrix *
prepare_a (GemmclMatrix *stored, GemmclGemm *gemm, GError **error)
{
  if (gemm->precision != GEMMCL_PRECISION_I8 || stored->column_major || stored->scales != NULL ||
      (stored->type != GEMMCL_TYPE_I8 && stored->type != GEMMCL_TYPE_U8))
    return gemmcl_matrix_to_f32 (stored, FALSE, error);
  gemm->a_type = stored->type;
  return gemmcl_matrix_ref (stored);
}

/* @c, @bias: (nullable) */
static gboolean
describe_problem (GemmclMatrix *a, GemmclMatrix *b, GemmclMatrix *c, GemmclMatrix *bias,
                  GemmclGemm *gemm, GError **error)
{
  const gsize a_rows = a->rows, a_cols = a->cols;

  if (options.top_k > 0 && (gemm->row_outputs & GEMMCL_ROW_TOP_K) == 0)
    return tool_refuse (error, "--top-k is the number of --row-outputs top-k, which is missing.");
  gemm->m = gemm->trans_a ? a_cols : a_rows;
  gemm->k = gemm->trans_a ? a_rows : a_cols;
  gemm->n = gemm->trans_b ? b->rows : b->cols;
  if ((gemm->trans_b ? b->cols : b->rows) != gemm->k && gemm->n == gemm->k)
    return tool_fail (
        error, "B must have K = %zu %s, the %s of A, but is %zu x %zu. %s --transpose-b.", gemm->k,
        gemm->trans_b ? "columns" : "rows", gemm->trans_a ? "rows" : "columns", b->rows, b->cols,
        gemm->trans_b ? "Leave out" : "Add");
  gemm->top_k = options.top_k > 0 ? options.top_k : MIN (DEFAULT_TOP_K, gemm->n);
  gemm->bias = bias != NULL;
  if (c != NULL)
    gemm->addend = gemm->m > 1 && c->rows == 1 ? GEMMCL_ADDEND_ROW : GEMMCL_ADDEND_MATRIX;
  return gemmcl_gemm_validate (gemm, error);
}

/* Returns: (transfer full): memory for @rows x @cols floats, or %NULL. */
static gfloat *
allocate (gsize rows, gsize cols, GError **error)
{
  gfloat *data = g_try_new (gfloat, rows * MAX (cols, 1));

  if (data == NULL)
    tool_fail (error, "There is not enough memory for a result of %zu x %zu.", rows, cols);
  return data;
}

static gboolean
save (const gchar *path, gsize rows, gsize cols, const gfloat *data, GError **error)
{
  g_autoptr (GemmclMatrix) result = gemmcl_matrix_new (GEMMCL_TYPE_F32, rows, cols, data, error);

  return result != NULL && tool_save_matrix (result, NULL, path, error);
}

static gboolean
multiply (GemmclPlan *plan, const GemmclGemm *gemm, GemmclMatrix *a, GError **error)
{
  const guint n_outputs = gemmcl_gemm_count_row_outputs (gemm);
  g_autofree gfloat *data = NULL, *rows = NULL;

  return (gemm->omit_d || (data = allocate (gemm->m, gemm->n, error))) &&
         (n_outputs == 0 || (rows = allocate (gemm->m, n_outputs, error))) &&
         gemmcl_plan_run_host (plan, gemm->alpha, gemm->beta, a->data, data, rows, error) &&
         (gemm->omit_d || save (options.output, gemm->m, gemm->n, data, error)) &&
         (n_outputs == 0 || save (options.rows, gemm->m, n_outputs, rows, error));
}

static gboolean
check_options (GemmclGemm *gemm, GError **error)
{
  if (options.output == NULL && options.rows == NULL)
    return tool_refuse (error, "No output file: give one with -o, or --rows for row outputs.");
  if (g_strcmp0 (options.output, options.rows) == 0)
    return tool_refuse (error, "-o and --rows cannot be the same file.");
  if (options.beta != NULL && !tool_parse_number ("--beta", options.beta, &gemm->beta, error))
    return FALSE;
  if (gemm->row_outputs != 0 && options.rows == NULL)
    return tool_refuse (error, "No file for --row-outputs: give one with --rows.");
  if (options.beta != NULL && options.addend == NULL)
    return tool_refuse (error, "--beta is the factor of C, which is missing: give one with -c.");
  /* With a C and without --beta, beta is 1. */
  if (options.addend != NULL && options.beta == NULL)
    gemm->beta = 1.0;
  /* A file without a choice of row outputs gets three of them. */
  if (options.rows != NULL && gemm->row_outputs == 0)
    gemm->row_outputs = GEMMCL_ROW_SUM | GEMMCL_ROW_MAX | GEMMCL_ROW_ARG_MAX;
  gemm->omit_d = options.output == NULL;
  return TRUE;
}

/* Computes a network for the rows of @input. */
static gboolean
run_network (const gchar *model, GemmclMatrix *input, const gchar *kernel, GError **error)
{
  GemmclGemm gemm = tool_gemm;
  g_autoptr (GemmclMatrix) a = NULL, d = NULL;

  if (options.addend != NULL || options.bias != NULL || options.rows != NULL || options.top_k > 0 ||
      gemm.alpha != 1 || gemm.trans_a || gemm.trans_b ||
      gemm.activation != GEMMCL_ACTIVATION_NONE || gemm.normalize != 0)
    return tool_refuse (error,
                        "%s is a network, which takes -o, --precision, -k and the options "
                        "of devices. MODEL.onnx#NAME is a matrix.",
                        model);
  tool_adopt_precision (&gemm, kernel);
  a = gemmcl_matrix_to_f32 (input, FALSE, error);
  d = a != NULL ? import_compute (model, a, kernel, gemm.precision, error) : NULL;
  return d != NULL && tool_save_matrix (d, NULL, options.output, error);
}

static gboolean
run (gchar **arguments, GError **error)
{
  g_autoptr (GemmclMatrix) stored = NULL, a = NULL, b = NULL, c = NULL, bias = NULL;
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (GemmclPlan) plan = NULL;
  GemmclGemm gemm = tool_gemm;
  g_autofree gchar *lower = g_ascii_strdown (arguments[0], -1);
  const gboolean is_network = g_str_has_suffix (lower, ".onnx");
  const gchar *kernel;

  if (!check_options (&gemm, error) || !load (arguments[is_network], &stored, error) ||
      (kernel = tool_find_kernel (options.kernel, TRUE, error)) == NULL)
    return FALSE;
  if (is_network)
    return run_network (arguments[0], stored, kernel, error);
  tool_adopt_precision (&gemm, kernel);
  if ((a = prepare_a (stored, &gemm, error)) == NULL || !load (arguments[1], &b, error) ||
      !load (options.addend, &c, error) || !load (options.bias, &bias, error) ||
      !describe_problem (a, b, c, bias, &gemm, error) ||
      (context = tool_open_context (error)) == NULL)
    return FALSE;
  plan = gemmcl_plan_new (context, &gemm, kernel, error);
  return plan != NULL && gemmcl_plan_set (plan, GEMMCL_PLAN_B, b, error) &&
         (c == NULL || gemmcl_plan_set (plan, GEMMCL_PLAN_C, c, error)) &&
         (bias == NULL || gemmcl_plan_set (plan, GEMMCL_PLAN_BIAS, bias, error)) &&
         multiply (plan, &gemm, a, error);
}

const ToolCommand tool_run = {
    .name = "run",
    .summary = "Multiply matrices from files, or compute a network",
    .arguments = "A B [-o D.npy] | MODEL.onnx INPUT -o D.npy",
    .n_arguments = 2,
    .description =
        "Multiplies A by B and writes the result D, as f32 in NumPy's format. The inputs may "
        "have any type of number; sums are f32.\n\n"
        "A matrix is {matrix}. NAME is that of a tensor in the file; FILE.npy#bf16 is for bfloat16 "
        "stored as |V2, and FILE.raw has bare numbers, as in x.raw#f32:64x10. "
        "A literal needs quotation marks in a shell.\n\n"
        "MODEL.onnx without #NAME is a network, as gemmcl import takes it. INPUT has a row for "
        "each image, or for each row of the first product, its elements in the model's order: "
        "x.reshape(len(x), -1) in NumPy, or x.reshape(-1, x.shape[-1]) if the first operator is a "
        "product whose input has more than two dimensions. D has the same rows. Top-k is the "
        "values, followed by their columns.",
    .groups = {{"Matrices", entries},
               {"Arithmetic", tool_epilogue_entries},
               {"Device", tool_device_entries}},
    .examples =
        {{"gemmcl run a.npy b.npy -o d.npy", "D = A B"},
         {"gemmcl run x.npy model.safetensors#fc1.weight --transpose-b --bias "
          "model.safetensors#fc1.bias --activation relu -o y.npy",
          "A layer of a neural network whose weights are stored [out, in]"},
         {"gemmcl run a.npy b.npy -c c.npy --alpha 0.5 --beta 2 -o d.npy", "D = 0.5 A B + 2 C"},
         {"gemmcl run x.npy classes.npy -o scores.npy -r best.npy --row-outputs max+arg-max",
          "A classifier: the scores, and of each row the best one and its class"},
         {"gemmcl run x.npy gallery.npy --transpose-b --normalize input -r best.npy --row-outputs "
          "top-k",
          "Cosine search: the five vectors of a gallery that are nearest to each row of A, without "
          "all cosines"}},
    .run = run,
};
