/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A model as a list of layers. A layer is a node that multiplies by an initializer, with the nodes
 * behind it that one gemmcl element computes along with it:
 *
 *     input -> [scale, offset] -> Gemm, MatMul or Conv -> [Add, BatchNormalization] -> [activation]
 *           -> [pooling] -> Gemm, MatMul or Conv -> ... -> [ArgMax or TopK] -> output
 *
 * Images are NHWC in gemmcl, whatever they are in the model. */
#pragma once

#include "gemmcl.h"
#include "import/model.h"

typedef enum {
  FORM_ROWS, /* rows of the last axis; so is NHWC */
  FORM_NCHW, /* an image whose channels the model has before its rows and columns */
  FORM_FLAT, /* a row that is an image */
} Form;

/** Image: @channels: 0: the value is no image. */
typedef struct {
  gint64 channels, height, width;
} Image;

/** Value: the value of the node before. @rank: its dimensions, or 0 if they are unknown; @dims: the
 * four of an image before it is known to be one, -1 where dynamic; @is_nchw: a FORM_FLAT had its
 * channels outside; @is_reshaped: its rows are no longer those of the last layer;
 * @is_row_output: it is one of the last layer's row outputs. */
typedef struct {
  Form form;
  Image image;
  gint64 rank, dims[4];
  gboolean is_nchw, is_reshaped, is_row_output;
} Value;

/** Layer: @product, @sum: the nodes whose input @weight or @bias is an initializer; @b: K x N, @c:
 * N: their values where these are no longer those of the model. */
typedef struct {
  const OnnxNode *product, *sum;
  gsize bias;
  gsize k, n;
  gboolean transposed;
  gdouble alpha, beta;
  gdouble *b, *c;
  const gchar *mode;
  gint64 patch_width, patch_height, stride, padding, dilation;
  gchar *activation;
  const gchar *pool;
  gint64 pool_size[2], pool_stride[2];
  const gchar *row_output;
  gint64 top_k;
} Layer;

/** Network: @layers: (element-type Layer); @input: that of the model, if it is an image; @is_video:
 * the model's input has four dimensions, 1 or 3 of them channels; @scale, @offset: of the input,
 * one number or @n_scales; @columns: of a model's input of two dimensions, -1: not known. */
typedef struct {
  const Model *model;
  GPtrArray *layers;
  Value value;
  Image input;
  gint64 input_rank, columns, k;
  gboolean is_video, is_input_nchw;
  gdouble *scale, *offset;
  gsize n_scales;
} Network;

void network_init (Network *self, const Model *model);
void network_clear (Network *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Network, network_clear)

/** network_build: Finds the nodes between an input of the model and @output, and makes layers of
 * them. */
gboolean network_build (Network *self, const OnnxValueInfo *output, GError **error);

/** network_print: Prints the line. @folder: (nullable): that of the file of changed weights. */
gboolean network_print (const Network *self, const gchar *folder, GError **error);

/** network_is_nhwc: TRUE if the result of the last layer is NHWC, and that of the model NCHW. */
gboolean network_is_nhwc (const Network *self);

/** network_compute: see import_compute(). */
GemmclMatrix *network_compute (const Network *self, const GemmclMatrix *input, const gchar *kernel,
                               GemmclPrecision precision, GError **error);

/** network_get_layer: (nullable): the last layer. */
Layer *network_get_layer (const Network *self);
Layer *network_add_layer (Network *self, const OnnxNode *node, gsize k, gsize n);

/** network_begin_image: Makes the value an image: NCHW, or NHWC. */
gboolean network_begin_image (Network *self, const OnnxNode *node, gboolean is_nchw,
                              GError **error);

/** network_scale_input: Multiplies the elements of the input by @factors, and adds @terms: one
 * number each, or @n for the columns, or, if @is_nchw, for the channels. */
gboolean network_scale_input (Network *self, const OnnxNode *node, const gdouble *factors,
                              const gdouble *terms, gsize n, gboolean is_nchw, GError **error);

/** layer_fold: Makes @b and @c of the model's initializers, in float64. */
gboolean layer_fold (Layer *self, const Model *model, GError **error);

