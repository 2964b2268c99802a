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
 */
typedef struct {
  const gchar *name;
  const gchar *title;
  guint register_bytes;
  const gchar *extensions;
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
 * @other_sends: fences, prefetches and whatever else is sent
 * @barriers: signals or waits, the pair counted once
 * @control: branches, joins, sync, nop
 * @first, @last: lines of the listing, from 1
 *
 * One turn of a loop. Where it branches, the path with the most multiply-adds counts, of such those
 * that load the most, and of these the shortest, which does not prefetch: the path of a full tile.
 */
typedef struct {
  gint parent;
  guint instructions;
  guint multiply, dpas, moves, integers, floats;
  guint loads, stores, slm_loads, slm_stores, other_sends;
  guint barriers, control;
  gdouble mads, dpas_macs;
  gdouble load_bytes, slm_load_bytes;
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

/**
 * Listings of ocloc's disassembler: a line is a label, an instruction or a comment, in the same
 * grammar for all GPUs.
 *
 *   L416:
 *   (W&f0.1) jmpi                         L944
 *            mad (8|M0)   r74.0<1>:f   r74.0<8;1>:f   r24.0<8;1>:f   r6.3<0;1>:f     {Compacted}
 *            send (8|M0)  r120:f   r32:uq  0xC   0x041401FF   // wr:2+0, rd:1; a64 dword ...
 *
 *   predicate, operation, lanes, result, operands, and for people what a message is.
 */

/** IsaClass: what an instruction counts as; see the fields of the same names of #IsaLoop. */
typedef enum {
  ISA_MULTIPLY,
  ISA_DPAS,
  ISA_MOVE,
  ISA_INTEGER,
  ISA_FLOAT,
  ISA_LOAD,
  ISA_STORE,
  ISA_SLM_LOAD,
  ISA_SLM_STORE,
  ISA_OTHER_SEND,
  ISA_BARRIER,
  ISA_CONTROL,
} IsaClass;

/**
 * IsaInstruction:
 * @line: where it stands, from 1
 * @class: what it counts as
 * @lanes: that it works on
 * @amount: multiply-adds of all lanes together, or bytes of a load
 * @finds_lane: finds the first lane of a mask, as loops over resources begin
 * @target: the instruction it may go to besides the next one, or -1; one past the last is the end
 * @stops: it never goes on to the next one
 */
typedef struct {
  guint line;
  IsaClass class;
  guint lanes;
  gdouble amount;
  gboolean finds_lane;
  gint target;
  gboolean stops;
} IsaInstruction;

/**
 * isa_listing_read:
 * @text: a kernel's listing
 * @register_bytes: of a register of its GPU
 *
 * Returns: (transfer full) (element-type IsaInstruction): its instructions, in their order.
 */
GArray *isa_listing_read (const gchar *text, guint register_bytes);

/**
 * isa_loops_find:
 * @instructions: (element-type IsaInstruction): a kernel's
 * @figures: gets instructions, loops, hot and resource_loops; says simd
 */
void isa_loops_find (const GArray *instructions, IsaFigures *figures);

/**
 * isa_attributes_read:
 * @folder: where ocloc's disassembler left what a program is made of
 * @entry: a kernel's name
 * @listing: its listing
 * @figures: gets simd, registers, threads, slm, spill and private_memory
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED where nothing is said about the kernel.
 */
gboolean isa_attributes_read (const gchar *folder, const gchar *entry, const gchar *listing,
                              IsaFigures *figures, GError **error);

/** IsaCompiler: an ocloc: its file, its version, and the names of its targets among others. */
typedef struct {
  gchar *path;
  gchar *version;
  GHashTable *targets;
} IsaCompiler;

/** isa_compilers_find: Returns: (nullable): the newest that compiles for @target. */
const IsaCompiler *isa_compilers_find (const IsaCompilers *compilers, const IsaTarget *target);

/**
 * isa_ocloc_run:
 * @folder: where it runs
 * @arguments: the program and its arguments, ended by %NULL
 * @output: (out): what it wrote
 * @well: (out): whether its exit status is 0
 *
 * Waits for it, for two minutes at most; after that it is ended, and @output says so.
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED where it cannot be run.
 */
gboolean isa_ocloc_run (const gchar *folder, const gchar *const *arguments, gchar **output,
                        gboolean *well, GError **error);

/** isa_remove_folder: Removes @folder and all in it. */
void isa_remove_folder (const gchar *folder);
