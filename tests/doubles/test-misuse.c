/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "rig.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

/* Each kind of misuse is recorded, and refused if a driver could know of it. */

#define WIDTH  32
#define HEIGHT 16
#define SIZE   4096 /* of dma-bufs, here files in memory, whose bytes increase */

/* Objects of a test: a surface, the shared object, which is the image of the surface's luma or a
 * dma-buf, and a buffer for the output of a kernel. */
typedef struct {
  Rig *rig;
  VASurfaceID surface, other; /* other is only for rendering */
  gboolean is_file;
  int fd;
  guint8 *data; /* of the dma-buf */
  cl_mem object, output;
  VAImage image;
} Scene;

static cl_mem
import (Rig *rig, int fd, gsize size, cl_int *status)
{
  const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR,
                                          (cl_mem_properties)fd, 0};

  return clCreateBufferWithProperties (rig->context, properties, CL_MEM_READ_ONLY, size, NULL,
                                       status);
}

static cl_int
acquire (Scene *self)
{
  return self->is_file
             ? self->rig->acquire_external (self->rig->queue, 1, &self->object, 0, NULL, NULL)
             : rig_acquire (self->rig, self->object);
}

static cl_int
release (Scene *self)
{
  return self->is_file
             ? self->rig->release_external (self->rig->queue, 1, &self->object, 0, NULL, NULL)
             : rig_release (self->rig, self->object);
}

static cl_int
use (Scene *self)
{
  return self->is_file
             ? rig_enqueue (self->rig, KERNEL_COPY, self->object, self->output, SIZE, 1)
             : rig_enqueue (self->rig, KERNEL_READ, self->object, self->output, WIDTH, HEIGHT);
}

static cl_int
finish (Scene *self)
{
  return clFinish (self->rig->queue);
}

static cl_int
destroy (Scene *self)
{
  return vaDestroySurfaces (self->rig->display, &self->surface, 1);
}

static cl_int
transfer (Scene *self)
{
  const size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, HEIGHT, 1};
  const gint64 transfers = doubles_count ("shared-transfers");
  const cl_int status =
      self->is_file ? clEnqueueCopyBuffer (self->rig->queue, self->object, self->output, 0, 0, SIZE,
                                           0, NULL, NULL)
                    : clEnqueueCopyImageToBuffer (self->rig->queue, self->object, self->output,
                                                  origin, region, 0, 0, NULL, NULL);

  g_assert_cmpint (doubles_count ("shared-transfers"), ==, transfers + 1);
  return status;
}

static cl_int
take_step (Scene *self, gchar step)
{
  const size_t size[2] = {WIDTH, HEIGHT};
  const VASurfaceID old = self->surface;
  Rig *rig = self->rig;

  switch (step) {
  case 'A':
    return acquire (self);
  case 'R':
    return release (self);
  case 'K':
    return use (self);
  case 'L': /* the kernel with the arguments of the last time */
    return clEnqueueNDRangeKernel (rig->queue, rig->kernels[KERNEL_READ], 2, NULL, size, NULL, 0,
                                   NULL, NULL);
  case 'T':
    return transfer (self);
  case 'F':
    return finish (self);
  case 'D': /* drops the object, and waits until OpenCL has freed it */
    finish (self);
    g_clear_pointer (&self->object, clReleaseMemObject);
    g_assert_true (doubles_wait_for ("live-objects", 0));
    return CL_SUCCESS;
  case 'X':
    return destroy (self);
  case 'N': /* a new surface gets the ID of the old one */
    destroy (self);
    self->surface = rig_new_surface (rig, WIDTH, HEIGHT);
    g_assert_cmpuint (self->surface, ==, old);
    return CL_SUCCESS;
  case 'W':
    rig_render (rig, self->other, self->surface);
    return CL_SUCCESS;
  case 'S':
    return vaSyncSurface (rig->display, self->surface);
  case 'M':
    vaDeriveImage (rig->display, self->surface, &self->image);
    return vaMapBuffer (rig->display, self->image.buf, (void **)&self->data);
  case 'U':
    vaUnmapBuffer (rig->display, self->image.buf);
    return vaDestroyImage (rig->display, self->image.image_id);
  default: /* the CPU writes, which only the checksum can show */
    self->data[0] ^= 1;
    return CL_SUCCESS;
  }
}

