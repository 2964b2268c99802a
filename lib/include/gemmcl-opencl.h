/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/**
 * The part of the library that shows OpenCL's types: for programs that have a cl_context or device
 * buffers of their own. Include it after defining CL_TARGET_OPENCL_VERSION if that matters to you;
 * otherwise it is 300.
 */
#ifndef CL_TARGET_OPENCL_VERSION
  #define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include "gemmcl.h"

GEMMCL_BEGIN_DECLS

/**
 * gemmcl_context_new_wrapped:
 * @context: an OpenCL context; retained
 * @device: one of its devices; %NULL for its first
 *
 * Returns: (transfer full): a context around @context, with a queue of its own, or %NULL with
 *   #GEMMCL_ERROR_INVALID (the device is not one of the context's) or #GEMMCL_ERROR_OPENCL.
 */
GemmclContext *gemmcl_context_new_wrapped (cl_context context, cl_device_id device, GError **error);

/**
 * gemmcl_context_get_wrapped:
 *
 * As gemmcl_context_new_wrapped(), but whoever asks for the same @context and @device while such a
 * context is alive gets that. It may also be what gemmcl_context_get_shared() gave, if @context is
 * that one's.
 */
GemmclContext *gemmcl_context_get_wrapped (cl_context context, cl_device_id device, GError **error);

/**
 * gemmcl_context_get_shared_with:
 * @properties: (nullable): what clCreateContext() is to be told besides the platform: names and
 *   values by turns, then 0; %NULL for nothing. CL_CONTEXT_VA_API_DISPLAY_INTEL, say
 *
 * As gemmcl_context_get_shared(), which is this with %NULL, but what is alive is taken only if it
 * was made with all of @properties; it may have been made with more.
 */
GemmclContext *gemmcl_context_get_shared_with (const GemmclDeviceQuery *query,
                                               const cl_context_properties *properties,
                                               GError **error);

/** gemmcl_context_has_properties: Returns: whether its OpenCL context was made with all of them. */
gboolean gemmcl_context_has_properties (GemmclContext *self,
                                        const cl_context_properties *properties);

/** gemmcl_context_is_wrapped: Returns: whether somebody else made its OpenCL context. */
gboolean gemmcl_context_is_wrapped (GemmclContext *self);

/** gemmcl_context_get_cl_context: Returns: (transfer none): lives as long as @self. */
cl_context gemmcl_context_get_cl_context (GemmclContext *self);

/** gemmcl_context_get_cl_device: Returns: (transfer none): lives as long as @self. */
cl_device_id gemmcl_context_get_cl_device (GemmclContext *self);

/** gemmcl_context_get_cl_queue: Returns: (transfer none): the context's in-order queue, with
 * profiling; lives as long as @self. */
cl_command_queue gemmcl_context_get_cl_queue (GemmclContext *self);

/**
 * GemmclHandover: The type of the functions in GemmclRun.acquire and GemmclRun.release:
 * clEnqueueAcquireVA_APIMediaSurfacesINTEL(), clEnqueueAcquireExternalMemObjectsKHR() and their
 * like, and the releases that go with them.
 */
typedef cl_int (CL_API_CALL *GemmclHandover) (cl_command_queue queue, cl_uint n,
                                              const cl_mem *objects, cl_uint n_wait,
                                              const cl_event *wait, cl_event *done);

GEMMCL_END_DECLS
