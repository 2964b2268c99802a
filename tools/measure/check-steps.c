/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The steps of a check in a worker. Each native row of the table multiplies small matrices of
 * integers. Their products and sums are exact in every precision, so that any difference is an
 * error. D of each problem covers a whole tile of a work-group and parts of others. A pipeline
 * sends VA surfaces through the element.
 */
#include "measure/check-steps.h"

#include <math.h>
#include <string.h>
#include <sys/prctl.h>

#include "measure/bench-matrices.h"
#include "measure/check-report.h"
#include "measure/worker.h"
#include "shared-options.h"

/* The tile of a row whose name has none. */
#define DEFAULT_TILE 32

/* Number of bytes at the end of a pipeline's output that the report keeps. */
#define MOST_SAID 2000

/**
 * Product: a problem for a row of the table, larger than the tile of a work-group
 * @more_m, @more_n: rows and columns of D beyond the tile
 * @less: a size above the limit of the kernel becomes the limit minus @less, at least 1
 * @stored: A has the type that the kernel multiplies; otherwise f32
 */
typedef struct {
  const gchar *name;
  gsize k, more_m, more_n, less;
  gboolean stored;
} Product;

/* The rows of the second problem are no multiple of 16 bytes, which 2D block reads need. */
static const Product products[] = {
    {"stored", 96, 8, 16, 0, TRUE},
    {"edges", 83, 3, 5, 3, FALSE},
};

/* Parses the tile: "xmx_bf16_16x8_8x32" has 8 x 32 work-items with 16 x 8 outputs each. */
static void
get_group (const gchar *name, gsize *rows, gsize *columns)
{
  guint tile_m = 0, tile_n = 0, group_m = 0, group_n = 0;

  *rows = *columns = DEFAULT_TILE;
  for (const gchar *at = strchr (name, '_'); at != NULL; at = strchr (at + 1, '_'))
    if (sscanf (at, "_%ux%u_%ux%u", &tile_m, &tile_n, &group_m, &group_n) == 4) {
      *rows = tile_m * group_m;
      *columns = tile_n * group_n;
    }
}

/* @max: 0: no limit */
static gsize
limit (gsize size, gsize max, const Product *product)
{
  return max == 0 || size <= max ? size : max - MIN (max - 1, product->less);
}

static GemmclGemm
make_gemm (const GemmclKernelInfo *info, const Product *product)
{
  static const GemmclType types[] = {
      [GEMMCL_PRECISION_F32] = GEMMCL_TYPE_F32,   [GEMMCL_PRECISION_F16] = GEMMCL_TYPE_F16,
      [GEMMCL_PRECISION_BF16] = GEMMCL_TYPE_BF16, [GEMMCL_PRECISION_TF32] = GEMMCL_TYPE_F32,
      [GEMMCL_PRECISION_I8] = GEMMCL_TYPE_U8,
  };
  GemmclGemm gemm = GEMMCL_GEMM_INIT;

  get_group (info->name, &gemm.m, &gemm.n);
  gemm.m = limit (gemm.m + product->more_m, info->max_m, product);
  gemm.n = limit (gemm.n + product->more_n, info->max_n, product);
  gemm.k = limit (product->k, info->max_k, product);
  gemm.precision = info->precision;
  gemm.a_type = product->stored ? types[info->precision] : GEMMCL_TYPE_F32;
  return gemm;
}

/* Returns: element @k of row or column @i of an operand: a whole number that every precision holds
 * exactly, as do the sums. The first elements are the extremes, so that the scale of int8 is 1. */
static gfloat
pick (gsize i, gsize k, gint least, gint largest)
{
  const guint32 hash = ((guint32)i * 73856093u ^ (guint32)k * 19349663u) * 2654435761u;

  return k == 0 ? largest : k == 1 ? least : least + (gint)((hash >> 16) % (largest - least + 1));
}

static gfloat
get_a (const GemmclGemm *gemm, gsize row, gsize k)
{
  const gint least = gemm->a_type == GEMMCL_TYPE_U8 ? 0 : -128;

  return pick (row, k, least, least + 255);
}

