/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "isa.h"

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
  ISA_PREFETCH,
  ISA_BARRIER,
  ISA_CONTROL,
} IsaClass;

/**
 * IsaInstruction:
 * @line: where it stands, from 1
 * @class: what it counts as
 * @lanes: that it works on
 * @amount: multiply-adds of all lanes together, or bytes of a load
 * @passes: registers written by arithmetic, at least 1; else 0
 * @finds_lane: finds the first lane of a mask, as loops over resources begin
 * @target: the instruction it may go to besides the next one, or -1; one past the last is the end
 * @stops: it never goes on to the next one
 */
typedef struct {
  guint line;
  IsaClass class;
  guint lanes;
  gdouble amount;
  gdouble passes;
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