/* Steps: one behind which there is "!" is refused with @error, one with "?" succeeds; both are
 * recorded as misuse of that kind. */
static const struct {
  const gchar *kind, *steps;
  cl_int error;
  gboolean is_file;
} scripts[] = {
    {"unacquired-use", "K!AKRK!", CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL, FALSE},
    {"unacquired-release", "R!", CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL, FALSE},
    {"acquired-twice", "AA!R", CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL, FALSE},
    {"left-acquired", "AD?", 0, FALSE},
    /* The surface has its old bytes until the sync. */
    {"missing-sync", "WA!SAR", CL_INVALID_OPERATION, FALSE},
    {"stale-surface", "NA!", CL_INVALID_VA_API_MEDIA_SURFACE_INTEL, FALSE},
    /* Until the release command is done, the surface must not be destroyed or changed. */
    {"destroyed-in-use", "ARX?", 0, FALSE},
    {"written-in-use", "ARW?FW", 0, FALSE},
    {"written-in-use", "AFMCURF?", 0, FALSE},
    {"mapped-in-use", "MA!U", CL_INVALID_OPERATION, FALSE},
    {"dead-argument", "AKRDL!", CL_INVALID_KERNEL_ARGS, FALSE},
    {"image-transfer", "AT!R", CL_INVALID_OPERATION, FALSE},
    {"unacquired-use", "T!K!AKTRK!", CL_INVALID_OPERATION, TRUE},
    {"unacquired-release", "R!", CL_INVALID_OPERATION, TRUE},
    {"written-in-use", "AFCRF?", 0, TRUE},
};

static void
play (Scene *self, const gchar *kind, const gchar *steps, cl_int error)
{
  for (; *steps; steps++) {
    const gchar mark = steps[1];

    g_assert_cmpint (take_step (self, *steps), ==, mark == '!' ? error : CL_SUCCESS);
    if (mark == '!' || mark == '?') {
      rig_assert_misuse (kind);
      steps++;
    }
  }
}

static void
test_foreign (Scene *self)
{
  g_autoptr (Rig) other = rig_new (TRUE);
  int nobody;
  const cl_context_properties properties[] = {
      CL_CONTEXT_VA_API_DISPLAY_INTEL,
      (cl_context_properties)&nobody,
      CL_CONTEXT_INTEROP_USER_SYNC,
      CL_TRUE,
      0,
  };
  cl_int status;

  g_assert_null (other->create (other->context, CL_MEM_READ_ONLY, &self->surface, 0, &status));
  ASSERT_REFUSED (status, VA_STATUS_ERROR_INVALID_SURFACE, "foreign-display");
  ASSERT_REFUSED (rig_acquire (other, self->object), CL_INVALID_CONTEXT, "foreign-display");
  g_assert_null (clCreateContext (properties, 1, &self->rig->device, NULL, NULL, &status));
  ASSERT_REFUSED (status, CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL, "foreign-display");
}

