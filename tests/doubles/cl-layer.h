/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "cl-layer-entry.h"

/* The OpenCL layer of the tests. It has three parts:
 *
 *   brief    (cl-layer.c) cuts PoCL's compile time to a quarter if GEMMCL_TEST_BRIEF is set. PoCL
 *            compiles without optimisation, which changes results only by rounding. It compiles
 *            each kernel once more for a binary, so programs report that they have none. The cache
 *            of the library therefore gets no unoptimised binaries.
 *   strict   (cl-strict.c) refuses calls that other drivers refuse and PoCL accepts.
 *   sharing  (cl-sharing.c, cl-objects.c) adds extensions under run.sh. */

/** Returns: FALSE if GEMMCL_DOUBLES_WITHOUT, a list with commas, has @part. */
gboolean layer_has (const gchar *part);

/** Returns: the error of a call that fails on request (doubles_fault), or CL_SUCCESS. */
cl_int layer_fault (const gchar *function);

/* Each replaces functions of the implementation in @table. */
void strict_install (cl_icd_dispatch *table);
void sharing_install (cl_icd_dispatch *table);
