/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

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
