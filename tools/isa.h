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
 *   isa-targets.c     the GPUs
 *   isa-ocloc.c       source and options -> ocloc -> listing and attributes
 *   isa-attributes.c  attributes -> registers, spill ...
 *   isa-listing.c     listing -> instructions
 *   isa-loops.c       instructions -> loops
 *   isa-figures.c     figures <-> JSON
 *   isa-compile.c     all of these in turn, and what is kept on disk
 *   isa.c             the subcommand
 */

/**
 * IsaTarget:
 * @name: what ocloc and users call it
 * @title: for tables
 * @register_bytes: of a register
 * @extensions: whose macros are defined for programs, as the driver does: names with spaces between
 * @dpas_clocks: for which a dpas of 8 rows holds the matrix engine; 0: there is none
 */
typedef struct {
  const gchar *name;
  const gchar *title;
  guint register_bytes;
  const gchar *extensions;
  guint dpas_clocks;
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
 * @multiply: floating-point multiply-add instructions, and dp4a, which are four of bytes; and
 * @mads: how many multiply-adds each work-item has of them: an instruction of half the kernel's
 * SIMD width is half a one. @mads has none of those of dpas
 * @dpas: instructions for matrix engines, and @dpas_macs: multiply-adds of each work-item in them
 * @moves: mov, sel and the like, whatever the type
 * @integers: arithmetic on integers: addresses, counters
 * @floats: other arithmetic on floats
 * @loads: messages that read memory or images, and
 * @load_bytes: what they bring a thread (all lanes), as told by the message's own sizes
 * @slm_loads, @slm_load_bytes: the same of local memory
 * @stores, @slm_stores: messages that write
 * @other_sends: fences and whatever else is sent
 * @prefetches: messages that bring something into a cache and nothing to registers
 * @barriers: signals or waits, the pair counted once
 * @control: branches, joins, sync, nop
 * @slots: issue slots of all but dpas: for arithmetic a register that it writes is one, so that 16
 *   floats take two where a register holds 8; any other instruction takes one
 * @first, @last: lines of the listing, from 1
 *
 * One turn of a loop. Where it branches, the path with the most multiply-adds counts, of such
 * those that load the most, and of these the shortest: what a tile that is full takes. Where one
 * prefetches besides, @prefetches is its count, and @slots the mean of both: our kernels take it
 * every second turn.
 */
typedef struct {
  gint parent;
  guint instructions;
  guint multiply, dpas, moves, integers, floats;
  guint loads, stores, slm_loads, slm_stores, other_sends;
  guint prefetches, barriers, control;
  gdouble mads, dpas_macs;
  gdouble load_bytes, slm_load_bytes;
  gdouble slots;
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
 * isa_figures_get_dpas_share:
 *
 * Returns: of the clocks of a turn of the hot loop those of the matrix engine, if a thread had its
 *   EU alone and did nothing while the engine works; 0 without dpas.
 */
gdouble isa_figures_get_dpas_share (const IsaFigures *figures);

/** isa_figures_to_json: Returns: (transfer full): all of them, by the names of their fields. */
json_t *isa_figures_to_json (const IsaFigures *figures);

/**
 * isa_figures_from_json:
 *
 * Returns: (transfer full) (nullable): what isa_figures_to_json() wrote; %NULL if it is not that.
 */
IsaFigures *isa_figures_from_json (const json_t *json);

/**
 * IsaProgram:
 * @name: for people
 * @source: OpenCL C with nothing to include
 * @options: what the compiler is told
 * @entry: the name of the kernel in it
 */
typedef struct {
  gchar *name;
  gchar *source;
  gchar *options;
  gchar *entry;
} IsaProgram;

void isa_program_free (IsaProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IsaProgram, isa_program_free)

/** IsaCompilers: the ocloc's that there are. */
typedef struct IsaCompilers IsaCompilers;

/**
 * isa_compilers_new:
 * @paths: (nullable): files, with colons between; %NULL: those in the environment variable
 *   GEMMCL_OCLOC, else the ocloc in PATH
 *
 * Asks each for its version and its targets.
 *
 * Returns: (transfer full): %NULL with %TOOL_ERROR_FAILED where there is none, or one does not
 *   answer.
 */
IsaCompilers *isa_compilers_new (const gchar *paths, GError **error);

void isa_compilers_free (IsaCompilers *compilers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IsaCompilers, isa_compilers_free)

/** isa_compilers_know: Returns: whether one of them compiles for @target. */
gboolean isa_compilers_know (const IsaCompilers *compilers, const IsaTarget *target);

/**
 * isa_compile:
 * @listing: (nullable): a file that gets the listing; then it is compiled in any case
 *
 * Has the newest compiler that knows @target compile @program, or remembers what came of it:
 * figures are kept in the folder gemmcl/isa of the user's cache directory, where those not asked
 * for in a month are removed. May be called from several threads.
 *
 * Returns: (transfer full): the figures; %NULL with %TOOL_ERROR_FAILED where the compiler could not
 *   be asked. That the program does not build is no error.
 */
IsaFigures *isa_compile (const IsaCompilers *compilers, const IsaProgram *program,
                         const IsaTarget *target, const gchar *listing, GError **error);

/** isa_forget_old: Removes figures that were not asked for in a month. */
void isa_forget_old (void);
