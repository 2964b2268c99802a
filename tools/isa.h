/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>

#include "gemmcl.h"

/**
 * Figures of a kernel that Intel's offline compiler, ocloc, compiles for a GPU. The GPU need not be
 * present.
 *
 *   isa-targets.c     the GPUs
 *   isa-ocloc.c       source and options -> ocloc -> listing and attributes
 *   isa-attributes.c  attributes -> registers, spill ...
 *   isa-listing.c     listing -> instructions
 *   isa-loops.c       instructions -> loops
 *   isa-figures.c     figures <-> JSON
 *   isa-compile.c     all of these in turn, and the figures on disk
 *   isa.c             the subcommand
 */

/**
 * IsaTarget:
 * @name: the name for ocloc and users
 * @title: the name for tables
 * @register_bytes: bytes of a register
 * @extensions: extensions whose macros are defined for programs, as the driver defines them:
 *   names, separated by spaces
 */
typedef struct {
  const gchar *name;
  const gchar *title;
  guint register_bytes;
  const gchar *extensions;
} IsaTarget;

/** isa_targets: all targets, the oldest first; ended by one without a name. */
extern const IsaTarget isa_targets[];

/** isa_target_find: Returns: (nullable) (transfer none): the target of that name. */
const IsaTarget *isa_target_find (const gchar *name);

/**
 * IsaLoop:
 * @parent: index of the outer loop, -1 without one
 * @instructions: instructions of the path below, without those of inner loops. Each of them is in
 *   one of these counts: multiply, dpas, moves, integers, floats, loads, stores, slm_loads,
 *   slm_stores, other_sends, barriers, control
 * @multiply: floating-point multiply-add instructions, and dp4a, which are four for int8
 * @mads: multiply-adds of @multiply for each work-item. An instruction of half the kernel's SIMD
 *   width counts as a half
 * @dpas: instructions for matrix engines
 * @dpas_macs: multiply-adds of @dpas for each work-item
 * @moves: mov, sel and the like, whatever the type
 * @integers: arithmetic on integers: addresses, counters
 * @floats: other arithmetic on floats
 * @loads: messages that read memory or images
 * @load_bytes: bytes of @loads for a thread (all lanes), from the sizes in the messages
 * @slm_loads, @slm_load_bytes: the same for local memory
 * @stores, @slm_stores: messages that write
 * @other_sends: fences, prefetches and all other messages
 * @barriers: barriers; a signal and its wait count once
 * @control: branches, joins, sync, nop
 * @first, @last: lines of the listing, from 1
 *
 * One iteration of a loop. If the loop branches, the path of a full tile counts: the one with the
 * most multiply-adds, then with the most loaded bytes, then the shortest, which does not prefetch.
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
 * @kernel, @target: the kernel and the GPU
 * @compiler: (nullable): ocloc's version
 * @options: the compiler's options, such as -DTILE_M
 * @why_not: (nullable): the compiler's error, if the program did not build; the fields below are
 *   then 0
 * @simd: lanes of a thread
 * @registers: registers of a thread, each of @register_bytes
 * @threads: threads of an EU with @registers registers each; 0 if the compiler does not report it
 * @slm: bytes of local memory of a work-group
 * @spill: bytes of spilled registers of a thread
 * @private_memory: bytes of arrays of a thread that are not in registers
 * @resource_loops: loops that the compiler puts around loads whose surface may differ between lanes
 * @instructions: instructions of the whole kernel
 * @loops: (array length=n_loops): the loops, in the order of their first lines
 * @hot: index of the loop with the most multiply-adds, dpas included, in its own path; -1: no loop
 *   has any
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

/** isa_figures_get_density: Returns: the share of multiply-adds and dpas among the instructions of
 * the hot loop; 0 without one. */
gdouble isa_figures_get_density (const IsaFigures *figures);

/** isa_figures_to_json: Returns: (transfer full): all figures, by the names of their fields. */
json_t *isa_figures_to_json (const IsaFigures *figures);

/**
 * isa_figures_from_json:
 *
 * Returns: (transfer full) (nullable): the figures of isa_figures_to_json(); %NULL if @json has
 *   another format.
 */
IsaFigures *isa_figures_from_json (const json_t *json);

