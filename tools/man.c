/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "help.h"

/* Prints @text so that roff takes none of it for its own: paragraphs, hyphens, leading dots. */
static void
print_text (FILE *out, const gchar *text)
{
  gboolean line_start = TRUE;

  for (const gchar *p = text; *p != '\0'; p++) {
    if (p[0] == '\n' && p[1] == '\n') {
      fputs ("\n.PP", out);
      p++;
      fputc ('\n', out);
    } else if (*p == '-' || *p == '\\') {
      fprintf (out, *p == '-' ? "\\-" : "\\e");
    } else {
      if (line_start && (*p == '.' || *p == '\''))
        fputs ("\\&", out);
      fputc (*p, out);
    }
    line_start = *p == '\n';
  }
}

static void
print_heading (FILE *out, const gchar *title)
{
  g_autofree gchar *upper = g_ascii_strup (title, -1);

  fprintf (out, ".SH %s\n", upper);
}

static void
print_options (FILE *out, const GOptionEntry *entry)
{
  for (; entry->long_name != NULL; entry++) {
    g_autofree gchar *spelling = tool_option_get_spelling (entry);
    if ((entry->flags & G_OPTION_FLAG_HIDDEN) != 0)
      continue;
    fputs (".TP\n.B ", out);
    print_text (out, spelling);
    fputc ('\n', out);
    print_text (out, entry->description);
    fputs (".\n", out);
  }
}

static void
print_command (FILE *out, const ToolCommand *command)
{
  g_autofree gchar *usage = tool_help_get_usage (command);

  fputs (".SS ", out);
  print_text (out, usage);
  fputc ('\n', out);
  print_text (out, command->description);
  fputc ('\n', out);
  for (const ToolOptionGroup *group = command->groups; group->title != NULL; group++)
    print_options (out, group->entries);
  for (const ToolText *example = command->examples; example->title != NULL; example++) {
    fputs (".PP\n", out);
    print_text (out, example->text);
    fputs (":\n.PP\n.RS\n.nf\n", out);
    print_text (out, example->title);
    fputs ("\n.fi\n.RE\n", out);
  }
}

void
tool_man_print (FILE *out, const ToolOptionGroup *group)
{
  fputs (".TH GEMMCL 1 \"\" \"gemmcl " GEMMCL_VERSION "\" \"User Commands\"\n"
         ".SH NAME\n"
         "gemmcl \\- multiply matrices on OpenCL devices, and measure how fast\n"
         ".SH SYNOPSIS\n"
         ".B gemmcl\n"
         ".I COMMAND\n"
         "[\\fIOPTION\\fR...]\n"
         ".SH DESCRIPTION\n",
         out);
  print_text (out, tool_description);
  fputc ('\n', out);
  print_options (out, group->entries);
  fputs (".SH COMMANDS\n", out);
  for (const ToolCommand *const *command = tool_commands; *command != NULL; command++)
    print_command (out, *command);
  for (const ToolText *note = tool_notes; note->title != NULL; note++) {
    print_heading (out, note->title);
    print_text (out, note->text);
    fputc ('\n', out);
  }
  fputs (".SH SEE ALSO\n"
         ".BR gst\\-launch\\-1.0 (1),\n"
         ".BR gst\\-inspect\\-1.0 (1),\n"
         ".BR clinfo (1)\n",
         out);
}
