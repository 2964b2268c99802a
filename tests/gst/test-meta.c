/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib/gstdio.h>
#include <gst/analytics/analytics.h>
#include <string.h>

#include "element/flexible.h"
#include "memory/gstgemmclmemory.h"
#include "stream.h"

/* output=meta: results as GstTensorMeta. */

#define GRAY    VIDEO ("GRAY8", "width=4,height=4")
#define RGB     VIDEO ("RGB", "width=8,height=2")
#define SOFTMAX "classification-generic-softmaxed-out"
#define COLOURS "weight=[[1,0,0],[0,1,0],[0,0,1]] "

/**
 * Case: an input, and the matrix that multiplies it
 * @second: A is the second of several tensors
 * @k, @n: of the weight
 * @rows: sum, maximum and column of the maximum are asked for, too
 * @batch: buffers in a run
 */
typedef struct {
  const gchar *path, *caps, *properties;
  gboolean second;
  gsize numbers, k, n;
  gboolean rows;
  guint batch;
} Case;

static const Case cases[] = {
    {"frame", GRAY, "feature-mode=frame", FALSE, 16, 16, 5, FALSE, 1},
    {"pixels", RGB, "feature-mode=pixel", FALSE, 48, 3, 3, FALSE, 1},
    {"rows", RGB, "feature-mode=row row-outputs=sum+max+arg-max", FALSE, 48, 24, 7, TRUE, 1},
    {"batch", RGB, "feature-mode=row row-outputs=sum+max+arg-max batch-size=3", FALSE, 48, 24, 2,
     TRUE, 3},
    {"audio", AUDIO ("F32LE", "2"), "", FALSE, 40, 2, 3, FALSE, 1},
    {"audio-rows", AUDIO ("S16LE", "2"), "row-outputs=sum+max+arg-max queue-depth=1", FALSE, 4400,
     2, 3, TRUE, 1},
    {"tensor", TENSOR ("6:2"), "", FALSE, 12, 6, 2, FALSE, 1},
    {"second-tensor", TENSORS ("2", "5,6:2", "float32,float32", "10/1"),
     "tensor-index=1 row-outputs=sum+max+arg-max", TRUE, 12, 6, 3, TRUE, 1},
};

/* Writes sum, maximum and column of the maximum of a row of @n. */
static void
reduce (const gdouble *row, gsize n, gdouble *figures)
{
  gsize best = 0;

  figures[0] = 0.0;
  for (gsize j = 0; j < n; j++) {
    figures[0] += row[j];
    best = row[j] > row[best] ? j : best;
  }
  figures[1] = row[best];
  figures[2] = (gdouble)best;
}

/* Asserts what @tensor is; @values are @m x @n. */
static void
check_tensor (const GstTensor *tensor, const gchar *id, const gdouble *values, gsize m, gsize n)
{
  g_assert_cmpstr (g_quark_to_string (tensor->id), ==, id);
  g_assert_cmpint (tensor->data_type, ==, GST_TENSOR_DATA_TYPE_FLOAT32);
  g_assert_cmpint (tensor->dims_order, ==, GST_TENSOR_DIM_ORDER_ROW_MAJOR);
  g_assert_cmpuint (tensor->num_dims, ==, 2);
  g_assert_cmpuint (tensor->dims[0], ==, m);
  g_assert_cmpuint (tensor->dims[1], ==, n);
  assert_floats (tensor->data, values, m * n, 1e-4);
}

static void
check_result (const Case *self, GstBuffer *output, const gdouble *a, const gdouble *weight)
{
  const gsize m = self->numbers / self->k;
  g_autofree gdouble *d = g_new (gdouble, m * self->n), *rows = g_new (gdouble, m * 3);
  const GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);

  g_assert_nonnull (meta);
  g_assert_cmpuint (gst_buffer_get_n_meta (output, GST_TENSOR_META_API_TYPE), ==, 1);
  g_assert_cmpuint (meta->num_tensors, ==, self->rows ? 2 : 1);
  reference_gemm (m, self->n, self->k, a, weight, d);
  for (gsize i = 0; i < m; i++) {
    reduce (d + i * self->n, self->n, rows + 3 * i);
  }
  check_tensor (meta->tensors[0], SOFTMAX, d, m, self->n);
  if (self->rows)
    check_tensor (meta->tensors[1], SOFTMAX "-rows", rows, m, 3);
}

