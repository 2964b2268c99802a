/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "element/problem.h"
#include "stream.h"

/* What precision is asked for, by the property or by the weight's file, and what stats say of it.
 */

#define M 16
#define K 64
#define N 64
#define CAPS                                                                                       \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)64:16,types=(string)float32,"      \
  "framerate=0/1"

typedef struct {
  gfloat a[M * K], b[K * N];
  gdouble d[M * N];
  gchar *directory;
  gchar *floats, *bytes; /* what weight says for b as f32, and as bytes */
} Fixture;

static void
fixture_init (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  gdouble a[M * K], b[K * N];
  g_autoptr (GemmclMatrix) matrix = NULL, quantized = NULL;
  g_autofree gchar *path = NULL;
  g_autoptr (GError) error = NULL;

  fill_values (a, M * K, 1);
  fill_values (b, K * N, 2);
  reference_gemm (M, N, K, 1, a, b, 0, NULL, NULL, self->d);
  for (gsize i = 0; i < M * K; i++)
    self->a[i] = a[i];
  for (gsize i = 0; i < K * N; i++)
    self->b[i] = b[i];
  self->directory = g_dir_make_tmp ("gemmcl-XXXXXX", &error);
  g_assert_no_error (error);
  matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, K, N, self->b, &error);
  g_assert_no_error (error);
  self->floats = g_build_filename (self->directory, "w.npy", NULL);
  g_assert_true (gemmcl_matrix_save_npy (matrix, self->floats, &error));
  quantized = gemmcl_matrix_quantize (matrix, FALSE, NULL, &error);
  g_assert_no_error (error);
  path = g_build_filename (self->directory, "w.safetensors", NULL);
  g_assert_true (gemmcl_matrix_save_safetensors (quantized, path, "w", &error));
  self->bytes = g_strconcat (path, "#w", NULL);
}

static void
fixture_clear (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  g_autofree gchar *path = g_build_filename (self->directory, "w.safetensors", NULL);

  g_unlink (path);
  g_unlink (self->floats);
  g_rmdir (self->directory);
  g_free (self->directory);
  g_free (self->floats);
  g_free (self->bytes);
}

/* As far as a row's 255 steps of 2 / 255 and a column's of 1 / 127 go at the worst; what is rounded
 * to bf16 keeps its digits here. */
#define BYTES_TOLERANCE  (K * (1.0 / 255 + 1.0 / 254 + 1e-4))
#define FLOATS_TOLERANCE 1e-4

static void
run_for (const gdouble *expected, gdouble tolerance, const Fixture *self, Stream *stream)
{
  g_autoptr (GstBuffer) output = stream_run (stream, buffer_new (self->a, sizeof self->a));

  assert_floats (output, expected, M * N, tolerance);
  stream_assert_quiet (stream);
}

static void
run (const Fixture *self, Stream *stream)
{
  run_for (self->d, BYTES_TOLERANCE, self, stream);
}

static void
assert_stat (Stream *stream, const gchar *name, const gchar *expected)
{
  g_autoptr (GstStructure) stats = NULL;

  g_object_get (stream->element, "stats", &stats, NULL);
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
test_named (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  static const struct {
    const gchar *precision, *kernel, *computes_in;
  } cases[] = {
      {"i8", "vector_i8_4x64_1x1", "i8"},    {"bf16", "vector_bf16_4x64_1x1", "bf16"},
      {"bf16", "xmx_bf16_8x1_1x16", "bf16"}, {"i8", "gemm_naive", "f32"},
      {"f32", "gemm_naive", "f32"},
  };
  gdouble gelu[M * N];

  for (guint i = 0; i < M * N; i++)
    gelu[i] = self->d[i] * (1 + erf (self->d[i] / sqrt (2))) / 2;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream =
        stream_new ("weight", self->floats, "kernel", cases[i].kernel, NULL);
    const gboolean bytes = g_str_equal (cases[i].computes_in, "i8");

    gst_util_set_object_arg (G_OBJECT (stream->element), "precision", cases[i].precision);
    gst_util_set_object_arg (G_OBJECT (stream->element), "activation", "gelu");
    g_assert_true (stream_play (stream, CAPS, NULL));
    run_for (gelu, bytes ? BYTES_TOLERANCE : FLOATS_TOLERANCE, self, stream);
    assert_stat (stream, "precision", cases[i].computes_in);
    assert_stat (stream, "kernel", cases[i].kernel);
    assert_stat (stream, "kernel-source", "named");
    assert_stat (stream, "kernel-level",
                 gemmcl_kernel_level_get_name (get_level (cases[i].kernel)));
  }
}

