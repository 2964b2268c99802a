/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>

#include "gemmcl.h"

/**
 * What Intel's offline compiler, ocloc, makes of a kernel for a GPU that need not be here, in
 * figures.
 *
 *   isa-targets.c  the GPUs
 *   isa-ocloc.c    source and options -> ocloc -> listing and attributes, kept on disk
 *   isa-listing.c  listing -> loops
 *   isa.c          the subcommand
 */

/**
 * IsaTarget:
 * @name: what ocloc and users call it
 * @title: for tables
 * @register_bytes: of a register
 */
typedef struct {
  const gchar *name;
  const gchar *title;
  guint register_bytes;
} IsaTarget;

/** isa_targets: oldest first; ended by one without a name. */
extern const IsaTarget isa_targets[];

/** isa_target_find: Returns: (nullable) (transfer none): the target of that name. */
const IsaTarget *isa_target_find (const gchar *name);

/**
 * IsaLoop:
 * @parent: index of the loop around it, -1 if there is none
 * @instructions: of the path below, without those of loops within; all the following counts are
 *   parts of these, and add up to them: multiply + dpas + moves + integers + floats + loads +
 *   stores + slm_loads + slm_stores + other_sends + barriers + control
 * @multiply: floating-point multiply-add instructions, and
 * @mads: how many multiply-adds each work-item has of them: an instruction of half the kernel's
 * SIMD width is half a one. Of dpas, which @mads has not, the model has its own count
 * @dpas: instructions for matrix engines, and @dpas_macs: multiply-adds of each work-item in them
 * @moves: mov, sel and the like, whatever the type
 * @integers: arithmetic on integers: addresses, counters
 * @floats: other arithmetic on floats
 * @loads: messages that read memory or images, and
 * @load_bytes: what they bring a thread (all lanes), as told by the message's own sizes
 * @slm_loads, @slm_load_bytes: the same of local memory
 * @stores, @slm_stores: messages that write
 * @other_sends: fences and whatever else is sent
 * @barriers: signals or waits, the pair counted once
 * @control: branches, joins, sync, nop
 * @passes: registers that the arithmetic writes, at least one an instruction: 16 floats take two
 *   passes where a register holds 8. About the issue slots of the loop's arithmetic
 * @first, @last: lines of the listing, from 1
 *
 * One turn of a loop. Where it branches, the path with the most multiply-adds counts, and of such
 * the shortest: what a tile that is full takes.
 */
typedef struct {
  gint parent;
  guint instructions;
  guint multiply, dpas, moves, integers, floats;
  guint loads, stores, slm_loads, slm_stores, other_sends;
  guint barriers, control;
  gdouble mads, dpas_macs;
  gdouble load_bytes, slm_load_bytes;
  gdouble passes;
  guint first, last;
} IsaLoop;

/**
 * IsaFigures:
 * @kernel, @target: of what
 * @compiler: (nullable): ocloc's version
 * @options: what it was told; TILE_M and so on are among it
 * @why_not: (nullable): the line in which the compiler says why it did not build; then the rest is
 * 0
 * @simd: lanes of a thread
 * @registers: of a thread, each of @register_bytes
 * @threads: of an EU with so many registers, or 0 where the compiler does not say
 * @slm: bytes of local memory of a work-group
 * @spill, @private_memory: bytes per thread of registers that did not fit and of arrays that were
 * not put into registers
 * @resource_loops: loops which the compiler put round loads whose surface may differ between lanes
 * @instructions: of the whole kernel
 * @loops: (array length=n_loops): in the order of their first lines
 * @hot: index of the loop with the most multiply-adds, dpas included, in its own path; -1: none has
 *   any
 */
typedef struct {
  gchar *kernel;
  const IsaTarget *target;
  gchar *compiler;
  gchar *options;
  gchar *why_not;
  guint simd;
  guint registers, register_bytes, threads;
  guint slm;
  guint spill, private_memory;
  guint resource_loops;
  guint instructions;
  IsaLoop *loops;
  guint n_loops;
  gint hot;
} IsaFigures;

void isa_figures_free (IsaFigures *figures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IsaFigures, isa_figures_free)

/** isa_figures_get_density: Returns: multiply-adds and dpas per instruction of the hot loop, or 0.
 */
gdouble isa_figures_get_density (const IsaFigures *figures);

/**
 * isa_figures_new:
 * @kernel: a kernel's name
 * @gemm: the problem that it is compiled for
 * @target: the GPU that it is compiled for
 * @error: set where the compiler could not be asked; that a kernel does not build is no error
 *
 * Compiles, or takes what it remembers of that.
 *
 * Returns: (transfer full): the figures, or %NULL.
 */
IsaFigures *isa_figures_new (const gchar *kernel, const GemmclGemm *gemm, const IsaTarget *target,
                             GError **error);
