/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model-tables.h"

#include <math.h>

#include "json.h"

#define MAX_KERNELS 16
#define LINE_BYTES  64
#define PARTS       256

/* "SGEMM for Intel Processor Graphics" (L. Kong, R. Ioffe): VTune's table of kernels at 1024 x 1024
 * on an HD 4400 of 20 EUs at 600 MHz. */
#define HD4400_PEAK_GFLOPS 192.0
#define HD4400_MS(ms)      (2.0 * 1024 * 1024 * 1024 / ((ms)*1e6) / HD4400_PEAK_GFLOPS)
/* Million L3 misses a second in so many ms. */
#define HD4400_MB(misses, ms) ((misses) * (ms)*1e-3 * LINE_BYTES)

static const gchar *const hd4400_names[] = {
    "gemm_naive",          "L3_SIMD_8x4_1x8",  "L3_SIMD_32x2_1x8",
    "L3_SLM_8x8_16x16",    "L3_SLM_8x8_4x16",  "L3_SLM_8x8_8x16",
    "L3_SIMD_8x4_8x8",     "L3_SIMD_16x2_1x8", "L3_SIMD_8x4_8x8_barrier",
    "block_read_32x1_1x8", "L3_SIMD_16x2_4x8", "block_read_32x2_1x8"};
static const gdouble hd4400_measured[] = {
    HD4400_MS (353.298), HD4400_MS (40.917), HD4400_MS (27.930), HD4400_MS (23.235),
    HD4400_MS (22.943),  HD4400_MS (22.054), HD4400_MS (20.995), HD4400_MS (20.708),
    HD4400_MS (20.295),  HD4400_MS (20.050), HD4400_MS (18.515), HD4400_MS (16.028)};
static const gdouble hd4400_megabytes[] = {
    HD4400_MB (189.330, 353.298), HD4400_MB (206.320, 40.917), HD4400_MB (57.666, 27.930),
    HD4400_MB (68.043, 23.235),   HD4400_MB (143.672, 22.943), HD4400_MB (95.165, 22.054),
    HD4400_MB (170.842, 20.995),  HD4400_MB (243.361, 20.708), HD4400_MB (134.254, 20.295),
    HD4400_MB (351.772, 20.050),  HD4400_MB (216.024, 18.515), HD4400_MB (219.924, 16.028)};

/* "Efficient kernel with DPC++" (Z. Wei), 1280 x 1280 on a DG1: its steps, as rows of ours. */
static const gchar *const dg1_names[] = {"gemm_naive", "outputs_4x4_16x16",
                                         "outputs_permuted_4x4_16x16", "slm_4x4_16x16",
                                         "slm_padded_4x4_16x16"};
static const gdouble dg1_measured[] = {0.083, 0.042, 0.36, 0.58, 0.62};

const ModelComparison model_article = {
    "article.json",  G_N_ELEMENTS (hd4400_names), 1024, hd4400_names, hd4400_measured,
    hd4400_megabytes};
const ModelComparison model_hd4400 = {
    "hd4400.json",   G_N_ELEMENTS (hd4400_names), 1024, hd4400_names, hd4400_measured,
    hd4400_megabytes};
const ModelComparison model_dg1 = {
    "dg1.json", G_N_ELEMENTS (dg1_names), 1280, dg1_names, dg1_measured, NULL};

static json_t *
load (const gchar *folder, const gchar *file)
{
  g_autofree gchar *path = g_build_filename (folder, file, NULL);
  json_error_t why;
  json_t *json = json_load_file (path, 0, &why);

  if (json == NULL)
    g_error ("%s: %s", path, why.text);
  return json;
}

static IsaFigures *
get_figures (const json_t *json, const gchar *kernel, const gchar *target)
{
  for (gsize i = 0; i < json_array_size (json); i++) {
    g_autoptr (IsaFigures) figures = isa_figures_from_json (json_array_get (json, i));
    if (figures != NULL && g_str_equal (figures->kernel, kernel) &&
        (target == NULL || g_str_equal (figures->target->name, target)))
      return g_steal_pointer (&figures);
  }
  g_error ("There are no figures of %s.", kernel);
}