/* Tensors of other types than float32. */
static void
test_types (void)
{
  static const struct {
    const gchar *name;
    GstTensorDataType type;
    guint8 bytes[4];
    gsize size;
  } types[] = {{"f16", GST_TENSOR_DATA_TYPE_FLOAT16, {0x00, 0x45, 0x80, 0x49}, 4},
               {"i8 output-scale=.5", GST_TENSOR_DATA_TYPE_INT8, {10, 22}, 2},
               {"u8 output-offset=4", GST_TENSOR_DATA_TYPE_UINT8, {1, 7}, 2}};
  static const gfloat a[] = {1, 2, 3, 4};

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autoptr (Stream) stream = stream_start (
        TENSOR ("2:2"), "gemmcl weight=[[1],[2]] output=meta output-type=%s", types[i].name);
    g_autoptr (GstBuffer) output = stream_run (stream, gst_buffer_new_memdup (a, sizeof a));
    const GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);
    guint8 found[4];

    g_assert_nonnull (meta);
    g_assert_cmpint (meta->tensors[0]->data_type, ==, types[i].type);
    g_assert_cmpuint (meta->tensors[0]->dims[0], ==, 2);
    g_assert_cmpuint (meta->tensors[0]->dims[1], ==, 1);
    g_assert_cmpuint (gst_buffer_extract (meta->tensors[0]->data, 0, found, 4), ==, types[i].size);
    g_assert_cmpmem (found, types[i].size, types[i].bytes, types[i].size);
  }
}

/* Flexible tensors pass, too; the result has no header. */
static void
test_flexible (void)
{
  g_autoptr (Stream) stream =
      stream_start ("other/tensors,format=flexible,framerate=10/1",
                    "gemmcl weight=[[1],[2]] output=meta tensor-id=" SOFTMAX);
  static const gfloat a[] = {1, 2, 3, 4, 5, 6};
  static const gdouble d[] = {5, 11, 17};

  for (gsize m = 1; m <= 3; m++) {
    g_autoptr (GstBuffer) output = NULL;
    guint8 input[sizeof (GstGemmclHeader) + sizeof a];

    gst_gemmcl_header_init ((GstGemmclHeader *)(gpointer)input, GEMMCL_TYPE_F32, m, 2);
    memcpy (input + sizeof (GstGemmclHeader), a, m * 2 * sizeof *a);
    output = stream_run (
        stream, gst_buffer_new_memdup (input, sizeof (GstGemmclHeader) + m * 2 * sizeof *a));
    g_assert_cmpuint (gst_buffer_get_size (output), ==,
                      sizeof (GstGemmclHeader) + m * 2 * sizeof *a);
    check_tensor (gst_buffer_get_tensor_meta (output)->tensors[0], SOFTMAX, d, m, 1);
  }
}

/* Makes input @seed of a case; its small numbers keep sums exact. */
static GstBuffer *
make_input (const Case *self, guint seed, gdouble *a)
{
  const gboolean bytes = g_str_has_prefix (self->caps, "video"),
                 shorts = strstr (self->caps, "S16LE") != NULL;
  const gsize size = bytes ? 1 : shorts ? sizeof (gint16) : sizeof (gfloat);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, self->numbers * size, NULL);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < self->numbers; i++) {
    const guint8 number = (i * 7 + seed * 3) % 13;

    a[i] = number;
    if (bytes)
      map.data[i] = number;
    else if (shorts)
      ((gint16 *)map.data)[i] = number;
    else
      ((gfloat *)map.data)[i] = number;
  }
  gst_buffer_unmap (buffer, &map);
  if (self->second)
    gst_buffer_prepend_memory (buffer, gst_allocator_alloc (NULL, 5 * sizeof (gfloat), NULL));
  GST_BUFFER_PTS (buffer) = seed * GST_SECOND / 10;
  return buffer;
}