static void
test_contexts (Scene *self)
{
  cl_int status;
  cl_context plain = clCreateContext (NULL, 1, &self->rig->device, NULL, NULL, &status);
  Rig *other;

  g_assert_null (self->rig->create (plain, CL_MEM_READ_ONLY, &self->surface, 0, &status));
  ASSERT_REFUSED (status, CL_INVALID_CONTEXT, "foreign-context");
  clReleaseContext (plain);
  other = rig_new (FALSE);
  rig_assert_misuse ("wrong-argument");
  rig_free (other);
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

/* Another queue that does not wait for the acquire's event does not find the frame. The first use
 * compiles the kernel; the second takes less than the acquire then. */
static void
test_missing_wait (Scene *self)
{
  const gchar *latency = "GEMMCL_DOUBLES_LATENCY_MS";
  g_autofree gchar *before = g_strdup (g_getenv (latency));
  cl_command_queue own = self->rig->queue;
  cl_int status;
  cl_command_queue other =
      clCreateCommandQueueWithProperties (self->rig->context, self->rig->device, NULL, &status);
  gfloat value;

  ASSERT_GOOD (acquire (self));
  ASSERT_GOOD (use (self));
  ASSERT_GOOD (release (self));
  clFinish (own);
  g_setenv (latency, "1000", TRUE);
  ASSERT_GOOD (acquire (self));
  self->rig->queue = other;
  ASSERT_GOOD (use (self));
  ASSERT_GOOD (rig_read (self->rig, self->output, 0, &value, sizeof value));
  g_setenv (latency, before, TRUE);
  g_assert_cmpfloat_with_epsilon (value * 255, 0x5a, 0.01);
  self->rig->queue = own;
  ASSERT_GOOD (release (self));
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

/* Memory of a file descriptor is imported without a copy, and belongs to the driver. */
static void
test_copy (Scene *self)
{
  guint8 copied[SIZE];

  g_assert_cmpint (fcntl (self->fd, F_GETFD), ==, -1);
  ASSERT_GOOD (acquire (self));
  ASSERT_GOOD (use (self));
  ASSERT_GOOD (release (self));
  ASSERT_GOOD (rig_read (self->rig, self->output, 0, copied, SIZE));
  g_assert_cmpmem (self->data, SIZE, copied, SIZE);
  g_assert_cmpint (doubles_count ("shared-transfers"), ==, 0);
}

static void
test_wrong_import (Scene *self)
{
  const int fd = memfd_create ("dmabuf", MFD_CLOEXEC);
  cl_int status;

  ASSERT_REFUSED (rig_acquire (self->rig, self->object), CL_INVALID_MEM_OBJECT, "wrong-argument");
  g_assert_null (import (self->rig, fd, 1, &status));
  ASSERT_REFUSED (status, CL_INVALID_BUFFER_SIZE, "wrong-argument");
  close (fd);
  g_assert_null (import (self->rig, fd, SIZE, &status));
  ASSERT_REFUSED (status, CL_INVALID_VALUE, "wrong-argument");
}

static cl_mem
import_surface (Scene *self, VADRMPRIMESurfaceDescriptor *exported)
{
  cl_int status;
  cl_mem buffer;

  g_assert_cmpint (vaExportSurfaceHandle (
                       self->rig->display, self->surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                       VA_EXPORT_SURFACE_READ_ONLY | VA_EXPORT_SURFACE_SEPARATE_LAYERS, exported),
                   ==, VA_STATUS_SUCCESS);
  g_assert_cmpuint (exported->num_layers, ==, 2);
  buffer = import (self->rig, exported->objects[0].fd, exported->objects[0].size, &status);
  ASSERT_GOOD (status);
  return buffer;
}

/* An exported surface must live as long as it is acquired. */
static void
test_exported (Scene *self)
{
  VADRMPRIMESurfaceDescriptor exported;

  clReleaseMemObject (self->object);
  self->object = import_surface (self, &exported);
  ASSERT_GOOD (acquire (self));
  ASSERT_GOOD (release (self));
  destroy (self);
  rig_assert_misuse ("destroyed-in-use");
}

/* A tiled surface must not be imported; its file has no pixels. */
static void
test_tiled (Scene *self)
{
  VADRMPRIMESurfaceDescriptor exported;
  cl_mem buffer;
  guint8 byte = 1;

  g_setenv ("GEMMCL_DOUBLES_MODIFIER", "0x0100000000000002", TRUE);
  buffer = import_surface (self, &exported);
  g_unsetenv ("GEMMCL_DOUBLES_MODIFIER");
  rig_assert_misuse ("wrong-argument");
  g_assert_true (exported.objects[0].drm_format_modifier == G_GUINT64_CONSTANT (0x100000000000002));
  ASSERT_GOOD (self->rig->acquire_external (self->rig->queue, 1, &buffer, 0, NULL, NULL));
  ASSERT_GOOD (rig_read (self->rig, buffer, 0, &byte, 1));
  g_assert_cmpuint (byte, ==, 0);
  ASSERT_GOOD (self->rig->release_external (self->rig->queue, 1, &buffer, 0, NULL, NULL));
  finish (self);
  clReleaseMemObject (buffer);
}

static const struct {
  const gchar *path;
  void (*run) (Scene *self);
  gboolean is_file;
} tests[] = {
    {"/doubles/foreign", test_foreign, FALSE},
    {"/doubles/contexts", test_contexts, FALSE},
    {"/doubles/wrong-argument", test_wrong_argument, FALSE},
    {"/doubles/missing-wait", test_missing_wait, FALSE},
    {"/doubles/vendor", test_vendor, FALSE},
    {"/doubles/dmabuf/copy", test_copy, TRUE},
    {"/doubles/dmabuf/wrong-import", test_wrong_import, TRUE},
    {"/doubles/dmabuf/exported", test_exported, TRUE},
    {"/doubles/dmabuf/tiled", test_tiled, TRUE},
};

static void
scene_open (Scene *self)
{
  cl_int status;

  self->rig = rig_new (TRUE);
  self->surface = rig_new_surface (self->rig, WIDTH, HEIGHT);
  self->other = rig_new_surface (self->rig, WIDTH, HEIGHT);
  self->output = rig_new_buffer (self->rig, MAX (SIZE, WIDTH * HEIGHT * 2 * sizeof (gfloat)));
  if (!self->is_file) {
    self->object = rig_new_plane (self->rig, self->surface, 0);
    return;
  }
  self->fd = memfd_create ("dmabuf", MFD_CLOEXEC);
  g_assert_cmpint (ftruncate (self->fd, SIZE), ==, 0);
  self->data = mmap (NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
  g_assert_true (self->data != MAP_FAILED);
  for (guint i = 0; i < SIZE; i++)
    self->data[i] = (guint8)(i * 7);
  self->object = import (self->rig, self->fd, SIZE, &status);
  ASSERT_GOOD (status);
}

/* The surface and the object may be freed before the display; nothing is left then. */
static void
scene_close (Scene *self)
{
  static const gchar *const counts[] = {"live-objects", "live-surfaces", "live-surface-maps",
                                        "live-contexts", "live-displays"};

  finish (self);
  g_clear_pointer (&self->object, clReleaseMemObject);
  clReleaseMemObject (self->output);
  if (self->is_file)
    munmap (self->data, SIZE);
  destroy (self);
  vaDestroySurfaces (self->rig->display, &self->other, 1);
  rig_free (self->rig);
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    g_assert_true (doubles_wait_for (counts[i], 0));
}

/* Runs a test, or a script if its index is behind the tests. */
static void
run (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data), script = i - G_N_ELEMENTS (tests);
  const gboolean is_test = i < G_N_ELEMENTS (tests);
  Scene self = {.is_file = is_test ? tests[i].is_file : scripts[script].is_file};

  if (doubles_missing ()) {
    g_test_skip (doubles_missing ());
    return;
  }
  scene_open (&self);
  if (is_test)
    tests[i].run (&self);
  else
    play (&self, scripts[script].kind, scripts[script].steps, scripts[script].error);
  scene_close (&self);
}

int
main (int argc, char **argv)
{
  /* For test-run.sh: takes steps. After an acquire as the last step nothing is freed. */
  if (argc == 3 && strcmp (argv[1], "--steps") == 0) {
    static Scene self;

    scene_open (&self);
    play (&self, NULL, argv[2], CL_SUCCESS);
    if (!g_str_has_suffix (argv[2], "A"))
      scene_close (&self);
    return 0;
  }
  /* Long enough for a test to act between the call and the command. */
  g_setenv ("GEMMCL_DOUBLES_LATENCY_MS", "20", TRUE);
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests) + G_N_ELEMENTS (scripts); i++) {
    const guint script = i - G_N_ELEMENTS (tests);
    g_autofree gchar *path =
        i < G_N_ELEMENTS (tests)
            ? g_strdup (tests[i].path)
            : g_strdup_printf ("/doubles/misuse/%s-%s-%s", scripts[script].is_file ? "file" : "va",
                               scripts[script].kind, scripts[script].steps);

    g_test_add_data_func (path, GUINT_TO_POINTER (i), run);
  }
  return g_test_run ();
}
