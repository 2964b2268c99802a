/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "device.h"
#include "weights.h"

/** GEMMCL_IMAGE_FORMAT: of the images that kernels read. */
#define GEMMCL_IMAGE_FORMAT ((cl_image_format){CL_R, CL_UNSIGNED_INT32})

/**
 * gemmcl_context_create_kernel:
 * @source: the name of an embedded program, "gemm_naive.cl"
 * @options: the compiler's options; the language version and mad are added
 * @function: a kernel of it
 *
 * Builds the program, or takes it from this context's table or the disk's cache. Any thread; one
 * builds at a time.
 *
 * Returns: (transfer full): a kernel object of its own (arguments on a shared one are not safe
 *   between threads), or %NULL with #GEMMCL_ERROR_BUILD or #GEMMCL_ERROR_OPENCL.
 */
cl_kernel gemmcl_context_create_kernel (GemmclContext *self, const gchar *source,
                                        const gchar *options, const gchar *function,
                                        GError **error);

/**
 * gemmcl_context_create_buffer:
 * @what: for the message: "B, packed"
 *
 * Returns: (transfer full): a read-write buffer, or %NULL with #GEMMCL_ERROR_TOO_LARGE when @size
 * is more than the device allows, or #GEMMCL_ERROR_OPENCL.
 */
cl_mem gemmcl_context_create_buffer (GemmclContext *self, gsize size, const gchar *what,
                                     GError **error);

/**
 * gemmcl_context_create_queue:
 * @properties: CL_QUEUE_PROFILING_ENABLE, or 0
 *
 * Returns: (transfer full): an in-order queue beside the context's own, or %NULL with
 *   #GEMMCL_ERROR_OPENCL.
 */
cl_command_queue gemmcl_context_create_queue (GemmclContext *self,
                                              cl_command_queue_properties properties,
                                              GError **error);

/** gemmcl_context_get_weights: Returns: (transfer none): what its plans share; lives as @self. */
GemmclWeightsTable *gemmcl_context_get_weights (GemmclContext *self);
