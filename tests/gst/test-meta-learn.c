/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "carrier.h"

/* Negotiation with input=meta: the element learns from caps, or else from buffers, what A is. */

/* Caps wait for the first tensor, and what comes behind them, too. */
static void
test_wait (void)
{
  static const GstEventType passed[] = {GST_EVENT_CAPS, GST_EVENT_SEGMENT, GST_EVENT_TAG};
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "src");
  g_autoptr (GstCaps) caps = gst_caps_from_string (FRAME);
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstBuffer *gap = gst_buffer_new ();
  g_autoptr (GstBuffer) output = NULL;

  GST_BUFFER_FLAG_SET (gap, GST_BUFFER_FLAG_GAP);
  stream_push (stream, gap);
  stream_push_event (stream, gst_event_new_gap (0, GST_SECOND));
  stream_push_event (stream, gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "t", NULL)));
  g_assert_false (gst_pad_peer_query (stream->harness->srcpad, query));
  g_assert_false (gst_pad_has_current_caps (pad));
  stream_flush (stream);
  g_assert_true (stream_push_caps (stream, VIDEO ("YUY2", "width=4,height=2")));
  g_assert_false (gst_pad_has_current_caps (pad));
  output = stream_run (stream, carrier_new (&plain, 1));
  carrier_check (output, 2, 1);
  for (guint i = 0; i < G_N_ELEMENTS (passed); i++) {
    g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, passed[i], 0);

    g_assert_nonnull (event);
  }
  stream_assert_quiet (stream);
}

/* A stream without buffers ends without caps. */
static void
test_no_buffers (void)
{
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream->element, "src");
  g_autoptr (GstEvent) segment = NULL, eos = NULL;

  stream_push_event (stream, gst_event_new_eos ());
  segment = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  eos = gst_pad_get_sticky_event (pad, GST_EVENT_EOS, 0);
  g_assert_nonnull (segment);
  g_assert_nonnull (eos);
  g_assert_false (gst_pad_has_current_caps (pad));
  stream_assert_quiet (stream);
}

/* A stream that stops while events wait starts again. */
static void
test_restart (void)
{
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstBuffer) output = NULL;

  stream_set_state (stream, GST_STATE_READY);
  stream_set_state (stream, GST_STATE_PLAYING);
  stream_begin (stream, FRAME);
  output = stream_run (stream, carrier_new (&plain, 1));
  carrier_check (output, 2, 1);
  stream_assert_quiet (stream);
}

/* M and the type may change from buffer to buffer, also within what would be a batch. */
static void
test_changes (gconstpointer properties)
{
  static const gsize rows[] = {2, 2, 5, 5, 5, 1, 3, 3, 2};
  g_autoptr (Stream) stream = stream_start (
      FRAME, "gemmcl input=meta input-tensor-id=a " WEIGHT "%s", (const gchar *)properties);
  const gboolean is_meta = strstr (properties, "output=meta") != NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const Spec spec = {"a",
                       i < 7 ? GST_TENSOR_DATA_TYPE_FLOAT32 : GST_TENSOR_DATA_TYPE_INT8,
                       2,
                       {rows[i], K},
                       rows[i] * K};

    stream_push (stream, carrier_new (&spec, i));
  }
  stream_push_event (stream, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GstBuffer) output = gst_harness_pull (stream->harness);

    carrier_check (is_meta ? carrier_get_last (output)->data : output, rows[i], i);
    if (is_meta)
      g_assert_cmpuint (carrier_get_last (output)->dims[0], ==, rows[i]);
  }
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), is_meta ? FRAME : TENSOR ("2:2"));
  stream_assert_quiet (stream);
}

/* The previous result is that of the same M. */
static void
test_beta (void)
{
  static const gsize rows[] = {2, 2, 1, 1};
  g_autoptr (Stream) stream =
      stream_start (FRAME, "gemmcl input=meta tensor-id=a weight=[[1],[0],[0]] beta=1");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const Spec spec = {"a", GST_TENSOR_DATA_TYPE_UINT8, 2, {rows[i], K}, rows[i] * K};
    g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&spec, i));
    const gdouble expected = carrier_get_value (0, i) + (i % 2 ? carrier_get_value (0, i - 1) : 0);
    g_autoptr (GstBuffer) first =
        gst_buffer_copy_region (output, GST_BUFFER_COPY_MEMORY, 0, sizeof (gfloat));

    assert_floats (first, &expected, 1, 1e-6);
  }
}

/* An addend of M x N fits one M only. */
static void
test_addend (void)
{
  const Spec shorter = {"a", GST_TENSOR_DATA_TYPE_FLOAT32, 2, {1, K}, K};
  g_autoptr (Stream) stream =
      stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT "addend=[[1,1],[1,1]] beta=0");
  g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&plain, 1));

  carrier_check (output, 2, 1);
  g_assert_cmpint (gst_harness_push (stream->harness, carrier_new (&shorter, 1)), ==,
                   GST_FLOW_NOT_NEGOTIATED);
  stream_assert_message (stream, GST_MESSAGE_ERROR, "addend is 2 x 2|D is 1 x 2");
}

