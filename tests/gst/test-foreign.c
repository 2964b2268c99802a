/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl.h>
#include <gst/base/gstbasetransform.h>
#include <string.h>

#include "memory/gstgemmclmemory.h"
#include "stream.h"

/* Memory of another owner under the names of gemmcl's. It is made like DL Streamer's: caps have
 * memory:OpenCL, a map with GST_GEMMCL_MAP_OPENCL's value gives a handle instead of bytes, memories
 * cannot be shared, and the allocator does not allocate. */

G_DECLARE_FINAL_TYPE (ForeignAllocator, foreign_allocator, FOREIGN, ALLOCATOR, GstAllocator)

struct _ForeignAllocator {
  GstAllocator parent;
  gboolean is_mappable;
};

typedef struct {
  GstMemory parent;
  guchar *bytes;
} ForeignMemory;

static gint n_alive, n_handles, n_mapped;

G_DEFINE_TYPE (ForeignAllocator, foreign_allocator, GST_TYPE_ALLOCATOR)

static gpointer
foreign_map (GstMemory *memory, gsize maxsize G_GNUC_UNUSED, GstMapFlags flags)
{
  if (flags & GST_GEMMCL_MAP_OPENCL)
    g_atomic_int_inc (&n_handles);
  if (flags & ~GST_MAP_READWRITE || !FOREIGN_ALLOCATOR (memory->allocator)->is_mappable)
    return NULL;
  g_atomic_int_inc (&n_mapped);
  return ((ForeignMemory *)memory)->bytes;
}

static void
foreign_unmap (GstMemory *memory G_GNUC_UNUSED)
{
  g_atomic_int_add (&n_mapped, -1);
}

static GstMemory *
foreign_share (GstMemory *memory G_GNUC_UNUSED, gssize offset G_GNUC_UNUSED,
               gssize size G_GNUC_UNUSED)
{
  return NULL;
}

static void
foreign_free (GstAllocator *allocator G_GNUC_UNUSED, GstMemory *memory)
{
  g_free (((ForeignMemory *)memory)->bytes);
  g_free (memory);
  g_atomic_int_add (&n_alive, -1);
}

static void
foreign_allocator_class_init (ForeignAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->free = foreign_free;
}

