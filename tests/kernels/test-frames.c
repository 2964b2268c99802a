/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tests frames as A and as D with every kernel that reads pixels itself, and with the fallback,
 * for which they are converted first; and tensors as A.
 */
#include <math.h>
#include <string.h>

#include "frame.h"
#include "problem.h"

#define BATCH 2

/* Width and height; the first width is smaller than any vector. */
static const gsize sizes[][2] = {{5, 3}, {33, 7}, {34, 4}, {1, 1}, {17, 2}, {48, 3}};

typedef struct {
  GemmclGemm gemm;
  GemmclImage a_image, d_image;
  gfloat *b;
  gfloat *bias;
  Frame a[BATCH], d[BATCH], before[BATCH];
  gfloat *d_matrix; /* D, unless it is a frame */
} Case;

static void
case_clear (Case *self)
{
  for (guint i = 0; i < BATCH; i++) {
    frame_clear (&self->a[i]);
    frame_clear (&self->d[i]);
    frame_clear (&self->before[i]);
  }
  g_clear_pointer (&self->b, g_free);
  g_clear_pointer (&self->bias, g_free);
  g_clear_pointer (&self->d_matrix, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Case, case_clear)

static GemmclImage
make_image (GemmclPixelFormat format, const gsize size[2])
{
  return (GemmclImage){
      .format = format,
      .width = size[0],
      .height = size[1],
      .kr = format == GEMMCL_PIXEL_I420 ? 0.2126 : 0.299,
      .kb = format == GEMMCL_PIXEL_I420 ? 0.0722 : 0.114,
      .full_range = format == GEMMCL_PIXEL_I420,
  };
}

/* @d: (nullable): the frame D; NULL: D is floats with @n columns */
static void
case_init (Case *self, const GemmclImage *a, const GemmclImage *d, gsize n, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const GemmclGemm init = GEMMCL_GEMM_INIT;

  *self = (Case){.gemm = init, .a_image = *a};
  self->gemm.a_image = &self->a_image;
  g_assert_true (gemmcl_image_get_shape (a, &self->gemm.m, &self->gemm.k, NULL));
  self->gemm.n = d ? gemmcl_pixel_format_get_channels (d->format) : n;
  self->gemm.batch = BATCH;
  self->gemm.bias = TRUE;
  self->gemm.ldd = self->gemm.n + 1;
  self->gemm.d_type = GEMMCL_TYPE_F32;
  if (d) {
    self->d_image = *d;
    self->gemm.d_image = &self->d_image;
  }
  self->b = g_new (gfloat, self->gemm.k * self->gemm.n);
  for (gsize i = 0; i < self->gemm.k * self->gemm.n; i++)
    self->b[i] = g_rand_double_range (rand, -1, 1);
  self->bias = g_new (gfloat, self->gemm.n);
  for (gsize i = 0; i < self->gemm.n; i++)
    self->bias[i] = g_rand_double_range (rand, -40, 90);
  self->d_matrix = g_new0 (gfloat, BATCH * self->gemm.m * self->gemm.ldd);
  for (guint i = 0; i < BATCH; i++) {
    frame_init (&self->a[i], a, (seed + i) % N_FRAME_ROWS, seed + i);
    if (d)
      frame_init (&self->d[i], d, (seed + i + 1) % N_FRAME_ROWS, seed + i);
  }
}

static GemmclPlan *
make_plan (Case *self, const gchar *kernel)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) b =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, self->gemm.k, self->gemm.n, self->b, NULL);
  g_autoptr (GemmclMatrix) bias =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, self->gemm.n, self->bias, NULL);
  GemmclPlan *plan = gemmcl_plan_new (test_get_context (), &self->gemm, kernel, &error);

  g_assert_no_error (error);
  g_assert_true (gemmcl_plan_set_b (plan, b, &error));
  g_assert_true (gemmcl_plan_set_bias (plan, bias, &error));
  return plan;
}

static void
run (Case *self, GemmclPlan *plan)
{
  g_autoptr (GError) error = NULL;
  GemmclData a[BATCH], d[BATCH];
  const GemmclRun host_run = {
      .size = sizeof host_run, .alpha = 1, .beta = self->gemm.beta, .a = a, .d = d};

  for (guint i = 0; i < BATCH; i++) {
    a[i] = self->a[i].host;
    d[i] = self->d[i].host;
    if (!self->gemm.d_image)
      d[i].host[0] = self->d_matrix + i * self->gemm.m * self->gemm.ldd;
  }
  gemmcl_plan_run (plan, &host_run, &error);
  g_assert_no_error (error);
}