static void
predict (const IsaFigures *figures, const IsaDevice *device, const IsaProblem *problem,
         IsaPrediction *prediction)
{
  IsaShape shape;

  if (!isa_shape_read (figures->options, &shape) ||
      !isa_model_predict (figures, &shape, device, problem, prediction))
    g_error ("The model does not apply to %s.", figures->kernel);
}

static gdouble
get_rank (const gdouble *x, guint n, guint i)
{
  gdouble rank = 0.5;

  for (guint j = 0; j < n; j++)
    rank += x[j] < x[i] ? 1 : x[j] == x[i] ? 0.5 : 0;
  return rank;
}

gdouble
model_correlate (const gdouble *a, const gdouble *b, guint n)
{
  const gdouble mean = (n + 1) / 2.0;
  gdouble both = 0, of_a = 0, of_b = 0;

  for (guint i = 0; i < n; i++) {
    const gdouble x = get_rank (a, n, i) - mean, y = get_rank (b, n, i) - mean;
    both += x * y;
    of_a += x * x;
    of_b += y * y;
  }
  return both / sqrt (of_a * of_b);
}

void
model_compare (const ModelComparison *comparison, const gchar *folder, const IsaDevice *device,
               ModelResult *result)
{
  g_autoptr (json_t) json = load (folder, comparison->file);
  const IsaProblem problem = {.m = comparison->size, .n = comparison->size, .k = comparison->size};
  gdouble efficiency[MAX_KERNELS];

  *result = (ModelResult){0};
  for (guint i = 0; i < comparison->n; i++) {
    g_autoptr (IsaFigures) figures = get_figures (json, comparison->names[i], NULL);
    const IsaDevice *own = isa_device_find (figures->target);
    gdouble error;

    predict (figures, device != NULL ? device : own, &problem, &result->predicted[i]);
    efficiency[i] = result->predicted[i].efficiency;
    error = 100 * fabs (efficiency[i] - comparison->measured[i]);
    result->mean_error += error / comparison->n;
    if (error > result->largest_error) {
      result->largest_error = error;
      result->worst = i;
    }
  }
  result->correlation = model_correlate (efficiency, comparison->measured, comparison->n);
}

static void
print_comparison (GString *out, const gchar *folder, const ModelComparison *comparison)
{
  ModelResult result;
  gdouble traffic[MAX_KERNELS];

  model_compare (comparison, folder, NULL, &result);
  g_string_append (out,
                   comparison->megabytes != NULL
                       ? "| kernel | measured | model | error | bound by | MB measured | MB of "
                         "the model |\n|---|---|---|---|---|---|---|\n"
                       : "| kernel | measured | model | error | bound by |\n"
                         "|---|---|---|---|---|\n");
  for (guint i = 0; i < comparison->n; i++) {
    const IsaPrediction *prediction = &result.predicted[i];
    g_string_append_printf (out, "| `%s` | %.1f %% | %.1f %% | %+.1f | %s |", comparison->names[i],
                            100 * comparison->measured[i], 100 * prediction->efficiency,
                            100 * (prediction->efficiency - comparison->measured[i]),
                            isa_bound_get_name (prediction->bound));
    traffic[i] = prediction->missed_bytes;
    if (comparison->megabytes != NULL)
      g_string_append_printf (out, " %.0f | %.0f |", comparison->megabytes[i], traffic[i] / 1e6);
    g_string_append_c (out, '\n');
  }
  g_string_append_printf (out,
                          "\nSpearman's rank correlation: %.2f. Error: %.1f %% of the peak in the "
                          "mean, %.1f %% at most (`%s`).\n",
                          result.correlation, result.mean_error, result.largest_error,
                          comparison->names[result.worst]);
  if (comparison->megabytes != NULL)
    g_string_append_printf (out, "Of the traffic: rank correlation %.2f.\n",
                            model_correlate (traffic, comparison->megabytes, comparison->n));
}

