/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/check-report.h"
#include "shared-options.h"

gboolean
check_is_row (const json_t *object)
{
  return json_object_get (object, "kernel") != NULL;
}

gboolean
check_is_open (const json_t *object)
{
  const gchar *level = tool_json_get_string (object, "level");

  return json_object_get (object, "result") == NULL &&
         (!check_is_row (object) || g_strcmp0 (level, "native") == 0);
}

gboolean
check_is_faulty (const json_t *object)
{
  static const gchar *const faults[] = {"wrong", "failed", "lost", NULL};
  const gchar *result = tool_json_get_string (object, "result");

  return result != NULL && g_strv_contains (faults, result);
}

void
check_set_result (json_t *object, const gchar *result, const gchar *why)
{
  json_object_set_new (object, "result", json_string (result));
  json_object_set_new (object, "why", tool_json_string (why));
}

guint
check_count_faults (const json_t *report)
{
  guint n = check_is_faulty (json_object_get (report, "va"));
  const json_t *object, *candidate;
  gsize i, j;

  json_array_foreach (json_object_get (report, "rows"), i, object)
    n += check_is_faulty (object);
  json_array_foreach (json_object_get (report, "speed"), i, object)
    json_array_foreach (json_object_get (object, "candidates"), j, candidate)
      n += json_is_true (json_object_get (candidate, "faulty"));
  return n;
}

static void
print_device (FILE *out, const json_t *device)
{
  const json_t *peak = json_object_get (device, "peak_gflops"), *other;
  const gchar *precision;

  fprintf (out, "Device   %s (%s, %s)\n", tool_json_get_string (device, "name"),
           tool_json_get_string (device, "type"), tool_json_get_string (device, "platform"));
  fprintf (out, "Driver   %s, %s\n", tool_json_get_string (device, "driver"),
           tool_json_get_string (device, "version"));
  if (json_is_number (peak))
    fprintf (out, "f32 peak %.1f GFLOPS: %s\n", json_number_value (peak),
             tool_json_get_string (device, "peak_source"));
  else
    fprintf (out, "f32 peak %s\n", tool_json_get_string (device, "peak_source"));
  json_object_foreach ((json_t *)json_object_get (device, "peaks_gflops"), precision, other)
    if (json_is_number (other) && !g_str_equal (precision, "f32"))
      fprintf (out, "%-4s peak %.1f GFLOPS\n", precision, json_number_value (other));
}

/* Returns: the number of rows with that @result; NULL: with any. */
static guint
count_rows (const json_t *report, const gchar *result)
{
  const json_t *row;
  guint n = 0;
  gsize i;

  json_array_foreach (json_object_get (report, "rows"), i, row) {
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

  if (check_is_faulty (row))
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

  fprintf (out, "Kernels  %u of %u native kernels are right, %u wrong, %u failed, %u lost\n",
           count_rows (report, "ok"), n, count_rows (report, "wrong"),
           count_rows (report, "failed"), count_rows (report, "lost"));
  if (late > 0)
    fprintf (out,
             "         %u were not reached in time; compiled kernels are kept, so that another run "
             "reaches more\n",
             late);
  json_array_foreach (rows, i, row)
    print_row (out, row);
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

/* Prints the row of @entry with the shares of the peaks in the kernels' precisions, and its faults
 * below. */
static void
print_entry (FILE *out, const ToolColumn *columns, const json_t *entry, const json_t *peaks)
{
  static const gchar *const choices[] = {"rules", "tuned"};
  g_autoptr (json_t) row = json_deep_copy (entry);
  const gchar *error = tool_json_get_string (entry, "error");
  const json_t *candidate;
  gsize i;

  for (guint c = 0; c < G_N_ELEMENTS (choices); c++) {
    json_t *choice = json_object_get (row, choices[c]);
    const GemmclPrecision precision = tool_get_precision (tool_json_get_string (choice, "kernel"));
    const gdouble peak = tool_json_get_number (peaks, gemmcl_precision_get_name (precision));

    json_object_set_new (choice, "efficiency",
                         tool_json_number (tool_json_get_number (choice, "gflops") / peak));
  }
  tool_table_print (out, columns, row);
  if (error != NULL)
    fprintf (out, "  %s\n", error);
  json_array_foreach (json_object_get (entry, "candidates"), i, candidate)
    if (json_is_true (json_object_get (candidate, "faulty")))
      fprintf (out, "  %s: %s\n", tool_json_get_string (candidate, "kernel"),
               tool_json_get_string (candidate, "why"));
}

static void
print_speed (FILE *out, const json_t *speed, const json_t *peaks)
{
  ToolColumn columns[] = {
      {"M x N x K", 18},
      {"type", .key = "precision"},
      {"rules", .key = "rules.kernel"},
      {"GFLOPS", 8, TRUE, .key = "rules.gflops", .format = "%.1f"},
      {"of peak", 0, TRUE, .key = "rules.efficiency", .format = "%.1f", .unit = " %"},
      {"fastest", .key = "tuned.kernel"},
      {"GFLOPS", 8, TRUE, .key = "tuned.gflops", .format = "%.1f"},
      {"of peak", 0, TRUE, .key = "tuned.efficiency", .format = "%.1f", .unit = " %"},
      {"gain", 6, TRUE, .key = "gain", .format = "%.2f"},
      {NULL}};
  const json_t *entry;
  gsize i;

  fputc ('\n', out);
  tool_table_titles (out, columns, speed);
  json_array_foreach (speed, i, entry)
    print_entry (out, columns, entry, peaks);
}

void
check_print_summary (FILE *out, const json_t *report)
{
  const json_t *device = json_object_get (report, "device");

  print_device (out, device);
  print_rows (out, report);
  print_va (out, json_object_get (report, "va"));
  if (json_array_size (json_object_get (report, "speed")) > 0)
    print_speed (out, json_object_get (report, "speed"), json_object_get (device, "peaks_gflops"));
}
