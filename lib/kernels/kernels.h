/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of kernels: its rows, their tiles, the compiler's options for them, and the choice of
 * one, by rules and by measurements. Options are (transfer full). Errors are #GEMMCL_ERROR_KERNEL.
 */
#pragma once

#include <gio/gio.h>

#include "device/device.h"
#include "gemmcl-kernels.h"
#include "problem/gemm.h"

/* table.c: the rows */

/** Masks of device types for which the rules may choose a kernel. */
#define GEMMCL_ON_CPU (1u << GEMMCL_DEVICE_TYPE_CPU)
#define GEMMCL_ON_GPU (1u << GEMMCL_DEVICE_TYPE_GPU | 1u << GEMMCL_DEVICE_TYPE_ACCELERATOR)
#define GEMMCL_ON_ANY (GEMMCL_ON_CPU | GEMMCL_ON_GPU)
/** Intel GPUs, where the lanes of a subgroup share registers. */
#define GEMMCL_ON_INTEL_GPU (1u << 31)
/** GPUs with NVIDIA's driver, for kernels with its instructions. */
#define GEMMCL_ON_NVIDIA_GPU (1u << 30)

/** A row of kernels.def. */
typedef struct {
  const gchar *name;      /* the name that users type */
  const gchar *source;    /* the file in kernels/ with `kernel void gemm` */
  const gchar *defines;   /* (nullable): options besides TILE_M, TILE_N, GROUP_M and GROUP_N */
  const gchar *summary;   /* the method in a few words; gemmcl_get_kernel() adds its sizes */
  guint tile_m, tile_n;   /* outputs of a work-item; tile_n 0: an entire row of D */
  guint group_m, group_n; /* work-items of a work-group */
  /* Work-items of a subgroup, a divisor of group_n; 0: no subgroups. A kernel with subgroups runs
   * on every device (see subgroup.clh). The rules choose it only where subgroups of this size are
   * native and the smallest, which are as wide as a register. */
  guint subgroup;
  guint depth; /* columns of A that a lane of a subgroup holds at a time */
  /* The kernel multiplies on matrix engines (see dpas.clh), natively if the device has them. B is
   * packed for the engines. */
  gboolean dpas;
  /* The kernel has instructions of NVIDIA's GPUs (see mma.clh), natively from this compute
   * capability on, 80 for 8.0; 0: none. In precisions other than f32 they are instructions of the
   * matrix engines. B is packed in words. */
  guint capability;
  /* The instructions exist at that compute capability alone, 9.0 (see wgmma.clh). The program is
   * retargeted for it (see lib/device/program.c). */
  gboolean wgmma;
  /* A work-group has a compute unit for itself and computes tile after tile; no more work-groups
   * than units are launched. It hides latencies itself. */
  gboolean persistent;
  /* Bytes of local memory of a work-group; with instructions of NVIDIA's GPUs, of their emulation.
   * 0: little, known when the kernel is built. */
  guint local_bytes;
  guint registers; /* registers per thread of the native kernel; 0: the device's default */
  gboolean images; /* A and B are read from images (see pack.cl) */
  GemmclPrecision precision; /* the kernel takes problems of this precision; F32: of any */
  gboolean split_k;          /* the group_m work-items split K, not M */
  gboolean shares_tiles;     /* any number of work-groups divide the tiles of D among them */
  /* B is packed in panels of tile_n x group_n columns (see pack.cl), with dpas in panels of tile_n
   * x subgroup columns. */
  gboolean packed;
  /* Aligned rows of A or D are read or written as float4s, by a separate program. */
  gboolean float4;
  /* Rows of A and D may be pixels, and N and K are compile-time constants, -DN and -DK. For other
   * kernels im2col converts pixels first. */
  gboolean frames;
  /* The kernel computes softmax and row outputs itself if a row of D fits the tile of a work-group,
   * or max_n if tile_n is 0 (see whole_rows.clh). Otherwise later steps do. */
  gboolean whole_rows;
  /* If several subgroups share a row and arg-max is requested, a later step computes the row
   * outputs: compilers run out of registers. */
  gboolean arg_max_apart;
  gsize max_m, max_n, max_k; /* the largest problem; 0: no limit */
  guint devices;             /* mask of device types for which the rules may choose it */
  guint float_width;   /* the rules choose it only for native vectors of at least as many floats */
  gdouble speed;       /* for the rules: approximate share of the f32 peak with full tiles */
  gdouble intel_speed; /* speed on Intel GPUs; 0: as speed */
  gdouble hpg_speed;   /* speed on Xe-HPG (matrix engines, subgroups of 8); 0: as intel_speed */
} GemmclKernel;

