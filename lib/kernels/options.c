/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernels/options.h"

#include <string.h>

#include "device/program.h"
#include "kernels/subgroups.h"
#include "matrix/matrix.h"
#include "problem/frame.h"

/* Limits of 2D block reads, in bytes: the distance between rows is a multiple of PITCH_ALIGNMENT
 * and at most MOST_PITCH, the first row is aligned to FIRST_ALIGNMENT, a row has at least
 * LEAST_WIDTH. MOST_PITCH also limits the number of rows and leaves room for a row's offset from an
 * aligned address. */
#define PITCH_ALIGNMENT 16
#define FIRST_ALIGNMENT 64
#define LEAST_WIDTH     64
#define MOST_PITCH      ((1 << 24) - 64)

#define CHUNK 16 /* bytes that NVIDIA's GPUs copy to local memory at a time */

/* The largest number of elements that a tile leaves of a row, and the least share of its rows that
 * D must have: else finding them takes longer than writing D and reading it
 * (docs/internals/benchmarks.md). */
#define MOST_TOPS  2
#define LEAST_FULL 0.5

/* Kernels keep the columns of these elements as floats, which count up to here. */
#define MOST_COLUMNS (1 << 24)

#define MOST_ADDED (1 << 25) /* elements of A for all tiles: see gemmcl_kernel_quantizes_a() */

static const gchar *const activations[GEMMCL_N_ACTIVATIONS] = {
#define FUNCTION(ID, name, text, kind, value, slope, growth)                                       \
  [GEMMCL_ACTIVATION_##ID] = " -DACTIVATION=ACTIVATION_" #ID " -DACTIVATION_KIND=" #kind,
#include "shared/activations.def"
};

/* The device that is assumed for offline compilation. */
static const GemmclDeviceInfo no_device = {
    .platform = "",
    .version = "OpenCL 3.0",
    .extensions = "cl_khr_integer_dot_product cl_intel_subgroups",
    .type = GEMMCL_DEVICE_TYPE_GPU,
    .intel = TRUE,
    .max_image_width = 16384,
    .max_image_height = 16384,
};

/* TRUE if tests want row outputs and softmax as steps of their own. */
static gboolean
keeps_rows_apart (void)
{
  return g_strcmp0 (g_getenv ("GEMMCL_ROWS"), "apart") == 0;
}

/* TRUE if a work-group computes entire final rows of D and may use them before it stores them. */
static gboolean
owns_rows (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  const gsize width = kernel->tile_n ? kernel->tile_n * kernel->group_n : kernel->max_n;

  return kernel->whole_rows && split == 1 && gemm->n <= width && !keeps_rows_apart ();
}

/* TRUE if several subgroups share a row. */
static gboolean
shares_rows (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  return kernel->subgroup > 0 && gemm->n > kernel->tile_n * kernel->subgroup;
}

/* Row outputs are computed from the stored, rounded D; a kernel only has the unrounded values. */
gboolean
gemmcl_kernel_makes_row_outputs (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  if (kernel->arg_max_apart && (gemm->row_outputs & (GEMMCL_ROW_ARG_MAX | GEMMCL_ROW_TOP_K)) != 0 &&
      shares_rows (kernel, gemm))
    return FALSE;
  return gemm->row_outputs != 0 && gemm->d_type == GEMMCL_TYPE_F32 &&
         owns_rows (kernel, gemm, split);
}

guint
gemmcl_kernel_count_tops (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  const guint tops = gemm->row_outputs & GEMMCL_ROW_TOP_K ? gemm->top_k : 1;
  const gsize rows = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n).rows;

  if (kernel->family < GEMMCL_FAMILY_ASYNC_COPY || split > 1 || !gemm->omit_d ||
      gemm->row_outputs == 0 || gemm->row_outputs & GEMMCL_ROW_SUM ||
      gemm->d_type != GEMMCL_TYPE_F32 || gemmcl_activation_is_of_rows (gemm->activation) ||
      gemm->normalize != 0 || owns_rows (kernel, gemm, split) || keeps_rows_apart ())
    return 0;
  return tops <= MOST_TOPS && gemm->m >= LEAST_FULL * rows && gemm->n <= MOST_COLUMNS ? tops : 0;
}

gboolean
gemmcl_kernel_needs_softmax (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  return gemmcl_activation_is_of_rows (gemm->activation) && !owns_rows (kernel, gemm, split);
}