static void
foreign_allocator_init (ForeignAllocator *self)
{
  self->parent.mem_map = foreign_map;
  self->parent.mem_unmap = foreign_unmap;
  self->parent.mem_share = foreign_share;
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

static GstAllocator *
foreign_allocator_new (const gchar *type, gboolean is_mappable)
{
  ForeignAllocator *self = g_object_new (foreign_allocator_get_type (), NULL);

  self->parent.mem_type = type;
  self->is_mappable = is_mappable;
  return gst_object_ref_sink (self);
}

static GstMemory *
foreign_memory_new (GstAllocator *allocator, gsize size)
{
  ForeignMemory *self = g_new0 (ForeignMemory, 1);

  self->bytes = g_malloc0 (size);
  gst_memory_init (&self->parent, 0, allocator, NULL, size, 0, 0, size);
  g_atomic_int_inc (&n_alive);
  return &self->parent;
}

/* Appends a memory of @allocator with the bytes of @from (transfer full), whose times it takes. */
static GstBuffer *
append_foreign (GstBuffer *to, GstAllocator *allocator, GstBuffer *from)
{
  GstMemory *memory = foreign_memory_new (allocator, gst_buffer_get_size (from));

  gst_buffer_extract (from, 0, ((ForeignMemory *)memory)->bytes, gst_buffer_get_size (from));
  gst_buffer_append_memory (to, memory);
  gst_buffer_copy_into (to, from, GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  gst_buffer_unref (from);
  return to;
}

/* Asserts that nothing asked for handles, and that nothing is mapped or left over. */
static void
assert_clean (void)
{
  g_assert_cmpint (g_atomic_int_get (&n_handles), ==, 0);
  g_assert_cmpint (g_atomic_int_get (&n_mapped), ==, 0);
  g_assert_cmpint (g_atomic_int_get (&n_alive), ==, 0);
}

/* @caps with memory:OpenCL. */
static gchar *
name_opencl (const gchar *caps)
{
  const gchar *fields = strchr (caps, ',');

  return g_strdup_printf ("%.*s" OPENCL "%s", (gint)(fields - caps), caps, fields);
}

#define RGB    VIDEO ("RGB", "width=53,height=9")
#define COLOUR "weight=[[.5,.2,0],[.25,.5,.1],[0,.25,.75]] "

static const struct {
  const gchar *name, *caps, *settings;
  gsize size;
} inputs[] = {
    {"rgb", RGB, COLOUR "queue-depth=3", 9 * 160},
    {"nv12", VIDEO ("NV12", "width=64,height=8"), COLOUR, 64 * 12},
    {"batches", RGB, COLOUR "batch-size=3 batch-timeout=0", 9 * 160},
    {"previous", RGB, COLOUR "alpha=.5 beta=.5", 9 * 160},
    {"audio", AUDIO ("S16LE", "2"), "weight=[[.5],[.25]]", 4 * 100},
    {"tensor", TENSOR ("3:5"), COLOUR, 60},
};
static const gchar *const types[] = {"OpenCL", GST_GEMMCL_MEMORY_TYPE_NAME};

/* The results are those of system memory. */
static void
test_input (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data) / 2;
  g_autofree gchar *caps = name_opencl (inputs[i].caps);
  g_autoptr (GstAllocator) allocator =
      foreign_allocator_new (types[GPOINTER_TO_UINT (data) % 2], TRUE);
  g_autoptr (Stream) foreign = stream_start (caps, "gemmcl name=a %s", inputs[i].settings);
  g_autoptr (Stream) plain = stream_start (inputs[i].caps, "gemmcl %s", inputs[i].settings);
  g_autoptr (GstStructure) stats = NULL;

  for (guint n = 0; n < 7; n++) {
    GstBuffer *buffer = noise_bytes (inputs[i].size, n);

    /* Their bytes as floats could be NaN or more than a float holds. */
    if (g_str_equal (inputs[i].name, "tensor"))
      gst_buffer_memset (buffer, 0, n, inputs[i].size);
    stream_push (plain, gst_buffer_ref (buffer));
    stream_push (foreign, append_foreign (gst_buffer_new (), allocator, buffer));
  }
  stream_end (plain);
  stream_end (foreign);
  stream_assert_same (foreign, plain);
  stats = stream_get_stats (foreign, "a");
  g_assert_cmpstr (gst_structure_get_string (stats, "memory"), ==, "system");
  assert_clean ();
}

static void
assert_refused (Stream *stream, GstBuffer *buffer)
{
  g_assert_cmpint (gst_harness_push (stream->harness, buffer), ==, GST_FLOW_ERROR);
  stream_assert_message (stream, GST_MESSAGE_ERROR,
                         "The host cannot map|\" of ForeignAllocator|Expected");
}

/* Memory that the host cannot map is an error that names it. */
static void
test_unmappable (void)
{
  g_autoptr (GstAllocator) allocator = foreign_allocator_new ("OpenCL", FALSE);

  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++) {
    g_autofree gchar *caps = name_opencl (inputs[i].caps);
    g_autoptr (Stream) stream = stream_start (caps, "gemmcl %s batch-size=1", inputs[i].settings);

    assert_refused (stream,
                    append_foreign (gst_buffer_new (), allocator, noise_bytes (inputs[i].size, i)));
    assert_clean ();
  }
}

/* A tensor that passes by is copied: the caps of the output promise gemmcl's memory. */
static void
test_passed_tensor (void)
{
  for (guint i = 0; i < 2 * G_N_ELEMENTS (types); i++) {
    const gboolean is_mappable = i % 2;
    g_autoptr (GstAllocator) passed = foreign_allocator_new (types[i / 2], is_mappable);
    g_autoptr (GstAllocator) allocator = foreign_allocator_new (types[i / 2], TRUE);
    g_autofree gchar *caps = name_opencl (TENSORS ("2", "7,2:1", "uint8,float32", "1/1"));
    g_autoptr (Stream) stream = stream_start (
        caps, "gemmcl weight=[[1],[1]] tensor-index=1 " FORCE ("other/tensors" OPENCL));
    g_autoptr (GstBuffer) output = NULL;
    GstBuffer *input =
        append_foreign (gst_buffer_new (), passed, gst_buffer_new_memdup ("passing", 7));
    GstMapInfo map;

    append_foreign (input, allocator, gst_buffer_new_memdup ((gfloat[]){1, 2}, 8));
    if (!is_mappable) {
      assert_refused (stream, input);
    } else {
      output = stream_run (stream, input);
      for (guint n = 0; n < 2; n++)
        g_assert_nonnull (gst_gemmcl_memory_get_cl_context (gst_buffer_peek_memory (output, n)));
      g_assert_true (gst_memory_map (gst_buffer_peek_memory (output, 0), &map, GST_MAP_READ));
      g_assert_cmpmem (map.data, map.size, "passing", 7);
      gst_memory_unmap (gst_buffer_peek_memory (output, 0), &map);
    }
    g_clear_pointer (&stream, stream_free);
    assert_clean ();
  }
}