/** Row @index, which is less than gemmcl_get_n_kernels(). */
const GemmclKernel *gemmcl_kernel_get (guint index);

/** The row @name. The error's message lists similar names. */
const GemmclKernel *gemmcl_kernel_find (const gchar *name, GError **error);

/** TRUE if @kernel can do @gemm (valid; %NULL: any) on the device, apart from its local memory. */
gboolean gemmcl_kernel_check (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** TRUE if @kernel reads @gemm's pixels itself, without im2col. */
gboolean gemmcl_kernel_takes_pixels (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** The columns of a panel of packed B; 0 if @kernel reads B unpacked or from an image. */
guint gemmcl_kernel_get_panel (const GemmclKernel *kernel);

/** TRUE if @kernel multiplies on matrix engines. */
gboolean gemmcl_kernel_has_engines (const GemmclKernel *kernel);

GemmclType gemmcl_kernel_get_b_type (const GemmclKernel *kernel);

/** The m x n work-groups that cover D. Each computes rows x cols of it. */
typedef struct {
  gsize m, n;
  gsize rows, cols;
} GemmclTiles;

/** The work-groups of @kernel for a D of @m x @n, one for each tile. */
GemmclTiles gemmcl_kernel_get_tiles (const GemmclKernel *kernel, gsize m, gsize n);

/** TRUE if @kernel copies the rows of A before it multiplies them (COPIES_A of vector.cl). */
gboolean gemmcl_kernel_copies_a (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** The work-groups to launch for @batch problems of @m rows that are otherwise @gemm. If the kernel
 * shares tiles or is persistent, a work-group owns several of the @rows x @cols tiles. */
GemmclTiles gemmcl_kernel_get_groups (const GemmclKernel *kernel, const GemmclDeviceInfo *device,
                                      const GemmclGemm *gemm, gsize m, gsize batch);

/** The blocks of A or B in an image; drawn in pack.cl. On a device that is not Intel's, or lacks
 * block reads or images of one channel of 32 bits, a buffer holds the texels row by row. */
typedef struct {
  gsize width, height;             /* size of a block in texels */
  gsize chunk;                     /* columns of A or rows of B in a block */
  gsize per_panel;                 /* blocks per panel; they cover K */
  gsize panels;                    /* panels per problem of the batch */
  gsize side;                      /* blocks side by side in the image */
  gsize image_width, image_height; /* size of the image in texels */
} GemmclBlocks;

/** TRUE if a texel is two f16, FALSE if it is an f32. */
gboolean gemmcl_blocks_are_f16 (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                GemmclOperand which);

/** TRUE if buffers take the place of images on @device. */
gboolean gemmcl_blocks_are_in_buffers (const GemmclDeviceInfo *device);

/** The compiler's options for programs with images, with a leading space; static. */
const gchar *gemmcl_blocks_get_options (const GemmclDeviceInfo *device);

/** TRUE if images of the device can hold @which, A or B, for @kernel, which reads images. */
gboolean gemmcl_blocks_init (GemmclBlocks *self, const GemmclKernel *kernel,
                             const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclOperand which, GError **error);

/* options.c: compile-time options */

/** TRUE if @kernel, with K in @split parts, computes @gemm's row outputs itself, since a work-group
 * computes entire rows of D. GEMMCL_ROWS=apart in the environment makes the row outputs a separate
 * step. */
gboolean gemmcl_kernel_makes_row_outputs (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);

/** TRUE if softmax is a step of its own after @kernel. */
gboolean gemmcl_kernel_needs_softmax (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                      guint split);

/** TRUE if the softmax step or the step that normalizes D reads its input from a buffer of f32, the
 * logits. Both steps work in D itself if D is f32. */
gboolean gemmcl_kernel_needs_logits (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                     guint split);

/** Appends the options for the row outputs of @gemm. */
void gemmcl_row_outputs_append_options (GString *options, const GemmclGemm *gemm);

/** The type of A that @kernel, or the program that packs A for it, reads. */
GemmclType gemmcl_kernel_get_a_type (const GemmclKernel *kernel, const GemmclGemm *gemm);

/** The compiler's options for @gemm; see kernels/shared/gemm.clh. */
gchar *gemmcl_kernel_make_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                   const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** The compiler's options for reduce.cl after @kernel. */
gchar *gemmcl_kernel_make_reduce_options (const GemmclKernel *kernel, const GemmclGemm *gemm,
                                          guint split);

/* subgroups.c */

/** The first level from @best on that @device promises for @kernel; a build may still fail there. A
 * kernel without subgroups is native, or emulated if the device lacks its dot products or
 * matrix engines. */
GemmclKernelLevel gemmcl_subgroups_get_level (const GemmclKernel *kernel,
                                              const GemmclDeviceInfo *device,
                                              GemmclKernelLevel best);

/** Appends the compiler's options for subgroups (see subgroup.clh), or for the device's
 * dot-product instructions (dot.clh). */
void gemmcl_subgroups_append_options (GString *options, const GemmclKernel *kernel,
                                      const GemmclDeviceInfo *device, GemmclKernelLevel level);

/** Work-items per subgroup of @kernel, as @built; 0 if the driver does not report it. */
gsize gemmcl_subgroups_get_size (const GemmclKernel *kernel, cl_kernel built,
                                 GemmclContext *context);

/** TRUE if the subgroups of @kernel, @built at @level, have the size in its row. */
gboolean gemmcl_subgroups_check (const GemmclKernel *kernel, cl_kernel built,
                                 GemmclContext *context, GemmclKernelLevel level, GError **error);

/* choice.c: the rules */

/** The largest number of parts into which K is cut. */
#define GEMMCL_MAX_SPLIT 64

/** A kernel with a split: reduce.cl adds up the partial sums of @split parts of K, so that
 * few tiles still occupy a whole device. Users write it as the kernel's name, followed by "/4" for
 * a split of 4. */
typedef struct {
  const GemmclKernel *kernel;
  guint split;
  gdouble score; /* of the rules; 0 if another source made the choice */
} GemmclChoice;

/** FALSE if @name is not the name of a choice. */
gboolean gemmcl_choice_find (GemmclChoice *self, const gchar *name, GError **error);

/** The name that gemmcl_choice_find() takes; static. */
const gchar *gemmcl_choice_get_name (const GemmclChoice *self);

/** TRUE if the device can do @gemm (valid; %NULL: any) with this choice. The kernel as built may
 * still need more than the device has. */
gboolean gemmcl_choice_check (const GemmclChoice *self, const GemmclDeviceInfo *device,
                              const GemmclGemm *gemm, GError **error);

/** (transfer container) (element-type GemmclChoice): the kernels that the rules allow, each with
 * its best split up to @max_split, best first; rows for CPUs on a GPU for which all others are too
 * large; empty if D is a frame and no kernel takes this K.
 * @all: every choice worth measuring, after the best that the rules allow */
GArray *gemmcl_choice_rank (const GemmclDeviceInfo *device, const GemmclGemm *gemm, guint max_split,
                            gboolean all);

/* tuning.c: measurements */

/**
 * An entry: the fastest kernel for a problem on a device. Entries are JSON objects, in the user's
 * cache directory or in the library:
 *
 *   device     "device", "units", "driver": its name, compute units and driver's version, all of
 *              which must match; a shipped entry has "device" alone
 *   problem    "precision": its name, "layout": "row" or "col", "transposed": "a", "b", "ab" or "",
 *              "m", "n", "k"
 *   best       "kernel", "gflops"
 */
typedef struct {
  GemmclGemm gemm;
  GemmclChoice choice;
  gdouble gflops;
  GemmclChoiceSource source;
} GemmclTuned;

/** TRUE if @gemm can have entries: no batch, D is a matrix, and rows of A are not pixels. */
gboolean gemmcl_tuning_has_entries (const GemmclGemm *gemm);

/** gemmcl_tuning_store(), which does not wait for another process once @cancellable (nullable) is
 * cancelled. */
gboolean gemmcl_tuning_store_cancellable (GemmclContext *context, const GemmclGemm *gemm,
                                          const gchar *kernel, gdouble gflops,
                                          GCancellable *cancellable, GError **error);

/** TRUE if an entry applies to @gemm on the device. @found: the nearest of the user's entries, or
 * else of the shipped ones */
gboolean gemmcl_tuning_find (const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclTuned *found);
