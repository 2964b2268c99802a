/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <gemmcl-opencl.h>
#include <gemmcl.h>
#include <glib/gstdio.h>
#include <string.h>

#include "log.h"
#include "memory/gstgemmclmemory.h"
#include "sharing-example.h"
#include "stream.h"

/* Elements share one OpenCL context: with each other, across what forwards no queries, and with the
 * application. */

G_DEFINE_AUTO_CLEANUP_FREE_FUNC (cl_context, clReleaseContext, NULL)

/* Elements, and how often they asked for a context and announced one. */
typedef struct {
  Stream *stream;
  cl_context offered; /* what the application answers need-context with; NULL: nothing */
  gint n_needed;
  gint n_announced;
} Fixture;

static void
count_message (GstBus *bus G_GNUC_UNUSED, GstMessage *message, Fixture *self)
{
  switch (GST_MESSAGE_TYPE (message)) {
  case GST_MESSAGE_NEED_CONTEXT:
    g_atomic_int_inc (&self->n_needed);
    if (self->offered)
      share_context (GST_ELEMENT (GST_MESSAGE_SRC (message)), self->offered);
    break;
  case GST_MESSAGE_HAVE_CONTEXT:
    g_atomic_int_inc (&self->n_announced);
    break;
  default:
    break;
  }
}

/* Drops queries for contexts, as elements do that know only their own kind. */
static GstPadProbeReturn
forward_nothing (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data G_GNUC_UNUSED)
{
  return GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info)) == GST_QUERY_CONTEXT ? GST_PAD_PROBE_DROP
                                                                               : GST_PAD_PROBE_OK;
}

static void
close_pads (gpointer element)
{
  static const gchar *const names[] = {"sink", "src"};

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (element, names[i]);

    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_QUERY_BOTH, forward_nothing, NULL, NULL);
  }
}

/* @line: elements; one called "closed" forwards no queries. */
static void
fixture_init (Fixture *self, const gchar *line)
{
  self->stream = stream_new ("%s", line);
  gst_bus_enable_sync_message_emission (self->stream->bus);
  g_signal_connect (self->stream->bus, "sync-message", G_CALLBACK (count_message), self);
  if (strstr (line, "closed"))
    close_pads (stream_get (self->stream, "closed"));
}

static void
fixture_clear (Fixture *self)
{
  g_clear_pointer (&self->stream, stream_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static void
set_state (GstElement *element, GstState state)
{
  g_assert_cmpint (gst_element_set_state (element, state), ==, GST_STATE_CHANGE_SUCCESS);
}

static void
fixture_open (Fixture *self)
{
  set_state (self->stream->element, GST_STATE_READY);
}

/* The context that the element @name has. It lives as long as that is open. */
static cl_context
fixture_get_context (Fixture *self, const gchar *name)
{
  GstElement *element = stream_get (self->stream, name);
  cl_context context = get_context (element);

  if (context)
    clReleaseContext (context);
  return context;
}

/* The GstContext of @element; NULL if it has none. */
static GstContext *
query_context (GstElement *element)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, "src");
  g_autoptr (GstQuery) query = gst_query_new_context ("OpenCL");
  GstContext *shared = NULL;

  if (gst_pad_query (pad, query))
    gst_query_parse_context (query, &shared);
  return shared ? gst_context_ref (shared) : NULL;
}

/* (transfer full) */
static GemmclContext *
query_object (GstElement *element)
{
  g_autoptr (GstContext) shared = query_context (element);
  GemmclContext *context = NULL;

  g_assert_nonnull (shared);
  g_assert_true (gst_context_is_persistent (shared));
  gst_structure_get (gst_context_get_structure (shared), "gemmcl-context", G_TYPE_OBJECT, &context,
                     NULL);
  g_assert_true (GEMMCL_IS_CONTEXT (context));
  return context;
}

static cl_context
make_context (guint device)
{
  g_autofree gchar *number = g_strdup_printf ("%u", device);
  const GemmclDeviceQuery query = {.device = number};
  g_autoptr (GemmclContext) made = gemmcl_context_new (&query, NULL);
  cl_context context;

  g_assert_nonnull (made);
  context = gemmcl_context_get_cl_context (made);
  clRetainContext (context);
  return context;
}

/* Returns: whether a bin gave a context to the element @name. */
static gboolean
fixture_was_given (Fixture *self, const gchar *name)
{
  GstElement *element = stream_get (self->stream, name);
  g_autoptr (GstContext) shared = gst_element_get_context (element, "OpenCL");

  return shared != NULL;
}

/* a and b have one context, which one made and announced, and which the other got from it or, if
 * @by_bin, from the bin that keeps what is announced. States change from the sinks on, so that the
 * second to open asks downstream. */
