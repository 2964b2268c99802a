/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <glib.h>
#include <stdio.h>

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

/** Ctrl-C, for commands that have something to finish or to write before they end. */

/** tool_catch_interrupt: From now on tool_check_interrupt() tells of the first Ctrl-C; the second
 * one ends the tool. */
void tool_catch_interrupt (void);

/** tool_check_interrupt: Returns: %FALSE with %TOOL_ERROR_INTERRUPTED once there was a Ctrl-C. */
gboolean tool_check_interrupt (GError **error);

/** The tables of the subcommands as text to read and as a man page. */

/** tool_description: what the whole tool is for; paragraphs are parted by an empty line. */
extern const gchar tool_description[];

/** tool_notes: what the help of the whole tool says after its commands; ended by no title. */
extern const ToolText tool_notes[];

/** tool_option_get_spelling: Returns: (transfer full): "-M, --size1=ROWS". */
gchar *tool_option_get_spelling (const GOptionEntry *entry);

/** tool_help_get_usage: Returns: (transfer full): "gemmcl run [OPTION...] A B -o D". */
gchar *tool_help_get_usage (const ToolCommand *command);

/** tool_help_print: the list of commands, with the options that need none. */
void tool_help_print (FILE *out, const ToolOptionGroup *group);

/** tool_help_print_command: all there is to know of @command. */
void tool_help_print_command (FILE *out, const ToolCommand *command);

/** tool_man_print: all of it as the source of a man page. */
void tool_man_print (FILE *out, const ToolOptionGroup *group);
