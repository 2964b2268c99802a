/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-matrix.h"

/* What the reader and the writer of .npy files share. */

#define GEMMCL_NPY_MAGIC     "\x93NUMPY"
#define GEMMCL_NPY_PREFIX_V1 10 /* magic, version, u16 length of the header */
#define GEMMCL_NPY_PREFIX_V2 12 /* the same with a u32 */

/** gemmcl_npy_find_type: Returns: whether NumPy's name @descr is that of a @type, bf16 left out. */
gboolean gemmcl_npy_find_type (const gchar *descr, GemmclType *type);
