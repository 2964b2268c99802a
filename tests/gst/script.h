/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "stream.h"

/*
 * Streams written down: what is pushed, what is set, and what must arrive between. Steps are
 * separated by ';'. Buffers have times, a tenth of a second from one to the next, and offsets.
 *
 *     1 2            pushes a buffer of these numbers, as the caps have them; "80*1": 80 times 1
 *     DM 1 2         the same with flags: D is DISCONT, G is GAP, M is MARKER; without numbers an
 *                    empty buffer
 *     mark, tag, gap pushes such an event; eos ends the stream
 *     segment N      the next buffer has the stream time of buffer N
 *     flush          flushes
 *     caps CAPS      other caps
 *     ready, play    changes the state; then the stream begins again
 *     wait N         waits for N ms
 *     NAME=VALUE     sets a property of the element "a", or of the only one
 *     control NAME 1 2 ...
 *                    controls it: these are the values at the stream time of buffers 0, 1 ...
 *     refuse WORDS NAME=VALUE
 *                    sets it; a warning with these WORDS must be posted, and the old value stays
 *     fail WORDS 1 2 pushing this buffer must fail with an error that has these WORDS
 *     > DM 1 2       the next arrival is that buffer, with these flags, and all else of the next
 *                    that was pushed; "1/2": either is right
 *     > e, > E       the next arrival is the next event that was pushed, or EOS
 *     ? ...          the same, unless it was flushed
 *     -              nothing else has arrived yet
 *
 * WORDS has '|' for blanks within and ends at the first blank. At the end of a script nothing else
 * may have arrived, and neither an error nor a warning may have been posted.
 */

/**
 * Script:
 * @elements: as gst-launch-1.0 has them
 * @output: (nullable): caps that downstream takes
 * @maps: whether buffers are mapped as they arrive, and not at their '>'
 * @is_random: one of many: warnings are right, and steps are not printed, except for the one of
 *   GEMMCL_TEST_STREAM
 */
typedef struct {
  const gchar *path, *elements, *caps, *output, *steps;
  gboolean maps, is_random;
} Script;

void script_run (const Script *script);

/** Registers a test for each. */
void script_add_tests (const Script *scripts, gsize n);
