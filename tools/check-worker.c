/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

#include <string.h>

#include "gemmcl-tuning.h"
#include "options.h"
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

/* Rows that fewer devices can run come first, since the time may not suffice for all. */
static const gchar *const ranks[] = {"matrix engines", "subgroups", ""};

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

void
check_fail (json_t *object, const GError *error, const gchar *why)
{
  if (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL))
    tool_worker_lose (why);
  check_set_result (object, "failed", why);
}

static void
set_larger (json_t *object, const gchar *key, guint64 bytes)
{
  const json_int_t known = json_integer_value (json_object_get (object, key));

  json_object_set_new (object, key, json_integer (MAX (known, (json_int_t)bytes)));
}

gboolean
check_add_build (GemmclPlan *plan, json_t *object)
{
  GemmclBuildInfo info;

  gemmcl_plan_get_build_info (plan, &info);
  json_object_set_new (object, "subgroup_size", json_integer (info.subgroup_size));
  set_larger (object, "private_bytes", info.private_bytes);
  set_larger (object, "spill_bytes", info.spill_bytes);
  return info.level == GEMMCL_KERNEL_LEVEL_NATIVE;
}

static guint
get_rank (const GemmclKernelInfo *info)
{
  guint rank = 0;

  while (strstr (info->needs, ranks[rank]) == NULL)
    rank++;
  return rank;
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

static json_t *
list_rows (GemmclContext *context, const GPtrArray *names)
{
  json_t *rows = json_array ();

  for (guint rank = 0; rank < G_N_ELEMENTS (ranks); rank++)
    for (guint i = 0; i < names->len; i++) {
      const GemmclKernelInfo *info = tool_get_kernel_info (g_ptr_array_index (names, i));

      if (get_rank (info) == rank)
        json_array_append_new (rows, describe_row (context, info));
    }
  return rows;
}

/* Returns: the first candidates; NULL if no kernel of @gemm's precision is native. */
static json_t *
list_candidates (GemmclContext *context, const GemmclGemm *gemm)
{
  g_auto (GStrv) names = gemmcl_tuning_list_candidates (context, gemm);
  g_autoptr (json_t) list = json_array ();
  gboolean native = FALSE;

  for (guint i = 0; names[i] != NULL; i++) {
    native |= tool_get_precision (names[i]) == gemm->precision;
    if (i < MOST_CANDIDATES)
      json_array_append_new (list, json_pack ("{s:s}", "kernel", names[i]));
  }
  return native ? g_steal_pointer (&list) : NULL;
}

/* Appends the entries of a shape: one for each precision with a native kernel. */
static void
add_entries (GemmclContext *context, GemmclGemm gemm, json_t *entries)
{
  static const GemmclPrecision precisions[] = {GEMMCL_PRECISION_F32, GEMMCL_PRECISION_BF16,
                                               GEMMCL_PRECISION_F16, GEMMCL_PRECISION_I8};

  for (guint i = 0; i < G_N_ELEMENTS (precisions); i++) {
    json_t *candidates;

    gemm.precision = precisions[i];
    candidates = list_candidates (context, &gemm);
    if (candidates != NULL)
      json_array_append_new (entries,
                             json_pack ("{s:s, s:s, s:s, s:I, s:I, s:I, s:O, s:o}", "precision",
                                        gemmcl_precision_get_name (gemm.precision), "layout", "row",
                                        "transposed", "", "m", (json_int_t)gemm.m, "n",
                                        (json_int_t)gemm.n, "k", (json_int_t)gemm.k, "rules",
                                        json_object_get (json_array_get (candidates, 0), "kernel"),
                                        "candidates", candidates));
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
    tool_worker_set (json_pack ("[s]", "report"), find_facts (context, data));
  check_rows (&self, start + (gint64)(ROWS_SHARE * (gdouble)(end - start)));
  check_va (&self, MIN (VA_SHARE * check_get_left (end), MOST_VA_SECONDS));
  check_speed (&self);
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
