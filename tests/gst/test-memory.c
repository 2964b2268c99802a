/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gst/video/video.h>
#include <string.h>

#include "copies.h"
#include "memory/memory.h"

/* Memory over a cl_mem: what either side wrote is what the other reads, whenever it was written. */

#define BYTES 4096
#define LATE  (50 * G_TIME_SPAN_MILLISECOND)

/** A device, an allocator on it, and a queue of the test's own. */
typedef struct {
  GemmclContext *context;
  GstAllocator *allocator;
  cl_command_queue queue;
  gboolean staged;
} Rig;

static void
set_up (Rig *rig, gconstpointer side)
{
  rig->context = gemmcl_context_new (NULL, NULL);
  g_assert_nonnull (rig->context);
  rig->staged = GPOINTER_TO_INT (side) == GST_GEMMCL_HOST_SIDE_STAGED;
  rig->allocator = gst_gemmcl_allocator_new (rig->context, GPOINTER_TO_INT (side), NULL);
  g_assert_nonnull (rig->allocator);
  rig->queue = gemmcl_context_get_cl_queue (rig->context);
}

static void
tear_down (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  clFinish (rig->queue);
  g_clear_object (&rig->allocator);
  g_assert_finalize_object (rig->context);
}

static GstMemory *
new_memory (Rig *rig)
{
  GstMemory *memory = gst_allocator_alloc (rig->allocator, BYTES, NULL);

  g_assert_nonnull (memory);
  return memory;
}

static cl_event
new_user_event (Rig *rig)
{
  cl_event event = clCreateUserEvent (gemmcl_context_get_cl_context (rig->context), NULL);

  g_assert_nonnull (event);
  return event;
}

static void
finish_user_event (cl_event event, cl_int status)
{
  g_assert_cmpint (clSetUserEventStatus (event, status), ==, CL_SUCCESS);
  clReleaseEvent (event);
}

static gpointer
finish_late (gpointer event)
{
  g_usleep (LATE);
  finish_user_event (event, CL_COMPLETE);
  return NULL;
}

/* Maps for the device; the memory's bytes begin where they should. */
static cl_mem
open_device (GstMemory *memory, GstMapFlags access, GstMapInfo *map)
{
  g_assert_true (gst_memory_map (memory, map, access | GST_GEMMCL_MAP_OPENCL));
  return (cl_mem)map->data;
}

/* Fills @memory on the device once @gate, if any, is done. */
static void
device_fill (Rig *rig, GstMemory *memory, guint8 value, cl_event gate)
{
  cl_event events[GST_GEMMCL_MAX_EVENTS + 1], done;
  GstMapInfo map;
  const cl_mem buffer = open_device (memory, GST_MAP_WRITE, &map);
  guint n = gst_gemmcl_memory_get_events (memory, GST_MAP_WRITE, events);

  if (gate) {
    clRetainEvent (gate);
    events[n++] = gate;
  }
  g_assert_cmpint (clEnqueueFillBuffer (rig->queue, buffer, &value, 1, 0, map.size, n,
                                        n > 0 ? events : NULL, &done),
                   ==, CL_SUCCESS);
  gst_gemmcl_release_events (n, events);
  clFlush (rig->queue);
  gst_gemmcl_memory_add_event (memory, GST_MAP_WRITE, done);
  clReleaseEvent (done);
  gst_memory_unmap (memory, &map);
}

/* Reads @memory as the device does. */
static void
device_read (Rig *rig, GstMemory *memory, guint8 *bytes)
{
  cl_event events[GST_GEMMCL_MAX_EVENTS];
  GstMapInfo map;
  const cl_mem buffer = open_device (memory, GST_MAP_READ, &map);
  const guint n = gst_gemmcl_memory_get_events (memory, GST_MAP_READ, events);
  gsize offset;

  gst_memory_get_sizes (memory, &offset, NULL);
  g_assert_cmpint (clEnqueueReadBuffer (rig->queue, buffer, CL_TRUE, offset, map.size, bytes, n,
                                        n > 0 ? events : NULL, NULL),
                   ==, CL_SUCCESS);
  gst_gemmcl_release_events (n, events);
  gst_memory_unmap (memory, &map);
}

