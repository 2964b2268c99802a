/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernels/table.h"

#include <math.h>
#include <string.h>

#include "shared/arguments.h"

#define MAX_NEAR 5 /* similar names in the message about an unknown one */

/* Copying A pays in two cases:
 * 1. A's type takes many instructions to convert, and at least COPY_PANELS panels read the copy.
 * 2. A has more than COPY_ROWS rows, a multiple of COPY_DISTANCE floats apart, and D has at least
 *    COPY_COLUMNS columns. Such rows fall into one set of a first-level cache, which slows tiles of
 *    vectors of up to COPY_WIDTH floats.
 * Groups that copy are COPY_WIDE times as wide, and there are COPY_WIDE times fewer. */
#define COPY_PANELS   4
#define COPY_WIDTH    8
#define COPY_DISTANCE 1024
#define COPY_ROWS     64
#define COPY_COLUMNS  256
#define COPY_WIDE     4

/* A work-group that shares tiles has at least GROUP_WORK multiply-adds for each float of a vector,
 * about 5 us on a CPU of 2020. A compute unit has at most GROUPS_PER_UNIT groups, so that units
 * finish together. Fewer rows than FETCH_ROWS take as long as FETCH_ROWS, since B is fetched
 * meanwhile. */
#define GROUP_WORK      32768
#define GROUPS_PER_UNIT 64

/* The most sums of parts of K that a work-item adds. With more, reduce.cl, which runs on the whole
 * device, is faster on an H200 (docs/internals/benchmarks.md). */
#define MOST_ADDED 512
#define FETCH_ROWS 16

/* Elements of B in half the second-level cache of a small CPU. */
#define CACHED_B 65536

/* Largest side, in texels, of an image in a buffer. Most devices have this limit for images;
 * kernels index the buffer with ints. */
#define MAX_BUFFER_SIDE 16384

static const GemmclKernel table[] = {
#define GEMMCL_KERNEL(name_, source_, ...) {.name = name_, .source = source_, __VA_ARGS__},
#include "kernels.def"
#undef GEMMCL_KERNEL
};

guint
gemmcl_get_n_kernels (void)
{
  return G_N_ELEMENTS (table);
}

static gchar *
describe_needs (const GemmclKernel *kernel)
{
  g_autoptr (GString) needs = g_string_new (NULL);
  const guint capability = gemmcl_kernel_get_capability (kernel);
  const guint group = kernel->group_m * kernel->group_n;

  if (kernel->max_m)
    g_string_append_printf (needs, ", M <= %zu", kernel->max_m);
  if (kernel->max_n)
    g_string_append_printf (needs, ", N <= %zu", kernel->max_n);
  if (kernel->max_k)
    g_string_append_printf (needs, ", K <= %zu", kernel->max_k);
  if (group > 1)
    g_string_append_printf (needs, ", groups of %u", group);
  if (kernel->images)
    g_string_append (needs, ", images");
  if (kernel->subgroup)
    g_string_append_printf (needs, ", subgroups of %u", kernel->subgroup);
  if (gemmcl_kernel_has_engines (kernel))
    g_string_append (needs, ", matrix engines");
  if (capability > 0)
    g_string_append_printf (needs, ", compute capability %s%u.%u",
                            kernel->family == GEMMCL_FAMILY_WGMMA ? "" : ">= ", capability / 10,
                            capability % 10);
  return g_strdup (needs->len > 0 ? needs->str + 2 : "");
}

/* A row's summary. With vectors, adds their number. With subgroups, adds how they share a tile.
 * Adds why the row is kept. */
static gchar *
describe_method (const GemmclKernel *kernel)
{
  GString *text = g_string_new (kernel->summary);
  const guint width = gemmcl_kernel_get_float_width (kernel);
  const guint group = kernel->group_m * kernel->group_n;

  if (width > 0)
    g_string_append_printf (text, ", %u vectors of %u", kernel->tile_m * kernel->tile_n / width,
                            width);
  if (kernel->subgroup > 0)
    g_string_append_printf (text, ", tiles of %ux%u", kernel->tile_m * kernel->group_m,
                            kernel->tile_n * kernel->group_n);
  if (kernel->subgroup > 0 && group > kernel->subgroup)
    g_string_append_printf (text, ", %u subgroups of %ux%u", group / kernel->subgroup,
                            kernel->tile_m, kernel->tile_n * kernel->subgroup);
  if (kernel->registers > 0)
    g_string_append_printf (text, ", %u registers", kernel->registers);
  if (kernel->kept != NULL)
    g_string_append_printf (text, ", %s", kernel->kept);
  return g_string_free (text, FALSE);
}

