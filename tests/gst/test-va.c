/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#define GST_USE_UNSTABLE_API
#include <CL/cl.h>
#include <CL/cl_va_api_media_sharing_intel.h>
#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/va/gstva.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "copies.h"
#include "doubles.h"
#include "finish.h"
#include "stream.h"
#include "va-display.h"

/* VA surfaces under the doubles: what vapostproc makes gives what the same frame in the system's
 * memory gives, and the element copies none of it. In environments of their own: a display of
 * another driver's (GEMMCL_DOUBLES_VENDOR), and dma-bufs that media drivers tile
 * (GEMMCL_DOUBLES_MODIFIER), which are read as surfaces, or not at all. */

#define N       5
#define LENGTH  "5"
#define LIVE(n) "videotestsrc num-buffers=" n " pattern=smpte ! video/x-raw,"
#define SURFACE "vapostproc ! video/x-raw(memory:VAMemory) ! "
#define DMABUF  "vapostproc name=from ! video/x-raw(memory:DMABuf) ! "
#define FRAME   "format=NV12,width=66,height=50"
#define SOURCE  LIVE (LENGTH) FRAME " ! "
#define LONG    LIVE ("40") FRAME " ! "
#define DEEP    LIVE (LENGTH) "format=P010_10LE,width=66,height=50 ! "

/* Pixels become tensors, whose rows have no padding. */
#define PIXELS "gemmcl name=g weight=[[.3,.1],[.6,.2],[.1,.9]] "

/* No frame was fetched but by the element's kernel. */
static void
assert_right (void)
{
  doubles_assert_clean ();
  g_assert_cmpint (doubles_count ("surface-readbacks"), ==, 0);
}

/* The weight is written, and nothing is copied or read, as of plain frames. */
static void
check (const gchar *caps, const gchar *element)
{
  g_auto (Finish) plain = {NULL}, shared = {NULL};
  Copies copies;

  finish_run (&plain, NULL, NULL, LIVE (LENGTH) "%s ! %s", caps, element);
  finish_assert_well (&plain, N, "system");
  copies_reset ();
  finish_run (&shared, NULL, NULL, LIVE (LENGTH) "%s ! " SURFACE "%s", caps, element);
  copies = copies_get ();
  finish_assert_well (&shared, N, "VA to system");
  finish_assert_same (&plain, &shared);
  g_assert_cmpuint (copies.writes, ==, 1);
  g_assert_cmpuint (copies.reads + copies.copies, ==, 0);
  assert_right ();
}

static void
test_modes (void)
{
  static const gchar *const formats[] = {"NV12", "P010_10LE"};
  gdouble values[16 * 16 * 3 * 2];
  g_autofree gchar *patch_weight = NULL, *frame_weight = NULL, *patch = NULL, *frame = NULL;

  fill_values (values, G_N_ELEMENTS (values), 1);
  patch_weight = literal (values, 5 * 4 * 3, 3);
  frame_weight = literal (values, 16 * 16 * 3, 2);
  patch = g_strdup_printf (
      "gemmcl name=g feature-mode=patch patch-width=5 patch-height=4 weight=%s", patch_weight);
  frame = g_strdup_printf ("gemmcl name=g feature-mode=frame weight=%s", frame_weight);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    const struct {
      const gchar *size, *element;
    } cases[] = {{"width=66,height=50,colorimetry=bt601", PIXELS},
                 {"width=38,height=22,colorimetry=bt709", PIXELS},
                 {"width=66,height=50,colorimetry=bt601", patch},
                 {"width=16,height=16,colorimetry=bt709", frame}};

    for (guint j = 0; j < G_N_ELEMENTS (cases); j++) {
      g_autofree gchar *caps = g_strdup_printf ("format=%s,%s", formats[i], cases[j].size);

      check (caps, cases[j].element);
    }
  }
}

#define SECOND "! gemmcl weight=[[1,.5],[.5,1]] "