/* What the article says of its methods on the fourth and the fifth generation, in percent. */
static const struct {
  const gchar *method, *fourth, *fifth;
} stated[] = {{"gemm_naive", "2 to 3", "2 to 3"},
              {"L3_SLM", "50", "50"},
              {"L3_SIMD", "60", "60"},
              {"block_read", "65 to 70", "80"}};

/* The Iris of the fifth generation that it names: 23 EUs at 900 MHz; three sub-slices of eight. */
static IsaDevice
get_fifth (void)
{
  IsaDevice device = *isa_device_find (isa_target_find ("bdw"));

  device.title = "23 EUs (Gen8)";
  device.eus = 23;
  device.core_eus = 8;
  device.mhz = 900;
  device.cache_size = 384 * 1024;
  return device;
}

static void
get_range (const ModelResult *result, const gchar *method, gdouble *least, gdouble *most)
{
  *least = 1;
  *most = 0;
  for (guint i = 0; i < model_article.n; i++)
    if (g_str_has_prefix (model_article.names[i], method)) {
      *least = MIN (*least, result->predicted[i].efficiency);
      *most = MAX (*most, result->predicted[i].efficiency);
    }
}

static void
print_stated (GString *out, const gchar *folder)
{
  const IsaDevice fifth = get_fifth ();
  ModelResult of_fourth, of_fifth;

  model_compare (&model_article, folder, NULL, &of_fourth);
  model_compare (&model_article, folder, &fifth, &of_fifth);
  g_string_append (out,
                   "\nThe article's words for its methods, and the least and most that the model "
                   "has for them:\n\n"
                   "| method | fourth generation | model | fifth generation | model |\n"
                   "|---|---|---|---|---|\n");
  for (guint i = 0; i < G_N_ELEMENTS (stated); i++) {
    gdouble least, most;
    get_range (&of_fourth, stated[i].method, &least, &most);
    g_string_append_printf (out, "| `%s` | %s %% | %.1f to %.1f %% |", stated[i].method,
                            stated[i].fourth, 100 * least, 100 * most);
    get_range (&of_fifth, stated[i].method, &least, &most);
    g_string_append_printf (out, " %s %% | %.1f to %.1f %% |\n", stated[i].fifth, 100 * least,
                            100 * most);
  }
}

/* The parameters that are not certain, and where they are. */
static const struct {
  const gchar *title;
  gsize offset;
} parameters[] = {
    {"bytes per clock of the data port", G_STRUCT_OFFSET (IsaDevice, port_bytes)},
    {"clocks of an answer", G_STRUCT_OFFSET (IsaDevice, port_clocks)},
    {"clocks of an answer from local memory", G_STRUCT_OFFSET (IsaDevice, slm_clocks)},
    {"ns of an answer from memory", G_STRUCT_OFFSET (IsaDevice, memory_ns)},
    {"memory bandwidth", G_STRUCT_OFFSET (IsaDevice, memory_gbs)},
    {"size of the cache", G_STRUCT_OFFSET (IsaDevice, cache_size)},
    {"bytes per clock from the last-level cache", G_STRUCT_OFFSET (IsaDevice, link_bytes)},
    {"clocks of a barrier", G_STRUCT_OFFSET (IsaDevice, barrier_clocks)},
};

static void
print_scaled (GString *out, const gchar *folder, const ModelComparison *comparison,
              const IsaDevice *device, gsize offset, gdouble factor)
{
  IsaDevice scaled = *device;
  ModelResult result;

  *(gdouble *)((gchar *)&scaled + offset) *= factor;
  model_compare (comparison, folder, &scaled, &result);
  g_string_append_printf (out, " %.2f, %.1f %% |", result.correlation, result.mean_error);
}

