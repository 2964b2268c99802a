/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "measure/search-worker.h"

#include <math.h>

#include "shared-options.h"

#define DEFAULT_SECONDS 100

/* M,N,K: a square, layers with ever fewer rows, patches of frames, and many short rows. */
#define USUAL "1024,1024,1024 64,1024,1024 16,1024,1024 1,1024,1024 3600,96,147 230400,64,64"

/* Large problems, which take a CPU minutes, and small ones, which do not fill a GPU. */
#define USUAL_ON_GPUS                                                                              \
  "256,256,256 512,512,512 2048,2048,2048 4096,4096,4096 128,1024,8192 64,4096,4096 "              \
  "16,4096,4096 1,4096,4096"

/* Limit for a build and a first run: a share of the time, within these bounds in seconds, since
 * some compilers are slow. */
#define HANG_SHARE         0.5
#define LEAST_HANG_SECONDS 15.0
#define MOST_HANG_SECONDS  60.0

static struct {
  gchar *time;
  gboolean dry_run;
  gboolean list;
  gboolean forget;
  gchar *json;
} options;

static const GOptionEntry problem_entries[] = {
    TOOL_OPTION ("precision", tool_set_choice,
                 "Precision of the products: f32; f16, bf16 or tf32 with sums in f32; i8 with "
                 "scales (default: f32)",
                 "f32|f16|bf16|tf32|i8"),
    TOOL_OPTION_LAYOUT,
    {NULL}};

static const GOptionEntry search_entries[] = {
    {"time", 0, 0, G_OPTION_ARG_STRING, &options.time,
     "Approximate time for all problems, each of which gets a share (default: " G_STRINGIFY (
         DEFAULT_SECONDS) ")",
     "SECONDS"},
    {"dry-run", 0, 0, G_OPTION_ARG_NONE, &options.dry_run, "Measure, but remember nothing", NULL},
    TOOL_OPTION_JSON (&options.json, "Also write the results, or the list, as JSON",
                      ", and the table then goes to the standard error"),
    TOOL_OPTION_TABLE,
    {NULL}};

static const GOptionEntry memory_entries[] = {
    {"list", 0, 0, G_OPTION_ARG_NONE, &options.list,
     "Show the entries for the device, and measure nothing", NULL},
    {"forget", 0, 0, G_OPTION_ARG_NONE, &options.forget,
     "Remove the measured entries for the device, and measure nothing", NULL},
    {NULL}};

enum { COLUMN_RULES = 1, COLUMN_TUNED = 3 };

static ToolColumn columns[] = {{"M x N x K"},
                               [COLUMN_RULES] = {"rules", .key = "rules.kernel"},
                               {"GFLOPS", 8, TRUE, .key = "rules.gflops", .format = "%.2f"},
                               [COLUMN_TUNED] = {"tuned", .key = "tuned.kernel"},
                               {"GFLOPS", 8, TRUE, .key = "tuned.gflops", .format = "%.2f"},
                               {"gain", 8, TRUE, .key = "more", .format = "%+.1f", .unit = " %"},
                               {NULL}};

/* Fits the columns and prints the head. @entries: the problems, one at least */
static void
print_head (const json_t *entries)
{
  FILE *out = tool_table_get_output (options.json);
  const json_t *first = json_array_get (entries, 0);
  g_autofree gchar *path = gemmcl_tuning_get_path ();

  fprintf (tool_notes_get_output (options.json), "Device    %s\nDriver    %s\nFile      %s\n\n",
           tool_json_get_string (first, "device"), tool_json_get_string (first, "driver"), path);
  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    tool_table_fit (&columns[COLUMN_RULES], gemmcl_get_kernel (i)->name);
    tool_table_fit (&columns[COLUMN_TUNED], gemmcl_get_kernel (i)->name);
  }
  tool_table_titles (out, columns, entries);
}

static gboolean
check_options (gchar **arguments, GError **error)
{
  if (!options.list && !options.forget)
    return TRUE;
  if (*arguments != NULL || (options.list && options.forget) || options.time != NULL ||
      options.dry_run || tool_has_gemm_options () || (options.forget && options.json != NULL))
    return tool_refuse (error, "--list and --forget take the options of devices, and --list takes "
                               "--json and --table. Leave out problems and all other options.");
  return TRUE;
}