/* Remembers @gate as a command that reads or writes. */
static void
device_use (GstMemory *memory, GstMapFlags access, cl_event gate)
{
  GstMapInfo map;

  open_device (memory, access, &map);
  gst_gemmcl_memory_add_event (memory, access, gate);
  gst_memory_unmap (memory, &map);
}

static guint
count_events (GstMemory *memory, GstMapFlags access)
{
  cl_event events[GST_GEMMCL_MAX_EVENTS];
  const guint n = gst_gemmcl_memory_get_events (memory, access, events);

  gst_gemmcl_release_events (n, events);
  return n;
}

static void
assert_bytes (const guint8 *bytes, gsize n, guint8 value)
{
  for (gsize i = 0; i < n; i++)
    g_assert_cmpuint (bytes[i], ==, value);
}

static void
assert_memory (GstMemory *memory, gsize size, guint8 value)
{
  GstMapInfo map;

  g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, size);
  assert_bytes (map.data, size, value);
  gst_memory_unmap (memory, &map);
}

static void
host_fill (GstMemory *memory, gsize offset, gsize size, guint8 value)
{
  GstMapInfo map;

  g_assert_true (gst_memory_map (memory, &map, GST_MAP_WRITE));
  memset (map.data + offset, value, size);
  gst_memory_unmap (memory, &map);
}

static void
test_type (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  g_autoptr (GstMemory) other = gst_allocator_alloc (NULL, BYTES, NULL);
  const GstGemmclMemoryMethods *methods = gst_gemmcl_memory_get_methods (memory);

  g_assert_true (gst_memory_is_type (memory, GST_GEMMCL_MEMORY_TYPE_NAME));
  g_assert_true (gst_is_gemmcl_memory (memory));
  g_assert_cmpuint (methods->size, ==, sizeof *methods);
  g_assert_true (gst_gemmcl_memory_get_cl_context (memory) ==
                 gemmcl_context_get_cl_context (rig->context));
  g_assert_false (gst_is_gemmcl_memory (other));
  g_assert_null (gst_gemmcl_memory_get_methods (other));
  g_assert_null (gst_gemmcl_memory_get_cl_context (other));
}

/* A map of the host waits for the device; one of the device does not. */
static void
test_late_write (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  const cl_event gate = new_user_event (rig);
  GThread *thread;
  GstMapInfo map;

  host_fill (memory, 0, BYTES, 1);
  device_fill (rig, memory, 2, gate);
  open_device (memory, GST_MAP_READ, &map);
  g_assert_cmpuint (count_events (memory, GST_MAP_READ), ==, 1);
  gst_memory_unmap (memory, &map);
  thread = g_thread_new ("late", finish_late, gate);
  assert_memory (memory, BYTES, 2);
  g_thread_join (thread);
}

/* Bytes that a map does not write stay, whichever side wrote them last. */
static void
test_partial_write (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  guint8 bytes[BYTES];

  device_fill (rig, memory, 1, NULL);
  host_fill (memory, 100, 10, 2);
  device_read (rig, memory, bytes);
  assert_bytes (bytes, 100, 1);
  assert_bytes (bytes + 100, 10, 2);
  assert_bytes (bytes + 110, BYTES - 110, 1);
}

/* Each side's change is sent to the other once. */
static void
test_traffic (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  guint8 bytes[BYTES];

  copies_reset ();
  device_fill (rig, memory, 1, NULL);
  g_assert_cmpuint (copies_get ().reads, ==, 0);
  for (guint i = 0; i < 3; i++)
    assert_memory (memory, BYTES, 1);
  g_assert_cmpuint (copies_get ().reads, ==, rig->staged ? 1 : 0);
  host_fill (memory, 0, BYTES, 2);
  g_assert_cmpuint (copies_get ().writes, ==, 0);
  for (guint i = 0; i < 3; i++)
    device_read (rig, memory, bytes);
  g_assert_cmpuint (copies_get ().writes, ==, rig->staged ? 1 : 0);
}