gboolean
gemmcl_kernel_needs_logits (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  return (gemmcl_kernel_needs_softmax (kernel, gemm, split) ||
          gemm->normalize & GEMMCL_NORMALIZE_D) &&
         gemm->d_type != GEMMCL_TYPE_F32;
}

void
gemmcl_row_outputs_append_options (GString *options, const GemmclGemm *gemm)
{
  const guint flags = gemm->row_outputs;

  g_string_append_printf (
      options, " -DROW_COUNT=%u -DROW_SUM=%d -DROW_MAX=%d -DROW_ARG_MAX=%d -DROW_TOP_K=%u",
      gemmcl_gemm_count_row_outputs (gemm), !!(flags & GEMMCL_ROW_SUM), !!(flags & GEMMCL_ROW_MAX),
      !!(flags & GEMMCL_ROW_ARG_MAX), flags & GEMMCL_ROW_TOP_K ? gemm->top_k : 0);
}

/* TRUE if rows consist of aligned chunks of 16 bytes, of the type of @kernel's B, or of uint8 if B
 * is int8. */
static gboolean
can_be_chunks (const GemmclKernel *kernel, const GemmclMatrixLayout *layout, GemmclType type)
{
  const GemmclType b_type = gemmcl_kernel_get_b_type (kernel);

  return (type == b_type || (type == GEMMCL_TYPE_U8 && b_type == GEMMCL_TYPE_I8)) &&
         (layout->length | layout->ld | layout->offset | layout->stride) *
                 gemmcl_type_get_size (type) % CHUNK ==
             0;
}

/* NVIDIA's kernels read stored integers as they are. Where B has zero points, each tile then adds
 * up its rows of A, which costs more than quantize.cl if there are many. Rows are counted with ld,
 * which a part of a split K shares with the whole: both must give the same answer. */
gboolean
gemmcl_kernel_quantizes_a (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, GEMMCL_OPERAND_A, FALSE);
  const gsize panels = gemmcl_kernel_get_tiles (kernel, gemm->m, gemm->n).n;
  const gboolean stays = gemmcl_kernel_get_capability (kernel) > 0 &&
                         gemmcl_gemm_keeps_int8 (gemm) &&
                         layout.lines * layout.ld <= MOST_ADDED / panels && !layout.by_column &&
                         can_be_chunks (kernel, &layout, gemm->a_type);

  return gemmcl_kernel_multiplies_bytes (kernel) && !stays;
}

/* A kernel converts and scales stored integers itself when it loads A. */
GemmclType
gemmcl_kernel_get_a_type (const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  if (gemmcl_kernel_quantizes_a (kernel, gemm)) /* made by quantize.cl */
    return GEMMCL_TYPE_U8;
  if (gemm->a_frame == NULL)
    return gemm->a_type;
  return gemmcl_kernel_takes_pixels (kernel, gemm) ? gemmcl_frame_get_sample_type (gemm->a_frame)
                                                   : GEMMCL_TYPE_F32;
}

/* The type of D in memory: a frame's samples, f32 if a later step reads D as logits, or d_type. */
static GemmclType
get_d_type (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  if (gemm->d_frame)
    return gemmcl_frame_get_sample_type (gemm->d_frame);
  return gemmcl_kernel_needs_logits (kernel, gemm, split) ? GEMMCL_TYPE_F32 : gemm->d_type;
}

static void
append_frame (GString *options, const GemmclFrame *frame, const gchar *prefix)
{
  g_autofree gchar *defines = gemmcl_frame_get_defines (frame, prefix);
  g_string_append_printf (options, " %s", defines);
}

/* TRUE if block reads can read the matrix: they start at multiples of four bytes. */
static gboolean
can_be_blocks (const GemmclKernel *kernel, const GemmclMatrixLayout *layout, GemmclType type)
{
  if (type == GEMMCL_TYPE_F32)
    return TRUE;
  return gemmcl_type_get_size (type) == 2 && type == gemmcl_kernel_get_b_type (kernel) &&
         (layout->length | layout->ld | layout->offset | layout->stride) % 2 == 0;
}

/* TRUE if 2D block reads (subgroup.clh) can read the matrix: the distance of rows is a multiple of
 * 16 bytes and the first row of each problem is aligned, both in the caller's layout and in a tight
 * copy. If @gemm is a part of a split K, its first row need not be aligned: a read starts at the
 * aligned address before it, and a row with that start still fits the distance of rows. */
