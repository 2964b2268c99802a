/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Flexible tensors. The header is written down here apart from the code: 32 words of 32 bits.
 */
#include <string.h>

#include "element/flexible.h"
#include "stream.h"

#define FLEXIBLE       "other/tensors,format=flexible,framerate=10/1"
#define FLEXIBLE_OF(n) "other/tensors,format=flexible,num_tensors=" n ",framerate=10/1"
#define BYTES          128
#define K              3
#define N              2
#define WEIGHT         "[[1,2],[3,4],[5,6]]"

/* Types of headers. */
enum { INT32, UINT32, INT16, UINT16, INT8, UINT8, FLOAT64, FLOAT32, INT64, UINT64, FLOAT16 };

/* Places in headers. */
enum { MAGIC, VERSION, TYPE, DIMS, FORMAT = 19, MEDIA, NONE = 31 };

static const gdouble weight[K * N] = {1, 2, 3, 4, 5, 6};

static void
make_header (guint32 words[32], guint32 type, guint32 k, guint32 m)
{
  memset (words, 0, BYTES);
  words[MAGIC] = 0xfeedcced;
  words[VERSION] = 0xde001000;
  words[TYPE] = type;
  words[DIMS] = k;
  words[DIMS + 1] = m;
  words[FORMAT] = 1;
  words[MEDIA] = 4;
}

/* Returns: a flexible tensor of @m rows of K small integers; @a: (out): these. */
static GstBuffer *
make_tensor (guint32 type, gsize m, guint seed, gdouble *a)
{
  guint8 bytes[BYTES + 64 * K * sizeof (gint32)];
  gsize size = BYTES;

  g_assert_cmpuint (m, <=, 64);
  make_header ((guint32 *)(gpointer)bytes, type, K, (guint32)m);
  for (gsize i = 0; i < m * K; i++) {
    const gint value = (gint)((i * 7 + seed) % 11);
    const gfloat number = (gfloat)value;

    a[i] = value;
    if (type == UINT8) {
      bytes[size++] = (guint8)value;
      continue;
    }
    memcpy (bytes + size, type == FLOAT32 ? (gconstpointer)&number : &value, 4);
    size += 4;
  }
  return gst_buffer_new_memdup (bytes, size);
}

/* Asserts that memory @index of @buffer is a flexible f32 tensor of @m x @n numbers. */
static void
check_tensor (GstBuffer *buffer, guint index, gsize m, gsize n, const gdouble *expected)
{
  g_autoptr (GstBuffer) elements = gst_buffer_new ();
  guint32 found[32], header[32];
  GstMemory *memory = gst_buffer_get_memory (buffer, index);

  make_header (header, FLOAT32, (guint32)n, (guint32)m);
  g_assert_cmpuint (gst_memory_get_sizes (memory, NULL, NULL), ==, BYTES + m * n * sizeof (gfloat));
  gst_buffer_append_memory (elements, memory);
  g_assert_cmpuint (gst_buffer_extract (elements, 0, found, BYTES), ==, BYTES);
  g_assert_cmpmem (found, BYTES, header, BYTES);
  gst_buffer_resize (elements, BYTES, -1);
  assert_floats (elements, expected, m * n, 0);
}

static void
check_product (GstBuffer *output, guint index, gsize m, const gdouble *a)
{
  gdouble d[64 * N];

  reference_gemm (m, N, K, a, weight, d);
  check_tensor (output, index, m, N, d);
}

/* A wrong word of a header, and words of the error. */
static const struct {
  guint word;
  guint32 value;
  const gchar *words;
} wrong[] = {
    {MAGIC, 0, "0x00000000|0xfeedcced"},
    {MAGIC, 0xedccedfe, "0xedccedfe|0xfeedcced"},
    {VERSION, 0xde002000, "0xde002000|version 1"},
    {VERSION, 0, "0xfeedcced 0x00000000"},
    {TYPE, 11, "type|is 11|0 to 10"},
    {TYPE, G_MAXUINT32, "type|4294967295"},
    {DIMS, 0, "Dimension 0|is 0|1 to"},
    {DIMS, 0x80000000, "Dimension 0|2147483648"},
    {DIMS, K + 1, "Tensor 0|24 bytes behind its header|expected 32"},
    {DIMS, K - 1, "8 bytes|header of 128 bytes"},
    {DIMS + 1, 0x7fffffff, "bytes behind its header|expected 25769803764"},
    {DIMS + 1, G_MAXUINT32, "Dimension 1"},
    {DIMS + 3, 1, "Dimension 2|is 0|behind the last"},
    {DIMS + 15, 5, "Dimension 2|is 0"},
    {FORMAT, 2, "format|is 2|sparse"},
    {FORMAT, 77, "format|is 77"},
    {MEDIA, 5, "media type|is 5|0 to 4"},
};

