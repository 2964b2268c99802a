/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each native row of the table multiplies small matrices of integers. Their products and sums are
 * exact in every precision, so that any difference is an error. Each problem has a whole work-group
 * and parts of one.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

#define SEED 20150807

/* The tile of a row whose name has none. */
#define DEFAULT_TILE 32

/**
 * Product: a problem for a row of the table, as large as the tile of a work-group and some more
 * @more_m, @more_n: rows and columns of D beyond the tile
 * @stored: A has the type that the kernel multiplies; otherwise f32
 * @m, @n: the sizes; 0: from the tile
 * @last: only for a row that fits none of the problems before
 */
typedef struct {
  const gchar *name;
  gsize k, more_m, more_n;
  gboolean stored;
  gsize m, n;
  gboolean last;
} Product;

/* 2D block reads need rows of a multiple of 16 bytes, which the second problem does not have. */
static const Product products[] = {
    {"stored", 96, 8, 16, TRUE},
    {"edges", 83, 3, 5, FALSE},
    {"few rows", 83, .more_n = 5, .m = 4, .last = TRUE},
    {"one row", 83, .more_n = 5, .m = 1, .last = TRUE},
    {"narrow", 13, .more_m = 3, .n = 13, .last = TRUE},
};

typedef struct {
  GemmclGemm gemm;
  gboolean is_int8;
  gfloat *a, *b, *d;
  gpointer stored; /* A in the type of the problem */
} Numbers;

static void
numbers_clear (Numbers *self)
{
  g_free (self->a);
  g_free (self->b);
  g_free (self->d);
  g_free (self->stored);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Numbers, numbers_clear)

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
  gemm.m = product->m > 0 ? product->m : gemm.m + product->more_m;
  gemm.n = product->n > 0 ? product->n : gemm.n + product->more_n;
  gemm.k = product->k;
  gemm.precision = info->precision;
  gemm.a_type = product->stored ? types[info->precision] : GEMMCL_TYPE_F32;
  return gemm;
}

/* Returns: an integer for int8. With these extremes in each row of A and column of B, the
 * quantization step is 1. */
static gfloat
pick_int8 (GRand *random, gboolean is_a, gsize k)
{
  if (is_a)
    return k == 0 ? 255 : k == 1 ? 0 : g_rand_int_range (random, 0, 256);
  return k == 0 ? 127 : k == 1 ? -127 : g_rand_int_range (random, -127, 128);
}

static gfloat
pick (GRand *random, const Numbers *self, gboolean is_a, gsize k)
{
  return self->is_int8 ? pick_int8 (random, is_a, k) : g_rand_int_range (random, -8, 9);
}

static void
numbers_init (Numbers *self, const GemmclGemm *gemm)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);

  self->gemm = *gemm;
  self->is_int8 = gemm->precision == GEMMCL_PRECISION_I8;
  self->a = g_new (gfloat, gemm->m * gemm->k);
  self->b = g_new (gfloat, gemm->k * gemm->n);
  self->d = g_new (gfloat, gemm->m * gemm->n);
  self->stored = g_malloc0_n (gemm->m * gemm->k, gemmcl_type_get_size (gemm->a_type));
  for (gsize i = 0; i < gemm->m * gemm->k; i++) {
    self->a[i] = pick (random, self, TRUE, i % gemm->k);
    bench_store (self->stored, gemm->a_type, i, self->a[i]);
  }
  for (gsize i = 0; i < gemm->k * gemm->n; i++)
    self->b[i] = pick (random, self, FALSE, i / gemm->n);
  for (gsize i = 0; i < gemm->m * gemm->n; i++)
    self->d[i] = NAN;
}

static gboolean
multiply (Numbers *self, GemmclPlan *plan, GError **error)
{
  const GemmclData a = {.kind = GEMMCL_DATA_HOST, .host = {self->stored}};
  const GemmclData d = {.kind = GEMMCL_DATA_HOST, .host = {self->d}};
  g_autoptr (GemmclMatrix) b =
      gemmcl_matrix_new (GEMMCL_TYPE_F32, self->gemm.k, self->gemm.n, self->b, error);
  GemmclRun run = GEMMCL_RUN_INIT;

  run.a = &a;
  run.d = &d;
  return b != NULL && gemmcl_plan_set_b (plan, b, error) && gemmcl_plan_run (plan, &run, error);
}

