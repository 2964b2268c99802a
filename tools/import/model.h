/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A parsed ONNX model, and what its nodes and tensors hold. */
#pragma once

#include "onnx.pb-c.h"
#include "tool.h"

/* TensorProto.DataType */
#define ONNX_FLOAT    1
#define ONNX_INT64    7
#define ONNX_FLOAT16  10
#define ONNX_DOUBLE   11
#define ONNX_BFLOAT16 16

typedef Onnx__ModelProto OnnxModel;
typedef Onnx__GraphProto OnnxGraph;
typedef Onnx__NodeProto OnnxNode;
typedef Onnx__TensorProto OnnxTensor;
typedef Onnx__AttributeProto OnnxAttribute;
typedef Onnx__ValueInfoProto OnnxValueInfo;

/** Model: @opset: the version of ONNX's operators; @tensors: initializers and constants by their
 * names. */
typedef struct {
  const gchar *path;
  OnnxModel *onnx;
  const OnnxGraph *graph;
  gint64 opset;
  GHashTable *tensors;
} Model;

/** model_read: %FALSE if @path is no ONNX model. */
gboolean model_read (Model *self, const gchar *path, GError **error);
void model_clear (Model *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Model, model_clear)

/** model_fail: Sets @error. @node: (nullable): the node that cannot be imported.
 * Returns: %FALSE. */
gboolean model_fail (const Model *self, const OnnxNode *node, GError **error, const gchar *format,
                     ...) G_GNUC_PRINTF (4, 5);

/** model_name_tensor: (transfer full): tensor @name of the file @path, as gemmcl_matrix_load()
 * takes it: "./" stands before a path that would be a matrix, a URI or, in a line, a quotation. */
gchar *model_name_tensor (const gchar *path, const gchar *name);

/** model_get_tensor: (nullable): the initializer or constant of that name, or of which it is an
 * Identity; its own name is that in the file. */
const OnnxTensor *model_get_tensor (const Model *self, const gchar *name);

/** model_find_node: (nullable): the node whose first output has that name. */
const OnnxNode *model_find_node (const Model *self, const gchar *name);

/** model_get_operand: (nullable): input @index of @node, if it is a tensor of floating-point
 * numbers. */
const OnnxTensor *model_get_operand (const Model *self, const OnnxNode *node, gsize index);

/** model_get_values: (transfer full): the elements of operand @index of @node, or %NULL with @error
 * if their number is not that of the dimensions, of which there are as many as bytes at least. */
gdouble *model_get_values (const Model *self, const OnnxNode *node, gsize index, gsize *n,
                           GError **error);

/** model_get_integers: (transfer full): the attribute @name, or else input @index, a constant of
 * int64; or %NULL without @error if @node has neither. @index: 0: there is no such input. */
gint64 *model_get_integers (const Model *self, const OnnxNode *node, const gchar *name, gsize index,
                            gsize *n);

/** model_has_input: FALSE for an optional input that is left out. */
gboolean model_has_input (const OnnxNode *node, gsize index);

const OnnxAttribute *model_find_attribute (const OnnxNode *node, const gchar *name);

/** model_get_number: the float or the integer @name of @node. */
gdouble model_get_number (const OnnxNode *node, const gchar *name, gdouble otherwise);

/** model_dup_text: (transfer full): the text @name of @node, or @otherwise. */
gchar *model_dup_text (const OnnxNode *node, const gchar *name, const gchar *otherwise);

gboolean model_is_constant (const OnnxNode *node);
