/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* OpenCL for the library's own files: its types freed by scope, its errors as GErrors. */
#include "device/error.h"
#include "gemmcl-opencl.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_context, clReleaseContext, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_command_queue, clReleaseCommandQueue, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_program, clReleaseProgram, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_kernel, clReleaseKernel, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)

/** Returns: "CL_INVALID_VALUE" and so on; static. */
const gchar *gemmcl_cl_error_name (cl_int status);

/** Returns: whether @status is CL_SUCCESS; else %FALSE with #GEMMCL_ERROR_OPENCL. @call: the name
 * of the call and, if it helps, what it was for: "clCreateBuffer for D (64 bytes)" */
gboolean gemmcl_cl_check (cl_int status, GError **error, const gchar *call, ...)
    G_GNUC_PRINTF (3, 4);
