/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device/device.h"
#include "plan/weights.h"

/** The format of the images that kernels read. */
#define GEMMCL_IMAGE_FORMAT ((cl_image_format){CL_R, CL_UNSIGNED_INT32})

/**
 * gemmcl_context_create_kernel:
 * @source: the name of an embedded program, "gemm_naive.cl"
 * @options: the compiler's options; the language version and mad are added
 * @function: a kernel of it
 *
 * Builds the program, or takes it from the context's table or the disk's cache. Any thread; one
 * builds at a time.
 *
 * Returns: (transfer full): a kernel object of its own (arguments on a shared one are not safe
 *   between threads), or %NULL with #GEMMCL_ERROR_BUILD or #GEMMCL_ERROR_OPENCL.
 */
cl_kernel gemmcl_context_create_kernel (GemmclContext *self, const gchar *source,
                                        const gchar *options, const gchar *function,
                                        GError **error);

/** Returns: (transfer full): a read-write buffer for @what, as a message names it; %NULL with
 * #GEMMCL_ERROR_TOO_LARGE for more than the device allows, or #GEMMCL_ERROR_OPENCL. */
cl_mem gemmcl_context_create_buffer (GemmclContext *self, gsize size, const gchar *what,
                                     GError **error);

/** Returns: (transfer full): an in-order queue beside the context's own; %NULL with
 * #GEMMCL_ERROR_OPENCL. @properties: CL_QUEUE_PROFILING_ENABLE, or 0 */
cl_command_queue gemmcl_context_create_queue (GemmclContext *self,
                                              cl_command_queue_properties properties,
                                              GError **error);

/** Returns: (transfer none): the weights that the context's plans share. */
GemmclWeightsTable *gemmcl_context_get_weights (GemmclContext *self);
