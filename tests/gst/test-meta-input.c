/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "carrier.h"

/* A as a tensor that an element before has attached to a frame: properties input and
 * input-tensor-id. The test is that element. */

/** Type: one that the element reads. */
typedef struct {
  const gchar *name;
  GstTensorDataType type;
} Type;

static const Type types[] = {
    {"int8", GST_TENSOR_DATA_TYPE_INT8},       {"uint8", GST_TENSOR_DATA_TYPE_UINT8},
    {"int16", GST_TENSOR_DATA_TYPE_INT16},     {"uint16", GST_TENSOR_DATA_TYPE_UINT16},
    {"int32", GST_TENSOR_DATA_TYPE_INT32},     {"uint32", GST_TENSOR_DATA_TYPE_UINT32},
    {"int64", GST_TENSOR_DATA_TYPE_INT64},     {"uint64", GST_TENSOR_DATA_TYPE_UINT64},
    {"float16", GST_TENSOR_DATA_TYPE_FLOAT16}, {"float32", GST_TENSOR_DATA_TYPE_FLOAT32},
    {"float64", GST_TENSOR_DATA_TYPE_FLOAT64},
};

/* The result leaves as a tensor, and its row outputs behind it. */
static void
test_type (gconstpointer data)
{
  const Type *type = data;
  const Spec spec = {"a", type->type, 3, {2, 2, K}, 4 * K};
  g_autoptr (Stream) stream =
      stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT "row-outputs=max");

  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&spec, i));
    g_autoptr (GstBuffer) result =
        gst_buffer_copy_region (output, GST_BUFFER_COPY_MEMORY, 0, 4 * N * sizeof (gfloat));

    g_assert_cmpuint (gst_buffer_n_memory (output), ==, 2);
    carrier_check (result, 4, i);
  }
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"),
               TENSORS ("2", "2:4,1:4", "float32,float32", "10/1"));
  stream_assert_quiet (stream);
}

/* The frame passes with both tensors, in its memory; A may be the only tensor, or one by its id. */
static void
test_both (gconstpointer properties)
{
  const gboolean by_id = strstr (properties, "id=a") != NULL;
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl output=meta tensor-id=d " WEIGHT "%s",
                                            (const gchar *)properties);

  for (guint i = 0; i < 3; i++) {
    GstBuffer *input = carrier_new (&plain, i);
    g_autoptr (GstMemory) memory = gst_buffer_get_memory (input, 0);
    g_autoptr (GstBuffer) output = NULL;

    if (by_id)
      carrier_attach (input, carrier_make_tensor (&(const Spec){"b", 0, 1, {1}, 1}, NULL));
    output = stream_run (stream, input);
    g_assert_true (gst_buffer_peek_memory (output, 0) == memory);
    g_assert_cmpstr (g_quark_to_string (gst_buffer_get_tensor_meta (output)->tensors[0]->id), ==,
                     "a");
    g_assert_cmpstr (g_quark_to_string (carrier_get_last (output)->id), ==, "d");
    carrier_check (carrier_get_last (output)->data, 2, i);
  }
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), FRAME);
  stream_assert_quiet (stream);
}

/* Without tensor-id, the only tensor is A, even if it has no id. */
static void
test_unnamed (void)
{
  Spec spec = plain;
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta " WEIGHT);
  g_autoptr (GstBuffer) output = NULL;

  spec.id = NULL;
  output = stream_run (stream, carrier_new (&spec, 1));
  carrier_check (output, 2, 1);
}

/* Data may be larger than the tensor, unaligned, or in several memories. */
static void
test_data (void)
{
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);

  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) whole = carrier_make_data (&plain, i), output = NULL;
    GstBuffer *data = gst_buffer_new_allocate (NULL, 2 * K * sizeof (gfloat) + 9, NULL);
    GstBuffer *frame = noise_bytes (48, i);
    GstMapInfo map;

    g_assert_true (gst_buffer_map (whole, &map, GST_MAP_READ));
    gst_buffer_fill (data, i == 0 ? 0 : 1, map.data, map.size);
    gst_buffer_unmap (whole, &map);
    if (i == 1)
      gst_buffer_resize (data, 1, -1);
    if (i == 2) {
      gst_buffer_unref (data);
      data = gst_buffer_append (gst_buffer_copy_region (whole, GST_BUFFER_COPY_MEMORY, 0, 8),
                                gst_buffer_copy_region (whole, GST_BUFFER_COPY_MEMORY, 8, -1));
    }
    carrier_attach (frame, carrier_make_tensor (&plain, data));
    output = stream_run (stream, frame);
    carrier_check (output, 2, i);
  }
  stream_assert_quiet (stream);
}

