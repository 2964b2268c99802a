/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <string.h>

#include "copies.h"
#include "stream.h"

/* The memory of outputs: it comes from pools, and beta may come to scale what is in it. */

#define RGB    VIDEO ("RGB", "width=160,height=120")
#define BYTES  (160 * 120 * 3)
#define HALVE  "gemmcl name=a weight=[[.5,0,0],[0,.5,0],[0,0,.5]] "
#define STEREO AUDIO ("S16LE", "2")
#define TWO    TENSORS ("2", "3:5,7", "float32,uint8", "0/1")
#define N      12

/* Memory @index of each output of 30 buffers like @input comes from a pool: none is new after the
 * first three, when a pool that was too small is gone. */
static void
check_reuse (const gchar *text, const gchar *caps, GstBuffer *input, guint index)
{
  const GQuark seen = g_quark_from_static_string ("seen");
  g_autoptr (Stream) stream = stream_start (caps, "%s", text);

  for (guint i = 0; i < 30; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, gst_buffer_copy_deep (input));
    GstMiniObject *memory = GST_MINI_OBJECT (gst_buffer_peek_memory (output, index));

    g_assert_true (i < 3 || gst_mini_object_get_qdata (memory, seen));
    gst_mini_object_set_qdata (memory, seen, stream, NULL);
  }
}

static void
test_reuse (void)
{
  static const gchar *const memories[] = {"", FORCE ("other/tensors" OPENCL)};
  static const gchar *const settings[] = {"weight=[[1],[2],[3]]",
                                          "weight=[[1],[2],[3],[4],[5],[6],[7]] tensor-index=1",
                                          "weight=[[1],[2],[3]] row-outputs=sum"};
  g_autoptr (GstBuffer) shorter = noise_bytes (4 * 100, 1), longer = noise_bytes (4 * 5000, 1);
  g_autoptr (GstBuffer) tensors = noise_bytes (60, 1), other = noise_bytes (7, 2);

  check_reuse ("gemmcl weight=[[1],[2]]", STEREO, shorter, 0);
  check_reuse ("gemmcl weight=[[1],[2]]", STEREO, longer, 0);
  gst_buffer_append_memory (tensors, gst_buffer_get_memory (other, 0));
  for (guint i = 0; i < G_N_ELEMENTS (memories) * G_N_ELEMENTS (settings); i++) {
    g_autofree gchar *text = g_strdup_printf ("gemmcl %s %s", settings[i / 2], memories[i % 2]);

    check_reuse (text, TWO, tensors, i / 2);
  }
}

/* Twice 0, then .5 by turns: so outputs of both are previous ones of both. launch-numpy.py compares
 * the numbers. */
static gdouble
get_beta (guint i)
{
  return i % 4 < 2 ? 0.0 : 0.5;
}

/* An element behind that works in place: it keeps what it finds for itself, and leaves ones. */
static GstPadProbeReturn
overwrite (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer bytes)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  g_byte_array_append (bytes, map.data, map.size);
  memset (map.data, 1, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

static Stream *
run_betas (const gchar *text, GByteArray *overwritten)
{
  Stream *stream = stream_start (RGB, "%s", text);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (stream_get (stream, "a"), "src");

  if (overwritten)
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, overwrite, overwritten, NULL);
  for (guint j = 0; j < N; j++) {
    g_object_set (stream_get (stream, "a"), "beta", get_beta (j), NULL);
    stream_push (stream, noise_bytes (BYTES, j));
    stream_collect (stream);
  }
  stream_end (stream);
  return stream;
}

/* The next output does not show changes that others make to this one. */
static void
test_beta (void)
{
  static const gchar *const texts[] = {HALVE "queue-depth=1", HALVE "queue-depth=4",
                                       HALVE "queue-depth=2 " FORCE ("video/x-raw" OPENCL)};

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (GByteArray) found = g_byte_array_new ();
    g_autoptr (Stream) plain = run_betas (texts[i], NULL);
    g_autoptr (Stream) overwritten = run_betas (texts[i], found);

    g_assert_cmpuint (overwritten->n, ==, N);
    g_assert_cmpmem (found->data, found->len, plain->bytes->data, plain->bytes->len);
  }
}

/* Noise where the device can read it. */
static GstBuffer *
aligned_noise (guint seed)
{
  g_autoptr (GstBuffer) noise = noise_bytes (BYTES, seed);
  GstAllocationParams params = {.align = 63};
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, BYTES, &params);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (noise, &map, GST_MAP_READ));
  gst_buffer_fill (buffer, 0, map.data, map.size);
  gst_buffer_unmap (noise, &map);
  return buffer;
}

/* Nothing of the frames is copied, whatever beta is. */
static void
test_beta_copies (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);

  if (gemmcl_context_get_device_info (context)->type != GEMMCL_DEVICE_TYPE_CPU) {
    g_test_skip ("copies are not counted on this device");
    return;
  }
  for (guint i = 0; i < 2; i++) {
    g_autoptr (Stream) stream = stream_start (RGB, HALVE "beta=%s", i ? "0" : "0.5");
    Copies copies;

    for (guint j = 0; j < N; j++) {
      stream_push (stream, aligned_noise (j));
      if (j == 0)
        copies_reset ();
    }
    copies = copies_get ();
    stream_end (stream);
    g_assert_cmpuint (copies.reads + copies.writes + copies.copies, ==, 0);
  }
}

static GstPadProbeReturn
offer (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer pool)
{
  if (GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info)) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (GST_PAD_PROBE_INFO_QUERY (info), pool, BYTES, 0, 2);
  return GST_PAD_PROBE_HANDLED;
}

/* A plain pool of downstream's has nothing that the element's lacks. */
static void
test_peer_pool (void)
{
  g_autoptr (GstBufferPool) pool = gst_buffer_pool_new ();
  g_autoptr (Stream) stream = stream_start (RGB, HALVE);

  gst_pad_add_probe (stream->harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer, pool,
                     NULL);
  g_assert_true (gst_harness_push_upstream_event (stream->harness, gst_event_new_reconfigure ()));
  for (guint i = 0; i < N; i++) {
    g_autoptr (GstBuffer) output = stream_run (stream, noise_bytes (BYTES, i));

    g_assert_false (output->pool == pool);
  }
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/outputs/reuse", test_reuse);
  stream_add_test ("/outputs/beta", test_beta);
  stream_add_test ("/outputs/beta-copies", test_beta_copies);
  stream_add_test ("/outputs/peer-pool", test_peer_pool);
  return g_test_run ();
}
