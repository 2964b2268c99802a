/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calls of OpenCL, a device, its context, and the programs and weights that the context's plans
 * share.
 */
#pragma once

#include "device/base.h"
#include "gemmcl-opencl.h"

/* Scoped OpenCL objects */

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_context, clReleaseContext, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_command_queue, clReleaseCommandQueue, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_program, clReleaseProgram, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_kernel, clReleaseKernel, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_mem, clReleaseMemObject, NULL)
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_event, clReleaseEvent, NULL)

/* opencl.c: OpenCL's errors as GErrors, and chains of commands */

/** The name of @status, "CL_INVALID_VALUE" for example; static. */
const gchar *gemmcl_cl_error_name (cl_int status);

/** TRUE if @status is CL_SUCCESS; else FALSE with #GEMMCL_ERROR_OPENCL. @call: the name of the call
 * and, if it helps, its purpose: "clCreateBuffer for D (64 bytes)" */
gboolean gemmcl_cl_check (cl_int status, GError **error, const gchar *call, ...)
    G_GNUC_PRINTF (3, 4);

/** A chain of commands in one or more queues. Each command waits for the one before, so that a
 * failure reaches all later commands, and all are done when the last one is. Do not move a chain:
 * @wait may point into it. */
typedef struct {
  cl_command_queue queue; /* of the next command */
  /* An event for each command. Keep them until the last command is done: when an event fails, PoCL
   * 3 also fails the commands that wait for it, and accesses the failed event once more. */
  GPtrArray *events;
  guint n_wait; /* events that the next command waits for */
  const cl_event *wait;
  cl_event first, kernel, last; /* the first and the last kernel, the last command */
  /* The largest number of work-items of a launch. A larger kernel is launched in slices along its
   * first dimension, and the queue is finished between them, so that other queues get their turn.
   * 0: no limit. */
  gsize slice;
  gboolean warm_up; /* launch only as much of each kernel as makes PoCL compile it */
} GemmclChain;

/** An array that releases its events when they are removed. */
GPtrArray *gemmcl_events_new (void);

/** The execution status of @event: CL_COMPLETE, positive before that, negative if the command
 * failed or if its status cannot be known. */
cl_int gemmcl_event_get_status (cl_event event);

/** Returns: an OpenCL status. @ns: (out): nanoseconds from the start of @first to the end of @last
 * by the device's clock; 0 if the queue does not report them, or if no command can be as short */
cl_int gemmcl_events_get_duration (cl_event first, cl_event last, guint64 *ns);

/** The wait-list arguments of a clEnqueue function, which requires NULL for an empty list. */
#define CHAIN_WAIT(chain) (chain)->n_wait, (chain)->n_wait > 0 ? (chain)->wait : NULL

/** Adds a command to the chain, unless it failed: @status is the result of a clEnqueue function
 * that was called with CHAIN_WAIT() and @done (transfer full). @what: the command, in a message */
gboolean gemmcl_chain_add (GemmclChain *chain, cl_int status, cl_event done, const gchar *what,
                           GError **error);

/** The size of a one-dimensional work-group whose work-items share nothing. */
#define GROUP 64

#define ROUND_UP(n, group) (((n) + (group)-1) / (group) * (group))

/** Sets the arguments of @kernel and adds its launch to the chain. The arguments follow @error,
 * each as ARGUMENT(), and end with a size of 0. @name: the kernel's name in messages; @global: a
 * multiple of @local; @local: the size of a work-group, which is never left to the driver, since
 * PoCL would compile the kernel again for each size */
gboolean gemmcl_chain_launch (GemmclChain *chain, cl_kernel kernel, const gchar *name,
                              const gsize global[3], const gsize local[3], GError **error, ...);

/** A work-group of @n work-items along the first dimension. */
#define IN_A_ROW(n) ((const gsize[3]){n, 1, 1})

#define ARGUMENT(value) sizeof (value), &(value)

/** gemmcl_chain_launch() with the final size of 0. */
#define LAUNCH(...) gemmcl_chain_launch (__VA_ARGS__, (gsize)0)

/* device.c */

typedef struct {
  GemmclDeviceInfo info; /* first: a list of GemmclDeviceInfo holds GemmclDevices */
  cl_platform_id platform;
  cl_device_id id;
  guint platform_index;
  gboolean is_default;
} GemmclDevice;

/** TRUE if the driver is Mesa's Rusticl. */
static inline gboolean
gemmcl_device_is_rusticl (const GemmclDeviceInfo *info)
{
  return g_str_equal (info->platform, "rusticl");
}

