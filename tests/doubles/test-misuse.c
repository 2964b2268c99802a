/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doubles.h"
#include "rig.h"

/* Each kind of misuse is refused where the driver could know of it, and noted in any case. */

#define WIDTH  32
#define HEIGHT 16

/* A surface, the image of its luma, and a buffer for what a kernel reads. */
typedef struct {
  Rig *rig;
  VASurfaceID surface;
  cl_mem plane, output;
} Scene;

static Scene
scene_new (cl_mem_flags flags)
{
  Scene self = {.rig = rig_new (TRUE)};
  cl_int status;

  self.surface = rig_new_surface (self.rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  self.plane = rig_new_plane (self.rig, flags, self.surface, 0);
  self.output =
      clCreateBuffer (self.rig->context, CL_MEM_READ_WRITE, WIDTH * HEIGHT * 8, NULL, &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  return self;
}

/* The surface and the image may be gone already. */
static void
scene_end (Scene *self)
{
  clFinish (self->rig->queue);
  if (self->plane)
    clReleaseMemObject (self->plane);
  clReleaseMemObject (self->output);
  vaDestroySurfaces (self->rig->display, &self->surface, 1);
  rig_free (self->rig);
}

static cl_int
scene_read (Scene *self)
{
  return rig_enqueue (self->rig, KERNEL_READ, self->plane, self->output, WIDTH, HEIGHT);
}

static void
test_unacquired_use (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);

  g_assert_cmpint (scene_read (&scene), ==, CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL);
  rig_assert_misuse ("unacquired-use");
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (scene_read (&scene), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (scene_read (&scene), ==, CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL);
  rig_assert_misuse ("unacquired-use");
  scene_end (&scene);
}

static void
test_unacquired_release (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);

  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==,
                   CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL);
  rig_assert_misuse ("unacquired-release");
  scene_end (&scene);
}

static void
test_acquired_twice (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==,
                   CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL);
  rig_assert_misuse ("acquired-twice");
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  scene_end (&scene);
}

static void
test_left_acquired (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  clFinish (scene.rig->queue);
  clReleaseMemObject (scene.plane);
  scene.plane = NULL;
  g_assert_true (doubles_wait_for ("live-objects", 0));
  rig_assert_misuse ("left-acquired");
  scene_end (&scene);
}

static void
test_foreign_surface (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  g_autoptr (Rig) other = rig_new (TRUE);
  cl_int status;
  cl_mem mem = other->create (other->context, CL_MEM_READ_ONLY, &scene.surface, 0, &status);

  g_assert_null (mem);
  g_assert_cmpint (status, ==, VA_STATUS_ERROR_INVALID_SURFACE);
  rig_assert_misuse ("foreign-display");
  scene_end (&scene);
}

static void
test_foreign_queue (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  g_autoptr (Rig) other = rig_new (TRUE);

  g_assert_cmpint (rig_acquire (other, scene.plane), ==, CL_INVALID_CONTEXT);
  rig_assert_misuse ("foreign-display");
  scene_end (&scene);
}

static void
test_foreign_display (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  int nobody;
  const cl_context_properties properties[] = {CL_CONTEXT_VA_API_DISPLAY_INTEL,
                                              (cl_context_properties)&nobody, 0};
  cl_int status;

  g_assert_null (clCreateContext (properties, 1, &scene.rig->device, NULL, NULL, &status));
  g_assert_cmpint (status, ==, CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL);
  rig_assert_misuse ("foreign-display");
  scene_end (&scene);
}

static void
test_no_display (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  cl_int status;
  cl_context plain = clCreateContext (NULL, 1, &scene.rig->device, NULL, NULL, &status);

  g_assert_null (scene.rig->create (plain, CL_MEM_READ_ONLY, &scene.surface, 0, &status));
  g_assert_cmpint (status, ==, CL_INVALID_CONTEXT);
  rig_assert_misuse ("foreign-context");
  clReleaseContext (plain);
  scene_end (&scene);
}