/* The part of a name before the tile's size: "vector" of "vector_12x32_1x1". */
static gchar *
get_method (const gchar *name)
{
  const gchar *end = name;

  while ((end = strchr (end, '_')) != NULL && !g_ascii_isdigit (end[1]))
    end++;
  return end ? g_strndup (name, end - name) : g_strdup (name);
}

static gpointer
make_infos (G_GNUC_UNUSED gpointer data)
{
  GemmclKernelInfo *infos = g_new0 (GemmclKernelInfo, G_N_ELEMENTS (table));

  for (gsize i = 0; i < G_N_ELEMENTS (table); i++) {
    const GemmclKernel *kernel = &table[i];

    infos[i] = (GemmclKernelInfo){
        .name = kernel->name,
        .method = get_method (kernel->name),
        .summary = describe_method (kernel),
        .precision = kernel->precision,
        .needs = describe_needs (kernel),
        .max_m = kernel->max_m,
        .max_n = kernel->max_n,
        .max_k = kernel->max_k,
    };
  }
  return infos;
}

const GemmclKernelInfo *
gemmcl_get_kernel (guint index)
{
  static GOnce once = G_ONCE_INIT;

  g_return_val_if_fail (index < G_N_ELEMENTS (table), NULL);
  return (const GemmclKernelInfo *)g_once (&once, make_infos, NULL) + index;
}

/* The number of first characters that are the same, in any case. */
static gint
count_same (const gchar *a, const gchar *b)
{
  gint n = 0;

  while (a[n] != '\0' && g_ascii_tolower (a[n]) == g_ascii_tolower (b[n]))
    n++;
  return n;
}

static gint
compare_same (gconstpointer a, gconstpointer b, gpointer name)
{
  const GemmclKernel *const *x = a, *const *y = b;

  return count_same (name, (*y)->name) - count_same (name, (*x)->name);
}

static void
set_no_such_kernel (GError **error, const gchar *name)
{
  g_autofree gchar *asked = gemmcl_quote (name);
  g_autoptr (GPtrArray) near = g_ptr_array_new ();
  g_autoptr (GString) list = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (table); i++)
    g_ptr_array_add (near, (gpointer)&table[i]);
  g_ptr_array_sort_with_data (near, compare_same, asked);
  for (guint i = 0; i < MIN (near->len, MAX_NEAR); i++)
    g_string_append_printf (list, "%s%s", i ? ", " : "",
                            ((const GemmclKernel *)near->pdata[i])->name);
  gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
               "There is no kernel \"%s\". Similar names: %s. \"gemmcl kernels\" lists all.", asked,
               list->str);
}

const GemmclKernel *
gemmcl_kernel_get (guint index)
{
  return &table[index];
}

const GemmclKernel *
gemmcl_kernel_find (const gchar *name, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS (table); i++)
    if (strcmp (table[i].name, name) == 0)
      return &table[i];
  set_no_such_kernel (error, name);
  return NULL;
}

guint
gemmcl_kernel_get_float_width (const GemmclKernel *kernel)
{
  static const guint widths[] = {
      [GEMMCL_FAMILY_VECTOR_4] = 4, [GEMMCL_FAMILY_VECTOR_8] = 8, [GEMMCL_FAMILY_VECTOR_16] = 16};

  return kernel->family < G_N_ELEMENTS (widths) ? widths[kernel->family] : 0;
}

guint
gemmcl_kernel_get_capability (const GemmclKernel *kernel)
{
  return kernel->family < GEMMCL_FAMILY_ASYNC_COPY ? 0 : kernel->persistent ? 90 : 80;
}

gboolean
gemmcl_kernel_adds_parts (const GemmclKernel *kernel, guint split)
{
  return kernel->family >= GEMMCL_FAMILY_ASYNC_COPY && split > 1 &&
         split * kernel->tile_m * kernel->tile_n <= MOST_ADDED;
}

gboolean
gemmcl_kernel_has_engines (const GemmclKernel *kernel)
{
  return kernel->family == GEMMCL_FAMILY_DPAS || kernel->family >= GEMMCL_FAMILY_MMA;
}

guint
gemmcl_kernel_get_panel (const GemmclKernel *kernel)
{
  return kernel->packed ? kernel->tile_n * (kernel->family == GEMMCL_FAMILY_DPAS ? kernel->subgroup
                                                                                 : kernel->group_n)
                        : 0;
}

gboolean
gemmcl_kernel_multiplies_bytes (const GemmclKernel *kernel)
{
  return kernel->precision == GEMMCL_PRECISION_I8 && !kernel->reads_a;
}

