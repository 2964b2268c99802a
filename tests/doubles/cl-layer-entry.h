/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

/*
 * How an OpenCL layer begins: cl-layer-entry.c has the functions that the loader calls, and each
 * module brings cl_layer_install().
 */

/** What is below the layer. */
extern const cl_icd_dispatch *cl_next;

/** Puts the layer's functions in @table, which holds those below; called once, after cl_next is
 * set. */
void cl_layer_install (cl_icd_dispatch *table);

/** What clGet*Info() do with an answer. */
cl_int cl_answer (const void *from, size_t n, size_t room, void *to, size_t *n_ret);
