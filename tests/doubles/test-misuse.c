/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

/* Each kind of misuse is recorded, and refused if a driver could know of it. */

#define WIDTH  32
#define HEIGHT 16

/* Objects of a test: a surface, the image of its luma, and a buffer for the output of a kernel. */
typedef struct {
  Rig *rig;
  VASurfaceID surface, other; /* other is only for rendering */
  cl_mem plane, output;
} Scene;

static cl_int
read_plane (Scene *self)
{
  return rig_enqueue (self->rig, KERNEL_READ, self->plane, self->output, WIDTH, HEIGHT);
}

/* Waits until OpenCL has freed the image. */
static void
drop_plane (Scene *self)
{
  clFinish (self->rig->queue);
  g_clear_pointer (&self->plane, clReleaseMemObject);
  g_assert_true (doubles_wait_for ("live-objects", 0));
}

static void
test_unacquired_use (Scene *self)
{
  ASSERT_REFUSED (read_plane (self), CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL, "unacquired-use");
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_GOOD (read_plane (self));
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  ASSERT_REFUSED (read_plane (self), CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL, "unacquired-use");
}

static void
test_unacquired_release (Scene *self)
{
  ASSERT_REFUSED (rig_release (self->rig, self->plane), CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL,
                  "unacquired-release");
}

static void
test_acquired_twice (Scene *self)
{
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_REFUSED (rig_acquire (self->rig, self->plane),
                  CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL, "acquired-twice");
  ASSERT_GOOD (rig_release (self->rig, self->plane));
}

static void
test_left_acquired (Scene *self)
{
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  drop_plane (self);
  rig_assert_misuse ("left-acquired");
}

static void
test_foreign_surface (Scene *self)
{
  g_autoptr (Rig) other = rig_new (TRUE);
  cl_int status;

  g_assert_null (other->create (other->context, CL_MEM_READ_ONLY, &self->surface, 0, &status));
  ASSERT_REFUSED (status, VA_STATUS_ERROR_INVALID_SURFACE, "foreign-display");
}

static void
test_foreign_queue (Scene *self)
{
  g_autoptr (Rig) other = rig_new (TRUE);

  ASSERT_REFUSED (rig_acquire (other, self->plane), CL_INVALID_CONTEXT, "foreign-display");
}

static void
test_foreign_display (Scene *self)
{
  int nobody;
  const cl_context_properties properties[] = {
      CL_CONTEXT_VA_API_DISPLAY_INTEL,
      (cl_context_properties)&nobody,
      CL_CONTEXT_INTEROP_USER_SYNC,
      CL_TRUE,
      0,
  };
  cl_int status;

  g_assert_null (clCreateContext (properties, 1, &self->rig->device, NULL, NULL, &status));
  ASSERT_REFUSED (status, CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL, "foreign-display");
}

static void
test_no_display (Scene *self)
{
  cl_int status;
  cl_context plain = clCreateContext (NULL, 1, &self->rig->device, NULL, NULL, &status);

  g_assert_null (self->rig->create (plain, CL_MEM_READ_ONLY, &self->surface, 0, &status));
  ASSERT_REFUSED (status, CL_INVALID_CONTEXT, "foreign-context");
  clReleaseContext (plain);
}

static void
test_no_user_sync (Scene *self)
{
  Rig *other = rig_new_for_display (self->rig->display, FALSE);

  rig_assert_misuse ("wrong-argument");
  rig_free (other);
}

/* Acquiring without a sync is refused: the surface has its old bytes until then. */
static void
test_missing_sync (Scene *self)
{
  rig_render (self->rig, self->other, self->surface);
  ASSERT_REFUSED (rig_acquire (self->rig, self->plane), CL_INVALID_OPERATION, "missing-sync");
  vaSyncSurface (self->rig->display, self->surface);
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_GOOD (rig_release (self->rig, self->plane));
}

/* An old image is not taken for one of a new surface with the same ID. */
static void
test_stale_surface (Scene *self)
{
  const VASurfaceID old = self->surface;

  vaDestroySurfaces (self->rig->display, &self->surface, 1);
  self->surface = rig_new_surface (self->rig, WIDTH, HEIGHT);
  g_assert_cmpuint (self->surface, ==, old);
  ASSERT_REFUSED (rig_acquire (self->rig, self->plane), CL_INVALID_VA_API_MEDIA_SURFACE_INTEL,
                  "stale-surface");
}

/* Until the release command is done, the surface must not be destroyed or changed. */
static void
test_destroyed_in_use (Scene *self)
{
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  vaDestroySurfaces (self->rig->display, &self->surface, 1);
  rig_assert_misuse ("destroyed-in-use");
}

static void
test_rendered_in_use (Scene *self)
{
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  rig_render (self->rig, self->other, self->surface);
  rig_assert_misuse ("written-in-use");
  clFinish (self->rig->queue);
  rig_render (self->rig, self->other, self->surface);
}