/* Prints notes on @entry that do not fit in its row of the table. */
static void
print_notes (const json_t *entry)
{
  g_autofree gchar *name = tool_json_get_problem (entry);
  const gchar *error = tool_json_get_string (entry, "error");
  const json_t *candidate;
  gsize i;

  json_array_foreach (json_object_get (entry, "candidates"), i, candidate)
    if (json_is_true (json_object_get (candidate, "faulty")))
      g_printerr ("gemmcl tune: %s: %s is out: %s\n", name,
                  tool_json_get_string (candidate, "kernel"),
                  tool_json_get_string (candidate, "why"));
  if (error != NULL)
    g_printerr ("gemmcl tune: %s: %s\n", name, error);
  else if (json_is_null (json_object_get (entry, "rules")))
    g_printerr ("gemmcl tune: %s: No kernel works.\n", name);
  else if (json_is_null (json_object_get (entry, "tuned")))
    g_printerr ("gemmcl tune: %s: There was no time to compare other kernels with the rules' "
                "choice. Give more with --time.\n",
                name);
}

/* Reports the result of a search. Fails if it could not be stored. */
static gboolean
on_done (json_t *entry, G_GNUC_UNUSED gpointer data, GError **error)
{
  const gchar *why = tool_json_get_string (entry, "why_not_stored");
  const gdouble gain = tool_json_get_number (entry, "gain");
  g_autoptr (json_t) row = json_copy (entry);

  print_notes (entry);
  json_object_set_new (row, "more", tool_json_number (gain > 1.0 ? gain - 1.0 : NAN));
  if (json_object_get (entry, "error") == NULL)
    tool_table_print (tool_table_get_output (options.json), columns, row);
  return why == NULL || tool_fail (error, "%s", why);
}

/* In a worker: an entry without a result for each of @data, the problems that were asked for. */
static gboolean
find_facts (GemmclContext *context, json_t *facts, gpointer data)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const gboolean is_cpu = info->type == GEMMCL_DEVICE_TYPE_CPU;
  g_auto (GStrv) sizes = g_strsplit (is_cpu ? USUAL : USUAL " " USUAL_ON_GPUS, " ", -1);
  g_autoptr (GArray) usual = tool_problems_new (sizes, &tool_gemm, NULL);
  const GArray *asked = data, *problems = asked->len > 0 ? asked : usual;
  json_t *entries = json_array ();

  for (guint i = 0; i < problems->len; i++) {
    json_t *entry =
        tool_search_new_entry (context, &g_array_index (problems, GemmclGemm, i), G_MAXUINT);

    json_object_set_new (entry, "device", tool_json_string (info->name));
    json_object_set_new (entry, "driver", tool_json_string (info->driver));
    json_object_set_new (entry, "stored", json_false ());
    json_array_append_new (entries, entry);
  }
  json_object_set_new (facts, "entries", entries);
  return TRUE;
}

/* Writes the entries that were searched, if a file was asked for. */
static gboolean
write_results (const json_t *entries, GError **error)
{
  g_autoptr (json_t) report = json_array ();
  json_t *entry;
  gsize i;

  json_array_foreach (entries, i, entry)
    if (json_is_number (json_object_get (entry, "seconds")) &&
        json_object_get (entry, "error") == NULL)
      json_array_append (report, entry);
  return tool_json_write (report, options.json, error);
}

/* Fails if a problem could not be tuned. */
static gboolean
check_results (const json_t *entries, GError **error)
{
  const json_t *entry;
  guint n_failed = 0;
  gsize i;

  json_array_foreach (entries, i, entry)
    n_failed += json_is_null (json_object_get (entry, "tuned"));
  return n_failed == 0 || tool_fail (error, "%u of %zu problems could not be tuned.", n_failed,
                                     json_array_size (entries));
}

static gboolean
tune (gchar **arguments, GError **error)
{
  const gdouble start = tool_get_seconds ();
  gdouble seconds = DEFAULT_SECONDS;
  ToolSearch search = {.store = !options.dry_run, .done = on_done};
  g_autoptr (json_t) facts = json_object ();
  g_autoptr (GArray) problems = NULL;
  gboolean ok;

  if (!tool_parse_positive ("--time", options.time, &seconds, error))
    return FALSE;
  problems = tool_problems_new (arguments, &tool_gemm, error);
  if (problems == NULL)
    return FALSE;
  /* Fails early: the measurements may take an hour. */
  if (tool_table_get_output (options.json) != stderr && !write_results (NULL, error))
    return FALSE;
  search.end = start + seconds;
  search.patience = CLAMP (HANG_SHARE * seconds, LEAST_HANG_SECONDS, MOST_HANG_SECONDS);
  tool_catch_interrupt ();
  ok = tool_worker_ask (facts, find_facts, problems, error);
  search.entries = json_object_get (facts, "entries");
  if (ok) {
    print_head (search.entries);
    ok = tool_search_run (&search, INFINITY, error) && check_results (search.entries, error);
  }
  /* Results are written even if a later step failed. The first error is reported. */
  return write_results (search.entries, ok ? error : NULL) && ok;
}

