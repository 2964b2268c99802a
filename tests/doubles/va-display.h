/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <va/va.h>

/**
 * Makes a display that needs neither a window system nor /dev/dri: libva loads whichever driver
 * LIBVA_DRIVER_NAME names for it, the double if that is unset.
 * Returns: (nullable): to be ended with vaTerminate(), which frees it; NULL if there is no driver.
 */
VADisplay va_display_new (void);
