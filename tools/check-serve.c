/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

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

static json_t *
list_rows (GemmclContext *context, const GPtrArray *names)
{
  json_t *rows = json_array ();

  for (guint i = 0; i < names->len; i++) {
    const GemmclKernelInfo *info = tool_get_kernel_info (g_ptr_array_index (names, i));
    g_autoptr (GError) why = NULL;
    GemmclKernelLevel level;
    const gchar *name = NULL;

    if (gemmcl_kernel_get_level (context, info->name, &level, &why))
      name = gemmcl_kernel_level_get_name (level);
    json_array_append_new (
        rows, json_pack ("{s:s, s:s, s:s, s:s?, s:o}", "kernel", info->name, "precision",
                         gemmcl_precision_get_name (info->precision), "needs", info->needs, "level",
                         name, "why", tool_json_string (why != NULL ? why->message : NULL)));
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
serve_facts (GemmclContext *context, const CheckAsked *asked)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  const gboolean shares = gemmcl_device_info_has_extension (info, "cl_intel_va_api_media_sharing");
  json_t *device = tool_json_device (0, info);

  /* The device's number has a meaning only on this machine. */
  json_object_del (device, "device");
  json_object_set_new (device, "cores", json_integer (info->cores));
  json_object_set_new (device, "ip_version", json_integer (info->ip_version));
  return json_pack ("{s:o, s:b, s:o, s:o}", "device", device, "shares_surfaces", shares, "rows",
                    list_rows (context, asked->kernels), "speed",
                    list_entries (context, asked->shapes));
}

static const struct {
  const gchar *word;
  json_t *(*serve) (GemmclContext *context, const json_t *request);
} requests[] = {
    {"build", check_serve_build},     {"row", check_serve_row},   {"va", check_serve_va},
    {"prepare", check_serve_prepare}, {"time", check_serve_time},
};

static json_t *
serve (gpointer data, GemmclContext *context, const json_t *request)
{
  if (g_strcmp0 (tool_json_get_string (request, "do"), "facts") == 0)
    return serve_facts (context, data);
  for (guint i = 0; i < G_N_ELEMENTS (requests); i++)
    if (g_strcmp0 (tool_json_get_string (request, "do"), requests[i].word) == 0)
      return requests[i].serve (context, request);
  return NULL;
}

gboolean
check_serve (const CheckAsked *asked, GError **error)
{
  return tool_child_serve (serve, (gpointer)asked, error);
}