static const struct {
  const gchar *path, *line;
  gboolean by_bin;
} pairs[] = {
    {"/context/pair", "gemmcl name=a ! gemmcl name=b", FALSE},
    {"/context/through", "gemmcl name=a ! queue ! tee ! identity ! queue ! gemmcl name=b", FALSE},
    {"/context/through-closed", "gemmcl name=a ! identity name=closed ! gemmcl name=b", TRUE},
    {"/context/unlinked", "gemmcl name=a  gemmcl name=b", TRUE},
};

static void
test_pair (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_auto (Fixture) f = {0};
  cl_context context;

  fixture_init (&f, pairs[i].line);
  g_assert_null (fixture_get_context (&f, "a"));
  fixture_open (&f);
  context = fixture_get_context (&f, "a");
  g_assert_nonnull (context);
  g_assert_true (fixture_get_context (&f, "b") == context);
  g_assert_cmpint (f.n_needed, ==, 1);
  g_assert_cmpint (f.n_announced, ==, 1);
  g_assert_cmpint (fixture_was_given (&f, "a") + fixture_was_given (&f, "b"), ==, pairs[i].by_bin);
}

/* One that is opened later asks upstream. */
static void
test_upstream (void)
{
  g_auto (Fixture) f = {0};
  GstElement *a;

  fixture_init (&f, "gemmcl name=a ! queue ! gemmcl name=b");
  a = stream_get (f.stream, "a");
  set_state (a, GST_STATE_READY);
  g_assert_null (fixture_get_context (&f, "b"));
  fixture_open (&f);
  g_assert_true (fixture_get_context (&f, "a") == fixture_get_context (&f, "b"));
  g_assert_cmpint (f.n_needed, ==, 1);
  g_assert_cmpint (f.n_announced, ==, 1);
  g_assert_false (fixture_was_given (&f, "b"));
}

/* Two pipelines have the application's, one because it was set, the other because it asked. All
 * share what is built, too. */
static void
test_application (void)
{
  g_auto (cl_context) context = make_context (0);
  g_auto (Fixture) set = {0}, asks = {.offered = context};
  Fixture *const fixtures[] = {&set, &asks};
  g_autoptr (GemmclContext) first = NULL;

  fixture_init (&set, "gemmcl name=a ! identity name=closed ! gemmcl name=b");
  fixture_init (&asks, "gemmcl name=a ! identity name=closed ! gemmcl name=b");
  share_context (set.stream->element, context);
  for (guint i = 0; i < G_N_ELEMENTS (fixtures); i++) {
    fixture_open (fixtures[i]);
    g_assert_cmpint (fixtures[i]->n_announced, ==, 0);
    for (const gchar *name = "ab"; *name; name++) {
      GstElement *element = stream_get (fixtures[i]->stream, (const gchar[]){*name, '\0'});
      g_autoptr (GemmclContext) object = query_object (element);

      g_assert_true (gemmcl_context_get_cl_context (object) == context);
      if (!first)
        g_set_object (&first, object);
      g_assert_true (object == first);
    }
  }
  g_assert_cmpint (set.n_needed, ==, 0);
  g_assert_cmpint (asks.n_needed, ==, 2);
}

/* Other pipelines of the process have one, too, but not what an application gave to one of them. */
static void
test_process (void)
{
  g_auto (cl_context) context = make_context (0);
  g_auto (Fixture) one = {0}, other = {0}, given = {0};

  fixture_init (&one, "gemmcl name=a");
  fixture_init (&other, "gemmcl name=a");
  fixture_init (&given, "gemmcl name=a");
  share_context (given.stream->element, context);
  fixture_open (&given);
  fixture_open (&one);
  fixture_open (&other);
  g_assert_true (fixture_get_context (&given, "a") == context);
  g_assert_true (fixture_get_context (&one, "a") != context);
  g_assert_true (fixture_get_context (&one, "a") == fixture_get_context (&other, "a"));
}

/* The application's context is on the second device; b has that one, and is what others meet first.
 */
static void
test_two_devices (void)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, NULL);
  g_auto (cl_context) context = NULL;
  g_auto (Fixture) own = {0}, f = {0};

  if (devices->len < 2) {
    g_test_skip ("there is one OpenCL device only");
    return;
  }
  context = make_context (1);
  fixture_init (&f, "gemmcl name=a device=0 ! gemmcl name=b device=1 ! gemmcl name=c");
  share_context (f.stream->element, context);
  fixture_open (&f);
  g_assert_nonnull (fixture_get_context (&f, "a"));
  g_assert_true (fixture_get_context (&f, "a") != context);
  g_assert_true (fixture_get_context (&f, "b") == context);
  g_assert_true (fixture_get_context (&f, "c") == context);

  fixture_init (&own, "gemmcl name=a device=0 ! gemmcl name=b device=1 ! gemmcl name=c device=0");
  fixture_open (&own);
  g_assert_true (fixture_get_context (&own, "a") == fixture_get_context (&own, "c"));
  g_assert_true (fixture_get_context (&own, "a") != fixture_get_context (&own, "b"));
}

