/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doubles.h"
#include "finish.h"

/* dma-bufs, which here are files in memory, under the doubles: with strides and offsets of any
 * kind they give what the same picture in the system's memory gives. */

#define N      4
#define LINE   "appsrc name=in format=time ! "
#define PIXELS "gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]] "

/** Pieces: memories of a picture: one, one for each plane, or that and each a dma-buf of its own.
 */
typedef enum { WHOLE, PLANES, FILES } Pieces;

/**
 * Layout: how a picture lies in a dma-buf
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
  GstVideoFormat format;
  guint width, height;
  const Layout *layout;
  GstAllocator *allocator;
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

/* Appends @size bytes of @fd, which it takes, from @start on. */
static void
append_memory (const Source *self, GstBuffer *buffer, int fd, gsize start, gsize size)
{
  GstMemory *memory = gst_dmabuf_allocator_alloc (self->allocator, fd, start + size);

  gst_memory_resize (memory, (gssize)start, size);
  gst_buffer_append_memory (buffer, memory);
}

/* Takes @fd; @offset: where planes are in the only memory, then where they are in the buffer. */
static void
append_planes (const Source *self, GstBuffer *buffer, int fd, guint n, gsize *offset, gsize size)
{
  gsize before = 0;

  for (guint i = 0; i < n; i++) {
    const gsize end = i + 1 < n ? offset[i + 1] - self->layout->gap : size;
    const gsize bytes = end - offset[i], start = self->layout->before + offset[i];

    append_memory (self, buffer, dup (fd), start, bytes);
    offset[i] = before;
    before += bytes;
  }
  close (fd);
}

static int
new_file (gsize size)
{
  const int fd = memfd_create ("picture", MFD_CLOEXEC);

  g_assert_cmpint (ftruncate (fd, (off_t)size), ==, 0);
  return fd;
}

/* Gives each memory a file of its own. */
static void
part_files (const Source *self, GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    const gsize size = gst_memory_get_sizes (gst_buffer_peek_memory (buffer, i), NULL, NULL);

    gst_buffer_replace_memory (buffer, i,
                               gst_dmabuf_allocator_alloc (self->allocator, new_file (size), size));
  }
}

/* (transfer full): a picture in a dma-buf, not yet drawn. */
static GstBuffer *
new_dmabuf (const Source *self, const GstVideoInfo *info)
{
  const Layout *layout = self->layout;
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
    append_memory (self, buffer, fd, layout->before, size);
  else
    append_planes (self, buffer, fd, n, offset, size);
  if (layout->pieces == FILES)
    part_files (self, buffer);
  gst_buffer_add_video_meta_full (buffer, 0, self->format, self->width, self->height, n, offset,
                                  stride);
  return buffer;
}

/* The @index-th picture, the same whatever lies between its rows. */
static void
draw (GstBuffer *buffer, const GstVideoInfo *info, guint index)
{
  GstVideoFrame frame;

  g_assert_true (gst_video_frame_map (&frame, info, buffer, GST_MAP_WRITE));
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES (info); plane++)
    for (gsize y = 0; y < (gsize)GST_VIDEO_INFO_COMP_HEIGHT (info, plane); y++)
      for (gsize x = 0; x < get_row (info, plane); x++)
        ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA (
            &frame, plane))[y * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE (&frame, plane) + x] =
            (guint8)(16 + (x * 7 + y * 13 + index * 31 + plane * 5) % 220);
  gst_video_frame_unmap (&frame);
}

/* Makes the buffer's memory a part of another one. */
static void
make_part (GstBuffer *buffer)
{
  GstMemory *whole = gst_buffer_peek_memory (buffer, 0);

  gst_buffer_replace_memory (
      buffer, 0, gst_memory_share (whole, 0, (gssize)gst_memory_get_sizes (whole, NULL, NULL)));
}

static void
push (GstElement *pipeline, gpointer data)
{
  const Source *self = data;
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  const gboolean drm = self->layout && self->drm;
  g_autofree gchar *text = g_strdup_printf (
      "video/x-raw%s,%s=%s,width=%u,height=%u,framerate=30/1",
      self->layout ? "(memory:DMABuf)" : "", drm ? "format=DMA_DRM,drm-format" : "format",
      gst_video_format_to_string (self->format), self->width, self->height);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstBuffer *buffers[2];
  GstVideoInfo info;

  gst_video_info_set_format (&info, self->format, self->width, self->height);
  gst_app_src_set_caps (GST_APP_SRC (source), caps);
  for (guint i = 0; i < G_N_ELEMENTS (buffers); i++) {
    buffers[i] = self->layout ? new_dmabuf (self, &info)
                              : gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
    draw (buffers[i], &info, i);
    if (self->layout && self->layout->before > 0)
      make_part (buffers[i]);
#if GST_CHECK_VERSION(1, 24, 0)
    if (drm)
      gst_buffer_get_video_meta (buffers[i])->format = GST_VIDEO_FORMAT_DMA_DRM;
#endif
  }
  /* Each twice: it is imported once. */
  for (guint i = 0; i < N; i++)
    gst_app_src_push_buffer (GST_APP_SRC (source),
                             gst_buffer_ref (buffers[i % G_N_ELEMENTS (buffers)]));
  gst_app_src_end_of_stream (GST_APP_SRC (source));
  for (guint i = 0; i < G_N_ELEMENTS (buffers); i++)
    gst_buffer_unref (buffers[i]);
}