/* Surfaces give what plain frames give. @objects: images that are made at most; 0: any number */
static const struct {
  const gchar *path;
  guint n;
  const gchar *memory, *plain, *shared;
  gint64 objects;
} pairs[] =
    {
        /* Several surfaces in flight, of which each image is made once */
        {"/va/inflight", 40, "VA to system", LONG PIXELS,
         LONG SURFACE PIXELS "batch-size=2 queue-depth=3", 40},
        /* The second element has the context of the one that reads surfaces, without the host. */
        {"/va/chain", N, "VA to OpenCL", SOURCE PIXELS SECOND, SOURCE SURFACE PIXELS SECOND},
        /* Two elements read the same surfaces at the same time. */
        {"/va/tee", 40, "VA to system", LONG PIXELS,
         LONG SURFACE "tee name=t t. ! queue ! gemmcl weight=[[1],[1],[1]] ! fakesink "
                      "t. ! queue ! " PIXELS},
#ifdef GEMMCL_HAVE_ANALYTICS
        /* With output=meta surfaces pass as they are: the element behind reads them, too. */
        {"/va/passed", 40, "VA to system", LONG PIXELS,
         LONG SURFACE "gemmcl weight=[[1],[1],[1]] output=meta feature-mode=pixel ! " PIXELS},
#endif
},
  tiled_pairs[] = {
      /* With GStreamer 1.22 the caps say nothing of tiles. */
      {"/va-tiled/nv12", N, "VA to system", SOURCE PIXELS, SOURCE DMABUF PIXELS "queue-depth=2"},
      {"/va-tiled/p010", N, "VA to system", DEEP PIXELS, DEEP DMABUF PIXELS},
};

static void
test_pair (gconstpointer data)
{
  const gint64 objects = doubles_count ("va-objects");
  const typeof (*pairs) *pair = data;

  finish_compare (pair->n, pair->memory, pair->plain, pair->shared);
  if (pair->objects > 0)
    g_assert_cmpint (doubles_count ("va-objects") - objects, <=, pair->objects);
  g_assert_cmpint (doubles_count ("dmabuf-objects"), ==, 0);
  assert_right ();
}

/* Without a product no frame is read, and so none is acquired. */
static void
test_no_product (void)
{
  const gint64 acquires = doubles_count ("acquires");
  g_auto (Finish) shared = {NULL};

  finish_run (&shared, NULL, NULL, SOURCE SURFACE PIXELS "alpha=0 bias=[1,2]");
  finish_assert_well (&shared, N, "VA to system");
  g_assert_cmpint (doubles_count ("acquires"), ==, acquires);
  assert_right ();
}

#define SMALL    "format=NV12,width=64,height=48,framerate=30/1"
#define BYTES    "video/x-raw," SMALL
#define SURFACES "video/x-raw(memory:VAMemory)," SMALL
#define PUSHED   "appsrc name=in format=time ! " PIXELS

/**
 * Own: surfaces of which no element and no bin knows the display
 * @context: (nullable): the application's
 */
typedef struct {
  GstVaDisplay *displays[2];
  GstBufferPool *pools[2];
  cl_context context;
} Own;

static void
own_init (Own *self)
{
  for (guint i = 0; i < 2; i++) {
    self->displays[i] = gst_va_display_wrapped_new (va_display_new ());
    self->pools[i] = finish_new_va_pool (self->displays[i], SURFACES, 64 * 48 * 3 / 2, FALSE);
  }
}

static void
own_clear (Own *self)
{
  for (guint i = 0; i < 2; i++) {
    gst_buffer_pool_set_active (self->pools[i], FALSE);
    gst_object_unref (self->pools[i]);
    gst_object_unref (self->displays[i]);
  }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Own, own_clear)

/* Pushes four frames. @data: (nullable): an Own; else they are in the system's memory */
static void
push (GstElement *pipeline, gpointer data)
{
  const Own *own = data;
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "in");
  g_autoptr (GstCaps) caps = gst_caps_from_string (own ? SURFACES : BYTES);

  if (own && own->context)
    share_context (pipeline, own->context);
  gst_app_src_set_caps (GST_APP_SRC (source), caps);
  for (guint i = 0; i < 4; i++) {
    GstBuffer *buffer = NULL;

    if (own)
      gst_buffer_pool_acquire_buffer (own->pools[own->context ? 0 : i / 2], &buffer, NULL);
    else
      buffer = gst_buffer_new_allocate (NULL, 64 * 48 * 3 / 2, NULL);
    g_assert_nonnull (buffer);
    finish_draw (buffer, BYTES, i);
    GST_BUFFER_PTS (buffer) = i * GST_SECOND / 30;
    gst_app_src_push_buffer (GST_APP_SRC (source), buffer);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (source));
}

