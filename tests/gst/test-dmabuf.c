/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "copies.h"
#include "doubles.h"
#include "finish.h"
#include "stream.h"

/* dma-bufs, which here are files in memory, under the doubles: with strides and offsets of any
 * kind they give what the same frame in the system's memory gives. */

#define N      4
#define LINE   "appsrc name=in format=time ! gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]] %s"
#define WIDTH  22
#define HEIGHT 14

/** Pieces: memories of a frame: one, one for each plane, or that and each a dma-buf of its own. */
typedef enum { WHOLE, PLANES, FILES } Pieces;

/**
 * Layout: how a frame lies in a dma-buf
 * @before: bytes of the dma-buf before the memory, @gap: within it before each plane
 * @padding: bytes after each row
 */
typedef struct {
  gsize before, gap, padding;
  Pieces pieces;
} Layout;

/**
 * Source: what is pushed
 * @layout: NULL for the system's memory
 * @drm: whether dma-bufs have their format as GStreamer 1.24 writes it
 */
typedef struct {
  const gchar *format;
  const Layout *layout;
  gboolean drm;
} Source;

static gsize
get_row (const GstVideoInfo *info, guint plane)
{
  gint comps[GST_VIDEO_MAX_COMPONENTS];

  gst_video_format_info_component (info->finfo, plane, comps);
  return (gsize)GST_VIDEO_INFO_COMP_WIDTH (info, comps[0]) *
         (gsize)GST_VIDEO_INFO_COMP_PSTRIDE (info, comps[0]);
}

static int
new_file (gsize size)
{
  const int fd = memfd_create ("frame", MFD_CLOEXEC);

  g_assert_cmpint (ftruncate (fd, (off_t)size), ==, 0);
  return fd;
}

/* Appends @size bytes of @fd, which it takes, from @start on. */
static void
append_memory (GstBuffer *buffer, int fd, gsize start, gsize size)
{
  g_autoptr (GstAllocator) allocator = gst_dmabuf_allocator_new ();
  GstMemory *memory = gst_dmabuf_allocator_alloc (allocator, fd, start + size);

  gst_memory_resize (memory, (gssize)start, size);
  gst_buffer_append_memory (buffer, memory);
}

/* Takes @fd; @offset: where planes are in the only memory, then where they are in the buffer. */
static void
append_planes (const Layout *layout, GstBuffer *buffer, int fd, guint n, gsize *offset, gsize size)
{
  gsize before = 0;

  for (guint i = 0; i < n; i++) {
    const gsize end = i + 1 < n ? offset[i + 1] - layout->gap : size;
    const gsize bytes = end - offset[i];

    if (layout->pieces == FILES)
      append_memory (buffer, new_file (bytes), 0, bytes);
    else
      append_memory (buffer, dup (fd), layout->before + offset[i], bytes);
    offset[i] = before;
    before += bytes;
  }
  close (fd);
}

/* (transfer full): a frame in a dma-buf, not yet drawn. */
static GstBuffer *
new_dmabuf (const Layout *layout, const GstVideoInfo *info)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = {0}, size = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = {0};
  const guint n = GST_VIDEO_INFO_N_PLANES (info);
  GstBuffer *buffer = gst_buffer_new ();
  int fd;

  for (guint i = 0; i < n; i++) {
    size += layout->gap;
    offset[i] = size;
    stride[i] = (gint)(get_row (info, i) + layout->padding);
    size += (gsize)stride[i] * (gsize)GST_VIDEO_INFO_COMP_HEIGHT (info, i);
  }
  fd = new_file (layout->before + size);
  if (layout->pieces == WHOLE)
    append_memory (buffer, fd, layout->before, size);
  else
    append_planes (layout, buffer, fd, n, offset, size);
  gst_buffer_add_video_meta_full (buffer, 0, GST_VIDEO_INFO_FORMAT (info), WIDTH, HEIGHT, n, offset,
                                  stride);
  return buffer;
}

/* Makes the buffer's memory a part of another one. */
static void
make_part (GstBuffer *buffer)
{
  GstMemory *whole = gst_buffer_peek_memory (buffer, 0);

  gst_buffer_replace_memory (
      buffer, 0, gst_memory_share (whole, 0, (gssize)gst_memory_get_sizes (whole, NULL, NULL)));
}