/* The old bytes are there until somebody waits: an acquire that went through would read them. */
static void
test_missing_sync (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  VASurfaceID from = rig_new_surface (scene.rig, VA_FOURCC_NV12, WIDTH, HEIGHT);

  rig_render (scene.rig, from, scene.surface);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_INVALID_OPERATION);
  rig_assert_misuse ("missing-sync");
  vaSyncSurface (scene.rig->display, scene.surface);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  vaDestroySurfaces (scene.rig->display, &from, 1);
  scene_end (&scene);
}

/* The id lives on with another surface, which the old image must not be taken for. */
static void
test_stale_surface (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  const VASurfaceID old = scene.surface;

  vaDestroySurfaces (scene.rig->display, &scene.surface, 1);
  scene.surface = rig_new_surface (scene.rig, VA_FOURCC_NV12, WIDTH, HEIGHT);
  g_assert_cmpuint (scene.surface, ==, old);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_INVALID_VA_API_MEDIA_SURFACE_INTEL);
  rig_assert_misuse ("stale-surface");
  scene_end (&scene);
}

/* Released, but the command is not done: the surface must not go, nor change. */
static void
test_destroyed_in_use (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  vaDestroySurfaces (scene.rig->display, &scene.surface, 1);
  rig_assert_misuse ("destroyed-in-use");
  scene_end (&scene);
}

static void
test_rendered_in_use (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  VASurfaceID from = rig_new_surface (scene.rig, VA_FOURCC_NV12, WIDTH, HEIGHT);

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  rig_render (scene.rig, from, scene.surface);
  rig_assert_misuse ("written-in-use");
  clFinish (scene.rig->queue);
  rig_render (scene.rig, from, scene.surface);
  vaDestroySurfaces (scene.rig->display, &from, 1);
  scene_end (&scene);
}

static void
test_read_in_use (void)
{
  Scene scene = scene_new (CL_MEM_WRITE_ONLY);
  VASurfaceID to = rig_new_surface (scene.rig, VA_FOURCC_NV12, WIDTH, HEIGHT);

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  rig_render (scene.rig, scene.surface, to);
  rig_assert_misuse ("read-in-use");
  vaDestroySurfaces (scene.rig->display, &to, 1);
  scene_end (&scene);
}

/* The CPU writes through a mapping that it made before, which nobody sees but by the bytes. */
static void
test_changed_in_use (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  VAImage image;
  guint8 *data;

  vaDeriveImage (scene.rig->display, scene.surface, &image);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  clFinish (scene.rig->queue);
  vaMapBuffer (scene.rig->display, image.buf, (void **)&data);
  data[image.offsets[0]] ^= 1;
  vaUnmapBuffer (scene.rig->display, image.buf);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  clFinish (scene.rig->queue);
  rig_assert_misuse ("written-in-use");
  vaDestroyImage (scene.rig->display, image.image_id);
  scene_end (&scene);
}

static void
test_mapped (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  VAImage image;
  void *data;

  vaDeriveImage (scene.rig->display, scene.surface, &image);
  vaMapBuffer (scene.rig->display, image.buf, &data);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_INVALID_OPERATION);
  rig_assert_misuse ("mapped-in-use");
  vaUnmapBuffer (scene.rig->display, image.buf);
  vaDestroyImage (scene.rig->display, image.image_id);
  scene_end (&scene);
}

static void
test_dead_argument (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  const size_t size[2] = {WIDTH, HEIGHT};

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (scene_read (&scene), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  clFinish (scene.rig->queue);
  clReleaseMemObject (scene.plane);
  scene.plane = NULL;
  g_assert_true (doubles_wait_for ("live-objects", 0));
  g_assert_cmpint (clEnqueueNDRangeKernel (scene.rig->queue, scene.rig->kernels[KERNEL_READ], 2,
                                           NULL, size, NULL, 0, NULL, NULL),
                   ==, CL_INVALID_KERNEL_ARGS);
  rig_assert_misuse ("dead-argument");
  scene_end (&scene);
}

static void
test_transfer (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
  const gint64 transfers = doubles_count ("shared-transfers");

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (clEnqueueCopyImageToBuffer (scene.rig->queue, scene.plane, scene.output, origin,
                                               region, 0, 0, NULL, NULL),
                   ==, CL_INVALID_OPERATION);
  rig_assert_misuse ("image-transfer");
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, transfers + 1);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  scene_end (&scene);
}