/* The memories of the inputs come out, with their bytes and times, and a result that fits. */
static void
test_case (gconstpointer data)
{
  const Case *self = data;
  g_autofree gdouble *weight = g_new (gdouble, self->k * self->n),
                     *a = g_new (gdouble, self->numbers);
  g_autofree gchar *text = NULL;
  g_autoptr (Stream) stream = NULL;
  GstMemory *memories[7];

  fill_values (weight, self->k * self->n, 5);
  text = literal (weight, self->k, self->n);
  stream = stream_start (self->caps, "gemmcl output=meta tensor-id=" SOFTMAX " weight=%s %s", text,
                         self->properties);
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), self->caps);
  for (guint i = 0; i < G_N_ELEMENTS (memories); i++) {
    g_autoptr (GstBuffer) input = make_input (self, i, a);

    memories[i] = gst_buffer_get_memory (input, 0);
    stream_push (stream, gst_buffer_ref (input));
    g_assert_null (gst_buffer_get_tensor_meta (input));
  }
  stream_push_event (stream, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (memories); i++) {
    g_autoptr (GstBuffer) input = make_input (self, i, a);
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);
    GstMapInfo map;

    g_assert_true (gst_buffer_peek_memory (output, 0) == memories[i]);
    g_assert_cmpuint (gst_buffer_n_memory (output), ==, gst_buffer_n_memory (input));
    g_assert_cmpuint (GST_BUFFER_PTS (output), ==, GST_BUFFER_PTS (input));
    check_result (self, output, a, weight);
    g_assert_true (gst_buffer_map (input, &map, GST_MAP_READ));
    if (!self->second)
      g_assert_cmpint (gst_buffer_memcmp (output, 0, map.data, map.size), ==, 0);
    gst_buffer_unmap (input, &map);
    gst_memory_unref (memories[i]);
  }
  stream_assert_quiet (stream);
}

/* OpenCL memory stays OpenCL memory, and tensors of an element before stay. */
static void
test_chain (void)
{
  g_autoptr (Stream) stream =
      stream_new ("gemmcl " COLOURS "! gemmcl name=a output=meta tensor-id=one feature-mode=pixel "
                  "weight=[[1],[1],[1]] ! gemmcl name=b output=meta tensor-id=two "
                  "feature-mode=pixel weight=[[1],[0],[0]]");
  g_autoptr (GstBuffer) output = NULL;
  gpointer state = NULL;
  guint n = 0;

  g_assert_true (stream_play (stream, RGB, "video/x-raw(memory:OpenCL)"));
  output = stream_run (stream, noise_bytes (48, 1));
  g_assert_true (
      gst_memory_is_type (gst_buffer_peek_memory (output, 0), GST_GEMMCL_MEMORY_TYPE_NAME));
  for (; gst_buffer_iterate_meta_filtered (output, &state, GST_TENSOR_META_API_TYPE); n++)
    continue;
  g_assert_cmpuint (n, ==, 2);
  stream_assert_memory (stream, "b", "OpenCL to system", 16 * sizeof (gfloat));
}

/* A buffer that somebody else holds is copied, with the tensors that it has. */
static void
test_shared (void)
{
  g_autoptr (Stream) stream =
      stream_start (RGB, "gemmcl " COLOURS "feature-mode=pixel output=meta");
  g_autoptr (GstBuffer) input = noise_bytes (48, 1), output = NULL;
  GstTensor **tensors = g_new (GstTensor *, 1);
  gsize dims[] = {4};

  tensors[0] = gst_tensor_new_simple (g_quark_from_string ("before"), GST_TENSOR_DATA_TYPE_UINT8,
                                      noise_bytes (4, 2), GST_TENSOR_DIM_ORDER_ROW_MAJOR, 1, dims);
  gst_tensor_meta_set (gst_buffer_add_tensor_meta (input), 1, tensors);
  output = stream_run (stream, gst_buffer_ref (input));
  g_assert_cmpuint (gst_buffer_get_n_meta (input, GST_TENSOR_META_API_TYPE), ==, 1);
  g_assert_cmpuint (gst_buffer_get_n_meta (output, GST_TENSOR_META_API_TYPE), ==, 2);
  g_assert_cmpstr (g_quark_to_string (gst_buffer_get_tensor_meta (output)->tensors[0]->id), ==,
                   "before");
}

/* Downstream's allocator reaches upstream, since the buffers reach downstream. */
static void
test_allocation (void)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl " COLOURS "feature-mode=pixel output=meta");
  g_autoptr (GstCaps) caps = gst_caps_from_string (RGB);
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstAllocationParams params = {.align = 255, .prefix = 3}, found;

  g_assert_true (stream_play (stream, RGB, NULL));
  gst_harness_set_propose_allocator (stream->harness, NULL, &params);
  g_assert_true (gst_pad_peer_query (stream->harness->srcpad, query));
  g_assert_cmpuint (gst_query_get_n_allocation_params (query), ==, 1);
  gst_query_parse_nth_allocation_param (query, 0, NULL, &found);
  g_assert_cmpuint (found.align, ==, params.align);
  g_assert_cmpuint (found.prefix, ==, params.prefix);
}

