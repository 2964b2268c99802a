/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "results.h"
#include "tool.h"

#define SUFFIX ".safetensors"

static struct {
  gchar *output;
  const gchar *name;
  gboolean transpose;
} options = {.name = "weight"};

static const GOptionEntry entries[] = {
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
     "The file to write, which is replaced; - is the standard output, and the report "
     "then goes to the standard error",
     "FILE.safetensors"},
    {"name", 'n', 0, G_OPTION_ARG_STRING, &options.name,
     "Name of the tensor; its scales are NAME.scale (default: weight)", "NAME"},
    {"transpose", 0, 0, G_OPTION_ARG_NONE, &options.transpose,
     "The matrix is used transposed, N x K, as neural networks store it: a scale for "
     "each row. The file keeps its order",
     NULL},
    {NULL}};

static void
report (const GemmclMatrix *matrix, const GemmclQuantization *done)
{
  const gsize rows = matrix->rows, cols = matrix->cols;
  FILE *out = tool_table_get_output (options.output);

  fprintf (out, "Shape          %zu x %zu\n", rows, cols);
  fprintf (out, "Scales         %zu, one for each %s\n", options.transpose ? rows : cols,
           options.transpose ? "row" : "column");
  fprintf (out, "Largest        %.6g\n", done->largest);
  fprintf (out, "Largest error  %.6g\n", done->max_error);
  fprintf (out, "RMS error      %.6g\n", done->rms_error);
}

static gboolean
run (gchar **arguments, GError **error)
{
  g_autoptr (GemmclMatrix) matrix = NULL, quantized = NULL;
  GemmclQuantization done;

  if (options.output == NULL ||
      (!g_str_equal (options.output, "-") && !g_str_has_suffix (options.output, SUFFIX)))
    return tool_refuse (error,
                        "Expected -o FILE" SUFFIX ", the file for the result, or -o -; found %s.",
                        options.output != NULL ? options.output : "no -o");
  matrix = gemmcl_matrix_load (arguments[0], error);
  if (matrix == NULL)
    return FALSE;
  quantized = gemmcl_matrix_quantize (matrix, options.transpose, &done, error);
  if (quantized == NULL) {
    g_prefix_error (error, "%s: ", arguments[0]);
    return FALSE;
  }
  if (!tool_save_matrix (quantized, options.name, options.output, error))
    return FALSE;
  report (quantized, &done);
  return TRUE;
}

const ToolCommand tool_quantize = {
    .name = "quantize",
    .summary = "Convert weights to int8, with a scale for each column",
    .arguments = "MATRIX -o FILE.safetensors",
    .n_arguments = 1,
    .description =
        "Writes a matrix as int8 with a scale for each column, max |element| / 127, and shows "
        "the largest rounding error, which is at most half a scale. The file is a quarter of "
        "the size of f32, and so is the memory that a product reads.\n\n"
        "FILE.safetensors#NAME is then a matrix like any other: products in int8 (--precision "
        "i8, the element's precision=i8) use it as it is; for others it becomes f32 when it "
        "is loaded. A matrix with NaN or infinities is refused.",
    .groups = {{"Matrix", entries}},
    .examples = {{"gemmcl quantize w.npy -o w.safetensors", "w.npy as w.safetensors#weight"},
                 {"gemmcl quantize model.safetensors#fc1.weight --transpose -n fc1.weight -o "
                  "fc1.safetensors",
                  "A layer of a neural network whose weights are stored [out, in]"}},
    .run = run,
};
