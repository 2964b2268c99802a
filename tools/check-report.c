/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"
#include "options.h"
#include "output.h"

/* Results in the report that are faults. */
static const gchar *const faults[] = {"wrong", "failed", "lost", NULL};

enum {
  COLUMN_SIZES,
  COLUMN_PRECISION,
  COLUMN_RULES,
  COLUMN_RULES_GFLOPS,
  COLUMN_RULES_SHARE,
  COLUMN_FASTEST,
  COLUMN_GFLOPS,
  COLUMN_SHARE,
  COLUMN_GAIN,
  N_COLUMNS,
};

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

static gchar *
format_gflops (const json_t *candidate)
{
  return tool_format_number ("%.1f", tool_json_get_number (candidate, "gflops"), "");
}

static gchar *
format_share (const json_t *candidate)
{
  return tool_format_number ("%.1f", 100 * tool_json_get_number (candidate, "efficiency"), " %");
}

static void
print_entry (FILE *out, const ToolColumn *columns, const json_t *entry)
{
  const json_t *rules = tool_json_find_candidate (entry, tool_json_get_string (entry, "rules")),
               *fastest = tool_json_find_candidate (entry, tool_json_get_string (entry, "fastest"));
  g_autofree gchar *sizes = tool_json_get_problem (entry);
  g_autofree gchar *rules_gflops = format_gflops (rules);
  g_autofree gchar *rules_share = format_share (rules);
  g_autofree gchar *gflops = format_gflops (fastest);
  g_autofree gchar *share = format_share (fastest);
  g_autofree gchar *gain = tool_format_number ("%.2f", tool_json_get_number (entry, "gain"), "");
  const gchar *cells[N_COLUMNS] = {
      [COLUMN_SIZES] = sizes,
      [COLUMN_PRECISION] = tool_json_get_string (entry, "precision"),
      [COLUMN_RULES] = tool_json_get_string (entry, "rules"),
      [COLUMN_RULES_GFLOPS] = rules_gflops,
      [COLUMN_RULES_SHARE] = rules_share,
      [COLUMN_FASTEST] = fastest != NULL ? tool_json_get_string (entry, "fastest") : "-",
      [COLUMN_GFLOPS] = gflops,
      [COLUMN_SHARE] = share,
      [COLUMN_GAIN] = gain,
  };

  tool_table_row (out, columns, cells, N_COLUMNS);
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
  ToolColumn columns[N_COLUMNS] = {[COLUMN_SIZES] = {"M x N x K", 18, FALSE},
                                   [COLUMN_PRECISION] = {"type", 0, FALSE},
                                   [COLUMN_RULES] = {"rules", 0, FALSE},
                                   [COLUMN_RULES_GFLOPS] = {"GFLOPS", 8, TRUE},
                                   [COLUMN_RULES_SHARE] = {"of peak", 0, TRUE},
                                   [COLUMN_FASTEST] = {"fastest", 0, FALSE},
                                   [COLUMN_GFLOPS] = {"GFLOPS", 8, TRUE},
                                   [COLUMN_SHARE] = {"of peak", 0, TRUE},
                                   [COLUMN_GAIN] = {"gain", 6, TRUE}};
  const json_t *entry;
  gsize i;

  json_array_foreach (speed, i, entry)
  {
    tool_table_fit (&columns[COLUMN_RULES], tool_json_get_string (entry, "rules"));
    if (tool_json_get_string (entry, "fastest") != NULL)
      tool_table_fit (&columns[COLUMN_FASTEST], tool_json_get_string (entry, "fastest"));
  }
  fputc ('\n', out);
  tool_table_titles (out, columns, N_COLUMNS);
  json_array_foreach (speed, i, entry)
  {
    print_entry (out, columns, entry);
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
