/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "devices.h"

#include "shared-options.h"
#include "results.h"

#include <math.h>

static gchar *json_path;

static const GOptionEntry entries[] = {
    TOOL_OPTION_JSON (&json_path, "Write a list of objects in JSON instead,", ""), {NULL}};

/* Extensions that kernels of this library use. */
static const gchar *const extensions[] = {
    "cl_khr_fp16",
    "cl_khr_subgroups",
    "cl_khr_subgroup_shuffle",
    "cl_khr_integer_dot_product",
    "cl_intel_subgroups",
    "cl_intel_subgroups_short",
    "cl_intel_required_subgroup_size",
    "cl_intel_subgroup_matrix_multiply_accumulate",
    "cl_intel_subgroup_matrix_multiply_accumulate_tf32",
    "cl_intel_subgroup_2d_block_io",
    "cl_intel_bfloat16_conversions",
    "cl_intel_device_attribute_query",
};

#define ENGINES "cl_intel_subgroup_matrix_multiply_accumulate"
/* Rows of an instruction's result. Engines also support 1, 2 and 4. */
#define ROWS 8
/* Subgroup sizes of narrow and of wide engines, which are also the columns of the result. With
 * narrow engines each work-item holds twice as much of A. */
#define NARROW 8
#define WIDE   16

/* Products that matrix engines compute with one instruction, from the texts of the extensions,
 * since OpenCL has no query for them. @wide: only on wide engines. @used: by kernels here. */
static const struct {
  const gchar *type_a, *type_b, *type_sum;
  guint k;
  gboolean wide;
  gboolean used;
  const gchar *extension;
} shapes[] = {
    {"i8", "i8", "i32", 32, FALSE, FALSE, ENGINES},
    {"i8", "u8", "i32", 32, FALSE, FALSE, ENGINES},
    {"u8", "i8", "i32", 32, FALSE, TRUE, ENGINES},
    {"u8", "u8", "i32", 32, FALSE, FALSE, ENGINES},
    {"i4", "i4", "i32", 64, FALSE, FALSE, ENGINES},
    {"i4", "u4", "i32", 64, FALSE, FALSE, ENGINES},
    {"u4", "i4", "i32", 64, FALSE, FALSE, ENGINES},
    {"u4", "u4", "i32", 64, FALSE, FALSE, ENGINES},
    {"bf16", "bf16", "f32", 16, FALSE, TRUE, ENGINES},
    {"f16", "f16", "f32", 16, FALSE, TRUE, ENGINES},
    {"bf16", "bf16", "bf16", 16, TRUE, FALSE, ENGINES},
    {"f16", "f16", "f16", 16, TRUE, FALSE, ENGINES},
    {"tf32", "tf32", "f32", 8, TRUE, TRUE, ENGINES "_tf32"},
};

/* Engines work with the smallest subgroups only: compilers emit no dpas for larger ones. */
static json_t *
make_matrix_shapes (const GemmclDeviceInfo *info)
{
  const int subgroup = info->n_subgroup_sizes > 0 ? (int)info->subgroup_sizes[0] : 0;
  json_t *list = json_array ();

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    if ((subgroup == WIDE || (subgroup == NARROW && !shapes[i].wide)) &&
        gemmcl_device_info_has_extension (info, shapes[i].extension))
      json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:b}", "type_a",
                                              shapes[i].type_a, "type_b", shapes[i].type_b,
                                              "accumulator", shapes[i].type_sum, "m", ROWS, "n",
                                              subgroup, "k", (int)shapes[i].k, "subgroup_size",
                                              subgroup, "used", shapes[i].used));
  return list;
}

/*
 * Multiply-adds in 16 bits that a unit with matrix engines starts in a clock, without sparsity:
 *
 *     NVIDIA   a multiprocessor, by compute capability, from the white paper of each architecture
 *     Intel    an EU: Xe-HPG and Arrow Lake H 64, Xe-HPC 256, Xe2 and Xe3 128. The major
 *              architecture is 12 before Xe2, and only Xe-HPC's engines are wide then.
 *
 * 0: unknown.
 */
static guint
get_engine_lanes (const GemmclDeviceInfo *info)
{
  static const struct {
    guint capability, lanes;
  } nvidia[] = {{70, 512}, {72, 512},  {75, 512},   {80, 1024}, {86, 512}, {87, 1024},
                {89, 512}, {90, 2048}, {100, 4096}, {120, 512}, {121, 512}};
  const gboolean wide = info->n_subgroup_sizes > 0 && info->subgroup_sizes[0] == WIDE;
  const guint major = info->ip_version >> 22;

  for (guint i = 0; i < G_N_ELEMENTS (nvidia); i++)
    if (nvidia[i].capability == info->nvidia_capability)
      return nvidia[i].lanes;
  if (info->eus == 0 || !gemmcl_device_info_has_extension (info, ENGINES))
    return 0;
  if (major == 12)
    return wide ? 256 : 64;
  return major == 20 || major == 30 ? 128 : 0;
}

