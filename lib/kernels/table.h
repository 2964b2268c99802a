/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of kernels: its rows, their limits, tiles and image blocks. Errors are
 * #GEMMCL_ERROR_KERNEL.
 */
#pragma once

#include "device/device.h"
#include "gemmcl-kernels.h"
#include "problem/gemm.h"

/** Who runs a row, and by which instructions. The rules choose it only there. In the order of the
 * devices, which comparisons rely on. */
typedef enum {
  GEMMCL_FAMILY_ANY, /* every device */
  GEMMCL_FAMILY_CPU,
  GEMMCL_FAMILY_VECTOR_4, /* CPUs with native vectors of at least 4 floats, or 8, or 16 */
  GEMMCL_FAMILY_VECTOR_8,
  GEMMCL_FAMILY_VECTOR_16,
  GEMMCL_FAMILY_GPU,
  GEMMCL_FAMILY_INTEL,      /* Intel GPUs, where the lanes of a subgroup share registers */
  GEMMCL_FAMILY_DPAS,       /* matrix engines of Intel GPUs (dpas.clh); B is packed for them */
  GEMMCL_FAMILY_ASYNC_COPY, /* GPUs with NVIDIA's driver and its asynchronous copies (mma.clh) */
  GEMMCL_FAMILY_MMA,        /* NVIDIA's matrix engines (mma.clh); B is packed in words */
  GEMMCL_FAMILY_WGMMA, /* the same by instructions of compute capability 9.0 alone (wgmma.clh). The
                        * program is retargeted for it (lib/device/program.c). */
} GemmclFamily;

/** A row of kernels.def. */
typedef struct {
  const gchar *name;    /* the name that users type */
  const gchar *source;  /* the file in kernels/ with `kernel void gemm` */
  const gchar *defines; /* (nullable): options besides TILE_M, TILE_N, GROUP_M and GROUP_N */
  const gchar *summary; /* the method in a few words; gemmcl_get_kernel() adds its sizes */
  GemmclFamily family;
  guint tile_m, tile_n;   /* outputs of a work-item; tile_n 0: an entire row of D */
  guint group_m, group_n; /* work-items of a work-group */
  /* Work-items of a subgroup, a divisor of group_n; 0: no subgroups. A kernel with subgroups runs
   * on every device (see subgroup.clh). The rules choose it only where subgroups of this size are
   * native and the smallest, which are as wide as a register. */
  guint subgroup;
  guint depth; /* columns of A that a lane of a subgroup holds at a time */
  /* A work-group has a compute unit for itself and computes tile after tile; no more work-groups
   * than units are launched. It hides latencies itself. */
  gboolean persistent;
  /* Bytes of local memory of a work-group; with instructions of NVIDIA's GPUs, of their emulation.
   * 0: little, known when the kernel is built. */
  guint local_bytes;
  guint registers; /* registers per thread of the native kernel; 0: the device's default */
  gboolean images; /* A and B are read from images (see pack.cl) */
  GemmclPrecision precision; /* the kernel takes problems of this precision; F32: of any */
  gboolean reads_a;          /* int8: B alone is quantized, A is read as it is stored */
  gboolean split_k;          /* the group_m work-items split K, not M */
  /* B is packed in panels of tile_n x group_n columns (see pack.cl), for dpas in panels of tile_n x
   * subgroup columns. */
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
  /* (nullable): why the row stays even if the rules choose others on every known device: the
   * publication that names it, or the device that was measured to need it; ends the summary */
  const gchar *kept;
  gdouble speed;       /* for the rules: approximate share of the f32 peak with full tiles */
  gdouble intel_speed; /* speed on Intel GPUs; 0: as speed */
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

/** The floats of a vector of @kernel; 0: it has none. With vectors, any number of work-groups
 * divide the tiles of D among them. */
guint gemmcl_kernel_get_float_width (const GemmclKernel *kernel);

/** The least compute capability, 80 for 8.0, that has the instructions of @kernel; 0: none of
 * NVIDIA's. Persistent kernels have more than 48 KiB of local memory, and were launched on 9.0
 * alone. */
guint gemmcl_kernel_get_capability (const GemmclKernel *kernel);

/** TRUE if @kernel adds the parts of a K that is split @split times itself. Otherwise reduce.cl
 * does, if @split is not 1. */
gboolean gemmcl_kernel_adds_parts (const GemmclKernel *kernel, guint split);

/** TRUE if @kernel multiplies on matrix engines. */
gboolean gemmcl_kernel_has_engines (const GemmclKernel *kernel);

/** TRUE if @kernel multiplies bytes of A by bytes of B (kernels/shared/quantized.h). */
gboolean gemmcl_kernel_multiplies_bytes (const GemmclKernel *kernel);

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
  gsize block_k;                   /* columns of A or rows of B in a block */
  gsize per_panel;                 /* blocks per panel; they cover K */
  gsize panels;                    /* panels per problem of the batch */
  gsize side;                      /* blocks side by side in the image */
  gsize image_width, image_height; /* size of the image in texels */
} GemmclBlocks;

/** TRUE if buffers take the place of images on @device. */
gboolean gemmcl_blocks_are_in_buffers (const GemmclDeviceInfo *device);

/** The compiler's options for programs with images, with a leading space; static. */
const gchar *gemmcl_blocks_get_options (const GemmclDeviceInfo *device);

/** TRUE if images of the device can hold @which, A or B, for @kernel, which reads images. */
gboolean gemmcl_blocks_init (GemmclBlocks *self, const GemmclKernel *kernel,
                             const GemmclDeviceInfo *device, const GemmclGemm *gemm,
                             GemmclOperand which, GError **error);
