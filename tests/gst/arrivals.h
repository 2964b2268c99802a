/* gemmcl: GEMM on OpenCL
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

/* Arrivals at a pad, in their order: buffers, serialised events and flushes. */

typedef enum {
  ARRIVAL_BUFFER,
  ARRIVAL_EVENT,
  ARRIVAL_FLUSH,
} ArrivalKind;

/**
 * Arrival:
 * @buffer: (nullable): the buffer
 * @caps: (nullable): the caps that the pad had when it came
 * @event: (nullable): the event; neither that of caps nor that of a stream's start
 */
typedef struct {
  ArrivalKind kind;
  GstBuffer *buffer;
  GstCaps *caps;
  GstEvent *event;
} Arrival;

/** Arrivals: Those of a pad so far. Functions may be called from any thread. */
typedef struct _Arrivals Arrivals;

/**
 * arrivals_new:
 * @pad: a sink pad; its buffers are dropped once they are noted
 * @maps: whether each buffer is mapped as it arrives, as most elements do, and not only later
 */
Arrivals *arrivals_new (GstPad *pad, gboolean maps);
void arrivals_free (Arrivals *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Arrivals, arrivals_free)

/**
 * arrivals_get: Returns: (nullable): the arrival of that number; %NULL if there are fewer. It stays
 * as it is until arrivals_free().
 */
const Arrival *arrivals_get (Arrivals *self, guint index);

/** arrivals_wait: Waits until there are @n. Returns: FALSE if they do not come within @timeout us.
 */
gboolean arrivals_wait (Arrivals *self, guint n, gint64 timeout);