/* @previous: (nullable): the frames C. Returns: D (i, j); @off: (out): its error bound */
static gdouble
expect (const Case *self, const Frame *previous, guint batch, gsize i, gsize j, gdouble *off)
{
  const GemmclGemm *gemm = &self->gemm;
  const gsize width = self->d_image.width;
  gdouble sum = 0, size = 0, c = 0, squares = 0;

  for (gsize k = 0; k < gemm->k; k++) {
    const gdouble feature = frame_get_feature (&self->a[batch], i, k);
    const gdouble a = feature * (gfloat)gemm->a_scale + (gfloat)gemm->a_shift;
    const gdouble product = a * self->b[k * gemm->n + j];

    if (isnan (feature)) /* outside of the frame A is 0 */
      continue;
    squares += a * a;
    sum += product;
    size += fabs (product);
  }
  if (gemm->normalize & GEMMCL_NORMALIZE_A) {
    sum /= fmax (sqrt (squares), 1e-12);
    size /= fmax (sqrt (squares), 1e-12);
  }
  size += fabs (self->bias[j]);
  if (previous)
    c = (gfloat)gemm->beta * frame_get (&previous[batch], i % width, i / width, j);
  /* Colours are computed from luma and chroma, which adds rounding errors. */
  *off = (gemm->k + 16) * 0x1p-23 * (size + fabs (c) + 255);
  return sum + c + self->bias[j];
}

static void
check (const Case *self, const Frame *previous, const gchar *what)
{
  const GemmclGemm *gemm = &self->gemm;
  const gdouble highest = self->d_image.format == GEMMCL_PIXEL_GRAY16_LE ? 65535 : 255;

  for (guint batch = 0; batch < BATCH; batch++)
    for (gsize i = 0; i < gemm->m; i++)
      for (gsize j = 0; j < gemm->n; j++) {
        gdouble found, off;
        gdouble expected = expect (self, previous, batch, i, j, &off);

        if (gemm->d_image) {
          const gsize width = self->d_image.width;
          found = frame_get (&self->d[batch], i % width, i / width, j);
          expected = CLAMP (expected, 0, highest);
          off += 0.5;
        } else {
          found = self->d_matrix[(batch * gemm->m + i) * gemm->ldd + j];
        }
        if (!(fabs (found - expected) <= off)) {
          g_test_message ("%s, %s %zux%zu: D(%zu, %zu) of frame %u is %.9g, expected %.9g +- %g",
                          what, gemmcl_pixel_format_get_name (self->a_image.format),
                          self->a_image.width, self->a_image.height, i, j, batch, found, expected,
                          off);
          g_test_fail ();
          return;
        }
      }
  for (guint batch = 0; gemm->d_image && batch < BATCH; batch++)
    if (!frame_check_rest (&self->d[batch])) {
      g_test_message ("%s: bytes that are no pixels of D were written, or x is not 255", what);
      g_test_fail ();
      return;
    }
}

static void
run_and_check (Case *self, const gchar *kernel)
{
  g_autoptr (GemmclPlan) plan = make_plan (self, kernel);

  run (self, plan);
  check (self, NULL, gemmcl_plan_get_kernel (plan));
}

/* Returns: (nullable): the kernel of row @index if it reads pixels itself or is the fallback. With
 * GEMMCL_TEST_BRIEF only the first row that reads pixels is used; the second has the same functions
 * for that. */
static const gchar *
get_frame_kernel (guint index)
{
  const GemmclKernelInfo *info = gemmcl_get_kernel (index);
  const gboolean brief = g_getenv ("GEMMCL_TEST_BRIEF") != NULL;

  if (index > 0 && (!g_str_equal (info->method, "skinny") ||
                    (brief && g_str_equal (gemmcl_get_kernel (index - 1)->method, "skinny"))))
    return NULL;
  return info->name;
}

/* Returns: a format of one plane with @n channels, another one for each @turn. */
static GemmclPixelFormat
pick_output (guint n, guint turn)
{
  for (guint i = 0;; i++) {
    const GemmclPixelFormat format = (i + turn) % GEMMCL_PIXEL_NV12;
    if (gemmcl_pixel_format_get_channels (format) == n)
      return format;
  }
}

