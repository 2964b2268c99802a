/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which kernel does a problem, and into how many parts K is cut.
 */
#include "kernels/choice.h"

#include <math.h>
#include <string.h>

/* A part of K begins where block reads and float4s may. */
#define SPLIT_ALIGNMENT 16

/* A part has so much of K at least, lest its results cost more than its products. */
#define SPLIT_LEAST 128

/* How many multiply-adds per element of D a part of K costs: it is written, read and added up, by a
 * launch of its own. */
#define SPLIT_COST 160.0

/* Multiply-adds per element of A that its way into an image costs, 8 bytes: so many that a GPU with
 * slow memory does meanwhile, as Intel's integrated ones are. */
#define IMAGE_COST 24.0

/* Columns of D that a device could multiply an element of A with, at its peak, in the time that it
 * takes to make a byte of it. */
#define BYTES_COST 28.0

/* Rows of D times the floats of a CPU's vectors, for which it could multiply in the time that a
 * panel of B takes from behind the second-level cache; the first tile waits for it. */
#define FETCH 0.8

/* A unit of a GPU hides latencies by what else it has to do: with WORK under way in each it does
 * 1 - IDLE of what it can do, with twice as much 1 - IDLE^2, and so on. A work-item is as much work
 * as the square root of its outputs, since of many outputs each waits for the others. These and
 * SPLIT_COST fit the runs of docs/internals/benchmarks.md. */
#define WORK 2048.0
#define IDLE 0.1

/* An Intel GPU's execution unit hides latencies by its other threads, of which it has 7 or 8, or 4
 * with twice the registers. Lanes of a thread whose kernel has no subgroups. */
#define EU_THREADS 4
#define EU_LANES   16

/* Multiply-adds that a unit of a GPU could have done while another kernel is launched: of four
 * microseconds, 128 in each clock, and 8 in one of Intel's. */
#define LAUNCH       1e6
#define LAUNCH_INTEL 64e3

gboolean
gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error)
{
  const gchar *slash = strchr (name, '/');
  g_autofree gchar *row = slash ? g_strndup (name, slash - name) : g_strdup (name);
  guint64 split = 1;

  if (slash != NULL &&
      !g_ascii_string_to_unsigned (slash + 1, 10, 1, GEMMCL_MAX_SPLIT, &split, NULL))
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "\"%s\" should have a number from 1 to %d behind the slash: "
                        "the parts into which K is cut.",
                        name, GEMMCL_MAX_SPLIT);
  self->kernel = gemmcl_kernel_find (row, error);
  self->split = split;
  return self->kernel != NULL;
}

const gchar *
gemmcl_choice_get_name (const GemmclChoice *self)
{
  g_autofree gchar *name = NULL;

  if (self->split == 1)
    return self->kernel->name;
  name = g_strdup_printf ("%s/%u", self->kernel->name, self->split);
  return g_intern_string (name);
}

/* Whether K can be cut at all; then @split must divide it. */
static gboolean
can_split (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  return gemmcl_gemm_get_batch (gemm) == 1 && gemm->d_image == NULL && !kernel->pictures &&
         !kernel->images && kernel->precision != GEMMCL_PRECISION_I8;
}

gboolean
gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                     const GemmclGemm *gemm, GError **error)
{
  if (!gemmcl_kernel_check (self->kernel, device, gemm, error))
    return FALSE;
  if (self->split == 1 || gemm == NULL)
    return TRUE;
  if (!can_split (self->kernel, gemm))
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "Kernel %s cannot have K cut into parts here: "
        "only kernels that read buffers can, of problems without batches and pictures.",
        self->kernel->name);
  if (gemm->k % (SPLIT_ALIGNMENT * self->split) == 0)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                      "To be cut into %u parts, K must be a multiple of %u, which %zu is not.",
                      self->split, SPLIT_ALIGNMENT * self->split, gemm->k);
}

gboolean
gemmcl_kernel_exists (const gchar *name, GError **error)
{
  GemmclChoice choice;

  g_return_val_if_fail (name != NULL, FALSE);
  return gemmcl_choice_find (&choice, name, error);
}

