/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <CL/cl_ext.h>

/* Headers before 2024 call it otherwise. */
#ifndef CL_MEM_DEVICE_HANDLE_LIST_KHR
  #define CL_MEM_DEVICE_HANDLE_LIST_KHR     CL_DEVICE_HANDLE_LIST_KHR
  #define CL_MEM_DEVICE_HANDLE_LIST_END_KHR CL_DEVICE_HANDLE_LIST_END_KHR
#endif