static void
test_format (gconstpointer data)
{
  const GemmclPixelFormat format = GPOINTER_TO_UINT (data);
  const guint channels = gemmcl_pixel_format_get_channels (format);
  const gboolean chroma = gemmcl_pixel_format_get_n_planes (format) > 1;

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    const gsize *size = sizes[s];

    if (!chroma && s != 1 && s != format % G_N_ELEMENTS (sizes))
      continue;
    for (guint row = 0; row < gemmcl_get_n_kernels (); row++) {
      const GemmclImage a = make_image (format, size);
      const GemmclImage d = make_image (pick_output (channels, s + format), size);
      const gchar *kernel = get_frame_kernel (row);

      if (kernel == NULL || (chroma && row > 0 && s > 1 && row % 2 == s % 2))
        continue;
      if (row == 0 || s == 1) {
        g_auto (Case) matrix = {0};
        case_init (&matrix, &a, NULL, 2, format + s);
        run_and_check (&matrix, kernel);
      }
      if (row > 0) {
        g_auto (Case) frame = {0};
        case_init (&frame, &a, &d, 0, format + s + 1);
        run_and_check (&frame, kernel);
      }
    }
  }
}

/* Width, height, stride, padding and dilation. */
static const gsize patches[][5] = {{4, 3}, {3, 3, 2, 1}, {3, 2, 1, 2, 3}, {1, 5, 3, 0, 2}};

#define N_MODES (GEMMCL_FEATURE_PATCH + G_N_ELEMENTS (patches))

/* Tests @a, a frame or a tensor, with a scale and shift of A in mode @i % N_MODES: pixel, row,
 * frame, and the patches; for each other @i normalized. The rules choose the kernel. */
static void
check_features (GemmclImage a, guint i)
{
  g_auto (Case) features = {0};

  a.features = MIN (i % N_MODES, GEMMCL_FEATURE_PATCH);
  if (a.features == GEMMCL_FEATURE_PATCH) {
    const gsize *patch = patches[i % N_MODES - GEMMCL_FEATURE_PATCH];

    a.patch_width = patch[0];
    a.patch_height = patch[1];
    a.patch_stride = patch[2];
    a.patch_padding = patch[3];
    a.patch_dilation = patch[4];
  }
  case_init (&features, &a, NULL, 5, i);
  features.gemm.a_scale = 1.0 / 255;
  features.gemm.a_shift = -0.5;
  features.gemm.normalize = i % 2 ? GEMMCL_NORMALIZE_A : 0;
  /* Fields without a meaning for frames are ignored. */
  features.gemm.trans_a = TRUE;
  features.gemm.lda = 1;
  features.gemm.a_stride = 3;
  run_and_check (&features, NULL);
}

static void
test_features (void)
{
  static const GemmclPixelFormat formats[] = {GEMMCL_PIXEL_RGB, GEMMCL_PIXEL_GRAY16_LE,
                                              GEMMCL_PIXEL_NV12, GEMMCL_PIXEL_XBGR,
                                              GEMMCL_PIXEL_P010_10LE};
  static const gsize size[] = {19, 11};

  for (guint i = 0; i < G_N_ELEMENTS (formats) * N_MODES; i++) {
    GemmclImage a = make_image (formats[i / N_MODES], size);

    a.full_range = i / N_MODES % 2 == 0;
    check_features (a, i);
  }
}

/* Each type, in the mode of its turn; f32 in all. */
static void
test_tensors (void)
{
  for (guint i = 0; i < GEMMCL_N_TYPES + N_MODES; i++) {
    const GemmclImage a = {.width = 12,
                           .height = 10,
                           .channels = 3 + i % 4,
                           .type = i < GEMMCL_N_TYPES ? i : GEMMCL_TYPE_F32};

    check_features (a, i);
  }
}

/* Only A can be a tensor. */
static void
test_tensor_of_d (void)
{
  const GemmclImage image = {.width = 4, .height = 4, .channels = 1, .type = GEMMCL_TYPE_U8};
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;

  gemm.m = 16;
  gemm.n = gemm.k = 1;
  gemm.d_image = &image;
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "not a tensor"));
}

