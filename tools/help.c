/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "gemmcl.h"
#include "help.h"

#define LINE   80
#define INDENT 2
#define COLUMN 30

static const gchar description[] =
    "Multiplies matrices on OpenCL devices and measures the speed. The product is "
    "D = act(alpha op(A) op(B) + beta C + bias), where A is M x K, B is K x N, C is M x N or one "
    "row of N, and bias is N numbers.";

/* The end of the tool's help, after its commands. */
static const ToolText notes[] = {
    {"Exit status",
     "0: success; 1: a failure or a wrong result; 2: a wrong command line; 130: Ctrl-C."},
    {"Environment",
     "OCL_ICD_VENDORS names the folder in which the OpenCL loader finds its drivers. Compiled "
     "kernels and tuning results are kept in the folder gemmcl under XDG_CACHE_HOME (default, "
     "also for a relative path: ~/.cache); it may be deleted at any time."},
    {NULL}};

/* Returns: (transfer full): @text with the library's lists in place of their names in braces. */
static gchar *
expand (const gchar *text)
{
  GString *result = g_string_new (text);
  g_autoptr (GString) activations = g_string_new (NULL);

  for (guint i = 0; i < GEMMCL_N_ACTIVATIONS; i++)
    g_string_append_printf (activations, "%s%s", i > 0 ? ", " : "", gemmcl_activation_get_name (i));
  g_string_replace (result, "{activations}", activations->str, 0);
  g_string_replace (result, "{matrix}", gemmcl_matrix_get_grammar (), 0);
  return g_string_free (result, FALSE);
}

/* Prints @text, wrapped and indented by @indent. The first line begins at column @at. */
static void
print_wrapped (FILE *out, const gchar *text, guint indent, guint at)
{
  g_autofree gchar *all = expand (text);
  g_auto (GStrv) words = g_strsplit_set (all, " \n", -1);

  for (guint i = 0; words[i] != NULL; i++) {
    guint length = strlen (words[i]);
    if (at > indent && at + 1 + length > LINE) {
      fputc ('\n', out);
      at = 0;
    }
    if (at <= indent)
      at += fprintf (out, "%*s%s", (gint)(indent - at), "", words[i]);
    else
      at += fprintf (out, " %s", words[i]);
  }
  fputc ('\n', out);
}

/* Prints "  @left   @right", with @right wrapped in its own column. */
static void
print_item (FILE *out, const gchar *left, const gchar *right)
{
  guint at = fprintf (out, "%*s%s", INDENT, "", left);

  if (at + 2 > COLUMN) {
    fputc ('\n', out);
    at = 0;
  }
  print_wrapped (out, right, COLUMN, at);
}

/* Returns: "-M, --size1=ROWS". */
static gchar *
get_spelling (const GOptionEntry *entry)
{
  GString *text = g_string_new (NULL);

  if (entry->short_name != 0)
    g_string_append_printf (text, "-%c, ", entry->short_name);
  g_string_append_printf (text, "--%s", entry->long_name);
  if (entry->arg_description != NULL)
    g_string_append_printf (text, "=%s", entry->arg_description);
  return g_string_free (text, FALSE);
}

static void
print_group (FILE *out, const ToolOptionGroup *group)
{
  fprintf (out, "\n%s:\n", group->title);
  for (const GOptionEntry *entry = group->entries; entry->long_name != NULL; entry++) {
    g_autofree gchar *spelling = get_spelling (entry);
    g_autofree gchar *aligned = g_strconcat (entry->short_name == 0 ? "    " : "", spelling, NULL);
    if ((entry->flags & G_OPTION_FLAG_HIDDEN) == 0)
      print_item (out, aligned, entry->description);
  }
}

void
tool_help_print (FILE *out, const ToolOptionGroup *group)
{
  fputs ("Usage: gemmcl COMMAND [OPTION...]\n\n", out);
  print_wrapped (out, description, 0, 0);
  fputs ("\nCommands:\n", out);
  for (const ToolCommand *const *command = tool_commands; *command != NULL; command++)
    print_item (out, (*command)->name, (*command)->summary);
  print_group (out, group);
  for (const ToolText *note = notes; note->title != NULL; note++) {
    fprintf (out, "\n%s:\n", note->title);
    print_wrapped (out, note->text, INDENT, 0);
  }
  fputs ("\n\"gemmcl help COMMAND\" or \"gemmcl COMMAND --help\" describes a command.\n", out);
}

