/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <string.h>

#include "../lib/files.h"
#include "element/problem.h"
#include "stream.h"

/* The precision that the property or the file of the weight asks for, and that in the stats. */

#define M    16
#define K    64
#define N    64
#define CAPS TENSOR ("64:16")

typedef struct {
  gfloat a[M * K], b[K * N];
  gdouble d[M * N];
  Files files;
  gchar *floats, *bytes; /* what weight says for b as f32, and as bytes */
} Fixture;

static Fixture *
fixture_new (void)
{
  Fixture *self = g_new0 (Fixture, 1);
  gdouble a[M * K], b[K * N];
  g_autoptr (GemmclMatrix) matrix = NULL, quantized = NULL;
  g_autofree gchar *path = NULL;

  fill_values (a, M * K, 1);
  fill_values (b, K * N, 2);
  reference_gemm (M, N, K, a, b, self->d);
  for (gsize i = 0; i < M * K; i++)
    self->a[i] = a[i];
  for (gsize i = 0; i < K * N; i++)
    self->b[i] = b[i];
  files_init (&self->files);
  matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, K, N, self->b, NULL);
  self->floats = files_path (&self->files, "w.npy");
  g_assert_true (gemmcl_matrix_save_npy (matrix, self->floats, NULL));
  quantized = gemmcl_matrix_quantize (matrix, FALSE, NULL, NULL);
  path = files_path (&self->files, "w.safetensors");
  g_assert_true (gemmcl_matrix_save_safetensors (quantized, path, "w", NULL));
  self->bytes = g_strconcat (path, "#w", NULL);
  return self;
}

static void
fixture_free (Fixture *self)
{
  files_clear (&self->files);
  g_free (self->floats);
  g_free (self->bytes);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Fixture, fixture_free)

/* As far as a row's 255 steps of 2 / 255 and a column's of 1 / 127 go at the worst; what is rounded
 * to bf16 keeps its digits here. */
#define BYTES_TOLERANCE  (K * (1.0 / 255 + 1.0 / 254 + 1e-4))
#define FLOATS_TOLERANCE 1e-4

static void
run (const Fixture *self, Stream *stream, gdouble tolerance)
{
  g_autoptr (GstBuffer) output =
      stream_run (stream, gst_buffer_new_memdup (self->a, sizeof self->a));

  assert_floats (output, self->d, M * N, tolerance);
  stream_assert_quiet (stream);
}

static void
assert_stat (Stream *stream, const gchar *name, const gchar *expected)
{
  g_autoptr (GstStructure) stats = stream_get_stats (stream, "a");

  g_assert_cmpstr (gst_structure_get_string (stats, name), ==, expected);
}

/* How @kernel is made on the device that the element chooses. */
static GemmclKernelLevel
get_level (const gchar *kernel)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  GemmclKernelLevel level = GEMMCL_KERNEL_LEVEL_EMULATED;
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (context);
  gemmcl_kernel_get_level (context, kernel, &level, &error);
  g_assert_no_error (error);
  return level;
}

