/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A context: its queue, and the programs and weights that its plans share. open.c makes it.
 */

/* For clCreateCommandQueue(), whose successor does not exist on OpenCL 1.2 devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "device/context.h"

#include "device/program.h"

/* The longest time that a launch on threads is taken to cost: what was measured on a busy machine
 * must not send large products to one thread. */
#define MAX_LAUNCH_NS 50000
#define N_LAUNCHES    16

#define XXH_INLINE_ALL
#include <xxhash.h>

struct _GemmclContext {
  GObject parent;

  GemmclDevice *device;
  cl_context context;
  gboolean wrapped;        /* the caller made the OpenCL context */
  GemmclContext *inlined;  /* of the inline device in the same OpenCL context; NULL: none */
  guint64 launch_ns;       /* what a command takes longer than on the inline device */
  cl_command_queue queue;  /* replaced under the lock, after a command failed */
  GMutex lock;             /* guards the following fields; not held while a program is built */
  gboolean is_lent;        /* the caller knows the queue, which thus lives as long as the context */
  GPtrArray *old_queues;   /* earlier queues that the caller knows */
  GHashTable *copy_queues; /* of plans -> the queue of their kernels; none is owned */
  GCond built;             /* a program was built or failed to build */
  GHashTable *programs;    /* "source options" -> cl_program; NULL while it is being built */
  guint n_compiled;        /* programs that were not in the disk cache */
  GHashTable *weights;     /* GemmclWeights.key -> GemmclWeights, not owned */
  guint64 weight_bytes;    /* of all weights */
};

struct _GemmclWeights {
  GemmclContext *context;
  gchar *key;
  cl_mem buffer;
  gsize bytes;
  guint refs; /* guarded by the context's lock, so that weights without references are not found */
};

G_DEFINE_FINAL_TYPE (GemmclContext, gemmcl_context, G_TYPE_OBJECT)

static void
release_program (gpointer program)
{
  if (program != NULL)
    clReleaseProgram (program);
}

static void
release_queue (gpointer queue)
{
  clReleaseCommandQueue (queue);
}

static void
gemmcl_context_init (GemmclContext *self)
{
  self->old_queues = g_ptr_array_new_with_free_func (release_queue);
  self->copy_queues = g_hash_table_new (NULL, NULL);
  g_mutex_init (&self->lock);
  g_cond_init (&self->built);
  self->programs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, release_program);
  self->weights = g_hash_table_new (g_str_hash, g_str_equal);
}

static void
gemmcl_context_finalize (GObject *object)
{
  GemmclContext *self = GEMMCL_CONTEXT (object);

  g_hash_table_unref (self->weights);
  g_hash_table_unref (self->programs);
  g_hash_table_unref (self->copy_queues);
  g_ptr_array_unref (self->old_queues);
  g_clear_object (&self->inlined);
  g_clear_pointer (&self->queue, clReleaseCommandQueue);
  g_clear_pointer (&self->context, clReleaseContext);
  g_clear_pointer (&self->device, gemmcl_device_free);
  g_cond_clear (&self->built);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gemmcl_context_parent_class)->finalize (object);
}

static void
gemmcl_context_class_init (GemmclContextClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gemmcl_context_finalize;
}

/* Clears the device's image limits if kernels cannot use its images. */
static void
check_images (GemmclContext *self)
{
  const cl_image_format wanted = GEMMCL_IMAGE_FORMAT;
  cl_image_format formats[1024]; /* several times as many as OpenCL defines */
  cl_uint n = 0;

  clGetSupportedImageFormats (self->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D,
                              G_N_ELEMENTS (formats), formats, &n);
  for (cl_uint i = 0; i < MIN (n, G_N_ELEMENTS (formats)); i++)
    if (formats[i].image_channel_order == wanted.image_channel_order &&
        formats[i].image_channel_data_type == wanted.image_channel_data_type)
      return;
  self->device->info.max_image_width = self->device->info.max_image_height = 0;
}

GemmclContext *
gemmcl_context_around (cl_context context, gboolean wrapped, GemmclDevice *device, GError **error)
{
  g_autoptr (GemmclContext) self = g_object_new (GEMMCL_TYPE_CONTEXT, NULL);

  if (wrapped)
    clRetainContext (context);
  self->device = g_atomic_rc_box_acquire (device);
  self->context = context;
  self->wrapped = wrapped;
  check_images (self);
  self->queue = gemmcl_context_create_queue (self, CL_QUEUE_PROFILING_ENABLE, error);
  return self->queue != NULL ? g_steal_pointer (&self) : NULL;
}

/* Returns: the mean time of a command that does next to nothing, from its submission to its end; 0
 * if one fails. */
