/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

/*
 * The start of an OpenCL layer: cl-layer-entry.c has the functions that the loader calls; each
 * module implements cl_layer_install().
 */

/** The implementation below the layer. */
extern const cl_icd_dispatch *cl_next;

/** Replaces functions of the implementation in @table by the layer's. Called once, after cl_next is
 * set. */
void cl_layer_install (cl_icd_dispatch *table);

/** Answers a query like clGet*Info(). */
cl_int cl_answer (const void *from, size_t n, size_t room, void *to, size_t *n_ret);

/** The parameters that many commands share, and the arguments in the same order. */
#define WAIT_PARAMETERS cl_uint n_waits, const cl_event *waits, cl_event *event
#define WAIT_ARGUMENTS  n_waits, waits, event
#define RECT_PARAMETERS                                                                            \
  const size_t *origin, const size_t *host_origin, const size_t *region, size_t row, size_t slice, \
      size_t host_row, size_t host_slice
#define RECT_ARGUMENTS origin, host_origin, region, row, slice, host_row, host_slice
#define MAP_PARAMETERS                                                                             \
  cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,      \
      size_t size, WAIT_PARAMETERS, cl_int *status