static void
test_named (void)
{
  g_autoptr (Fixture) self = fixture_new ();
  static const struct {
    const gchar *precision, *kernel, *computes_in;
  } cases[] = {
      {"i8", "vector_i8_4x64_1x1", "i8"},    {"bf16", "vector_bf16_4x64_1x1", "bf16"},
      {"bf16", "xmx_bf16_8x1_1x16", "bf16"}, {"i8", "gemm_naive", "f32"},
      {"f32", "gemm_naive", "f32"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = stream_start (CAPS, "gemmcl weight=%s kernel=%s precision=%s",
                                              self->floats, cases[i].kernel, cases[i].precision);
    const gboolean bytes = g_str_equal (cases[i].computes_in, "i8");

    run (self, stream, bytes ? BYTES_TOLERANCE : FLOATS_TOLERANCE);
    assert_stat (stream, "precision", cases[i].computes_in);
    assert_stat (stream, "kernel", cases[i].kernel);
    assert_stat (stream, "kernel-source", "named");
    assert_stat (stream, "kernel-level",
                 gemmcl_kernel_level_get_name (get_level (cases[i].kernel)));
  }
}

/* Engines that read from multiples of 64 multiply tensors at any address. */
static void
test_addresses (void)
{
  g_autoptr (Fixture) self = fixture_new ();
  const gsize size = sizeof self->a;
  g_autofree guint8 *room = g_malloc (size + 128);
  guint8 *begin = (guint8 *)(((guintptr)room + 63) / 64 * 64);
  g_autoptr (Stream) stream =
      stream_start (CAPS, "gemmcl weight=%s kernel=xmx_bf16_8x1_1x16 precision=bf16", self->floats);

  for (guint before = 0; before < 64; before += 16) {
    g_autoptr (GstBuffer) output = NULL;

    memcpy (begin + before, self->a, size);
    output = stream_run (
        stream, gst_buffer_new_wrapped_full (0, begin + before, size, 0, size, NULL, NULL));
    assert_floats (output, self->d, M * N, FLOATS_TOLERANCE);
  }
  stream_assert_quiet (stream);
}

/* A file of bytes asks for them, one of floats does not, and f32 is f32 of either. */
static void
test_stated (void)
{
  g_autoptr (Fixture) self = fixture_new ();

  for (guint i = 0; i < 3; i++) {
    g_autoptr (Stream) stream =
        stream_new ("gemmcl kernel=vector_i8_4x64_1x1 weight=%s %s",
                    i == 1 ? self->floats : self->bytes, i == 2 ? "precision=f32" : "");

    if (i == 0) {
      g_assert_true (stream_play (stream, CAPS, NULL));
      run (self, stream, BYTES_TOLERANCE);
      assert_stat (stream, "precision", "i8");
    } else {
      g_assert_false (
          stream_play (stream, CAPS, NULL) &&
          gst_harness_push (stream->harness, gst_buffer_new_memdup (self->a, sizeof self->a)) ==
              GST_FLOW_OK);
      stream_assert_message (stream, GST_MESSAGE_ERROR, "gst-library-error-quark",
                             "computes in i8|asks for f32");
    }
  }
}

/* Weights that state another precision than those before them make another plan. */
static void
test_change (void)
{
  g_autoptr (Fixture) self = fixture_new ();
  g_autoptr (Stream) stream = stream_start (CAPS, "gemmcl weight=%s", self->floats);
  const gboolean native = get_level ("vector_i8_4x64_1x1") == GEMMCL_KERNEL_LEVEL_NATIVE;

  run (self, stream, BYTES_TOLERANCE);
  assert_stat (stream, "precision", "f32");
  g_object_set (stream->element, "weight", self->bytes, NULL);
  run (self, stream, BYTES_TOLERANCE);
  assert_stat (stream, "precision", native ? "i8" : "f32");
  g_object_set (stream->element, "weight", self->floats, NULL);
  run (self, stream, BYTES_TOLERANCE);
  assert_stat (stream, "precision", "f32");
}

#define MONO(format) AUDIO (format, "1")
#define GRAY(format) VIDEO (format, "width=8,height=4")
#define TYPED(type)  TENSORS ("1", "1:4", type, "0/1")

/* "auto" asks for what a file of halves states, unless integers come in that are infinite there. */
static void
test_range (void)
{
  static const struct {
    const gchar *caps;
    gdouble scale, offset;
    GemmclPrecision expected;
  } cases[] = {
      {MONO ("S16LE"), 1, 0, GEMMCL_PRECISION_F16},
      {MONO ("S16LE"), -1.999, 0, GEMMCL_PRECISION_F16},
      {MONO ("S16LE"), -2, 0, GEMMCL_PRECISION_F32},
      {MONO ("S32LE"), 1, 0, GEMMCL_PRECISION_F32},
      {MONO ("S32LE"), 0x1p-31, 0, GEMMCL_PRECISION_F16},
      {MONO ("F32LE"), 1, 0, GEMMCL_PRECISION_F16},
      {MONO ("F64LE"), 65505, 0, GEMMCL_PRECISION_F32},
      {GRAY ("GRAY8"), 256, 0, GEMMCL_PRECISION_F16},
      {GRAY ("GRAY8"), 256, 225, GEMMCL_PRECISION_F32},
      {GRAY ("GRAY16_LE"), 1, 0, GEMMCL_PRECISION_F32},
      {GRAY ("GRAY16_LE"), 1, -31, GEMMCL_PRECISION_F16},
      {GRAY ("GRAY16_LE"), 1, -65505, GEMMCL_PRECISION_F32},
      {TYPED ("uint8"), 1, 0, GEMMCL_PRECISION_F16},
      {TYPED ("uint16"), 1, 0, GEMMCL_PRECISION_F32},
      {TYPED ("int16"), 1.5, 16000, GEMMCL_PRECISION_F16},
      {TYPED ("int32"), 1, 0, GEMMCL_PRECISION_F32},
      {TYPED ("uint64"), 0x1p-49, 0, GEMMCL_PRECISION_F16},
      {TYPED ("int64"), 0x1p-47, 0, GEMMCL_PRECISION_F32},
      {TYPED ("float16"), 1, 0, GEMMCL_PRECISION_F16},
      {TYPED ("float32"), 1, 0, GEMMCL_PRECISION_F16},
  };
  static const guint16 one = 0x3c00;
  g_autoptr (GError) error = NULL;
  g_auto (GstGemmclOperands)
      operands = {.weight = gemmcl_matrix_new (GEMMCL_TYPE_F16, 1, 1, &one, &error)};

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    gchar scale[G_ASCII_DTOSTR_BUF_SIZE], offset[G_ASCII_DTOSTR_BUF_SIZE];
    const GstGemmclSettings settings = {
        .input_scale = g_ascii_dtostr (scale, sizeof scale, cases[i].scale),
        .input_offset = g_ascii_dtostr (offset, sizeof offset, cases[i].offset),
        .feature_mode = i % 2 ? GST_GEMMCL_FEATURE_MODE_PATCH : GST_GEMMCL_FEATURE_MODE_PIXEL,
        .patch_width = 1,
        .patch_height = 1,
        .batch_size = 1};
    g_autoptr (GstCaps) caps = gst_caps_from_string (cases[i].caps);
    GstGemmclProblem problem;
    GstGemmclFormat format;

    g_test_message ("%s times %g plus %g", cases[i].caps, cases[i].scale, cases[i].offset);
    g_assert_true (gst_gemmcl_format_from_caps (&format, caps, &error));
    g_assert_true (
        gst_gemmcl_problem_init (&problem, &format, NULL, &operands, &settings, 4, FALSE, &error));
    g_assert_cmpint (problem.gemm.precision, ==, cases[i].expected);
  }
}