/* The complement gives column j of B other numbers than row j of A. */
static gfloat
get_b (gsize k, gsize column)
{
  return pick (~column, k, -127, 127);
}

/* Returns: (nullable) (transfer full): D */
static gfloat *
multiply (const GemmclGemm *gemm, GemmclPlan *plan, GError **error)
{
  const gsize m = gemm->m, n = gemm->n, k = gemm->k;
  g_autofree gpointer a = g_malloc_n (m * k, gemmcl_type_get_size (gemm->a_type));
  g_autofree gfloat *b = g_new (gfloat, k * n), *d = g_new (gfloat, m * n);
  g_autoptr (GemmclMatrix) weights = NULL;

  for (gsize i = 0; i < m * k; i++)
    bench_store (a, gemm->a_type, i, get_a (gemm, i / k, i % k));
  for (gsize i = 0; i < k * n; i++)
    b[i] = get_b (i / n, i % n);
  for (gsize i = 0; i < m * n; i++)
    d[i] = NAN;
  weights = gemmcl_matrix_new (GEMMCL_TYPE_F32, k, n, b, error);
  return weights != NULL && gemmcl_plan_set (plan, GEMMCL_PLAN_B, weights, error) &&
                 gemmcl_plan_run_host (plan, 1, 0, a, d, NULL, error)
             ? g_steal_pointer (&d)
             : NULL;
}

/* Returns: (nullable) (transfer full): the first wrong element of @d and their number. */
static gchar *
describe_wrong (const GemmclGemm *gemm, const gfloat *d)
{
  const gsize n = gemm->n, count = gemm->m * n;
  g_autofree gchar *first = NULL;
  gsize wrong = 0;

  for (gsize i = 0; i < count; i++) {
    gfloat expected = 0;

    for (gsize k = 0; k < gemm->k; k++)
      expected += get_a (gemm, i / n, k) * get_b (k, i % n);
    /* Not "!=", so that NaN is wrong. */
    if (!(d[i] == expected) && wrong++ == 0)
      first = g_strdup_printf ("D (%zu, %zu) is %g, expected %g", i / n, i % n, d[i], expected);
  }
  return wrong > 0 ? g_strdup_printf ("%s; %zu of %zu elements are wrong", first, wrong, count)
                   : NULL;
}

static void
set_larger (json_t *row, const gchar *key, guint64 bytes)
{
  const json_int_t known = json_integer_value (json_object_get (row, key));

  json_object_set_new (row, key, json_integer (MAX (known, (json_int_t)bytes)));
}

/* Adds the driver's figures of the plan's kernel, the largest of all problems. Returns: TRUE if the
 * kernel was built natively. */
static gboolean
add_build (GemmclPlan *plan, json_t *row)
{
  GemmclPlanInfo info;

  gemmcl_plan_get_info (plan, &info);
  json_object_set_new (row, "subgroup_size", json_integer (info.subgroup_size));
  set_larger (row, "private_bytes", info.private_bytes);
  set_larger (row, "spill_bytes", info.spill_bytes);
  return info.level == GEMMCL_KERNEL_LEVEL_NATIVE;
}

/* Sets the result of @row for a problem. Returns: FALSE after a fault, which ends the check of the
 * row. */