/* A pool of such memory. */
G_DECLARE_FINAL_TYPE (ForeignPool, foreign_pool, FOREIGN, POOL, GstBufferPool)

struct _ForeignPool {
  GstBufferPool parent;
  GstAllocator *allocator;
};

G_DEFINE_TYPE (ForeignPool, foreign_pool, GST_TYPE_BUFFER_POOL)

static GstFlowReturn
foreign_pool_alloc (GstBufferPool *pool, GstBuffer **buffer,
                    GstBufferPoolAcquireParams *params G_GNUC_UNUSED)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  guint size;

  gst_buffer_pool_config_get_params (config, NULL, &size, NULL, NULL);
  gst_structure_free (config);
  *buffer = gst_buffer_new ();
  gst_buffer_append_memory (*buffer, foreign_memory_new (FOREIGN_POOL (pool)->allocator, size));
  return GST_FLOW_OK;
}

static void
foreign_pool_class_init (ForeignPoolClass *klass)
{
  GST_BUFFER_POOL_CLASS (klass)->alloc_buffer = foreign_pool_alloc;
}

static void
foreign_pool_init (ForeignPool *self G_GNUC_UNUSED)
{
}

/* Answers an ALLOCATION query with the allocator @data and a pool of it. */
static GstPadProbeReturn
offer (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  g_autoptr (ForeignPool) pool = NULL;

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  pool = gst_object_ref_sink (g_object_new (foreign_pool_get_type (), NULL));
  pool->allocator = data;
  gst_query_add_allocation_param (query, data, NULL);
  gst_query_add_allocation_pool (query, GST_BUFFER_POOL (pool), 9 * 160, 2, 0);
  return GST_PAD_PROBE_HANDLED;
}

static Stream *
start_into (GstAllocator *allocator, const gchar *output)
{
  Stream *stream = stream_new ("gemmcl " COLOUR);

  gst_pad_add_probe (GST_BASE_TRANSFORM_SRC_PAD (stream->element),
                     GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer, allocator, NULL);
  g_assert_true (stream_play (stream, RGB, output));
  return stream;
}

/* Downstream offers its allocator and pool. Output of memory:OpenCL is gemmcl's own all the same;
 * in system memory, the pool is used by a device that shares the memory of the host. */
static void
test_offered (void)
{
  static const gchar *const outputs[] = {RGB, "video/x-raw" OPENCL ",format=RGB"};
  g_autoptr (Stream) plain = stream_start (RGB, "gemmcl " COLOUR);
  g_autoptr (GemmclContext) context = gemmcl_context_new (NULL, NULL);
  const gboolean unified = gemmcl_context_get_device_info (context)->host_unified;

  stream_push (plain, noise_bytes (9 * 160, 1));
  stream_end (plain);
  for (guint i = 0; i < 4; i++) {
    const gboolean is_mappable = i % 2, is_used = unified && i < 2;
    g_autoptr (GstAllocator) allocator = foreign_allocator_new ("OpenCL", is_mappable);
    g_autoptr (Stream) stream = start_into (allocator, outputs[i / 2]);

    if (is_used && !is_mappable) {
      assert_refused (stream, noise_bytes (9 * 160, 1));
      continue;
    }
    stream_push (stream, noise_bytes (9 * 160, 1));
    g_assert_cmpint (g_atomic_int_get (&n_alive) > 0, ==, is_used);
    stream_end (stream);
    stream_assert_same (stream, plain);
  }
  assert_clean ();
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (inputs); i++) {
    g_autofree gchar *path = g_strdup_printf ("/foreign/%s/%s", inputs[i / 2].name, types[i % 2]);

    stream_add_data_test (path, GUINT_TO_POINTER (i), test_input);
  }
  stream_add_test ("/foreign/unmappable", test_unmappable);
  stream_add_test ("/foreign/passed-tensor", test_passed_tensor);
  stream_add_test ("/foreign/offered", test_offered);
  return g_test_run ();
}
