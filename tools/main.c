/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <locale.h>
#include <string.h>

#include "help.h"

enum {
  STATUS_OK,
  STATUS_FAILED,
  STATUS_USAGE,
  STATUS_INTERRUPTED = 130,
};

static struct {
  gboolean help;
  gboolean version;
  gboolean man;
} options;

static const GOptionEntry common_entries[] = {
    {"help", 'h', 0, G_OPTION_ARG_NONE, &options.help, "Show this help and exit", NULL}, {NULL}};

static const GOptionEntry main_entries[] = {
    {"help", 'h', 0, G_OPTION_ARG_NONE, &options.help,
     "Show this help and exit; after a command, the help of that command", NULL},
    {"version", 0, 0, G_OPTION_ARG_NONE, &options.version, "Show the version and exit", NULL},
    {"help-man", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options.man,
     "Print the source of the man page and exit", NULL},
    {NULL}};

static const ToolOptionGroup main_group = {"Options", main_entries};

static const ToolCommand *
find_command (const gchar *name)
{
  for (const ToolCommand *const *command = tool_commands; *command != NULL; command++)
    if (g_strcmp0 (name, (*command)->name) == 0)
      return *command;
  return NULL;
}

/* Adds two rules to GOption's: a value of a long option that takes none is refused, as in
 * --list=no, and --json without a file means --json=-. */
static gboolean
prepare_values (const GOptionEntry *entry, gchar **arguments, GError **error)
{
  static gchar standard_output[] = "--json=-";

  for (; entry->long_name != NULL; entry++) {
    g_autofree gchar *start = g_strdup_printf ("--%s=", entry->long_name);
    const gboolean is_json = g_str_equal (entry->long_name, "json");

    for (guint i = 1; arguments[i] != NULL && !g_str_equal (arguments[i], "--"); i++) {
      const gchar *next = arguments[i + 1];

      if (entry->arg == G_OPTION_ARG_NONE && g_str_has_prefix (arguments[i], start))
        return tool_refuse (error, "--%s takes no value, found \"%s\".", entry->long_name,
                            arguments[i] + strlen (start));
      if (is_json && g_str_equal (arguments[i], "--json") &&
          (next == NULL || (next[0] == '-' && next[1] != '\0')))
        arguments[i] = standard_output;
    }
  }
  return TRUE;
}

/* Parses and removes @entries, which include -h, and the options of @groups (nullable). */
static gboolean
parse_options (const GOptionEntry *entries, const ToolOptionGroup *groups, gint *argc,
               gchar ***argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);

  /* The tool has its own -h: GOption's help lacks arguments, paragraphs and examples. */
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!prepare_values (entries, *argv, error))
    return FALSE;
  for (; groups != NULL && groups->title != NULL; groups++) {
    g_option_context_add_main_entries (context, groups->entries, NULL);
    if (!prepare_values (groups->entries, *argv, error))
      return FALSE;
  }
  return g_option_context_parse (context, argc, argv, error);
}

static gboolean
run_command (const ToolCommand *command, gint argc, gchar **argv, GError **error)
{
  guint n_arguments;

  if (!parse_options (common_entries, command->groups, &argc, &argv, error))
    return FALSE;
  if (options.help) {
    tool_help_print_command (stdout, command);
    return TRUE;
  }
  n_arguments = (guint)argc - 1;
  if (n_arguments < command->n_arguments ||
      (n_arguments > command->n_arguments && !command->more_arguments)) {
    g_autofree gchar *usage = tool_help_get_usage (command);
    return tool_refuse (error,
                        "Expected \"%s\", with %s%u argument%s besides the options; found %u.",
                        usage, command->more_arguments ? "at least " : "", command->n_arguments,
                        command->n_arguments == 1 ? "" : "s", n_arguments);
  }
  return command->run (argv + 1, error);
}

static gboolean
run_alone (gint argc, gchar **argv, GError **error)
{
  if (!parse_options (main_entries, NULL, &argc, &argv, error))
    return FALSE;
  if (options.help)
    tool_help_print (stdout, &main_group);
  else if (options.version)
    puts ("gemmcl " GEMMCL_VERSION);
  else if (options.man)
    tool_man_print (stdout, &main_group);
  else if (argc > 1)
    return tool_refuse (error, "There is no command \"%s\".", argv[1]);
  else
    return tool_refuse (error, "A command is missing.");
  return TRUE;
}

/* Writes the rest of the output. Fails if any write failed, as on a full disk. */
static gboolean
flush_output (GError **error)
{
  if (fflush (stdout) == 0 && !ferror (stdout))
    return TRUE;
  return tool_fail (error, "The output could not be written completely.");
}

static gint
get_status (const GError *error)
{
  if (error == NULL)
    return STATUS_OK;
  if (g_error_matches (error, TOOL_ERROR, TOOL_ERROR_INTERRUPTED))
    return STATUS_INTERRUPTED;
  if (g_error_matches (error, TOOL_ERROR, TOOL_ERROR_USAGE) || error->domain == G_OPTION_ERROR)
    return STATUS_USAGE;
  return STATUS_FAILED;
}

gint
main (gint argc, gchar **argv)
{
  g_autoptr (GError) error = NULL;
  const ToolCommand *command = argc > 1 ? find_command (argv[1]) : NULL;
  const gchar *gap = command != NULL ? " " : "";
  const gchar *name = command != NULL ? command->name : "";
  gint status;

  /* Messages have the character set of the terminal, numbers always a decimal point. */
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  /* The tool's own messages are in English; reports mix them with GLib's. */
  setlocale (LC_MESSAGES, "C");

  if (command != NULL ? run_command (command, argc - 1, argv + 1, &error)
                      : run_alone (argc, argv, &error))
    flush_output (&error);
  status = get_status (error);
  if (error != NULL) {
    g_autofree gchar *text = gemmcl_make_printable (error->message);

    g_printerr ("gemmcl%s%s: %s\n", gap, name, text);
  }
  if (status == STATUS_USAGE)
    g_printerr ("See \"gemmcl%s%s --help\".\n", gap, name);
  return status;
}
