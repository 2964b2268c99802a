/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* OpenCL memory of others, that comes in: laid out strangely, from elsewhere, late or never there.
 */

#include <gemmcl-opencl.h>
#include <string.h>

#include "memory/gstgemmclmemory.h"
#include "line.h"

/* What comes in stays as it was, though its owner has more than one use for it. */
static void
test_inputs_stay (void)
{
  g_auto (Line) first = {NULL}, again = {NULL};
  GstBuffer *input;

  line_init (&first, WEIGHT FORCE ("video/x-raw" OPENCL), RGB);
  line_push (&first, noise_bytes (9 * 160, 1));
  input = gst_harness_pull (first.harness);
  line_init (&again, WEIGHT "! " WEIGHT "name=b " FORCE ("video/x-raw" OPENCL), OPENCL_RGB);
  for (guint i = 0; i < 3; i++)
    line_push (&again, gst_buffer_ref (input));
  line_end (&again);
  g_assert_cmpuint (again.n, ==, 3);
  g_assert_cmpmem (again.bytes->data, PIXELS * 3, again.bytes->data + 2 * PIXELS * 3, PIXELS * 3);
  line_assert_memory (&again, "b", "OpenCL", 0);
  gst_buffer_unref (input);
}

/* All memories of a buffer are what its caps say, those that pass through, too. */
static void
test_passed_tensors (void)
{
  g_auto (Line) self = {NULL};
  GstBuffer *input = gst_buffer_new (), *output;
  gfloat row[2] = {1, 2};

  line_init (&self, "gemmcl weight=[[1],[1]] tensor-index=1 " FORCE ("other/tensors" OPENCL),
             "other/tensors,format=static,num_tensors=3,framerate=1/1,"
             "dimensions=(string)\"2:1,2:1,2:1\",types=(string)\"float32,float32,float32\"");
  for (guint i = 0; i < 3; i++) {
    gpointer copy = g_memdup2 (row, sizeof row);

    gst_buffer_append_memory (
        input, gst_memory_new_wrapped (0, copy, sizeof row, 0, sizeof row, copy, g_free));
  }
  line_push (&self, input);
  output = gst_harness_pull (self.harness);
  g_assert_cmpuint (gst_buffer_n_memory (output), ==, 3);
  for (guint i = 0; i < 3; i++) {
    GstMemory *memory = gst_buffer_peek_memory (output, i);
    GstMapInfo map;

    g_assert_true (gst_memory_is_type (memory, GST_OPENCL_MEMORY_TYPE_NAME));
    g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
    g_assert_cmpuint (map.size, ==, i == 1 ? 4 : 8);
    g_assert_cmpfloat (((gfloat *)(gpointer)map.data)[0], ==, i == 1 ? 3 : 1);
    gst_memory_unmap (memory, &map);
  }
  gst_buffer_unref (output);
}

/* The memory that the first element of @line offers upstream. */
static GstAllocator *
get_allocator (Line *line)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (line->harness->srcpad);
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstAllocator *allocator = NULL;

  g_assert_true (gst_pad_peer_query (line->harness->srcpad, query));
  g_assert_cmpuint (gst_query_get_n_allocation_params (query), >, 0);
  gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  g_assert_nonnull (allocator);
  return allocator;
}

/* Makes elements of @line use @context. */
static void
set_context (Line *line, GemmclContext *context)
{
  g_autoptr (GstContext) shared = gst_context_new ("OpenCL", TRUE);

  gst_structure_set (gst_context_writable_structure (shared), "cl_context", G_TYPE_POINTER,
                     gemmcl_context_get_cl_context (context), NULL);
  gst_element_set_state (line->harness->element, GST_STATE_NULL);
  gst_element_set_context (line->harness->element, shared);
  gst_element_set_state (line->harness->element, GST_STATE_PLAYING);
}