/* Both ways; @shared is what the dma-bufs gave. */
static void
run_as (GstVideoFormat format, const Layout *layout, gboolean drm, const gchar *element,
        Finish *shared)
{
  g_autoptr (GstAllocator) allocator = gst_dmabuf_allocator_new ();
  g_autofree gchar *line = g_strconcat (LINE, element, NULL);
  Source source = {format, 22, 14, layout, allocator, drm};
  g_auto (Finish) plain = {NULL};

  finish_run_with (shared, push, &source, line);
  source.layout = NULL;
  finish_run_with (&plain, push, &source, line);
  finish_assert_well (&plain, N);
  if (!shared->failure)
    finish_assert_same (&plain, shared);
}

static void
run (GstVideoFormat format, const Layout *layout, const gchar *element, Finish *shared)
{
  run_as (format, layout, FALSE, element, shared);
}

/* Whether there is what the tests need; if not it is said. */
static gboolean
is_ready (void)
{
  if (doubles_missing ())
    g_test_skip (doubles_missing ());
  return !doubles_missing ();
}

static const Layout tight = {0, 0, 0, WHOLE}, padded = {0, 0, 10, WHOLE}, odd = {52, 7, 3, WHOLE};
static const Layout planes = {0, 0, 0, PLANES}, odd_planes = {52, 7, 3, PLANES};
static const Layout files = {0, 0, 3, FILES};

static void
check_import (GstVideoFormat format, const Layout *layout, gint64 copies)
{
  const gint64 imported = doubles_count ("dmabuf-objects");
  const gint64 copied = doubles_count ("shared-transfers"), acquired = doubles_count ("acquires");
  g_auto (Finish) shared = {NULL};

  run (format, layout, PIXELS, &shared);
  finish_assert_well (&shared, N);
  g_assert_cmpstr (shared.memory, ==, "DMABuf to system");
  g_assert_cmpint (doubles_count ("dmabuf-objects") - imported, ==, 2);
  g_assert_cmpint (doubles_count ("acquires") - acquired, ==, N);
  g_assert_cmpint (doubles_count ("shared-transfers") - copied, ==, copies);
  g_assert_true (doubles_wait_for ("live-objects", 0));
  doubles_assert_right ();
}

/* What is as the plan wants it is read in place; otherwise the device copies each plane once. */
static void
test_import (void)
{
  if (!is_ready ())
    return;
  check_import (GST_VIDEO_FORMAT_NV12, &tight, 0);
  check_import (GST_VIDEO_FORMAT_NV12, &padded, 2 * N);
  check_import (GST_VIDEO_FORMAT_NV12, &odd, 2 * N);
  check_import (GST_VIDEO_FORMAT_I420, &odd, 3 * N);
  check_import (GST_VIDEO_FORMAT_BGRx, &padded, N);
  check_import (GST_VIDEO_FORMAT_RGB, &tight, 0);
}

/* Planes that are memories of their own, too, if they lie in one dma-buf; otherwise they are
 * copied.
 */
static void
test_planes (void)
{
  g_auto (Finish) apart = {NULL};
  gint64 imported;

  if (!is_ready ())
    return;
  check_import (GST_VIDEO_FORMAT_NV12, &planes, 0);
  check_import (GST_VIDEO_FORMAT_NV12, &odd_planes, 2 * N);
  check_import (GST_VIDEO_FORMAT_I420, &odd_planes, 3 * N);
  imported = doubles_count ("dmabuf-objects");
  run (GST_VIDEO_FORMAT_I420, &files, PIXELS, &apart);
  finish_assert_well (&apart, N);
  g_assert_cmpstr (apart.memory, ==, "system");
  g_assert_cmpint (doubles_count ("dmabuf-objects"), ==, imported);
  doubles_assert_right ();
}

