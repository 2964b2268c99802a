/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For ThreadSanitizer, which knows pthread's locks: those of GLib are made of atomic operations in
 * a library that is not instrumented, so that all that they guard would look like a race. Here are
 * functions that stand before GLib's and GStreamer's in a program that exports them, and say what
 * happens before what: by locks, conditions, references to an object, pools and queues.
 */
#include <glib-object.h>
#include <gmodule.h>
#include <gst/gst.h>

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#define NEXT(name)                                                                                 \
  ({                                                                                               \
    static gpointer next = NULL;                                                                   \
    if (!g_atomic_pointer_get (&next))                                                             \
      g_atomic_pointer_set (&next, dlsym (RTLD_NEXT, #name));                                      \
    (__typeof__ (&name))g_atomic_pointer_get (&next);                                              \
  })

#define LOCK(Type, name)                                                                           \
  G_MODULE_EXPORT void name##_lock (Type *lock)                                                    \
  {                                                                                                \
    NEXT (name##_lock) (lock);                                                                     \
    __tsan_acquire (lock);                                                                         \
  }                                                                                                \
  G_MODULE_EXPORT void name##_unlock (Type *lock)                                                  \
  {                                                                                                \
    __tsan_release (lock);                                                                         \
    NEXT (name##_unlock) (lock);                                                                   \
  }                                                                                                \
  G_MODULE_EXPORT gboolean name##_trylock (Type *lock)                                             \
  {                                                                                                \
    const gboolean locked = NEXT (name##_trylock) (lock);                                          \
                                                                                                   \
    if (locked)                                                                                    \
      __tsan_acquire (lock);                                                                       \
    return locked;                                                                                 \
  }

LOCK (GMutex, g_mutex)
LOCK (GRecMutex, g_rec_mutex)

G_MODULE_EXPORT void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  __tsan_release (mutex);
  NEXT (g_cond_wait) (cond, mutex);
  __tsan_acquire (mutex);
}

G_MODULE_EXPORT gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end_time)
{
  gboolean signalled;

  __tsan_release (mutex);
  signalled = NEXT (g_cond_wait_until) (cond, mutex, end_time);
  __tsan_acquire (mutex);
  return signalled;
}

/* Whoever gives up the last reference, sees what all others did before they gave up theirs. */
#define UNREF(name, Type)                                                                          \
  G_MODULE_EXPORT void name (Type object)                                                          \
  {                                                                                                \
    __tsan_release (object);                                                                       \
    __tsan_acquire (object);                                                                       \
    NEXT (name) (object);                                                                          \
  }

UNREF (g_object_unref, gpointer)
UNREF (gst_object_unref, gpointer)
UNREF (gst_mini_object_unref, GstMiniObject *)

/* What a pool gives out was given back by unref. */
G_MODULE_EXPORT GstFlowReturn
gst_buffer_pool_acquire_buffer (GstBufferPool *pool, GstBuffer **buffer,
                                GstBufferPoolAcquireParams *params)
{
  const GstFlowReturn flow = NEXT (gst_buffer_pool_acquire_buffer) (pool, buffer, params);

  if (flow == GST_FLOW_OK)
    __tsan_acquire (*buffer);
  return flow;
}

/* A harness keeps in such queues what came out. */
G_MODULE_EXPORT void
g_async_queue_push (GAsyncQueue *queue, gpointer data)
{
  __tsan_release (data);
  NEXT (g_async_queue_push) (queue, data);
}

G_MODULE_EXPORT gpointer
g_async_queue_try_pop (GAsyncQueue *queue)
{
  const gpointer data = NEXT (g_async_queue_try_pop) (queue);

  if (data)
    __tsan_acquire (data);
  return data;
}

G_MODULE_EXPORT gpointer
g_async_queue_timeout_pop (GAsyncQueue *queue, guint64 timeout)
{
  const gpointer data = NEXT (g_async_queue_timeout_pop) (queue, timeout);

  if (data)
    __tsan_acquire (data);
  return data;
}