static void
test_wrong_argument (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  cl_int status;

  g_assert_null (
      scene.rig->create (scene.rig->context, CL_MEM_READ_ONLY, &scene.surface, 2, &status));
  g_assert_cmpint (status, ==, CL_INVALID_VALUE);
  rig_assert_misuse ("wrong-argument");
  g_assert_cmpint (rig_acquire (scene.rig, scene.output), ==, CL_INVALID_MEM_OBJECT);
  rig_assert_misuse ("wrong-argument");
  scene_end (&scene);
}

/* Another queue that does not wait for the acquire's event finds no picture. */
static void
test_missing_wait (void)
{
  Scene scene = scene_new (CL_MEM_READ_ONLY);
  cl_command_queue own = scene.rig->queue;
  cl_int status;
  cl_command_queue other =
      clCreateCommandQueueWithProperties (scene.rig->context, scene.rig->device, NULL, &status);
  gfloat value;

  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  clFinish (own);
  g_assert_cmpint (rig_acquire (scene.rig, scene.plane), ==, CL_SUCCESS);
  scene.rig->queue = other;
  g_assert_cmpint (scene_read (&scene), ==, CL_SUCCESS);
  clEnqueueReadBuffer (other, scene.output, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
  g_assert_cmpfloat_with_epsilon (value * 255, 0x5a, 0.01);
  scene.rig->queue = own;
  g_assert_cmpint (rig_release (scene.rig, scene.plane), ==, CL_SUCCESS);
  clReleaseCommandQueue (other);
  scene_end (&scene);
}

int
main (int argc, char **argv)
{
  /* Long enough for a test to act between the call and the command. */
  g_setenv ("GEMMCL_DOUBLES_LATENCY_MS", "20", TRUE);
  g_test_init (&argc, &argv, NULL);
  rig_add_test ("/doubles/misuse/unacquired-use", test_unacquired_use);
  rig_add_test ("/doubles/misuse/unacquired-release", test_unacquired_release);
  rig_add_test ("/doubles/misuse/acquired-twice", test_acquired_twice);
  rig_add_test ("/doubles/misuse/left-acquired", test_left_acquired);
  rig_add_test ("/doubles/misuse/foreign-surface", test_foreign_surface);
  rig_add_test ("/doubles/misuse/foreign-queue", test_foreign_queue);
  rig_add_test ("/doubles/misuse/foreign-display", test_foreign_display);
  rig_add_test ("/doubles/misuse/no-display", test_no_display);
  rig_add_test ("/doubles/misuse/missing-sync", test_missing_sync);
  rig_add_test ("/doubles/misuse/missing-wait", test_missing_wait);
  rig_add_test ("/doubles/misuse/stale-surface", test_stale_surface);
  rig_add_test ("/doubles/misuse/destroyed-in-use", test_destroyed_in_use);
  rig_add_test ("/doubles/misuse/rendered-in-use", test_rendered_in_use);
  rig_add_test ("/doubles/misuse/read-in-use", test_read_in_use);
  rig_add_test ("/doubles/misuse/changed-in-use", test_changed_in_use);
  rig_add_test ("/doubles/misuse/mapped", test_mapped);
  rig_add_test ("/doubles/misuse/dead-argument", test_dead_argument);
  rig_add_test ("/doubles/misuse/transfer", test_transfer);
  rig_add_test ("/doubles/misuse/wrong-argument", test_wrong_argument);
  return g_test_run ();
}
