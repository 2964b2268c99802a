/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "load.h"
#include "memory/gstgemmclmemory.h"
#include "sharing-example.h"

/* Several threads at once: elements that different threads open share one OpenCL context, which the
 * example of docs/sharing.md queries, and several threads read one OpenCL memory. sharing.py tests
 * the choice of the context, memory.py the memory. */

static gpointer
open_and_close (gpointer element)
{
  for (guint i = 0; i < 50; i++) {
    cl_context context;

    g_assert_cmpint (gst_element_set_state (element, GST_STATE_READY), ==,
                     GST_STATE_CHANGE_SUCCESS);
    context = get_context (element);
    g_assert_nonnull (context);
    clReleaseContext (context);
    g_assert_cmpint (gst_element_set_state (element, i % 2 ? GST_STATE_NULL : GST_STATE_PAUSED), ==,
                     GST_STATE_CHANGE_SUCCESS);
  }
  return NULL;
}

/* Each thread opens and closes one element. In the end all are open and have the same context. The
 * first two elements are not linked to the other two. */
static void
test_threads (void)
{
  static const gchar *const names[] = {"a", "b", "c", "d"};
  g_autoptr (GstElement) pipeline =
      gst_parse_launch ("gemmcl name=a weight=[1] ! gemmcl name=b weight=[1] ! "
                        "fakesink  gemmcl name=c weight=[1]  gemmcl name=d weight=[1]",
                        NULL);
  GstElement *elements[G_N_ELEMENTS (names)];
  GThread *threads[G_N_ELEMENTS (names)];
  cl_context context, first = NULL;

  /* ThreadSanitizer does not see the lock of GLib's quarks, so they are made before. */
  gst_element_set_state (pipeline, GST_STATE_READY);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    elements[i] = gst_bin_get_by_name (GST_BIN (pipeline), names[i]);
    threads[i] = g_thread_new (names[i], open_and_close, elements[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (gst_element_set_state (pipeline, GST_STATE_READY), ==, GST_STATE_CHANGE_SUCCESS);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    context = get_context (elements[i]);
    first = first ? first : context;
    g_assert_true (context == first);
    clReleaseContext (context);
    gst_object_unref (elements[i]);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

#define N_NUMBERS 1024

static void
assert_numbers (gconstpointer data, gsize size)
{
  const gfloat *numbers = data;

  g_assert_cmpuint (size, ==, N_NUMBERS * sizeof (gfloat));
  for (guint i = 0; i < N_NUMBERS; i++)
    g_assert_cmpfloat (numbers[i], ==, 2 * i);
}

static gpointer
read_on_host (gpointer memory)
{
  GstMapInfo map;

  for (guint i = 0; i < 50; i++) {
    g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
    assert_numbers (map.data, map.size);
    gst_memory_unmap (memory, &map);
  }
  return NULL;
}

static gpointer
read_on_device (gpointer memory)
{
  gfloat numbers[N_NUMBERS];
  cl_event events[GST_GEMMCL_MAX_EVENTS];
  cl_command_queue queue;
  cl_device_id device;
  GstMapInfo map;

  clGetContextInfo (gst_gemmcl_memory_get_cl_context (memory), CL_CONTEXT_DEVICES, sizeof device,
                    &device, NULL);
  queue = clCreateCommandQueueWithProperties (gst_gemmcl_memory_get_cl_context (memory), device,
                                              NULL, NULL);
  for (guint i = 0; i < 50; i++) {
    guint n;

    g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ | GST_GEMMCL_MAP_OPENCL));
    n = gst_gemmcl_memory_get_events (memory, GST_MAP_READ, events);
    g_assert_cmpint (clEnqueueReadBuffer (queue, (cl_mem)map.data, CL_TRUE, 0, map.size, numbers, n,
                                          n > 0 ? events : NULL, NULL),
                     ==, CL_SUCCESS);
    gst_gemmcl_release_events (n, events);
    assert_numbers (numbers, map.size);
    gst_memory_unmap (memory, &map);
  }
  clReleaseCommandQueue (queue);
  return NULL;
}

/* Four threads read an output, two on the host and two on the device. */
static void
test_readers (gconstpointer is_discrete)
{
  gfloat numbers[N_NUMBERS];
  GThread *threads[4];
  GstHarness *harness;
  GstBuffer *output;

  for (guint i = 0; i < N_NUMBERS; i++)
    numbers[i] = i;
  if (is_discrete)
    g_setenv ("GEMMCL_TEST_DISCRETE", "1", TRUE);
  harness =
      gst_harness_new_parse ("gemmcl weight=[2] ! capsfilter caps=other/tensors(memory:OpenCL)");
  gst_harness_set_src_caps_str (harness, TENSORS ("1:1024"));
  output = gst_harness_push_and_pull (harness, gst_buffer_new_memdup (numbers, sizeof numbers));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("reader", i % 2 ? read_on_device : read_on_host,
                               gst_buffer_peek_memory (output, 0));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  gst_buffer_unref (output);
  gst_harness_teardown (harness);
  g_unsetenv ("GEMMCL_TEST_DISCRETE");
}

int
main (int argc, char **argv)
{
  if (load_test_init (&argc, &argv) == 0)
    return 0;
  g_test_add_func ("/context/threads", test_threads);
  g_test_add_data_func ("/context/readers/shared", GINT_TO_POINTER (FALSE), test_readers);
  g_test_add_data_func ("/context/readers/discrete", GINT_TO_POINTER (TRUE), test_readers);
  return load_test_run ();
}
