/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

/**
 * What every subcommand of the tool is made of. A subcommand is one ToolCommand: its options, its
 * help and its section of the man page all come from that one table, so none can lack what another
 * has.
 */

/**
 * ToolError:
 * @TOOL_ERROR_USAGE: the command line is wrong; exit status 2, as for a G_OPTION_ERROR
 * @TOOL_ERROR_FAILED: something went wrong, or a result is; exit status 1, as for any other domain
 * @TOOL_ERROR_INTERRUPTED: the user pressed Ctrl-C; exit status 130
 */
typedef enum {
  TOOL_ERROR_USAGE,
  TOOL_ERROR_FAILED,
  TOOL_ERROR_INTERRUPTED,
} ToolError;

#define TOOL_ERROR (tool_error_quark ())
GQuark tool_error_quark (void);

/** ToolOptionGroup: options with a title; @entries ends with one that is all zeros. */
typedef struct {
  const gchar *title;
  const GOptionEntry *entries;
} ToolOptionGroup;

/** ToolText: a heading or a command line, and what there is to say about it, in plain text. */
typedef struct {
  const gchar *title;
  const gchar *text;
} ToolText;

#define TOOL_MAX_GROUPS   5
#define TOOL_MAX_EXAMPLES 4

/**
 * ToolCommand:
 * @name: what users type after "gemmcl"
 * @summary: a line without a full stop, for the list of commands
 * @operands: (nullable): what follows the options, for the usage line
 * @n_operands: how many of them there must be
 * @more_operands: there may be more
 * @description: what it does; paragraphs are parted by an empty line
 * @groups: its options, ended by a group without a title
 * @examples: command lines and what they are for, ended by one without a title
 * @run: does it; @operands ends with %NULL. On failure sets @error and returns %FALSE
 */
typedef struct {
  const gchar *name;
  const gchar *summary;
  const gchar *operands;
  guint n_operands;
  gboolean more_operands;
  const gchar *description;
  ToolOptionGroup groups[TOOL_MAX_GROUPS + 1];
  ToolText examples[TOOL_MAX_EXAMPLES + 1];
  gboolean (*run) (gchar **operands, GError **error);
} ToolCommand;

extern const ToolCommand tool_bench;
extern const ToolCommand tool_check;
extern const ToolCommand tool_devices;
extern const ToolCommand tool_isa;
extern const ToolCommand tool_kernels;
extern const ToolCommand tool_quantize;
extern const ToolCommand tool_run;
extern const ToolCommand tool_tune;
extern const ToolCommand tool_warm;

/** tool_commands: all of them, ended by %NULL, in the order in which the help lists them. */
extern const ToolCommand *const tool_commands[];