static json_t *
describe_entry (const GemmclTuningEntry *entry)
{
  return json_pack ("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:o}", "source",
                    gemmcl_choice_source_get_name (entry->source), "precision",
                    gemmcl_precision_get_name (entry->precision), "layout",
                    tool_layout_get_name (entry->layout), "m", (json_int_t)entry->m, "n",
                    (json_int_t)entry->n, "k", (json_int_t)entry->k, "kernel", entry->kernel,
                    "gflops", tool_json_number (entry->gflops));
}

static gboolean
list (GemmclContext *context, GError **error)
{
  ToolColumn list_columns[] = {{"M x N x K"},
                               {"precision", .key = "precision"},
                               {"layout", .key = "layout"},
                               {"kernel", .key = "kernel"},
                               {"GFLOPS", 8, TRUE, .key = "gflops", .format = "%.2f"},
                               {"source", .key = "source"},
                               {NULL}};
  FILE *out = tool_table_get_output (options.json);
  g_autoptr (GPtrArray) entries = gemmcl_tuning_list (context);
  g_autoptr (json_t) rows = json_array ();

  for (guint i = 0; i < entries->len; i++)
    json_array_append_new (rows, describe_entry (g_ptr_array_index (entries, i)));
  if (entries->len > 0)
    tool_table_titles (out, list_columns, rows);
  else
    fprintf (tool_notes_get_output (options.json),
             "Nothing is known of %s yet. \"gemmcl tune\" measures it; until then the library's "
             "rules choose the kernels.\n",
             gemmcl_context_get_device_info (context)->name);
  for (guint i = 0; i < entries->len; i++)
    tool_table_print (out, list_columns, json_array_get (rows, i));
  return tool_json_write (rows, options.json, error);
}

static gboolean
run (gchar **arguments, GError **error)
{
  g_autoptr (GemmclContext) context = NULL;

  if (!check_options (arguments, error))
    return FALSE;
  if (!options.list && !options.forget)
    return tune (arguments, error);
  context = tool_open_context (error);
  if (context == NULL)
    return FALSE;
  return options.list ? list (context, error) : gemmcl_tuning_forget (context, error);
}

const ToolCommand tool_tune = {
    .name = "tune",
    .summary = "Find the fastest kernel for a device, and remember it",
    .arguments = "[M,N,K ...]",
    .more_arguments = TRUE,
    .description =
        "Measures which kernel is the fastest for each problem, an A of M x K by a B of K x N, and "
        "remembers it in a file. From then on the library, and so the element, uses it for that "
        "problem and for similar ones, on this device with this driver. Without arguments, it "
        "tunes problems that are usual on such a device.\n\n"
        "Each kernel that can do a problem on the device is built, run and its result checked. "
        "Then the faster ones take turns, by the device's own clock. A kernel takes the place of "
        "the one that the rules of the library choose only if it is faster by more than the noise, "
        "so that a tuned choice is not slower than an untuned one.\n\n"
        "The table has a line for each problem: the rules' choice, the tuned one, how fast both "
        "were, and the gain, which is the median over the turns. A dash means no gain.\n\n"
        "Kernels run in a separate process. One that does not build, crashes, hangs, loses the "
        "device or gives a wrong result is left out, and the reason is printed on the standard "
        "error. Ctrl-C ends the search; results of finished problems are remembered.",
    .groups = {{"Device", tool_device_entries},
               {"Problems", problem_entries},
               {"Search", search_entries},
               {"Stored results", memory_entries}},
    .examples = {{"gemmcl tune", "Tune the best device for the usual problems"},
                 {"gemmcl tune -t cpu --time 20 64,1024,1024 3600,96,147",
                  "Tune a CPU for two problems, in 20 seconds"},
                 {"gemmcl tune --list", "Show the entries for the best device"}},
    .run = run,
};
