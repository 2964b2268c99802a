/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "../kernels/problem.h"

/* Runs whose A is frames in images, shared with others or not: to the last bit what runs on the
 * same bytes of the host give. */

#define WIDTH     13
#define HEIGHT    10
#define N_IMAGES  2
#define MAX_BYTES (WIDTH * HEIGHT * 4)

static const GemmclPixelFormat formats[] = {GEMMCL_PIXEL_GRAY8, GEMMCL_PIXEL_GRAY16_LE,
                                            GEMMCL_PIXEL_NV12, GEMMCL_PIXEL_I420,
                                            GEMMCL_PIXEL_P010_10LE};

/* The arguments of the calls of the handovers. */
static struct {
  guint acquired, released;
  cl_mem objects[N_IMAGES * GEMMCL_MAX_PLANES];
  cl_int status; /* of the acquire */
} seen;

static cl_int CL_API_CALL
acquire (cl_command_queue queue, cl_uint n, const cl_mem *objects, cl_uint n_wait,
         const cl_event *wait, cl_event *done)
{
  g_assert_cmpuint (seen.acquired, ==, 0);
  if (seen.status != CL_SUCCESS)
    return seen.status;
  g_assert_cmpuint (n, <=, G_N_ELEMENTS (seen.objects));
  memcpy (seen.objects, objects, n * sizeof *objects);
  seen.acquired = n;
  return clEnqueueMarkerWithWaitList (queue, n_wait, wait, done);
}

static cl_int CL_API_CALL
release (cl_command_queue queue, cl_uint n, const cl_mem *objects, cl_uint n_wait,
         const cl_event *wait, cl_event *done)
{
  g_assert_cmpuint (seen.released, ==, 0);
  g_assert_cmpmem (seen.objects, seen.acquired * sizeof (cl_mem), objects, n * sizeof (cl_mem));
  seen.released = n;
  return clEnqueueMarkerWithWaitList (queue, n_wait, wait, done);
}

static GemmclImage
make_image (GemmclPixelFormat format, GemmclFeatureMode features)
{
  return (GemmclImage){
      .format = format,
      .width = WIDTH,
      .height = HEIGHT,
      .features = features,
      .patch_width = features == GEMMCL_FEATURE_PATCH ? 4 : 0,
      .patch_height = features == GEMMCL_FEATURE_PATCH ? 3 : 0,
      .kr = 0.2126,
      .kb = 0.0722,
  };
}

typedef struct {
  GemmclImage image;
  GemmclPlan *plan;
  gsize m, n;
  guint8 bytes[N_IMAGES][MAX_BYTES];
  GemmclData host[N_IMAGES], images[N_IMAGES];
} Rig;

/* An image of four channels, which every device has; only the first ones mean something. */
static cl_mem
make_plane (const guint8 *bytes, gsize columns, gsize rows, guint samples, guint sample_bytes)
{
  const cl_image_format format = {CL_RGBA, sample_bytes == 2 ? CL_UNORM_INT16 : CL_UNORM_INT8};
  const cl_image_desc description = {CL_MEM_OBJECT_IMAGE2D, columns + 1, rows};
  g_autofree guint8 *texels = g_malloc0 ((columns + 1) * rows * 4 * sample_bytes);
  cl_int status;
  cl_mem image;

  for (gsize i = 0; i < columns * rows; i++)
    memcpy (texels + (i + i / columns) * 4 * sample_bytes, bytes + i * samples * sample_bytes,
            samples * sample_bytes);
  image = clCreateImage (gemmcl_context_get_cl_context (test_get_context ()),
                         CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &description, texels,
                         &status);
  g_assert_cmpint (status, ==, CL_SUCCESS);
  return image;
}

static void
fill (Rig *self, guint index)
{
  const GemmclPixelFormat format = self->image.format;
  const guint sample_bytes =
      format == GEMMCL_PIXEL_GRAY16_LE || format == GEMMCL_PIXEL_P010_10LE ? 2 : 1;
  GemmclPlane planes[GEMMCL_MAX_PLANES];
  const gsize size = gemmcl_image_get_planes (&self->image, planes);

  g_assert_cmpuint (size, <=, MAX_BYTES);
  for (gsize i = 0; i < size; i++)
    self->bytes[index][i] = (guint8)g_test_rand_int ();
  for (guint i = 0; i < gemmcl_pixel_format_get_n_planes (format); i++) {
    const gsize columns = i == 0 ? WIDTH : (WIDTH + 1) / 2;

    self->host[index].host[i] = self->bytes[index] + planes[i].offset;
    self->host[index].stride[i] = (gssize)planes[i].row_bytes;
    self->images[index].objects[i] =
        make_plane (self->bytes[index] + planes[i].offset, columns, planes[i].rows,
                    planes[i].row_bytes / columns / sample_bytes, sample_bytes);
  }
}

