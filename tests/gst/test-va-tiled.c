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

/* dma-bufs of media drivers that are tiled, under the doubles, whose surfaces
 * GEMMCL_DOUBLES_MODIFIER tiles: they are read as VA surfaces, or not at all. What lies in such
 * memory is no picture, so that whoever takes it for a linear one has other results. */

#define N 4
#define SOURCE                                                                                     \
  "videotestsrc num-buffers=4 pattern=smpte ! video/x-raw,format=%s,width=66,height=50 ! "
#define DMABUF "vapostproc name=from ! video/x-raw(memory:DMABuf) ! "
#define PIXELS "gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]] "

/* Whether there is what the tests need; if not it is said. */
static gboolean
is_ready (void)
{
  if (doubles_missing ())
    g_test_skip (doubles_missing ());
  return !doubles_missing () && finish_has_vapostproc ();
}

/* Whether caps can say how dma-bufs are tiled. */
static gboolean
has_drm_formats (void)
{
  guint major, minor, micro, nano;

  gst_version (&major, &minor, &micro, &nano);
  if (minor < 24)
    g_test_skip ("GStreamer before 1.24 has no DRM formats.");
  return minor >= 24;
}

static void
assert_right (void)
{
  doubles_assert_right ();
  g_assert_true (doubles_wait_for ("live-objects", 0));
  g_assert_cmpint (doubles_count ("surface-readbacks"), ==, 0);
  g_assert_cmpint (doubles_count ("dmabuf-objects"), ==, 0);
}

/* With GStreamer 1.22 the caps say nothing of it. */
static void
check_format (const gchar *format)
{
  g_auto (Finish) plain = {NULL}, shared = {NULL};

  finish_run (&plain, SOURCE PIXELS, format);
  finish_run (&shared, SOURCE DMABUF PIXELS "queue-depth=2", format);
  finish_assert_well (&shared, N);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (shared.memory, ==, "VA to system");
  assert_right ();
}

static void
test_surfaces (void)
{
  if (!is_ready ())
    return;
  check_format ("NV12");
  check_format ("P010_10LE");
}

/* A format with the modifier, by name. */
static void
test_named (void)
{
  g_auto (Finish) plain = {NULL}, shared = {NULL};

  if (!is_ready () || !has_drm_formats ())
    return;
  finish_run (&plain, SOURCE PIXELS, "NV12");
  finish_run (&shared,
              SOURCE "vapostproc ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12:%s ! "
                     "queue ! " PIXELS,
              "NV12", g_getenv ("GEMMCL_DOUBLES_MODIFIER"));
  finish_assert_well (&shared, N);
  finish_assert_same (&plain, &shared);
  g_assert_cmpstr (shared.memory, ==, "VA to system");
  assert_right ();
}

/* A device that shares no surfaces cannot read them. Where caps say what they are it does not take
 * them, and says why; else GStreamer refuses to map them. */
static void
test_no_surfaces (void)
{
  g_auto (Finish) refused = {NULL}, other = {NULL};

  if (!is_ready ())
    return;
  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va", TRUE);
  finish_run (&refused, SOURCE DMABUF PIXELS, "NV12");
  finish_run (&other, SOURCE "vapostproc ! video/x-raw ! " PIXELS, "NV12");
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  g_assert_nonnull (refused.failure);
  g_assert_cmpuint (refused.n, ==, 0);
  finish_assert_well (&other, N);
  g_assert_cmpstr (other.memory, ==, "system");
  assert_right ();
  if (!has_drm_formats ())
    return;
  g_assert_nonnull (refused.warning);
  g_assert_nonnull (strstr (refused.warning, "tiled dma-bufs) are not taken."));
  g_assert_nonnull (strstr (refused.warning, "has no cl_intel_va_api_media_sharing"));
}

/* In place of each buffer one whose memory @replace makes. */
static GstPadProbeReturn
replace_memory (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer replace)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GstBuffer *other = gst_buffer_new ();

  gst_buffer_copy_into (other, buffer, GST_BUFFER_COPY_METADATA, 0, -1);
  gst_buffer_append_memory (
      other, ((GstMemory * (*)(GstMemory * memory)) replace) (gst_buffer_peek_memory (buffer, 0)));
  gst_buffer_unref (buffer);
  GST_PAD_PROBE_INFO_DATA (info) = other;
  return GST_PAD_PROBE_OK;
}

static void
set_up (GstElement *pipeline, gpointer replace)
{
  g_autoptr (GstElement) from = gst_bin_get_by_name (GST_BIN (pipeline), "from");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (from, "src");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, replace_memory, replace, NULL);
}

static GstMemory *
share_all (GstMemory *memory)
{
  return gst_memory_share (memory, 0, -1);
}

static GstMemory *
share_part (GstMemory *memory)
{
  return gst_memory_share (memory, 64, -1);
}

static GstMemory *
forge (GstMemory *memory)
{
  g_autoptr (GstAllocator) allocator = gst_dmabuf_allocator_new ();
  const int fd = memfd_create ("forged", MFD_CLOEXEC);

  g_assert_cmpint (ftruncate (fd, (off_t)memory->maxsize), ==, 0);
  return gst_dmabuf_allocator_alloc (allocator, fd, memory->maxsize);
}

static void
run_replaced (GstMemory *(*replace) (GstMemory *memory), Finish *result)
{
  g_autofree gchar *line = g_strdup_printf (SOURCE DMABUF PIXELS, "NV12");

  finish_run_with (result, set_up, (gpointer)replace, line);
}

/* What is the whole of a surface is one; a part of it is nothing that can be read. */
static void
test_parts (void)
{
  g_auto (Finish) plain = {NULL}, whole = {NULL}, part = {NULL};

  if (!is_ready ())
    return;
  finish_run (&plain, SOURCE PIXELS, "NV12");
  run_replaced (share_all, &whole);
  finish_assert_well (&whole, N);
  finish_assert_same (&plain, &whole);
  g_assert_cmpstr (whole.memory, ==, "VA to system");
  run_replaced (share_part, &part);
  finish_assert_failed (&part, "is not a whole VA surface", "the first of GstVaDmabufAllocator",
                        NULL);
  g_assert_cmpuint (part.n, ==, 0);
  assert_right ();
}

/* Whose caps say that it is tiled, but which is no surface, is not taken for linear. */
static void
test_no_surface (void)
{
  g_auto (Finish) forged = {NULL};

  if (!is_ready () || !has_drm_formats ())
    return;
  run_replaced (forge, &forged);
  finish_assert_failed (&forged, "drm-format=(string)NV12:0x", "is not a whole VA surface",
                        "the first of GstDmaBufAllocator", "put vapostproc before gemmcl", NULL);
  g_assert_cmpuint (forged.n, ==, 0);
  assert_right ();
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/va-tiled/surfaces", test_surfaces);
  g_test_add_func ("/va-tiled/named", test_named);
  g_test_add_func ("/va-tiled/no-surfaces", test_no_surfaces);
  g_test_add_func ("/va-tiled/parts", test_parts);
  g_test_add_func ("/va-tiled/no-surface", test_no_surface);
  return g_test_run ();
}