/* Returns: multiply-adds that a unit starts in a clock; 0: unknown. */
static guint
get_lanes (const GemmclDeviceInfo *info, GemmclPrecision precision)
{
  const guint lanes = get_engine_lanes (info), capability = info->nvidia_capability;
  const gboolean newer = capability == 0 || capability >= 80;

  switch (precision) {
  case GEMMCL_PRECISION_F16:
    return lanes;
  case GEMMCL_PRECISION_BF16:
    return newer ? lanes : 0;
  case GEMMCL_PRECISION_TF32:
    if (capability == 0 && !gemmcl_device_info_has_extension (info, ENGINES "_tf32"))
      return 0;
    return newer ? lanes / 2 : 0;
  case GEMMCL_PRECISION_I8:
    return capability == 0 || capability >= 72 ? 2 * lanes : 0;
  case GEMMCL_PRECISION_F32:
  default:
    return 0;
  }
}

gdouble
tool_get_peak (const GemmclDeviceInfo *info, GemmclPrecision precision, gchar **source)
{
  const gboolean nvidia = info->nvidia_capability > 0;
  const guint n = nvidia ? info->compute_units : info->eus;
  const guint lanes = get_lanes (info, precision);
  const gchar *name = gemmcl_precision_get_name (precision);

  if (precision == GEMMCL_PRECISION_F32) {
    *source = g_strdup (info->peak_source);
    return info->peak_gflops > 0 ? info->peak_gflops : NAN;
  }
  if (lanes == 0 || info->clock_mhz == 0) {
    *source = g_strdup_printf ("unknown: gemmcl does not know the rate of this device in %s", name);
    return NAN;
  }
  *source = g_strdup_printf ("%u %s x %u %s lanes x %u MHz x (MUL + ADD)", n,
                             nvidia ? "multiprocessors" : "EUs", lanes, name, info->clock_mhz);
  return 2.0 * n * lanes * info->clock_mhz / 1000.0;
}

/* Returns: the peaks by the names of the precisions; null: unknown. */
static json_t *
make_peaks (const GemmclDeviceInfo *info)
{
  json_t *peaks = json_object ();

  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++) {
    g_autofree gchar *source = NULL;

    json_object_set_new (peaks, gemmcl_precision_get_name (i),
                         tool_json_number (tool_get_peak (info, i, &source)));
  }
  return peaks;
}

json_t *
tool_json_device (guint index, const GemmclDeviceInfo *info)
{
  json_t *sizes = json_array ();
  json_t *names = json_array ();

  for (guint i = 0; i < info->n_subgroup_sizes; i++)
    json_array_append_new (sizes, json_integer (info->subgroup_sizes[i]));
  for (guint i = 0; i < G_N_ELEMENTS (extensions); i++)
    if (gemmcl_device_info_has_extension (info, extensions[i]))
      json_array_append_new (names, json_string (extensions[i]));
  return json_pack (
      "{s:i, s:o, s:o, s:o, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:I, s:o, s:o, s:o, s:I, s:I, s:I, "
      "s:b, s:b, s:b, s:o, s:o, s:o}",
      "device", (int)index, "name", tool_json_string (info->name), "platform",
      tool_json_string (info->platform), "vendor", tool_json_string (info->vendor), "type",
      tool_device_type_get_name (info->type), "version", tool_json_string (info->version), "driver",
      tool_json_string (info->driver), "compute_units", (int)info->compute_units, "eus",
      (int)info->eus, "eu_threads", (int)info->eu_threads, "clock_mhz", (int)info->clock_mhz,
      "max_work_group", (json_int_t)info->max_work_group, "subgroup_sizes", sizes, "extensions",
      names, "matrix_shapes", make_matrix_shapes (info), "global_bytes",
      (json_int_t)info->global_bytes, "max_alloc_bytes", (json_int_t)info->max_alloc_bytes,
      "local_bytes", (json_int_t)info->local_bytes, "host_unified", info->host_unified, "fp16",
      info->fp16, "fp64", info->fp64, "peak_gflops",
      info->peak_gflops > 0 ? tool_json_number (info->peak_gflops) : json_null (), "peak_source",
      tool_json_string (info->peak_source), "peaks_gflops", make_peaks (info));
}

/* Prints a line with the texts or the integers of @values and @note, if there are any. */
static void
print_list (const gchar *title, const json_t *values, const gchar *note)
{
  const json_t *value;
  gsize i;

  json_array_foreach (values, i, value) {
    if (i == 0)
      printf ("   %-15s ", title);
    if (json_is_string (value))
      printf ("%s%s", i > 0 ? ", " : "", json_string_value (value));
    else
      printf ("%s%" JSON_INTEGER_FORMAT, i > 0 ? ", " : "", json_integer_value (value));
  }
  if (json_array_size (values) > 0)
    printf ("%s\n", note);
}

