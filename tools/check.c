/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

#include <math.h>
#include <sys/utsname.h>

#include "gemmcl.h"
#include "tool.h"
#include "options.h"

#define DEFAULT_SECONDS 150
#define DEFAULT_OUTPUT  "gemmcl-check.json"

/* Version of the report; raised when a key changes its meaning. */
#define FORMAT 2

/* Seconds after the end of the time in which a candidate may still end. */
#define LAST_SECONDS 3

static struct {
  gchar *seconds;
  const gchar *kernels;
  const gchar *output;
  gboolean worker;
  gchar *builder;
} options = {.kernels = "all", .output = DEFAULT_OUTPUT};

static const GOptionEntry entries[] = {
    {"seconds", 0, 0, G_OPTION_ARG_STRING, &options.seconds,
     "Time limit of the check (default: " G_STRINGIFY (DEFAULT_SECONDS) ")", "NUMBER"},
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernels,
     "Run only these kernels on exact problems, names with commas between (default: all)",
     "NAME,..."},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
     "The report, which is replaced; - is the standard output, and the summary then "
     "goes to the standard error (default: " DEFAULT_OUTPUT ")",
     "FILE"},
    {"worker", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options.worker,
     "Work for another process of this command", NULL},
    {"builder", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &options.builder,
     "Compile every N-th kernel from number I on", "I/N"},
    {NULL}};

/* Describes the system without the name of the machine, since the report is sent to others. */
static json_t *
describe_system (void)
{
  struct utsname name;

  if (uname (&name) != 0)
    return json_null ();
  return json_pack ("{s:s, s:s, s:s}", "system", name.sysname, "release", name.release, "machine",
                    name.machine);
}

/* Returns: the number of rows, candidates and steps that are wrong, failed or lost. */
static guint
count_faults (const json_t *report)
{
  guint n = check_is_faulty (json_object_get (report, "va"));
  const json_t *object, *candidate;
  gsize i, j;

  json_array_foreach (json_object_get (report, "rows"), i, object)
  {
    n += check_is_faulty (object);
  }
  json_array_foreach (json_object_get (report, "speed"), i, object)
  {
    json_array_foreach (json_object_get (object, "candidates"), j, candidate)
    {
      n += json_is_true (json_object_get (candidate, "faulty"));
    }
  }
  return n;
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

/* Prints the row of @entry, with the shares of @peak, NaN without one, and its faults below. */
static void
print_entry (FILE *out, const ToolColumn *columns, guint n, const json_t *entry, gdouble peak)
{
  static const gchar *const choices[] = {"rules", "tuned"};
  g_autoptr (json_t) row = json_deep_copy (entry);
  const gchar *error = tool_json_get_string (entry, "error");
  const json_t *candidate;
  gsize i;

  for (guint c = 0; c < G_N_ELEMENTS (choices); c++) {
    json_t *choice = json_object_get (row, choices[c]);

    json_object_set_new (choice, "efficiency",
                         tool_json_number (tool_json_get_number (choice, "gflops") / peak));
  }
  tool_table_print (out, columns, n, row);
  if (error != NULL)
    fprintf (out, "  %s\n", error);
  json_array_foreach (json_object_get (entry, "candidates"), i, candidate)
  {
    if (json_is_true (json_object_get (candidate, "faulty")))
      fprintf (out, "  %s: %s\n", tool_json_get_string (candidate, "kernel"),
               tool_json_get_string (candidate, "why"));
  }
}

static void
print_speed (FILE *out, const json_t *speed, gdouble peak)
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
      {"gain", 6, TRUE, .key = "gain", .format = "%.2f"}};
  const json_t *entry;
  gsize i;

  fputc ('\n', out);
  tool_table_titles (out, columns, G_N_ELEMENTS (columns), speed);
  json_array_foreach (speed, i, entry)
  {
    print_entry (out, columns, G_N_ELEMENTS (columns), entry, peak);
  }
}

/* Prints the summary of @report. */
static void
print_summary (FILE *out, const json_t *report)
{
  const json_t *device = json_object_get (report, "device");

  print_device (out, device);
  print_rows (out, report);
  if (json_object_get (report, "va") != NULL)
    print_va (out, json_object_get (report, "va"));
  if (json_array_size (json_object_get (report, "speed")) > 0)
    print_speed (out, json_object_get (report, "speed"),
                 tool_json_get_number (device, "peak_gflops"));
}

/* Marks what the check did not come to. */
static void
mark_unreached (json_t *report)
{
  json_t *va = json_object_get (report, "va"), *row;
  gsize i;

  json_array_foreach (json_object_get (report, "rows"), i, row)
  {
    if (check_is_open (row) && check_is_native (row))
      check_set_result (row, "not reached", NULL);
  }
  if (check_is_open (va))
    check_set_result (va, "not reached", NULL);
}