/* Answers queries for contexts with the GstContext @data. */
static GstPadProbeReturn
answer (GstPad *pad G_GNUC_UNUSED, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_CONTEXT)
    return GST_PAD_PROBE_OK;
  gst_query_set_context (query, data);
  return GST_PAD_PROBE_HANDLED;
}

/* A context that holds nothing of OpenCL, or other fields than gemmcl's, is ignored, wherever it
 * comes from, and a line in the log says so. */
static void
test_useless (void)
{
  static const struct {
    const gchar *type, *pad; /* NULL: the bin has it */
  } cases[] = {{"OpenCL", NULL}, {"gst.gl.GLDisplay", NULL}, {"OpenCL", "src"}, {"OpenCL", "sink"}};

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    g_auto (Fixture) f = {0};
    const gchar *const name = cases[i / 2].pad;
    g_autoptr (GstContext) useless = gst_context_new (cases[i / 2].type, TRUE);
    g_autoptr (GObject) object = g_object_new (G_TYPE_OBJECT, NULL);
    GstElement *a;
    g_autoptr (GstPad) pad = NULL;
    g_auto (GStrv) lines = NULL;
    cl_context context;

    if (i % 2)
      gst_structure_set (gst_context_writable_structure (useless), "cl_context", G_TYPE_INT, 3,
                         "gemmcl-context", G_TYPE_POINTER, NULL, NULL);
    else
      gst_structure_set (gst_context_writable_structure (useless), "ocl_context", G_TYPE_POINTER,
                         object, "gemmcl-context", G_TYPE_OBJECT, object, NULL);
    log_begin ("gemmcl", GST_LEVEL_WARNING);
    fixture_init (&f, "gemmcl name=a weight=[1]");
    a = stream_get (f.stream, "a");
    pad = name ? gst_element_get_static_pad (a, name) : NULL;
    if (name)
      gst_pad_add_probe (pad,
                         g_str_equal (name, "src") ? GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM
                                                   : GST_PAD_PROBE_TYPE_QUERY_UPSTREAM,
                         answer, useless, NULL);
    else
      gst_element_set_context (f.stream->element, useless);
    fixture_open (&f);
    context = fixture_get_context (&f, "a");
    g_assert_nonnull (context);
    g_assert_cmpint (f.n_announced, ==, 1);
    lines = log_end ();
    g_assert_cmpint (log_count (lines, "is not taken: It has no pointer \"cl_context\"") > 0, ==,
                     g_str_equal (cases[i / 2].type, "OpenCL"));
    gst_element_set_context (a, useless);
    set_state (f.stream->element, GST_STATE_PAUSED);
    g_assert_true (fixture_get_context (&f, "a") == context);
  }
}

/* A context that is set on an open element is taken when streaming starts. */
static void
test_set_later (void)
{
  g_auto (cl_context) context = make_context (0);
  g_auto (Fixture) f = {0};
  cl_context before;

  fixture_init (&f, "gemmcl name=a weight=[1]");
  fixture_open (&f);
  before = fixture_get_context (&f, "a");
  share_context (f.stream->element, context);
  g_assert_true (fixture_get_context (&f, "a") == before);
  set_state (f.stream->element, GST_STATE_PAUSED);
  g_assert_true (fixture_get_context (&f, "a") == context);
}

/* A GstContext keeps alive what is in it; with the last of all nothing is left. */
static void
test_lifetime (void)
{
  g_auto (Fixture) f = {0};
  GstElement *a;
  g_autoptr (GstContext) shared = NULL;
  GemmclContext *object;
  gpointer alive;
  cl_uint n = 0;

  fixture_init (&f, "gemmcl name=a ! gemmcl name=b");
  fixture_open (&f);
  a = stream_get (f.stream, "a");
  shared = query_context (a);
  alive = object = query_object (a);
  g_object_add_weak_pointer (G_OBJECT (object), &alive);
  g_object_unref (object);
  fixture_clear (&f);
  g_assert_nonnull (alive);
  g_assert_cmpint (clGetContextInfo (gemmcl_context_get_cl_context (alive),
                                     CL_CONTEXT_REFERENCE_COUNT, sizeof n, &n, NULL),
                   ==, CL_SUCCESS);
  g_assert_cmpuint (n, >=, 1);
  g_clear_pointer (&shared, gst_context_unref);
  g_assert_null (alive);
}

