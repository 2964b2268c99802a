/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rig.h"

/* Right use: kernels see a surface's planes; nothing is noted. */

#define WIDTH  35
#define HEIGHT 17

/* A plane's image, and a buffer for what a kernel reads of it. */
typedef struct {
  gsize columns, rows;
  cl_mem image, output;
} Plane;

static Plane
new_plane (Rig *rig, VASurfaceID surface, guint index)
{
  Plane self = {index > 0 ? (WIDTH + 1) / 2 : WIDTH, index > 0 ? (HEIGHT + 1) / 2 : HEIGHT};

  self.image = rig_new_plane (rig, surface, index);
  self.output = rig_new_buffer (rig, self.columns * self.rows * 2 * sizeof (gfloat));
  return self;
}

/* That the kernel read what rig_new_surface() put into the plane, scaled to 1. */
static void
check_plane (Rig *rig, const Plane *plane, guint32 fourcc, guint index)
{
  const gsize n = plane->columns * plane->rows * 2;
  const gdouble scale = fourcc == VA_FOURCC_P010 ? 65535.0 : 255.0;
  g_autofree gfloat *values = g_new0 (gfloat, n);

  ASSERT_GOOD (rig_read (rig, plane->output, 0, values, n * sizeof *values));
  for (gsize i = 0; i < n; i++) {
    const guint x = i / 2 % plane->columns, y = i / 2 / plane->columns, channel = i % 2;
    const gboolean is_there = index > 0 || channel == 0;

    g_assert_cmpfloat_with_epsilon (
        values[i] * scale, is_there ? rig_expected (fourcc, index, x, y, channel) : 0, 0.01);
  }
}

static void
read_surface (Rig *rig, guint32 fourcc, VASurfaceID surface)
{
  const gint64 copies = doubles_count ("own-copies");
  const Plane planes[2] = {new_plane (rig, surface, 0), new_plane (rig, surface, 1)};
  const cl_mem images[2] = {planes[0].image, planes[1].image};

  ASSERT_GOOD (rig->acquire (rig->queue, 2, images, 0, NULL, NULL));
  for (guint i = 0; i < 2; i++)
    ASSERT_GOOD (rig_enqueue (rig, KERNEL_READ, planes[i].image, planes[i].output,
                              planes[i].columns, planes[i].rows));
  ASSERT_GOOD (rig->release (rig->queue, 2, images, 0, NULL, NULL));
  for (guint i = 0; i < 2; i++) {
    check_plane (rig, &planes[i], fourcc, i);
    clReleaseMemObject (planes[i].image);
    clReleaseMemObject (planes[i].output);
  }
  /* One in for each plane, and nothing out. */
  g_assert_cmpint (doubles_count ("own-copies"), ==, copies + 2);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
  clFinish (rig->queue);
}

static void
test_format (guint32 fourcc)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, fourcc, WIDTH, HEIGHT);

  read_surface (rig, fourcc, surface);
  vaDestroySurfaces (rig->display, &surface, 1);
}

static void
test_nv12 (void)
{
  test_format (VA_FOURCC_NV12);
}

static void
test_p010 (void)
{
  test_format (VA_FOURCC_P010);
}

/* What VideoProc rendered is there after vaSyncSurface(). */
static void
test_rendered (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surfaces[2];
  VASurfaceStatus status;

  for (guint i = 0; i < 2; i++)
    surfaces[i] = rig_new_surface (rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  rig_render (rig, surfaces[0], surfaces[1]);
  vaSyncSurface (rig->display, surfaces[1]);
  vaQuerySurfaceStatus (rig->display, surfaces[1], &status);
  g_assert_cmpint (status, ==, VASurfaceReady);
  read_surface (rig, VA_FOURCC_NV12, surfaces[1]);
  vaDestroySurfaces (rig->display, surfaces, 2);
}

static void
test_queries (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_P010, WIDTH, HEIGHT);
  cl_mem plane = rig_new_plane (rig, surface, 1);
  cl_context_properties properties[16];
  cl_image_format format;
  size_t n, width;

  clGetImageInfo (plane, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
  g_assert_cmpuint (format.image_channel_order, ==, CL_RG);
  g_assert_cmpuint (format.image_channel_data_type, ==, CL_UNORM_INT16);
  clGetImageInfo (plane, CL_IMAGE_WIDTH, sizeof width, &width, NULL);
  g_assert_cmpuint (width, ==, (WIDTH + 1) / 2);
  ASSERT_GOOD (
      clGetContextInfo (rig->context, CL_CONTEXT_PROPERTIES, sizeof properties, properties, &n));
  g_assert_cmpuint (n, ==, 7 * sizeof *properties);
  g_assert_cmpint (properties[2], ==, CL_CONTEXT_VA_API_DISPLAY_INTEL);
  g_assert_true (properties[3] == (cl_context_properties)rig->display);
  clReleaseMemObject (plane);
  vaDestroySurfaces (rig->display, &surface, 1);
}

/* Objects, surfaces, contexts and displays are gone when they should be. */
static void
test_nothing_left (void)
{
  static const gchar *const counts[] = {"live-objects", "live-surfaces", "live-surface-maps",
                                        "live-contexts", "live-displays"};

  test_nv12 ();
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    g_assert_true (doubles_wait_for (counts[i], 0));
}

static void
test_fault (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  cl_mem plane = rig_new_plane (rig, surface, 0);

  doubles_fail ("clEnqueueAcquireVA_APIMediaSurfacesINTEL", 2, CL_OUT_OF_RESOURCES);
  ASSERT_GOOD (rig_acquire (rig, plane));
  ASSERT_GOOD (rig_release (rig, plane));
  g_assert_cmpint (rig_acquire (rig, plane), ==, CL_OUT_OF_RESOURCES);
  ASSERT_GOOD (rig_acquire (rig, plane));
  ASSERT_GOOD (rig_release (rig, plane));
  g_assert_cmpint (doubles_count ("injected-faults"), ==, 1);
  clFinish (rig->queue);
  clReleaseMemObject (plane);
  vaDestroySurfaces (rig->display, &surface, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  rig_add_test ("/doubles/planes/nothing-left", test_nothing_left);
  rig_add_test ("/doubles/planes/nv12", test_nv12);
  rig_add_test ("/doubles/planes/p010", test_p010);
  rig_add_test ("/doubles/planes/rendered", test_rendered);
  rig_add_test ("/doubles/planes/queries", test_queries);
  rig_add_test ("/doubles/planes/fault", test_fault);
  return g_test_run ();
}
