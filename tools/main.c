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

const GOptionEntry tool_common_entries[] = {
    {"help", 'h', 0, G_OPTION_ARG_NONE, &options.help, "Show this help and exit", NULL}, {NULL}};

static const GOptionEntry main_entries[] = {
    {"help", 'h', 0, G_OPTION_ARG_NONE, &options.help,
     "Show this help and exit; after a command, the help of that command", NULL},
    {"version", 0, 0, G_OPTION_ARG_NONE, &options.version, "Show the version and exit", NULL},
    {"help-man", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options.man,
     "Print the source of the man page and exit", NULL},
    {NULL}};

static const ToolOptionGroup main_group = {"Options", main_entries};

/* Says that there is no @what @wrong, and which of @names is near. Returns: FALSE. */
static gboolean
refuse_name (const gchar *what, const gchar *wrong, const GPtrArray *names, GError **error)
{
  const gchar *near = tool_find_near (wrong, names);

  return near != NULL
             ? tool_refuse (error, "There is no %s \"%s\". Did you mean \"%s\"?", what, wrong, near)
             : tool_refuse (error, "There is no %s \"%s\".", what, wrong);
}

static gboolean
refuse_command (const gchar *wrong, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (const ToolCommand *const *command = tool_commands; *command != NULL; command++)
    g_ptr_array_add (names, (gpointer)(*command)->name);
  return refuse_name ("command", wrong, names, error);
}

/* Adds two rules to GOption's: a value of a long option that takes none is refused, as in
 * --list=no, and --json without a file means --json=-. Adds the options to @names. */
static gboolean
prepare_values (const GOptionEntry *entry, gchar **arguments, GPtrArray *names, GError **error)
{
  static gchar standard_output[] = "--json=-";

  for (; entry->long_name != NULL; entry++) {
    g_autofree gchar *start = g_strdup_printf ("--%s=", entry->long_name);
    const gboolean is_json = g_str_equal (entry->long_name, "json");

    g_ptr_array_add (names, g_strdup_printf ("--%s", entry->long_name));
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

/* Says that the value of an option cannot be converted to UTF-8. GOption does not say which, and
 * does not convert other arguments or the names of files. Returns: FALSE. */
static gboolean
refuse_bytes (gchar **arguments, GError **error)
{
  const gchar *charset, *wrong = NULL;
  guint n = 0;

  g_get_charset (&charset);
  for (guint i = 1; arguments[i] != NULL; i++) {
    g_autofree gchar *value = g_locale_to_utf8 (arguments[i], -1, NULL, NULL, NULL);

    if (value == NULL) {
      n++;
      wrong = arguments[i];
    }
  }
  if (n == 1) {
    g_autofree gchar *quoted = gemmcl_quote (wrong);

    return tool_refuse (error, "\"%s\" is not text in %s, the character set of the locale.", quoted,
                        charset);
  }
  return tool_refuse (
      error, "The value of an option is not text in %s, the character set of the locale.", charset);
}

/* Parses and removes @entries, which include -h, and the options of @groups (nullable). */
static gboolean
parse_options (const GOptionEntry *entries, const ToolOptionGroup *groups, gint *argc,
               gchar ***argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) why = NULL;

  /* The tool has its own -h: GOption's help lacks arguments, paragraphs and examples. */
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!prepare_values (entries, *argv, names, error))
    return FALSE;
  for (; groups != NULL && groups->title != NULL; groups++) {
    g_option_context_add_main_entries (context, groups->entries, NULL);
    if (!prepare_values (groups->entries, *argv, names, error))
      return FALSE;
  }
  if (g_option_context_parse (context, argc, argv, &why))
    return TRUE;
  if (why->domain == G_CONVERT_ERROR)
    return refuse_bytes (*argv, error);
  if (g_error_matches (why, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) &&
      strstr (why->message, "--") != NULL) {
    g_auto (GStrv) wrong = g_strsplit (strstr (why->message, "--"), "=", 2);

    return refuse_name ("option", wrong[0], names, error);
  }
  g_propagate_error (error, g_steal_pointer (&why));
  return FALSE;
}

/* Makes "tune --help" of "help tune", and "--help" of "help" and "help help". */
static gboolean
replace_help (gint *argc, gchar **argv, GError **error)
{
  static gchar help[] = "--help";

  if (*argc < 2 || !g_str_equal (argv[1], "help"))
    return TRUE;
  if (*argc > 3)
    return tool_refuse (error, "Expected \"gemmcl help [COMMAND]\", found \"%s\" behind it.",
                        argv[3]);
  if (*argc == 3 && g_str_equal (argv[2], "help"))
    argv[--*argc] = NULL;
  argv[1] = *argc == 3 ? argv[2] : help;
  argv[*argc - 1] = help;
  return TRUE;
}

static gboolean
run_command (const ToolCommand *command, gint argc, gchar **argv, GError **error)
{
  guint n_arguments;

  if (!parse_options (tool_common_entries, command->groups, &argc, &argv, error))
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
  if (argc > 1 && g_str_equal (argv[1], "--complete")) {
    tool_complete (stdout, argv + 2, &main_group);
    return TRUE;
  }
  if (argc > 1 && argv[1][0] != '-')
    return refuse_command (argv[1], error);
  if (!parse_options (main_entries, NULL, &argc, &argv, error))
    return FALSE;
  if (options.help)
    tool_help_print (stdout, &main_group);
  else if (options.version)
    puts ("gemmcl " GEMMCL_VERSION);
  else if (options.man)
    tool_man_print (stdout, &main_group);
  else if (argc > 1)
    return refuse_command (argv[1], error);
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
  const gboolean ok = replace_help (&argc, argv, &error);
  const ToolCommand *command = argc > 1 ? tool_find_command (argv[1]) : NULL;
  const gchar *gap = command != NULL ? " " : "";
  const gchar *name = command != NULL ? command->name : "";
  gint status;

  /* Messages have the character set of the terminal, numbers always a decimal point. */
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  /* The tool's own messages are in English; reports mix them with GLib's. */
  setlocale (LC_MESSAGES, "C");

  if (ok && (command != NULL ? run_command (command, argc - 1, argv + 1, &error)
                             : run_alone (argc, argv, &error)))
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