/* Rows of a tensor of height x width x channels, whose height changes. */
static void
test_rows (void)
{
  static const gsize heights[] = {3, 2, 4};
  g_autoptr (Stream) stream =
      stream_start (FRAME, "gemmcl input=meta tensor-id=a feature-mode=row "
                           "weight=[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]");

  for (guint i = 0; i < G_N_ELEMENTS (heights); i++) {
    const gsize m = heights[i];
    const Spec spec = {"a", GST_TENSOR_DATA_TYPE_FLOAT32, 4, {1, m, 4, K}, m * 4 * K};
    g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&spec, i));
    gdouble sums[4] = {0};

    for (gsize j = 0; j < m * 4 * K; j++)
      sums[j / (4 * K)] += carrier_get_value (j, i);
    assert_floats (output, sums, m, 1e-5);
  }
  stream_assert_quiet (stream);
}

/* A weight of another N, while playing. */
static void
test_new_n (void)
{
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&plain, 1)), next = NULL;

  carrier_check (output, 2, 1);
  g_object_set (stream_get (stream, "gemmcl0"), "weight", "[[1],[1],[1]]", NULL);
  next = stream_run (stream, carrier_new (&plain, 1));
  g_assert_cmpuint (gst_buffer_get_size (next), ==, 2 * sizeof (gfloat));
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), TENSOR ("1:2"));
  stream_assert_quiet (stream);
}

#if GST_CHECK_VERSION(1, 28, 0)

  #define DESCRIBE(id, dims, type)                                                                 \
    "(GstCaps)[tensor/strided,tensor-id=" id ",dims=<" dims                                        \
    ">,dims-order=(string)row-major,type=(string)" type "]"
  #define ANNOUNCE(frame, group, tensors)                                                          \
    frame ",tensors=(structure)[tensorgroups," group "=(/uniquelist){" tensors "}]"
  #define ANNOUNCED ANNOUNCE (FRAME, "g", DESCRIBE ("a", "(int)2,(int)3", "float32"))

/* Negotiated before the first buffer. */
static void
test_announced (void)
{
  const Spec other = {"a", GST_TENSOR_DATA_TYPE_FLOAT32, 2, {1, K}, K};
  g_autoptr (Stream) stream = stream_start (ANNOUNCED, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstBuffer) output = NULL;

  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), TENSOR ("2:2"));
  output = stream_run (stream, carrier_new (&plain, 1));
  carrier_check (output, 2, 1);
  g_assert_cmpint (gst_harness_push (stream->harness, carrier_new (&other, 1)), ==, GST_FLOW_ERROR);
  stream_assert_message (stream, GST_MESSAGE_ERROR, "float32 of 1 x 3|float32 of 2 x 3");
}

/* A weight of another K is refused with the caps. */
static void
test_announced_k (void)
{
  g_autoptr (Stream) stream = stream_new ("gemmcl input=meta tensor-id=a weight=[[1],[1]]");

  g_assert_false (stream_play (stream, ANNOUNCED, NULL));
  stream_assert_message (stream, GST_MESSAGE_ERROR, "float32 of 2 x 3|K = 3|K = 2");
}

/* Both tensors are announced; M only if upstream announces it. */
static void
test_announced_both (void)
{
  static const struct {
    const gchar *upstream, *own;
  } announced[] = {
      {ANNOUNCED, ANNOUNCE (FRAME, "d", DESCRIBE ("d", "(int)2,(int)2", "float32"))},
      {ANNOUNCE (FRAME, "g", DESCRIBE ("a", "(int)0,(int)3", "float32")),
       ANNOUNCE (FRAME, "d", DESCRIBE ("d", "(int)0,(int)2", "float32"))},
  };

  for (guint i = 0; i < G_N_ELEMENTS (announced); i++) {
    g_autoptr (Stream) stream =
        stream_start (announced[i].upstream, "gemmcl input=meta output=meta tensor-id=d " WEIGHT);
    g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&plain, 1));

    carrier_check (carrier_get_last (output)->data, 2, 1);
    assert_caps (stream_get_caps (stream, "gemmcl0", "src"), announced[i].upstream);
    assert_caps (stream_get_caps (stream, "gemmcl0", "src"), announced[i].own);
    stream_assert_quiet (stream);
  }
}

/* Caps that do not announce A, or not all of it, wait for it. */
static void
test_announced_partly (void)
{
  static const gchar *const announced[] = {
      ANNOUNCE (FRAME, "g", DESCRIBE ("b", "(int)7,(int)9", "int8")),
      ANNOUNCE (FRAME, "g", DESCRIBE ("a", "(int)2,(int)0", "float32")),
      ANNOUNCE (FRAME, "g", DESCRIBE ("a", "(int)2,(int)3", "bfloat16")),
      ANNOUNCE (FRAME, "g", DESCRIBE ("a", "(string)2,(int)3", "float32")),
      ANNOUNCE (FRAME, "g", "(GstCaps)[tensor/strided,tensor-id=a]"),
      ANNOUNCE (FRAME, "g", "(int)3"),
      FRAME ",tensors=(structure)[tensorgroups,g=(int)3]",
  };

  for (guint i = 0; i < G_N_ELEMENTS (announced); i++) {
    g_autoptr (Stream) stream =
        stream_start (announced[i], "gemmcl input=meta tensor-id=a " WEIGHT);
    g_autoptr (GstBuffer) output = stream_run (stream, carrier_new (&plain, 1));

    carrier_check (output, 2, 1);
    stream_assert_quiet (stream);
  }
}

