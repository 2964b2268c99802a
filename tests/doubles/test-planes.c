/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"
#include "rig.h"

#include <math.h>
#include <string.h>

/* Right use: kernels see a surface's planes, and surfaces what kernels wrote; nothing is noted. */

#define WIDTH  35
#define HEIGHT 17

typedef struct {
  gsize columns, rows, elements;
} Size;

static Size
plane_size (guint plane)
{
  const gsize columns = plane > 0 ? (WIDTH + 1) / 2 : WIDTH;
  const gsize rows = plane > 0 ? (HEIGHT + 1) / 2 : HEIGHT;

  return (Size){columns, rows, columns * rows};
}

static cl_mem
new_output (Rig *rig, const Size *size)
{
  cl_int status;
  cl_mem output =
      clCreateBuffer (rig->context, CL_MEM_READ_WRITE, size->elements * 8, NULL, &status);

  g_assert_cmpint (status, ==, CL_SUCCESS);
  return output;
}

/* That @output holds what rig_new_surface() put into the plane, scaled to 1. */
static void
check_output (Rig *rig, cl_mem output, guint32 fourcc, guint plane)
{
  const Size size = plane_size (plane);
  const gdouble scale = fourcc == VA_FOURCC_P010 ? 65535.0 : 255.0;
  g_autofree gfloat *values = g_new0 (gfloat, size.elements * 2);

  g_assert_cmpint (clEnqueueReadBuffer (rig->queue, output, CL_TRUE, 0, size.elements * 8, values,
                                        0, NULL, NULL),
                   ==, CL_SUCCESS);
  for (gsize i = 0; i < size.elements; i++)
    for (guint c = 0; c < 2; c++) {
      const guint x = i % size.columns, y = i / size.columns;
      const guint expected = plane > 0 || c == 0 ? rig_expected (fourcc, plane, x, y, c) : 0;

      g_assert_cmpfloat_with_epsilon (values[2 * i + c] * scale, expected, 0.01);
    }
}

static void
read_surface (Rig *rig, guint32 fourcc, VASurfaceID surface)
{
  const gint64 copies = doubles_count ("own-copies");
  cl_mem planes[2], outputs[2];

  for (guint i = 0; i < 2; i++) {
    const Size size = plane_size (i);

    planes[i] = rig_new_plane (rig, CL_MEM_READ_ONLY, surface, i);
    outputs[i] = new_output (rig, &size);
  }
  g_assert_cmpint (rig->acquire (rig->queue, 2, planes, 0, NULL, NULL), ==, CL_SUCCESS);
  for (guint i = 0; i < 2; i++) {
    const Size size = plane_size (i);

    g_assert_cmpint (rig_enqueue (rig, KERNEL_READ, planes[i], outputs[i], size.columns, size.rows),
                     ==, CL_SUCCESS);
  }
  g_assert_cmpint (rig->release (rig->queue, 2, planes, 0, NULL, NULL), ==, CL_SUCCESS);
  for (guint i = 0; i < 2; i++) {
    check_output (rig, outputs[i], fourcc, i);
    clReleaseMemObject (planes[i]);
    clReleaseMemObject (outputs[i]);
  }
  /* One in for each plane, and nothing out of what was only read. */
  g_assert_cmpint (doubles_count ("own-copies"), ==, copies + 2);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
}

static void
test_read (guint32 fourcc)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, fourcc, WIDTH, HEIGHT);

  read_surface (rig, fourcc, surface);
  clFinish (rig->queue);
  vaDestroySurfaces (rig->display, &surface, 1);
}

static void
test_read_nv12 (void)
{
  test_read (VA_FOURCC_NV12);
}

static void
test_read_p010 (void)
{
  test_read (VA_FOURCC_P010);
}