static gfloat
multiply_one (const Numbers *self, gsize row, gsize column)
{
  gfloat sum = 0;

  for (gsize k = 0; k < self->gemm.k; k++)
    sum += self->a[row * self->gemm.k + k] * self->b[k * self->gemm.n + column];
  return sum;
}

/* Returns: (nullable) (transfer full): the first wrong element and their number. */
static gchar *
describe_wrong (const Numbers *self)
{
  const gsize n = self->gemm.n, count = self->gemm.m * n;
  g_autofree gchar *first = NULL;
  gsize wrong = 0;

  for (gsize i = 0; i < count; i++) {
    const gfloat expected = multiply_one (self, i / n, i % n);

    /* Not "!=", so that NaN is wrong. */
    if (!(self->d[i] == expected) && wrong++ == 0)
      first =
          g_strdup_printf ("D (%zu, %zu) is %g, expected %g", i / n, i % n, self->d[i], expected);
  }
  return wrong > 0 ? g_strdup_printf ("%s; %zu of %zu elements are wrong", first, wrong, count)
                   : NULL;
}

static void
set_result (json_t *answer, const gchar *result, const GemmclGemm *gemm, const Product *product,
            const gchar *why)
{
  g_autofree gchar *text =
      g_strdup_printf ("%s, %zu x %zu x %zu: %s", product->name, gemm->m, gemm->n, gemm->k, why);

  check_set_result (answer, result, text);
}

/* Returns: FALSE if the row failed, so that no other problem is needed. */
static gboolean
check_product (GemmclContext *context, const GemmclKernelInfo *info, const Product *product,
               json_t *answer)
{
  const GemmclGemm gemm = make_gemm (info, product);
  g_auto (Numbers) numbers = {.is_int8 = FALSE};
  g_autoptr (GemmclPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *wrong = NULL;

  if (!gemmcl_kernel_fits (context, info->name, &gemm, NULL) ||
      (product->last && g_strcmp0 (tool_json_get_string (answer, "result"), "unfit") != 0))
    return TRUE;
  json_object_set_new (answer, "result", json_string ("ok"));
  plan = gemmcl_plan_new (context, &gemm, info->name, &error);
  if (plan != NULL && !check_add_build (plan, answer)) {
    set_result (answer, "failed", &gemm, product, "It does not build natively.");
    return FALSE;
  }
  /* Only the build tells the largest work-group. */
  if (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_KERNEL)) {
    set_result (answer, "unfit", &gemm, product, error->message);
    return FALSE;
  }
  numbers_init (&numbers, &gemm);
  if (plan == NULL || !multiply (&numbers, plan, &error)) {
    set_result (answer, "failed", &gemm, product, error->message);
    json_object_set_new (answer, "lost",
                         json_boolean (g_error_matches (error, GEMMCL_ERROR, GEMMCL_ERROR_OPENCL)));
    return FALSE;
  }
  wrong = describe_wrong (&numbers);
  if (wrong != NULL)
    set_result (answer, "wrong", &gemm, product, wrong);
  return wrong == NULL;
}

json_t *
check_serve_build (GemmclContext *context, const json_t *request)
{
  const json_t *names = json_object_get (request, "kernels"), *name;
  gsize row;

  json_array_foreach (names, row, name)
  {
    const GemmclKernelInfo *info = tool_get_kernel_info (json_string_value (name));

    for (guint i = 0; i < G_N_ELEMENTS (products); i++) {
      const GemmclGemm gemm = make_gemm (info, &products[i]);
      GemmclPlan *plan = gemmcl_kernel_fits (context, info->name, &gemm, NULL)
                             ? gemmcl_plan_new (context, &gemm, info->name, NULL)
                             : NULL;

      g_clear_object (&plan);
    }
  }
  return json_object ();
}

