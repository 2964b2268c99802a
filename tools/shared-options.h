/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl.h"
#include "tool.h"

/** Options that several subcommands share. */

/** tool_gemm: the problem: GEMMCL_GEMM_INIT with the fields that the options below set. */
extern GemmclGemm tool_gemm;

/** tool_has_gemm_options: Returns: %TRUE if an option for #tool_gemm was given, with another value
 * than its default if it takes a number. */
gboolean tool_has_gemm_options (void);

/** tool_device_entries: -p, -t and -d, read by tool_open_context(). */
extern const GOptionEntry tool_device_entries[];

/** tool_epilogue_entries: --precision, --alpha and --transpose-*. */
extern const GOptionEntry tool_epilogue_entries[];

/** tool_set_choice: A #GOptionArgFunc for options whose values are names, which sets their field of
 * #tool_gemm: --precision, --layout, --a-type, --activation, --normalize and --row-outputs. */
gboolean tool_set_choice (const gchar *option, const gchar *text, gpointer data, GError **error);

#define TOOL_OPTION(name, function, help, values)                                                  \
  {                                                                                                \
    name, 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)function, help, values                            \
  }

/** TOOL_OPTION_JSON: --json, which sets @path; "-" without a file. @more ends its help. */
#define TOOL_OPTION_JSON(path, help, more)                                                         \
  {                                                                                                \
    "json", 0, 0, G_OPTION_ARG_FILENAME, path,                                                     \
        help " to this file, which is replaced; - is the standard output, as is --json without "   \
             "FILE at the end or before another option" more,                                      \
        "FILE"                                                                                     \
  }

#define TOOL_OPTION_LAYOUT                                                                         \
  TOOL_OPTION ("layout", tool_set_choice,                                                          \
               "Order in memory, by rows or by columns: row or col (default: row)", "row|col")

#define TOOL_OPTION_ACTIVATION                                                                     \
  TOOL_OPTION ("activation", tool_set_choice,                                                      \
               "Activation function of the result: {activations}; softmax is over each row "       \
               "(default: none)",                                                                  \
               "NAME")

/** tool_set_size: A #GOptionArgFunc for the sizes of #tool_gemm, which are 0 unless stated: -M, -N
 * and -K, or --size1, --size3 and --size2. */
gboolean tool_set_size (const gchar *option, const gchar *text, gpointer data, GError **error);

/** TOOL_OPTION_SIZES: -M, -K and -N; @more follows the default size in the help. */
#define TOOL_DEFAULT_SIZE 1024
#define TOOL_OPTION_SIZE(letter, number, what, more)                                               \
  {                                                                                                \
    "size" number, letter, 0, G_OPTION_ARG_CALLBACK, (gpointer)tool_set_size,                      \
        what " (default: " G_STRINGIFY (TOOL_DEFAULT_SIZE) more ")", "INTEGER"                     \
  }
#define TOOL_OPTION_SIZES(more)                                                                    \
  TOOL_OPTION_SIZE ('M', "1", "Rows of A and D", more),                                            \
      TOOL_OPTION_SIZE ('K', "2", "Columns of A, rows of B", more),                                \
      TOOL_OPTION_SIZE ('N', "3", "Columns of B and D", more)

/**
 * tool_open_context:
 *
 * Prints a warning for each device that the library passed over.
 *
 * Returns: (transfer full): a context on the device that the options name, or %NULL with an error.
 */
GemmclContext *tool_open_context (GError **error);

/** tool_layout_get_name: Returns: the value of --layout for @layout; static. */
const gchar *tool_layout_get_name (GemmclLayout layout);

/** tool_get_kernel_info: Returns: (transfer none) (nullable): the description of @kernel, whose
 * name may end with a slash and the number of parts of a split K; %NULL for "auto" and %NULL. */
const GemmclKernelInfo *tool_get_kernel_info (const gchar *kernel);

/** tool_get_precision: Returns: the precision of @kernel; f32 if it is "auto" or %NULL. */
GemmclPrecision tool_get_precision (const gchar *kernel);

/** tool_adopt_precision: Gives @gemm the precision of @kernel (nullable), without --precision. */
void tool_adopt_precision (GemmclGemm *gemm, const gchar *kernel);

/** tool_parse_number: Returns: %FALSE with %TOOL_ERROR_USAGE unless @text, the value of @option, is
 * a finite number. Its decimal sign is a point in every locale. */
gboolean tool_parse_number (const gchar *option, const gchar *text, gdouble *number,
                            GError **error);

/** tool_parse_positive: tool_parse_number() above 0; a @text of %NULL leaves @number. */
gboolean tool_parse_positive (const gchar *option, const gchar *text, gdouble *number,
                              GError **error);

/**
 * tool_find_kernel:
 * @name: a kernel's name, with or without a leading "gemm_" and with or without a slash and the
 *   number of parts of a split K
 * @choosers: @name may also be "auto" or "rules"
 *
 * Returns: (transfer none): the library's name, or %NULL with %TOOL_ERROR_USAGE, whose message
 *   lists similar names.
 */
const gchar *tool_find_kernel (const gchar *name, gboolean choosers, GError **error);

/** TOOL_KERNELS: The names that tool_list_kernels() takes, for the help of options. */
#define TOOL_KERNELS                                                                               \
  "names, methods, patterns with * and ?, article (SGEMM for Intel Processor Graphics), ladder "   \
  "(one optimization after another) or all, separated by commas"

/** tool_list_kernels: @names: #TOOL_KERNELS. @has_sets: (out) (optional): a name stands for several
 * kernels. Returns: (transfer full) (element-type utf8): the names of tool_find_kernel(), or %NULL
 * with %TOOL_ERROR_USAGE. */
GPtrArray *tool_list_kernels (const gchar *names, gboolean choosers, gboolean *has_sets,
                              GError **error);

/** tool_device_type_get_name: Returns: the name of @type in tables, such as "GPU"; static. */
const gchar *tool_device_type_get_name (GemmclDeviceType type);

/** tool_parse_size: Returns: %TRUE if @text is a whole number that M, N and K may be. */
gboolean tool_parse_size (const gchar *text, gsize *size);

/** tool_problems_new: @arguments: (array zero-terminated=1): the sizes, each "M,N,K" or "MxNxK".
 * Returns: (transfer full) (element-type GemmclGemm): @gemm with these sizes, or %NULL with
 * %TOOL_ERROR_USAGE. */
GArray *tool_problems_new (gchar **arguments, const GemmclGemm *gemm, GError **error);

/** tool_problem_get_name: Returns: (transfer full): "64 x 1024 x 1024". */
gchar *tool_problem_get_name (gsize m, gsize n, gsize k);