static gboolean
can_be_pitched (const GemmclGemm *gemm, const GemmclMatrixLayout *layout, GemmclType type)
{
  const gsize size = gemmcl_type_get_size (type), batch = gemmcl_gemm_get_batch (gemm);

  if (layout->offset * size % FIRST_ALIGNMENT != 0 ||
      (batch > 1 &&
       (layout->stride | layout->lines * layout->length) * size % FIRST_ALIGNMENT != 0))
    return FALSE;
  return (layout->length | layout->ld) * size % PITCH_ALIGNMENT == 0 &&
         layout->length * size >= LEAST_WIDTH && layout->ld * size <= MOST_PITCH &&
         layout->lines <= MOST_PITCH / batch;
}

/* Appends the options for the kernel's access to rows of X, A or D. X_UNIT_COL: the elements of a
 * row are contiguous. X_FLOAT4: each row is aligned for float4, in the caller's layout and in a
 * tight copy. A_CHUNKS: see can_be_chunks(). For subgroups: A_UNIT_ROW: the elements of a column
 * are contiguous; A_BLOCKS: block reads; A_PITCHED: 2D block reads. */
static void
append_access (GString *options, const GemmclKernel *kernel, const GemmclGemm *gemm,
               GemmclOperand which, GemmclType type)
{
  const gboolean is_a = which == GEMMCL_OPERAND_A;
  const gchar *name = is_a ? "A" : "D";
  const GemmclMatrixLayout layout = gemmcl_gemm_get_layout (gemm, which, FALSE);

  if (layout.by_column) {
    if (is_a && kernel->subgroup)
      g_string_append (options, " -DA_UNIT_ROW");
    return;
  }
  g_string_append_printf (options, " -D%s_UNIT_COL", name);
  if (is_a && kernel->subgroup && can_be_blocks (kernel, &layout, type)) {
    g_string_append (options, " -DA_BLOCKS");
    if (kernel->family == GEMMCL_FAMILY_DPAS && can_be_pitched (gemm, &layout, type))
      g_string_append (options, " -DA_PITCHED");
  }
  if (is_a && (gemmcl_kernel_get_capability (kernel) > 0 || kernel->split_k) &&
      can_be_chunks (kernel, &layout, type))
    g_string_append (options, " -DA_CHUNKS");
  if (kernel->float4 && type == GEMMCL_TYPE_F32 &&
      (layout.length | layout.ld | layout.offset | layout.stride) % 4 == 0)
    g_string_append_printf (options, " -D%s_FLOAT4", name);
}

/* Appends the options of the epilogue: the types of C and D, the activation, the access to D. */
static void
append_result (GString *options, const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  const GemmclType type = get_d_type (kernel, gemm, split);
  const GemmclType c_type = gemm->addend != GEMMCL_ADDEND_OUTPUT ? GEMMCL_TYPE_F32
                            : gemm->d_frame                      ? type
                                                                 : gemm->d_type;

  g_string_append_printf (options, " -DC_TYPE=%s -DD_TYPE=%s%s", gemmcl_type_get_dtype (c_type),
                          gemmcl_type_get_dtype (type), activations[gemm->activation]);
  append_access (options, kernel, gemm, GEMMCL_OPERAND_D, type);
}

/* Appends the options for softmax and row outputs, if the kernel computes them itself. */
static void
append_whole_rows (GString *options, const GemmclKernel *kernel, const GemmclGemm *gemm)
{
  const gboolean outputs = gemmcl_kernel_makes_row_outputs (kernel, gemm, 1);
  const guint tops = gemmcl_kernel_count_tops (kernel, gemm, 1);

  if (tops > 0)
    g_string_append_printf (options,
                            " -DWHOLE_ROWS -DTILED_ROWS -DD_OMITTED -DROW_COUNT=%u -DROW_SUM=0"
                            " -DROW_MAX=0 -DROW_ARG_MAX=0 -DROW_TOP_K=%u",
                            tops, tops);
  if (!outputs &&
      (!gemmcl_activation_is_of_rows (gemm->activation) || !owns_rows (kernel, gemm, 1)))
    return;
  g_string_append (options, " -DWHOLE_ROWS");
  if (shares_rows (kernel, gemm))
    g_string_append (options, " -DROWS_ACROSS");
  if (outputs)
    gemmcl_row_outputs_append_options (options, gemm);
  if (outputs && gemm->omit_d)
    g_string_append (options, " -DD_OMITTED");
}