json_t *
check_serve_row (GemmclContext *context, const json_t *request)
{
  const GemmclKernelInfo *info = tool_get_kernel_info (tool_json_get_string (request, "kernel"));
  json_t *answer = json_pack ("{s:s}", "result", "unfit");

  for (guint i = 0; i < G_N_ELEMENTS (products); i++)
    if (!check_product (context, info, &products[i], answer))
      break;
  return answer;
}

/* Rows that fewer devices can run are checked earlier, since the time may not suffice for all. */
#define N_RANKS 3

/* Processes that compile. Each uses a core; compiling takes most of the time. */
#define MOST_BUILDERS 6

static guint
get_rank (const json_t *row)
{
  const gchar *needs = tool_json_get_string (row, "needs");

  return strstr (needs, "matrix engines") != NULL ? 0 : strstr (needs, "subgroups") != NULL ? 1 : 2;
}

static gboolean
is_native (const json_t *row)
{
  return g_strcmp0 (tool_json_get_string (row, "level"), "native") == 0;
}

static gboolean
check_row (Check *self, json_t *row, gint64 deadline, GError **error)
{
  const gdouble left = check_get_left (deadline);
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (json_t) answer = NULL;
  GError *why = NULL;

  if (left <= 0.0) {
    check_set_result (row, "not reached", NULL);
    return TRUE;
  }
  answer = tool_child_ask (
      self->worker,
      json_pack ("{s:s, s:O}", "do", "row", "kernel", json_object_get (row, "kernel")),
      MIN (left, self->patience), &why);
  json_object_set_new (row, "seconds",
                       json_real ((g_get_monotonic_time () - start) / (gdouble)G_USEC_PER_SEC));
  if (answer == NULL)
    return check_explain (row, left < self->patience, why, error);
  /* An earlier turn that did not reach the row may have set it. */
  json_object_set_new (row, "why", json_null ());
  json_object_update (row, answer);
  return TRUE;
}

static gboolean
is_due (const json_t *row)
{
  const gchar *result = tool_json_get_string (row, "result");

  return is_native (row) && (result == NULL || g_str_equal (result, "not reached"));
}

/* Returns: references to the rows that are due, in the order in which they are checked. */
static json_t *
order_rows (const json_t *rows)
{
  json_t *ordered = json_array ();

  for (guint rank = 0; rank < N_RANKS; rank++)
    for (gsize i = 0; i < json_array_size (rows); i++) {
      json_t *row = json_array_get (rows, i);

      if (is_due (row) && get_rank (row) == rank)
        json_array_append (ordered, row);
    }
  return ordered;
}

/* Starts a process that compiles every @n-th row from @first on, ahead of the one that runs them.
 * Its result does not matter. */
static ToolChild *
start_builder (const Check *self, const json_t *rows, guint first, guint n)
{
  ToolChild *builder = tool_child_new (self->progress);
  json_t *names = json_array ();

  for (gsize i = first; i < json_array_size (rows); i += n)
    json_array_append (names, json_object_get (json_array_get (rows, i), "kernel"));
  tool_child_send (builder, json_pack ("{s:s, s:o}", "do", "build", "kernels", names), NULL);
  return builder;
}

static GPtrArray *
start_builders (const Check *self, const json_t *rows, gdouble seconds)
{
  const guint n = CLAMP (g_get_num_processors () - 1, 1, MOST_BUILDERS);
  GPtrArray *builders = g_ptr_array_new_with_free_func ((GDestroyNotify)tool_child_free);

  /* The first row is checked at once, so that compiling it ahead gains nothing. */
  for (guint i = 0; i < n && i + 1 < json_array_size (rows) && seconds > 0.0; i++)
    g_ptr_array_add (builders, start_builder (self, rows, i + 1, n));
  return builders;
}

gboolean
check_rows (Check *self, gdouble seconds, GError **error)
{
  const gint64 deadline =
      MIN (self->deadline, g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC));
  g_autoptr (json_t) rows = order_rows (json_object_get (self->report, "rows"));
  g_autoptr (GPtrArray) builders G_GNUC_UNUSED = start_builders (self, rows, seconds);

  check_begin (self, "kernels on exact problems", seconds);
  for (gsize i = 0; i < json_array_size (rows); i++)
    if (!check_row (self, json_array_get (rows, i), deadline, error))
      return FALSE;
  return TRUE;
}
