/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The model of `gemmcl isa --model`. With --write, the tables of docs/model.md are made anew.
 */
#include <string.h>

#include "model-tables.h"
#include "tool.h"

#define BEGIN "<!-- begin: tests/tools/test-model --write -->\n"
#define END   "<!-- end -->\n"

/* The rest of the tool is in main.c. */
G_DEFINE_QUARK (gemmcl - tool - error, tool_error)

static const gchar *folder, *document;

/* What stands between the marks of @text is put there anew; NULL where there are no marks. */
static gchar *
replace_tables (const gchar *text)
{
  const gchar *begin = strstr (text, BEGIN);
  const gchar *end = begin != NULL ? strstr (begin, END) : NULL;
  g_autofree gchar *tables = NULL, *before = NULL;

  if (end == NULL)
    return NULL;
  tables = model_tables (folder);
  before = g_strndup (text, (gsize)(begin - text));
  return g_strconcat (before, BEGIN, tables, end, NULL);
}

static void
test_document (void)
{
  g_autofree gchar *text = NULL, *wanted = NULL;

  g_assert_true (g_file_get_contents (document, &text, NULL, NULL));
  wanted = replace_tables (text);
  g_assert_nonnull (wanted);
  g_assert_cmpstr (text, ==, wanted);
}

static void
test_correlation (void)
{
  const gdouble up[] = {1, 2, 3, 4}, down[] = {9, 7, 5, 1}, ties[] = {1, 2, 2, 4};

  g_assert_cmpfloat_with_epsilon (model_correlate (up, up, 4), 1, 1e-12);
  g_assert_cmpfloat_with_epsilon (model_correlate (up, down, 4), -1, 1e-12);
  /* 4.5 / sqrt (5 x 4.5) */
  g_assert_cmpfloat_with_epsilon (model_correlate (up, ties, 4), 0.9486833, 1e-6);
}

static void
test_shape (void)
{
  IsaShape shape;

  g_assert_true (isa_shape_read ("-cl-std=CL1.2 -DTILE_M=8 -DTILE_N=4 -DGROUP_M=2 -DGROUP_N=16 "
                                 "-DDEPTH=2 -DSUBGROUP_SIZE=16 -DA_TYPE=2",
                                 &shape));
  g_assert_cmpuint (shape.tile_m, ==, 8);
  g_assert_cmpuint (shape.tile_n, ==, 4);
  g_assert_cmpuint (shape.group_m, ==, 2);
  g_assert_cmpuint (shape.group_n, ==, 16);
  g_assert_cmpuint (shape.step, ==, 32);
  g_assert_cmpuint (shape.a_bytes, ==, 2);
  g_assert_cmpuint (shape.b_bytes, ==, 4);
  g_assert_cmpuint (shape.apart, ==, 0);
  g_assert_true (isa_shape_read ("-DTILE_M=4 -DTILE_N=4 -DGROUP_M=16 -DGROUP_N=16", &shape));
  g_assert_cmpuint (shape.apart, ==, 4);
  g_assert_true (isa_shape_read (
      "-DTILE_M=4 -DTILE_N=4 -DGROUP_M=16 -DGROUP_N=16 -DPERMUTED -DAPART", &shape));
  g_assert_cmpuint (shape.apart, ==, 1);
  g_assert_true (isa_shape_read (
      "-DTILE_M=4 -DTILE_N=4 -DGROUP_M=16 -DGROUP_N=16 -DTILE_K=16 -DWIDTH=1 -DPAD=1", &shape));
  g_assert_cmpuint (shape.slm_apart, ==, 4);
  g_assert_cmpuint (shape.slm_pad, ==, 1);
  g_assert_false (isa_shape_read ("-DTILE_M=4", &shape));
  g_assert_false (isa_shape_read ("-DTILE_M=4 -DTILE_N=0 -DGROUP_M=1 -DGROUP_N=1", &shape));
  g_assert_false (isa_shape_read (NULL, &shape));
}

/* A loop that only multiplies reaches the peak but for what pipes lose to each other; half of its
 * instructions for something else, half of that. */
static void
test_issue (void)
{
  const IsaDevice *device = isa_device_find (isa_target_find ("dg1"));
  const IsaShape shape = {
      .tile_m = 8, .tile_n = 4, .group_m = 1, .group_n = 8, .a_bytes = 4, .b_bytes = 4, .sides = 1};
  const IsaProblem problem = {.m = 5376, .n = 8192, .k = 1024};
  IsaLoop loop = {.parent = -1, .instructions = 512, .multiply = 512, .mads = 512, .passes = 512};
  const IsaFigures figures = {
      .simd = 8, .register_bytes = 32, .registers = 128, .loops = &loop, .n_loops = 1, .hot = 0};
  IsaDevice fast = *device;
  IsaPrediction all, half;

  fast.memory_gbs = 1e9;
  g_assert_true (isa_model_predict (&figures, &shape, &fast, &problem, &all));
  g_assert_cmpfloat (all.efficiency, >, 0.99);
  g_assert_cmpfloat (all.efficiency, <, 1 + 1e-6);
  g_assert_cmpint (all.bound, ==, ISA_BOUND_ISSUE);
  loop.passes = 1024;
  g_assert_true (isa_model_predict (&figures, &shape, &fast, &problem, &half));
  g_assert_cmpfloat_with_epsilon (half.efficiency, all.efficiency / 2, 0.01);
  loop.dpas = 1;
  g_assert_false (isa_model_predict (&figures, &shape, &fast, &problem, &half));
}

