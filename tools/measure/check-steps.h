/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "results.h"

/** check_row: In a worker: runs @row, which is native, on exact problems and sets its result. */
void check_row (GemmclContext *context, json_t *row);

/** check_build_rows: Compiles the programs of every @n-th of @rows without a result, from @first
 * on. The worker then finds them in the cache. */
void check_build_rows (const json_t *rows, gsize first, gsize n);

/** check_va: In a worker: runs VA surfaces through the element if there are a VA display and
 * GStreamer, and sets the result of @va. */
void check_va (GemmclContext *context, json_t *va);
