/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "tool.h"

/* The tables of the subcommands as help texts, as a man page and for completion. */

/** tool_common_entries: the options of all commands. */
extern const GOptionEntry tool_common_entries[];

/** tool_find_near: Returns: (nullable): the one of @names that was probably meant by @wrong. */
const gchar *tool_find_near (const gchar *wrong, const GPtrArray *names);

/**
 * tool_complete:
 * @words: the words after "gemmcl", the last of which is completed and may be empty
 * @group: the options without a command
 *
 * Prints a line for each word that fits: the word, a tab and its description. For scripts of
 * shells, which offer files if nothing fits.
 */
void tool_complete (FILE *out, gchar **words, const ToolOptionGroup *group);

/** tool_help_get_usage: Returns: (transfer full): "gemmcl run [OPTION...] A B -o D". */
gchar *tool_help_get_usage (const ToolCommand *command);

/** tool_help_print: prints the list of commands, and @group, the options without a command. */
void tool_help_print (FILE *out, const ToolOptionGroup *group);

/** tool_help_print_command: prints the help of @command. */
void tool_help_print_command (FILE *out, const ToolCommand *command);

/** tool_man_print: prints the help of the tool and of all commands as the source of a man page. */
void tool_man_print (FILE *out, const ToolOptionGroup *group);
