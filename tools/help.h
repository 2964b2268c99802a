/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "tool.h"

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
