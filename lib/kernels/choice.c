/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernels/choice.h"

#include <math.h>
#include <string.h>

#include "kernels/options.h"
#include "kernels/subgroups.h"

/* A part of K starts at a multiple of this, as block reads and float4s require. */
#define SPLIT_ALIGNMENT 16

/* The least K of a part; below this, storing partial sums costs more than computing them. */
#define SPLIT_LEAST 128

/* Cost of a part of K per element of D: writing, reading and adding partial sums. In multiply-adds
 * at the device's peak, and on Intel's GPUs, where it was not measured, in those of the kernel. */
#define SPLIT_COST  200.0
#define SPLIT_INTEL 160.0

/* Cost of packing an element of A into an image, 8 bytes of memory traffic, in multiply-adds of a
 * GPU with slow memory, such as Intel's integrated GPUs. */
#define IMAGE_COST 24.0

/* Cost of reading a byte of B from a GPU's memory, in multiply-adds at its peak, of an H200. */
#define READ_COST 7.6

/* A work-group of wgmma fills its stages in the time of this many words of K. */
#define FILL 200.0

/* Cost of quantizing an element of A, in multiply-adds at the device's peak. */
#define INT8_COST 28.0

/* On a CPU the first tile waits until a panel of B is fetched from beyond the second-level cache.
 * FETCH: rows of D per float of vector width that a core computes meanwhile. */
#define FETCH 0.8

/* A GPU hides latencies by running other work. With WORK in flight per unit it reaches 1 - IDLE of
 * its speed, with twice as much 1 - IDLE^2, and so on. The work of a work-item is the square root
 * of its number of outputs, since outputs of one work-item wait for each other. These constants and
 * SPLIT_COST fit the runs of docs/internals/benchmarks.md. */
#define WORK 2048.0
#define IDLE 0.1

/* An Intel GPU's execution unit has 7 or 8 threads, or 4 with twice the registers, to hide
 * latencies. EU_THREADS are enough. EU_LANES are the lanes of a thread if the kernel has no
 * subgroups. */
#define EU_THREADS 4
#define EU_LANES   16

/* Cost of launching another kernel, in multiply-adds of one unit: about two microseconds with 128
 * per clock, or four with 8 per clock for Intel GPUs. */
#define LAUNCH_WORK  5e5
#define LAUNCH_INTEL 64e3

gboolean
gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error)
{
  const gchar *slash = strchr (name, '/');
  g_autofree gchar *kernel_name = slash ? g_strndup (name, slash - name) : g_strdup (name);
  guint64 split = 1;

  if (slash != NULL &&
      !g_ascii_string_to_unsigned (slash + 1, 10, 1, GEMMCL_MAX_SPLIT, &split, NULL)) {
    g_autofree gchar *found = gemmcl_quote (slash + 1);

    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Expected a split from 1 to %d after the slash, found \"%s\".",
                        GEMMCL_MAX_SPLIT, found);
  }
  self->kernel = gemmcl_kernel_find (kernel_name, error);
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

/* TRUE if the kernel can split K in problems such as @gemm; K itself is not checked. int8 has
 * parts only where the kernel adds them: reduce does not dequantize. */
static gboolean
can_split (const GemmclChoice *self, const GemmclGemm *gemm)
{
  const GemmclKernel *kernel = self->kernel;

  return gemmcl_gemm_get_batch (gemm) == 1 && gemm->d_frame == NULL && !kernel->frames &&
         !kernel->images &&
         (kernel->precision != GEMMCL_PRECISION_I8 ||
          gemmcl_kernel_adds_parts (kernel, self->split));
}

/* TRUE if the device has the local memory of the row. NVIDIA's driver does not tell how much the
 * native kernels with its instructions may have. */
static gboolean
check_local (const GemmclKernel *kernel, const GemmclDeviceInfo *device, GError **error)
{
  const gboolean is_native =
      gemmcl_subgroups_get_level (kernel, device, GEMMCL_KERNEL_LEVEL_NATIVE) ==
      GEMMCL_KERNEL_LEVEL_NATIVE;

  if (kernel->local_bytes <= device->local_bytes ||
      (gemmcl_kernel_get_capability (kernel) > 0 && is_native))
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                      "Kernel %s needs %u bytes of local memory, but %s has %" G_GUINT64_FORMAT ".",
                      kernel->name, kernel->local_bytes, device->name, device->local_bytes);
}

gboolean
gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                     const GemmclGemm *gemm, GError **error)
{
  if (!gemmcl_kernel_check (self->kernel, device, gemm, error) ||
      !check_local (self->kernel, device, error))
    return FALSE;
  if (self->split == 1 || gemm == NULL)
    return TRUE;
  if (!can_split (self, gemm))
    return gemmcl_fail (
        error, GEMMCL_ERROR_KERNEL,
        "Kernel %s cannot split K into %u parts here. A split needs a kernel that reads buffers, "
        "a batch of 1, and a D that is a matrix. With int8 only NVIDIA's kernels split K, those "
        "with larger tiles into fewer parts.",
        self->kernel->name, self->split);
  if (gemm->k % (SPLIT_ALIGNMENT * self->split) == 0)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                      "A split of %u needs a K that is a multiple of %u, found %zu.", self->split,
                      SPLIT_ALIGNMENT * self->split, gemm->k);
}