/* Each wrong word ends the stream with a sentence about it. */
static void
test_wrong_words (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autoptr (Stream) stream = stream_start (FLEXIBLE, "gemmcl weight=" WEIGHT);
    gdouble a[64 * K];
    GstBuffer *buffer = make_tensor (FLOAT32, 2, i, a);

    g_test_message ("word %u is 0x%x", wrong[i].word, wrong[i].value);
    gst_buffer_fill (buffer, wrong[i].word * 4, &wrong[i].value, 4);
    g_assert_cmpint (gst_harness_push (stream->harness, buffer), ==, GST_FLOW_ERROR);
    stream_assert_message (stream, GST_MESSAGE_ERROR, NULL, wrong[i].words);
    stream_assert_quiet (stream);
  }
}

/* M and the type differ from buffer to buffer. */
static void
test_changes (gconstpointer settings)
{
  static const struct {
    guint32 type;
    gsize m;
  } tensors[] = {{FLOAT32, 3}, {FLOAT32, 3}, {FLOAT32, 1}, {FLOAT32, 40}, {UINT8, 12},
                 {INT32, 3},   {INT32, 3},   {INT32, 64},  {FLOAT32, 64}, {FLOAT32, 2}};
  g_autoptr (Stream) stream =
      stream_start (FLEXIBLE, "gemmcl weight=" WEIGHT " %s", (const gchar *)settings);
  gdouble a[G_N_ELEMENTS (tensors)][64 * K];

  for (guint i = 0; i < G_N_ELEMENTS (tensors); i++)
    stream_push (stream, make_tensor (tensors[i].type, tensors[i].m, i, a[i]));
  stream_push_event (stream, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (tensors); i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    g_assert_nonnull (output);
    g_assert_cmpuint (gst_buffer_n_memory (output), ==, 1);
    check_product (output, 0, tensors[i].m, a[i]);
  }
  assert_caps (stream_get_caps (stream, "a", "src"), FLEXIBLE);
  stream_assert_quiet (stream);
}

/* Another N changes no caps. */
static void
test_other_n (void)
{
  static const gdouble weights[][4 * K] = {
      {1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6}, {1, 0, 0, 2, 3, 0}};
  static const guint n[] = {1, 4, 2};
  g_autoptr (Stream) stream = stream_start (FLEXIBLE, "gemmcl weight=[[0],[0],[0]]");

  for (guint i = 0; i < 2 * G_N_ELEMENTS (n); i++) {
    g_autofree gchar *text = literal (weights[i / 2], K, n[i / 2]);
    g_autoptr (GstBuffer) output = NULL;
    gdouble a[64 * K], d[64 * 4];

    g_object_set (stream->element, "weight", text, NULL);
    output = stream_run (stream, make_tensor (FLOAT32, 6, i, a));
    reference_gemm (6, n[i / 2], K, a, weights[i / 2], d);
    check_tensor (output, 0, 6, n[i / 2], d);
  }
  stream_assert_quiet (stream);
}

/* One of several tensors is multiplied, with a memory for each or one for all. */
static void
test_several (gconstpointer in_one)
{
  static const gchar other[] = "any bytes";
  guint32 header[32];

  make_header (header, UINT8, sizeof other, 1);
  for (guint index = 0; index < 3; index++) {
    g_autoptr (Stream) stream = stream_start (
        FLEXIBLE_OF ("3"), "gemmcl weight=" WEIGHT " row-outputs=sum tensor-index=%u", index);
    g_autoptr (GstBuffer) output = NULL;
    GstBuffer *input = gst_buffer_new ();
    gdouble a[64 * K], sums[64], d[64 * N];

    for (guint i = 0; i < 3; i++) {
      GstBuffer *part =
          i == index ? make_tensor (FLOAT32, 4, i, a) : gst_buffer_new_memdup (header, BYTES);

      if (i != index)
        part = gst_buffer_append (part, gst_buffer_new_memdup (other, sizeof other));
      gst_buffer_append_memory (input, gst_buffer_get_all_memory (part));
      gst_buffer_unref (part);
    }
    if (in_one) {
      GstMemory *all = gst_buffer_get_all_memory (input);

      gst_buffer_replace_all_memory (input, all);
    }
    output = stream_run (stream, input);
    reference_gemm (4, N, K, a, weight, d);
    for (guint i = 0; i < 4; i++)
      sums[i] = d[2 * i] + d[2 * i + 1];
    g_assert_cmpuint (gst_buffer_n_memory (output), ==, 4);
    for (guint i = 0; i < 3; i++) {
      g_autoptr (GstMemory) memory = gst_buffer_get_memory (output, i);
      GstMapInfo map;

      if (i == index)
        continue;
      g_assert_true (gst_memory_map (memory, &map, GST_MAP_READ));
      g_assert_cmpuint (map.size, ==, BYTES + sizeof other);
      g_assert_cmpmem (map.data, BYTES, header, BYTES);
      g_assert_cmpmem (map.data + BYTES, sizeof other, other, sizeof other);
      gst_memory_unmap (memory, &map);
    }
    check_product (output, index, 4, a);
    check_tensor (output, 3, 4, 1, sums);
    assert_caps (stream_get_caps (stream, "a", "src"), FLEXIBLE_OF ("4"));
  }
}

