/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/**
 * tune_serve:
 *
 * What the worker process of `gemmcl tune` does: it opens the device that the options name and
 * answers requests until there are no more. Candidates that crash or hang take this process with
 * them, and not the one that asks.
 *
 * A request is a line on the standard input, words with a space between; its answer is a line on
 * the standard output, "ok" and what is told below, or "error" and a sentence, or "lost" and a
 * sentence where OpenCL failed a run, after which this process should be asked for nothing more.
 * Whatever drivers print goes to the standard error. Times are milliseconds by the device's clock.
 *
 *     problem M N K PRECISION LAYOUT   makes the matrices; drops the kernels of the last problem
 *     build KERNEL SPILL               builds it, gives it B, and runs it on one row; but where it
 *                                      spills registers and SPILL is 0, only tells how many bytes
 *     first KERNEL MS                  a run into a spoilt D, and more if it was short: the least;
 *                                      nothing where a part of the rows alone took longer than MS
 *     check                            whether the D of the last "first" is right
 *     time KERNEL RUNS                 so many runs, one after the other: the time of each
 *     drop KERNEL                      frees what it has
 *
 * Returns: %FALSE with an error where the device cannot be opened.
 */
gboolean tune_serve (GError **error);
