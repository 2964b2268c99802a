/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/** Ctrl-C, for commands that have something to finish or to write before they end. */

/** tool_catch_interrupt: From now on tool_check_interrupt() tells of the first Ctrl-C; the second
 * one does what it always does. */
void tool_catch_interrupt (void);

/** tool_check_interrupt: Returns: %FALSE with %TOOL_ERROR_INTERRUPTED once there was a Ctrl-C. */
gboolean tool_check_interrupt (GError **error);
