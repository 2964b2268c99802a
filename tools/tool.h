/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* TOOL_COMMANDS(X): X (name) for each subcommand, in the order of the help (meson.build) */
#include "commands.h"

/**
 * The parts of a subcommand. Each subcommand is one ToolCommand, a table that gives its options,
 * its help and its section of the man page.
 */

typedef enum {
  TOOL_ERROR_USAGE,       /* the command line is wrong; exit status 2, as for a G_OPTION_ERROR */
  TOOL_ERROR_FAILED,      /* a failure or a wrong result; exit status 1, as for any other domain */
  TOOL_ERROR_INTERRUPTED, /* the user pressed Ctrl-C; exit status 130 */
} ToolError;

#define TOOL_ERROR (tool_error_quark ())
GQuark tool_error_quark (void);

/** tool_set_error: g_set_error() for a #ToolError. Returns: %FALSE. */
gboolean tool_set_error (GError **error, ToolError code, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);
#define tool_refuse(error, ...) tool_set_error (error, TOOL_ERROR_USAGE, __VA_ARGS__)
#define tool_fail(error, ...)   tool_set_error (error, TOOL_ERROR_FAILED, __VA_ARGS__)

/** ToolOptionGroup: options with a title; the last of @entries is all zeros. */
typedef struct {
  const gchar *title;
  const GOptionEntry *entries;
} ToolOptionGroup;

/** ToolText: a heading or a command line, and its description in plain text. */
typedef struct {
  const gchar *title;
  const gchar *text;
} ToolText;

#define TOOL_MAX_GROUPS   5
#define TOOL_MAX_EXAMPLES 5

/**
 * ToolCommand:
 * @name: its name after "gemmcl"
 * @summary: a line without a full stop, for the list of commands
 * @arguments: (nullable): the arguments after the options, for the usage line
 * @n_arguments: the number of required arguments
 * @more_arguments: more arguments are allowed
 * @description: its description; paragraphs are separated by an empty line
 * @groups: its options; the last group has no title
 * @examples: command lines and their purposes; the last example has no title
 * @run: runs the command; @arguments ends with %NULL. On failure it sets @error and returns %FALSE
 */
typedef struct {
  const gchar *name;
  const gchar *summary;
  const gchar *arguments;
  guint n_arguments;
  gboolean more_arguments;
  const gchar *description;
  ToolOptionGroup groups[TOOL_MAX_GROUPS + 1];
  ToolText examples[TOOL_MAX_EXAMPLES + 1];
  gboolean (*run) (gchar **arguments, GError **error);
} ToolCommand;

#define TOOL_DECLARE(name) extern const ToolCommand tool_##name;
TOOL_COMMANDS (TOOL_DECLARE)
#undef TOOL_DECLARE

/** tool_commands: all commands, ended by %NULL, in the order of the help. */
extern const ToolCommand *const tool_commands[];

/** tool_find_command: Returns: (nullable): the command of that name. */
const ToolCommand *tool_find_command (const gchar *name);

/** Ctrl-C, for commands that write their results before they end. */

/** tool_catch_interrupt: Makes tool_check_interrupt() report the first Ctrl-C from now on. A second
 * Ctrl-C ends the tool. */
void tool_catch_interrupt (void);

/** tool_check_interrupt: Returns: %FALSE with %TOOL_ERROR_INTERRUPTED after a Ctrl-C. */
gboolean tool_check_interrupt (GError **error);
