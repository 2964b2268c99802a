/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gemmcl import: an ONNX model as a pipeline, or computed at once. */
#include "import/import.h"

#include "tool.h"

static struct {
  gchar *folder;
} options;

static const GOptionEntry entries[] = {
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.folder,
     "The folder for MODEL.safetensors, which is replaced: the weights of convolutions, and of "
     "products behind an image or with a normalization",
     "FOLDER"},
    {NULL}};

#ifdef HAVE_ONNX
  #include "gemmcl.h"
  #include "import/network.h"

/* Builds the first output that a chain computes. Without one, fails with the error of the first. */
static gboolean
build (Network *network, const Model *model, GError **error)
{
  g_autoptr (GError) first = NULL;

  if (model->graph->n_output == 0)
    return tool_fail (error, "%s: expected an output, found none.", model->path);
  for (gsize i = 0; i < model->graph->n_output; i++) {
    const OnnxValueInfo *output = model->graph->output[i];

    network_init (network, model);
    if (network_build (network, output, first == NULL ? &first : NULL)) {
      g_autofree gchar *name = gemmcl_quote (output->name);

      if (model->graph->n_output > 1)
        g_printerr ("gemmcl computes the output “%s”, one of %zu.\n", name, model->graph->n_output);
      return TRUE;
    }
    network_clear (network);
  }
  g_propagate_error (error, g_steal_pointer (&first));
  return FALSE;
}

static gboolean
run (gchar **arguments, GError **error)
{
  g_auto (Model) model = {0};
  g_auto (Network) network = {0};

  return model_read (&model, arguments[0], error) && build (&network, &model, error) &&
         network_print (&network, options.folder, error);
}

GemmclMatrix *
import_compute (const gchar *path, const GemmclMatrix *input, const gchar *kernel,
                GemmclPrecision precision, GError **error)
{
  g_auto (Model) model = {0};
  g_auto (Network) network = {0};

  if (!model_read (&model, path, error) || !build (&network, &model, error))
    return NULL;
  return network_compute (&network, input, kernel, precision, error);
}

#else

GemmclMatrix *
import_compute (G_GNUC_UNUSED const gchar *path, G_GNUC_UNUSED const GemmclMatrix *input,
                G_GNUC_UNUSED const gchar *kernel, G_GNUC_UNUSED GemmclPrecision precision,
                GError **error)
{
  tool_fail (error, "This build of gemmcl reads no ONNX models, since it was built without "
                    "protobuf-c.");
  return NULL;
}

static gboolean
run (gchar **arguments, GError **error)
{
  return import_compute (arguments[0], NULL, NULL, GEMMCL_PRECISION_F32, error) != NULL;
}

#endif

const ToolCommand tool_import = {
    .name = "import",
    .summary = "Print an ONNX model as a gst-launch line",
    .arguments = "MODEL.onnx [-o FOLDER]",
    .n_arguments = 1,
    .description =
        "Prints the gst-launch line of a network: a chain of Gemm, MatMul and Conv, in which each "
        "becomes a gemmcl element, with what follows: Add, BatchNormalization, an activation, "
        "pooling, and behind the last one ArgMax or TopK. Add, Sub, Mul and Div of the input by "
        "constants, Scaler and BatchNormalization become its scale and offset. Flatten, Reshape, "
        "Squeeze and Transpose may only rename the axes of images. Identity, Dropout and casts to "
        "float or double are left out. "
        "Any other operator is refused by its name and its node's, as is an attribute that gemmcl "
        "cannot honour. If the model has several outputs, the line computes the first one that "
        "such a chain ends in.\n\n"
        "Weights are read from the model. Those of convolutions, of products behind an image and "
        "of normalized layers are in another order or multiplied, in float64: -o names the folder "
        "for their file.\n\n"
        "A model of images with 1 or 3 channels reads frames, GRAY8 or RGB, from input.u8, whose "
        "rows are multiples of 4 bytes. Any other reads float32 from input.f32, images in the "
        "order NHWC. The line writes the result to output.f32; replace both ends by your own "
        "elements.",
    .groups = {{"Result", entries}},
    .examples = {{"gemmcl import mlp.onnx", "A multilayer perceptron as a pipeline"},
                 {"gemmcl import lenet.onnx -o lenet/",
                  "A network with convolutions, whose weights are in lenet/lenet.safetensors"}},
    .run = run,
};
