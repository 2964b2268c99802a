/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "tool.h"

/** TOOL_ACTIVATION_HELP: the help of an option --activation, read by tool_parse_activation(). */
#define TOOL_ACTIVATION_HELP                                                                       \
  "Activation function of the result: none, relu, leaky-relu, gelu, gelu-tanh, sigmoid, silu, "    \
  "tanh, hard-swish or softmax, the latter over each row (default: none)"

/** Options that several subcommands share, and their values. */

/** tool_device_entries: -p, -t and -d, read by tool_open_context(). */
extern const GOptionEntry tool_device_entries[];

/** tool_epilogue_entries: --precision, --alpha and --transpose-*, read by tool_get_epilogue(). */
extern const GOptionEntry tool_epilogue_entries[];

/**
 * tool_open_context:
 *
 * Returns: (transfer full): a context on the device that the options name, or %NULL with an error.
 */
GemmclContext *tool_open_context (GError **error);

/** tool_list_device_options: Returns: (transfer full) (element-type utf8): the arguments for the
 * same device in another process of the tool. */
GPtrArray *tool_list_device_options (void);

/**
 * tool_get_epilogue:
 * @gemm: (inout): precision, alpha, beta and the transposes are set if the options state them
 * @beta: (nullable): the value of --beta, an option of the command
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for an invalid number or precision.
 */
gboolean tool_get_epilogue (GemmclGemm *gemm, const gchar *beta, GError **error);

/**
 * tool_parse_precision:
 * @text: (nullable): the value of --precision; %NULL: f32
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for an unknown precision.
 */
gboolean tool_parse_precision (const gchar *text, GemmclPrecision *precision, GError **error);

/**
 * tool_parse_a_type:
 * @text: (nullable): the value of --a-type; %NULL: f32
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for an unknown type.
 */
gboolean tool_parse_a_type (const gchar *text, GemmclType *type, GError **error);

/**
 * tool_parse_layout:
 * @text: (nullable): the value of --layout; %NULL: row
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE unless @text is row or col.
 */
gboolean tool_parse_layout (const gchar *text, GemmclLayout *layout, GError **error);

/**
 * tool_parse_activation:
 * @text: (nullable): the value of --activation; %NULL: none
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE for an unknown activation.
 */
gboolean tool_parse_activation (const gchar *text, GemmclActivation *activation, GError **error);

/** tool_layout_get_name: Returns: the value of --layout for @layout; static. */
const gchar *tool_layout_get_name (GemmclLayout layout);

/** tool_get_kernel_info: Returns: (transfer none) (nullable): the kernel's description. A name may
 * end with the parts of a split K; %NULL for "auto" and %NULL. */
const GemmclKernelInfo *tool_get_kernel_info (const gchar *kernel);

/** tool_get_precision: Returns: the precision of a kernel; f32 for "auto" and %NULL. */
GemmclPrecision tool_get_precision (const gchar *kernel);

/**
 * tool_adopt_precision:
 * @kernel: (nullable): a kernel's name, or "auto"
 *
 * Gives @gemm the precision of @kernel, unless the options state one.
 */
void tool_adopt_precision (GemmclGemm *gemm, const gchar *kernel);

/**
 * tool_parse_number:
 * @option: the option's name, for the message
 * @text: the option's value
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE unless @text is a finite number. Its decimal sign is a
 *   point in every locale.
 */
gboolean tool_parse_number (const gchar *option, const gchar *text, gdouble *number,
                            GError **error);

/**
 * tool_parse_positive:
 * @text: (nullable): the option's value; %NULL: @number is not changed
 *
 * Returns: %FALSE with %TOOL_ERROR_USAGE unless @text is a number as above and more than 0.
 */
gboolean tool_parse_positive (const gchar *option, const gchar *text, gdouble *number,
                              GError **error);

/**
 * tool_find_kernel:
 * @name: a kernel's name, with or without a leading "gemm_", and with or without a slash and the
 *   parts of a split K
 *
 * Returns: (transfer none): the library's name, or %NULL with %TOOL_ERROR_USAGE, whose message
 *   lists similar names.
 */
const gchar *tool_find_kernel (const gchar *name, GError **error);

/** tool_find_choice: The same, which also accepts "auto" and "rules". */
const gchar *tool_find_choice (const gchar *name, GError **error);

/** tool_device_type_get_name: Returns: "GPU" and so on; static. */
const gchar *tool_device_type_get_name (GemmclDeviceType type);

/**
 * tool_problems_new:
 * @operands: (array zero-terminated=1): the operands, each "M,N,K" or "MxNxK"
 * @gemm: the parameters that all problems share
 *
 * Returns: (transfer full) (element-type GemmclGemm): the problems, or %NULL with
 *   %TOOL_ERROR_USAGE.
 */
GArray *tool_problems_new (const gchar *const *operands, const GemmclGemm *gemm, GError **error);

/** tool_problems_add_usual: appends usual problems for a device like @info, which are @gemm but for
 * their sizes. */
void tool_problems_add_usual (GArray *problems, const GemmclGemm *gemm,
                              const GemmclDeviceInfo *info);

/** tool_problem_get_name: Returns: (transfer full): "64 x 1024 x 1024". */
gchar *tool_problem_get_name (gsize m, gsize n, gsize k);