gboolean
gemmcl_kernel_fits (GemmclContext *context, const gchar *name, const GemmclGemm *gemm,
                    GError **error)
{
  GemmclChoice choice;
  GemmclGemm computed;

  g_return_val_if_fail (GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  if (!gemmcl_choice_find (&choice, name, error) ||
      (gemm != NULL && !gemmcl_gemm_validate (gemm, error)))
    return FALSE;
  if (gemm != NULL)
    computed = gemmcl_gemm_get_computed (gemm);
  return gemmcl_choice_check (&choice, gemmcl_context_get_device_info (context),
                              gemm ? &computed : NULL, error);
}

static gboolean
is_intel_gpu (const GemmclDeviceInfo *device)
{
  return device->intel && device->type == GEMMCL_DEVICE_TYPE_GPU;
}

/* Whether @kernel was made for such devices and is native there. */
static gboolean
is_meant_for (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  if (!(kernel->devices >> device->type & 1) &&
      !(is_intel_gpu (device) && kernel->devices & GEMMCL_ON_INTEL_GPU))
    return FALSE;
  return gemmcl_subgroups_get_level (kernel, device) == GEMMCL_KERNEL_LEVEL_NATIVE;
}

/* Whether the rules may choose @kernel on @device. */
static gboolean
is_eligible (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  return is_meant_for (kernel, device) && kernel->float_width <= device->float_width &&
         (kernel->subgroup == 0 || device->subgroup_sizes[0] == kernel->subgroup);
}

/* Whether it may be worth trying though the rules say no: vectors of two registers each, subgroups
 * wider than a register. */
static gboolean
is_candidate (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  return is_meant_for (kernel, device) && kernel->float_width <= 2 * device->float_width;
}

static gboolean
is_hpg (const GemmclDeviceInfo *device)
{
  return is_intel_gpu (device) && device->n_subgroup_sizes > 0 && device->subgroup_sizes[0] == 8 &&
         gemmcl_device_info_has_extension (device, "cl_intel_subgroup_matrix_multiply_accumulate");
}

static gdouble
get_speed (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  if (kernel->hpg_speed > 0 && is_hpg (device))
    return kernel->hpg_speed;
  return kernel->intel_speed > 0 && is_intel_gpu (device) ? kernel->intel_speed : kernel->speed;
}

/* The share of an Intel GPU's cores that have a work-group, times that of the threads which each
 * of its execution units should have. */
static gdouble
get_intel_utilisation (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gdouble groups)
{
  const gdouble lanes = kernel->subgroup > 0 ? kernel->subgroup : EU_LANES;
  const gdouble threads = groups * ceil (kernel->group_m * kernel->group_n / lanes);

  return MIN (groups / device->cores, 1) * MIN (threads / ((gdouble)EU_THREADS * device->eus), 1);
}

/* The share of the device's speed that so many of @kernel's work-groups get out of it. */
static gdouble
get_utilisation (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gdouble groups)
{
  const gdouble units = MAX (device->compute_units, 1);
  const gdouble outputs = kernel->tile_m * MAX (kernel->tile_n, 1);
  const gdouble work = kernel->group_m * kernel->group_n * sqrt (outputs);

  if (device->type == GEMMCL_DEVICE_TYPE_CPU)
    return groups / (ceil (groups / units) * units);
  if (device->cores > 0)
    return get_intel_utilisation (kernel, device, groups);
  return MIN (groups / units, 1 - pow (IDLE, groups * work / (units * WORK)));
}

/* The share of its speed that @kernel has with so many rows: what is not padding, and on a CPU what
 * waiting for B leaves, while which the first tile multiplies. */
static gdouble
get_share_of_rows (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                   const GemmclTiles *tiles, gsize m)
{
  const gdouble narrow =
      gemmcl_type_get_size (gemmcl_kernel_get_b_type (kernel)) / (gdouble)sizeof (gfloat);
  const gdouble fetch =
      device->type == GEMMCL_DEVICE_TYPE_CPU ? FETCH * device->float_width * narrow : 0;
  const gdouble wait = hypot (fetch * get_speed (kernel, device), tiles->rows) - tiles->rows;

  return m / ((gdouble)tiles->m * tiles->rows + wait);
}

/* What the steps besides the gemm cost, as a part of the time that its multiply-adds would take at
 * the device's peak. */
static gdouble
get_launch_cost (const GemmclChoice *self, const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  const guint steps = (self->split > 1) + (self->kernel->images ? 1 : 0);
  const gdouble launch = device->intel ? LAUNCH_INTEL : LAUNCH;

  if (device->type == GEMMCL_DEVICE_TYPE_CPU)
    return 0;
  return steps * launch * device->compute_units / ((gdouble)gemm->m * gemm->n * gemm->k);
}

/*
 * The rule: a kernel's speed with full tiles, times the share of its tiles that is not padding,
 * times what so many tiles make of the device; less what it takes to add up the parts of K, and to
 * make an image of A. What reads pixels by itself beats what needs them converted.
 */
static gdouble
score (const GemmclChoice *self, const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  const GemmclKernel *kernel = self->kernel;
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);
  const gdouble groups = (gdouble)tiles.m * tiles.n * gemmcl_gemm_get_batch (gemm) * self->split;
  const gdouble cost = 1 + (self->split > 1 ? SPLIT_COST * self->split / gemm->k : 0) +
                       (kernel->images ? IMAGE_COST / gemm->n : 0);

  const gdouble speed =
      get_speed (kernel, device) * get_share_of_rows (kernel, device, &tiles, gemm->m) * gemm->n /
      ((gdouble)tiles.n * tiles.cols) * get_utilisation (kernel, device, groups) / cost;

  const gdouble bytes = kernel->precision == GEMMCL_PRECISION_I8 ? BYTES_COST / gemm->n : 0;

  return 1 / (1 / speed + bytes + get_launch_cost (self, device, gemm)) +
         gemmcl_kernel_takes_pixels (kernel, gemm);
}