gboolean
gemmcl_kernel_fits (GemmclContext *context, const gchar *name, const GemmclGemm *gemm,
                    GError **error)
{
  GemmclChoice choice;
  GemmclGemm computed;

  g_return_val_if_fail (context == NULL || GEMMCL_IS_CONTEXT (context), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  if (!gemmcl_choice_find (&choice, name, error) ||
      (gemm != NULL && !gemmcl_gemm_validate (gemm, error)))
    return FALSE;
  if (gemm != NULL)
    computed = gemmcl_gemm_get_computed (gemm);
  return context == NULL || gemmcl_choice_check (&choice, gemmcl_context_get_device_info (context),
                                                 gemm ? &computed : NULL, error);
}

static gboolean
is_intel_gpu (const GemmclDeviceInfo *device)
{
  return device->intel && device->type == GEMMCL_DEVICE_TYPE_GPU;
}

static gboolean
is_meant (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  const GemmclFamily family = kernel->family;
  const gboolean is_cpu = device->type == GEMMCL_DEVICE_TYPE_CPU;

  return family == GEMMCL_FAMILY_ANY         ? TRUE
         : family <= GEMMCL_FAMILY_VECTOR_16 ? is_cpu
         : family == GEMMCL_FAMILY_GPU       ? !is_cpu
         : family <= GEMMCL_FAMILY_DPAS      ? is_intel_gpu (device)
                                             : device->nvidia_capability > 0;
}

/* TRUE if the rules may choose @kernel on @device: its family is meant for it, and it is native
 * there. @all: also TRUE if it is only worth measuring: its vectors take two registers, or its
 * subgroups are wider than a register */
static gboolean
is_eligible (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gboolean all)
{
  return is_meant (kernel, device) &&
         gemmcl_subgroups_get_level (kernel, device, GEMMCL_KERNEL_LEVEL_NATIVE) ==
             GEMMCL_KERNEL_LEVEL_NATIVE &&
         gemmcl_kernel_get_float_width (kernel) <= (all ? 2 : 1) * device->float_width &&
         (all || kernel->subgroup == 0 || device->subgroup_sizes[0] == kernel->subgroup);
}

static gdouble
get_speed (const GemmclKernel *kernel, const GemmclDeviceInfo *device)
{
  return kernel->intel_speed > 0 && is_intel_gpu (device) ? kernel->intel_speed : kernel->speed;
}

/* The share of an Intel GPU's cores that have a work-group, times the share of EU_THREADS that each
 * execution unit has. */
static gdouble
get_intel_utilization (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gdouble groups)
{
  const gdouble lanes = kernel->subgroup > 0 ? kernel->subgroup : EU_LANES;
  const gdouble threads = groups * ceil (kernel->group_m * kernel->group_n / lanes);

  return MIN (groups / device->cores, 1) * MIN (threads / ((gdouble)EU_THREADS * device->eus), 1);
}

/* The share of the device's speed that @groups work-groups of @kernel reach. */
static gdouble
get_utilization (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gdouble groups)
{
  const gdouble units = MAX (device->compute_units, 1);
  const gdouble outputs = kernel->tile_m * MAX (kernel->tile_n, 1);
  const gdouble work = kernel->group_m * kernel->group_n * sqrt (outputs);

  if (device->type == GEMMCL_DEVICE_TYPE_CPU || kernel->persistent)
    return groups / (ceil (groups / units) * units);
  if (device->cores > 0)
    return get_intel_utilization (kernel, device, groups);
  return MIN (groups / units, 1 - pow (IDLE, groups * work / (units * WORK)));
}

/* The share of its speed that @kernel reaches with @m rows: the rows that are not padding and, on a
 * CPU, the time not spent waiting for B with the first tile. */
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

/* The cost of the additional kernel launches, relative to the gemm's multiply-adds at the device's
 * peak. */
static gdouble
get_launch_cost (const GemmclChoice *self, const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  const gboolean reduces = self->split > 1 && !gemmcl_kernel_adds_parts (self->kernel, self->split);
  const guint steps = reduces + (self->kernel->images ? 1 : 0);
  const gdouble launch = device->intel ? LAUNCH_INTEL : LAUNCH_WORK;

  if (device->type == GEMMCL_DEVICE_TYPE_CPU)
    return 0;
  return steps * launch * device->compute_units / ((gdouble)gemm->m * gemm->n * gemm->k);
}

/* The cost of reading B for its rows of D, relative to their multiply-adds at the device's peak.
 * 0 on CPUs, whose caches may hold B, and on Intel's GPUs, for which it was not measured. */
static gdouble
get_reading_cost (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                  const GemmclGemm *gemm)
{
  if (device->type == GEMMCL_DEVICE_TYPE_CPU || device->cores > 0)
    return 0;
  return READ_COST * gemmcl_type_get_size (gemmcl_kernel_get_b_type (kernel)) / gemm->m;
}

/* The share of a work-group's time in which its stages are full. */
static gdouble
get_share_of_k (const GemmclKernel *kernel, gdouble k)
{
  const gsize size = gemmcl_type_get_size (gemmcl_kernel_get_b_type (kernel));
  const gdouble words = k * size / sizeof (guint32);

  return kernel->family == GEMMCL_FAMILY_WGMMA ? words / (words + FILL) : 1;
}

/*
 * The score of a choice: the kernel's speed with full tiles, times the share of its tiles that is
 * not padding, times the utilization of the device; reduced by the costs of a split, of packing A
 * into an image, of reading B, of quantizing A and of launches. A kernel that reads pixels itself
 * always beats one that needs im2col.
 */
static gdouble
score (const GemmclChoice *self, const GemmclDeviceInfo *device, const GemmclGemm *gemm)
{
  const GemmclKernel *kernel = self->kernel;
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);
  const gdouble groups = (gdouble)tiles.m * tiles.n * gemmcl_gemm_get_batch (gemm) * self->split;
  const gdouble cost = 1 + (kernel->images ? IMAGE_COST / gemm->n : 0);

  const gdouble speed = get_speed (kernel, device) *
                        get_share_of_rows (kernel, device, &tiles, gemm->m) * gemm->n /
                        ((gdouble)tiles.n * tiles.cols) * get_utilization (kernel, device, groups) *
                        get_share_of_k (kernel, (gdouble)gemm->k / self->split) / cost;

  const gdouble quantizing = gemmcl_kernel_quantizes_a (kernel, gemm) ? INT8_COST / gemm->n : 0;
  const gdouble part = is_intel_gpu (device) ? SPLIT_INTEL / speed : SPLIT_COST;
  const gdouble splitting = self->split > 1 ? part * self->split / gemm->k : 0;

  return 1 / (1 / speed + quantizing + splitting + get_reading_cost (kernel, device, gemm) +
              get_launch_cost (self, device, gemm)) +
         gemmcl_kernel_takes_pixels (kernel, gemm);
}