/* A gap passes without a tensor; a flush drops a batch, and the next one is whole. */
static void
test_flow (void)
{
  g_autoptr (Stream) stream =
      stream_start (RGB, "gemmcl " COLOURS "feature-mode=pixel output=meta batch-size=2");
  g_autoptr (GstBuffer) gap = gst_buffer_new ();

  stream_push (stream, noise_bytes (48, 1));
  stream_flush (stream);
  for (guint i = 2; i < 4; i++)
    stream_push (stream, noise_bytes (48, i));
  GST_BUFFER_FLAG_SET (gap, GST_BUFFER_FLAG_GAP);
  stream_push (stream, g_steal_pointer (&gap));
  stream_push_event (stream, gst_event_new_eos ());
  for (guint i = 2; i < 5; i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    g_assert_cmpint (gst_buffer_get_tensor_meta (output) != NULL, ==, i < 4);
    if (i < 4)
      g_assert_cmpuint (GST_BUFFER_PTS (output), ==, i * GST_SECOND / 10);
  }
  g_assert_null (gst_harness_try_pull (stream->harness));
  stream_assert_quiet (stream);
}

/* A weight of another N, while playing, changes the tensors. */
static void
test_new_n (void)
{
  g_autoptr (Stream) stream =
      stream_start (GRAY, "gemmcl weight=[[1,1]] feature-mode=pixel output=meta");

  for (gsize n = 2; n < 5; n += 2) {
    g_autoptr (GstBuffer) output = stream_run (stream, noise_bytes (16, 1));
    const GstTensorMeta *meta = gst_buffer_get_tensor_meta (output);

    g_assert_cmpuint (meta->tensors[0]->dims[1], ==, n);
    g_assert_cmpuint (gst_buffer_get_size (meta->tensors[0]->data), ==, 16 * n * sizeof (gfloat));
    g_object_set (stream_get (stream, "gemmcl0"), "weight", "[[1,2,3,4]]", NULL);
  }
  stream_assert_quiet (stream);
}

#if GST_CHECK_VERSION(1, 28, 0)

  #define GROUP(id, dims)                                                                          \
    id "=(/uniquelist){(GstCaps)[tensor/strided,tensor-id=" id ",dims=<" dims                      \
       ">,dims-order=(string)row-major,type=(string)float32]}"

/* Tensors are appended to those of upstream. */
static void
test_caps_down (void)
{
  static const gchar *const announced =
      RGB ",tensors=(structure)[tensorgroups," GROUP ("before", "(int)3,(int)4") "]";
  g_autoptr (Stream) stream =
      stream_start (announced, "gemmcl " COLOURS
                               "feature-mode=pixel output=meta tensor-id=mine row-outputs=sum+max");

  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), announced);
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"),
               RGB ",tensors=(structure)[tensorgroups," GROUP ("mine", "(int)16,(int)3") "]");
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"),
               RGB ",tensors=(structure)[tensorgroups," GROUP ("mine-rows", "(int)16,(int)2") "]");
}

/* Upstream is asked for the frames of downstream, not for its tensors. */
static void
test_caps_up (void)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl " COLOURS "feature-mode=pixel output=meta");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "sink");
  g_autoptr (GstCaps) caps = NULL;

  g_assert_true (
      stream_play (stream, RGB,
                   "video/x-raw,width=8,tensors=(structure)[tensorgroups," GROUP (
                       "gemmcl-out", "(int)16,(int)3") "]; video/x-raw(memory:DMABuf),width=4,"
                                                       "tensors=(structure)[tensorgroups]"));
  caps = gst_pad_query_caps (pad, NULL);
  g_assert_cmpuint (gst_caps_get_size (caps), >, 1);
  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    g_assert_false (gst_structure_has_field (gst_caps_get_structure (caps, i), "tensors"));
}