/* The CPU writes through a mapping, which only the checksum can show. */
static void
test_changed_in_use (Scene *self)
{
  VAImage image;
  guint8 *data;

  vaDeriveImage (self->rig->display, self->surface, &image);
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  clFinish (self->rig->queue);
  vaMapBuffer (self->rig->display, image.buf, (void **)&data);
  data[image.offsets[0]] ^= 1;
  vaUnmapBuffer (self->rig->display, image.buf);
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  clFinish (self->rig->queue);
  rig_assert_misuse ("written-in-use");
  vaDestroyImage (self->rig->display, image.image_id);
}

static void
test_mapped (Scene *self)
{
  VAImage image;
  void *data;

  vaDeriveImage (self->rig->display, self->surface, &image);
  vaMapBuffer (self->rig->display, image.buf, &data);
  ASSERT_REFUSED (rig_acquire (self->rig, self->plane), CL_INVALID_OPERATION, "mapped-in-use");
  vaUnmapBuffer (self->rig->display, image.buf);
  vaDestroyImage (self->rig->display, image.image_id);
}

static void
test_dead_argument (Scene *self)
{
  const size_t size[2] = {WIDTH, HEIGHT};

  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_GOOD (read_plane (self));
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  drop_plane (self);
  ASSERT_REFUSED (clEnqueueNDRangeKernel (self->rig->queue, self->rig->kernels[KERNEL_READ], 2,
                                          NULL, size, NULL, 0, NULL, NULL),
                  CL_INVALID_KERNEL_ARGS, "dead-argument");
}

static void
test_transfer (Scene *self)
{
  const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
  const gint64 transfers = doubles_count ("shared-transfers");

  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_REFUSED (clEnqueueCopyImageToBuffer (self->rig->queue, self->plane, self->output, origin,
                                              region, 0, 0, NULL, NULL),
                  CL_INVALID_OPERATION, "image-transfer");
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, transfers + 1);
  ASSERT_GOOD (rig_release (self->rig, self->plane));
}

static void
test_wrong_argument (Scene *self)
{
  Rig *rig = self->rig;
  cl_int status;

  g_assert_null (rig->create (rig->context, CL_MEM_READ_ONLY, &self->surface, 2, &status));
  ASSERT_REFUSED (status, CL_INVALID_VALUE, "wrong-argument");
  g_assert_null (rig->create (rig->context, CL_MEM_READ_WRITE, &self->surface, 0, &status));
  ASSERT_REFUSED (status, CL_INVALID_VALUE, "wrong-argument");
  ASSERT_REFUSED (rig_acquire (rig, self->output), CL_INVALID_MEM_OBJECT, "wrong-argument");
}

/* Another queue that does not wait for the acquire's event does not find the frame. */
static void
test_missing_wait (Scene *self)
{
  cl_command_queue own = self->rig->queue;
  cl_int status;
  cl_command_queue other =
      clCreateCommandQueueWithProperties (self->rig->context, self->rig->device, NULL, &status);
  gfloat value;

  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  clFinish (own);
  ASSERT_GOOD (rig_acquire (self->rig, self->plane));
  self->rig->queue = other;
  ASSERT_GOOD (read_plane (self));
  ASSERT_GOOD (rig_read (self->rig, self->output, 0, &value, sizeof value));
  g_assert_cmpfloat_with_epsilon (value * 255, 0x5a, 0.01);
  self->rig->queue = own;
  ASSERT_GOOD (rig_release (self->rig, self->plane));
  clReleaseCommandQueue (other);
}

/* Querying the devices of another vendor's display is misuse, since Intel's driver can abort. */
static void
test_vendor (Scene *self)
{
  const gchar *name = "clGetDeviceIDsFromVA_APIMediaAdapterINTEL";
  clGetDeviceIDsFromVA_APIMediaAdapterINTEL_fn get_devices =
      (gpointer)clGetExtensionFunctionAddressForPlatform (self->rig->platform, name);
  VADisplay display;
  cl_uint n;

  g_setenv ("GEMMCL_DOUBLES_VENDOR", "Mesa Gallium driver of a test double", TRUE);
  display = va_display_new ();
  g_assert_cmpstr (vaQueryVendorString (display), ==, g_getenv ("GEMMCL_DOUBLES_VENDOR"));
  ASSERT_REFUSED (get_devices (self->rig->platform, CL_VA_API_DISPLAY_INTEL, display,
                               CL_ALL_DEVICES_FOR_VA_API_INTEL, 0, NULL, &n),
                  CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL, "foreign-display");
  vaTerminate (display);
  g_unsetenv ("GEMMCL_DOUBLES_VENDOR");
}

