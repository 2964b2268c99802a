/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "load.h"

/* What happens to elements under load, many times. Each flow pushes @total buffers of its load. */

/** Each buffer that goes in comes out. */
void flow_order (Load *load);

/** All that was pushed is out when EOS is. */
void flow_eos (Load *load);

/** Flushes, whatever is in flight. */
void flow_flush (Load *load);

/** Caps by whoever pushes, the weight of the element "a", if there is one, and with it the caps
 * that come out, by another thread. */
void flow_caps (Load *load);

/** Down to READY or NULL, and up again. */
void flow_states (Load *load);

/**
 * Runs @flow with a load of its own, and says how long that took.
 * @name: what to call it
 * @source: (nullable): what comes in; NULL for the small tensors
 */
void flow_run (void (*flow) (Load *load), const gchar *name, const gchar *text, gfloat factor,
               const LoadSource *source, guint n);

/**
 * Seeks, and changes of state: to PAUSED, @middle and NULL by turns, and back to PLAYING.
 * @line: a source of 1000 buffers a second, and what is behind it
 * @middle: GST_STATE_READY, unless there are elements that do not come back from there
 * @n: buffers to come out
 */
void flow_seek (const gchar *line, GstState middle, guint n);

/** A test that nothing of what the tracer for leaks, @tracer, saw is left; a skip for NULL. */
void flow_check_leaks (gconstpointer tracer);