static Rig *
rig_new (GemmclPixelFormat format, GemmclFeatureMode features)
{
  Rig *self = g_new0 (Rig, 1);
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GemmclMatrix) b = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gfloat *weights = NULL;

  self->image = make_image (format, features);
  g_assert_true (gemmcl_image_get_shape (&self->image, &gemm.m, &gemm.k, &error));
  self->m = gemm.m;
  self->n = gemm.n = 2;
  gemm.batch = N_IMAGES;
  gemm.a_image = &self->image;
  weights = g_new (gfloat, gemm.k * gemm.n);
  for (gsize i = 0; i < gemm.k * gemm.n; i++)
    weights[i] = (gfloat)g_test_rand_double_range (-1, 1);
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, gemm.k, gemm.n, weights, &error);
  self->plan = gemmcl_plan_new (test_get_context (), &gemm, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_set_b (self->plan, b, &error));
  for (guint i = 0; i < N_IMAGES; i++) {
    fill (self, i);
    self->images[i].kind = GEMMCL_DATA_IMAGES;
    self->images[i].acquired = TRUE;
  }
  memset (&seen, 0, sizeof seen);
  return self;
}

static void
rig_free (Rig *self)
{
  for (guint i = 0; i < N_IMAGES; i++)
    for (guint j = 0; j < GEMMCL_MAX_PLANES; j++)
      if (self->images[i].objects[j])
        clReleaseMemObject (self->images[i].objects[j]);
  g_object_unref (self->plan);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Rig, rig_free)

static GemmclRun
make_run (const GemmclData *a, gboolean shared)
{
  GemmclRun run = GEMMCL_RUN_INIT;

  run.a = a;
  if (shared) {
    run.acquire = G_CALLBACK (acquire);
    run.release = G_CALLBACK (release);
  }
  return run;
}

static gboolean
run (Rig *self, const GemmclRun *what, gfloat *d, GError **error)
{
  const GemmclData host[N_IMAGES] = {{.host = {d}}, {.host = {d + self->m * self->n}}};
  GemmclRun copy = *what;

  copy.d = host;
  return gemmcl_plan_run (self->plan, &copy, error);
}

static void
run_checked (Rig *self, const GemmclRun *what, gfloat *d)
{
  g_autoptr (GError) error = NULL;

  run (self, what, d, &error);
  g_assert_no_error (error);
}

static void
check (GemmclPixelFormat format, GemmclFeatureMode features)
{
  g_autoptr (Rig) rig = rig_new (format, features);
  const guint n_planes = gemmcl_pixel_format_get_n_planes (format);
  const gsize size = N_IMAGES * rig->m * rig->n;
  g_autofree gfloat *expected = g_new0 (gfloat, size), *found = g_new0 (gfloat, size);

  const GemmclRun on_host = make_run (rig->host, FALSE);
  const GemmclData mixed[N_IMAGES] = {rig->images[0], rig->host[1]};
  const struct {
    const GemmclData *a;
    gboolean shared;
    guint n_images;
  } ways[] = {{rig->images, FALSE, 0}, {rig->images, TRUE, N_IMAGES}, {mixed, TRUE, 1}};

  run_checked (rig, &on_host, expected);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++) {
    const GemmclRun way = make_run (ways[i].a, ways[i].shared);

    memset (&seen, 0, sizeof seen);
    memset (found, 0, size * sizeof *found);
    run_checked (rig, &way, found);
    g_assert_cmpmem (found, size * sizeof *found, expected, size * sizeof *expected);
    g_assert_cmpuint (seen.acquired, ==, ways[i].n_images * n_planes);
    g_assert_cmpuint (seen.released, ==, seen.acquired);
  }
}

static void
test_formats (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    for (guint j = GEMMCL_FEATURE_PIXEL; j <= GEMMCL_FEATURE_PATCH; j += 3)
      check (formats[i], j);
}

/* A buffer that is worked in is held until the product is made; one that is copied, too. */
static void
test_buffer (void)
{
  g_autoptr (Rig) rig = NULL;
  GemmclData device[N_IMAGES];
  GemmclRun what;
  gfloat expected[N_IMAGES * WIDTH * HEIGHT * 2], found[N_IMAGES * WIDTH * HEIGHT * 2];
  cl_mem buffer;

  rig = rig_new (GEMMCL_PIXEL_GRAY8, GEMMCL_FEATURE_PIXEL);
  buffer =
      clCreateBuffer (gemmcl_context_get_cl_context (test_get_context ()),
                      CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof rig->bytes, rig->bytes, NULL);
  for (guint i = 0; i < N_IMAGES; i++)
    device[i] = (GemmclData){.kind = GEMMCL_DATA_BUFFER,
                             .objects = {buffer},
                             .offset = {i * MAX_BYTES},
                             .stride = {WIDTH},
                             .acquired = TRUE};
  what = make_run (rig->host, FALSE);
  run_checked (rig, &what, expected);
  for (guint batch = 1; batch <= N_IMAGES; batch++) {
    memset (&seen, 0, sizeof seen);
    memset (found, 0, sizeof found);
    what = make_run (device, TRUE);
    what.batch = batch;
    run_checked (rig, &what, found);
    g_assert_cmpmem (found, sizeof found / N_IMAGES * batch, expected,
                     sizeof found / N_IMAGES * batch);
    g_assert_cmpuint (seen.acquired, ==, 1);
    g_assert_cmpuint (seen.released, ==, 1);
  }
  clReleaseMemObject (buffer);
}