/* What begins anywhere is multiplied by engines that read from multiples of 64. */
static void
test_addresses (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  const gsize size = sizeof self->a;
  g_autofree guint8 *room = g_malloc (size + 128);
  guint8 *begin = (guint8 *)(((guintptr)room + 63) / 64 * 64);
  g_autoptr (Stream) stream =
      stream_new ("weight", self->floats, "kernel", "xmx_bf16_8x1_1x16", NULL);

  gst_util_set_object_arg (G_OBJECT (stream->element), "precision", "bf16");
  g_assert_true (stream_play (stream, CAPS, NULL));
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
test_stated (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  const gchar *kernel = "vector_i8_4x64_1x1";

  for (guint i = 0; i < 3; i++) {
    g_autoptr (Stream) stream =
        stream_new ("weight", i == 1 ? self->floats : self->bytes, "kernel", kernel, NULL);

    if (i == 2)
      gst_util_set_object_arg (G_OBJECT (stream->element), "precision", "f32");
    if (i == 0) {
      g_assert_true (stream_play (stream, CAPS, NULL));
      run (self, stream);
      assert_stat (stream, "precision", "i8");
    } else {
      g_assert_false (stream_play (stream, CAPS, NULL) &&
                      gst_harness_push (stream->harness, buffer_new (self->a, sizeof self->a)) ==
                          GST_FLOW_OK);
      stream_assert_error (stream, GST_LIBRARY_ERROR, "computes in i8", "asks for f32", NULL);
    }
  }
}

/* Weights that state another precision than those before them make another plan. */
static void
test_change (Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (Stream) stream = stream_new ("weight", self->floats, NULL);
  const gboolean native = get_level ("vector_i8_4x64_1x1") == GEMMCL_KERNEL_LEVEL_NATIVE;

  g_assert_true (stream_play (stream, CAPS, NULL));
  run (self, stream);
  assert_stat (stream, "precision", "f32");
  g_object_set (stream->element, "weight", self->bytes, NULL);
  run (self, stream);
  assert_stat (stream, "precision", native ? "i8" : "f32");
  g_object_set (stream->element, "weight", self->floats, NULL);
  run (self, stream);
  assert_stat (stream, "precision", "f32");
}

#define AUDIO(format) "audio/x-raw,layout=interleaved,rate=8000,channels=1,format=" format
#define VIDEO(format) "video/x-raw,width=8,height=4,framerate=0/1,format=" format
#define TENSORS(type)                                                                              \
  "other/tensors,format=static,num_tensors=1,dimensions=(string)1:4,framerate=0/"                  \
  "1,types=(string)" type

/* "auto" asks for what a file of halves states, unless integers come in that are infinite there. */
static void
test_range (void)
{
  static const struct {
    const gchar *caps;
    gdouble scale, offset;
    GemmclPrecision expected;
  } cases[] = {
      {AUDIO ("S16LE"), 1, 0, GEMMCL_PRECISION_F16},
      {AUDIO ("S16LE"), -1.999, 0, GEMMCL_PRECISION_F16},
      {AUDIO ("S16LE"), -2, 0, GEMMCL_PRECISION_F32},
      {AUDIO ("S32LE"), 1, 0, GEMMCL_PRECISION_F32},
      {AUDIO ("S32LE"), 0x1p-31, 0, GEMMCL_PRECISION_F16},
      {AUDIO ("F32LE"), 1, 0, GEMMCL_PRECISION_F16},
      {AUDIO ("F64LE"), 65505, 0, GEMMCL_PRECISION_F32},
      {VIDEO ("GRAY8"), 256, 0, GEMMCL_PRECISION_F16},
      {VIDEO ("GRAY8"), 256, 225, GEMMCL_PRECISION_F32},
      {VIDEO ("GRAY16_LE"), 1, 0, GEMMCL_PRECISION_F32},
      {VIDEO ("GRAY16_LE"), 1, -31, GEMMCL_PRECISION_F16},
      {VIDEO ("GRAY16_LE"), 1, -65505, GEMMCL_PRECISION_F32},
      {TENSORS ("uint8"), 1, 0, GEMMCL_PRECISION_F16},
      {TENSORS ("uint16"), 1, 0, GEMMCL_PRECISION_F32},
      {TENSORS ("int16"), 1.5, 16000, GEMMCL_PRECISION_F16},
      {TENSORS ("int32"), 1, 0, GEMMCL_PRECISION_F32},
      {TENSORS ("uint64"), 0x1p-49, 0, GEMMCL_PRECISION_F16},
      {TENSORS ("int64"), 0x1p-47, 0, GEMMCL_PRECISION_F32},
      {TENSORS ("float16"), 1, 0, GEMMCL_PRECISION_F16},
      {TENSORS ("float32"), 1, 0, GEMMCL_PRECISION_F16},
  };
  static const guint16 one = 0x3c00;
  g_autoptr (GError) error = NULL;
  g_auto (GstGemmclOperands)
      operands = {.weight = gemmcl_matrix_new (GEMMCL_TYPE_F16, 1, 1, &one, &error)};

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const GstGemmclSettings settings = {.input_scale = cases[i].scale,
                                        .input_offset = cases[i].offset,
                                        .feature_mode = GST_GEMMCL_FEATURE_MODE_PIXEL,
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

/* Who names f16 gets it, and a warning where a kernel computes in it. */
static void
test_infinite (void)
{
  static const struct {
    const gchar *caps, *kernel;
    gboolean warns;
  } cases[] = {
      {AUDIO ("S32LE"), "xmx_f16_8x1_1x16", TRUE},
      {AUDIO ("S32LE"), "gemm_naive", FALSE},
      {AUDIO ("S16LE"), "xmx_f16_8x1_1x16", FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream = stream_new ("weight", "[0.5]", "kernel", cases[i].kernel, NULL);

    gst_util_set_object_arg (G_OBJECT (stream->element), "precision", "f16");
    g_assert_true (stream_play (stream, cases[i].caps, NULL));
    if (cases[i].warns)
      stream_assert_warning (stream, "2147483648", "precision=f16 ends at 65504", NULL);
    stream_assert_quiet (stream);
  }
}

static void
skip (G_GNUC_UNUSED Fixture *self, G_GNUC_UNUSED gconstpointer data)
{
  g_test_skip ("there is no OpenCL device");
}

int
main (int argc, char **argv)
{
  static const struct {
    const gchar *path;
    void (*test) (Fixture *, gconstpointer);
  } tests[] = {
      {"/precision/named", test_named},
      {"/precision/addresses", test_addresses},
      {"/precision/stated", test_stated},
      {"/precision/change", test_change},
  };
  g_autoptr (GemmclContext) context = NULL;

  g_test_init (&argc, &argv, NULL);
  gst_init (&argc, &argv);
  g_test_add_func ("/precision/range", test_range);
  stream_add_test ("/precision/infinite", test_infinite);
  context = gemmcl_context_new (NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, Fixture, NULL, fixture_init, context ? tests[i].test : skip,
                fixture_clear);
  return g_test_run ();
}