typedef gboolean NetworkAdd (Network *self, const OnnxNode *node, GError **error);

/* ROW (name, add, ignores_rows, attributes ...) for each operator of a layer, and for each that is
 * left out. Attributes: those, of any version, that are read or change no value; any other is
 * refused. add: NULL: it changes nothing. ignores_rows: it ignores how values are cut into rows. */
#define LAYER_OPERATORS(ROW)                                                                       \
  ROW ("Gemm", network_add_product, FALSE, "alpha", "beta", "broadcast", "transA", "transB")       \
  ROW ("MatMul", network_add_product, FALSE, NULL)                                                 \
  ROW ("Conv", network_add_conv, FALSE, "auto_pad", "dilations", "group", "kernel_shape", "pads",  \
       "strides")                                                                                  \
  ROW ("MaxPool", network_add_pool, FALSE, "auto_pad", "ceil_mode", "dilations", "kernel_shape",   \
       "pads", "storage_order", "strides")                                                         \
  ROW ("AveragePool", network_add_pool, FALSE, "auto_pad", "ceil_mode", "count_include_pad",       \
       "dilations", "kernel_shape", "pads", "strides")                                             \
  ROW ("GlobalMaxPool", network_add_pool, FALSE, NULL)                                             \
  ROW ("GlobalAveragePool", network_add_pool, FALSE, NULL)                                         \
  ROW ("Add", network_add_sum, FALSE, "axis", "broadcast")                                         \
  ROW ("Sub", network_add_scale, FALSE, NULL)                                                      \
  ROW ("Mul", network_add_mul, FALSE, NULL)                                                        \
  ROW ("Div", network_add_scale, FALSE, NULL)                                                      \
  ROW ("Scaler", network_add_scaler, FALSE, "offset", "scale")                                     \
  ROW ("BatchNormalization", network_add_batch_normalization, FALSE, "epsilon", "momentum",        \
       "spatial", "is_test", "training_mode")                                                      \
  ROW ("Relu", network_add_activation, FALSE, NULL)                                                \
  ROW ("LeakyRelu", network_add_with_alpha, FALSE, "alpha")                                        \
  ROW ("Clip", network_add_clip, FALSE, "min", "max")                                              \
  ROW ("Elu", network_add_with_alpha, FALSE, "alpha")                                              \
  ROW ("Gelu", network_add_gelu, FALSE, "approximate")                                             \
  ROW ("Sigmoid", network_add_activation, FALSE, NULL)                                             \
  ROW ("Tanh", network_add_activation, FALSE, NULL)                                                \
  ROW ("HardSwish", network_add_activation, FALSE, NULL)                                           \
  ROW ("Softmax", network_add_softmax, FALSE, "axis")                                              \
  ROW ("ArgMax", network_add_arg_max, FALSE, "axis", "keepdims", "select_last_index")              \
  ROW ("TopK", network_add_top_k, FALSE, "axis", "k", "largest", "sorted")
#define OTHER_OPERATORS(ROW)                                                                       \
  ROW ("Cast", network_add_cast, TRUE, "saturate", "to")                                           \
  ROW ("Dropout", network_add_dropout, TRUE, "is_test", "ratio", "seed")                           \
  ROW ("Flatten", network_add_flatten, TRUE, "axis")                                               \
  ROW ("Identity", NULL, TRUE, NULL)                                                               \
  ROW ("Reshape", network_add_reshape, TRUE, "allowzero")                                          \
  ROW ("Squeeze", network_add_squeeze, TRUE, "axes")                                               \
  ROW ("Transpose", network_add_transpose, FALSE, "perm")

NetworkAdd network_add_product, network_add_sum, network_add_scale, network_add_scaler,
    network_add_activation, network_add_mul, network_add_clip, network_add_with_alpha,
    network_add_gelu, network_add_softmax, network_add_arg_max, network_add_top_k, network_add_cast,
    network_add_dropout, network_add_conv, network_add_batch_normalization, network_add_flatten,
    network_add_pool, network_add_reshape, network_add_squeeze, network_add_transpose;