/* Analytics of an element before come to have the tensor, too. */
static void
test_relation (void)
{
  g_autoptr (Stream) stream =
      stream_start (RGB, "gemmcl " COLOURS "feature-mode=pixel output=meta tensor-id=related");
  GstBuffer *input = noise_bytes (48, 1);
  g_autoptr (GstBuffer) output = NULL;
  GstAnalyticsRelationMeta *meta;
  GstAnalyticsTensorMtd mtd;
  const GstTensor *tensor;
  gpointer state = NULL;

  gst_buffer_add_analytics_relation_meta (input);
  output = stream_run (stream, input);
  meta = gst_buffer_get_analytics_relation_meta (output);
  g_assert_nonnull (meta);
  g_assert_true (gst_analytics_relation_meta_iterate (
      meta, &state, gst_analytics_tensor_mtd_get_mtd_type (), &mtd));
  tensor = gst_analytics_tensor_mtd_get_tensor (&mtd);
  g_assert_cmpstr (g_quark_to_string (tensor->id), ==, "related");
  g_assert_true (tensor->data == gst_buffer_get_tensor_meta (output)->tensors[0]->data);
}

/* A decoder that tensordecodebin has made gets its labels. */
static void
give_labels (GstBin *bin G_GNUC_UNUSED, GstBin *child G_GNUC_UNUSED, GstElement *element,
             gpointer labels)
{
  if (g_str_has_prefix (GST_OBJECT_NAME (element), "classifier"))
    g_object_set (element, "labels-file", labels, NULL);
}

/* The decoder finds the class of the largest element of D. */
static void
test_decoder (gconstpointer decoder)
{
  g_autoptr (GstPlugin) plugin = plugins_load ("tensordecoders");
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstBuffer) output = NULL;
  g_autofree gchar *labels = NULL;
  GstAnalyticsRelationMeta *meta;
  GstAnalyticsClsMtd mtd;
  gpointer state = NULL;
  gint file;

  if (!plugin) {
    g_test_skip ("there are no tensor decoders (gstreamer1.0-plugins-bad)");
    return;
  }
  file = g_file_open_tmp ("gemmcl-labels-XXXXXX", &labels, NULL);
  g_assert_true (g_close (file, NULL));
  g_assert_true (g_file_set_contents (labels, "cat\ndog\nowl\n", -1, NULL));
  stream = stream_new ("gemmcl feature-mode=frame transpose-weight=true output=meta "
                       "activation=softmax tensor-id=" SOFTMAX
                       " input-scale=0.01 weight=[[1,-1,1],[1,1,1],[0,1,1]] ! %s name=d",
                       (const gchar *)decoder);
  if (GST_IS_BIN (stream_get (stream, "d")))
    g_signal_connect (stream->element, "deep-element-added", G_CALLBACK (give_labels), labels);
  else
    g_object_set (stream_get (stream, "d"), "labels-file", labels, NULL);
  g_assert_true (stream_play (stream, VIDEO ("GRAY8", "width=3,height=1"), NULL));
  output = stream_run (stream, gst_buffer_new_memdup ("\377\377\0\0", 4));
  stream_assert_quiet (stream);
  meta = gst_buffer_get_analytics_relation_meta (output);
  g_assert_nonnull (meta);
  g_assert_true (gst_analytics_relation_meta_iterate (meta, &state,
                                                      gst_analytics_cls_mtd_get_mtd_type (), &mtd));
  g_assert_cmpstr (g_quark_to_string (gst_analytics_cls_mtd_get_quark (&mtd, 0)), ==, "dog");
  g_assert_cmpint (g_unlink (labels), ==, 0);
}

static void
add_caps_tests (void)
{
  stream_add_test ("/output/meta/caps/down", test_caps_down);
  stream_add_test ("/output/meta/caps/up", test_caps_up);
  stream_add_test ("/output/meta/relation", test_relation);
  stream_add_data_test ("/output/meta/decoder", "classifiertensordecoder", test_decoder);
  stream_add_data_test ("/output/meta/decodebin", "tensordecodebin", test_decoder);
}

#else

static void
skip_caps (void)
{
  g_test_skip ("caps announce tensors since GStreamer 1.28");
}

static void
add_caps_tests (void)
{
  g_test_add_func ("/output/meta/caps", skip_caps);
}

#endif

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *path = g_strconcat ("/output/meta/", cases[i].path, NULL);

    stream_add_data_test (path, &cases[i], test_case);
  }
  stream_add_test ("/output/meta/types", test_types);
  stream_add_test ("/output/meta/flexible", test_flexible);
  stream_add_test ("/output/meta/chain", test_chain);
  stream_add_test ("/output/meta/shared", test_shared);
  stream_add_test ("/output/meta/allocation", test_allocation);
  stream_add_test ("/output/meta/flow", test_flow);
  stream_add_test ("/output/meta/new-n", test_new_n);
  add_caps_tests ();
  return g_test_run ();
}
