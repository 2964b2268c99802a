/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Functions with OpenCL's types, for programs with OpenCL objects of their own. Define
 * CL_TARGET_OPENCL_VERSION before including this header to use another version of OpenCL than 3.0.
 */
/* g-ir-scanner would list the macro as one of this library. */
#ifndef __GI_SCANNER__
  #ifndef CL_TARGET_OPENCL_VERSION
    #define CL_TARGET_OPENCL_VERSION 300
  #endif
#endif
#include <CL/cl.h>

#include "gemmcl.h"

GEMMCL_BEGIN_DECLS

/**
 * gemmcl_context_get_wrapped:
 * @context: (type gpointer): an OpenCL context; retained
 * @device: (type gpointer) (nullable): a device of @context; %NULL for its first
 *
 * Returns: (transfer full): a context around @context, with a queue of its own; or the existing one
 *   for the same @context and @device while that is alive, which gemmcl_context_get_shared() may
 *   have made. %NULL with %GEMMCL_ERROR_INVALID (@device does not belong to @context) or
 *   %GEMMCL_ERROR_OPENCL, also if the device of an existing one does not answer any more.
 */
GemmclContext *gemmcl_context_get_wrapped (cl_context context, cl_device_id device, GError **error);

/**
 * gemmcl_context_get_shared_with:
 * @query: (nullable): the selection; %NULL for the preferred device
 * @properties: (type gpointer) (nullable): properties for clCreateContext() besides the platform,
 *   for example CL_CONTEXT_VA_API_DISPLAY_INTEL: names and values alternately, then 0; %NULL for
 *   none
 *
 * Like gemmcl_context_get_shared(), but makes a context with @properties, and returns an existing
 * one only if it was made with all of them. It may have more. A device on which that fails is not
 * passed over, unless a context without properties could not be made either.
 *
 * Returns: (transfer full): the context, or %NULL.
 */
GemmclContext *gemmcl_context_get_shared_with (const GemmclDeviceQuery *query,
                                               const cl_context_properties *properties,
                                               GError **error);

/**
 * gemmcl_context_is_wrapped:
 *
 * Returns: %TRUE if the caller made the OpenCL context, %FALSE if the library did.
 */
gboolean gemmcl_context_is_wrapped (GemmclContext *self);

/**
 * gemmcl_context_get_cl_context:
 *
 * Returns: (type gpointer) (transfer none): the OpenCL context; valid as long as @self.
 */
cl_context gemmcl_context_get_cl_context (GemmclContext *self);

/**
 * gemmcl_context_get_cl_device:
 *
 * Returns: (type gpointer) (transfer none): the OpenCL device; valid as long as @self.
 */
cl_device_id gemmcl_context_get_cl_device (GemmclContext *self);

/**
 * gemmcl_context_get_cl_queue:
 *
 * Returns: (type gpointer) (transfer none): the context's queue, in-order and with profiling; valid
 *   as long as @self. After a command failed the context may have another one, since some drivers
 *   fail all later commands in the queue of a failed one. The new queue does not wait for the old
 *   one: a command that needs the result of an earlier one must wait for its event.
 */
cl_command_queue gemmcl_context_get_cl_queue (GemmclContext *self);

/**
 * gemmcl_context_create_inline_queue:
 *
 * Makes a queue for short commands that wait for nothing, such as the map of a buffer that no
 * unfinished command uses: PoCL's inline device (gemmcl_plan_new()) ends each of them before the
 * function that enqueues it returns. Commands in this queue must not wait for events.
 *
 * Returns: (type gpointer) (transfer full) (nullable): an out-of-order queue of the inline device,
 *   in the same OpenCL context; %NULL if @self has no inline device.
 */
cl_command_queue gemmcl_context_create_inline_queue (GemmclContext *self);

/**
 * gemmcl_context_wait:
 * @event: (type gpointer): the event of a command on the context's device, for example of a run
 *
 * Waits until the command has ended. If clWaitForEvents() itself fails, waits for all commands in
 * the queue of @event. After a failure in the context's queue the context gets a new one (see
 * gemmcl_context_get_cl_queue()), and the call also waits for all commands in the old one. A run
 * without a queue of the caller is in the context's queue, or was complete when its submission
 * returned (gemmcl_plan_new()).
 *
 * Returns: CL_SUCCESS (0) if the command is complete. A negative OpenCL status if it or the wait
 *   failed: its results are then undefined.
 */
gint gemmcl_context_wait (GemmclContext *self, cl_event event);

/**
 * GemmclHandover: (skip)
 *
 * The type of GemmclRun.acquire and GemmclRun.release: clEnqueueAcquireExternalMemObjectsKHR(),
 * clEnqueueAcquireVA_APIMediaSurfacesINTEL() and the like, and their release counterparts.
 */
typedef cl_int (CL_API_CALL *GemmclHandover) (cl_command_queue queue, cl_uint n,
                                              const cl_mem *objects, cl_uint n_wait,
                                              const cl_event *wait, cl_event *done);

GEMMCL_END_DECLS