typedef struct {
  GemmclChoice choice;
  gdouble score;
} Scored;

/* Best first; of equals the later row, which overrides. */
static gint
compare_score (gconstpointer a, gconstpointer b)
{
  const Scored *x = a, *y = b;

  if (x->score != y->score)
    return y->score > x->score ? 1 : -1;
  return x->choice.kernel < y->choice.kernel ? 1 : -1;
}

/* Whether so many work-groups leave nothing idle. CPUs have few units, so that any problem that
 * takes time does. */
static gboolean
fills (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gsize groups)
{
  if (device->type == GEMMCL_DEVICE_TYPE_CPU)
    return TRUE;
  return device->cores > 0 ? get_intel_utilisation (kernel, device, groups) == 1
                           : groups >= device->compute_units;
}

/* A kernel with K whole, and in as many parts as may be worth it. */
static void
append_splits (GArray *scored, const GemmclKernel *kernel, const GemmclDeviceInfo *device,
               const GemmclGemm *gemm, guint max_split)
{
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);
  const gboolean whole = !can_split (kernel, gemm) || fills (kernel, device, tiles.m * tiles.n);

  for (guint split = 1; split <= (whole ? 1 : max_split); split *= 2) {
    Scored next = {{kernel, split}, 0};

    if (split > 1 && (gemm->k % (SPLIT_ALIGNMENT * split) != 0 || gemm->k / split < SPLIT_LEAST))
      return;
    next.score = score (&next.choice, device, gemm);
    g_array_append_val (scored, next);
  }
}

/* What is left of the sorted: choices, of each kernel all or only the best. */
static GArray *
get_choices (const GArray *scored, gboolean only_best)
{
  GArray *choices = g_array_new (FALSE, FALSE, sizeof (GemmclChoice));
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < scored->len; i++) {
    const GemmclChoice choice = g_array_index (scored, Scored, i).choice;

    if (g_hash_table_add (seen, (gpointer)choice.kernel) || !only_best)
      g_array_append_val (choices, choice);
  }
  return choices;
}

static GArray *
rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm, guint max_split,
      gboolean (*takes) (const GemmclKernel *kernel, const GemmclDeviceInfo *device))
{
  GArray *scored = g_array_new (FALSE, FALSE, sizeof (Scored));

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *kernel = gemmcl_kernel_get (i);

    if (takes (kernel, device) && gemmcl_kernel_check (kernel, device, gemm, NULL))
      append_splits (scored, kernel, device, gemm, max_split);
  }
  g_array_sort (scored, compare_score);
  return scored;
}

GArray *
gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm, guint max_split)
{
  g_autoptr (GArray) scored = rank (device, gemm, max_split, is_eligible);

  return get_choices (scored, TRUE);
}

GArray *
gemmcl_choice_list (const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  g_autoptr (GArray) scored = rank (device, gemm, GEMMCL_MAX_SPLIT, is_candidate);
  g_autoptr (GArray) rules = gemmcl_choice_rank (device, gemm, GEMMCL_MAX_SPLIT);
  GArray *choices = get_choices (scored, FALSE);

  for (guint i = 0; rules->len > 0 && i < choices->len; i++) {
    const GemmclChoice *best = &g_array_index (rules, GemmclChoice, 0);
    const GemmclChoice *choice = &g_array_index (choices, GemmclChoice, i);

    if (choice->kernel == best->kernel && choice->split == best->split) {
      g_array_remove_index (choices, i);
      g_array_prepend_val (choices, *best);
      break;
    }
  }
  return choices;
}