/** Refusal: A tensor that cannot be A, and the words of the error. @properties: (nullable). */
typedef struct {
  const gchar *path;
  Spec spec;
  const gchar *words, *properties;
} Refusal;

#define F32 GST_TENSOR_DATA_TYPE_FLOAT32

static const Refusal refusals[] = {
    {"id", {"b", F32, 2, {2, K}, 2 * K}, "no tensor \"a\"|\"b\", \"c\""},
    {"several",
     {"b", F32, 2, {2, K}, 2 * K},
     "2 tensors|input-tensor-id|\"b\", \"c\"",
     "output=meta"},
    {"k", {"a", F32, 2, {2, 4}, 8}, "float32 of 2 x 4|K = 4|K = 3"},
    {"bfloat16", {"a", GST_TENSOR_DATA_TYPE_BFLOAT16, 2, {2, K}, 12}, "\"a\"|bfloat16"},
    {"int4", {"a", GST_TENSOR_DATA_TYPE_INT4, 2, {2, K}, 12}, "\"a\"|another type"},
    {"no-type", {"a", (GstTensorDataType)999, 2, {2, K}, 12}, "\"a\"|another type"},
    {"empty", {"a", F32, 2, {0, K}, 0}, "\"a\"|Dimension 1|1 to"},
    {"scalar", {"a", F32, 0, {0}, 1}, "\"a\"|0 dimensions"},
    {"rank", {"a", F32, 17, {0}, 1}, "\"a\"|17 dimensions"},
    {"wide", {"a", F32, 2, {G_MAXSIZE, K}, 6}, "\"a\"|Dimension 1"},
    {"large",
     {"a", F32, 4, {G_MAXINT32, G_MAXINT32, G_MAXINT32, K}, 6},
     "\"a\"|larger than memory"},
    {"short", {"a", F32, 2, {3, K}, 8}, "\"a\"|32 bytes|36"},
    {"no-bytes", {"a", F32, 2, {2, K}, 0}, "\"a\"|0 bytes|24"},
};

/* Refused as the first buffer, and after a good one. */
static void
check_refused (const Refusal *self, GstBuffer *bad, gboolean first)
{
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta " WEIGHT "%s",
                                            self->properties ? self->properties : "tensor-id=a");

  if (!first)
    gst_buffer_unref (stream_run (stream, carrier_new (&plain, 1)));
  g_assert_cmpint (gst_harness_push (stream->harness, bad), <, GST_FLOW_OK);
  stream_assert_message (stream, GST_MESSAGE_ERROR, self->words);
}

static void
test_refused (gconstpointer data)
{
  const Refusal *self = data;

  for (guint first = 0; first < 2; first++) {
    GstBuffer *bad = carrier_new (&self->spec, 2);

    carrier_attach (bad, carrier_make_tensor (&(const Spec){"c", 0, 1, {1}, 1}, NULL));
    check_refused (self, bad, first);
  }
}

/* No tensors, no data, another layout. */
static void
test_refused_others (void)
{
  static const Refusal none = {.words = "no tensors|onnxinference"},
                       layout = {.words = "\"a\"|row-major"}, no_data = {.words = "0 bytes"};

  for (guint first = 0; first < 2; first++) {
    GstBuffer *columns = carrier_new (&plain, 1), *gaps = carrier_new (&plain, 1),
              *missing = noise_bytes (48, 1);

    gst_buffer_get_tensor_meta (columns)->tensors[0]->dims_order = GST_TENSOR_DIM_ORDER_COL_MAJOR;
    gst_buffer_get_tensor_meta (gaps)->tensors[0]->layout = (GstTensorLayout)1;
    carrier_attach (missing, carrier_make_tensor (&plain, NULL));
    check_refused (&layout, columns, first);
    check_refused (&layout, gaps, first);
    check_refused (&no_data, missing, first);
    check_refused (&none, noise_bytes (48, 1), first);
  }
}

