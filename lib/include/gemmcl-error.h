/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/** The library is built with hidden symbols; what stands between these two is not. */
#define GEMMCL_BEGIN_DECLS G_BEGIN_DECLS _Pragma ("GCC visibility push(default)")
#define GEMMCL_END_DECLS   _Pragma ("GCC visibility pop") G_END_DECLS

GEMMCL_BEGIN_DECLS

/**
 * GEMMCL_ERROR:
 *
 * The domain of every #GError of this library. Each message is one or more sentences that say what
 * was expected, what was found and, where there is something to do, what to do. A failed OpenCL
 * call is named together with its error's name; a failed build carries the compiler's log.
 */
#define GEMMCL_ERROR (gemmcl_error_quark ())

/**
 * GemmclError:
 * @GEMMCL_ERROR_NO_DEVICE: no OpenCL device fits the query
 * @GEMMCL_ERROR_OPENCL: an OpenCL call failed
 * @GEMMCL_ERROR_BUILD: a kernel did not compile on the device
 * @GEMMCL_ERROR_INVALID: a problem that cannot be: sizes, leading dimensions, ranges that overlap
 * @GEMMCL_ERROR_SHAPE: matrices whose shapes do not fit one another
 * @GEMMCL_ERROR_FORMAT: the content of a file or a literal is not what it should be
 * @GEMMCL_ERROR_IO: a file cannot be opened, read or written
 * @GEMMCL_ERROR_KERNEL: no kernel of that name, or it cannot do this problem on this device
 * @GEMMCL_ERROR_TOO_LARGE: a size overflows, or is more than the device can hold
 */
typedef enum {
  GEMMCL_ERROR_NO_DEVICE,
  GEMMCL_ERROR_OPENCL,
  GEMMCL_ERROR_BUILD,
  GEMMCL_ERROR_INVALID,
  GEMMCL_ERROR_SHAPE,
  GEMMCL_ERROR_FORMAT,
  GEMMCL_ERROR_IO,
  GEMMCL_ERROR_KERNEL,
  GEMMCL_ERROR_TOO_LARGE,
} GemmclError;

GQuark gemmcl_error_quark (void);

GEMMCL_END_DECLS