/* Buffers that do not fit. @size: of a buffer that is cut; 0: whole */
static void
test_buffers_refused (void)
{
  static const struct {
    const gchar *caps, *settings;
    gsize size;
    guint n_tensors, n_memories;
    const gchar *words;
  } cases[] = {
      {FLEXIBLE, "", 40, 1, 1, "40 bytes|header of 128 bytes"},
      {FLEXIBLE, "", BYTES, 1, 1, "0 bytes behind its header|expected 24"},
      {FLEXIBLE, "", BYTES + 23, 1, 1, "23 bytes behind its header|expected 24"},
      {FLEXIBLE, "", 2 * BYTES, 2, 1, "104 bytes|header of 128 bytes"},
      {FLEXIBLE, "", 0, 3, 2, "Tensor 0|176 bytes behind its header|expected 24"},
      {FLEXIBLE, "tensor-index=2", 0, 2, 1, "tensor-index is 2|2 flexible tensors|0 to 1"},
      {FLEXIBLE, "tensor-index=1", 0, 1, 1, "tensor-index is 1|1 flexible tensor.|0 to 0"},
      {FLEXIBLE_OF ("3"), "", 0, 2, 2, "2 flexible tensors|expected 3"},
      {FLEXIBLE_OF ("1"), "", 0, 2, 1, "2 flexible tensors|expected 1"},
      {FLEXIBLE, "", 0, 17, 1, "more than 16 flexible tensors"},
      {FLEXIBLE, "row-outputs=sum", 0, 16, 16, "16 tensors already"},
      {FLEXIBLE, "weight=[[1],[2]]", 0, 1, 1, "float32 of 2 x 3|K = 3|has K = 2"},
      {FLEXIBLE, "addend=[[1,2],[3,4]]", 0, 1, 1, "addend is 2 x 2|1 x 2"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream =
        stream_start (cases[i].caps, "gemmcl weight=" WEIGHT " %s", cases[i].settings);
    GstBuffer *buffer = gst_buffer_new ();
    gdouble a[64 * K];
    gint n;

    g_test_message ("%s", cases[i].words);
    for (guint j = 0; j < cases[i].n_tensors; j++) {
      g_autoptr (GstBuffer) tensor = make_tensor (FLOAT32, 2, i, a);

      gst_buffer_append_memory (buffer, gst_buffer_get_memory (tensor, 0));
    }
    /* The first memory has the tensors that the others do not have. */
    n = (gint)(gst_buffer_n_memory (buffer) - cases[i].n_memories + 1);
    gst_buffer_replace_memory_range (buffer, 0, n, gst_buffer_get_memory_range (buffer, 0, n));
    if (cases[i].size > 0)
      gst_buffer_resize (buffer, 0, (gssize)cases[i].size);
    g_assert_cmpint (gst_harness_push (stream->harness, buffer), ==, GST_FLOW_ERROR);
    stream_assert_message (stream, GST_MESSAGE_ERROR, NULL, cases[i].words);
    stream_assert_quiet (stream);
  }
}

/* output=flexible: a frame, and a static tensor, leave with a header. */
static void
test_output (void)
{
  static const guint8 frame[4] = {1, 2, 3, 0}; /* of a pixel and the gap behind it */
  static const gfloat numbers[K] = {1, 2, 3};
  static const gdouble a[K] = {1, 2, 3};
  static const struct {
    const gchar *caps;
    gconstpointer data;
    gsize size;
  } cases[] = {{VIDEO ("RGB", "width=1,height=1"), frame, sizeof frame},
               {TENSOR ("3:1"), numbers, sizeof numbers}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Stream) stream =
        stream_start (cases[i].caps, "gemmcl feature-mode=row weight=" WEIGHT " output=flexible");
    g_autoptr (GstBuffer) output =
        stream_run (stream, gst_buffer_new_memdup (cases[i].data, cases[i].size));

    check_product (output, 0, 1, a);
    assert_caps (stream_get_caps (stream, "a", "src"), FLEXIBLE_OF ("1"));
  }
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/flexible/wrong-words", test_wrong_words);
  stream_add_data_test ("/flexible/changes", "", test_changes);
  stream_add_data_test ("/flexible/changes-in-batches", "batch-size=2 batch-timeout=0",
                        test_changes);
  stream_add_data_test (
      "/flexible/changes-in-opencl-memory",
      "! capsfilter caps=other/tensors(memory:OpenCL) ! gemmcl name=a weight=[[1,0],[0,1]]",
      test_changes);
  stream_add_test ("/flexible/other-n", test_other_n);
  stream_add_data_test ("/flexible/several", NULL, test_several);
  stream_add_data_test ("/flexible/several-in-one", "in one", test_several);
  stream_add_test ("/flexible/buffers-refused", test_buffers_refused);
  stream_add_test ("/flexible/output", test_output);
  return g_test_run ();
}
