/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "devices.h"
#include "measure/check-report.h"
#include "measure/check-steps.h"
#include "measure/search-worker.h"
#include "shared-options.h"

#define DEFAULT_SECONDS 150
#define DEFAULT_OUTPUT  "gemmcl-check.json"

/* Version of the report's format; raised when a key changes its meaning. */
#define FORMAT 2

/* Maximum number of candidates of a shape: the first in the order of the rules. */
#define MOST_CANDIDATES 5

/* M,N,K of the shapes that are timed unless arguments name others, without the largest. */
#define USUAL                                                                                      \
  "1024,1024,1024 64,1024,1024 16,1024,1024 3600,96,147 1,4096,4096 64,4096,4096 256,4096,4096"

/* f32 peak from which the largest shape has sizes of 4096. At half of this peak 2 * 4096^3
 * operations take a tenth of a second. */
#define LARGE_GFLOPS 2750.0

/* Limit for building and running a kernel: these seconds, or this share of the check's time if that
 * is longer. */
#define HANG_SECONDS 30.0
#define HANG_SHARE   0.1

/* Share of the check's time in which rows are checked before any kernel is timed. */
#define ROWS_SHARE 0.6

/* Maximum seconds for an entry of "speed", on average. */
#define MOST_SPEED_SECONDS 10.0

#define SHARING "cl_intel_va_api_media_sharing"

/* Seconds beyond the check's time in which work that has begun may finish. */
#define LAST_SECONDS 3.0

/* Limit for VA surfaces: these seconds, or this share of the time left if that is shorter. */
#define MOST_VA_SECONDS 20.0
#define VA_SHARE        0.3

/* Maximum number of processes that compile ahead of the worker, each on a core. Compiling takes
 * most of the time. */
#define MOST_BUILDERS 6

static struct {
  gchar *seconds;
  const gchar *kernels;
  const gchar *output;
} options = {.kernels = "all", .output = DEFAULT_OUTPUT};

static const GOptionEntry entries[] = {
    {"seconds", 0, 0, G_OPTION_ARG_STRING, &options.seconds,
     "Time limit of the check (default: " G_STRINGIFY (DEFAULT_SECONDS) ")", "NUMBER"},
    {"kernel", 'k', 0, G_OPTION_ARG_STRING, &options.kernels,
     "Run only these kernels on exact problems: " TOOL_KERNELS " (default: all)", "NAME,..."},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
     "The report, which is replaced; - is the standard output, and the summary then "
     "goes to the standard error (default: " DEFAULT_OUTPUT ")",
     "FILE"},
    {NULL}};

/* A check. @kernels, @shapes: those that the user asked for; @start, @end: times of
 * tool_get_seconds() */
typedef struct {
  GPtrArray *kernels;
  GArray *shapes;
  gdouble start, end;
  gdouble rows_end; /* no row begins after it */
  gdouble patience; /* seconds after which a kernel counts as hanging */
  json_t *report;
} Check;

static json_t *
describe_row (GemmclContext *context, const gchar *kernel)
{
  const GemmclKernelInfo *info = tool_get_kernel_info (kernel);
  g_autoptr (GError) why = NULL;
  GemmclKernelLevel level;
  const gchar *name = NULL;

  if (gemmcl_kernel_get_level (context, info->name, &level, &why))
    name = gemmcl_kernel_level_get_name (level);
  return json_pack ("{s:s, s:s, s:s, s:s?, s:o}", "kernel", info->name, "precision",
                    gemmcl_precision_get_name (info->precision), "needs", info->needs, "level",
                    name, "why", tool_json_string (why != NULL ? why->message : NULL));
}

/* Appends the entries of a shape: one for each precision with a candidate. */
static void
add_entries (GemmclContext *context, GemmclGemm gemm, json_t *list)
{
  static const GemmclPrecision precisions[] = {GEMMCL_PRECISION_F32, GEMMCL_PRECISION_BF16,
                                               GEMMCL_PRECISION_F16, GEMMCL_PRECISION_I8};

  for (guint i = 0; i < G_N_ELEMENTS (precisions); i++) {
    g_autoptr (json_t) entry = NULL;
    gboolean native = FALSE;
    json_t *candidate;
    gsize j;

    gemm.precision = precisions[i];
    entry = tool_search_new_entry (context, &gemm, MOST_CANDIDATES);
    json_array_foreach (json_object_get (entry, "candidates"), j, candidate)
      native |= tool_get_precision (tool_json_get_string (candidate, "kernel")) == gemm.precision;
    if (native)
      json_array_append (list, entry);
  }
}