static void
test_queries (Scene *self)
{
  cl_mem chroma = rig_new_plane (self->rig, self->surface, 1);
  cl_image_format format;
  size_t width, height;

  clGetImageInfo (chroma, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
  g_assert_cmpuint (format.image_channel_order, ==, CL_RG);
  g_assert_cmpuint (format.image_channel_data_type, ==, CL_UNORM_INT8);
  clGetImageInfo (chroma, CL_IMAGE_WIDTH, sizeof width, &width, NULL);
  clGetImageInfo (chroma, CL_IMAGE_HEIGHT, sizeof height, &height, NULL);
  g_assert_cmpuint (width, ==, WIDTH / 2);
  g_assert_cmpuint (height, ==, HEIGHT / 2);
  clReleaseMemObject (chroma);
}

/* A device without an extension has neither its functions nor its name. */
static void
test_absent (Scene *self)
{
  static const struct {
    const gchar *without, *extension, *function;
  } cases[] = {
      {"va", "cl_intel_va_api_media_sharing", "clCreateFromVA_APIMediaSurfaceINTEL"},
      {"dmabuf", "cl_khr_external_memory", "clEnqueueAcquireExternalMemObjectsKHR"},
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const gboolean is_there = i % 2 == 0;
    gchar text[8192] = "";
    g_auto (GStrv) words = NULL;

    if (!is_there)
      g_setenv ("GEMMCL_DOUBLES_WITHOUT", cases[i / 2].without, TRUE);
    ASSERT_GOOD (
        clGetDeviceInfo (self->rig->device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL));
    words = g_strsplit (text, " ", 0);
    g_assert_cmpint (g_strv_contains ((const gchar *const *)words, cases[i / 2].extension), ==,
                     is_there);
    g_assert_cmpint (clGetExtensionFunctionAddressForPlatform (self->rig->platform,
                                                               cases[i / 2].function) != NULL,
                     ==, is_there);
    g_unsetenv ("GEMMCL_DOUBLES_WITHOUT");
  }
}

typedef struct {
  const gchar *path;
  void (*run) (Scene *self);
} Test;

static const Test tests[] = {
    {"/doubles/misuse/unacquired-use", test_unacquired_use},
    {"/doubles/misuse/unacquired-release", test_unacquired_release},
    {"/doubles/misuse/acquired-twice", test_acquired_twice},
    {"/doubles/misuse/left-acquired", test_left_acquired},
    {"/doubles/misuse/foreign-surface", test_foreign_surface},
    {"/doubles/misuse/foreign-queue", test_foreign_queue},
    {"/doubles/misuse/foreign-display", test_foreign_display},
    {"/doubles/misuse/vendor", test_vendor},
    {"/doubles/misuse/absent", test_absent},
    {"/doubles/misuse/queries", test_queries},
    {"/doubles/misuse/no-display", test_no_display},
    {"/doubles/misuse/no-user-sync", test_no_user_sync},
    {"/doubles/misuse/missing-sync", test_missing_sync},
    {"/doubles/misuse/missing-wait", test_missing_wait},
    {"/doubles/misuse/stale-surface", test_stale_surface},
    {"/doubles/misuse/destroyed-in-use", test_destroyed_in_use},
    {"/doubles/misuse/rendered-in-use", test_rendered_in_use},
    {"/doubles/misuse/changed-in-use", test_changed_in_use},
    {"/doubles/misuse/mapped", test_mapped},
    {"/doubles/misuse/dead-argument", test_dead_argument},
    {"/doubles/misuse/transfer", test_transfer},
    {"/doubles/misuse/wrong-argument", test_wrong_argument},
};

/* The surface and the image may be freed before the display; nothing is left then. */
static void
run (gconstpointer data)
{
  static const gchar *const counts[] = {"live-objects", "live-surfaces", "live-surface-maps",
                                        "live-contexts", "live-displays"};
  const Test *test = data;
  Scene self = {NULL};

  if (doubles_missing ()) {
    g_test_skip (doubles_missing ());
    return;
  }
  self.rig = rig_new (TRUE);
  self.surface = rig_new_surface (self.rig, WIDTH, HEIGHT);
  self.other = rig_new_surface (self.rig, WIDTH, HEIGHT);
  self.plane = rig_new_plane (self.rig, self.surface, 0);
  self.output = rig_new_buffer (self.rig, WIDTH * HEIGHT * 2 * sizeof (gfloat));
  test->run (&self);
  clFinish (self.rig->queue);
  g_clear_pointer (&self.plane, clReleaseMemObject);
  clReleaseMemObject (self.output);
  vaDestroySurfaces (self.rig->display, &self.surface, 1);
  vaDestroySurfaces (self.rig->display, &self.other, 1);
  rig_free (self.rig);
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    g_assert_true (doubles_wait_for (counts[i], 0));
}

int
main (int argc, char **argv)
{
  /* Long enough for a test to act between the call and the command. */
  g_setenv ("GEMMCL_DOUBLES_LATENCY_MS", "20", TRUE);
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add_data_func (tests[i].path, &tests[i], run);
  return g_test_run ();
}