/* Frames of formats and in memory that the element does not know pass. */
static void
test_any_frame (void)
{
  static const gchar *const frames[] = {
      "video/x-raw(memory:Unknown),format=YUY2,width=4,height=4,framerate=10/1",
      AUDIO ("U8", "2"),
  };

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    g_autoptr (Stream) stream =
        stream_start (frames[i], "gemmcl input=meta output=meta " WEIGHT "tensor-id=d");
    g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&plain, i));

    carrier_check (carrier_get_last (output)->data, 2, i);
    assert_caps (stream_get_caps (stream, "gemmcl0", "src"), frames[i]);
    stream_assert_quiet (stream);
  }
}

/* A result of gemmcl is A of the next element, in OpenCL memory, without a copy. */
static void
test_chain (void)
{
  g_autofree gdouble *ones = g_new (gdouble, 12 * 3);
  g_autofree gchar *text = NULL;
  g_autoptr (Stream) stream = NULL;
  g_autoptr (GstBuffer) output = NULL;
  guint8 pixels[48];
  gdouble expected[4];

  for (guint i = 0; i < 12 * 3; i++)
    ones[i] = 1 + i % 3;
  text = literal (ones, 12, 3);
  stream = stream_start (FRAME,
                         "gemmcl feature-mode=row output=meta tensor-id=a name=one weight=%s ! "
                         "gemmcl name=two input=meta tensor-id=a weight=[[1],[1],[1]]",
                         text);
  for (guint i = 0; i < 48; i++)
    pixels[i] = (guint8)i;
  for (guint i = 0; i < 4; i++)
    expected[i] = 6 * (12.0 * (12 * i) + 66);
  output = stream_run (stream, gst_buffer_new_memdup (pixels, sizeof pixels));
  assert_floats (output, expected, 4, 1e-5);
  stream_assert_memory (stream, "two", "OpenCL to system", 4 * sizeof (gfloat));
  stream_assert_quiet (stream);
}

/* auto is meta with input-tensor-id, and otherwise media where caps can be read. */
static void
test_auto (void)
{
  g_autoptr (Stream) meta = stream_start (FRAME, "gemmcl input-tensor-id=a " WEIGHT);
  g_autoptr (Stream) media = stream_start (FRAME, "gemmcl " WEIGHT "feature-mode=pixel");
  g_autoptr (GstBuffer) of_meta = stream_run (meta, carrier_new (&plain, 1));
  g_autoptr (GstBuffer) of_media = stream_run (media, carrier_new (&plain, 1));

  carrier_check (of_meta, 2, 1);
  assert_caps (stream_get_caps (media, "gemmcl0", "src"), TENSOR ("2:16"));
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autofree gchar *path = g_strconcat ("/input/meta/type/", types[i].name, NULL);

    stream_add_data_test (path, &types[i], test_type);
  }
  stream_add_data_test ("/input/meta/both/only", "input=meta", test_both);
  stream_add_data_test ("/input/meta/both/id", "input-tensor-id=a", test_both);
  stream_add_test ("/input/meta/unnamed", test_unnamed);
  stream_add_test ("/input/meta/data", test_data);
  for (guint i = 0; i < G_N_ELEMENTS (refusals); i++) {
    g_autofree gchar *path = g_strconcat ("/input/meta/refused/", refusals[i].path, NULL);

    stream_add_data_test (path, &refusals[i], test_refused);
  }
  stream_add_test ("/input/meta/refused/others", test_refused_others);
  stream_add_test ("/input/meta/any-frame", test_any_frame);
  stream_add_test ("/input/meta/chain", test_chain);
  stream_add_test ("/input/meta/auto", test_auto);
  return g_test_run ();
}