GemmclType
gemmcl_kernel_get_b_type (const GemmclKernel *kernel)
{
  static const GemmclType types[GEMMCL_N_PRECISIONS] = {
      [GEMMCL_PRECISION_F32] = GEMMCL_TYPE_F32,   [GEMMCL_PRECISION_F16] = GEMMCL_TYPE_F16,
      [GEMMCL_PRECISION_BF16] = GEMMCL_TYPE_BF16, [GEMMCL_PRECISION_TF32] = GEMMCL_TYPE_F32,
      [GEMMCL_PRECISION_I8] = GEMMCL_TYPE_I8,
  };
  return types[kernel->precision];
}

GemmclTiles
gemmcl_kernel_get_tiles (const GemmclKernel *kernel, gsize m, gsize n)
{
  const gsize rows = kernel->tile_m * (kernel->split_k ? 1 : kernel->group_m);
  const gsize cols = kernel->tile_n ? kernel->tile_n * kernel->group_n : n;

  return (GemmclTiles){(m + rows - 1) / rows, (n + cols - 1) / cols, rows, cols};
}

gboolean
gemmcl_kernel_copies_a (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  const GemmclMatrixLayout a = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_A, FALSE);
  const GemmclType type = gemm->a_frame ? GEMMCL_TYPE_F32 : gemm->a_type;

  if (gemmcl_kernel_get_float_width (kernel) == 0 || kernel->precision == GEMMCL_PRECISION_I8 ||
      a.by_column || gemm->k > VECTOR_COPY ||
      kernel->tile_m * VECTOR_COPY_ROW (gemm->k) > VECTOR_COPY)
    return FALSE;
  if (type == GEMMCL_TYPE_F16 || type == GEMMCL_TYPE_F64)
    return gemm->n >= COPY_PANELS * kernel->tile_n;
  return type == GEMMCL_TYPE_F32 && gemmcl_kernel_get_float_width (kernel) <= COPY_WIDTH &&
         gemm->m > COPY_ROWS && gemm->n >= COPY_COLUMNS && a.ld % COPY_DISTANCE == 0;
}

/* The work-groups that share @tiles of @batch problems. */
static GemmclTiles
share_tiles (GemmclTiles tiles, const GemmclKernel *kernel, const GemmclDeviceInfo *device,
             const GemmclGemm *gemm, gsize m, gsize batch)
{
  /* A group that copies rows of A is wide, so that many panels read them. */
  const guint wide = gemmcl_kernel_copies_a (kernel, gemm) ? COPY_WIDE : 1;
  const gdouble outputs = (gdouble)MAX (m, FETCH_ROWS) * gemm->n;
  const gdouble work = outputs * gemm->k / gemmcl_kernel_get_float_width (kernel);
  const gdouble most = (gdouble)GROUPS_PER_UNIT / wide * MAX (device->compute_units, 1) / batch;
  const gdouble groups = MAX (MIN (work / GROUP_WORK, most), 1);
  /* As wide as high, or wider if B stays cached, unless that leaves too few groups. */
  const gdouble square = wide * sqrt (outputs / groups) / tiles.cols;
  const gdouble cached = (gdouble)CACHED_B / (tiles.cols * MAX (gemm->k, 1));
  const gdouble most_panels = tiles.m * tiles.n / groups;
  const gsize panels = CLAMP (MAX (square, MIN (cached, most_panels)) + 0.5, 1, tiles.n);

  tiles.n = (tiles.n + panels - 1) / panels;
  tiles.m = CLAMP (groups / tiles.n + 0.5, 1, tiles.m);
  return tiles;
}

GemmclTiles
gemmcl_kernel_get_groups (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                          const GemmclGemm *gemm, gsize m, gsize batch)
{
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, m, gemm->n);

  if (gemmcl_kernel_get_float_width (kernel) > 0)
    return share_tiles (tiles, kernel, device, gemm, m, batch);
  if (kernel->persistent)
    return (GemmclTiles){MIN (tiles.m * tiles.n, device->compute_units), 1, tiles.rows, tiles.cols};
  return tiles;
}

/* Only block reads gain by images. Others have read the wrong image: in Mesa's Rusticl 25.0 and
 * 26.1 a function with a loop reads the image of its first call in all calls. */
gboolean
gemmcl_blocks_are_in_buffers (const GemmclDeviceInfo *device)
{
  return device->max_image_width == 0 || !device->intel || gemmcl_device_is_rusticl (device) ||
         !gemmcl_device_info_has_extension (device, "cl_intel_subgroups");
}

/* PoCL 7 declares image functions only if this feature macro of OpenCL C 3.0 is defined, even in
 * OpenCL C 1.2. */
