/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gst/video/video.h>
#include <string.h>

#include "copies.h"
#include "memory/memory.h"
#include "stream.h"

/* Buffers in OpenCL memory from a pool: the layout of frames, and what comes back. */

typedef struct {
  GemmclContext *context;
  GstAllocator *allocator;
  GstBufferPool *pool;
} Rig;

static void
rig_clear (Rig *rig)
{
  if (rig->pool)
    gst_buffer_pool_set_active (rig->pool, FALSE);
  gst_clear_object (&rig->pool);
  gst_clear_object (&rig->allocator);
  g_assert_finalize_object (rig->context);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rig, rig_clear)

/* Staged, so that what is copied can be counted. */
static gboolean
rig_open (Rig *rig, const gchar *text, guint size, guint max)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstStructure *config;

  rig->context = gemmcl_context_new (NULL, NULL);
  g_assert_nonnull (rig->context);
  rig->allocator = gst_gemmcl_allocator_new (rig->context, GST_GEMMCL_HOST_SIDE_STAGED, NULL);
  rig->pool = gst_gemmcl_pool_new (rig->allocator);
  config = gst_buffer_pool_get_config (rig->pool);
  gst_buffer_pool_config_set_params (config, caps, size, 0, max);
  return gst_buffer_pool_set_config (rig->pool, config) &&
         gst_buffer_pool_set_active (rig->pool, TRUE);
}

static GstBuffer *
acquire (Rig *rig)
{
  GstBuffer *buffer = NULL;

  g_assert_cmpint (gst_buffer_pool_acquire_buffer (rig->pool, &buffer, NULL), ==, GST_FLOW_OK);
  return buffer;
}

static guint
count_transfers (void)
{
  const Copies copies = copies_get ();

  return copies.writes + copies.reads;
}

/* Rows follow one another, and whatever maps frames finds them. */
static void
test_video (void)
{
  static const struct {
    const gchar *format;
    gsize size;
    gint stride[3];
    gsize offset[3];
  } cases[] = {
      {"RGB", 5 * 3 * 3, {15}, {0}},
      {"GRAY16_LE", 5 * 3 * 2, {10}, {0}},
      {"NV12", 5 * 3 + 2 * 6, {5, 6}, {0, 15}},
      {"I420", 5 * 3 + 2 * 2 * 3, {5, 3, 3}, {0, 15, 21}},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *text = g_strdup_printf (
        "video/x-raw(memory:OpenCL),format=%s,width=5,height=3,framerate=1/1", cases[i].format);
    g_autoptr (GstCaps) caps = gst_caps_from_string (text);
    g_auto (Rig) rig = {NULL};
    g_autoptr (GstBuffer) buffer = NULL;
    const GstVideoMeta *meta;
    GstVideoInfo info;
    GstVideoFrame frame;

    g_assert_true (rig_open (&rig, text, 0, 0));
    buffer = acquire (&rig);
    g_assert_cmpuint (gst_buffer_get_size (buffer), ==, cases[i].size);
    meta = gst_buffer_get_video_meta (buffer);
    g_assert_nonnull (meta);
    for (guint j = 0; j < meta->n_planes; j++) {
      g_assert_cmpint (meta->stride[j], ==, cases[i].stride[j]);
      g_assert_cmpuint (meta->offset[j], ==, cases[i].offset[j]);
    }
    g_assert_true (gst_video_info_from_caps (&info, caps));
    g_assert_true (gst_video_frame_map (&frame, &info, buffer, GST_MAP_WRITE));
    g_assert_cmpint (GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0), ==, cases[i].stride[0]);
    gst_video_frame_unmap (&frame);
  }
}

static void
test_refused (void)
{
  static const gchar *const refused[] = {
      "video/x-raw(memory:OpenCL),format=YUY2,width=5,height=3,framerate=1/1",
      "video/x-raw(memory:OpenCL),format=RGBA,width=65535,height=65535,framerate=1/1",
      "video/x-raw(memory:OpenCL),width=65535",
  };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_auto (Rig) rig = {NULL};

    g_assert_false (rig_open (&rig, refused[i], 0, 0));
  }
}

/* The same memory comes back at its full size, and nothing is fetched for whoever writes it. */
static void
test_recycles (void)
{
  g_auto (Rig) rig = {NULL};
  GstMemory *first = NULL;
  GstMapInfo map;

  g_assert_true (rig_open (&rig, "audio/x-raw(memory:OpenCL)", 1000, 1));
  copies_reset ();
  for (guint i = 0; i < 5; i++) {
    GstBuffer *buffer = acquire (&rig);
    GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

    g_assert_true (!first || memory == first);
    first = memory;
    g_assert_cmpuint (gst_buffer_get_size (buffer), ==, 1000);
    g_assert_true (gst_memory_map (memory, &map, GST_MAP_WRITE));
    gst_memory_unmap (memory, &map);
    g_assert_cmpuint (count_transfers (), ==, i);
    g_assert_true (gst_memory_map (memory, &map, GST_MAP_WRITE | GST_GEMMCL_MAP_OPENCL));
    gst_memory_unmap (memory, &map);
    g_assert_cmpuint (count_transfers (), ==, i + 1);
    gst_buffer_set_size (buffer, 100);
    gst_buffer_unref (buffer);
  }
}

static guint
count_events (GstBuffer *buffer, GstMapFlags access)
{
  cl_event events[GST_GEMMCL_MAX_EVENTS];
  guint n = gst_gemmcl_memory_get_events (gst_buffer_peek_memory (buffer, 0), access, events);

  gst_gemmcl_release_events (n, events);
  return n;
}

/* The next writer waits for uses that are not done. Done ones are forgotten. */
static void
test_events (void)
{
  g_auto (Rig) rig = {NULL};
  GstBuffer *buffer;
  GstMapInfo map;
  cl_event gate;

  g_assert_true (rig_open (&rig, "audio/x-raw(memory:OpenCL)", 1000, 1));
  buffer = acquire (&rig);
  gate = clCreateUserEvent (gemmcl_context_get_cl_context (rig.context), NULL);
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE | GST_GEMMCL_MAP_OPENCL));
  gst_gemmcl_memory_add_event (map.memory, GST_MAP_WRITE, gate);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  buffer = acquire (&rig);
  g_assert_cmpuint (count_events (buffer, GST_MAP_WRITE), ==, 1);
  g_assert_cmpint (clSetUserEventStatus (gate, CL_COMPLETE), ==, CL_SUCCESS);
  clReleaseEvent (gate);
  gst_buffer_unref (buffer);
  buffer = acquire (&rig);
  g_assert_cmpuint (count_events (buffer, GST_MAP_READWRITE), ==, 0);
  gst_buffer_unref (buffer);
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/pool/video", test_video);
  stream_add_test ("/pool/refused", test_refused);
  stream_add_test ("/pool/recycles", test_recycles);
  stream_add_test ("/pool/events", test_events);
  return g_test_run ();
}
