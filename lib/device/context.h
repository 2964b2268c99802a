/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A device's context, and the programs and weights that the context's plans share.
 */
#pragma once

#include "device/device.h"

/** The format of the images that kernels read. */
#define GEMMCL_IMAGE_FORMAT ((cl_image_format){CL_R, CL_UNSIGNED_INT32})

/** (transfer full): a context with a queue around @context, which is retained if it is @wrapped,
 * the caller's, and taken if not; %NULL with #GEMMCL_ERROR_OPENCL. */
GemmclContext *gemmcl_context_around (cl_context context, gboolean wrapped, GemmclDevice *device,
                                      GError **error);

/** Adds the inline device @id of the same OpenCL context, if it works, and measures launches. Call
 * it before the context has other users. */
void gemmcl_context_add_inline (GemmclContext *self, cl_device_id id);

/** (transfer none) (nullable): the context of the inline device. @launch_ns: (out): the nanoseconds
 * that a command takes less there */
GemmclContext *gemmcl_context_get_inline (GemmclContext *self, guint64 *launch_ns);

/** Builds the embedded program @source with @options and the options of every program, or takes it
 * from the context's table or the disk cache. Any thread; a thread waits only for another one that
 * builds the same program. Returns: (transfer full): its kernel @function, an object for this
 * caller alone, since setting arguments of a shared one is not thread-safe; %NULL with
 * #GEMMCL_ERROR_BUILD or #GEMMCL_ERROR_OPENCL. */
cl_kernel gemmcl_context_create_kernel (GemmclContext *self, const gchar *source,
                                        const gchar *options, const gchar *function,
                                        GError **error);

/** (transfer full): a read-write buffer; %NULL with #GEMMCL_ERROR_TOO_LARGE if the device does not
 * allow @size bytes, or #GEMMCL_ERROR_OPENCL. @what: the buffer's content, for messages */
cl_mem gemmcl_context_create_buffer (GemmclContext *self, gsize size, const gchar *what,
                                     GError **error);

/** (transfer full): an in-order queue besides the context's own; %NULL with #GEMMCL_ERROR_OPENCL.
 * @properties: CL_QUEUE_PROFILING_ENABLE, or 0 */
cl_command_queue gemmcl_context_create_queue (GemmclContext *self,
                                              cl_command_queue_properties properties,
                                              GError **error);

/* The context's queue may be replaced, because some drivers, Mesa's Rusticl among them, fail all
 * later commands of a queue in which a command failed. */

/** Sets @queue to the context's present queue. Returns: TRUE if that is another one than before.
 * @queue: (inout) (transfer full) (nullable) */
gboolean gemmcl_context_follow_queue (GemmclContext *self, cl_command_queue *queue);

/** Gives the context a new queue if @failed, in which a command failed, is its present one or a
 * copy queue of that. Then waits for the commands in the former one; other threads may use the new
 * queue meanwhile. Does nothing for other queues. If no queue can be created, the present one
 * stays. @failed: (nullable) */
void gemmcl_context_replace_queue (GemmclContext *self, cl_command_queue failed);

/** (transfer full): an in-order queue for the copies of runs whose kernels are in @of_kernels. A
 * run that failed leaves both queues, since a command that fails in one may spoil the other. %NULL
 * with #GEMMCL_ERROR_OPENCL. Release it with gemmcl_context_release_copy_queue(), before
 * @of_kernels. */
cl_command_queue gemmcl_context_create_copy_queue (GemmclContext *self, cl_command_queue of_kernels,
                                                   GError **error);
void gemmcl_context_release_copy_queue (GemmclContext *self, cl_command_queue queue);

/** B on the device in the form that a kernel reads. Reference-counted and immutable. Plans of one
 * context share it if their B has the same elements and is packed in the same way. Any thread. */
typedef struct _GemmclWeights GemmclWeights;

/** (transfer full): a key for sharing: @layout, which identifies the packing, and a hash of 128
 * bits of the @n elements, since a file's name and times do not prove that it is unchanged. */
gchar *gemmcl_weights_make_key (const gfloat *data, gsize n, const gchar *layout);

/** (transfer full): the context's weights with @key if they are alive; else new ones with @buffer;
 * %NULL if there is no buffer. @buffer: (inout) (transfer full): a buffer that no command may write
 * any more, or %NULL; afterwards the weights' buffer */
GemmclWeights *gemmcl_weights_share (GemmclContext *context, const gchar *key, cl_mem *buffer);

/** May be called while commands that use the buffer are enqueued. */
void gemmcl_weights_unref (GemmclWeights *self);