gchar *
tool_help_get_usage (const ToolCommand *command)
{
  return g_strjoin (" ", "gemmcl", command->name, "[OPTION...]", command->arguments, NULL);
}

void
tool_help_print_command (FILE *out, const ToolCommand *command)
{
  g_auto (GStrv) paragraphs = g_strsplit (command->description, "\n\n", -1);
  g_autofree gchar *usage = tool_help_get_usage (command);

  fprintf (out, "Usage: %s\n", usage);
  for (guint i = 0; paragraphs[i] != NULL; i++) {
    fputc ('\n', out);
    print_wrapped (out, paragraphs[i], 0, 0);
  }
  for (const ToolOptionGroup *group = command->groups; group->title != NULL; group++)
    print_group (out, group);
  fputs ("\nExamples:\n", out);
  for (const ToolText *example = command->examples; example->title != NULL; example++) {
    fprintf (out, "%*s%s\n", INDENT, "", example->title);
    print_wrapped (out, example->text, 3 * INDENT, 0);
  }
}

/* Returns: @text for roff, which would interpret hyphens, backslashes and points at the beginning
 * of lines, and which begins paragraphs by a macro. */
static gchar *
escape (const gchar *text)
{
  g_autofree gchar *all = expand (text);
  GString *roff = g_string_new (all);

  g_string_replace (roff, "\\", "\\e", 0);
  g_string_replace (roff, "-", "\\-", 0);
  g_string_replace (roff, "\n.", "\n\\&.", 0);
  g_string_replace (roff, "\n\n", "\n.PP\n", 0);
  return g_string_free (roff, FALSE);
}

/* Prints @format, whose two %s stand for both texts, escaped for roff. */
static void
print_roff (FILE *out, const gchar *format, const gchar *first, const gchar *second)
{
  g_autofree gchar *one = escape (first), *two = escape (second);

  fprintf (out, format, one, two);
}

static void
print_options (FILE *out, const GOptionEntry *entry)
{
  for (; entry->long_name != NULL; entry++) {
    g_autofree gchar *spelling = get_spelling (entry);

    if ((entry->flags & G_OPTION_FLAG_HIDDEN) == 0)
      print_roff (out, ".TP\n.B %s\n%s.\n", spelling, entry->description);
  }
}

static void
print_command (FILE *out, const ToolCommand *command)
{
  g_autofree gchar *usage = tool_help_get_usage (command);

  print_roff (out, ".SS %s\n%s\n", usage, command->description);
  for (const ToolOptionGroup *group = command->groups; group->title != NULL; group++)
    print_options (out, group->entries);
  for (const ToolText *example = command->examples; example->title != NULL; example++)
    print_roff (out, ".PP\n%s:\n.PP\n.RS\n.nf\n%s\n.fi\n.RE\n", example->text, example->title);
}

void
tool_man_print (FILE *out, const ToolOptionGroup *group)
{
  fputs (".TH GEMMCL 1 \"\" \"gemmcl " GEMMCL_VERSION "\" \"User Commands\"\n"
         ".SH NAME\n"
         "gemmcl \\- multiply matrices on OpenCL devices and measure the speed\n"
         ".SH SYNOPSIS\n"
         ".B gemmcl\n"
         ".I COMMAND\n"
         "[\\fIOPTION\\fR...]\n",
         out);
  print_roff (out, ".SH %s\n%s\n", "DESCRIPTION", description);
  print_options (out, group->entries);
  fputs (".SH COMMANDS\n", out);
  for (const ToolCommand *const *command = tool_commands; *command != NULL; command++)
    print_command (out, *command);
  for (const ToolText *note = notes; note->title != NULL; note++) {
    g_autofree gchar *title = g_ascii_strup (note->title, -1);

    print_roff (out, ".SH %s\n%s\n", title, note->text);
  }
  fputs (".SH SEE ALSO\n"
         ".BR gst\\-launch\\-1.0 (1),\n"
         ".BR gst\\-inspect\\-1.0 (1),\n"
         ".BR clinfo (1)\n",
         out);
}
