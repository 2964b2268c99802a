/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sharing-example.h"
#include "stream.h"

/* Elements that are opened by threads of their own share one OpenCL context. The example of
 * docs/sharing.md asks for it; sharing.py has whose it is. */

static gpointer
open_and_close (gpointer element)
{
  for (guint i = 0; i < 50; i++) {
    cl_context context;

    g_assert_cmpint (gst_element_set_state (element, GST_STATE_READY), ==,
                     GST_STATE_CHANGE_SUCCESS);
    context = get_context (element);
    g_assert_nonnull (context);
    clReleaseContext (context);
    g_assert_cmpint (gst_element_set_state (element, i % 2 ? GST_STATE_NULL : GST_STATE_PAUSED), ==,
                     GST_STATE_CHANGE_SUCCESS);
  }
  return NULL;
}

/* Each thread opens and closes one of the elements; then all are open and have one. Between
 * two and two there is no link. */
static void
test_threads (void)
{
  static const gchar *const names[] = {"a", "b", "c", "d"};
  g_autoptr (Stream) stream =
      stream_new ("gemmcl name=a weight=[1] ! gemmcl name=b weight=[1] ! "
                  "fakesink  gemmcl name=c weight=[1]  gemmcl name=d weight=[1]");
  GThread *threads[G_N_ELEMENTS (names)];
  cl_context contexts[G_N_ELEMENTS (names)];

  /* GLib's table of names has a lock that ThreadSanitizer does not see: they are made before. */
  stream_set_state (stream, GST_STATE_READY);
  stream_set_state (stream, GST_STATE_NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    threads[i] = g_thread_new (names[i], open_and_close, stream_get (stream, names[i]));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_thread_join (threads[i]);
  stream_set_state (stream, GST_STATE_READY);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    contexts[i] = get_context (stream_get (stream, names[i]));
    g_assert_true (contexts[i] == contexts[0]);
    clReleaseContext (contexts[i]);
  }
}

int
main (int argc, char **argv)
{
  stream_test_init (&argc, &argv);
  stream_add_test ("/context/threads", test_threads);
  return g_test_run ();
}
