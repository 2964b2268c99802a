/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flows.h"
#include "plugins.h"

/* What elements do while buffers are in flight, many times: order, EOS, flushes, caps and states
 * that change under load; and what is left of it all. With GEMMCL_TEST_BRIEF some hundred buffers
 * each, else ten thousand. */

/* One element, and two that hand on OpenCL memory, of which one collects batches, and wants the
 * columns that there are. */
static const struct {
  const gchar *name, *text;
  gfloat factor;
} lines[] = {
    {"one", "gemmcl queue-depth=3 name=a weight=" LOAD_WEIGHT, 2},
    {"two",
     "gemmcl queue-depth=3 weight=" LOAD_WEIGHT
     " ! gemmcl queue-depth=3 batch-size=2 weight=" LOAD_WEIGHT,
     4},
};

static guint
get_n (void)
{
  return g_getenv ("GEMMCL_TEST_BRIEF") ? 300 : 10000;
}

/* A test with a line of its own for each of them. */
static void
run_lines (void (*flow) (Load *load))
{
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    flow_run (flow, lines[i].name, lines[i].text, lines[i].factor, NULL, get_n ());
}

static void
test_order (void)
{
  run_lines (flow_order);
}

static void
test_eos (void)
{
  run_lines (flow_eos);
}

static void
test_flush (void)
{
  run_lines (flow_flush);
}

static void
test_caps (void)
{
  run_lines (flow_caps);
}

static void
test_states (void)
{
  run_lines (flow_states);
}

static void
test_seek (void)
{
  g_autoptr (GstPlugin) plugin = plugins_load ("videotestsrc", NULL);

  if (plugin)
    flow_seek ("videotestsrc ! video/x-raw,format=GRAY8,width=16,height=8,framerate=1000/1 ! "
               "gemmcl weight=[1] queue-depth=3",
               GST_STATE_READY, get_n ());
  else
    g_test_skip ("there is no videotestsrc");
}

int
main (int argc, char **argv)
{
  g_autoptr (GstTracer) tracer = NULL;

  line_test_init (&argc, &argv);
  tracer = plugins_start_tracer ("leaks");
  stream_add_test ("/stress/order", test_order);
  stream_add_test ("/stress/eos", test_eos);
  stream_add_test ("/stress/flush", test_flush);
  stream_add_test ("/stress/caps", test_caps);
  stream_add_test ("/stress/states", test_states);
  stream_add_test ("/stress/seek", test_seek);
  g_test_add_data_func ("/stress/leaks", tracer, flow_check_leaks);
  return g_test_run ();
}