/* C is the previous content of D, as for temporal smoothing. */
static void
test_previous (void)
{
  static const gsize size[] = {33, 5};
  g_autoptr (GemmclPlan) plan = NULL;
  g_auto (Case) smooth = {0};
  GemmclImage image;

  image = make_image (GEMMCL_PIXEL_RGBX, size);
  case_init (&smooth, &image, &image, 0, 1);
  smooth.gemm.addend = GEMMCL_ADDEND_OUTPUT;
  smooth.gemm.beta = 0.5;
  plan = make_plan (&smooth, NULL);
  for (guint i = 0; i < BATCH; i++)
    frame_init (&smooth.before[i], &image, (1 + i + 1) % N_FRAME_ROWS, 1);
  for (guint round = 0; round < 2; round++) {
    for (guint i = 0; i < BATCH; i++)
      memcpy (smooth.before[i].bytes, smooth.d[i].bytes, smooth.d[i].n_bytes);
    run (&smooth, plan);
    check (&smooth, smooth.before, round ? "second" : "first");
  }
}

/* Results, and the bytes that are stored: rounded to even and saturated, NaN as 0. */
static const gfloat values[] = {0.5,      1.5,   2.5,   -0.5,  254.5,     255.5,  300,        -300,
                                127,      128.5, 20000, 0.5,   2.5,       -20000, 0.49999997, NAN,
                                INFINITY, 40000, 1e30,  -1e30, -INFINITY, -40000, 32768};
static const guint8 expected[] = {0, 2, 2, 0, 254, 255, 255, 0, 127, 128, 255, 0,
                                  2, 0, 0, 0, 255, 255, 255, 0, 0,   0,   255};
G_STATIC_ASSERT (G_N_ELEMENTS (values) == G_N_ELEMENTS (expected));

/* Floats in A. */
static void
test_rounding (void)
{
  GemmclImage image = {.format = GEMMCL_PIXEL_GRAY8, .width = G_N_ELEMENTS (values), .height = 1};
  const gfloat one = 1;
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  gemm.m = G_N_ELEMENTS (values);
  gemm.n = gemm.k = 1;
  gemm.d_image = &image;
  for (guint row = 0; row < gemmcl_get_n_kernels (); row++) {
    const GemmclKernelInfo *info = gemmcl_get_kernel (row);
    g_autoptr (GemmclPlan) plan = NULL;
    g_autoptr (GemmclMatrix) b = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, 1, &one, NULL);
    g_autoptr (GError) error = NULL;
    guint8 found[G_N_ELEMENTS (values)] = {0};
    const GemmclData a = {.host = {(gpointer)values}};
    const GemmclData d = {.host = {found}, .stride = {sizeof (found)}};
    const GemmclRun host_run = {.size = sizeof host_run, .alpha = 1, .a = &a, .d = &d};

    if (!gemmcl_kernel_fits (test_get_context (), info->name, &gemm, NULL))
      continue;
    plan = gemmcl_plan_new (test_get_context (), &gemm, info->name, &error);
    g_assert_no_error (error);
    g_assert_true (gemmcl_plan_set_b (plan, b, &error));
    g_assert_true (gemmcl_plan_run (plan, &host_run, &error));
    g_assert_cmpmem (found, sizeof (found), expected, sizeof (expected));
  }
}

/* Stores values[first] and the next ones in the channels of pixels, as products of bytes or as
 * bias. */
static void
check_saturation (GemmclPlan *plan, const GemmclGemm *gemm, gsize samples, guint first,
                  gboolean product)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) b = NULL;
  g_autoptr (GemmclMatrix) bias = NULL;
  gfloat value[4] = {0}, weight[4] = {0};
  guint8 bytes[17], found[4 * 17] = {0};
  const GemmclData a = {.host = {bytes}, .stride = {sizeof (bytes)}};
  const GemmclData d = {.host = {found}, .stride = {17 * samples}};
  const GemmclRun host_run = {.size = sizeof host_run, .alpha = 1, .a = &a, .d = &d};

  memset (bytes, 128, sizeof (bytes));
  for (gsize j = 0; j < gemm->n; j++)
    *(product ? &weight[j] : &value[j]) =
        values[(first + j) % G_N_ELEMENTS (values)] / (product ? 128 : 1);
  b = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, gemm->n, weight, &error);
  bias = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, gemm->n, value, &error);
  g_assert_true (gemmcl_plan_set_b (plan, b, &error));
  g_assert_true (gemmcl_plan_set_bias (plan, bias, &error));
  g_assert_true (gemmcl_plan_run (plan, &host_run, &error));
  for (gsize i = 0; i < G_N_ELEMENTS (bytes); i++)
    for (gsize j = 0; j < gemm->n; j++)
      g_assert_cmpuint (found[i * samples + j], ==, expected[(first + j) % G_N_ELEMENTS (values)]);
}

