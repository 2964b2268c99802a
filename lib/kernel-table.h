/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-gemm.h"

/** Device types as a mask: where a kernel is chosen without being asked for. */
#define GEMMCL_ON_CPU (1u << GEMMCL_DEVICE_TYPE_CPU)
#define GEMMCL_ON_GPU (1u << GEMMCL_DEVICE_TYPE_GPU | 1u << GEMMCL_DEVICE_TYPE_ACCELERATOR)
#define GEMMCL_ON_ANY (GEMMCL_ON_CPU | GEMMCL_ON_GPU)
/** Only Intel's GPUs, whose registers a subgroup shares. */
#define GEMMCL_ON_INTEL_GPU (1u << 31)

/**
 * GemmclKernel:
 * @name: what users type
 * @source: the file in kernels/ with `kernel void gemm`
 * @defines: (nullable): compiler options besides TILE_M, TILE_N, GROUP_M and GROUP_N
 * @summary: one line
 * @tile_m, @tile_n: outputs of a work-item; @tile_n 0: a row of D whole
 * @group_m, @group_n: work-items of a work-group
 * @subgroup: work-items of a subgroup, of which group_n is a multiple; 0: it needs none. Such a row
 *   runs on every device (see subgroup.clh), but is chosen only where subgroups of this size are
 *   native and the smallest, which are those as wide as a register
 * @depth: columns of A that a lane holds at a time; only with @subgroup
 * @dpas: it multiplies by matrix engines (see dpas.clh), natively where the device has them; B
 *   comes packed for these
 * @registers: that a thread should have where that is more than usual, natively; 0: as usual
 * @images: A and B are images (see pack_image.cl)
 * @precision: what it computes in; answers problems that ask for the same, and f32 for all
 * @split_k: the group_m work-items share K between them, not M
 * @packed: B comes packed in panels of tile_n x group_n columns (see pack.cl),
 *   with @dpas of tile_n x subgroup (see pack_dpas.cl)
 * @float4: it is told where rows of A or D may be read or written as float4s, and then is another
 *   program
 * @pictures: A's and D's rows may be pixels of pictures; other kernels get A converted before
 * @fixed_n_k: N and K are compiled in, as -DN and -DK
 * @whole_rows: softmax and row outputs are made inside where rows of D are no wider than the
 *   tile of a work-group, or @max_n if it has no width (see whole_rows.clh); else by steps after it
 * @arg_max_apart: row outputs with arg-max among them are made by the step after it also where
 *   several subgroups share a row: compilers have no registers left for that
 * @max_m, @max_n, @max_k: the largest problem it takes; 0: any
 * @devices: the types it is chosen for
 * @float_width: chosen only where the device's native vectors have as many floats or more
 * @speed: share of the peak it reaches when all tiles are full, roughly: what the choice goes by
 * @intel_speed: the same on Intel's GPUs, where it is another; 0: it is not
 *
 * A row of kernels.def.
 */
typedef struct {
  const gchar *name;
  const gchar *source;
  const gchar *defines;
  const gchar *summary;
  guint tile_m, tile_n;
  guint group_m, group_n;
  guint subgroup;
  guint depth;
  gboolean dpas;
  guint registers;
  gboolean images;
  GemmclPrecision precision;
  gboolean split_k;
  gboolean packed;
  gboolean float4;
  gboolean pictures;
  gboolean fixed_n_k;
  gboolean whole_rows;
  gboolean arg_max_apart;
  gsize max_m, max_n, max_k;
  guint devices;
  guint float_width;
  gdouble speed;
  gdouble intel_speed;
} GemmclKernel;

/** GemmclSource: an embedded program's text, includes inlined; the last one's name is NULL. */
typedef struct {
  const gchar *name;
  const gchar *text;
} GemmclSource;

extern const GemmclSource gemmcl_sources[];