static void
assert_refused (Rig *self, const GemmclRun *what, gint code, const gchar *words)
{
  g_autofree gfloat *d = g_new0 (gfloat, N_IMAGES * self->m * self->n);
  g_autoptr (GError) error = NULL;

  g_assert_false (run (self, what, d, &error));
  g_assert_error (error, GEMMCL_ERROR, code);
  g_assert_nonnull (strstr (error->message, words));
}

/* A failure is an error, and acquired memory is released. */
static void
test_failures (void)
{
  g_autoptr (Rig) rig = NULL;
  GemmclRun mixed;
  cl_mem plane;

  rig = rig_new (GEMMCL_PIXEL_NV12, GEMMCL_FEATURE_PATCH);
  mixed = make_run (rig->images, TRUE);
  seen.status = CL_OUT_OF_RESOURCES;
  assert_refused (rig, &mixed, GEMMCL_ERROR_OPENCL, "Acquiring shared");
  g_assert_cmpuint (seen.released, ==, 0);
  seen.status = CL_SUCCESS;
  plane = rig->images[0].objects[0];
  rig->images[0].objects[0] = rig->images[0].objects[1];
  assert_refused (rig, &mixed, GEMMCL_ERROR_INVALID, "8 x 5 texels; expected 13 x 10");
  g_assert_cmpuint (seen.acquired, ==, 0);
  rig->images[0].objects[0] = make_plane (rig->bytes[1], WIDTH, HEIGHT, 1, 2);
  assert_refused (rig, &mixed, GEMMCL_ERROR_INVALID, "expected CL_R (");
  clReleaseMemObject (rig->images[0].objects[0]);
  rig->images[0].objects[0] = plane;
  /* Between the acquire and the release: a copy from where nothing is. */
  rig->images[1].kind = GEMMCL_DATA_BUFFER;
  clReleaseMemObject (rig->images[1].objects[0]);
  rig->images[1].objects[0] = clCreateBuffer (gemmcl_context_get_cl_context (test_get_context ()),
                                              CL_MEM_READ_ONLY, 8, NULL, NULL);
  rig->images[1].stride[0] = rig->images[1].stride[1] = WIDTH + 1;
  assert_refused (rig, &mixed, GEMMCL_ERROR_OPENCL, "Copying A");
  g_assert_cmpuint (seen.acquired, ==, 3);
  g_assert_cmpuint (seen.released, ==, 3);
}

static void
test_wrong_format (void)
{
  g_autoptr (Rig) rig = NULL;
  GemmclImage images[2] = {
      {.width = WIDTH, .height = HEIGHT, .channels = 1, .type = GEMMCL_TYPE_U8},
      make_image (GEMMCL_PIXEL_RGB, GEMMCL_FEATURE_PIXEL)};
  static const gchar *const words[] = {"is a tensor", "is RGB"};

  rig = rig_new (GEMMCL_PIXEL_GRAY8, GEMMCL_FEATURE_PIXEL);
  for (guint i = 0; i < G_N_ELEMENTS (images); i++) {
    g_autoptr (GemmclPlan) plan = NULL;
    GemmclGemm gemm = GEMMCL_GEMM_INIT;
    GemmclRun what;

    gemm.m = WIDTH * HEIGHT;
    gemm.n = 2;
    gemm.k = gemmcl_image_get_channels (&images[i]);
    gemm.a_image = &images[i];
    plan = gemmcl_plan_new (test_get_context (), &gemm, NULL, NULL);
    g_assert_true (g_set_object (&rig->plan, plan));
    what = make_run (rig->images, FALSE);
    assert_refused (rig, &what, GEMMCL_ERROR_INVALID, words[i]);
  }
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  g_test_add_func ("/planes/formats", test_formats);
  g_test_add_func ("/planes/buffer", test_buffer);
  g_test_add_func ("/planes/failures", test_failures);
  g_test_add_func ("/planes/wrong-format", test_wrong_format);
  return g_test_run ();
}
