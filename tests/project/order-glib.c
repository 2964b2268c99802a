/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A preloaded library for ThreadSanitizer, which knows the locks of pthread. GLib's locks are
 * atomic operations in a library that is not instrumented, so that everything they guard looks like
 * a race. The functions here replace those of GLib and GStreamer, and report the order of events
 * to the sanitizer: by locks, conditions, references, queues and calls in other threads. Only
 * functions that the tests need are here; a missing function makes correct code look like a race.
 */
#define _GNU_SOURCE
#include <glib-object.h>
#include <gmodule.h>
#ifdef GEMMCL_HAVE_GST
  #include <gst/gst.h>
#endif

#include <dlfcn.h>
#include <pthread.h>

/* Functions of the sanitizer; NULL in a program without it. */
extern void __tsan_acquire (void *address) __attribute__ ((weak));
extern void __tsan_release (void *address) __attribute__ ((weak));

static void
acquire (gpointer address)
{
  if (__tsan_acquire)
    __tsan_acquire (address);
}

static void
release (gpointer address)
{
  if (__tsan_release)
    __tsan_release (address);
}

#define NEXT(name)                                                                                 \
  ({                                                                                               \
    static gpointer next = NULL;                                                                   \
    if (!g_atomic_pointer_get (&next))                                                             \
      g_atomic_pointer_set (&next, dlsym (RTLD_NEXT, #name));                                      \
    (__typeof__ (&name))g_atomic_pointer_get (&next);                                              \
  })

/* Replaces a function that releases @address before its work. */
#define RELEASES(name, parameters, arguments, address)                                             \
  G_MODULE_EXPORT void name parameters                                                             \
  {                                                                                                \
    release ((gpointer)address);                                                                   \
    NEXT (name) arguments;                                                                         \
  }

/* Replaces a function that acquires @address after its work, unless it returns 0. */
#define ACQUIRES(Type, name, parameters, arguments, address)                                       \
  G_MODULE_EXPORT Type name parameters                                                             \
  {                                                                                                \
    const Type result = NEXT (name) arguments;                                                     \
                                                                                                   \
    if (result)                                                                                    \
      acquire (address);                                                                           \
    return result;                                                                                 \
  }

/* A lock of @Type with its functions lock() and unlock(). */
#define LOCK(Type, lock_, unlock_)                                                                 \
  G_MODULE_EXPORT void lock_ (Type *lock)                                                          \
  {                                                                                                \
    NEXT (lock_) (lock);                                                                           \
    acquire (lock);                                                                                \
  }                                                                                                \
  RELEASES (unlock_, (Type * lock), (lock), lock)

LOCK (GMutex, g_mutex_lock, g_mutex_unlock)
LOCK (GRecMutex, g_rec_mutex_lock, g_rec_mutex_unlock)

G_MODULE_EXPORT void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  release (mutex);
  NEXT (g_cond_wait) (cond, mutex);
  acquire (mutex);
}

G_MODULE_EXPORT gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end_time)
{
  gboolean signalled;

  release (mutex);
  signalled = NEXT (g_cond_wait_until) (cond, mutex, end_time);
  acquire (mutex);
  return signalled;
}

#undef g_once_init_enter
G_MODULE_EXPORT gboolean
g_once_init_enter (volatile void *location)
{
  const gboolean first = NEXT (g_once_init_enter) (location);

  acquire ((gpointer)location);
  return first;
}

#undef g_once_init_leave
RELEASES (g_once_init_leave, (volatile void *location, gsize result), (location, result), location)

/* Guards a string that GLib makes once under a lock of its own. The sanitizer knows this one. */
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

G_MODULE_EXPORT const gchar *
g_get_user_cache_dir (void)
{
  const gchar *path;

  pthread_mutex_lock (&once);
  path = NEXT (g_get_user_cache_dir) ();
  pthread_mutex_unlock (&once);
  return path;
}

/* The thread that releases the last reference sees everything that others did before. */
#define UNREF(name, Type)                                                                          \
  G_MODULE_EXPORT void name (Type object)                                                          \
  {                                                                                                \
    if (object != NULL) {                                                                          \
      release ((gpointer)object);                                                                  \
      acquire ((gpointer)object);                                                                  \
    }                                                                                              \
    NEXT (name) (object);                                                                          \
  }

UNREF (g_object_unref, gpointer)

static _Thread_local GDestroyNotify clear_last;

/* Acquires only here, when the count is 0: other threads may release references until then. */
static void
clear_box (gpointer object)
{
  acquire (object);
  if (clear_last)
    clear_last (object);
}

G_MODULE_EXPORT void
g_atomic_rc_box_release_full (gpointer object, GDestroyNotify clear)
{
  clear_last = clear;
  release (object);
  NEXT (g_atomic_rc_box_release_full) (object, clear_box);
}

/* GstHarness keeps outputs in such queues; the element keeps news of its plan in one. */
RELEASES (g_async_queue_push, (GAsyncQueue * queue, gpointer data), (queue, data), queue)
ACQUIRES (gpointer, g_async_queue_try_pop, (GAsyncQueue * queue), (queue), queue)
ACQUIRES (gpointer, g_async_queue_timeout_pop, (GAsyncQueue * queue, guint64 timeout),
          (queue, timeout), queue)

#ifdef GEMMCL_HAVE_GST
UNREF (gst_object_unref, gpointer)
UNREF (gst_mini_object_unref, GstMiniObject *)

/* A call in another thread. That thread also frees GStreamer's record of the call. */
typedef struct {
  GstElementCallAsyncFunc function;
  gpointer data;
  GDestroyNotify destroy;
  gint is_recorded;
} Call;

static void
run_call (GstElement *element, gpointer data)
{
  const Call *self = data;

  acquire (data);
  self->function (element, self->data);
}

static void
end_call (gpointer data)
{
  Call *self = data;

  while (!g_atomic_int_get (&self->is_recorded))
    g_thread_yield ();
  acquire (data);
  if (self->destroy)
    self->destroy (self->data);
  g_free (self);
}

G_MODULE_EXPORT void
gst_element_call_async (GstElement *element, GstElementCallAsyncFunc function, gpointer data,
                        GDestroyNotify destroy)
{
  const Call call = {function, data, destroy, FALSE};
  Call *copy = g_memdup2 (&call, sizeof call);

  release (copy);
  NEXT (gst_element_call_async) (element, run_call, copy, end_call);
  release (copy);
  g_atomic_int_set (&copy->is_recorded, TRUE);
}
#endif