/* Best first; among equals the later row of the table. */
static gint
compare_score (gconstpointer a, gconstpointer b)
{
  const GemmclChoice *x = a, *y = b;

  if (x->score != y->score)
    return y->score > x->score ? 1 : -1;
  return x->kernel < y->kernel ? 1 : -1;
}

/* TRUE if @groups work-groups occupy the whole device. A CPU has few units, so any problem that
 * takes time occupies it. */
static gboolean
fills (const GemmclKernel *kernel, const GemmclDeviceInfo *device, gsize groups)
{
  if (device->type == GEMMCL_DEVICE_TYPE_CPU)
    return TRUE;
  return device->cores > 0 ? get_intel_utilization (kernel, device, groups) == 1
                           : groups >= device->compute_units;
}

/* Appends @kernel without a split and with each split that may pay: @all of them, or the best. */
static void
append_splits (GArray *choices, const GemmclKernel *kernel, const GemmclDeviceInfo *device,
               const GemmclGemm *gemm, guint max_split, gboolean all)
{
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);
  const guint most = fills (kernel, device, tiles.m * tiles.n) ? 1 : max_split;
  GemmclChoice next = {kernel, 1, 0}, best = {.score = -1};

  for (; next.split <= most && gemmcl_choice_check (&next, device, gemm, NULL) &&
         (next.split == 1 || gemm->k / next.split >= SPLIT_LEAST);
       next.split *= 2) {
    next.score = score (&next, device, gemm);
    if (all)
      g_array_append_val (choices, next);
    else if (next.score > best.score)
      best = next;
  }
  if (best.kernel != NULL)
    g_array_append_val (choices, best);
}

GArray *
gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm, guint max_split,
                    gboolean all)
{
  GArray *choices = g_array_new (FALSE, FALSE, sizeof (GemmclChoice));
  gboolean none;

  for (guint i = 0; i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *kernel = gemmcl_kernel_get (i);

    if (is_eligible (kernel, device, all))
      append_splits (choices, kernel, device, gemm, max_split, all);
  }
  none = choices->len == 0;
  /* A GPU with small work-groups: rows for CPUs have one work-item each. */
  for (guint i = 0; none && i < gemmcl_get_n_kernels (); i++) {
    const GemmclKernel *kernel = gemmcl_kernel_get (i);

    if ((kernel->family == GEMMCL_FAMILY_CPU || kernel->family == GEMMCL_FAMILY_VECTOR_4) &&
        kernel->precision == GEMMCL_PRECISION_F32)
      append_splits (choices, kernel, device, gemm, max_split, all);
  }
  g_array_sort (choices, compare_score);
  for (guint i = 0; all && i < choices->len; i++) {
    const GemmclChoice choice = g_array_index (choices, GemmclChoice, i);

    if (is_eligible (choice.kernel, device, FALSE)) {
      g_array_remove_index (choices, i);
      g_array_prepend_val (choices, choice);
      break;
    }
  }
  return choices;
}
