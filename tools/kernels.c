/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "gemmcl.h"
#include "output.h"
#include "options.h"
#include "tool.h"

static gboolean as_json;

static const GOptionEntry entries[] = {
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print a list of objects in JSON instead", NULL},
    {NULL}};

enum { COLUMN_NAME, COLUMN_METHOD, COLUMN_PRECISIONS, COLUMN_NEEDS, COLUMN_HERE, N_COLUMNS };

/* Returns: the level at which a kernel runs on the device; NULL with @obstacle if it cannot run. */
static const gchar *
get_level (GemmclContext *context, const GemmclKernelInfo *kernel, gchar **obstacle)
{
  g_autoptr (GError) why = NULL;
  GemmclKernelLevel level;

  if (gemmcl_kernel_get_level (context, kernel->name, &level, &why))
    return gemmcl_kernel_level_get_name (level);
  *obstacle = g_strdup (why->message);
  return NULL;
}

/* Returns: all kernels, grouped by method; methods are in the order of their first kernels. */
static GPtrArray *
group_by_method (void)
{
  const guint n = gemmcl_get_n_kernels ();
  GPtrArray *grouped = g_ptr_array_new ();

  for (guint i = 0; i < n; i++) {
    if (g_ptr_array_find (grouped, gemmcl_get_kernel (i), NULL))
      continue;
    for (guint j = i; j < n; j++)
      if (g_str_equal (gemmcl_get_kernel (i)->method, gemmcl_get_kernel (j)->method))
        g_ptr_array_add (grouped, (gpointer)gemmcl_get_kernel (j));
  }
  return grouped;
}

static void
get_cells (const GemmclKernelInfo *kernel, const gchar *here, const gchar *cells[N_COLUMNS])
{
  cells[COLUMN_NAME] = kernel->name;
  cells[COLUMN_METHOD] = kernel->method;
  cells[COLUMN_PRECISIONS] = gemmcl_precision_get_name (kernel->precision);
  cells[COLUMN_NEEDS] = kernel->needs[0] != '\0' ? kernel->needs : "-";
  cells[COLUMN_HERE] = here;
}

static void
print_table (GemmclContext *context)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  g_autoptr (GPtrArray) kernels = group_by_method ();
  const gchar *method = gemmcl_get_kernel (0)->method;
  ToolColumn columns[N_COLUMNS] = {
      [COLUMN_NAME] = {"kernel"},
      [COLUMN_METHOD] = {"method"},
      [COLUMN_PRECISIONS] = {"precisions"},
      [COLUMN_NEEDS] = {"needs"},
      [COLUMN_HERE] = {"here"},
  };
  const gchar *cells[N_COLUMNS];

  for (guint i = 0; i < kernels->len; i++) {
    get_cells (kernels->pdata[i], "", cells);
    for (guint c = 0; c < N_COLUMNS; c++)
      tool_table_fit (&columns[c], cells[c]);
  }
  printf ("Here: %s (%s)\n\n", info->name, info->platform);
  tool_table_titles (stdout, columns, N_COLUMNS);
  for (guint i = 0; i < kernels->len; i++) {
    const GemmclKernelInfo *kernel = kernels->pdata[i];
    g_autofree gchar *obstacle = NULL;
    const gchar *level = get_level (context, kernel, &obstacle);

    if (!g_str_equal (kernel->method, method))
      putchar ('\n');
    method = kernel->method;
    get_cells (kernel, level ? level : obstacle, cells);
    tool_table_row (stdout, columns, cells, N_COLUMNS);
  }
}

static json_t *
make_json (GemmclContext *context)
{
  g_autoptr (GPtrArray) kernels = group_by_method ();
  json_t *list = json_array ();

  for (guint i = 0; i < kernels->len; i++) {
    const GemmclKernelInfo *kernel = kernels->pdata[i];
    g_autofree gchar *obstacle = NULL;
    const gchar *level = get_level (context, kernel, &obstacle);
    json_array_append_new (
        list, json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s?, s:o}", "name", kernel->name, "method",
                         kernel->method, "summary", kernel->summary, "precisions",
                         gemmcl_precision_get_name (kernel->precision), "needs", kernel->needs,
                         "here", level, "why_not", tool_json_string (obstacle)));
  }
  return list;
}

static gboolean
run (G_GNUC_UNUSED gchar **operands, GError **error)
{
  g_autoptr (GemmclContext) context = tool_open_context (error);
  g_autoptr (json_t) json = NULL;

  if (context == NULL)
    return FALSE;
  if (as_json) {
    json = make_json (context);
    return tool_json_write (json, "-", error);
  }
  print_table (context);
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
        "work-group, the latter two as rows x columns.",
    .groups = {{"Device", tool_device_entries}, {"Options", entries}},
    .examples = {{"gemmcl kernels", "The kernels, and which run on the best device"},
                 {"gemmcl kernels -t cpu", "The same for a CPU"}},
    .run = run,
};
