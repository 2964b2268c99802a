/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <va/va.h>

/**
 * Makes a display that needs neither a window system nor /dev/dri. libva loads the driver of
 * LIBVA_DRIVER_NAME for it; the double if that is unset.
 * Returns: (nullable): the display, which vaTerminate() frees; NULL without the driver.
 */
VADisplay va_display_new (void);
