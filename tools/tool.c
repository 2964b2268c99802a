/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool.h"

#include <signal.h>

#define ADDRESS(name) &tool_##name,
const ToolCommand *const tool_commands[] = {TOOL_COMMANDS (ADDRESS) NULL};

const ToolCommand *
tool_find_command (const gchar *name)
{
  for (const ToolCommand *const *command = tool_commands; *command != NULL; command++)
    if (g_str_equal (name, (*command)->name))
      return *command;
  return NULL;
}

/* clang-format off */
G_DEFINE_QUARK (gemmcl-tool-error-quark, tool_error)
/* clang-format on */

gboolean
tool_set_error (GError **error, ToolError code, const gchar *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_propagate_error (error, g_error_new_valist (TOOL_ERROR, (gint)code, format, arguments));
  va_end (arguments);
  return FALSE;
}

static volatile sig_atomic_t interrupted;

static void
on_interrupt (G_GNUC_UNUSED int number)
{
  interrupted = 1;
}

void
tool_catch_interrupt (void)
{
  struct sigaction action = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND | SA_RESTART};

  sigaction (SIGINT, &action, NULL);
}

gboolean
tool_check_interrupt (GError **error)
{
  return !interrupted || tool_set_error (error, TOOL_ERROR_INTERRUPTED, "Stopped by Ctrl-C.");
}