/* The display comes with the first buffer, and another one with the third. */
static void
test_displays (void)
{
  g_auto (Own) own = {.context = NULL};
  g_auto (Finish) plain = {NULL}, shared = {NULL};

  own_init (&own);
  finish_run (&plain, push, NULL, PUSHED);
  finish_run (&shared, push, &own, PUSHED);
  finish_assert_well (&shared, 4, "VA to system");
  finish_assert_same (&plain, &shared);
}

static cl_context
new_context (VADisplay display)
{
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_int status;

  clGetPlatformIDs (1, &platform, NULL);
  clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  context = clCreateContext (
      (cl_context_properties[]){CL_CONTEXT_PLATFORM, (cl_context_properties)platform,
                                display ? CL_CONTEXT_VA_API_DISPLAY_INTEL : 0,
                                (cl_context_properties)display, CL_CONTEXT_INTEROP_USER_SYNC,
                                CL_TRUE, 0},
      1, &device, NULL, NULL, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  return context;
}

/* The application's context is taken as it is, with the display or without. */
static void
test_own_context (void)
{
  g_auto (Own) own = {.context = NULL};
  g_auto (Finish) plain = {NULL}, shared = {NULL}, refused = {NULL};

  own_init (&own);
  finish_run (&plain, push, NULL, PUSHED);
  own.context = new_context (gst_va_display_get_va_dpy (own.displays[0]));
  finish_run (&shared, push, &own, PUSHED);
  clReleaseContext (own.context);
  finish_assert_well (&shared, 4, "VA to system");
  finish_assert_same (&plain, &shared);

  own.context = new_context (NULL);
  finish_run (&refused, push, &own, PUSHED);
  clReleaseContext (own.context);
  assert_words (refused.failure, "was made without a VADisplay");
}

/* Calls that fail end in an error that names them, and nothing is left acquired; but that the
 * launch of a new plan fails is no error. */
static void
test_failures (void)
{
  static const struct {
    const gchar *function;
    guint n;
    gint error;
    const gchar *words;
  } cases[] = {
      {"clCreateFromVA_APIMediaSurfaceINTEL", 2, 2,
       "clCreateFromVA_APIMediaSurfaceINTEL for plane 1"},
      {"clCreateFromVA_APIMediaSurfaceINTEL", 1, -6, "OpenCL error -6"},
      {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", 1, -6, "Acquiring shared memory objects"},
      {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", 3, -6, "Acquiring shared memory objects"},
      {"clEnqueueReleaseVA_APIMediaSurfacesINTEL", 1, -6, "Releasing shared memory objects"},
      /* A new plan launches its kernels once, the frame takes a gather for each plane. */
      {"clEnqueueNDRangeKernel", 1, -5, NULL},
      {"clEnqueueNDRangeKernel", 4, -5, "clEnqueueNDRangeKernel for gather"},
      {"clEnqueueNDRangeKernel", 5, -5, "clEnqueueNDRangeKernel for "},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Finish) shared = {NULL};

    doubles_fail (cases[i].function, cases[i].n, cases[i].error);
    finish_run (&shared, NULL, NULL, SOURCE SURFACE PIXELS);
    if (cases[i].words)
      assert_words (shared.failure, cases[i].words);
    else
      finish_assert_well (&shared, N, "VA to system");
    doubles_assert_clean ();
  }
}

/* Surfaces that cannot be shared are not taken, for a reason that a warning tells; what else
 * upstream has is. */
static void
refuse (const gchar *source, const gchar *words)
{
  g_auto (Finish) refused = {NULL};

  finish_run (&refused, NULL, NULL, "%s" PIXELS, source);
  g_assert_nonnull (refused.failure);
  g_assert_cmpuint (refused.n, ==, 0);
  assert_words (refused.warning, words);
  finish_compare (N, "system", SOURCE PIXELS, SOURCE "vapostproc ! video/x-raw ! " PIXELS);
}

static void
test_no_context (void)
{
  doubles_fail ("clCreateContext", 1, -6);
  refuse (SOURCE SURFACE, "VA surfaces cannot be shared");
}

static void
test_extension (void)
{
  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va,dmabuf", TRUE);
  refuse (SOURCE SURFACE, "tiled dma-bufs) are not taken.|has no cl_intel_va_api_media_sharing");
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
}

static void
test_vendor (void)
{
  refuse (SOURCE SURFACE, "tiled dma-bufs) are not taken.|with Intel's media driver only");
}

/* A format with the modifier, by name. */
static void
test_named_tiles (void)
{
  g_autofree gchar *shared = g_strdup_printf (
      SOURCE "vapostproc ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12:%s ! queue "
             "! " PIXELS,
      g_getenv ("GEMMCL_DOUBLES_MODIFIER"));

  if (!finish_has_drm_formats ())
    return;
  finish_compare (N, "VA to system", SOURCE PIXELS, shared);
  assert_right ();
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
replace_all (GstElement *pipeline, gpointer replace)
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

/* The whole of a surface is one; a part of it cannot be read, nor can what is no surface, though
 * its caps say that it is tiled. */
static void
test_parts_of_tiles (void)
{
  g_auto (Finish) plain = {NULL}, whole = {NULL}, part = {NULL}, forged = {NULL};

  finish_run (&plain, NULL, NULL, SOURCE PIXELS);
  finish_run (&whole, replace_all, (gpointer)share_all, SOURCE DMABUF PIXELS);
  finish_assert_well (&whole, N, "VA to system");
  finish_assert_same (&plain, &whole);
  finish_run (&part, replace_all, (gpointer)share_part, SOURCE DMABUF PIXELS);
  assert_words (part.failure, "is not a whole VA surface|the first of GstVaDmabufAllocator");
  g_assert_cmpuint (part.n, ==, 0);
  if (finish_has_drm_formats ()) {
    finish_run (&forged, replace_all, (gpointer)forge, SOURCE DMABUF PIXELS);
    assert_words (forged.failure, "drm-format=(string)NV12:0x|is not a whole VA surface|the "
                                  "first of GstDmaBufAllocator|put vapostproc before gemmcl");
    g_assert_cmpuint (forged.n, ==, 0);
  }
  assert_right ();
}

/* A device that shares no surfaces cannot read tiles: the element refuses them where the caps say
 * that they are some; else GStreamer refuses to map them. */
static void
test_unshared_tiles (void)
{
  g_auto (Finish) refused = {NULL}, shared = {NULL};

  g_setenv ("GEMMCL_DOUBLES_WITHOUT", "va", TRUE);
  if (finish_has_drm_formats ()) {
    refuse (SOURCE DMABUF, "tiled dma-bufs) are not taken.|has no cl_intel_va_api_media_sharing");
  } else {
    finish_run (&refused, NULL, NULL, SOURCE DMABUF PIXELS);
    g_assert_nonnull (refused.failure);
    g_assert_cmpuint (refused.n, ==, 0);
    finish_run (&shared, replace_all, (gpointer)share_all, SOURCE DMABUF PIXELS);
    assert_words (shared.failure, "has no cl_intel_va_api_media_sharing");
    g_assert_cmpuint (shared.n, ==, 0);
  }
  g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  assert_right ();
}

int
main (int argc, char **argv)
{
  static const gchar needs[] = "vapostproc";

  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  /* Tests that change the environment come last, so that they affect no other test. */
  if (g_getenv ("GEMMCL_DOUBLES_VENDOR")) {
    finish_add_test ("/va/vendor", test_vendor, needs);
  } else if (g_getenv ("GEMMCL_DOUBLES_MODIFIER")) {
    for (guint i = 0; i < G_N_ELEMENTS (tiled_pairs); i++)
      finish_add_data_test (tiled_pairs[i].path, &tiled_pairs[i], test_pair, needs);
    finish_add_test ("/va-tiled/named", test_named_tiles, needs);
    finish_add_test ("/va-tiled/parts", test_parts_of_tiles, needs);
    finish_add_test ("/va-tiled/unshared", test_unshared_tiles, needs);
  } else {
    finish_add_test ("/va/modes", test_modes, needs);
    for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
      finish_add_data_test (pairs[i].path, &pairs[i], test_pair, needs);
    finish_add_test ("/va/no-product", test_no_product, needs);
    finish_add_test ("/va/displays", test_displays, needs);
    finish_add_test ("/va/own-context", test_own_context, needs);
    finish_add_test ("/va/failures", test_failures, needs);
    finish_add_test ("/va/no-context", test_no_context, needs);
    finish_add_test ("/va/extension", test_extension, needs);
  }
  return g_test_run ();
}