/* The application's own is left with the application's own reference. */
static void
test_application_lifetime (void)
{
  g_auto (cl_context) context = make_context (0);
  cl_uint before = 0, after = 0;
  g_auto (Fixture) f = {0};

  clGetContextInfo (context, CL_CONTEXT_REFERENCE_COUNT, sizeof before, &before, NULL);
  for (guint i = 0; i < 3; i++) {
    fixture_init (&f, "gemmcl name=a ! gemmcl name=b");
    share_context (f.stream->element, context);
    fixture_open (&f);
    g_assert_true (fixture_get_context (&f, "b") == context);
    fixture_clear (&f);
  }
  clGetContextInfo (context, CL_CONTEXT_REFERENCE_COUNT, sizeof after, &after, NULL);
  g_assert_cmpuint (after, ==, before);
}

static gpointer
open_and_close (gpointer element)
{
  for (guint i = 0; i < 50; i++) {
    cl_context context;

    set_state (element, GST_STATE_READY);
    context = get_context (element);
    g_assert_nonnull (context);
    clReleaseContext (context);
    set_state (element, i % 2 ? GST_STATE_NULL : GST_STATE_PAUSED);
  }
  return NULL;
}

/* Each thread opens and closes one of the elements; then all are open and have one. */
static void
test_threads (void)
{
  static const gchar *const names[] = {"a", "b", "c", "d"};
  g_auto (Fixture) f = {0};
  GThread *threads[G_N_ELEMENTS (names)];
  cl_context context;

  fixture_init (&f, "gemmcl name=a weight=[1] ! gemmcl name=b weight=[1] ! "
                    "identity name=closed ! gemmcl name=c weight=[1]  gemmcl name=d weight=[1]");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    GstElement *element = stream_get (f.stream, names[i]);

    threads[i] = g_thread_new (names[i], open_and_close, element);
  }
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_thread_join (threads[i]);
  fixture_open (&f);
  context = fixture_get_context (&f, "a");
  for (guint i = 1; i < G_N_ELEMENTS (names); i++)
    g_assert_true (fixture_get_context (&f, names[i]) == context);
}

/* Old weights are freed by a thread of their own, some time after they were exchanged. */
static void
assert_weights (GemmclContext *context, guint n)
{
  GemmclContextStats stats;

  for (guint i = 0; i < 1000; i++) {
    gemmcl_context_get_stats (context, &stats);
    if (stats.weights == n)
      return;
    g_usleep (5000);
  }
  g_assert_cmpuint (stats.weights, ==, n);
}

/* One file, two elements, two sizes of frames: one buffer. */
static void
test_weights (void)
{
  static const gchar *const frames[] = {VIDEO ("RGB", "width=6,height=4"),
                                        VIDEO ("RGB", "width=3,height=8")};
  const gfloat values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const guint8 pixels[8 * 12] = {0};
  g_autofree gchar *directory = g_dir_make_tmp ("gemmcl-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (directory, "weight.npy", NULL);
  g_autoptr (GemmclMatrix) matrix = gemmcl_matrix_new (GEMMCL_TYPE_F32, 3, 3, values, NULL);
  Stream *streams[2];
  GemmclContext *contexts[2];

  g_assert_true (gemmcl_matrix_save_npy (matrix, path, NULL));
  for (guint i = 0; i < 2; i++) {
    streams[i] = stream_start (frames[i], "gemmcl weight=%s", path);
    contexts[i] = query_object (streams[i]->element);
    assert_weights (contexts[i], 1);
  }
  g_assert_true (contexts[0] == contexts[1]);
  g_object_set (streams[1]->element, "weight", "[[1,0,0],[0,1,0],[0,0,1]]", NULL);
  /* It takes the old one's place before the next buffer. */
  gst_buffer_unref (stream_run (streams[1], gst_buffer_new_memdup (pixels, sizeof pixels)));
  assert_weights (contexts[0], 2);
  for (guint i = 0; i < 2; i++) {
    stream_free (streams[i]);
    assert_weights (contexts[i], 1 - i);
  }
  g_object_unref (contexts[0]);
  g_object_unref (contexts[1]);
  g_unlink (path);
  g_rmdir (directory);
}

int
main (int argc, char **argv)
{
  /* PoCL then shows two devices. */
  g_setenv ("POCL_DEVICES", "pthread basic", FALSE);
  stream_test_init (&argc, &argv);
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    stream_add_data_test (pairs[i].path, GUINT_TO_POINTER (i), test_pair);
  stream_add_test ("/context/upstream", test_upstream);
  stream_add_test ("/context/application", test_application);
  stream_add_test ("/context/process", test_process);
  stream_add_test ("/context/two-devices", test_two_devices);
  stream_add_test ("/context/useless", test_useless);
  stream_add_test ("/context/set-later", test_set_later);
  stream_add_test ("/context/lifetime", test_lifetime);
  stream_add_test ("/context/application-lifetime", test_application_lifetime);
  stream_add_test ("/context/threads", test_threads);
  stream_add_test ("/context/weights", test_weights);
  return g_test_run ();
}