typedef struct {
  Rig *rig;
  GstMemory *memory;
  gboolean on_device;
} Reader;

static gpointer
read_often (gpointer data)
{
  const Reader *reader = data;
  guint8 bytes[BYTES];

  for (guint i = 0; i < 50; i++) {
    if (!reader->on_device) {
      assert_memory (reader->memory, BYTES, 7);
    } else {
      device_read (reader->rig, reader->memory, bytes);
      assert_bytes (bytes, BYTES, 7);
    }
  }
  return NULL;
}

static void
test_concurrent_readers (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  GThread *threads[4];
  Reader readers[G_N_ELEMENTS (threads)];

  device_fill (rig, memory, 7, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++) {
    readers[i] = (Reader){.rig = rig, .memory = memory, .on_device = i % 2};
    threads[i] = g_thread_new ("reader", read_often, &readers[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

/* As many readers as there are: a map that writes waits for every one; one that reads does not wait
 * for a reader. */
static void
test_many_readers (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  cl_event gates[3 * GST_GEMMCL_MAX_EVENTS];
  GThread *thread;
  gint64 start = g_get_monotonic_time ();

  device_fill (rig, memory, 1, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (gates); i++) {
    gates[i] = new_user_event (rig);
    device_use (memory, GST_MAP_READ, gates[i]);
    if (i == 0)
      assert_memory (memory, BYTES, 1);
    g_assert_cmpuint (count_events (memory, GST_MAP_WRITE), <=, GST_GEMMCL_MAX_EVENTS);
  }
  for (guint i = 1; i < G_N_ELEMENTS (gates); i++)
    finish_user_event (gates[i], CL_COMPLETE);
  g_assert_cmpuint (count_events (memory, GST_MAP_WRITE), ==, 1);
  thread = g_thread_new ("late", finish_late, gates[0]);
  host_fill (memory, 0, BYTES, 1);
  g_assert_cmpint (g_get_monotonic_time () - start, >=, LATE);
  g_assert_cmpuint (count_events (memory, GST_MAP_WRITE), <=, 1);
  g_thread_join (thread);
}

/* Copies are made on the device, of what is going to be there. */
static void
test_copy (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  g_autoptr (GstMemory) late = NULL, part = NULL, none = NULL;
  const cl_event gate = new_user_event (rig);

  host_fill (memory, 0, BYTES, 1);
  host_fill (memory, 100, 10, 2);
  part = gst_memory_copy (memory, 100, 10);
  none = gst_memory_copy (memory, BYTES, -1);
  device_fill (rig, memory, 3, gate);
  late = gst_memory_copy (memory, 0, -1);
  finish_user_event (gate, CL_COMPLETE);
  g_assert_true (gst_is_gemmcl_memory (part));
  assert_memory (part, 10, 2);
  assert_memory (late, BYTES, 3);
  g_assert_cmpuint (gst_memory_get_sizes (none, NULL, NULL), ==, 0);
  host_fill (late, 0, BYTES, 4);
  assert_memory (memory, BYTES, 3);
}

/* A part of the same cl_mem, to be read only. */
static void
test_share (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  GstMemory *memory = new_memory (rig);
  g_autoptr (GstMemory) part = NULL, smaller = NULL;
  GstMapInfo map, part_map;
  guint8 bytes[BYTES];

  device_fill (rig, memory, 1, NULL);
  host_fill (memory, 100, 10, 2);
  part = gst_memory_share (memory, 90, 30);
  smaller = gst_memory_share (part, 10, -1);
  device_read (rig, part, bytes);
  assert_bytes (bytes, 10, 1);
  assert_bytes (bytes + 10, 10, 2);
  g_assert_true (gst_memory_map (smaller, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, 20);
  assert_bytes (map.data, 10, 2);
  gst_memory_unmap (smaller, &map);
  g_assert_true (open_device (memory, GST_MAP_READ, &map) ==
                 open_device (part, GST_MAP_READ, &part_map));
  g_assert_cmpuint (part_map.size, ==, 30);
  gst_memory_unmap (memory, &map);
  gst_memory_unmap (part, &part_map);
  g_assert_false (gst_memory_map (part, &map, GST_MAP_WRITE));
  gst_memory_unref (memory);
  device_read (rig, smaller, bytes);
  assert_bytes (bytes, 10, 2);
  assert_bytes (bytes + 10, 10, 1);
}

static void
test_free_while_pending (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  const cl_event gate = new_user_event (rig);
  GstMemory *memory = new_memory (rig), *read = new_memory (rig);
  GstMapInfo map;

  host_fill (memory, 0, BYTES, 1);
  host_fill (read, 0, BYTES, 1);
  device_fill (rig, memory, 2, gate);
  device_use (read, GST_MAP_READ, gate);
  open_device (read, GST_MAP_READ, &map);
  gst_memory_unmap (read, &map);
  gst_memory_unref (memory);
  gst_memory_unref (read);
  finish_user_event (gate, CL_COMPLETE);
}

/* A kernel that failed is an error of whoever wants what it should have written, and of no other.
 */
static void
test_failed_write (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  const cl_event gate = new_user_event (rig);
  GstMapInfo map;

  device_use (memory, GST_MAP_WRITE, gate);
  finish_user_event (gate, -1);
  g_assert_false (gst_memory_map (memory, &map, GST_MAP_READ));
  g_assert_false (gst_memory_map (memory, &map, GST_MAP_READWRITE));
  g_assert_null (gst_memory_copy (memory, 0, -1));
  host_fill (memory, 0, BYTES, 1);
  assert_memory (memory, BYTES, 1);
}

static void
test_failed_read (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstMemory) memory = new_memory (rig);
  const cl_event gate = new_user_event (rig);
  guint8 bytes[BYTES];

  device_fill (rig, memory, 1, NULL);
  device_use (memory, GST_MAP_READ, gate);
  finish_user_event (gate, -1);
  device_fill (rig, memory, 2, NULL);
  device_read (rig, memory, bytes);
  assert_bytes (bytes, BYTES, 2);
}

static void
test_no_memory (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  GstAllocationParams params;

  gst_allocation_params_init (&params);
  g_assert_null (gst_allocator_alloc (rig->allocator, G_MAXSIZE / 4, &params));
  params.prefix = G_MAXSIZE - 1;
  g_assert_null (gst_allocator_alloc (rig->allocator, BYTES, &params));
  params = (GstAllocationParams){.align = 4095};
  g_assert_null (gst_allocator_alloc (rig->allocator, BYTES, &params));
  g_assert_null (gst_buffer_new_allocate (rig->allocator, G_MAXSIZE / 4, NULL));
}

static void
test_prefix (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  GstAllocationParams params = {.align = 63, .prefix = 64, .padding = 32};
  g_autoptr (GstMemory) memory = gst_allocator_alloc (rig->allocator, BYTES, &params);
  gsize offset, maxsize;
  GstMapInfo map;
  guint8 bytes[BYTES];

  g_assert_cmpuint (gst_memory_get_sizes (memory, &offset, &maxsize), ==, BYTES);
  g_assert_cmpuint (offset, ==, 64);
  g_assert_cmpuint (maxsize, ==, 64 + BYTES + 32);
  g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
  g_assert_cmpuint ((guintptr)map.data % 64, ==, 0);
  gst_memory_unmap (memory, &map);
  host_fill (memory, 0, BYTES, 3);
  device_read (rig, memory, bytes);
  assert_bytes (bytes, BYTES, 3);
}

/* Memory is all that is needed to use it. */
static void
test_outlives (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  GstMemory *memory = new_memory (rig);

  device_fill (rig, memory, 5, NULL);
  g_clear_object (&rig->allocator);
  g_object_unref (rig->context);
  assert_memory (memory, BYTES, 5);
  g_object_ref (rig->context);
  gst_memory_unref (memory);
}

static GstMemory *
acquire (GstBufferPool *pool, GstBuffer **buffer)
{
  g_assert_cmpint (gst_buffer_pool_acquire_buffer (pool, buffer, NULL), ==, GST_FLOW_OK);
  return gst_buffer_peek_memory (*buffer, 0);
}

/* The same memory comes back at its full size, and nothing is fetched for whoever writes it. The
 * next writer waits for uses that are not done. Done ones are forgotten. */
static void
test_recycles (Rig *rig, gconstpointer side G_GNUC_UNUSED)
{
  g_autoptr (GstBufferPool) pool =
      gst_gemmcl_pool_new_configured (rig->allocator, NULL, BYTES, 0, FALSE);
  const cl_event gate = new_user_event (rig);
  GstMemory *first = NULL;
  GstBuffer *buffer;
  GstMapInfo map;

  g_assert_true (gst_buffer_pool_set_active (pool, TRUE));
  copies_reset ();
  for (guint i = 0; i < 5; i++) {
    GstMemory *memory = acquire (pool, &buffer);

    g_assert_true (!first || memory == first);
    first = memory;
    g_assert_cmpuint (gst_buffer_get_size (buffer), ==, BYTES);
    host_fill (memory, 0, 10, 1);
    g_assert_cmpuint (copies_get ().writes, ==, rig->staged ? i : 0);
    open_device (memory, GST_MAP_WRITE, &map);
    gst_memory_unmap (memory, &map);
    g_assert_cmpuint (copies_get ().writes, ==, rig->staged ? i + 1 : 0);
    gst_buffer_set_size (buffer, 100);
    gst_buffer_unref (buffer);
  }
  g_assert_cmpuint (copies_get ().reads, ==, 0);
  device_use (acquire (pool, &buffer), GST_MAP_WRITE, gate);
  gst_buffer_unref (buffer);
  g_assert_cmpuint (count_events (acquire (pool, &buffer), GST_MAP_WRITE), ==, 1);
  finish_user_event (gate, CL_COMPLETE);
  gst_buffer_unref (buffer);
  g_assert_cmpuint (count_events (acquire (pool, &buffer), GST_MAP_READWRITE), ==, 0);
  gst_buffer_unref (buffer);
  gst_buffer_pool_set_active (pool, FALSE);
}

static void
add (const gchar *name, void (*func) (Rig *, gconstpointer))
{
  g_autofree gchar *mapped = g_strconcat ("/memory/mapped/", name, NULL);
  g_autofree gchar *staged = g_strconcat ("/memory/staged/", name, NULL);

  g_test_add (mapped, Rig, GINT_TO_POINTER (GST_GEMMCL_HOST_SIDE_MAPPED), set_up, func, tear_down);
  g_test_add (staged, Rig, GINT_TO_POINTER (GST_GEMMCL_HOST_SIDE_STAGED), set_up, func, tear_down);
}

static void
skip (void)
{
  g_test_skip ("there is no OpenCL device");
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) devices = NULL;

  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  devices = gemmcl_list_devices (NULL, NULL);
  if (!devices) {
    g_test_add_func ("/memory", skip);
    return g_test_run ();
  }
  add ("type", test_type);
  add ("late-write", test_late_write);
  add ("partial-write", test_partial_write);
  add ("traffic", test_traffic);
  add ("concurrent-readers", test_concurrent_readers);
  add ("many-readers", test_many_readers);
  add ("copy", test_copy);
  add ("share", test_share);
  add ("free-while-pending", test_free_while_pending);
  add ("failed-write", test_failed_write);
  add ("failed-read", test_failed_read);
  add ("no-memory", test_no_memory);
  add ("prefix", test_prefix);
  add ("outlives", test_outlives);
  add ("recycles", test_recycles);
  return g_test_run ();
}