/* Bytes in A, and several channels: vectors of 16 pixels take another way if all results are
 * small. */
static void
test_saturation (void)
{
  static const GemmclPixelFormat formats[] = {GEMMCL_PIXEL_RGB, GEMMCL_PIXEL_RGBX,
                                              GEMMCL_PIXEL_RGBA};
  static const gsize samples[] = {3, 4, 4};
  static const gsize size[] = {17, 1}; /* one vector, and a pixel behind it */

  for (guint i = 0; i < G_N_ELEMENTS (formats) * gemmcl_get_n_kernels (); i++) {
    const guint f = i % G_N_ELEMENTS (formats), row = i / G_N_ELEMENTS (formats);
    const GemmclImage from = make_image (GEMMCL_PIXEL_GRAY8, size);
    const GemmclImage to = make_image (formats[f], size);
    g_autoptr (GemmclPlan) plan = NULL;
    g_auto (Case) self = {0};

    if (row == 0 || get_frame_kernel (row) == NULL)
      continue;
    case_init (&self, &from, &to, 0, 1);
    self.gemm.batch = 1;
    plan = make_plan (&self, get_frame_kernel (row));
    for (guint first = 0; first < 2 * G_N_ELEMENTS (values); first++)
      check_saturation (plan, &self.gemm, samples[f], first / 2, first % 2);
  }
}

/* Padding is 0 after scale and shift, which a scale of 0 cannot give. */
static void
test_padding (void)
{
  const GemmclImage image = {.format = GEMMCL_PIXEL_GRAY8,
                             .width = 4,
                             .height = 4,
                             .features = GEMMCL_FEATURE_PATCH,
                             .patch_width = 3,
                             .patch_height = 3,
                             .patch_stride = 1,
                             .patch_padding = 1};
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;

  gemm.m = 16;
  gemm.n = 1;
  gemm.k = 9;
  gemm.a_image = &image;
  gemm.a_shift = 1;
  g_assert_true (gemmcl_gemm_validate (&gemm, NULL));
  gemm.a_scale = 0;
  g_assert_false (gemmcl_gemm_validate (&gemm, &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "Padding is 0"));
  gemm.a_shift = 0;
  g_assert_true (gemmcl_gemm_validate (&gemm, NULL));
}

/* A kernel that cannot write frames is refused. */
static void
test_refused (void)
{
  GemmclImage image = {.format = GEMMCL_PIXEL_GRAY8, .width = 4, .height = 4};
  GemmclGemm gemm = GEMMCL_GEMM_INIT;
  g_autoptr (GError) error = NULL;

  gemm.m = 16;
  gemm.n = gemm.k = 1;
  gemm.d_image = &image;
  g_assert_null (gemmcl_plan_new (test_get_context (), &gemm, "gemm_naive", &error));
  g_assert_error (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL);
  g_assert_nonnull (strstr (error->message, "write frames"));
}

int
main (int argc, char **argv)
{
  test_init_device (&argc, &argv);
  for (guint i = 0; i < GEMMCL_N_PIXEL_FORMATS; i++) {
    g_autofree gchar *path =
        g_strdup_printf ("/frames/formats/%s", gemmcl_pixel_format_get_name (i));
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_format);
  }
  g_test_add_func ("/frames/features", test_features);
  g_test_add_func ("/frames/tensors", test_tensors);
  g_test_add_func ("/frames/tensor-of-d", test_tensor_of_d);
  g_test_add_func ("/frames/previous", test_previous);
  g_test_add_func ("/frames/rounding", test_rounding);
  g_test_add_func ("/frames/saturation", test_saturation);
  g_test_add_func ("/frames/padding", test_padding);
  g_test_add_func ("/frames/refused", test_refused);
  return g_test_run ();
}