/* @asked: the problems that arguments name; if empty, the usual shapes are timed. */
static json_t *
list_entries (GemmclContext *context, const GArray *asked)
{
  const gdouble peak = gemmcl_context_get_device_info (context)->peak_gflops;
  const gchar *names = peak >= LARGE_GFLOPS ? USUAL " 4096,4096,4096" : USUAL " 2048,2048,2048";
  g_auto (GStrv) usual = g_strsplit (names, " ", -1);
  g_autoptr (GArray) problems = tool_problems_new (usual, &tool_gemm, NULL);
  json_t *list = json_array ();

  if (asked->len == 0)
    asked = problems;
  for (guint i = 0; i < asked->len; i++)
    add_entries (context, g_array_index (asked, GemmclGemm, i), list);
  return list;
}

/* In a worker. */
static gboolean
find_facts (GemmclContext *context, json_t *report, gpointer data)
{
  const Check *asked = data;
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const gboolean shares = gemmcl_device_info_has_extension (info, SHARING);
  json_t *device = tool_json_device (0, info), *va = json_object (), *rows = json_array ();

  /* The time may not suffice for all rows, so the last ones of the table, which run on fewer
   * devices, come first. */
  for (guint i = asked->kernels->len; i-- > 0;)
    json_array_append_new (rows, describe_row (context, g_ptr_array_index (asked->kernels, i)));
  /* The device's number has a meaning only on this machine. */
  json_object_del (device, "device");
  json_object_set_new (device, "cores", json_integer (info->cores));
  json_object_set_new (device, "ip_version", json_integer (info->ip_version));
  if (!shares)
    check_set_result (va, "absent", "The device has no " SHARING ".");
  json_object_update_new (report, json_pack ("{s:o, s:b, s:o, s:o, s:o}", "device", device,
                                             "shares_surfaces", shares, "rows", rows, "va", va,
                                             "speed", list_entries (context, asked->shapes)));
  return TRUE;
}

/* Returns: the rows, then "va". */
static json_t *
list_objects (const json_t *report)
{
  json_t *objects = json_copy (json_object_get (report, "rows"));

  json_array_append (objects, json_object_get (report, "va"));
  return objects;
}

/* In a worker: a row of the table, or VA surfaces. */
static gboolean
run_object (GemmclContext *context, json_t *object, gpointer data)
{
  const Check *self = data;
  const gdouble now = tool_get_seconds ();

  if (!check_is_open (object) || now >= (check_is_row (object) ? self->rows_end : self->end))
    return FALSE;
  if (check_is_row (object)) {
    tool_worker_step (tool_json_get_string (object, "kernel"), self->end - now);
    tool_worker_begin (NULL, self->patience);
    check_row (context, object);
  } else {
    tool_worker_step ("VA surfaces", self->end - now);
    tool_worker_begin (NULL, MIN (VA_SHARE * (self->end - now), MOST_VA_SECONDS));
    check_va (context, object);
  }
  return TRUE;
}

static void
lose (json_t *object, G_GNUC_UNUSED const gchar *what, const gchar *why,
      G_GNUC_UNUSED gpointer data)
{
  check_set_result (object, check_is_row (object) ? "lost" : "failed", why);
}

static guint
start_builders (const json_t *rows, GPid builders[MOST_BUILDERS])
{
  const guint n = CLAMP (g_get_num_processors () - 1, 1, MOST_BUILDERS);
  const gint nowhere = open ("/dev/null", O_WRONLY | O_CLOEXEC);

  for (guint i = 0; i < n; i++) {
    builders[i] = tool_worker_fork (nowhere);
    if (builders[i] == 0) {
      check_build_rows (rows, i, n);
      _exit (EXIT_SUCCESS);
    }
  }
  close (nowhere);
  return n;
}

/* Runs the rows that have no result until @rows_end, then VA surfaces. */
static gboolean
run_kernels (Check *self, gdouble rows_end, GError **error)
{
  static const ToolWork work = {run_object, lose, NULL};
  const json_t *row;
  g_autoptr (json_t) objects = list_objects (self->report);
  GPid builders[MOST_BUILDERS];
  guint n_open = 0, n_builders;
  gboolean ok;
  gsize i;

  self->rows_end = rows_end;
  json_array_foreach (objects, i, row)
    n_open += check_is_open (row);
  if (n_open == 0 || tool_get_seconds () >= rows_end)
    return TRUE;
  n_builders = start_builders (json_object_get (self->report, "rows"), builders);
  ok = tool_worker_run (objects, &work, self, self->end + LAST_SECONDS, error);
  for (guint b = 0; b < n_builders; b++)
    if (builders[b] > 0)
      kill (-builders[b], SIGKILL);
  return ok;
}

/* Times the candidates, except kernels whose rows are faulty. */
static gboolean
time_kernels (const Check *self, GError **error)
{
  json_t *speed = json_object_get (self->report, "speed"), *row;
  const gdouble most = MOST_SPEED_SECONDS * (gdouble)json_array_size (speed);
  const ToolSearch search = {.entries = speed,
                             .end = MIN (self->end, tool_get_seconds () + most),
                             .patience = self->patience};
  gsize i;

  json_array_foreach (json_object_get (self->report, "rows"), i, row)
    if (check_is_faulty (row))
      tool_search_exclude (speed, tool_json_get_string (row, "kernel"),
                           tool_json_get_string (row, "why"));
  return tool_search_run (&search, self->end + LAST_SECONDS, error);
}

