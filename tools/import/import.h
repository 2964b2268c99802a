/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ONNX models without a pipeline. */
#pragma once

#include "gemmcl.h"

/** import_compute: Computes the network in the file @path, which `gemmcl import` prints as a line.
 * @input: f32, a row for each image or row of the first product, in the model's order.
 * Returns: (transfer full): a row for each of them, also in the model's order. */
GemmclMatrix *import_compute (const gchar *path, const GemmclMatrix *input, const gchar *kernel,
                              GemmclPrecision precision, GError **error);
