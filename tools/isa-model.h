/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "isa.h"

/**
 * What share of a GPU's peak a kernel should reach, from the figures of its loop, the shape of its
 * tiles and what is published of the GPU. docs/model.md says how, and how far to trust it.
 *
 *   isa-registers.c  listing -> waits and conflicts
 *   isa-devices.c    the GPUs
 *   isa-shape.c      what a kernel is told -> the shape of its tiles
 *   isa-model.c      figures, shape, GPU -> prediction
 *   isa-report.c     predictions -> table, JSON
 */

/**
 * IsaDevice:
 * @target: the code it is given
 * @title: for tables
 * @eus: EUs, later called vector engines
 * @core_eus: of these, those of a sub-slice, dual sub-slice or Xe-core: they share a data port and
 *   local memory
 * @threads: of an EU with 128 registers a thread
 * @mhz: its clock
 * @pipes: of an EU that multiply and add floats
 * @pass_clocks: how long an instruction holds its pipe for each register that it writes
 * @conflict_clocks: and how much longer if two of its operands are in one bank
 * @integer_pipe: integers have a pipe of their own beside them
 * @dpas_clocks: how long a dpas of 8 rows holds the matrix engine, which is beside both; 0: it has
 *   none
 * @port_bytes: the data port brings a core's threads each clock
 * @slm_bytes: the same of local memory; 0: it comes through the data port
 * @slm_banks: 4 bytes wide each
 * @fill_bytes: a core's own cache gets each clock from the large one; 0: it has no own, and the
 * port reads the large one
 * @slm_size: of a core
 * @cache_size: of the largest cache that is the GPU's own
 * @link_bytes, @llc_size: where there is a last-level cache that is the processor's, bytes a clock
 * on the way from there, and its size; else 0
 * @memory_gbs: bandwidth behind all caches
 * @port_clocks, @slm_clocks: from a message to its answer, from the nearest cache and local memory
 * @fill_clocks: the same from the large cache, where the nearest one is another; else 0
 * @memory_ns: what an answer from behind the large cache takes besides
 * @barrier_clocks: of a barrier
 */
typedef struct {
  const gchar *target;
  const gchar *title;
  guint eus, core_eus, threads;
  gdouble mhz;
  guint pipes;
  gdouble pass_clocks, conflict_clocks;
  gboolean integer_pipe;
  gdouble dpas_clocks;
  gdouble port_bytes, slm_bytes;
  guint slm_banks;
  gdouble fill_bytes;
  gdouble slm_size, cache_size;
  gdouble link_bytes, llc_size;
  gdouble memory_gbs;
  gdouble port_clocks, slm_clocks, fill_clocks, memory_ns;
  gdouble barrier_clocks;
} IsaDevice;

/** isa_devices: ended by one without a target. */
extern const IsaDevice isa_devices[];

/** isa_device_find: Returns: (nullable) (transfer none): the first that runs the target's code. */
const IsaDevice *isa_device_find (const IsaTarget *target);

/**
 * IsaShape:
 * @tile_m, @tile_n: outputs of a work-item
 * @group_m, @group_n: work-items of a work-group
 * @step: of K that a turn of the outer loop has; 0: the inner loop is the only one
 * @a_bytes, @b_bytes: of an element as it is loaded
 * @apart: columns from one work-item's to its neighbour's, where elements are loaded one by one; 0:
 *   they are loaded so that nothing of a line is left out
 * @slm_apart, @slm_pad: floats of local memory from what one work-item reads to what its neighbour
 *   does, and floats that are left out after each 32; 0 apart: free of conflicts
 * @sides: tiles in local memory of which one is filled in each step
 */
typedef struct {
  guint tile_m, tile_n;
  guint group_m, group_n;
  guint step;
  guint a_bytes, b_bytes;
  guint apart;
  guint slm_apart, slm_pad;
  guint sides;
} IsaShape;

/**
 * isa_shape_read:
 * @options: what the compiler was told: -DTILE_M=8 and so on
 *
 * Returns: %FALSE where they say nothing of tiles.
 */
gboolean isa_shape_read (const gchar *options, IsaShape *shape);

/**
 * IsaProblem:
 * @m, @n, @k: its size
 * @walk: work-groups that run one after the other go down so many of them before they go one to the
 *   right; 0: all the way down
 * @split: K is done in parts of so many; 0: in one
 */
typedef struct {
  gdouble m, n, k;
  guint walk;
  gdouble split;
} IsaProblem;

/** IsaBound: what is busiest, where it is busy most of the time; else waiting. */
typedef enum {
  ISA_BOUND_ISSUE,
  ISA_BOUND_PORT,
  ISA_BOUND_SLM,
  ISA_BOUND_FILL,
  ISA_BOUND_LINK,
  ISA_BOUND_MEMORY,
  ISA_BOUND_WAITING,
} IsaBound;

#define ISA_N_STATIONS ISA_BOUND_WAITING

/** isa_bound_get_name: Returns: for tables; static. */
const gchar *isa_bound_get_name (IsaBound bound);

/**
 * IsaPrediction:
 * @efficiency: share of the peak, of a kernel with dpas that of the matrix engines
 * @gflops: the same as 10^9 operations a second
 * @bound: what keeps it from more, or what for the most part does
 * @busy: share of the time that the EU's pipes, the data port, local memory, the way from the large
 *   cache to the core's, that from the last-level cache, and memory are busy, in the order of
 *   #IsaBound
 * @threads: that an EU has at a time
 * @missed_bytes: that come from behind the large cache
 * @dpas_share: of the clocks of a turn of the inner loop those of the matrix engine, if nothing ran
 *   beside it
 */
typedef struct {
  gdouble efficiency;
  gdouble gflops;
  IsaBound bound;
  gdouble busy[ISA_N_STATIONS];
  gdouble threads;
  gdouble missed_bytes;
  gdouble dpas_share;
} IsaPrediction;

/**
 * isa_model_predict:
 *
 * Returns: %FALSE where the model does not apply: the kernel did not build, has no loop that
 *   multiplies, or matrix engines that @device has not.
 */
gboolean isa_model_predict (const IsaFigures *figures, const IsaShape *shape,
                            const IsaDevice *device, const IsaProblem *problem,
                            IsaPrediction *prediction);

/**
 * isa_model_report:
 * @figures: a list of what isa_figures_to_json() makes; those the model applies to get a "model"
 * @problem: what they multiply
 * @out: gets a table
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED where @figures are something else.
 */
gboolean isa_model_report (json_t *figures, const IsaProblem *problem, FILE *out, GError **error);
