/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A row of kernels.def. Tests that read the table include this alone.
 */
#pragma once

#include "gemmcl-kernels.h"

/** Device types as a mask: where a kernel is chosen without being asked for. */
#define GEMMCL_ON_CPU (1u << GEMMCL_DEVICE_TYPE_CPU)
#define GEMMCL_ON_GPU (1u << GEMMCL_DEVICE_TYPE_GPU | 1u << GEMMCL_DEVICE_TYPE_ACCELERATOR)
#define GEMMCL_ON_ANY (GEMMCL_ON_CPU | GEMMCL_ON_GPU)
/** Only Intel's GPUs, whose registers a subgroup shares. */
#define GEMMCL_ON_INTEL_GPU (1u << 31)

/** A row of kernels.def. */
typedef struct {
  const gchar *name;      /* what users type */
  const gchar *source;    /* the file in kernels/ with `kernel void gemm` */
  const gchar *defines;   /* (nullable): options besides TILE_M, TILE_N, GROUP_M and GROUP_N */
  const gchar *summary;   /* the method, in a few words; gemmcl_get_kernel() adds the tile */
  guint tile_m, tile_n;   /* outputs of a work-item; tile_n 0: a row of D whole */
  guint group_m, group_n; /* work-items of a work-group */
  /* Work-items of a subgroup, of which group_n is a multiple; 0: it needs none. Such a row runs on
   * every device (see subgroup.clh), but is chosen only where subgroups of this size are native and
   * the smallest, which are those as wide as a register. */
  guint subgroup;
  guint depth; /* columns of A that a lane of a subgroup holds at a time */
  /* It multiplies by matrix engines (see dpas.clh), natively where the device has them; B comes
   * packed for these. */
  gboolean dpas;
  guint registers;           /* of a thread where that is more than usual, natively; 0: as usual */
  gboolean images;           /* A and B are images (see pack_image.cl) */
  GemmclPrecision precision; /* it answers problems that ask for the same; f32 all */
  gboolean split_k;          /* the group_m work-items share K between them, not M */
  /* B comes packed in panels of tile_n x group_n columns (see pack.cl), with dpas of tile_n x
   * subgroup (see pack_dpas.cl). */
  gboolean packed;
  /* Its options say where rows of A or D may be read or written as float4s: another program. */
  gboolean float4;
  gboolean pictures;  /* rows of A and D may be pixels; other kernels get A converted before */
  gboolean fixed_n_k; /* N and K are compiled in, as -DN and -DK */
  /* Softmax and row outputs are made inside where rows of D are no wider than the tile of a
   * work-group, or max_n if it has no width (see whole_rows.clh); else by steps after it. */
  gboolean whole_rows;
  /* Row outputs with arg-max among them are made by the step after it also where several subgroups
   * share a row: compilers have no registers left for that. */
  gboolean arg_max_apart;
  gsize max_m, max_n, max_k; /* the largest problem it takes; 0: any */
  guint devices;             /* the types it is chosen for */
  guint float_width;   /* it is chosen only where native vectors have as many floats or more */
  gdouble speed;       /* share of the peak with all tiles full, roughly: the choice goes by it */
  gdouble intel_speed; /* the same on Intel's GPUs, where it is another; 0: it is not */
  gdouble hpg_speed;   /* the same on those with matrix engines and subgroups of 8, Xe-HPG */
} GemmclKernel;