/* A picture in @allocator's memory, its rows @stride bytes apart and behind @offset bytes. */
static GstBuffer *
new_picture (GstAllocator *allocator, gsize offset, gint stride)
{
  gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
  gint strides[GST_VIDEO_MAX_PLANES] = {stride};
  GstBuffer *buffer = gst_buffer_new_allocate (allocator, offset + 9 * stride, NULL);
  GstMapInfo map;

  g_assert_nonnull (buffer);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, 53, 9, 1,
                                  offsets, strides);
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  memset (map.data, 255, map.size);
  for (guint y = 0; y < 9; y++)
    for (guint i = 0; i < 53 * 3; i++)
      map.data[offset + y * stride + i] = (y * 31 + i * 7) % 251;
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* Strange layouts are copied on the device; memory of another context by the host. */
static void
test_strange_inputs (void)
{
  static const struct {
    gsize offset;
    gint stride;
  } layouts[] = {{0, 159}, {0, 160}, {7, 159}, {64, 200}};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  g_auto (Line) self = {NULL}, stranger = {NULL};
  g_autoptr (GstAllocator) allocator = NULL, foreign = NULL;
  guint n = 0;

  line_init (&self, WEIGHT "name=a", OPENCL_RGB);
  line_init (&stranger, WEIGHT, OPENCL_RGB);
  set_context (&stranger, context);
  allocator = get_allocator (&self);
  foreign = get_allocator (&stranger);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++, n++)
    line_push (&self, new_picture (allocator, layouts[i].offset, layouts[i].stride));
  g_assert_true (gst_harness_push_event (self.harness, gst_event_new_gap (0, 0)));
  line_assert_memory (&self, "a", "OpenCL to system", n * PIXELS * 3);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++, n++)
    line_push (&self, new_picture (foreign, layouts[i].offset, layouts[i].stride));
  line_end (&self);
  line_assert_memory (&self, "a", "system", (n + 4) * PIXELS * 3);
  g_assert_cmpuint (self.n, ==, n);
  for (guint i = 1; i < n; i++)
    g_assert_cmpmem (self.bytes->data, PIXELS * 3, self.bytes->data + i * PIXELS * 3, PIXELS * 3);
}

/* Nothing waits on the host for what the device has still to do; what fails there is an error. */
static void
test_late_input (void)
{
  for (guint i = 0; i < 2; i++) {
    g_auto (Line) self = {NULL};
    g_autoptr (GstAllocator) allocator = NULL;
    g_autoptr (GstMessage) message = NULL;
    g_autoptr (GstBuffer) output = NULL;
    GstBuffer *input;
    cl_event gate;
    GstMapInfo map;

    line_init (&self,
               WEIGHT "queue-depth=2 ! " WEIGHT "queue-depth=2 " FORCE ("video/x-raw" OPENCL),
               OPENCL_RGB);
    allocator = get_allocator (&self);
    input = new_picture (allocator, 0, 159);
    gate =
        clCreateUserEvent (gst_opencl_memory_get_context (gst_buffer_peek_memory (input, 0)), NULL);
    g_assert_true (gst_buffer_map (input, &map, GST_MAP_WRITE | GST_MAP_OPENCL));
    gst_opencl_memory_add_event (map.memory, GST_MAP_WRITE, gate);
    gst_buffer_unmap (input, &map);
    line_push (&self, input);
    output = gst_harness_pull (self.harness);
    g_assert_cmpint (clSetUserEventStatus (gate, i == 0 ? CL_COMPLETE : -1), ==, CL_SUCCESS);
    clReleaseEvent (gate);
    g_assert_cmpint (gst_buffer_map (output, &map, GST_MAP_READ), ==, i == 0);
    if (i == 0)
      gst_buffer_unmap (output, &map);
    gst_harness_push_event (self.harness, gst_event_new_eos ());
    message = gst_bus_pop_filtered (self.bus, GST_MESSAGE_ERROR);
    g_assert_cmpint (message != NULL, ==, i == 1);
  }
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/opencl-inputs/inputs-stay", test_inputs_stay);
  stream_add_test ("/opencl-inputs/passed-tensors", test_passed_tensors);
  stream_add_test ("/opencl-inputs/strange-inputs", test_strange_inputs);
  stream_add_test ("/opencl-inputs/late-input", test_late_input);
  return g_test_run ();
}
