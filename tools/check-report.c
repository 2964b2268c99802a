/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"
#include "options.h"
#include "output.h"

/* Results in the report that are faults. */
static const gchar *const faults[] = {"wrong", "failed", "lost", NULL};

static gboolean
is_faulty (const json_t *object)
{
  const gchar *result = tool_json_get_string (object, "result");

  return result != NULL && g_strv_contains (faults, result);
}

/* Returns: the number of faults in a list of objects. */
static guint
count_faults (const json_t *list)
{
  const json_t *object;
  guint n = 0;
  gsize i;

  json_array_foreach (list, i, object)
  {
    n += is_faulty (object) + count_faults (json_object_get (object, "candidates"));
  }
  return n;
}

guint
check_report_count_faults (const json_t *report)
{
  return count_faults (json_object_get (report, "rows")) +
         count_faults (json_object_get (report, "speed")) +
         is_faulty (json_object_get (report, "va"));
}

static void
print_device (FILE *out, const json_t *device)
{
  const json_t *peak = json_object_get (device, "peak_gflops");

  fprintf (out, "Device   %s (%s, %s)\n", tool_json_get_string (device, "name"),
           tool_json_get_string (device, "type"), tool_json_get_string (device, "platform"));
  fprintf (out, "Driver   %s, %s\n", tool_json_get_string (device, "driver"),
           tool_json_get_string (device, "version"));
  if (json_is_number (peak))
    fprintf (out, "f32 peak %.1f GFLOPS: %s\n", json_number_value (peak),
             tool_json_get_string (device, "peak_source"));
  else
    fprintf (out, "f32 peak %s\n", tool_json_get_string (device, "peak_source"));
}

/* Returns: the number of rows with that @result; NULL: with any. */
static guint
count_rows (const json_t *report, const gchar *result)
{
  const json_t *row;
  guint n = 0;
  gsize i;

  json_array_foreach (json_object_get (report, "rows"), i, row)
  {
    const gchar *found = tool_json_get_string (row, "result");
    n += found != NULL && (result == NULL || g_str_equal (found, result));
  }
  return n;
}

static void
print_row (FILE *out, const json_t *row)
{
  const json_int_t private = json_integer_value (json_object_get (row, "private_bytes"));
  const json_int_t spilled = json_integer_value (json_object_get (row, "spill_bytes"));
  const gchar *why = tool_json_get_string (row, "why");

  if (is_faulty (row))
    fprintf (out, "         %s %s: %s\n", tool_json_get_string (row, "kernel"),
             tool_json_get_string (row, "result"), why);
  else if (spilled > 0)
    fprintf (out,
             "         %s has %" JSON_INTEGER_FORMAT
             " bytes of private memory, %" JSON_INTEGER_FORMAT " of them spilled\n",
             tool_json_get_string (row, "kernel"), private, spilled);
}

static void
print_rows (FILE *out, const json_t *report)
{
  const json_t *rows = json_object_get (report, "rows"), *row;
  const guint n = count_rows (report, NULL);
  const guint late = count_rows (report, "not reached");
  gsize i;

  fprintf (out, "Kernels  %u of %u native ones are right, %u wrong, %u failed, %u lost\n",
           count_rows (report, "ok"), n, count_rows (report, "wrong"),
           count_rows (report, "failed"), count_rows (report, "lost"));
  if (late > 0)
    fprintf (
        out,
        "         %u were not reached in the time; compiled kernels are kept, so that another run "
        "reaches more\n",
        late);
  json_array_foreach (rows, i, row)
  {
    print_row (out, row);
  }
}

static void
print_va (FILE *out, const json_t *va)
{
  const gchar *why = tool_json_get_string (va, "why"), *said = tool_json_get_string (va, "said");

  fprintf (out, "VA       %s%s%s\n", tool_json_get_string (va, "result"), why != NULL ? ": " : "",
           why != NULL ? why : "");
  if (said != NULL && *said != '\0')
    fprintf (out, "%s\n", said);
}

/* Returns: (nullable): the candidate of @entry with that kernel (nullable). */
static json_t *
find_candidate (const json_t *entry, const gchar *kernel)
{
  const json_t *candidates = json_object_get (entry, "candidates");

  for (gsize i = 0; i < json_array_size (candidates); i++)
    if (g_strcmp0 (tool_json_get_string (json_array_get (candidates, i), "kernel"), kernel) == 0)
      return json_array_get (candidates, i);
  return NULL;
}

/* Prints the row of @entry, with the candidates in place of their names. */
static void
print_entry (FILE *out, const ToolColumn *columns, guint n, const json_t *entry)
{
  g_autoptr (json_t) row = json_copy ((json_t *)entry);

  for (guint i = 0; i < 2; i++) {
    const gchar *choice = i == 0 ? "rules" : "fastest",
                *name = tool_json_get_string (entry, choice);
    json_t *shown = json_pack ("{s:s?, s:n, s:n}", "kernel", name, "gflops", "efficiency");

    json_object_update (shown, find_candidate (entry, name));
    json_object_set_new (row, choice, shown);
  }
  if (json_object_get (row, "gain") == NULL)
    json_object_set_new (row, "gain", json_null ());
  tool_table_print (out, columns, n, row);
}

static void
print_candidate_faults (FILE *out, const json_t *entry)
{
  const json_t *candidate;
  gsize i;

  if (tool_json_get_string (entry, "why") != NULL)
    fprintf (out, "  %s: %s\n", tool_json_get_string (entry, "result"),
             tool_json_get_string (entry, "why"));
  json_array_foreach (json_object_get (entry, "candidates"), i, candidate)
  {
    if (is_faulty (candidate))
      fprintf (out, "  %s %s: %s\n", tool_json_get_string (candidate, "kernel"),
               tool_json_get_string (candidate, "result"), tool_json_get_string (candidate, "why"));
  }
}

static void
print_speed (FILE *out, const json_t *speed)
{
  ToolColumn columns[] = {
      {"M x N x K", 18},
      {"type", .key = "precision"},
      {"rules", .key = "rules.kernel"},
      {"GFLOPS", 8, TRUE, .key = "rules.gflops", .format = "%.1f"},
      {"of peak", 0, TRUE, .key = "rules.efficiency", .format = "%.1f", .unit = " %"},
      {"fastest", .key = "fastest.kernel"},
      {"GFLOPS", 8, TRUE, .key = "fastest.gflops", .format = "%.1f"},
      {"of peak", 0, TRUE, .key = "fastest.efficiency", .format = "%.1f", .unit = " %"},
      {"gain", 6, TRUE, .key = "gain", .format = "%.2f"}};
  const json_t *entry;
  gsize i;

  json_array_foreach (speed, i, entry)
  {
    tool_table_fit (&columns[2], tool_json_get_string (entry, "rules"));
    if (tool_json_get_string (entry, "fastest") != NULL)
      tool_table_fit (&columns[5], tool_json_get_string (entry, "fastest"));
  }
  fputc ('\n', out);
  tool_table_titles (out, columns, G_N_ELEMENTS (columns));
  json_array_foreach (speed, i, entry)
  {
    print_entry (out, columns, G_N_ELEMENTS (columns), entry);
    print_candidate_faults (out, entry);
  }
}

void
check_report_print (FILE *out, const json_t *report)
{
  print_device (out, json_object_get (report, "device"));
  print_rows (out, report);
  if (json_object_get (report, "va") != NULL)
    print_va (out, json_object_get (report, "va"));
  if (json_array_size (json_object_get (report, "speed")) > 0)
    print_speed (out, json_object_get (report, "speed"));
}