static void
print_sensitivity (GString *out, const gchar *folder)
{
  const IsaDevice *hd4400 = isa_device_find (isa_target_find ("bdw"));
  const IsaDevice *dg1 = isa_device_find (isa_target_find ("dg1"));

  g_string_append (out, "| | HD 4400, half | HD 4400, twice | DG1, half | DG1, twice |\n"
                        "|---|---|---|---|---|\n");
  for (guint i = 0; i < G_N_ELEMENTS (parameters); i++) {
    const gsize offset = parameters[i].offset;
    g_string_append_printf (out, "| %s |", parameters[i].title);
    print_scaled (out, folder, &model_article, hd4400, offset, 0.5);
    print_scaled (out, folder, &model_article, hd4400, offset, 2);
    print_scaled (out, folder, &model_dg1, dg1, offset, 0.5);
    print_scaled (out, folder, &model_dg1, dg1, offset, 2);
    g_string_append_c (out, '\n');
  }
}

static void
print_prediction (GString *out, const IsaFigures *figures, const IsaDevice *device,
                  const IsaProblem *problem)
{
  IsaPrediction prediction;

  predict (figures, device, problem, &prediction);
  g_string_append_printf (out, " %.1f %%, %.2f GB, %.0f %% |", 100 * prediction.efficiency,
                          prediction.missed_bytes / 1e9, 100 * prediction.busy[ISA_BOUND_MEMORY]);
}

/* The height of the blocks of groups that leaves the running ones' tiles as high as wide. */
static guint
get_square_walk (const IsaFigures *figures, const IsaDevice *device, const IsaProblem *problem)
{
  IsaPrediction prediction;
  IsaShape shape;
  gdouble outputs;

  predict (figures, device, problem, &prediction);
  isa_shape_read (figures->options, &shape);
  outputs = prediction.threads * device->eus * figures->simd * shape.tile_m * shape.tile_n;
  return (guint)MAX (1, round (sqrt (outputs) / (shape.tile_m * shape.group_m)));
}

/* Orders of the work-groups and parts of K, for a problem that no cache holds. */
static void
print_large (GString *out, const gchar *folder, gdouble size)
{
  g_autoptr (json_t) json = load (folder, "large.json");

  g_string_append_printf (out,
                          "| GPU | kernel | down all of M | in parts of K of %u | in blocks | in "
                          "blocks and parts |\n|---|---|---|---|---|---|\n",
                          PARTS);
  for (gsize i = 0; i < json_array_size (json); i++) {
    g_autoptr (IsaFigures) figures = isa_figures_from_json (json_array_get (json, i));
    const IsaDevice *device = isa_device_find (figures->target);
    const IsaProblem plain = {.m = size, .n = size, .k = size};
    const guint walk = get_square_walk (figures, device, &plain);
    const IsaProblem others[] = {plain,
                                 {.m = size, .n = size, .k = size, .split = PARTS},
                                 {.m = size, .n = size, .k = size, .walk = walk},
                                 {.m = size, .n = size, .k = size, .walk = walk, .split = PARTS}};

    g_string_append_printf (out, "| %s | `%s` |", device->title, figures->kernel);
    for (guint o = 0; o < G_N_ELEMENTS (others); o++)
      print_prediction (out, figures, device, &others[o]);
    g_string_append_c (out, '\n');
  }
}

gchar *
model_tables (const gchar *folder)
{
  GString *out = g_string_new ("### HD 4400, the article's loops\n\n");

  print_comparison (out, folder, &model_article);
  print_stated (out, folder);
  g_string_append (out, "\n### HD 4400, our kernels\n\n");
  print_comparison (out, folder, &model_hd4400);
  g_string_append (out, "\n### DG1\n\n");
  print_comparison (out, folder, &model_dg1);
  g_string_append (out,
                   "\n### With other numbers\n\nRank correlation and mean error with one number "
                   "halved or doubled:\n\n");
  print_sensitivity (out, folder);
  g_string_append (out,
                   "\n### 4096 x 4096 x 4096\n\nShare of the peak, bytes from memory, share of "
                   "the time that memory is busy:\n\n");
  print_large (out, folder, 4096);
  return g_string_free (out, FALSE);
}