static guint64
time_launch (GemmclContext *self, cl_mem buffer)
{
  const gint64 start = g_get_monotonic_time ();
  const cl_uint zero = 0;

  for (guint i = 0; i < N_LAUNCHES; i++)
    if (clEnqueueFillBuffer (self->queue, buffer, &zero, sizeof (zero), 0, sizeof (zero), 0, NULL,
                             NULL) != CL_SUCCESS ||
        clFinish (self->queue) != CL_SUCCESS)
      return 0;
  return (g_get_monotonic_time () - start) * 1000 / N_LAUNCHES;
}

void
gemmcl_context_add_inline (GemmclContext *self, cl_device_id id)
{
  g_autoptr (GemmclDevice) device = gemmcl_device_new (id, NULL);
  g_auto (cl_mem) buffer = gemmcl_context_create_buffer (self, sizeof (cl_uint), "a test", NULL);
  guint64 threads, inlined;

  if (device == NULL || buffer == NULL ||
      !(self->inlined = gemmcl_context_around (self->context, TRUE, device, NULL)))
    return;
  threads = time_launch (self, buffer);
  inlined = time_launch (self->inlined, buffer);
  self->launch_ns = inlined > 0 && threads > inlined ? MIN (threads - inlined, MAX_LAUNCH_NS) : 0;
  g_info ("%s takes %" G_GUINT64_FORMAT " us longer for a command than %s", self->device->info.name,
          self->launch_ns / 1000, device->info.name);
}

GemmclContext *
gemmcl_context_get_inline (GemmclContext *self, guint64 *launch_ns)
{
  *launch_ns = self->launch_ns;
  return self->inlined;
}

cl_command_queue
gemmcl_context_create_inline_queue (GemmclContext *self)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), NULL);
  return self->launch_ns > 0 ? gemmcl_context_create_queue (
                                   self->inlined, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL)
                             : NULL;
}

gboolean
gemmcl_context_is_wrapped (GemmclContext *self)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), FALSE);
  return self->wrapped;
}

const GemmclDeviceInfo *
gemmcl_context_get_device_info (GemmclContext *self)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), NULL);
  return &self->device->info;
}

cl_context
gemmcl_context_get_cl_context (GemmclContext *self)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), NULL);
  return self->context;
}

cl_device_id
gemmcl_context_get_cl_device (GemmclContext *self)
{
  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), NULL);
  return self->device->id;
}

cl_command_queue
gemmcl_context_get_cl_queue (GemmclContext *self)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = NULL;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (self), NULL);
  locker = g_mutex_locker_new (&self->lock);
  self->is_lent = TRUE;
  return self->queue;
}

