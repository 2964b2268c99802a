/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cl-objects.h"
#include "record.h"

/**
 * Before a command moves bytes: counts it, and separately if one of its objects is shared, which
 * must then be acquired. An image of a surface's plane is refused, since the double's have other
 * elements than the driver's: kernels are the way to read it.
 * @function: its name
 * @count: what it is
 * @bytes: (nullable): where its bytes are counted
 * @mem, @other: (nullable) what it touches
 * @n: bytes
 * Returns: the error to refuse it with.
 */
cl_int cl_check_transfer (const gchar *function, Count count, const Count *bytes, cl_mem mem,
                          cl_mem other, gsize n);