/* The same of matrix engines: what else there is has pipes of its own, until that takes longer. */
static void
test_engines (void)
{
  const IsaShape shape = {.tile_m = 32,
                          .tile_n = 4,
                          .group_m = 8,
                          .group_n = 64,
                          .a_bytes = 2,
                          .b_bytes = 2,
                          .sides = 1};
  const IsaProblem problem = {.m = 256 * 20, .n = 256 * 16, .k = 1024};
  IsaLoop loop = {.parent = -1,
                  .instructions = 48,
                  .dpas = 32,
                  .dpas_macs = 32 * 128,
                  .passes = 272,
                  .moves = 16};
  const IsaFigures figures = {
      .simd = 16, .register_bytes = 64, .registers = 256, .loops = &loop, .n_loops = 1, .hot = 0};
  IsaDevice fast = *isa_device_find (isa_target_find ("bmg"));
  IsaPrediction all, half;

  fast.memory_gbs = 1e9;
  g_assert_true (isa_model_predict (&figures, &shape, &fast, &problem, &all));
  g_assert_cmpfloat (all.efficiency, >, 0.98);
  g_assert_cmpfloat (all.efficiency, <, 1 + 1e-6);
  g_assert_cmpfloat_with_epsilon (all.dpas_share, 512.0 / 528, 1e-9);
  /* 256 operations a clock of an EU. */
  g_assert_cmpfloat_with_epsilon (all.gflops / all.efficiency, 256 * 160 * 2.67, 1);
  loop.passes = 256 + 1024;
  loop.moves = 1024;
  loop.instructions = 32 + 1024;
  g_assert_true (isa_model_predict (&figures, &shape, &fast, &problem, &half));
  g_assert_cmpfloat_with_epsilon (half.efficiency, 0.5, 0.01);
  g_assert_cmpfloat_with_epsilon (half.dpas_share, 1.0 / 3, 1e-9);
}

/* Memory alone limits, and its bandwidth is what is reached. */
static void
test_memory (void)
{
  const IsaShape shape = {
      .tile_m = 1, .tile_n = 1, .group_m = 1, .group_n = 8, .a_bytes = 4, .b_bytes = 4, .sides = 1};
  const IsaProblem problem = {.m = 8192, .n = 8192, .k = 8192};
  IsaLoop loop = {.parent = -1,
                  .instructions = 2,
                  .multiply = 1,
                  .mads = 1,
                  .passes = 1,
                  .loads = 2,
                  .load_bytes = 64};
  const IsaFigures figures = {
      .simd = 8, .register_bytes = 32, .registers = 128, .loops = &loop, .n_loops = 1, .hot = 0};
  IsaDevice slow = *isa_device_find (isa_target_find ("dg1"));
  IsaPrediction prediction;
  gdouble seconds;

  slow.memory_gbs = 1;
  g_assert_true (isa_model_predict (&figures, &shape, &slow, &problem, &prediction));
  seconds =
      problem.m * problem.n * problem.k / (prediction.efficiency * slow.eus * 8 * slow.mhz * 1e6);
  g_assert_cmpint (prediction.bound, ==, ISA_BOUND_MEMORY);
  g_assert_cmpfloat_with_epsilon (prediction.missed_bytes / seconds / 1e9, 1, 0.01);
}

/* Every threshold is a little below what was reached: a change that loses more should say why. */
static void
test_measurements (void)
{
  ModelResult result;

  model_compare (&model_article, folder, NULL, &result);
  g_assert_cmpfloat (result.correlation, >=, 0.75);
  g_assert_cmpfloat (result.mean_error, <=, 18);
  model_compare (&model_dg1, folder, NULL, &result);
  g_assert_cmpfloat (result.correlation, >=, 0.9);
}

static int
write_document (void)
{
  g_autofree gchar *text = NULL, *made = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_file_get_contents (document, &text, NULL, &error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  made = replace_tables (text);
  if (made == NULL) {
    g_printerr ("%s should have a line %s and after it %s", document, BEGIN, END);
    return 1;
  }
  if (!g_file_set_contents (document, made, -1, &error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  return 0;
}

int
main (int argc, char **argv)
{
  folder = g_getenv ("GEMMCL_ISA_DATA");
  document = g_getenv ("GEMMCL_MODEL_DOCUMENT");
  if (folder == NULL || document == NULL) {
    g_printerr ("GEMMCL_ISA_DATA and GEMMCL_MODEL_DOCUMENT should say where tests/data/isa and "
                "docs/model.md are.\n");
    return 1;
  }
  if (argc == 2 && g_str_equal (argv[1], "--write"))
    return write_document ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/model/correlation", test_correlation);
  g_test_add_func ("/model/shape", test_shape);
  g_test_add_func ("/model/issue", test_issue);
  g_test_add_func ("/model/engines", test_engines);
  g_test_add_func ("/model/memory", test_memory);
  g_test_add_func ("/model/measurements", test_measurements);
  g_test_add_func ("/model/document", test_document);
  return g_test_run ();
}