static gboolean
check_product (GemmclContext *context, const GemmclKernelInfo *info, const Product *product,
               json_t *row)
{
  const GemmclGemm gemm = make_gemm (info, product);
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gfloat *d = NULL;
  g_autofree gchar *wrong = NULL, *why = NULL;
  const gchar *result = "failed";

  if (!gemmcl_kernel_fits (context, info->name, &gemm, NULL))
    return TRUE;
  plan = gemmcl_plan_new (context, &gemm, info->name, &error);
  if (plan != NULL && !add_build (plan, row)) {
    wrong = g_strdup ("It does not build natively.");
  } else if (plan == NULL || (d = multiply (&gemm, plan, &error)) == NULL) {
    wrong = g_strdup (error->message);
    /* The largest work-group is known only after the build. */
    if (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL))
      result = "unfit";
  } else {
    wrong = describe_wrong (&gemm, d);
    result = wrong != NULL ? "wrong" : "ok";
  }
  why = wrong != NULL ? g_strdup_printf ("%s, %zu x %zu x %zu: %s", product->name, gemm.m, gemm.n,
                                         gemm.k, wrong)
                      : NULL;
  /* The device may be lost to this process. */
  if (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL))
    tool_worker_lose (why);
  check_set_result (row, result, why);
  return wrong == NULL;
}

void
check_row (GemmclContext *context, json_t *row)
{
  const GemmclKernelInfo *info = tool_get_kernel_info (tool_json_get_string (row, "kernel"));
  const gdouble start = tool_get_seconds ();

  check_set_result (row, "unfit", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (products); i++)
    if (!check_product (context, info, &products[i], row))
      break;
  json_object_set_new (row, "seconds", json_real (tool_get_seconds () - start));
}

void
check_build_rows (const json_t *rows, gsize first, gsize n)
{
  g_autoptr (GemmclContext) context = tool_open_context (NULL);

  for (gsize i = first; context != NULL && i < json_array_size (rows); i += n) {
    const json_t *row = json_array_get (rows, i);
    const GemmclKernelInfo *info = tool_get_kernel_info (tool_json_get_string (row, "kernel"));

    for (guint j = 0; j < G_N_ELEMENTS (products) && check_is_open (row); j++) {
      const GemmclGemm gemm = make_gemm (info, &products[j]);
      g_autoptr (GemmclPlan) plan = NULL;

      if (gemmcl_kernel_fits (context, info->name, &gemm, NULL))
        plan = gemmcl_plan_new (context, &gemm, info->name, NULL);
    }
  }
}

/* Returns: (nullable) (transfer full): a sentence that names the element that GStreamer lacks, such
 * as vapostproc on a machine without a VA driver. */
static gchar *
find_missing (const gchar *said)
{
  const gchar *missing = strstr (said, "no element ");

  return missing != NULL
             ? g_strdup_printf ("GStreamer has %.*s here.", (gint)strcspn (missing, "\n"), missing)
             : NULL;
}

/* Runs in the child: the pipeline ends with its worker, which the tool kills if it hangs. */
static void
set_up (G_GNUC_UNUSED gpointer data)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
}

void
check_va (GemmclContext *context, json_t *va)
{
  const GemmclDeviceInfo *info = gemmcl_context_get_device_info (context);
  /* One argument a line: names have spaces. */
  g_autofree gchar *line = g_strdup_printf (
      "gst-launch-1.0\n-q\nvideotestsrc\nnum-buffers=30\n!\n"
      "video/x-raw,format=NV12,width=640,height=480\n!\nvapostproc\n!\n"
      "video/x-raw(memory:VAMemory),format=NV12\n!\ngemmcl\nweight=[[.3],[.6],[.1]]\n"
      "platform=\"%s\"\ndevice=\"%s\"\n!\nfakesink",
      info->platform, info->name);
  g_auto (GStrv) arguments = g_strsplit (line, "\n", -1);
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "LC_ALL", "C", TRUE);
  g_autofree gchar *said = NULL, *missing = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  if (!g_spawn_sync (NULL, arguments, environment, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                     set_up, NULL, NULL, &said, &status, &error)) {
    check_set_result (va, "absent", error->message);
  } else if (g_spawn_check_wait_status (status, &error)) {
    check_set_result (va, "passed", NULL);
  } else if ((missing = find_missing (said)) != NULL) {
    check_set_result (va, "absent", missing);
  } else {
    g_strchomp (said);
    check_set_result (va, "failed", error->message);
    json_object_set_new (va, "said",
                         tool_json_string (said + MAX (strlen (said), MOST_SAID) - MOST_SAID));
  }
}
