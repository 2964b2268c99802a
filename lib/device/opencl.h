/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenCL's objects in scopes, its errors as GErrors, and work that the process's exit waits for.
 */
#pragma once

#include "device/base.h"
#include "gemmcl-opencl.h"

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_context, clReleaseContext, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_command_queue, clReleaseCommandQueue, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_program, clReleaseProgram, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_kernel, clReleaseKernel, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)

/** The name of @status, "CL_INVALID_VALUE" for example; static. */
const gchar *gemmcl_cl_error_name (cl_int status);

/** TRUE if @status is CL_SUCCESS; else FALSE with #GEMMCL_ERROR_OPENCL. @call: the name of the call
 * and, if it helps, its purpose: "clCreateBuffer for D (64 bytes)" */
gboolean gemmcl_cl_check (cl_int status, GError **error, const gchar *call, ...)
    G_GNUC_PRINTF (3, 4);

/** Begins work in a driver that must not go on while the process exits: compilers crash if exit()
 * destroys their static objects meanwhile. exit() cancels @cancellable (nullable), then waits for
 * the work of other threads to end, at most five seconds. Any thread; work may nest. FALSE with
 * #GEMMCL_ERROR_OPENCL once exit() was called. */
gboolean gemmcl_cl_begin_work (GCancellable *cancellable, GError **error);

/** Ends the calling thread's last work. */
void gemmcl_cl_end_work (void);