static void
test_flights (void)
{
  g_auto (Finish) shared = {NULL};

  if (!is_ready ())
    return;
  run (GST_VIDEO_FORMAT_NV12, &odd, PIXELS "batch-size=2 queue-depth=2", &shared);
  finish_assert_well (&shared, N);
  g_assert_cmpstr (shared.memory, ==, "DMABuf to system");
  doubles_assert_right ();
}

/* A device that imports nothing has them mapped and copied. */
static void
test_mapped (void)
{
  const Layout *const layouts[] = {&tight, &padded, &odd};
  const gint64 acquired = is_ready () ? doubles_count ("acquires") : 0;

  if (doubles_missing ())
    return;
  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va,dmabuf", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++) {
    g_auto (Finish) shared = {NULL};

    run (GST_VIDEO_FORMAT_NV12, layouts[i], PIXELS, &shared);
    finish_assert_well (&shared, N);
    g_assert_cmpstr (shared.memory, ==, "system");
  }
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  g_assert_cmpint (doubles_count ("acquires"), ==, acquired);
  doubles_assert_right ();
}

/* With the formats' new names, in caps and metas. */
static void
test_drm (void)
{
#if GST_CHECK_VERSION(1, 24, 0)
  g_auto (Finish) imported = {NULL}, mapped = {NULL};

  if (!is_ready ())
    return;
  run_as (GST_VIDEO_FORMAT_NV12, &odd, TRUE, PIXELS, &imported);
  finish_assert_well (&imported, N);
  g_assert_cmpstr (imported.memory, ==, "DMABuf to system");
  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va,dmabuf", TRUE);
  run_as (GST_VIDEO_FORMAT_NV12, &odd, TRUE, PIXELS, &mapped);
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  finish_assert_well (&mapped, N);
  g_assert_cmpstr (mapped.memory, ==, "system");
  doubles_assert_right ();
#else
  g_test_skip ("GStreamer before 1.24 has no DRM formats.");
#endif
}

/* One that the driver refuses is copied; what fails later is an error. */
static void
test_failures (void)
{
  static const gchar *const functions[] = {"clEnqueueAcquireExternalMemObjectsKHR",
                                           "clEnqueueReleaseExternalMemObjectsKHR",
                                           "clEnqueueCopyBufferRect"};
  static const gchar *const words[] = {"Acquiring shared", "Releasing shared", "Copying A"};

  if (!is_ready ())
    return;
  {
    g_auto (Finish) shared = {NULL};

    const gint64 imported = doubles_count ("dmabuf-objects");

    doubles_fail ("clCreateBufferWithProperties", 1, -61);
    run (GST_VIDEO_FORMAT_NV12, &odd, PIXELS, &shared);
    finish_assert_well (&shared, N);
    /* The first of the two dma-bufs is not tried again when it comes again. */
    g_assert_cmpint (doubles_count ("dmabuf-objects") - imported, ==, 1);
  }
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++) {
    g_auto (Finish) shared = {NULL};

    doubles_fail (functions[i], 2, -6);
    run (GST_VIDEO_FORMAT_NV12, &odd, PIXELS, &shared);
    finish_assert_failed (&shared, words[i], NULL);
    g_assert_true (doubles_wait_for ("live-objects", 0));
    /* What cannot be released stays acquired, whatever the element does. */
    if (i == 1)
      doubles_forgive ("left-acquired");
    doubles_assert_right ();
  }
}

/* Those of vapostproc are surfaces, and may be tiled: they are read as such, or mapped. */
static void
check_vapostproc (const gchar *without, const gchar *memory)
{
  static const gchar source[] = "videotestsrc num-buffers=4 pattern=smpte ! "
                                "video/x-raw,format=NV12,width=66,height=50 ! ";
  g_auto (Finish) plain = {NULL}, shared = {NULL};

  g_setenv ("GEMMCL_DOUBLES_WITHOUT", without, TRUE);
  finish_run (&plain, "%s" PIXELS, source);
  finish_run (&shared, "%svapostproc ! video/x-raw(memory:DMABuf) ! " PIXELS, source);
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  finish_assert_well (&shared, 4);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (shared.memory, ==, memory);
  doubles_assert_right ();
}

static void
test_vapostproc (void)
{
  if (!is_ready () || !finish_has_vapostproc ())
    return;
  check_vapostproc ("", "VA to system");
  check_vapostproc ("va", "system");
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dmabuf/import", test_import);
  g_test_add_func ("/dmabuf/planes", test_planes);
  g_test_add_func ("/dmabuf/flights", test_flights);
  g_test_add_func ("/dmabuf/mapped", test_mapped);
  g_test_add_func ("/dmabuf/drm", test_drm);
  g_test_add_func ("/dmabuf/failures", test_failures);
  g_test_add_func ("/dmabuf/vapostproc", test_vapostproc);
  return g_test_run ();
}
