/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An OpenCL device, its context, and the programs and weights that plans of it share.
 */
#pragma once

#include "device/base.h"
#include "gemmcl-opencl.h"

/* error.c: OpenCL's types, freed by scope, and its errors as GErrors */

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

/* device.c */

/** An OpenCL device that was found. */
typedef struct {
  GemmclDeviceInfo info; /* first, so that a GemmclDeviceInfo of a list is the whole device */
  cl_platform_id platform;
  cl_device_id id;
  guint platform_index;
  gboolean is_default;
} GemmclDevice;

/** Returns: (transfer full): what @id is; %NULL with #GEMMCL_ERROR_OPENCL. */
GemmclDevice *gemmcl_device_new (cl_device_id id, GError **error);
void gemmcl_device_free (GemmclDevice *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclDevice, gemmcl_device_free)

/** Returns: 30 for "OpenCL 3.0 ..." and so on; 0 for what is no version. */
guint gemmcl_cl_get_version (const gchar *version);

/* program.c: the embedded programs */

/** An embedded program's text, includes inlined; the last one's name is NULL. */
typedef struct {
  const gchar *name;
  const gchar *text;
} GemmclSource;

extern const GemmclSource gemmcl_sources[];

/** Returns: the text of the embedded program @name; %NULL: there is none. */
const gchar *gemmcl_program_get_text (const gchar *name);

/** Returns: (transfer full): @options with those of all programs. The language is OpenCL C 1.2
 * unless they have another -cl-std. */
gchar *gemmcl_program_complete_options (const gchar *options);

/**
 * gemmcl_program_build:
 * @source: the name of an embedded program
 * @compiled: (out): the program was compiled, not found in the disk's cache
 *
 * Takes the program's binary from the disk's cache when one fits; else compiles the source, which
 * may take seconds, writes the binary there and says so in the log, at level INFO.
 *
 * Returns: (transfer full): a built program, or %NULL with #GEMMCL_ERROR_BUILD, which carries the
 *   compiler's log.
 */
cl_program gemmcl_program_build (cl_context context, const GemmclDevice *device,
                                 const gchar *source, const gchar *options, gboolean *compiled,
                                 GError **error);

/* weights.c */

/**
 * B on the device, as a kernel wants it, counted by reference. Plans of one context that have the
 * same numbers, packed the same way, share one; the last to let go of it frees it. Never written
 * again.
 */
typedef struct _GemmclWeights GemmclWeights;

/** Those of a context that are alive. Any thread. */
typedef struct {
  GMutex lock;
  GHashTable *alive; /* GemmclWeights.key -> GemmclWeights, which are not owned */
  guint64 bytes;     /* of all of them */
} GemmclWeightsTable;

void gemmcl_weights_table_init (GemmclWeightsTable *self);

/** Clears a table of which none is alive any more. */
void gemmcl_weights_table_clear (GemmclWeightsTable *self);

/** Returns: (transfer full): what two can share by: @layout, which says how they are packed, and a
 * hash of 128 bits of the @n numbers, since a file's name and times do not tell whether it was
 * written anew. */
gchar *gemmcl_weights_make_key (const gfloat *data, gsize n, const gchar *layout);

/** Returns: (transfer full) (nullable): those of @key, if they are alive. */
GemmclWeights *gemmcl_weights_find (GemmclWeightsTable *table, const gchar *key);

/** Returns: (transfer full): @buffer (transfer full), which no command writes any more, for all who
 * ask for @key from now on; or what somebody else was quicker to share, and releases @buffer. */
GemmclWeights *gemmcl_weights_share (GemmclWeightsTable *table, const gchar *key, cl_mem buffer);

/** Returns: (transfer none): a buffer or an image. */
cl_mem gemmcl_weights_get_buffer (const GemmclWeights *self);

/** Commands that are enqueued keep the buffer until they are done. */
void gemmcl_weights_unref (GemmclWeights *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclWeights, gemmcl_weights_unref)

/* context.c */

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
