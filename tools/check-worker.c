/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

#include "options.h"
#include "search.h"
#include "tool.h"

/* Candidates of a shape: the rules' choice and the next ones in the order of the rules. */
#define MOST_CANDIDATES 5

/* Shapes of a whole check. */
#define N_SHAPES 8

/* f32 peak from which the largest shape has sizes of 4096. At half of this peak 2 * 4096^3
 * operations take a tenth of a second. */
#define LARGE_GFLOPS 2750.0

/* Seconds for building and running a kernel, or this share of all if that is more. */
#define HANG_SECONDS 30.0
#define HANG_SHARE   0.1

/* The time for rows at first, as a share of all, and that for surfaces, of the rest. */
#define ROWS_SHARE 0.6
#define VA_SHARE   0.3

#define MOST_VA_SECONDS 20.0

/* The time for each entry of "speed" on average at most. */
#define MOST_SPEED_SECONDS 10.0

gdouble
check_get_left (gint64 deadline)
{
  return MAX (deadline - g_get_monotonic_time (), 0) / (gdouble)G_USEC_PER_SEC;
}

gboolean
check_is_open (const json_t *object)
{
  return json_object_get (object, "result") == NULL;
}

gboolean
check_is_faulty (const json_t *object)
{
  static const gchar *const faults[] = {"wrong", "failed", "lost", NULL};
  const gchar *result = tool_json_get_string (object, "result");

  return result != NULL && g_strv_contains (faults, result);
}

gboolean
check_is_native (const json_t *row)
{
  return g_strcmp0 (tool_json_get_string (row, "level"), "native") == 0;
}

void
check_set_result (json_t *object, const gchar *result, const gchar *why)
{
  json_object_set_new (object, "result", json_string (result));
  json_object_set_new (object, "why", tool_json_string (why));
}

static json_t *
describe_row (GemmclContext *context, const GemmclKernelInfo *info)
{
  g_autoptr (GError) why = NULL;
  GemmclKernelLevel level;
  const gchar *name = NULL;

  if (gemmcl_kernel_get_level (context, info->name, &level, &why))
    name = gemmcl_kernel_level_get_name (level);
  return json_pack ("{s:s, s:s, s:s, s:s?, s:o}", "kernel", info->name, "precision",
                    gemmcl_precision_get_name (info->precision), "needs", info->needs, "level",
                    name, "why", tool_json_string (why != NULL ? why->message : NULL));
}

/* The last rows of the table, which fewer devices can run, come first, since the time may not
 * suffice for all. */
static json_t *
list_rows (GemmclContext *context, const GPtrArray *names)
{
  json_t *rows = json_array ();

  for (guint i = names->len; i-- > 0;)
    json_array_append_new (
        rows, describe_row (context, tool_get_kernel_info (g_ptr_array_index (names, i))));
  return rows;
}

/* Appends the entries of a shape: one for each precision with a candidate. */
static void
add_entries (GemmclContext *context, GemmclGemm gemm, json_t *entries)
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
    {
      native |= tool_get_precision (tool_json_get_string (candidate, "kernel")) == gemm.precision;
    }
    if (native)
      json_array_append (entries, entry);
  }
}

/* @asked: problems; none: those of a whole check. */
static json_t *
list_entries (GemmclContext *context, const GArray *asked)
{
  const gdouble peak = gemmcl_context_get_device_info (context)->peak_gflops;
  const gchar *usual[N_SHAPES + 1] = {"1024,1024,1024", "64,1024,1024",  "16,1024,1024",
                                      "3600,96,147",    "1,4096,4096",   "64,4096,4096",
                                      "256,4096,4096",  "2048,2048,2048"};
  g_autoptr (GArray) whole = NULL;
  json_t *list = json_array ();

  if (peak >= LARGE_GFLOPS)
    usual[N_SHAPES - 1] = "4096,4096,4096";
  if (asked->len == 0)
    asked = whole = tool_problems_new (usual, &tool_gemm, NULL);
  for (guint i = 0; i < asked->len; i++)
    add_entries (context, g_array_index (asked, GemmclGemm, i), list);
  return list;
}

static json_t *
find_facts (GemmclContext *context, const CheckAsked *asked)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const gboolean shares = gemmcl_device_info_has_extension (info, "cl_intel_va_api_media_sharing");
  json_t *device = tool_json_device (0, info);

  /* The device's number has a meaning only on this machine. */
  json_object_del (device, "device");
  json_object_set_new (device, "cores", json_integer (info->cores));
  json_object_set_new (device, "ip_version", json_integer (info->ip_version));
  return json_pack ("{s:o, s:b, s:o, s:{}, s:o}", "device", device, "shares_surfaces", shares,
                    "rows", list_rows (context, asked->kernels), "va", "speed",
                    list_entries (context, asked->shapes));
}

/* Returns: the kernels that should not be timed: those of lost processes, and faulty rows. */
static json_t *
list_bad (const json_t *state, const json_t *rows)
{
  json_t *bad = json_copy (json_object_get (state, "lost")), *row;
  gsize i;

  json_array_foreach (rows, i, row)
  {
    if (check_is_faulty (row))
      json_array_append (bad, row);
  }
  return bad;
}

static void
time_kernels (const Check *self, const json_t *state)
{
  json_t *entries = json_object_get (self->report, "speed");
  g_autoptr (json_t) bad = list_bad (state, json_object_get (self->report, "rows"));
  const gdouble most = MOST_SPEED_SECONDS * (gdouble)json_array_size (entries);

  tool_search (self->context, entries, bad,
               MIN (self->deadline, g_get_monotonic_time () + (gint64)(most * G_USEC_PER_SEC)),
               self->patience);
}

static void
work (GemmclContext *context, json_t *state, gpointer data)
{
  const gint64 start = json_integer_value (json_object_get (state, "start"));
  const gint64 end = json_integer_value (json_object_get (state, "end"));
  const Check self = {.context = context,
                      .report = json_object_get (state, "report"),
                      .deadline = end,
                      .patience =
                          MAX (HANG_SECONDS, HANG_SHARE * (gdouble)(end - start) / G_USEC_PER_SEC)};

  if (json_object_get (self.report, "device") == NULL)
    tool_worker_set (self.report, find_facts (context, data));
  check_rows (&self, start + (gint64)(ROWS_SHARE * (gdouble)(end - start)));
  check_va (&self, MIN (VA_SHARE * check_get_left (end), MOST_VA_SECONDS));
  time_kernels (&self, state);
  check_rows (&self, end);
}

gboolean
check_serve (const CheckAsked *asked, GError **error)
{
  return tool_worker_serve (work, (gpointer)asked, error);
}

gboolean
check_build (const CheckAsked *asked, guint first, guint n, GError **error)
{
  g_autoptr (GemmclContext) context = tool_open_context (error);
  g_autoptr (json_t) rows = context != NULL ? list_rows (context, asked->kernels) : NULL;

  for (gsize i = first; i < json_array_size (rows); i += n)
    if (check_is_native (json_array_get (rows, i)))
      check_build_row (context, json_array_get (rows, i));
  return context != NULL;
}
