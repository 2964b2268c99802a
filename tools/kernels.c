/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "gemmcl.h"
#include "json.h"
#include "options.h"
#include "table.h"
#include "tool.h"

static gboolean as_json;

static const GOptionEntry entries[] = {
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print a list of objects in JSON instead", NULL},
    {NULL}};

enum { COLUMN_NAME, COLUMN_METHOD, COLUMN_PRECISIONS, COLUMN_NEEDS, COLUMN_HERE, N_COLUMNS };

/* Why a kernel cannot run on the device; NULL: it can. */
static gchar *
get_obstacle (GemmclContext *context, const GemmclKernelInfo *kernel)
{
  g_autoptr (GError) why = NULL;

  return gemmcl_kernel_fits (context, kernel->name, NULL, &why) ? NULL : g_strdup (why->message);
}

static void
get_cells (const GemmclKernelInfo *kernel, const gchar *obstacle, const gchar *cells[N_COLUMNS])
{
  cells[COLUMN_NAME] = kernel->name;
  cells[COLUMN_METHOD] = kernel->method;
  cells[COLUMN_PRECISIONS] = kernel->precisions;
  cells[COLUMN_NEEDS] = kernel->needs[0] != '\0' ? kernel->needs : "-";
  cells[COLUMN_HERE] = obstacle != NULL ? obstacle : "native";
}

static void
print_table (GemmclContext *context)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  ToolColumn columns[N_COLUMNS] = {
      [COLUMN_NAME] = {"kernel"},
      [COLUMN_METHOD] = {"method"},
      [COLUMN_PRECISIONS] = {"precisions"},
      [COLUMN_NEEDS] = {"needs"},
      [COLUMN_HERE] = {"here"},
  };
  const gchar *cells[N_COLUMNS];

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    get_cells (gemmcl_get_kernel (i), NULL, cells);
    for (guint c = 0; c < N_COLUMNS; c++)
      tool_table_fit (&columns[c], cells[c]);
  }
  printf ("Here: %s (%s)\n\n", info->name, info->platform);
  tool_table_titles (stdout, columns, N_COLUMNS);
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    g_autofree gchar *obstacle = get_obstacle (context, gemmcl_get_kernel (i));
    get_cells (gemmcl_get_kernel (i), obstacle, cells);
    tool_table_row (stdout, columns, cells, N_COLUMNS);
  }
}

static json_t *
make_json (GemmclContext *context)
{
  json_t *list = json_array ();

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernelInfo *kernel = gemmcl_get_kernel (i);
    g_autofree gchar *obstacle = get_obstacle (context, kernel);
    json_array_append_new (list,
                           json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s?, s:o}", "name", kernel->name,
                                      "method", kernel->method, "summary", kernel->summary,
                                      "precisions", kernel->precisions, "needs", kernel->needs,
                                      "here", obstacle == NULL ? "native" : NULL, "why_not",
                                      tool_json_string (obstacle)));
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
        "Lists the kernels, the one that can do everything first: name, method, the precisions it "
        "computes in, what it needs, and whether it runs on the device, or else why not.\n\n"
        "A name is the method, the outputs of a work-item and the work-items of a work-group, the "
        "latter two as rows x columns.",
    .groups = {{"Device", tool_device_entries}, {"Options", entries}},
    .examples = {{"gemmcl kernels", "The kernels, and which run on the best device"},
                 {"gemmcl kernels -t cpu", "The same for a CPU"}},
    .run = run,
};
