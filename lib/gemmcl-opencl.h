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

#include "gemmcl-gemm.h"

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
 * @query: (nullable): which device; %NULL for the best one
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

/**
 * gemmcl_context_get_cl_queue:
 *
 * Returns: (transfer none): the context's in-order queue, with profiling; lives as long as @self.
 */
cl_command_queue gemmcl_context_get_cl_queue (GemmclContext *self);

/**
 * GemmclDeviceRun:
 * @m, @batch: as in #GemmclHostRun
 * @a, @d: device buffers, laid out as the problem says (pictures as gemmcl_image_get_planes() says,
 *   one after another). They may be one only where A is not read after D's first element is written
 * @b: (nullable): B, laid out as the problem says and packed anew for this run if the kernel wants
 *   that; %NULL for what gemmcl_plan_set_b() set
 * @c: (nullable): C, likewise; %NULL for what gemmcl_plan_set_c() set. With GEMMCL_ADDEND_OUTPUT it
 *   is @d and this means nothing
 * @rows: where the row outputs go, m x Q, those of a problem of all of the plan's m after the
 *   other; %NULL where there are none
 */
typedef struct {
  gsize m;
  gsize batch;
  cl_mem a;
  cl_mem b;
  cl_mem c;
  cl_mem d;
  cl_mem rows;
} GemmclDeviceRun;

/**
 * gemmcl_plan_enqueue:
 * @queue: a queue of the plan's context and device. A plan's runs must follow one another: in an
 *   in-order queue, or by their events
 * @wait, @n_wait: what must be done before
 * @first: (out) (optional): the first of the run's commands, whose profile tells the start
 * @last: (out) (optional): the last of them, done when D is; the caller releases both
 *
 * Enqueues the multiplication of device buffers and returns at once. Buffers may be released then.
 *
 * Returns: %FALSE with #GEMMCL_ERROR_OPENCL, or #GEMMCL_ERROR_INVALID as gemmcl_plan_run().
 */
gboolean gemmcl_plan_enqueue (GemmclPlan *self, const GemmclDeviceRun *run, cl_command_queue queue,
                              guint n_wait, const cl_event *wait, cl_event *first, cl_event *last,
                              GError **error);

/**
 * GemmclDeviceData:
 * @buffer: a buffer of the plan's OpenCL context
 * @offset: bytes in it before a matrix, in [0], or before the first row of each plane of a picture
 * @stride: for a picture the bytes from one row to the next of each plane; a matrix has ld instead
 *
 * What #GemmclHostData is for memory of the host.
 */
typedef struct {
  cl_mem buffer;
  gsize offset[GEMMCL_MAX_PLANES];
  gsize stride[GEMMCL_MAX_PLANES];
} GemmclDeviceData;

/**
 * GemmclPlaneImages:
 * @planes: two-dimensional images of the plan's OpenCL context, one for each plane of a picture of
 *   GRAY8, GRAY16_LE, NV12, I420 or P010_10LE, of the plane's size or larger, with the plane's
 *   samples in the first channel (CL_R), or in the first two (CL_RG) where there are two at each of
 *   its places; CL_UNORM_INT8, or CL_UNORM_INT16 where they have two bytes
 *
 * A picture whose layout in memory only OpenCL knows, such as a surface of a media API.
 */
typedef struct {
  cl_mem planes[GEMMCL_MAX_PLANES];
} GemmclPlaneImages;

/**
 * GemmclHandover:
 *
 * What clEnqueueAcquireVA_APIMediaSurfacesINTEL(), clEnqueueAcquireExternalMemObjectsKHR(), their
 * like, and the releases that go with them, all are.
 */
typedef cl_int (CL_API_CALL *GemmclHandover) (cl_command_queue queue, cl_uint n,
                                              const cl_mem *objects, cl_uint n_wait,
                                              const cl_event *wait, cl_event *done);

/**
 * GemmclMixedRun:
 * @m, @batch: as in #GemmclHostRun
 * @host_a, @host_d: (nullable): as its @a and @d, for what is on the host
 * @device_a, @device_d: (nullable) (array length=batch): in place of these, for what is on the
 *   device; not in use any more once the run was submitted
 * @planes_a: (nullable) (array length=batch): likewise, where A is pictures in images
 * @acquire, @release: (nullable): how the objects in @device_a or @planes_a are taken from whoever
 *   shares them, and given back: the library calls both from gemmcl_plan_submit_mixed(), each once
 *   and with each object once, if A is read at all. They have the objects from the first command
 *   that reads one to the last, which of images is not the product, but a step before it. Whatever
 *   fails, what was acquired is released, and once the run is finished that has come to pass
 * @rows: as in #GemmclHostRun
 * @previous: (nullable): with #GEMMCL_ADDEND_OUTPUT and D on the device, the buffer in which the
 *   previous output still lies, from its start and without gaps; %NULL: zeros
 * @keeps_d: with #GEMMCL_ADDEND_OUTPUT and D on the host: the caller leaves what the run writes
 *   alone until the next one is finished, and tells that by @host_previous where it is. D is then
 *   not copied for it where the device shares the host's memory
 * @host_previous: (nullable) (array length=batch): with #GEMMCL_ADDEND_OUTPUT and D on the host:
 *   the previous output, laid out as D, if that run had @keeps_d; %NULL: what the plan has kept
 * @wait, @n_wait: what must be done before buffers of the device are read and written
 *
 * A run of which A, D, both or neither are on the device. Where such a buffer holds what it has to
 * from its start and without gaps, and the run has one problem, it is worked in; otherwise there is
 * a copy, on the device. Of planes a kernel makes what the other steps read: bytes, as they are in
 * host memory, so that the results are the same to the last bit.
 */
typedef struct {
  gsize m;
  gsize batch;
  const GemmclHostData *host_a;
  const GemmclHostData *host_d;
  const GemmclDeviceData *device_a;
  const GemmclDeviceData *device_d;
  const GemmclPlaneImages *planes_a;
  GemmclHandover acquire;
  GemmclHandover release;
  gfloat *const *rows;
  cl_mem previous;
  gboolean keeps_d;
  const GemmclHostData *host_previous;
  guint n_wait;
  const cl_event *wait;
} GemmclMixedRun;

/**
 * gemmcl_plan_submit_mixed:
 * @run: where the data is
 * @done: (out) (optional) (transfer full): of the last command of the run that uses buffers of the
 *   device, in the context's queue or one of the plan's
 *
 * As gemmcl_plan_submit(), and to be finished likewise. What is on the device is not copied to the
 * host or from there, nor counted by gemmcl_plan_get_stats(); buffers may be released at once.
 *
 * Returns: (transfer none): %NULL with the errors of gemmcl_plan_submit(), and
 * #GEMMCL_ERROR_INVALID when images are not what #GemmclPlaneImages says.
 */
GemmclPendingRun *gemmcl_plan_submit_mixed (GemmclPlan *self, const GemmclMixedRun *run,
                                            cl_event *done, GError **error);

GEMMCL_END_DECLS