gboolean
gemmcl_context_follow_queue (GemmclContext *self, cl_command_queue *queue)
{
  if (*queue == g_atomic_pointer_get (&self->queue))
    return FALSE;
  g_clear_pointer (queue, clReleaseCommandQueue);
  g_mutex_lock (&self->lock);
  *queue = self->queue;
  clRetainCommandQueue (*queue);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

void
gemmcl_context_replace_queue (GemmclContext *self, cl_command_queue failed)
{
  g_auto (cl_command_queue) fresh = NULL;
  g_auto (cl_command_queue) old = NULL;
  cl_command_queue of_kernels;

  g_mutex_lock (&self->lock);
  of_kernels = g_hash_table_lookup (self->copy_queues, failed);
  g_mutex_unlock (&self->lock);
  if (of_kernels != NULL)
    failed = of_kernels;
  if (failed != g_atomic_pointer_get (&self->queue) ||
      (fresh = gemmcl_context_create_queue (self, CL_QUEUE_PROFILING_ENABLE, NULL)) == NULL)
    return;
  g_mutex_lock (&self->lock);
  if (self->queue == failed) {
    old = self->queue;
    g_atomic_pointer_set (&self->queue, g_steal_pointer (&fresh));
    if (self->is_lent && clRetainCommandQueue (old) == CL_SUCCESS)
      g_ptr_array_add (self->old_queues, old);
    self->is_lent = FALSE;
  }
  g_mutex_unlock (&self->lock);
  /* After the exchange, since until then other threads enqueue commands in it. */
  if (old != NULL)
    clFinish (old);
}

cl_command_queue
gemmcl_context_create_copy_queue (GemmclContext *self, cl_command_queue of_kernels, GError **error)
{
  cl_command_queue queue = gemmcl_context_create_queue (self, 0, error);

  g_mutex_lock (&self->lock);
  if (queue != NULL)
    g_hash_table_insert (self->copy_queues, queue, of_kernels);
  g_mutex_unlock (&self->lock);
  return queue;
}

void
gemmcl_context_release_copy_queue (GemmclContext *self, cl_command_queue queue)
{
  g_mutex_lock (&self->lock);
  g_hash_table_remove (self->copy_queues, queue);
  g_mutex_unlock (&self->lock);
  clReleaseCommandQueue (queue);
}

static cl_program
get_program (GemmclContext *self, const gchar *source, const gchar *options, GError **error)
{
  g_autofree gchar *key = g_strconcat (source, " ", options, NULL);
  gpointer program = NULL;
  gboolean compiled;

  g_mutex_lock (&self->lock);
  while (g_hash_table_lookup_extended (self->programs, key, NULL, &program) && program == NULL)
    g_cond_wait (&self->built, &self->lock);
  if (program == NULL) {
    g_hash_table_insert (self->programs, g_strdup (key), NULL);
    g_mutex_unlock (&self->lock);
    program = gemmcl_program_build (self->context, self->device, source, options, &compiled, error);
    g_mutex_lock (&self->lock);
    if (program != NULL)
      g_hash_table_insert (self->programs, g_strdup (key), program);
    else
      g_hash_table_remove (self->programs, key);
    self->n_compiled += compiled;
    g_cond_broadcast (&self->built);
  }
  g_mutex_unlock (&self->lock);
  return program;
}

cl_kernel
gemmcl_context_create_kernel (GemmclContext *self, const gchar *source, const gchar *options,
                              const gchar *function, GError **error)
{
  cl_program program = get_program (self, source, options, error);
  cl_kernel kernel;
  cl_int status;

  if (program == NULL)
    return NULL;
  kernel = clCreateKernel (program, function, &status);
  if (!gemmcl_cl_check (status, error, "clCreateKernel for %s of %s", function, source))
    return NULL;
  return kernel;
}

cl_mem
gemmcl_context_create_buffer (GemmclContext *self, gsize size, const gchar *what, GError **error)
{
  const guint64 max = self->device->info.max_alloc_bytes;
  cl_mem buffer;
  cl_int status;

  if (size > max)
    return FAIL_NULL (error, GEMMCL_ERROR_TOO_LARGE,
                      "Expected at most %" G_GUINT64_FORMAT
                      " bytes in one buffer on %s, found %zu for %s.",
                      max, self->device->info.name, size, what);
  buffer = clCreateBuffer (self->context, CL_MEM_READ_WRITE, size, NULL, &status);
  if (!gemmcl_cl_check (status, error, "clCreateBuffer for %s (%zu bytes)", what, size))
    return NULL;
  return buffer;
}

cl_command_queue
gemmcl_context_create_queue (GemmclContext *self, cl_command_queue_properties properties,
                             GError **error)
{
  cl_int status;
  cl_command_queue queue =
      clCreateCommandQueue (self->context, self->device->id, properties, &status);

  return gemmcl_cl_check (status, error, "clCreateCommandQueue on %s", self->device->info.name)
             ? queue
             : NULL;
}

gchar *
gemmcl_weights_make_key (const gfloat *data, gsize n, const gchar *layout)
{
  const XXH128_hash_t hash = XXH3_128bits (data, n * sizeof *data);

  return g_strdup_printf ("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x %s",
                          (guint64)hash.high64, (guint64)hash.low64, layout);
}

GemmclWeights *
gemmcl_weights_share (GemmclContext *context, const gchar *key, cl_mem *buffer)
{
  g_auto (cl_mem) own = g_steal_pointer (buffer);
  GemmclWeights *self;

  g_mutex_lock (&context->lock);
  self = g_hash_table_lookup (context->weights, key);
  if (self == NULL && own != NULL) {
    self = g_new0 (GemmclWeights, 1);
    self->context = g_object_ref (context);
    self->key = g_strdup (key);
    self->buffer = g_steal_pointer (&own);
    (void)clGetMemObjectInfo (self->buffer, CL_MEM_SIZE, sizeof (self->bytes), &self->bytes, NULL);
    context->weight_bytes += self->bytes;
    g_hash_table_insert (context->weights, self->key, self);
  }
  if (self != NULL) {
    self->refs++;
    clRetainMemObject (self->buffer);
    *buffer = self->buffer;
  }
  g_mutex_unlock (&context->lock);
  return self;
}

void
gemmcl_weights_unref (GemmclWeights *self)
{
  GemmclContext *context = self->context;
  gboolean last;

  g_mutex_lock (&context->lock);
  last = --self->refs == 0;
  if (last) {
    g_hash_table_remove (context->weights, self->key);
    context->weight_bytes -= self->bytes;
  }
  g_mutex_unlock (&context->lock);
  if (!last)
    return;
  clReleaseMemObject (self->buffer);
  g_free (self->key);
  g_free (self);
  g_object_unref (context);
}

void
gemmcl_context_get_stats (GemmclContext *self, GemmclContextStats *stats)
{
  g_return_if_fail (GEMMCL_IS_CONTEXT (self));
  g_mutex_lock (&self->lock);
  *stats = (GemmclContextStats){
      .programs = g_hash_table_size (self->programs),
      .compiled = self->n_compiled,
      .weights = g_hash_table_size (self->weights),
      .weight_bytes = self->weight_bytes,
  };
  g_mutex_unlock (&self->lock);
}
