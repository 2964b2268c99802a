/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "tool.h"

/** TOOL_ACTIVATION_HELP: of an option --activation, read by tool_parse_activation(). */
#define TOOL_ACTIVATION_HELP                                                                       \
  "Activation function of the result: none, relu, leaky-relu, gelu, gelu-tanh, sigmoid, silu, "    \
  "tanh, hard-swish or softmax, the latter over each row (default: none)"

/** Options that several subcommands share, and what they mean. */

/** tool_device_entries: -p, -t and -d, read by tool_open_context(). */
extern const GOptionEntry tool_device_entries[];

/** tool_epilogue_entries: --precision, --alpha and --transpose-*, read by tool_get_epilogue(). */
extern const GOptionEntry tool_epilogue_entries[];

/**
 * tool_open_context:
 *
 * Returns: (transfer full): a context on the device that the options ask for, or %NULL.
 */
GemmclContext *tool_open_context (GError **error);

/** tool_list_device_options: Returns: (transfer full) (element-type utf8): the arguments with which
 * another process of the tool opens the same device. */
GPtrArray *tool_list_device_options (void);

/**
 * tool_get_epilogue:
 * @gemm: (inout): gets precision, alpha, beta and the transposes where the options state them
 * @beta: (nullable): what the user gave --beta, which each command explains in its own way
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for a number or a precision that is none.
 */
gboolean tool_get_epilogue (GemmclGemm *gemm, const gchar *beta, GError **error);

/**
 * tool_parse_precision:
 * @text: (nullable): what the user gave --precision; %NULL is f32
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for a word that is no precision's name.
 */
gboolean tool_parse_precision (const gchar *text, GemmclPrecision *precision, GError **error);

/**
 * tool_parse_layout:
 * @text: (nullable): what the user gave --layout; %NULL is row
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for another word than row and col.
 */
gboolean tool_parse_layout (const gchar *text, GemmclLayout *layout, GError **error);

/**
 * tool_parse_activation:
 * @text: (nullable): what the user gave --activation; %NULL is none
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for a word that is no activation's name.
 */
gboolean tool_parse_activation (const gchar *text, GemmclActivation *activation, GError **error);

/** tool_layout_get_name: Returns: the word for @layout that --layout takes; static. */
const gchar *tool_layout_get_name (GemmclLayout layout);

/** tool_get_precision: Returns: that of a kernel; f32 of "auto" and %NULL. */
GemmclPrecision tool_get_precision (const gchar *kernel);

/**
 * tool_adopt_precision:
 * @kernel: (nullable): as users name it
 *
 * Gives @gemm the precision of @kernel, unless the options state one.
 */
void tool_adopt_precision (GemmclGemm *gemm, const gchar *kernel);

/**
 * tool_parse_number:
 * @option: the option's name, for the message
 * @text: what the user gave it
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE unless @text is a finite number, with a decimal point.
 */
gboolean tool_parse_number (const gchar *option, const gchar *text, gdouble *number,
                            GError **error);

/**
 * tool_parse_positive:
 * @text: (nullable): what the user gave the option; %NULL leaves @number as it is
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE unless @text is a number as above and more than 0.
 */
gboolean tool_parse_positive (const gchar *option, const gchar *text, gdouble *number,
                              GError **error);

/**
 * tool_find_kernel:
 * @name: what the user typed: a kernel's name, with or without a leading "gemm_", and the parts of
 * K behind a slash
 *
 * Returns: (transfer none): the name as the library has it, or %NULL with %TOOL_ERROR_USAGE and the
 * names that are near.
 */
const gchar *tool_find_kernel (const gchar *name, GError **error);

/** tool_device_type_get_name: Returns: "GPU" and so on; static. */
const gchar *tool_device_type_get_name (GemmclDeviceType type);

/**
 * tool_problems_new:
 * @operands: (array zero-terminated=1): what the user typed, each "M,N,K" or "MxNxK"
 * @gemm: what they have in common
 *
 * Returns: (transfer full) (element-type GemmclGemm): the problems, or %NULL with
 *   %TOOL_ERROR_USAGE.
 */
GArray *tool_problems_new (const gchar *const *operands, const GemmclGemm *gemm, GError **error);

/** tool_problems_add_usual: appends problems like @gemm that are usual on a device like @info. */
void tool_problems_add_usual (GArray *problems, const GemmclGemm *gemm,
                              const GemmclDeviceInfo *info);

/** tool_problem_get_name: Returns: (transfer full): "64 x 1024 x 1024". */
gchar *tool_problem_get_name (gsize m, gsize n, gsize k);
