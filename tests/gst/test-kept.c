/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>

#include <math.h>
#include <string.h>

#include "copies.h"
#include "line.h"

/* Outputs that beta may come to scale, and the memory that they lie in. */

#define PICTURE "video/x-raw,format=RGB,width=160,height=120,framerate=10/1"
#define BYTES   (160 * 120 * 3)
#define N       12

/* Half of each of the three. */
#define HALVE "gemmcl name=a weight=[[.5,0,0],[0,.5,0],[0,0,.5]] "

/* Twice 0, then .5 by turns: so outputs of both are previous ones of both. */
static gdouble
get_beta (guint i)
{
  return i % 4 < 2 ? 0.0 : 0.5;
}

/* Outputs of HALVE, computed here. Each adds to the one before as that was before it was rounded,
 * from the first beta other than 0 on; that one finds what went out. */
static GByteArray *
expect (guint n)
{
  GByteArray *all = g_byte_array_new ();
  g_autofree gdouble *last = g_new0 (gdouble, BYTES);
  gboolean kept = FALSE;

  for (guint i = 0; i < n; i++) {
    g_autoptr (GstBuffer) input = noise_bytes (BYTES, i);
    guchar out[BYTES];
    GstMapInfo map;

    kept |= get_beta (i) != 0;
    g_assert_true (gst_buffer_map (input, &map, GST_MAP_READ));
    for (guint j = 0; j < BYTES; j++) {
      last[j] = 0.5 * map.data[j] + get_beta (i) * last[j];
      out[j] = (guchar)MIN (rint (last[j]), 255.0);
      last[j] = kept ? last[j] : out[j];
    }
    gst_buffer_unmap (input, &map);
    g_byte_array_append (all, out, BYTES);
  }
  return all;
}

static void
assert_expected (const Line *self)
{
  g_autoptr (GByteArray) expected = expect (self->n);

  g_assert_cmpuint (self->n, ==, N);
  g_assert_cmpmem (self->bytes->data, self->bytes->len, expected->data, expected->len);
}

/* An element behind that works in place: it keeps what it finds for itself, and leaves ones. */
static GstPadProbeReturn
overwrite (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  Line *self = data;
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  g_byte_array_append (self->bytes, map.data, map.size);
  self->n++;
  memset (map.data, 1, map.size);
  gst_buffer_unmap (buffer, &map);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* N pictures, the controlled beta changing as get_beta() says; @overwritten: collected by
 * overwrite(). */
static void
run (Line *self, const gchar *text, gboolean overwritten)
{
  g_autoptr (GstElement) element = NULL;
  g_autoptr (GstPad) pad = NULL;

  line_init (self, text, PICTURE);
  element = gst_bin_get_by_name (GST_BIN (self->harness->element), "a");
  pad = gst_element_get_static_pad (element, "src");
  if (overwritten)
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, overwrite, self, NULL);
  for (guint i = 0; i < N; i++) {
    g_object_set (element, "beta", get_beta (i), NULL);
    line_push (self, noise_bytes (BYTES, i));
    if (!overwritten)
      line_collect (self);
  }
  if (!overwritten) {
    line_end (self);
    return;
  }
  g_assert_true (gst_harness_push_event (self->harness, gst_event_new_eos ()));
}

static void
test_beta (void)
{
  static const gchar *const texts[] = {
      HALVE "queue-depth=1", HALVE "queue-depth=2", HALVE "queue-depth=4",
      HALVE "queue-depth=2 ! capsfilter caps=\"video/x-raw" OPENCL "\""};

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_auto (Line) kept = {NULL}, overwritten = {NULL};

    run (&kept, texts[i], FALSE);
    assert_expected (&kept);
    run (&overwritten, texts[i], TRUE);
    assert_expected (&overwritten);
  }
}

/* Noise where the device can read it. */
static GstBuffer *
aligned_noise (guint seed)
{
  g_autoptr (GstBuffer) noise = noise_bytes (BYTES, seed);
  GstAllocationParams params;
  GstBuffer *buffer;
  GstMapInfo map;

  gst_allocation_params_init (&params);
  params.align = 63;
  buffer = gst_buffer_new_allocate (NULL, BYTES, &params);
  g_assert_true (gst_buffer_map (noise, &map, GST_MAP_READ));
  g_assert_cmpuint (gst_buffer_fill (buffer, 0, map.data, map.size), ==, BYTES);
  gst_buffer_unmap (noise, &map);
  return buffer;
}

/* Nothing of the frames is copied, whatever beta is. */
static void
test_copies (void)
{
  const gdouble betas[] = {0.0, 0.5};
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);

  if (gemmcl_context_get_device_info (context)->type != GEMMCL_DEVICE_TYPE_CPU) {
    g_test_skip ("copies are not counted on this device");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (betas); i++) {
    g_autofree gchar *text = g_strdup_printf (HALVE "beta=%g", betas[i]);
    g_auto (Line) line = {NULL};
    Copies copies;

    line_init (&line, text, PICTURE);
    for (guint n = 0; n < N; n++) {
      line_push (&line, aligned_noise (n));
      if (n == 0)
        copies_reset ();
    }
    copies = copies_get ();
    line_end (&line);
    g_assert_cmpuint (copies.reads, ==, 0);
    g_assert_cmpuint (copies.writes, ==, 0);
    g_assert_cmpuint (copies.copies, ==, 0);
  }
}

/* A pool like those of displays, by its type. */
typedef GstBufferPool DisplayPool;
typedef GstBufferPoolClass DisplayPoolClass;
static GType display_pool_get_type (void);
G_DEFINE_TYPE (DisplayPool, display_pool, GST_TYPE_BUFFER_POOL)

static void
display_pool_init (DisplayPool *self G_GNUC_UNUSED)
{
}

static void
display_pool_class_init (DisplayPoolClass *klass G_GNUC_UNUSED)
{
}

static GstPadProbeReturn
offer (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  if (GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info)) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (GST_PAD_PROBE_INFO_QUERY (info), data, BYTES, 0, 2);
  return GST_PAD_PROBE_HANDLED;
}

/* Downstream's own frames are used where the device writes them as they are, and are complete when
 * they come; a plain pool has nothing that the element's lacks. */
static void
test_peer_pool (void)
{
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  const gboolean shared = gemmcl_context_get_device_info (context)->host_unified;

  for (guint own = 0; own <= 1; own++) {
    g_auto (Line) line = {NULL};
    g_autoptr (GstBufferPool) pool =
        own ? g_object_new (display_pool_get_type (), NULL) : gst_buffer_pool_new ();

    gst_object_ref_sink (pool);
    line_init (&line, HALVE "beta=0.5", PICTURE);
    gst_pad_add_probe (line.harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer, pool,
                       NULL);
    g_assert_true (gst_harness_push_upstream_event (line.harness, gst_event_new_reconfigure ()));
    for (guint i = 0; i < N; i++) {
      g_autoptr (GstBuffer) output = NULL;

      line_push (&line, noise_bytes (BYTES, i));
      output = gst_harness_pull (line.harness);
      g_assert_cmpint (output->pool == pool, ==, own && shared);
    }
    line_end (&line);
  }
}

int
main (int argc, char **argv)
{
  line_test_init (&argc, &argv);
  stream_add_test ("/kept/beta", test_beta);
  stream_add_test ("/kept/copies", test_copies);
  stream_add_test ("/kept/peer-pool", test_peer_pool);
  return g_test_run ();
}
