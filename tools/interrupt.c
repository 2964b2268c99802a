/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interrupt.h"

#include <signal.h>

#include "tool.h"

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
  if (!interrupted)
    return TRUE;
  g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_INTERRUPTED, "Stopped by Ctrl-C.");
  return FALSE;
}