static gboolean
write_report (json_t *report, gint64 start, GError **error)
{
  const gdouble seconds = (g_get_monotonic_time () - start) / (gdouble)G_USEC_PER_SEC;

  json_object_set_new (report, "seconds", json_real (seconds));
  return tool_json_write (report, options.output, error);
}

/* Prints the summary, and how to send the report. */
static void
conclude (const json_t *report)
{
  const gboolean piped = g_str_equal (options.output, "-");
  FILE *out = piped ? stderr : stdout;
  g_autofree gchar *name = g_filename_display_name (options.output);

  print_summary (out, report);
  if (!piped)
    fprintf (out,
             "\nThe report is in %s. It names the device, its driver and the system's version, not "
             "you or your\nmachine. Please send it to those who make gemmcl: docs/tuning.md says "
             "how.\n",
             name);
}

/* Writes the report as soon as it has the device, so that a wrong path fails early. */
static gboolean
on_change (gpointer start, json_t *object, const json_t *change, GError **error)
{
  return json_object_get (change, "device") == NULL || g_str_equal (options.output, "-") ||
         write_report (object, *(const gint64 *)start, error);
}

static gboolean
check (gdouble seconds, GError **error)
{
  const gint64 start = g_get_monotonic_time ();
  const gint64 end = start + (gint64)(seconds * G_USEC_PER_SEC);
  json_t *report = json_pack ("{s:i, s:s, s:o}", "format", FORMAT, "gemmcl", GEMMCL_VERSION,
                              "system", describe_system ());
  g_autoptr (json_t) state = json_pack ("{s:I, s:I, s:o}", "start", (json_int_t)start, "end",
                                        (json_int_t)end, "report", report);
  guint n_faults;
  gboolean ok;

  tool_catch_interrupt ();
  ok = tool_worker_run (state, end + LAST_SECONDS * G_USEC_PER_SEC, on_change, (gpointer)&start,
                        error);
  if (json_object_get (report, "device") == NULL)
    return FALSE;
  mark_unreached (report);
  /* Results are written even if a later step failed. The first error is reported. */
  if (!write_report (report, start, ok ? error : NULL))
    return FALSE;
  conclude (report);
  n_faults = count_faults (report);
  if (ok && n_faults > 0)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "%u faults were found.", n_faults);
  return ok && n_faults == 0;
}

static gboolean
run (gchar **operands, GError **error)
{
  g_autoptr (GPtrArray) kernels = tool_list_kernels (options.kernels, FALSE, error);
  g_autoptr (GArray) shapes = tool_problems_new ((const gchar *const *)operands, &tool_gemm,
                                                 kernels != NULL ? error : NULL);
  const CheckAsked asked = {kernels, shapes};
  gdouble seconds = DEFAULT_SECONDS;
  guint builder, n_builders;

  if (kernels == NULL || shapes == NULL ||
      !tool_parse_positive ("--seconds", options.seconds, &seconds, error))
    return FALSE;
  if (options.builder != NULL && sscanf (options.builder, "%u/%u", &builder, &n_builders) == 2)
    return check_build (&asked, builder, n_builders, error);
  if (options.worker)
    return check_serve (&asked, error);
  return check (seconds, error);
}

const ToolCommand tool_check = {
    .name = "check",
    .summary = "Check a device once: kernels, surfaces, speed; write a report to send",
    .operands = "[M,N,K ...]",
    .more_operands = TRUE,
    .description =
        "Checks the library on a device that its makers may never have seen, in less than "
        "three minutes, and writes a report that they can use.\n\n"
        "The report begins with the device and its driver. Then each native kernel multiplies "
        "small matrices of integers, whose product is exact, so that any difference is an "
        "error; spilled registers are reported. If the device shares VA surfaces and "
        "GStreamer has vapostproc, frames go through the element as surfaces. Last, the "
        "kernel that the rules choose and the next ones in their order are timed side by side "
        "on eight shapes, or on those given, by the device's clock; the table has 10^9 "
        "operations a second, their share of the f32 peak, and the gain of the fastest over "
        "the rules' choice.\n\n"
        "Kernels and the element run in separate processes. One that crashes, hangs or loses "
        "the device is reported as lost, and the check goes on. The fastest kernels are not "
        "remembered; gemmcl tune does that. Ctrl-C ends the check and writes the results so far.",
    .groups = {{"Device", tool_device_entries}, {"Options", entries}},
    .examples = {{"gemmcl check", "Check the best device"},
                 {"gemmcl check -t gpu --seconds 600 -o arc.json", "Take more time for a GPU"},
                 {"gemmcl check -k gemm_naive 64,64,64", "One kernel, and one shape"}},
    .run = run,
};
