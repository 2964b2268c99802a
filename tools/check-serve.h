/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * The process that `gemmcl check` has use OpenCL. A request is an object of JSON on a line of the
 * standard input, and an answer is one on a line of the standard output behind %CHECK_ANSWER; any
 * other line is something that a driver or a compiler said.
 *
 *   {"do": "facts", "shapes": [[M, N, K] ...]}    the device, each row's level, and for each shape
 *                                                 the candidates of each precision; without shapes
 *                                                 those of a whole check
 *   {"do": "row", "kernel": NAME}                 small exact problems: see check-exact.h
 *   {"do": "build", "kernels": [NAME ...]}        compiles them, so that another process need not
 *   {"do": "shape", "m": M, "n": N, "k": K}       the problem of the requests that follow
 *   {"do": "prepare", "precision": P, "kernel": NAME}    see check-time.h
 *   {"do": "time", "seconds": S}
 *
 * An answer with "lost" says that the device may be lost for the process, which should be ended;
 * one with "error" that nothing of the request could be done. "why" says what happened.
 */

#define CHECK_ANSWER "gemmcl-check "

/** CHECK_N_SHAPES: how many shapes a whole check has. */
#define CHECK_N_SHAPES 8

/** check_serve: Answers requests until there are no more. Returns: %FALSE if it cannot write. */
gboolean check_serve (GError **error);