static GstBuffer *
new_frame (const Source *self, guint index)
{
  g_autofree gchar *text = g_strdup_printf (
      "video/x-raw,format=%s,width=%d,height=%d,framerate=1/1", self->format, WIDTH, HEIGHT);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstBuffer *buffer;
  GstVideoInfo info;

  g_assert_true (gst_video_info_from_caps (&info, caps));
  buffer = self->layout ? new_dmabuf (self->layout, &info)
                        : gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
  finish_draw (buffer, text, index);
  if (self->layout && self->layout->before > 0)
    make_part (buffer);
#if GST_CHECK_VERSION(1, 24, 0)
  if (self->layout && self->drm)
    gst_buffer_get_video_meta (buffer)->format = GST_VIDEO_FORMAT_DMA_DRM;
#endif
  return buffer;
}

/* Pushes two frames by turns, each twice: it is imported once. */
static void
push (GstElement *pipeline, gpointer data)
{
  const Source *self = data;
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  g_autofree gchar *text =
      g_strdup_printf ("video/x-raw%s,%s=%s,width=%d,height=%d,framerate=30/1",
                       self->layout ? "(memory:DMABuf)" : "",
                       self->layout && self->drm ? "format=DMA_DRM,drm-format" : "format",
                       self->format, WIDTH, HEIGHT);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GstBuffer) first = new_frame (self, 0), second = new_frame (self, 1);

  gst_app_src_set_caps (GST_APP_SRC (source), caps);
  for (guint i = 0; i < N; i++)
    gst_app_src_push_buffer (GST_APP_SRC (source), gst_buffer_ref (i % 2 ? second : first));
  gst_app_src_end_of_stream (GST_APP_SRC (source));
}

/* Runs dma-bufs, whose copies are counted, and asserts that frames in the system's memory give the
 * same; @memory: (nullable): where they are to be, if nothing is to fail. */
static void
run (const Source *source, const gchar *settings, const gchar *memory, Finish *shared)
{
  Source system = {.format = source->format};
  g_auto (Finish) plain = {NULL};

  if (memory)
    finish_run (&plain, push, &system, LINE, settings);
  copies_reset ();
  finish_run (shared, push, (gpointer)source, LINE, settings);
  if (!memory)
    return;
  finish_assert_well (shared, N, memory);
  finish_assert_same (&plain, shared);
  doubles_assert_clean ();
}

static const Layout tight = {0, 0, 0, WHOLE}, padded = {0, 0, 10, WHOLE}, odd = {52, 7, 3, WHOLE};
static const Layout planes = {0, 0, 0, PLANES}, odd_planes = {52, 7, 3, PLANES};
static const Layout files = {0, 0, 3, FILES};

/* A dma-buf with the layout that the plan wants is read in place. The device copies each plane of
 * another one once. Planes may be memories of their own if they lie in one dma-buf; otherwise the
 * host copies them. */
static void
test_import (void)
{
  static const struct {
    const gchar *format;
    const Layout *layout;
    gint copies;
  } cases[] = {{"NV12", &tight, 0},   {"NV12", &padded, 2 * N},     {"NV12", &odd, 2 * N},
               {"I420", &odd, 3 * N}, {"BGRx", &padded, N},         {"RGB", &tight, 0},
               {"NV12", &planes, 0},  {"NV12", &odd_planes, 2 * N}, {"I420", &odd_planes, 3 * N},
               {"I420", &files, -1}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gboolean imports = cases[i].copies >= 0;
    const gint64 imported = doubles_count ("dmabuf-objects"), acquired = doubles_count ("acquires");
    g_auto (Finish) shared = {NULL};

    run (&(Source){cases[i].format, cases[i].layout, FALSE}, "",
         imports ? "DMABuf to system" : "system", &shared);
    g_assert_cmpint (doubles_count ("dmabuf-objects") - imported, ==, imports ? 2 : 0);
    g_assert_cmpint (doubles_count ("acquires") - acquired, ==, imports ? N : 0);
    if (imports)
      g_assert_cmpuint (copies_get ().copies, ==, cases[i].copies);
  }
}