const gchar *
gemmcl_blocks_get_options (const GemmclDeviceInfo *device)
{
  return gemmcl_blocks_are_in_buffers (device) ? " -DIMAGES -DIMAGES_IN_BUFFERS"
                                               : " -DIMAGES -D__opencl_c_images=1";
}

gboolean
gemmcl_blocks_init (GemmclBlocks *self, const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                    const GemmclGemm *gemm, GemmclOperand which, GError **error)
{
  const gboolean in_buffer = gemmcl_blocks_are_in_buffers (device);
  const gsize max_width = in_buffer ? MAX_BUFFER_SIDE : device->max_image_width;
  const gsize max_height = in_buffer ? MAX_BUFFER_SIDE : device->max_image_height;
  const gsize step = kernel->depth * kernel->subgroup;
  const GemmclTiles tiles = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n);
  const gboolean of_a = which == GEMMCL_OPERAND_A;
  /* A run has an A for each problem even if a_stride is 0. */
  const gsize n_matrices = of_a || gemm->b_stride ? gemmcl_gemm_get_batch (gemm) : 1;
  gsize blocks;

  /* As much of K as fits in whole steps; 0 if not even one fits. */
  self->block_k = MIN ((gemm->k + step - 1) / step, MIN (max_width, max_height) / step) * step;
  if (self->block_k > 0) {
    self->width = of_a ? self->block_k : tiles.cols;
    self->height = of_a ? kernel->tile_m : self->block_k;
    self->per_panel = (gemm->k + self->block_k - 1) / self->block_k;
    self->panels = of_a ? tiles.m * kernel->group_m : tiles.n;
    if (!g_size_checked_mul (&blocks, self->per_panel, self->panels) ||
        !g_size_checked_mul (&blocks, blocks, n_matrices))
      blocks = G_MAXSIZE;
    self->side = MIN (max_width / self->width, blocks);
    if (self->side > 0 && (blocks - 1) / self->side < max_height / self->height) {
      self->image_width = self->side * self->width;
      self->image_height = ((blocks - 1) / self->side + 1) * self->height;
      return TRUE;
    }
  }
  return gemmcl_fail (
      error, GEMMCL_ERROR_KERNEL,
      "Kernel %s reads images, but %s does not fit an image of %s, at most %zu x %zu texels.",
      kernel->name, of_a ? "A" : "B", device->name, max_width, max_height);
}

static gboolean
check_size (const GemmclKernel *kernel, const gchar *name, gsize size, gsize max, GError **error)
{
  if (max == 0 || size <= max)
    return TRUE;
  return gemmcl_fail (error, GEMMCL_ERROR_KERNEL, "Kernel %s takes %s up to %zu, not %zu.",
                      kernel->name, name, max, size);
}

gboolean
gemmcl_kernel_takes_pixels (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  return kernel->frames && gemm->a_frame != NULL && gemm->a_frame->features == GEMMCL_FEATURE_PIXEL;
}

gboolean
gemmcl_kernel_check (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                     const GemmclGemm *gemm, GError **error)
{
  const gsize group = kernel->group_m * kernel->group_n;
  GemmclBlocks blocks;

  if (group > device->max_work_group || group > device->max_work_item_sizes[0])
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Kernel %s needs work-groups of %zu, but %s has up to %zu.", kernel->name,
                        group, device->name,
                        MIN (device->max_work_group, device->max_work_item_sizes[0]));
  if (gemm == NULL)
    return TRUE;
  if (kernel->precision != GEMMCL_PRECISION_F32 && kernel->precision != gemm->precision)
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Kernel %s computes in %s, and the problem asks for %s.", kernel->name,
                        gemmcl_precision_get_name (kernel->precision),
                        gemmcl_precision_get_name (gemm->precision));
  if (kernel->images &&
      (!gemmcl_blocks_init (&blocks, kernel, device, gemm, GEMMCL_OPERAND_A, error) ||
       !gemmcl_blocks_init (&blocks, kernel, device, gemm, GEMMCL_OPERAND_B, error)))
    return FALSE;
  if (gemm->d_frame != NULL && !kernel->frames)
    return gemmcl_fail (error, GEMMCL_ERROR_KERNEL,
                        "Kernel %s cannot write frames; \"auto\" finds one that can.",
                        kernel->name);
  return check_size (kernel, "M", gemm->m, kernel->max_m, error) &&
         check_size (kernel, "K", gemm->k, kernel->max_k, error) &&
         (gemmcl_kernel_takes_pixels (kernel, gemm) ||
          check_size (kernel, "N", gemm->n, kernel->max_n, error));
}