/* What VideoProc rendered is there after vaSyncSurface(), or after an acquire that implies it. */
static void
test_rendered (gboolean user_sync)
{
  g_autoptr (Rig) rig = rig_new (user_sync);
  const gint64 syncs = doubles_count ("implicit-syncs");
  VASurfaceID surfaces[2];
  VASurfaceStatus status;

  for (guint i = 0; i < 2; i++)
    surfaces[i] = rig_new_surface (rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  rig_render (rig, surfaces[0], surfaces[1]);
  if (user_sync) {
    vaSyncSurface (rig->display, surfaces[1]);
    vaQuerySurfaceStatus (rig->display, surfaces[1], &status);
    g_assert_cmpint (status, ==, VASurfaceReady);
  }
  read_surface (rig, VA_FOURCC_NV12, surfaces[1]);
  g_assert_cmpint (doubles_count ("implicit-syncs"), ==, syncs + (user_sync ? 0 : 2));
  clFinish (rig->queue);
  vaDestroySurfaces (rig->display, surfaces, 2);
}

static void
test_user_sync (void)
{
  test_rendered (TRUE);
}

static void
test_implicit_sync (void)
{
  test_rendered (FALSE);
}

static void
test_write (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  cl_mem plane = rig_new_plane (rig, CL_MEM_WRITE_ONLY, surface, 1);
  const Size size = plane_size (1);
  cl_mem unused = new_output (rig, &size);
  VAImage image;
  guint8 *data;

  g_assert_cmpint (rig_acquire (rig, plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_enqueue (rig, KERNEL_WRITE, plane, unused, size.columns, size.rows), ==,
                   CL_SUCCESS);
  g_assert_cmpint (rig_release (rig, plane), ==, CL_SUCCESS);
  clFinish (rig->queue);
  vaDeriveImage (rig->display, surface, &image);
  vaMapBuffer (rig->display, image.buf, (void **)&data);
  for (guint y = 0; y < size.rows; y++)
    for (guint x = 0; x < size.columns; x++) {
      const guint8 *pixel = data + image.offsets[1] + y * image.pitches[1] + 2 * x;

      g_assert_cmpuint (pixel[0], ==, x + 2 * y);
      g_assert_cmpuint (pixel[1], ==, x);
    }
  vaUnmapBuffer (rig->display, image.buf);
  vaDestroyImage (rig->display, image.image_id);
  clReleaseMemObject (plane);
  clReleaseMemObject (unused);
  vaDestroySurfaces (rig->display, &surface, 1);
}

static void
test_queries (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_P010, WIDTH, HEIGHT);
  cl_mem plane = rig_new_plane (rig, CL_MEM_READ_ONLY, surface, 1);
  cl_context_properties properties[16];
  cl_image_format format;
  VASurfaceID *id;
  cl_uint index;
  size_t n, width;

  clGetImageInfo (plane, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
  g_assert_cmpuint (format.image_channel_order, ==, CL_RG);
  g_assert_cmpuint (format.image_channel_data_type, ==, CL_UNORM_INT16);
  clGetImageInfo (plane, CL_IMAGE_WIDTH, sizeof width, &width, NULL);
  g_assert_cmpuint (width, ==, (WIDTH + 1) / 2);
  clGetImageInfo (plane, CL_IMAGE_VA_API_PLANE_INTEL, sizeof index, &index, NULL);
  g_assert_cmpuint (index, ==, 1);
  clGetMemObjectInfo (plane, CL_MEM_VA_API_MEDIA_SURFACE_INTEL, sizeof id, &id, NULL);
  g_assert_cmpuint (*id, ==, surface);
  g_assert_cmpint (
      clGetContextInfo (rig->context, CL_CONTEXT_PROPERTIES, sizeof properties, properties, &n), ==,
      CL_SUCCESS);
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
  test_read (VA_FOURCC_NV12);
  g_assert_true (doubles_wait_for ("live-objects", 0));
  g_assert_true (doubles_wait_for ("live-surfaces", 0));
  g_assert_true (doubles_wait_for ("live-surface-maps", 0));
  g_assert_true (doubles_wait_for ("live-contexts", 0));
  g_assert_true (doubles_wait_for ("live-displays", 0));
}

static void
test_fault (void)
{
  g_autoptr (Rig) rig = rig_new (TRUE);
  VASurfaceID surface = rig_new_surface (rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  cl_mem plane = rig_new_plane (rig, CL_MEM_READ_ONLY, surface, 0);

  doubles_fail ("clEnqueueAcquireVA_APIMediaSurfacesINTEL", 2, CL_OUT_OF_RESOURCES);
  g_assert_cmpint (rig_acquire (rig, plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (rig, plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_acquire (rig, plane), ==, CL_OUT_OF_RESOURCES);
  g_assert_cmpint (rig_acquire (rig, plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (rig, plane), ==, CL_SUCCESS);
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
  rig_add_test ("/doubles/planes/nv12", test_read_nv12);
  rig_add_test ("/doubles/planes/p010", test_read_p010);
  rig_add_test ("/doubles/planes/user-sync", test_user_sync);
  rig_add_test ("/doubles/planes/implicit-sync", test_implicit_sync);
  rig_add_test ("/doubles/planes/write", test_write);
  rig_add_test ("/doubles/planes/queries", test_queries);
  rig_add_test ("/doubles/planes/fault", test_fault);
  return g_test_run ();
}