static void
test_inflight (void)
{
  g_auto (Finish) shared = {NULL};

  run (&(Source){"NV12", &odd, FALSE}, "batch-size=2 queue-depth=2", "DMABuf to system", &shared);
}

/* A device that imports nothing has them mapped and copied. */
static void
test_mapped (void)
{
  const Layout *const layouts[] = {&tight, &padded, &odd};
  const gint64 acquired = doubles_count ("acquires");

  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va,dmabuf", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++) {
    g_auto (Finish) shared = {NULL};

    run (&(Source){"NV12", layouts[i], FALSE}, "", "system", &shared);
  }
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  g_assert_cmpint (doubles_count ("acquires"), ==, acquired);
}

/* Upstream may prefer dma-bufs if they are imported: system memory is offered last then. */
static void
test_order (void)
{
  static const gchar *const without[] = {"", "va,dmabuf"};

  for (guint i = 0; i < G_N_ELEMENTS (without); i++) {
    g_autoptr (Stream) stream = stream_new ("gemmcl");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "sink");
    g_autoptr (GstCaps) caps = NULL;

    g_setenv ("GEMMCL_DOUBLES_WITHOUT", without[i], TRUE);
    stream_set_state (stream, GST_STATE_READY);
    caps = gst_pad_query_caps (pad, NULL);
    g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
    g_assert_cmpint (
        gst_caps_features_contains (gst_caps_get_features (caps, gst_caps_get_size (caps) - 1),
                                    "memory:DMABuf"),
        ==, i);
  }
}

/* With the formats' new names, in caps and metas. */
static void
test_drm (void)
{
  g_auto (Finish) imported = {NULL}, mapped = {NULL};

  if (!finish_has_drm_formats ())
    return;
  run (&(Source){"NV12", &odd, TRUE}, "", "DMABuf to system", &imported);
  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va,dmabuf", TRUE);
  run (&(Source){"NV12", &odd, TRUE}, "", "system", &mapped);
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
}

/* One that the driver refuses is copied, and not tried again; what fails later is an error. */
static void
test_failures (void)
{
  static const struct {
    const gchar *function, *words;
  } cases[] = {{"clEnqueueAcquireExternalMemObjectsKHR", "Acquiring shared"},
               {"clEnqueueReleaseExternalMemObjectsKHR", "Releasing shared"},
               {"clEnqueueCopyBufferRect", "Copying A"}};
  const gint64 imported = doubles_count ("dmabuf-objects");
  g_auto (Finish) copied = {NULL};

  doubles_fail ("clCreateBufferWithProperties", 1, -61);
  run (&(Source){"NV12", &odd, FALSE}, "", "DMABuf to system", &copied);
  g_assert_cmpint (doubles_count ("dmabuf-objects") - imported, ==, 1);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Finish) shared = {NULL};

    doubles_fail (cases[i].function, 2, -6);
    run (&(Source){"NV12", &odd, FALSE}, "", NULL, &shared);
    assert_words (shared.failure, cases[i].words);
    doubles_assert_clean ();
  }
}

/* Those of vapostproc are surfaces, and may be tiled: they are read as such, or mapped. */
static void
test_vapostproc (void)
{
#define SOURCE "videotestsrc num-buffers=4 ! video/x-raw,format=NV12,width=66,height=50 ! "
#define PIXELS "gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]]"
  static const gchar *const without[] = {"", "va"}, *const memories[] = {"VA to system", "system"};

  for (guint i = 0; i < G_N_ELEMENTS (without); i++) {
    g_setenv ("GEMMCL_DOUBLES_WITHOUT", without[i], TRUE);
    finish_compare (N, memories[i], SOURCE PIXELS,
                    SOURCE "vapostproc ! video/x-raw(memory:DMABuf) ! " PIXELS);
    g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  }
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  finish_add_test ("/dmabuf/import", test_import, NULL);
  finish_add_test ("/dmabuf/inflight", test_inflight, NULL);
  finish_add_test ("/dmabuf/mapped", test_mapped, NULL);
  finish_add_test ("/dmabuf/order", test_order, NULL);
  finish_add_test ("/dmabuf/drm", test_drm, NULL);
  finish_add_test ("/dmabuf/failures", test_failures, NULL);
  finish_add_test ("/dmabuf/vapostproc", test_vapostproc, "vapostproc");
  return g_test_run ();
}
