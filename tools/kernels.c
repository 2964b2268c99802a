/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "results.h"
#include "shared-options.h"

static struct {
  gchar *json;
  gchar *source;
} options;

static const GOptionEntry entries[] = {
    TOOL_OPTION_JSON (&options.json, "Write a list of objects in JSON instead,", ""),
    TOOL_OPTION_TABLE,
    {NULL}};

static const GOptionEntry source_entries[] = {
    {"source", 0, 0, G_OPTION_ARG_STRING, &options.source,
     "Print the programs of these kernels instead: " TOOL_KERNELS, "NAME,..."},
    TOOL_OPTION_SIZES (", less where a kernel takes less"),
    TOOL_OPTION_LAYOUT,
    TOOL_OPTION ("a-type", tool_set_choice,
                 "Type of the elements of A: f32, bf16, u8 ... (default: f32)", "TYPE"),
    {NULL}};

static json_t *
describe (GemmclContext *context, const GemmclKernelInfo *kernel)
{
  g_autoptr (GError) why = NULL;
  GemmclKernelLevel level;
  const gboolean runs = gemmcl_kernel_get_level (context, kernel->name, &level, &why);

  return json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s?, s:o}", "name", kernel->name, "method",
                    kernel->method, "summary", kernel->summary, "precisions",
                    gemmcl_precision_get_name (kernel->precision), "needs", kernel->needs, "here",
                    runs ? gemmcl_kernel_level_get_name (level) : NULL, "why_not",
                    tool_json_string (runs ? NULL : why->message));
}

/* Returns: all kernels, grouped by method; methods are in the order of their first kernels. */
static json_t *
make_json (GemmclContext *context)
{
  g_autoptr (json_t) methods = json_object ();
  json_t *all = json_array (), *kernels;
  const gchar *method;

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *kernel = gemmcl_get_kernel (i);

    if (json_object_get (methods, kernel->method) == NULL)
      json_object_set_new (methods, kernel->method, json_array ());
    json_array_append_new (json_object_get (methods, kernel->method), describe (context, kernel));
  }
  json_object_foreach (methods, method, kernels)
    json_array_extend (all, kernels);
  return all;
}

static void
print_table (GemmclContext *context, const json_t *kernels)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  ToolColumn columns[] = {
      {"kernel", .key = "name"}, {"method", .key = "method"}, {"precisions", .key = "precisions"},
      {"needs", .key = "needs"}, {"here", .key = "here"},     {NULL},
  };
  const gchar *method = NULL;
  json_t *kernel;
  gsize i;

  fprintf (tool_notes_get_output (NULL), "Here: %s (%s)\n\n", info->name, info->platform);
  tool_table_titles (stdout, columns, kernels);
  json_array_foreach (kernels, i, kernel) {
    g_autoptr (json_t) row = json_copy (kernel);

    if (method != NULL && !g_str_equal (tool_json_get_string (kernel, "method"), method))
      tool_table_print (stdout, columns, NULL);
    method = tool_json_get_string (kernel, "method");
    if (*tool_json_get_string (row, "needs") == '\0')
      json_object_set_new (row, "needs", json_null ());
    if (json_is_null (json_object_get (row, "here")))
      json_object_set (row, "here", json_object_get (row, "why_not"));
    tool_table_print (stdout, columns, row);
  }
}

/* Returns: a size of a problem. @stated: the user's; @max: the kernel's limit; 0: none */
static gsize
limit (gsize stated, gsize max)
{
  const gsize size = stated > 0 ? stated : TOOL_DEFAULT_SIZE;

  return max > 0 ? MIN (size, max) : size;
}

/* Adds the program of kernel @name, for the stated problem within its limits, to @list. */
static gboolean
add_program (json_t *list, const gchar *name, GError **error)
{
  const GemmclKernelInfo *kernel = tool_get_kernel_info (name);
  g_autofree gchar *compiler_options = NULL;
  GemmclGemm gemm = tool_gemm;
  const gchar *source;

  gemm.precision = kernel->precision;
  gemm.m = limit (gemm.m, kernel->max_m);
  gemm.n = limit (gemm.n, kernel->max_n);
  gemm.k = limit (gemm.k, kernel->max_k);
  source = gemmcl_kernel_get_source (name, &gemm, &compiler_options, error);
  if (source == NULL)
    return FALSE;
  json_array_append_new (list, json_pack ("{s:s, s:s, s:s}", "name", name, "options",
                                          compiler_options, "source", source));
  return TRUE;
}

static gboolean
print_programs (GError **error)
{
  g_autoptr (GPtrArray) names = tool_list_kernels (options.source, FALSE, NULL, error);
  g_autoptr (json_t) list = json_array ();

  if (names == NULL)
    return FALSE;
  for (guint i = 0; i < names->len; i++)
    if (!add_program (list, g_ptr_array_index (names, i), error))
      return FALSE;
  if (options.json != NULL)
    return tool_json_write (list, options.json, error);
  for (gsize i = 0; i < json_array_size (list); i++) {
    const json_t *program = json_array_get (list, i);
    printf ("// %s: %s\n%s", tool_json_get_string (program, "name"),
            tool_json_get_string (program, "options"), tool_json_get_string (program, "source"));
  }
  return TRUE;
}

static gboolean
run (G_GNUC_UNUSED gchar **arguments, GError **error)
{
  g_autoptr (GemmclContext) context = NULL;
  g_autoptr (json_t) json = NULL;

  if (options.source != NULL)
    return print_programs (error);
  if (tool_has_gemm_options ())
    return tool_refuse (error, "-M, -K, -N, --layout and --a-type are for --source, which is "
                               "missing.");
  context = tool_open_context (error);
  if (context == NULL)
    return FALSE;
  json = make_json (context);
  if (options.json != NULL)
    return tool_json_write (json, options.json, error);
  print_table (context, json);
  return TRUE;
}

const ToolCommand tool_kernels = {
    .name = "kernels",
    .summary = "List the kernels and which of them a device can run",
    .description =
        "Lists the kernels by method, the most general one first: name, method, the "
        "precisions of its products, its requirements, and how it runs on the device: native, "
        "khr (subgroups by cl_khr_subgroup_shuffle), emulated (subgroups through local "
        "memory), or the reason why it does not run.\n\n"
        "A name is the method, the outputs of a work-item, and the work-items of a "
        "work-group, the latter two as rows x columns.\n\n"
        "--source prints OpenCL C programs for offline compilers, as gemmcl builds them for a "
        "device with native subgroups; no such device is needed. A comment before each has the "
        "kernel's name and the compiler's options. The kernel function is called gemm.",
    .groups = {{"Device", tool_device_entries}, {"Options", entries}, {"Programs", source_entries}},
    .examples = {{"gemmcl kernels", "The kernels, and which run on the best device"},
                 {"gemmcl kernels -t cpu", "The same for a CPU"},
                 {"gemmcl kernels --source tiled_8x8_8x8 -M 64 -N 64 -K 64 >tiled.cl",
                  "The program of a kernel for this problem"}},
    .run = run,
};