/* Prints the shapes that kernels use, or the others: "u8 x i8 + i32 8x16x32", with M x N x K. */
static void
print_shapes (const gchar *title, const json_t *engines, gboolean used, const gchar *note)
{
  g_autoptr (json_t) texts = json_array ();
  const json_t *shape;
  gsize i;

  json_array_foreach (engines, i, shape)
    if (json_is_true (json_object_get (shape, "used")) == used)
      json_array_append_new (
          texts, json_sprintf ("%s x %s + %s %gx%gx%g", tool_json_get_string (shape, "type_a"),
                               tool_json_get_string (shape, "type_b"),
                               tool_json_get_string (shape, "accumulator"),
                               tool_json_get_number (shape, "m"), tool_json_get_number (shape, "n"),
                               tool_json_get_number (shape, "k")));
  print_list (title, texts, note);
}

static void
print_units (const GemmclDeviceInfo *info)
{
  printf ("   compute units   %u", info->compute_units);
  if (info->eus > 0)
    printf (" (%u EUs of %u threads)", info->eus, info->eu_threads);
  if (info->clock_mhz > 0)
    printf (" at %u MHz", info->clock_mhz);
  putchar ('\n');
}

static void
print_memory (const GemmclDeviceInfo *info)
{
  g_autofree gchar *global = g_format_size_full (info->global_bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree gchar *alloc = g_format_size_full (info->max_alloc_bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree gchar *local = g_format_size_full (info->local_bytes, G_FORMAT_SIZE_IEC_UNITS);

  printf ("   memory          %s%s, %s in one buffer, %s local\n", global,
          info->host_unified ? " shared with the host" : "", alloc, local);
}

/* f32 always has a line, another precision if its peak is known. */
static void
print_peaks (const GemmclDeviceInfo *info)
{
  for (guint i = 0; i < GEMMCL_N_PRECISIONS; i++) {
    g_autofree gchar *source = NULL;
    const gdouble peak = tool_get_peak (info, i, &source);
    const gchar *title = i == GEMMCL_PRECISION_F32 ? "peak" : "";

    if (!isnan (peak))
      printf ("   %-15s %.1f GFLOPS in %s: %s\n", title, peak, gemmcl_precision_get_name (i),
              source);
    else if (i == GEMMCL_PRECISION_F32)
      printf ("   %-15s %s\n", title, source);
  }
}

static void
print_device (guint index, const GemmclDeviceInfo *info, const json_t *device)
{
  const json_t *engines = json_object_get (device, "matrix_shapes");

  printf ("%s%u  %s\n", index > 0 ? "\n" : "", index, info->name);
  printf ("   platform        %s\n", info->platform);
  printf ("   type            %s\n", tool_device_type_get_name (info->type));
  printf ("   version         %s, driver %s\n", info->version, info->driver);
  print_units (info);
  printf ("   work-group      %zu work-items at most\n", info->max_work_group);
  print_list ("subgroup sizes", json_object_get (device, "subgroup_sizes"), "");
  print_shapes ("matrix engines", engines, TRUE, " (M x N x K, used by kernels here)");
  print_shapes ("", engines, FALSE, " (by the extension's text, used by no kernel here)");
  print_list ("extensions", json_object_get (device, "extensions"), "");
  print_memory (info);
  print_peaks (info);
}

static gboolean
run (G_GNUC_UNUSED gchar **arguments, GError **error)
{
  g_autoptr (GPtrArray) devices = gemmcl_list_devices (NULL, error);
  g_autoptr (json_t) json = json_array ();

  if (devices == NULL)
    return FALSE;
  for (guint i = 0; i < devices->len; i++) {
    const GemmclDeviceInfo *info = g_ptr_array_index (devices, i);
    json_array_append_new (json, tool_json_device (i, info));
    if (json_path == NULL)
      print_device (i, info, json_array_get (json, i));
  }
  return tool_json_write (json, json_path, error);
}

const ToolCommand tool_devices = {
    .name = "devices",
    .summary = "List the OpenCL devices and their properties",
    .description =
        "Lists the OpenCL devices, the default one first: its number for --device, its "
        "properties, the OpenCL extensions that gemmcl's kernels use, and its peaks in f32 and in "
        "the precisions of its matrix engines, with the way they were computed. The products of "
        "matrix engines are those that the extension's text states for the device's smallest "
        "subgroups, since OpenCL has no query for them.",
    .groups = {{"Options", entries}},
    .examples = {{"gemmcl devices", "All devices"},
                 {"gemmcl devices --json | jq '.[0].name'", "The name of the best device"}},
    .run = run,
};