/* Caps that announce all of A, while others wait for a buffer, end the wait. */
static void
test_announced_late (void)
{
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstBuffer) output = NULL;

  g_assert_true (stream_push_caps (stream, ANNOUNCED));
  assert_caps (stream_get_caps (stream, "gemmcl0", "src"), TENSOR ("2:2"));
  output = stream_run (stream, carrier_new (&plain, 1));
  carrier_check (output, 2, 1);
  stream_assert_quiet (stream);
}

/* New caps make a new plan, also after a change of M that did not. */
static void
test_announced_after (void)
{
  const Spec larger = {"a", GST_TENSOR_DATA_TYPE_FLOAT32, 2, {5, K}, 5 * K};
  const Spec bytes = {"a", GST_TENSOR_DATA_TYPE_INT8, 2, {2, K}, 2 * K};
  g_autoptr (Stream) stream = stream_start (FRAME, "gemmcl input=meta tensor-id=a " WEIGHT);
  g_autoptr (GstBuffer) first = stream_run (stream, carrier_new (&larger, 1)),
                        second = stream_run (stream, carrier_new (&plain, 2)), third = NULL;

  carrier_check (first, 5, 1);
  carrier_check (second, 2, 2);
  g_assert_true (
      stream_push_caps (stream, ANNOUNCE (FRAME, "g", DESCRIBE ("a", "(int)2,(int)3", "int8"))));
  third = stream_run (stream, carrier_new (&bytes, 3));
  carrier_check (third, 2, 3);
  stream_assert_quiet (stream);
}

/* auto is meta where the caps announce tensors and cannot be read, and media where they can. */
static void
test_announced_auto (void)
{
  static const gchar *const planar = VIDEO ("RGBP", "width=4,height=4");
  static const gchar *const announced = ANNOUNCE (VIDEO ("RGBP", "width=4,height=4"), "g",
                                                  DESCRIBE ("a", "(int)2,(int)3", "float32"));
  g_autoptr (Stream) meta = stream_start (announced, "gemmcl tensor-id=a " WEIGHT);
  g_autoptr (Stream) media = stream_start (ANNOUNCED, "gemmcl " WEIGHT "feature-mode=pixel");
  g_autoptr (Stream) none = stream_new ("gemmcl input=media tensor-id=a " WEIGHT);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (meta->element, "sink");
  g_autoptr (GstCaps) asked = gst_caps_from_string (announced),
                      unknown = gst_caps_from_string (planar),
                      answer = gst_pad_query_caps (pad, asked),
                      all = gst_pad_query_caps (pad, NULL);
  g_autoptr (GstBuffer) output = stream_run (meta, carrier_new (&plain, 1));

  carrier_check (output, 2, 1);
  g_assert_true (gst_caps_is_subset (asked, answer));
  g_assert_false (gst_caps_can_intersect (unknown, all));
  assert_caps (stream_get_caps (media, "gemmcl0", "src"), TENSOR ("2:16"));
  g_assert_false (stream_play (none, announced, NULL));
}

static void
add_announced_tests (void)
{
  stream_add_test ("/learn/announced", test_announced);
  stream_add_test ("/learn/announced/k", test_announced_k);
  stream_add_test ("/learn/announced/both", test_announced_both);
  stream_add_test ("/learn/announced/partly", test_announced_partly);
  stream_add_test ("/learn/announced/late", test_announced_late);
  stream_add_test ("/learn/announced/after", test_announced_after);
  stream_add_test ("/learn/announced/auto", test_announced_auto);
}

#else

static void
skip_announced (void)
{
  g_test_skip ("caps announce tensors since GStreamer 1.28");
}

static void
add_announced_tests (void)
{
  g_test_add_func ("/learn/announced", skip_announced);
}

#endif

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/learn/wait", test_wait);
  stream_add_test ("/learn/no-buffers", test_no_buffers);
  stream_add_test ("/learn/restart", test_restart);
  stream_add_data_test ("/learn/changes/tensors", "queue-depth=3", test_changes);
  stream_add_data_test ("/learn/changes/tensors-batch", "batch-size=4", test_changes);
  stream_add_data_test ("/learn/changes/meta", "output=meta", test_changes);
  stream_add_data_test ("/learn/changes/meta-batch", "output=meta batch-size=2", test_changes);
  stream_add_test ("/learn/beta", test_beta);
  stream_add_test ("/learn/addend", test_addend);
  stream_add_test ("/learn/rows", test_rows);
  stream_add_test ("/learn/new-n", test_new_n);
  add_announced_tests ();
  return g_test_run ();
}
