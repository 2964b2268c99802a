/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include "../support/cl-parameters.h"

/* The start of an OpenCL layer: cl-layer-entry.c has the functions that the loader calls; each
 * module implements cl_layer_install(). */

/** The implementation below the layer. */
extern const cl_icd_dispatch *cl_next;

/** Replaces functions in @table by the layer's. Called once, after cl_next is set. */
void cl_layer_install (cl_icd_dispatch *table);

/** Answers a query like clGet*Info(). */
cl_int cl_answer (const void *from, size_t n, size_t room, void *to, size_t *n_ret);