static gboolean
write_report (const Check *self, GError **error)
{
  json_object_set_new (self->report, "seconds", json_real (tool_get_seconds () - self->start));
  return tool_json_write (self->report, options.output, error);
}

/* Prints the summary, and how to send the report. */
static void
conclude (const json_t *report)
{
  FILE *out = tool_table_get_output (options.output);
  g_autofree gchar *name = g_filename_display_name (options.output);

  check_print_summary (out, report);
  if (out == stdout)
    fprintf (out,
             "\nThe report is in %s. It names the device, its driver and the system's version, not "
             "you or your\nmachine. Please send it to gemmcl's developers: docs/tuning.md says "
             "how.\n",
             name);
}

static gboolean
check (Check *self, GError **error)
{
  g_autoptr (json_t) objects = NULL;
  json_t *object;
  guint n_faults;
  gboolean ok;
  gsize i;

  tool_catch_interrupt ();
  /* The report is written early, too: that fails if the path is wrong. */
  ok = tool_worker_ask (self->report, find_facts, self, error) &&
       (g_str_equal (options.output, "-") || write_report (self, error)) &&
       run_kernels (self, self->start + ROWS_SHARE * (self->end - self->start), error) &&
       time_kernels (self, error) && run_kernels (self, self->end, error);
  if (json_object_get (self->report, "device") == NULL)
    return FALSE;
  objects = list_objects (self->report);
  json_array_foreach (objects, i, object)
    if (check_is_open (object))
      check_set_result (object, "not reached", NULL);
  /* Results are written even if a later step failed. The first error is reported. */
  if (!write_report (self, ok ? error : NULL))
    return FALSE;
  conclude (self->report);
  n_faults = check_count_faults (self->report);
  return ok && (n_faults == 0 || tool_fail (error, "%u faults were found.", n_faults));
}

static gboolean
run (gchar **arguments, GError **error)
{
  g_autoptr (GPtrArray) kernels = tool_list_kernels (options.kernels, FALSE, NULL, error);
  g_autoptr (GArray) shapes =
      kernels != NULL ? tool_problems_new (arguments, &tool_gemm, error) : NULL;
  g_autoptr (json_t) report = NULL;
  Check self = {kernels, shapes, .start = tool_get_seconds ()};
  gdouble seconds = DEFAULT_SECONDS;
  struct utsname host = {0};

  if (shapes == NULL || !tool_parse_positive ("--seconds", options.seconds, &seconds, error))
    return FALSE;
  self.end = self.start + seconds;
  self.patience = MAX (HANG_SECONDS, HANG_SHARE * seconds);
  /* Without the name of the machine, since the report is sent to others. */
  uname (&host);
  self.report = report = json_pack ("{s:i, s:s, s:{s:s, s:s, s:s}}", "format", FORMAT, "gemmcl",
                                    GEMMCL_VERSION, "system", "system", host.sysname, "release",
                                    host.release, "machine", host.machine);
  return check (&self, error);
}

const ToolCommand tool_check = {
    .name = "check",
    .summary = "Check a device once: kernels, surfaces, speed; write a report to send",
    .arguments = "[M,N,K ...]",
    .more_arguments = TRUE,
    .description =
        "Checks the library on a device that its developers may never have seen, in less than "
        "three minutes, and writes a report for them.\n\n"
        "The report begins with the device and its driver. Then each native kernel multiplies "
        "small matrices of integers, whose product is exact, so that any difference is an "
        "error; spilled registers are reported. If the device shares VA surfaces and "
        "GStreamer has vapostproc, frames go through the element as surfaces. Last, the "
        "kernel that the rules choose and the next ones in their order are timed side by side "
        "on eight shapes, or on those given, by the device's clock; the table shows "
        "their speeds in 10^9 operations a second, the shares of the device's peak in their "
        "precision, if it is known, and the gain of the fastest over the rules' choice.\n\n"
        "Kernels and the element run in separate processes. One that crashes, hangs or loses "
        "the device is reported as lost, and the check goes on. Unlike gemmcl tune, it does not "
        "store the fastest kernels. Ctrl-C ends the check and writes the results so far.",
    .groups = {{"Device", tool_device_entries}, {"Options", entries}},
    .examples = {{"gemmcl check", "Check the best device"},
                 {"gemmcl check -t gpu --seconds 600 -o arc.json", "Take more time for a GPU"},
                 {"gemmcl check -k gemm_naive 64,64,64", "One kernel, and one shape"}},
    .run = run,
};