/**
 * IsaProgram:
 * @name: the name in tables
 * @source: OpenCL C without includes
 * @options: options of the compiler
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

/** IsaCompilers: the available ocloc compilers. */
typedef struct IsaCompilers IsaCompilers;

/**
 * isa_compilers_new:
 * @paths: (nullable): files, separated by colons; %NULL: those in the environment variable
 *   GEMMCL_OCLOC, or else the ocloc in PATH
 *
 * Reads the version and the targets of each compiler.
 *
 * Returns: (transfer full): %NULL with %TOOL_ERROR_FAILED if there is no compiler, or one does not
 *   answer.
 */
IsaCompilers *isa_compilers_new (const gchar *paths, GError **error);

void isa_compilers_free (IsaCompilers *compilers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IsaCompilers, isa_compilers_free)

/** isa_compilers_know: Returns: %TRUE if one of them compiles for @target. */
gboolean isa_compilers_know (const IsaCompilers *compilers, const IsaTarget *target);

/**
 * isa_compile:
 * @listing: (nullable): a file for the listing; the program is then compiled in any case
 *
 * Compiles @program with the newest compiler that knows @target, or takes the figures from an
 * earlier call: they are kept in the folder gemmcl/isa of the user's cache directory for a month
 * after their last use. Any thread.
 *
 * Returns: (transfer full): the figures, also if the program does not build; %NULL with
 *   %TOOL_ERROR_FAILED if the compiler cannot be run.
 */
IsaFigures *isa_compile (const IsaCompilers *compilers, const IsaProgram *program,
                         const IsaTarget *target, const gchar *listing, GError **error);

/** isa_forget_old: Removes figures from the cache directory that were not used for a month. */
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
 *   predicate, operation, lanes, result, operands, and a comment that describes a message
 */

/** IsaClass: the class of an instruction; see the fields of the same names in #IsaLoop. */
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
 * @line: its line, from 1
 * @class: its class
 * @lanes: its lanes
 * @amount: multiply-adds of all lanes together, or bytes of a load
 * @finds_lane: it finds the first lane of a mask, as at the start of a loop over resources
 * @target: the index of the instruction to which it may branch, or -1; one past the last is the end
 * @stops: the next instruction never follows it
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
 * @register_bytes: bytes of a register of its GPU
 *
 * Returns: (transfer full) (element-type IsaInstruction): its instructions, in their order.
 */
GArray *isa_listing_read (const gchar *text, guint register_bytes);

/**
 * isa_loops_find:
 * @instructions: (element-type IsaInstruction): a kernel's instructions
 * @figures: (inout): simd is read; instructions, loops, hot and resource_loops are set
 */
void isa_loops_find (const GArray *instructions, IsaFigures *figures);

/**
 * isa_attributes_read:
 * @folder: the output of ocloc's disassembler for a program
 * @entry: a kernel's name
 * @listing: its listing
 * @figures: (inout): simd, registers, threads, slm, spill and private_memory are set
 *
 * Returns: %FALSE with %TOOL_ERROR_FAILED if the output does not describe the kernel.
 */
gboolean isa_attributes_read (const gchar *folder, const gchar *entry, const gchar *listing,
                              IsaFigures *figures, GError **error);

/** IsaCompiler: an ocloc: its file, its version, and words that include its targets' names. */
typedef struct {
  gchar *path;
  gchar *version;
  GHashTable *targets;
} IsaCompiler;

/** isa_compilers_find: Returns: (nullable): the newest compiler for @target. */
const IsaCompiler *isa_compilers_find (const IsaCompilers *compilers, const IsaTarget *target);

/**
 * isa_ocloc_run:
 * @folder: its working directory
 * @arguments: the program and its arguments, ended by %NULL
 * @output: (out): its output
 * @well: (out): TRUE if its exit status is 0
 *
 * Runs ocloc. After two minutes it is ended, and @output says so.
 *
 * Returns: %FALSE with an error if it cannot be run.
 */
gboolean isa_ocloc_run (const gchar *folder, const gchar *const *arguments, gchar **output,
                        gboolean *well, GError **error);

/** isa_remove_folder: Removes @folder and its contents. */
void isa_remove_folder (const gchar *folder);
