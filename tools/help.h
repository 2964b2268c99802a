/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "tool.h"

/* The tables of the subcommands as help texts and as a man page. */

/** tool_help_get_usage: Returns: (transfer full): "gemmcl run [OPTION...] A B -o D". */
gchar *tool_help_get_usage (const ToolCommand *command);

/** tool_help_print: prints the list of commands, and @group, the options without a command. */
void tool_help_print (FILE *out, const ToolOptionGroup *group);

/** tool_help_print_command: prints the help of @command. */
void tool_help_print_command (FILE *out, const ToolCommand *command);

/** tool_man_print: prints the help of the tool and of all commands as the source of a man page. */
void tool_man_print (FILE *out, const ToolOptionGroup *group);