/* int8 with scales of columns takes offsets up, but no scales of rows. */
static void
test_quantized_lists (void)
{
  static const struct {
    const gchar *scale, *offset;
    GstGemmclPrecision precision;
    gboolean fits;
  } cases[] = {
      {"<1,2>", "0", GST_GEMMCL_PRECISION_AUTO, FALSE},
      {"<1,2>", "0", GST_GEMMCL_PRECISION_I8, FALSE},
      {"<1,2>", "0", GST_GEMMCL_PRECISION_F32, TRUE},
      {"<2,2>", "<1,2>", GST_GEMMCL_PRECISION_AUTO, TRUE},
  };
  static const gint8 bytes[2] = {1, 2};
  static const gfloat scale = 0.5;
  g_autoptr (GError) error = NULL;
  g_autoptr (GemmclMatrix) b = gemmcl_matrix_new (GEMMCL_TYPE_I8, 2, 1, bytes, &error);
  g_autoptr (GemmclMatrix) scales = gemmcl_matrix_new (GEMMCL_TYPE_F32, 1, 1, &scale, &error);
  g_auto (GstGemmclOperands)
      operands = {.weight = gemmcl_matrix_new_quantized (b, scales, NULL, &error)};
  g_autoptr (GstCaps) caps = gst_caps_from_string (AUDIO ("F32LE", "2"));
  GstGemmclFormat format;

  g_assert_no_error (error);
  g_assert_true (gst_gemmcl_format_from_caps (&format, caps, &error));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const GstGemmclSettings settings = {.input_scale = cases[i].scale,
                                        .input_offset = cases[i].offset,
                                        .precision = cases[i].precision,
                                        .batch_size = 1};
    GstGemmclProblem problem;

    g_assert_cmpint (
        gst_gemmcl_problem_init (&problem, &format, NULL, &operands, &settings, 4, FALSE, &error),
        ==, cases[i].fits);
    g_assert_true (cases[i].fits || strstr (error->message, "precision=f32"));
    g_clear_error (&error);
  }
}

/* precision=f16 is obeyed, with a warning if a kernel computes in it. */
static void
test_infinite (void)
{
  static const struct {
    const gchar *caps, *kernel;
    gboolean warns;
  } cases[] = {
      {MONO ("S32LE"), "xmx_f16_8x1_1x16", TRUE},
      {MONO ("S32LE"), "gemm_naive", FALSE},
      {MONO ("S16LE"), "xmx_f16_8x1_1x16", FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = stream_start (
        cases[i].caps, "gemmcl weight=[0.5] kernel=%s precision=f16", cases[i].kernel);

    if (cases[i].warns)
      stream_assert_message (stream, GST_MESSAGE_WARNING, NULL,
                             "2147483648|precision=f16 ends at 65504");
    stream_assert_quiet (stream);
  }
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  g_test_add_func ("/precision/range", test_range);
  g_test_add_func ("/precision/quantized-lists", test_quantized_lists);
  stream_add_test ("/precision/infinite", test_infinite);
  stream_add_test ("/precision/named", test_named);
  stream_add_test ("/precision/addresses", test_addresses);
  stream_add_test ("/precision/stated", test_stated);
  stream_add_test ("/precision/change", test_change);
  return g_test_run ();
}
