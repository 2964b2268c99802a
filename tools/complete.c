/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "gemmcl.h"
#include "help.h"

/* Returns: the number of letters to insert, remove or replace until @a is @b. */
static guint
get_distance (const gchar *a, const gchar *b)
{
  const gsize n = strlen (b);
  g_autofree guint *row = g_new (guint, n + 1);

  for (guint j = 0; j <= n; j++)
    row[j] = j;
  for (; *a != '\0'; a++) {
    guint corner = row[0]++;

    for (guint j = 1; j <= n; j++) {
      const guint above = row[j];

      row[j] = MIN (MIN (above, row[j - 1]) + 1, corner + (*a != b[j - 1]));
      corner = above;
    }
  }
  return row[n];
}

const gchar *
tool_find_near (const gchar *wrong, const GPtrArray *names)
{
  const gchar *near = NULL;
  guint least = strlen (wrong) / 2 + 1;

  for (guint i = 0; i < names->len; i++) {
    const gchar *name = names->pdata[i];
    const guint distance = g_str_has_prefix (name, wrong) ? 1 : get_distance (wrong, name);

    if (distance < least) {
      least = distance;
      near = name;
    }
  }
  return near;
}

static void
offer (FILE *out, const gchar *start, const gchar *word, const gchar *text)
{
  if (g_str_has_prefix (word, start))
    fprintf (out, "%s\t%s\n", word, text);
}

/* Offers @value where the user typed @start, which may have "--option=" before the value. */
static void
offer_value (FILE *out, const gchar *start, const gchar *value, const gchar *text)
{
  const gchar *equals = strchr (start, '=');
  g_autofree gchar *word =
      g_strdup_printf ("%.*s%s", equals != NULL ? (gint)(equals + 1 - start) : 0, start, value);

  offer (out, start, word, text);
}

static void
offer_options (FILE *out, const gchar *start, const GOptionEntry *entry)
{
  for (; entry->long_name != NULL; entry++) {
    g_autofree gchar *word = g_strdup_printf ("--%s", entry->long_name);
    g_autofree gchar *text = g_strndup (entry->description, strcspn (entry->description, ":;("));

    if ((entry->flags & G_OPTION_FLAG_HIDDEN) == 0)
      offer (out, start, word, g_strchomp (text));
  }
}

/* Offers the values of an option: those in its description, kernels or activations. */
static void
offer_values (FILE *out, const gchar *start, const GOptionEntry *entry)
{
  g_auto (GStrv) values = g_strsplit (entry->arg_description, "|", -1);

  for (guint i = 0; values[1] != NULL && values[i] != NULL; i++)
    if (g_ascii_islower (values[i][0]))
      offer_value (out, start, values[i], "");
  for (guint i = 0;
       strstr (entry->description, "kernel") != NULL &&
       g_str_has_prefix (entry->arg_description, "NAME") && i < gemmcl_get_n_kernels ();
       i++)
    offer_value (out, start, gemmcl_get_kernel (i)->name, gemmcl_get_kernel (i)->summary);
  for (guint i = 0; g_str_equal (entry->long_name, "activation") && i < GEMMCL_N_ACTIVATIONS; i++)
    offer_value (out, start, gemmcl_activation_get_name (i), gemmcl_activation_get_text (i));
}

/* Returns: (nullable): the option that @word is, or begins with before "=", if it takes a value. */
static const GOptionEntry *
find_option (const GOptionEntry *entry, const gchar *word)
{
  const gsize length = strcspn (word, "=");

  for (; entry->long_name != NULL; entry++)
    if (entry->arg_description != NULL &&
        ((word[0] == '-' && word[1] == entry->short_name && word[2] == '\0') ||
         (length > 2 && g_str_has_prefix (word, "--") && length - 2 == strlen (entry->long_name) &&
          strncmp (word + 2, entry->long_name, length - 2) == 0)))
      return entry;
  return NULL;
}

void
tool_complete (FILE *out, gchar **words, const ToolOptionGroup *group)
{
  const guint n = g_strv_length (words);
  const gchar *start = n > 0 ? words[n - 1] : "";
  /* bash makes three words of "--layout=row"; other shells make one. */
  const gboolean at_equals = g_str_equal (start, "=");
  const gboolean after_equals = n > 2 && g_str_equal (words[n - 2], "=");
  const gboolean has_equals = g_str_has_prefix (start, "--") && strchr (start, '=') != NULL;
  const gboolean is_help = n > 1 && g_str_equal (words[0], "help");
  const ToolCommand *command = n > 1 ? tool_find_command (words[0]) : NULL;

  if (n < 2 || is_help) {
    for (const ToolCommand *const *each = tool_commands; *each != NULL; each++)
      offer (out, start, (*each)->name, (*each)->summary);
    if (!is_help && *start == '-')
      offer_options (out, start, group->entries);
  }
  if (command == NULL)
    return;
  for (const ToolOptionGroup *each = command->groups; each->title != NULL; each++) {
    const GOptionEntry *option = find_option (each->entries, words[n - (has_equals     ? 1
                                                                        : after_equals ? 3
                                                                                       : 2)]);

    if (option != NULL) {
      offer_values (out, at_equals ? "" : start, option);
      return;
    }
  }
  if (*start != '-')
    return;
  for (const ToolOptionGroup *each = command->groups; each->title != NULL; each++)
    offer_options (out, start, each->entries);
  offer_options (out, start, tool_common_entries);
}
