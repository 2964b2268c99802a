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
#define FORMAT 1

/* Seconds for opening the device, independent of the budget: no report is possible without it. */
#define FACTS_SECONDS 60.0

/* Limit for building and running a kernel: these seconds, or this share of all if that is more. */
#define HANG_SECONDS 30.0
#define HANG_SHARE   0.1

/* Shares of the time that is left when a step begins. */
#define ROWS_SHARE 0.6
#define VA_SHARE   0.3

#define MOST_VA_SECONDS 20.0

static struct {
  gchar *seconds;
  const gchar *kernels;
  const gchar *output;
  gboolean worker;
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
     "Answer requests of another process of this command", NULL},
    {NULL}};

gdouble
check_get_left (gint64 deadline)
{
  return MAX (deadline - g_get_monotonic_time (), 0) / (gdouble)G_USEC_PER_SEC;
}

/* Steps for the progress besides entries of "speed": the rows, the surfaces, and the rows that were
 * not reached. */
#define N_STEPS 3

void
check_begin (Check *self, const gchar *step, gdouble seconds)
{
  const json_t *speed = json_object_get (self->report, "speed");

  tool_progress_begin (self->progress, N_STEPS + json_array_size (speed), step,
                       MAX (seconds, 1e-3));
}

void
check_set_result (json_t *object, const gchar *result, const gchar *why)
{
  json_object_set_new (object, "result", json_string (result));
  json_object_set_new (object, "why", tool_json_string (why));
}

gboolean
check_explain (json_t *object, gboolean cut, GError *why, GError **error)
{
  const gboolean asked = why->domain == TOOL_CHILD_ERROR;

  if (asked && (why->code == TOOL_CHILD_ERROR_LOST || (why->code == TOOL_CHILD_ERROR_LATE && !cut)))
    check_set_result (object, "lost", why->message);
  else
    check_set_result (object, "not reached", why->message);
  if (!asked) {
    g_propagate_error (error, why);
    return FALSE;
  }
  g_error_free (why);
  return TRUE;
}

static void
check_clear (Check *self)
{
  g_clear_pointer (&self->worker, tool_child_free);
  g_clear_pointer (&self->progress, tool_progress_free);
  g_clear_pointer (&self->report, json_decref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Check, check_clear)

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

/* Begins the report with the facts of the device. */
static gboolean
find_facts (Check *self, GError **error)
{
  g_autoptr (json_t) facts =
      tool_child_ask (self->worker, json_pack ("{s:s}", "do", "facts"), FACTS_SECONDS, error);

  if (facts == NULL)
    return FALSE;
  if (json_is_true (json_object_get (facts, "error"))) {
    g_set_error_literal (error, TOOL_ERROR, TOOL_ERROR_FAILED, tool_json_get_string (facts, "why"));
    return FALSE;
  }
  self->report = json_pack ("{s:i, s:s, s:o}", "format", FORMAT, "gemmcl", GEMMCL_VERSION, "system",
                            describe_system ());
  json_object_update (self->report, facts);
  return TRUE;
}

/* Runs the steps after the facts. */
static gboolean
check_all (Check *self, GError **error)
{
  return check_rows (self, ROWS_SHARE * check_get_left (self->deadline), error) &&
         check_va (self, MIN (VA_SHARE * check_get_left (self->deadline), MOST_VA_SECONDS),
                   error) &&
         check_speed (self, error) && check_rows (self, check_get_left (self->deadline), error);
}

static gboolean
write_report (const Check *self, gint64 start, GError **error)
{
  const gdouble seconds = (g_get_monotonic_time () - start) / (gdouble)G_USEC_PER_SEC;

  json_object_set_new (self->report, "seconds", json_real (seconds));
  return tool_json_write (self->report, options.output, error);
}

/* Prints the summary, and how to send the report. */
static void
conclude (const Check *self)
{
  const gboolean piped = g_str_equal (options.output, "-");
  FILE *out = piped ? stderr : stdout;
  g_autofree gchar *name = g_filename_display_name (options.output);

  check_report_print (out, self->report);
  if (!piped)
    fprintf (out,
             "\nThe report is in %s. It names the device, its driver and the system's version, not "
             "you or your\nmachine. Please send it to those who make gemmcl: docs/tuning.md says "
             "how.\n",
             name);
}

static gboolean
check (Check *self, gdouble seconds, GError **error)
{
  const gint64 start = g_get_monotonic_time ();
  guint n_faults;
  gboolean ok;

  self->deadline = start + (gint64)(seconds * G_USEC_PER_SEC);
  self->patience = MAX (HANG_SECONDS, HANG_SHARE * seconds);
  self->progress = tool_progress_new (seconds);
  self->worker = tool_child_new (self->progress);
  tool_catch_interrupt ();
  /* Written now, too, so that an output that cannot be written fails early. */
  if (!find_facts (self, error) ||
      (!g_str_equal (options.output, "-") && !write_report (self, start, error)))
    return FALSE;
  ok = check_all (self, error);
  tool_progress_clear (self->progress);
  /* Results are written even if a later step failed. The first error is reported. */
  if (!write_report (self, start, ok ? error : NULL) || !ok)
    return FALSE;
  conclude (self);
  n_faults = check_report_count_faults (self->report);
  if (n_faults > 0)
    g_set_error (error, TOOL_ERROR, TOOL_ERROR_FAILED, "%u faults were found.", n_faults);
  return n_faults == 0;
}

static gboolean
run (gchar **operands, GError **error)
{
  g_auto (Check) self = {.deadline = 0};
  g_autoptr (GPtrArray) kernels = tool_list_kernels (options.kernels, FALSE, error);
  g_autoptr (GArray) shapes = tool_problems_new ((const gchar *const *)operands, &tool_gemm,
                                                 kernels != NULL ? error : NULL);
  const CheckAsked asked = {kernels, shapes};
  gdouble seconds = DEFAULT_SECONDS;

  if (kernels == NULL || shapes == NULL ||
      !tool_parse_positive ("--seconds", options.seconds, &seconds, error))
    return FALSE;
  if (options.worker)
    return check_serve (&asked, error);
  return check (&self, seconds, error);
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
