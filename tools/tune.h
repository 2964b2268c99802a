/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gemmcl-tuning.h"
#include "worker.h"

/**
 * gemmcl tune:
 *
 *   tune.c          the subcommand, which stores and reports what a worker finds
 *   tune-search.c   the worker
 *
 * The state of the worker has "end", the monotonic time at which the search ends, and "entries". An
 * entry is the object of `gemmcl tune --json` for a problem: "device", "driver", "precision",
 * "layout", "m", "n", "k", "seconds", "gain", "stored",
 *
 *   "rules": the rules' choice, or else the first candidate that works
 *   "tuned": the fastest, which is "rules" unless another is faster by more than the noise; null
 *            without time to compare
 *   "candidates": in the order of the rules; "why" is the reason why one left, null if it was timed
 *            to the end, and "faulty" if that was a fault, not because it was slow
 *
 * each with its "kernel" and "gflops". The worker sets "seconds" last, and "error" if a problem
 * cannot be searched.
 */

/** tune_serve: The worker: searches the entries without "seconds". */
gboolean tune_serve (GError **error);