/** (transfer full): the description of @id; %NULL with #GEMMCL_ERROR_OPENCL. */
GemmclDevice *gemmcl_device_new (cl_device_id id, GError **error);
void gemmcl_device_free (GemmclDevice *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GemmclDevice, gemmcl_device_free)

/** Sets the problem that later descriptions of this device have. @problem: (nullable): none */
void gemmcl_device_set_problem (const GemmclDevice *self, const gchar *problem);

/** The largest number of platforms, of devices of a platform, and of devices of a context whose
 * programs are cached. */
#define GEMMCL_MAX_DEVICES 256

/** (transfer full): valid UTF-8 without leading and trailing spaces; "" after a failure. */
gchar *gemmcl_platform_get_string (cl_platform_id platform, cl_platform_info what);

/** 30 for "OpenCL 3.0 ..." and so on; 0 if @version is malformed. */
guint gemmcl_cl_get_version (const gchar *version);

/* query.c */

/** Held while OpenCL lists platforms and devices or makes a context: drivers set themselves up at
 * the first such call, and PoCL finds no device, or crashes, if two threads make it at once. */
extern GMutex gemmcl_driver_lock;

/** TRUE if @query has a device's name or number. @query: (nullable) */
gboolean gemmcl_device_query_is_named (const GemmclDeviceQuery *query);

/* program.c: the embedded programs */

/** An embedded text: a program with its includes inlined, or the measurements that ship. The name
 * of the last one is NULL. */
typedef struct {
  const gchar *name;
  const gchar *text;
} GemmclEmbedded;

extern const GemmclEmbedded gemmcl_embedded[];

/** Marks programs with instructions of sm_90a, a target that NVIDIA's OpenCL compiler does not
 * offer. The compiler's output for such a program, PTX for sm_90, passes through
 * gemmcl_ptx_retarget() and is built again. */
#define GEMMCL_SM_90A " -DSM_90A"

/** (transfer full): @ptx with the target sm_90a in place of sm_90, and with the instructions after
 * //@ uncommented. %NULL with #GEMMCL_ERROR_BUILD if @ptx is not PTX for sm_90 with such
 * comments. */
gchar *gemmcl_ptx_retarget (const gchar *ptx, GError **error);

/** The embedded text @name; %NULL if there is none. */
const gchar *gemmcl_embedded_get_text (const gchar *name);

/** (transfer full): @options and the options of every program. The language is OpenCL C 1.2 unless
 * @options has a -cl-std. */
gchar *gemmcl_program_complete_options (const gchar *options);

/** (transfer full): a key for the disk cache: of @text compiled with @options for the device, or,
 * with a kernel's name as @options, of that kernel's proof. */
gchar *gemmcl_program_make_key (const GemmclDeviceInfo *device, const gchar *text,
                                const gchar *options);

/** Builds the embedded program @source from the binary in the disk cache. If there is none,
 * compiles it, which may take seconds, stores the binary in the cache and logs that at level INFO.
 * @compiled: (out): TRUE if it was compiled. Returns: (transfer full): a built program, or %NULL
 * with #GEMMCL_ERROR_BUILD, which carries the compiler's log. */
cl_program gemmcl_program_build (cl_context context, const GemmclDevice *device,
                                 const gchar *source, const gchar *options, gboolean *compiled,
                                 GError **error);

/* context.c */

/** The format of the images that kernels read. */
#define GEMMCL_IMAGE_FORMAT ((cl_image_format){CL_R, CL_UNSIGNED_INT32})

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

/** Replaces @queue, which may be NULL, by the context's present one. Returns: TRUE if it is another
 * one. @queue: (inout) (transfer full) */
gboolean gemmcl_context_follow_queue (GemmclContext *self, cl_command_queue *queue);

/** Gives the context a new queue if @failed, in which a command failed, is its present one or a
 * copy queue of that. Then waits for the commands in the former one; other threads may use the new
 * queue meanwhile. Does nothing for other queues. If no queue can be created, the present one
 * stays. @failed: (nullable) */
void gemmcl_context_replace_queue (GemmclContext *self, cl_command_queue failed);

/** (transfer full): an in-order queue for copies from and to commands in @of_kernels, which a run
 * leaves together: a failed command in one of both may have spoiled the other. %NULL with
 * #GEMMCL_ERROR_OPENCL. Release it with gemmcl_context_release_copy_queue(), before @of_kernels. */
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

/* wait.c */

/** Waits for a command: @status is the result of a clEnqueue function with @done (transfer full),
 * and @what the command, in a message. FALSE with #GEMMCL_ERROR_OPENCL if it failed. For commands
 * that do not block: a failure after a command was accepted shows only in its event. */
gboolean gemmcl_context_finish (GemmclContext *self, cl_int status, cl_event done,
                                const gchar *what, GError **error);
