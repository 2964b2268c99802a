/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream.h"

/*
 * Streams written down: what is pushed, what is set, and what must arrive between. Steps are
 * separated by ';'. Buffers have times, a tenth of a second from one to the next.
 *
 *     1 2            pushes a buffer of these numbers, as the caps have them; "80*1": 80 times 1
 *     D 1 2          the same with DISCONT
 *     mark, tag, gap pushes such an event; eos ends the stream
 *     flush          flushes, and forgets what has not arrived
 *     caps CAPS      other caps
 *     ready, play    changes the state; then the stream begins again
 *     wait           waits for a third of a second
 *     NAME=VALUE     sets a property of the element "a", or of the only one
 *     refuse WORDS NAME=VALUE
 *                    the same; a warning with these WORDS must be posted, and the old value stays
 *     fail WORDS 1 2 pushing this buffer must fail with an error that has these WORDS
 *     > 1 2          the next arrival is that buffer, with the time of the next that was pushed
 *     > D 1 2        the same with DISCONT
 *     > e, > E       the next arrival is an event, or EOS
 *     -              nothing else has arrived yet
 *
 * WORDS has '|' for blanks within and ends at the first blank. At the end of a script nothing else
 * may have arrived, and neither an error nor a warning may have been posted.
 */

/**
 * Script:
 * @elements: as gst-launch-1.0 has them
 * @output: (nullable): caps that downstream takes
 */
typedef struct {
  const gchar *path, *elements, *caps, *output, *steps;
} Script;

/** Registers a test for each. */
void script_add_tests (const Script *scripts, gsize n);
