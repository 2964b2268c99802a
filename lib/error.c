/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gemmcl-error.h"

G_DEFINE_QUARK (gemmcl - error - quark, gemmcl_error)