gchar *
gemmcl_kernel_make_options (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split,
                            const GemmclDeviceInfo *device, GemmclKernelLevel level)
{
  const GemmclType a_type = gemmcl_kernel_get_a_type (kernel, gemm);
  g_autoptr (GString) options = g_string_new (NULL);

  g_string_printf (options, "-DTILE_M=%u -DTILE_N=%u -DGROUP_M=%u -DGROUP_N=%u -DA_TYPE=%s",
                   kernel->tile_m, kernel->tile_n, kernel->group_m, kernel->group_n,
                   gemmcl_type_get_dtype (a_type));
  if (kernel->defines)
    g_string_append_printf (options, " %s", kernel->defines);
  gemmcl_subgroups_append_options (options, kernel, device, level);
  if (gemmcl_kernel_get_capability (kernel) > 0 && level == GEMMCL_KERNEL_LEVEL_NATIVE)
    g_string_append (options, kernel->family == GEMMCL_FAMILY_WGMMA ? " -DMMA_PTX" GEMMCL_SM_90A
                                                                    : " -DMMA_PTX");
  if (kernel->persistent)
    g_string_append (options, " -DPERSISTENT");
  g_string_append_printf (options, " -DB_TYPE=%s",
                          gemmcl_type_get_dtype (gemmcl_kernel_get_b_type (kernel)));
  if (kernel->packed)
    g_string_append_printf (options, " -DPANEL=%u", gemmcl_kernel_get_panel (kernel));
  if (gemmcl_kernel_copies_a (kernel, gemm))
    g_string_append (options, " -DCOPIES_A");
  if (device->intel && device->type == GEMMCL_DEVICE_TYPE_CPU)
    g_string_append (options, " -DINTEL_CPU");
  if (kernel->frames)
    g_string_append_printf (options, " -DN=%zu -DK=%zu", gemm->n, gemm->k);
  if (!gemmcl_kernel_quantizes_a (kernel, gemm)) {
    if (gemm->a_scale != 1.0 || gemm->a_shift != 0.0)
      g_string_append (options, " -DA_SCALED");
    append_access (options, kernel, gemm, GEMMCL_OPERAND_A, a_type);
  }
  append_result (options, kernel, gemm, split);
  if (split > 1)
    g_string_append_printf (options, " -DSPLIT=%u", split);
  else
    append_whole_rows (options, kernel, gemm);
  if (gemmcl_kernel_takes_pixels (kernel, gemm))
    append_frame (options, gemm->a_frame, "A_");
  if (gemm->d_frame)
    append_frame (options, gemm->d_frame, "D_");
  return g_string_free (g_steal_pointer (&options), FALSE);
}

gchar *
gemmcl_kernel_make_reduce_options (const GemmclKernel *kernel, const GemmclGemm *gemm, guint split)
{
  g_autoptr (GString) options = g_string_new (NULL);

  g_string_printf (options, "-DSPLIT=%u -DA_TYPE=F32", split);
  append_result (options, kernel, gemm, split);
  return g_string_free (g_steal_pointer (&options), FALSE);
}

const gchar *
gemmcl_kernel_get_source (const gchar *name, const GemmclGemm *gemm, gchar **options,
                          GError **error)
{
  const GemmclKernel *kernel;
  GemmclGemm computed;
  g_autofree gchar *own = NULL;

  g_return_val_if_fail (name != NULL && gemm != NULL && options != NULL, NULL);

  if (strchr (name, '/') != NULL) {
    g_autofree gchar *quoted = gemmcl_quote (name);

    return FAIL_NULL (error, GEMMCL_ERROR_KERNEL,
                      "Expected a kernel without a split of K, found \"%s\". Leave out the slash "
                      "and the number.",
                      quoted);
  }
  kernel = gemmcl_kernel_find (name, error);
  if (kernel == NULL || !gemmcl_gemm_validate (gemm, error))
    return NULL;
  computed = gemmcl_gemm_get_computed (gemm);
  own = gemmcl_kernel_make_options (kernel, &computed, 1, &no_device, GEMMCL_KERNEL_LEVEL_NATIVE);
  *options = gemmcl_program_complete_options (own);
  return gemmcl_embedded_get_text (kernel->source);
}
